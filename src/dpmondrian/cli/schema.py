"""``dpm schema``: a draft of a schema file, and on request bounds that are estimated from the rows with privacy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmondrian.cli import options
from dpmondrian.cli.inputs import Habits, source_in, split_names
from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import printed

if TYPE_CHECKING:
    from dpmondrian.suggest import SuggestedBounds
    from dpmondrian.tables import OpenedFile, Source

_NUMERIC = ("whole", "number", "unknown")


def schema(
    file: options.File,
    out: Annotated[
        Path | None, typer.Option(help="File to write. Must not exist yet.", show_default="print to the terminal")
    ] = None,
    suggest_bounds: Annotated[
        bool,
        typer.Option(
            "--suggest-bounds", help="Estimate bounds from the rows with differential privacy. Spends --epsilon."
        ),
    ] = False,
    epsilon: Annotated[
        float | None, typer.Option(help="With --suggest-bounds: the epsilon to spend, such as 0.1.", show_default=False)
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="With --suggest-bounds: the columns, separated by commas, or repeat the option.",
            show_default="numeric columns with unknown bounds",
        ),
    ] = None,
    person_id: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    budget: Annotated[
        Path | None,
        typer.Option(help="With --suggest-bounds: budget file of the data set, charged before the first draw."),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="With --suggest-bounds: a schema file to complete. All else in it stays as it is."),
    ] = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    format_: options.Format = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    missing: options.Missing = None,
    decimal: options.DecimalSign = None,
    thousands: options.Thousands = None,
    as_json: options.Json = False,
) -> None:
    """Draft a schema file (TOML) from the column names and types of a table, without looking at any value.

    Common knowledge, such as the range of an age, is filled in; fill in the rest from public knowledge. For columns whose bounds nobody
    knows, --suggest-bounds estimates them from the rows with differential privacy. This spends --epsilon of the data set's budget, and
    the most extreme rows may lie outside the estimated bounds.

    \b
    Examples:
      dpm schema patients.csv --out schema.toml
      dpm schema sales.parquet --suggest-bounds --epsilon 0.1 --schema old.toml --out new.toml
      dpm schema visits.csv --suggest-bounds --epsilon 0.1 --columns cost --person-id patient
    """  # noqa: D301
    from dpmondrian.schema import left_out
    from dpmondrian.tables import open_file

    _check_options(suggest_bounds, epsilon=epsilon, columns=columns, budget=budget, schema=schema)
    check_free(out)
    source = source_in(file, query, delimiter, format_, header, sheet)
    opened = open_file(source)
    known = _Known.of(
        schema, opened.kinds, person_id, rows_per_person, Habits(missing, decimal, thousands), suggest_bounds
    )
    _check_person(known.people["person_id"], opened.kinds, source)
    if not suggest_bounds or epsilon is None:
        _show(known.text, None, out, as_json, left_out(opened.kinds))
        return
    wanted = _wanted(split_names(columns), known, source)
    suggested = _suggested(opened, known, wanted, epsilon, budget)
    _show(_completed(known, suggested), suggested, out, as_json, {})


@dataclass(frozen=True)
class _Known:
    """What a schema file or a draft says already."""

    text: str
    kinds: Mapping[str, str]  # of the columns that may be clustered
    people: Mapping[str, Any]
    sections: Mapping[str, Mapping[str, Any]]
    habits: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        schema: Path | None,
        kinds: Mapping[str, str],
        person_id: str | None,
        rows: int | None,
        habits: Habits,
        final: bool,
    ) -> _Known:
        """Return what a file says, or else a draft; options say it before both. Whose rows they are is not proposed if that is `final`."""
        from dpmondrian.schema import draft_schema, toml_in

        people = {"person_id": person_id, "rows_per_person": rows}
        if schema is None:
            said = final or person_id is not None or rows is not None
            draft = draft_schema({name: kind for name, kind in kinds.items() if name != person_id}, people_known=said)
            text, values = _top(people, habits) + draft, {}
        else:
            text, values = schema.read_text(encoding="utf-8-sig"), toml_in(schema)
            _check_unestimated(schema, values)
            _check_same_people(schema, people, values)
            text = _top({key: value for key, value in people.items() if key not in values}, Habits()) + text
        people = {key: value or values.get(key) for key, value in people.items()}
        others = {name: kind for name, kind in kinds.items() if name != people["person_id"]}
        usual = {key: values.get(key) or getattr(habits, key) for key in ("missing", "decimal", "thousands")}
        return cls(
            text, others, people | {"rows_per_person": people["rows_per_person"] or 1}, values.get("columns", {}), usual
        )

    def kind_to_read(self, name: str) -> Any:
        """Return how the numbers of a column are written."""
        from dpmondrian.schema import Column, column_of, kind_to_read, with_habits

        facts = {**self.sections.get(name, {}), "lower": 0, "upper": 1}
        column = column_of(name, facts) or Column(name, 0, 1)
        habits = {**self.habits, "missing": self.habits["missing"] or ()}
        return kind_to_read(getattr(with_habits(column, **habits), "notation", None))


def _check_unestimated(path: Path, values: Mapping[str, Any]) -> None:
    from dpmondrian.exceptions import BoundsError

    if "bounds_epsilon" in values:
        raise BoundsError(
            f"The schema file {str(path)!r} already contains bounds that were estimated from the rows.",
            "Estimate the bounds of all such columns together, from a file without 'bounds_epsilon'.",
        )


def _check_same_people(path: Path, people: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse options that contradict a schema file: what is spent on bounds is stated there, for the people that it says."""
    for key, value in people.items():
        if value is not None and values.get(key, value) != value:
            raise typer.BadParameter(
                f"The schema file {str(path)!r} says {key} = {values[key]!r}. Got {value!r} instead. Omit the option, or correct the file.",
                param_hint=f"--{key.replace('_', '-')}",
            )


