"""``dpm init``: questions about the columns of a table, and a complete schema file from the answers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmondrian.cli import options
from dpmondrian.cli.inputs import Habits, source_in
from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian.schema import Category, Column, Guess

_INTRODUCTION = """\
Only the names and types of columns are read, never a value. Answer from what is known without looking at the rows.
For each column, press Enter to take the proposal in brackets, or type what it holds:
  0:120  0:20:int  1:1e6:log        numbers between two bounds; whole numbers; numbers on a log scale
  basic|premium  @codes.csv         categories; categories from a public list
  low<middle<high                   ordered bands
  2010-01-01:2020-12-31             dates
  yes/no                            yes or no
  -                                 not to be clustered on\
"""


def init(
    file: options.File,
    out: Annotated[Path, typer.Option(help="Schema file to write. Must not exist yet.")] = Path("schema.toml"),
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Ask nothing: take all proposals, and leave out columns that have none."),
    ] = False,
    bounds: options.Bounds = None,
    person_id: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    format_: options.Format = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    missing: options.Missing = None,
    decimal: options.DecimalSign = None,
    thousands: options.Thousands = None,
) -> None:
    """Describe a table in a few questions, and write a schema file for 'dpm plan' and 'dpm cluster'.

    Reads only the names and types of the columns. Options answer questions in advance.

    \b
    Examples:
      dpm init patients.csv
      dpm init export.dat --format csv --header none --missing '?' --out schema.toml
      dpm init patients.parquet --yes --bounds age=0:120,bmi=10:60 --person-id patient_id
    """  # noqa: D301
    from dpmondrian.cli.schema import check_free
    from dpmondrian.schema import Schema, TableSchema, bounds_from_options, guess_columns, with_habits, write_schema
    from dpmondrian.tables import open_file, without_secret

    check_free(out)
    kinds = open_file(source_in(file, query, delimiter, format_, header, sheet)).kinds
    interview = _Interview(guess_columns(kinds), bounds_from_options(bounds or ()), asks=not yes)
    if not yes:
        say_text(_INTRODUCTION)
    habits = interview.habits(Habits(missing, decimal, thousands))
    person_id, most = interview.people(person_id, rows_per_person)
    found = {name: interview.column(name) for name in kinds if name != person_id}
    columns = {name: column for name, column in found.items() if column is not None}
    if not columns:
        raise typer.BadParameter(
            "No column is left to cluster on. Say what they hold, for example --bounds age=0:120, or answer the questions."
        )
    schema = Schema(
        tuple(with_habits(c, habits.marks(n), habits.decimal, habits.thousands) for n, c in columns.items())
    )
    ignored = tuple(name for name, column in found.items() if column is None)
    write_schema(TableSchema(schema, person_id, most, ignored), out)
    _report(out, columns, ignored, person_id, most, interview.guesses)
    _point_out_decimals([name for name, kind in kinds.items() if kind == "unknown"], columns)
    layout = {"query": query, "delimiter": delimiter, "format": format_, "header": header, "sheet": sheet}
    reading = [f"--{key} {shlex.quote(value)}" for key, value in layout.items() if value is not None]
    gaps = ["--on-missing drop"] if habits.missing else []  # or the first of them would stop the run
    command = " ".join(["dpm cluster", shlex.quote(without_secret(file)), *reading, f"--schema {out}", *gaps])
    say(f"Next: dpm plan --rows ABOUT_HOW_MANY --schema {out}, and then: {command}")


class _Interview:
    """Asks about a table, or takes what is proposed."""

    def __init__(self, guesses: Mapping[str, Guess], given: Mapping[str, Any], asks: bool) -> None:
        from dpmondrian.exceptions import BoundsError

        unknown = [name for name in given if name not in guesses]
        if unknown:
            raise BoundsError(parameter="bounds", rule="must name columns of the table", value=unknown)
        self.guesses, self._given, self._asks = guesses, given, asks

    def habits(self, given: Habits) -> Habits:
        """Return what stands for missing values."""
        if not self._asks or given.missing:
            return given
        text = _ask(
            "How are missing values written, besides empty and NA? For example ? or -9; separate several by commas", ""
        )
        return Habits([mark.strip() for mark in text.split(",") if mark.strip()], given.decimal, given.thousands)

    def people(self, person_id: str | None, most: int | None) -> tuple[str | None, int]:
        """Return the column that says whose row it is, and the most rows of one person."""
        proposed = next((name for name, guess in self.guesses.items() if guess.holds == "person"), None)
        name = person_id or (proposed if most is None else None)
        while self._asks and person_id is None:
            answer = _ask(
                "Which column identifies the person a row belongs to? Type - if every row is a different person",
                name or "-",
            )
            if answer == "-" or answer in self.guesses:
                name = None if answer == "-" else answer
                break
            say(f"  {self._no_column(answer)}")
        if name is not None and name not in self.guesses:
            raise typer.BadParameter(self._no_column(name))
        if self._asks and most is None and name is not None:
            most = self._most_rows()
        return name, most or 1

    def _most_rows(self) -> int:
        while True:
            answer = _ask("At most how many rows of one person should count?", "1").strip()
            if answer.isdecimal() and int(answer) > 0:
                return int(answer)
            say("  Type a whole number, at least 1.")

    def _no_column(self, name: str) -> str:
        from dpmondrian.common.checks import nearest_names

        return f"There is no column {name!r}.{nearest_names([name], list(self.guesses))}"

    def column(self, name: str) -> Column | Category | None:
        """Return what a column holds; None if it is to be left out."""
        if name in self._given:
            return self._described(name, self._given[name])
        proposal = _proposed(name, self.guesses[name])
        return self._ask_until_clear(name, proposal) if self._asks else proposal

    def _ask_until_clear(self, name: str, proposal: Column | Category | None) -> Column | Category | None:
        """Ask until the answer makes sense."""
        from dpmondrian.exceptions import ParameterError
        from dpmondrian.schema import facts_from_text

        while True:
            answer = _ask(f"{name} ({self.guesses[name].holds})", _in_short(proposal))
            if answer == _in_short(proposal) or answer == "-":
                return proposal if answer != "-" else None
            try:
                return self._described(name, facts_from_text(name, answer))
            except ParameterError as error:
                said = str(error).partition(" Write NAME=")[0]
                say(f"  {said.replace(f'write {name}=', 'type ')}")  # the name stands in the question

    def _described(self, name: str, facts: Any) -> Column | Category:
        """Return the column that an answer describes, with what the type says; numbers keep the unit that the name tells."""
        from dpmondrian.schema import Column, GivenBounds

        known = self.guesses[name].facts
        column = GivenBounds({name: facts}).schema([name], [bool(known.get("whole"))]).columns[0]
        if isinstance(column, Column) and column.notation is None and not column.unit:
            return replace(column, unit=str(known.get("unit", "")))
        return column


def _ask(question: str, default: str) -> str:
    answer: str = typer.prompt(question, default=default, show_default=default != "")
    return answer


def _proposed(name: str, guess: Guess) -> Column | Category | None:
    """Return the column that a guess describes in full; None if something would have to be filled in."""
    from dpmondrian.schema import column_of

    return None if guess.left_out or guess.asked else column_of(name, guess.facts)


def _in_short(column: Column | Category | None) -> str:
    """Return a proposal in the words of an answer."""
    from dpmondrian.schema import Category, Dates, YesNo

    if column is None or isinstance(column, Category):
        return "-"
    if isinstance(column.notation, YesNo):
        return "yes/no"
    ends = [
        column.notation.text(end) if isinstance(column.notation, Dates) else f"{end:g}"
        for end in (column.lower, column.upper)
    ]
    return ":".join([*map(str, ends), *(["int"] if column.whole else [])])


def _report(
    out: Path,
    columns: Mapping[str, Any],
    ignored: tuple[str, ...],
    person_id: str | None,
    most: int,
    guesses: Mapping[str, Guess],
) -> None:
    """Say what was written, and what was left out and why."""
    from dpmondrian.cli.wording import plural

    say(f"Written to {out}: {plural(len(columns), 'column')} to cluster on.")
    if person_id is not None:
        say(f"Whose row it is: {person_id}. At most {plural(most, 'row')} of a person will count.")
    if ignored:
        why = {"identifier": " (an identifier)", "person": " (an identifier)", "free text": " (free text)"}
        reasons = [f"{name}{why.get(guesses[name].holds, '')}" for name in ignored]
        say(f"Left out: {', '.join(reasons)}. To use one of them, replace 'ignore = true' in its section.")


def _point_out_decimals(untyped: list[str], columns: Mapping[str, Column | Category]) -> None:
    """Say which numbers may be whole ones: a file without types does not tell, and what they are not said to be costs clusters."""
    from dpmondrian.schema import Column, Numbers

    found = [(name, columns[name]) for name in untyped if name in columns]
    doubtful = [
        name
        for name, column in found
        if isinstance(column, Column)
        and not column.whole
        and not column.log
        and isinstance(column.notation, Numbers | None)
    ]
    if doubtful:
        say(
            f"Taken for numbers with decimals: {', '.join(doubtful)}. If one holds whole numbers only, add 'whole = true' to its section."
        )
