"""``dpm schema``: a draft of a schema file, and on request bounds that are estimated from the rows with privacy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmondrian.cli.choices import split_names
from dpmondrian.cli.inputs import (
    DelimiterOption,
    FileArgument,
    JsonOption,
    PersonOption,
    QueryOption,
    RowsPerPersonOption,
)
from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import printed

if TYPE_CHECKING:
    from dpmondrian.suggest import SuggestedBounds
    from dpmondrian.tables import OpenedFile, Source

__all__ = ["schema"]

_NUMERIC = ("whole", "number", "unknown")


def schema(
    file: FileArgument,
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
    person_id: PersonOption = None,
    rows_per_person: RowsPerPersonOption = None,
    budget: Annotated[
        Path | None,
        typer.Option(help="With --suggest-bounds: budget file of the data set, charged before the first draw."),
    ] = None,
    query: QueryOption = None,
    delimiter: DelimiterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft a schema file (TOML) from the column names and types of a table, without looking at any value.

    Common knowledge, such as the range of an age, is filled in; fill in the rest from public knowledge. For columns whose bounds nobody
    knows, --suggest-bounds estimates them from the rows with differential privacy. This spends --epsilon of the data set's budget, and
    the most extreme rows may lie outside the estimated bounds.

    \b
    Examples:
      dpm schema patients.csv --out schema.toml
      dpm schema sales.parquet --suggest-bounds --epsilon 0.1 --budget budget.json --out new.toml
      dpm schema visits.csv --suggest-bounds --epsilon 0.1 --columns cost --person-id patient
    """  # noqa: D301
    from dpmondrian.tables import Source, open_file

    _check_options(suggest_bounds, epsilon=epsilon, columns=columns, budget=budget)
    _check_free(out)
    source = Source(file, query, delimiter)
    opened = open_file(source)
    kinds = opened.kinds
    people = {"person_id": person_id, "rows_per_person": rows_per_person or 1}
    _check_person(person_id, kinds, source)
    if not suggest_bounds or epsilon is None:
        _show(_drafted(kinds, people), None, out, as_json)
        return
    wanted = _wanted(split_names(columns), {name: kind for name, kind in kinds.items() if name != person_id}, source)
    suggested = _suggested(opened, wanted, epsilon, budget, people)
    _show(_drafted(kinds, people, suggested), suggested, out, as_json)


def _check_options(suggest_bounds: bool, **options: Any) -> None:
    """Refuse options that belong together and come alone."""
    alone = [name for name, value in options.items() if value not in (None, "", ())]
    if not suggest_bounds and alone:
        raise typer.BadParameter(
            f"--{alone[0]} requires --suggest-bounds. Without it, no values are read and nothing is spent.",
            param_hint=f"--{alone[0]}",
        )
    if suggest_bounds and options["epsilon"] is None:
        raise typer.BadParameter(
            "--suggest-bounds needs to know how much of the budget it may spend, for example --epsilon 0.1.",
            param_hint="--epsilon",
        )


def _check_free(out: Path | None) -> None:
    """Refuse a file that exists before anything is read or spent."""
    from dpmondrian.exceptions import OutputError

    if out is not None and os.path.lexists(out):
        raise OutputError(f"The file {str(out)!r} already exists. Choose another name, or remove it first.")
    if out is not None and not out.absolute().parent.is_dir():
        raise OutputError(f"The folder of {str(out)!r} does not exist. Create it first, or choose another one.")


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


def _wanted(names: tuple[str, ...], kinds: Mapping[str, str], source: Source) -> list[str]:
    """Return the columns whose bounds to estimate: those named, or the numbers of which nothing is known by their names."""
    from dpmondrian.schema import is_identifier, known_quantity

    for name in names:
        if name not in kinds:
            raise typer.BadParameter(
                f"There is no column {name!r}.{_hint(name, kinds, source)}", param_hint="--columns"
            )
        if kinds[name] not in _NUMERIC:
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
    unknown = [name for name in numbers if known_quantity(name) is None]
    if not unknown:
        raise typer.BadParameter(
            "The bounds of every numeric column are common knowledge, judging by its name. To estimate bounds anyway, name the "
            "column with --columns.",
            param_hint="--columns",
        )
    return unknown


def _suggested(
    file: OpenedFile, wanted: list[str], epsilon: float, budget: Path | None, people: dict[str, Any]
) -> SuggestedBounds:
    """Read the rows and estimate; wrong parameters and a missing budget file are told before the rows are read."""
    from dpmondrian.accounts import Budget
    from dpmondrian.cli.stopping import charges_told
    from dpmondrian.common.checks import check_epsilon
    from dpmondrian.suggest import suggest_bounds

    check_epsilon(epsilon)
    ledger = None if budget is None else Budget(budget)
    if ledger is not None:
        ledger.read()
    person: dict[str, Any] = {} if people["person_id"] is None else {people["person_id"]: "id"}
    with charges_told(ledger):
        rows = file.read({**dict.fromkeys(wanted, "number"), **person})
        return suggest_bounds(rows, epsilon, columns=wanted, budget=ledger, **people)


def _drafted(kinds: Mapping[str, str], people: Mapping[str, Any], suggested: SuggestedBounds | None = None) -> str:
    """Return the TOML text: what holds for the whole table, the draft of names and types, and sections with estimated bounds.

    Columns of which nothing could be said stay in the draft, to be filled in.
    """
    from dpmondrian.schema import draft_schema, toml_key

    found = {} if suggested is None else {name: pair for name, pair in suggested.bounds.items() if pair is not None}
    others = {name: kind for name, kind in kinds.items() if name not in found and name != people["person_id"]}
    sections = [f"[columns.{toml_key(name)}]\n{_bound_lines(pair)}" for name, pair in found.items()]
    draft = draft_schema(others, people_known=_said(people))
    return "\n".join([*_top(people, suggested), draft, *sections])


def _said(people: Mapping[str, Any]) -> bool:
    """Return whether the options say how rows belong to people."""
    return people["person_id"] is not None or people["rows_per_person"] > 1


def _top(people: Mapping[str, Any], suggested: SuggestedBounds | None) -> list[str]:
    """Return the keys of the whole table, which must stand before all sections; none if nothing was said."""
    from dpmondrian.schema import toml_value

    lines = [f"{key} = {toml_value(value)}\n" for key, value in people.items() if _said(people) and value is not None]
    if suggested is not None:
        lines.append(f"{_SPENT}bounds_epsilon = {toml_value(suggested.estimate.epsilon)}\n")
        if suggested.estimate.entry is not None:
            lines.append(f"bounds_entry = {toml_value(suggested.estimate.entry)}\n")
    return ["".join(lines)] if lines else []


_SPENT = "# Spent on estimating the bounds from the rows. It adds to the cost of every release:\n"


def _bound_lines(pair: tuple[Any, ...]) -> str:
    from dpmondrian.schema import toml_value

    ends = zip(("lower", "upper"), pair, strict=False)
    lines = [f"{key} = {toml_value(value)}  # estimated from the rows, with noise\n" for key, value in ends]
    return "".join([*lines, *(["whole = true  # from the type\n"] if len(pair) > 2 else [])])


def _show(drafted: str, suggested: SuggestedBounds | None, out: Path | None, as_json: bool) -> None:
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