def _check_options(suggest_bounds: bool, **given: Any) -> None:
    """Refuse options that belong together and come alone."""
    alone = [name for name, value in given.items() if value not in (None, "", ())]
    if not suggest_bounds and alone:
        raise typer.BadParameter(
            f"--{alone[0]} requires --suggest-bounds. Without it, no values are read and nothing is spent.",
            param_hint=f"--{alone[0]}",
        )
    if suggest_bounds and given["epsilon"] is None:
        raise typer.BadParameter(
            "--suggest-bounds needs to know how much of the budget it may spend, for example --epsilon 0.1.",
            param_hint="--epsilon",
        )


def check_free(out: Path | None) -> None:
    """Refuse a file that exists before anything is read or spent."""
    from dpmondrian.exceptions import OutputError

    if out is not None and os.path.lexists(out):
        raise OutputError(f"The file {str(out)!r} already exists.", "Choose another name, or remove it first.")
    if out is not None and not out.absolute().parent.is_dir():
        raise OutputError(f"The folder of {str(out)!r} does not exist.", "Create it first, or choose another one.")


def _check_person(person_id: str | None, kinds: Mapping[str, str], source: Source) -> None:
    if person_id is not None and person_id not in kinds:
        raise typer.BadParameter(
            f"There is no column {person_id!r}.{_hint(person_id, kinds, source)}", param_hint="--person-id"
        )


def _hint(name: str, known: Mapping[str, str], source: Source) -> str:
    """Return near names or all; none of a file without types, where they may be the values of a first row."""
    from dpmondrian.common.checks import nearest_names

    if source.format in ("CSV", "JSON lines"):
        return " Check the spelling in the file. Its first line must contain the column names."
    return nearest_names([name], list(known)) or f" Available columns: {', '.join(known)}."


def _wanted(names: tuple[str, ...], known: _Known, source: Source) -> list[str]:
    """Return the columns whose bounds to estimate: those named, or the numbers of which nothing is known."""
    from dpmondrian.schema import is_complete, is_identifier, known_quantity

    kinds = known.kinds
    for name in names:
        if name not in kinds:
            raise typer.BadParameter(
                f"There is no column {name!r}.{_hint(name, kinds, source)}", param_hint="--columns"
            )
        if kinds[name] not in _NUMERIC and not known.sections.get(name):
            raise typer.BadParameter(
                f"Column {name!r} has type {kinds[name]!r}, and bounds can only be estimated for numbers. Remove it from the list.",
                param_hint="--columns",
            )
    if names:
        return list(names)
    if "unknown" in kinds.values():
        raise typer.BadParameter(
            "The file does not say which columns are numeric, and values are not inspected to find out. Name the columns, for "
            "example --columns cost,duration.",
            param_hint="--columns",
        )
    numbers = [name for name, kind in kinds.items() if kind in _NUMERIC and not is_identifier(name)]
    if known.sections:
        unknown = [name for name in numbers if name in known.sections and not is_complete(known.sections[name])]
    else:
        unknown = [name for name in numbers if known_quantity(name) is None]
    if not unknown:
        raise typer.BadParameter(
            "The bounds of every numeric column are known already, from the schema file or judging by its name. To estimate bounds "
            "anyway, name the column with --columns.",
            param_hint="--columns",
        )
    return unknown


def _suggested(
    file: OpenedFile, known: _Known, wanted: list[str], epsilon: float, budget: Path | None
) -> SuggestedBounds:
    """Read the rows and estimate; wrong parameters and a missing budget file are told before the rows are read."""
    from dpmondrian.accounts import Budget
    from dpmondrian.cli.stopping import noting_charges
    from dpmondrian.common.checks import check_epsilon
    from dpmondrian.suggest import suggest_bounds

    check_epsilon(epsilon)
    ledger = None if budget is None else Budget(budget)
    if ledger is not None:
        ledger.read()
    kinds = {name: known.kind_to_read(name) for name in wanted}
    if known.people["person_id"] is not None:
        kinds[known.people["person_id"]] = "id"
    with noting_charges(ledger):
        return suggest_bounds(file.read(kinds), epsilon, columns=wanted, budget=ledger, **known.people)


def _completed(known: _Known, suggested: SuggestedBounds) -> str:
    """Return the text with bounds that were estimated, and what was spent. Columns of which nothing could be said stay as they were."""
    from dpmondrian.schema import toml_value, with_bounds

    spent = f"{_SPENT}bounds_epsilon = {toml_value(suggested.estimate.epsilon)}\n"
    if suggested.estimate.entry is not None:
        spent += f"bounds_entry = {toml_value(suggested.estimate.entry)}\n"
    found = {name: pair for name, pair in suggested.bounds.items() if pair is not None}
    return f"{spent}{with_bounds(known.text, found)}"


def _top(people: Mapping[str, Any], habits: Habits) -> str:
    """Return the keys of the whole table that options say, which must stand before all sections."""
    from dpmondrian.schema import toml_value

    usual = {"missing": habits.missing or None, "decimal": habits.decimal, "thousands": habits.thousands}
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in {**people, **usual}.items() if value is not None)


_SPENT = "# Spent on estimating the bounds from the rows. It adds to the cost of every release:\n"


def _show(
    drafted: str, suggested: SuggestedBounds | None, out: Path | None, as_json: bool, ignored: Mapping[str, str]
) -> None:
    """Write or print the schema; what was paid for is printed also when it cannot be written."""
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.exceptions import OutputError

    if out is not None:
        try:
            write_file(out, drafted)
        except OutputError:
            say_text(drafted)
            raise
    with printed("" if out is None else f"The schema was written: {out}"):
        _print(drafted, suggested, out, as_json)
    if ignored and not as_json:
        listed = ", ".join(f"{name} ({holds})" for name, holds in ignored.items())
        say(f"Left out, judging by their names: {listed}.", err=True)


def _print(drafted: str, suggested: SuggestedBounds | None, out: Path | None, as_json: bool) -> None:
    if as_json:
        found = {} if suggested is None else suggested.to_dict()
        say_text(json.dumps({"schema": drafted, "out": None if out is None else str(out), **found}, indent=2))
        return
    if out is None:
        say_text(drafted)
    if suggested is not None:
        say_text(str(suggested), err=out is None)  # with the schema on standard output, it alone
    if out is not None:
        say(f"Written to {out}. Review it and fill in what is missing before you use it.")
