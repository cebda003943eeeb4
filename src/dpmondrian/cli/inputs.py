"""What a user said about a table and how to read it, and the table itself: shared by the commands that read rows."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from dpmondrian.schema import GivenBounds
    from dpmondrian.tables import Files, Source


def split_names(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in texts with commas between them; a name with a comma stands in double quotes, as in a CSV file."""
    given = [texts] if isinstance(texts, str) else list(texts or ())
    check_text(given)
    try:
        rows = list(csv.reader(given, skipinitialspace=True, strict=True))
    except csv.Error:
        raise typer.BadParameter(
            "Column names must be separated by commas, and a name that contains a comma must be in double quotes. Got a quote that "
            "is not closed, or that is closed in the middle of a name."
        ) from None
    return tuple(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))


def check_text(texts: Sequence[str | None]) -> None:
    """Refuse texts of the command line that are not UTF-8; Python carries their bytes as code points that nothing can write."""
    for text in texts:
        if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
            raise typer.BadParameter(
                f"Column names must be UTF-8 text. Got {text!r}. Check the locale settings of your shell."
            )


@dataclass(frozen=True)
class Habits:
    """How values are written in a file, as options say it: for all columns, or for one in "age=-9"."""

    missing: Sequence[str] | None = None
    decimal: str | None = None
    thousands: str | None = None

    def of(self, given: GivenBounds) -> GivenBounds:
        """Return what is known about columns, with this."""
        from dpmondrian.schema import GivenBounds, Schema, with_habits

        if not (self.missing or self.decimal or self.thousands):
            return given
        names = list(given.names or ())
        schema = given.schema(names, [False] * len(names))
        columns = [
            with_habits(column, self.marks(column.name), self.decimal, self.thousands) for column in schema.columns
        ]
        return GivenBounds(Schema(tuple(columns), schema.estimate))

    def marks(self, name: str) -> list[str]:
        """Return the marks of a column; those of others are left out."""
        own = [mark.removeprefix(f"{name}=") for mark in self.missing or () if mark.startswith(f"{name}=")]
        return own + [mark for mark in self.missing or () if "=" not in mark]


@dataclass(frozen=True)
class Public:
    """What is public about a table."""

    given: GivenBounds  # what is said about the columns to cluster
    person_id: str | None
    rows_per_person: int
    people_known: bool = False  # whether it was said how rows belong to people

    @property
    def bounds(self) -> Any:
        """The bounds as `DPM` takes them."""
        return self.given.given

    @property
    def kinds_to_read(self) -> dict[str, Any]:
        """The columns to read: those to cluster, and the one of persons."""
        return self.given.kinds if self.person_id is None else {**self.given.kinds, self.person_id: "id"}


def public_facts(
    schema: Path | None,
    bounds: Sequence[str] | None,
    columns: Sequence[str] | None = None,
    person_id: str | None = None,
    rows_per_person: int | None = None,
    habits: Habits | None = None,
) -> Public:
    """Return what the options say about a table, checked; nothing is read but the schema file.

    Where columns are named, nothing needs to be known about others.
    """
    from dpmondrian.schema import GivenBounds, bounds_from_options, read_schema

    check_text([person_id])
    if (schema is None) == (not bounds):
        raise typer.BadParameter(
            "Describe what is public about the columns with exactly one of --schema (a file that 'dpm init FILE' writes) and --bounds, such as --bounds age=0:120.",
            param_hint="--schema / --bounds",
        )
    if schema is not None:
        declared = read_schema(schema, split_names(columns))
        person_id = person_id or declared.person_id
        rows_per_person = rows_per_person or (declared.rows_per_person if declared.rows_per_person > 1 else None)
        given = GivenBounds(declared.schema)
    else:
        given = GivenBounds(bounds_from_options(bounds or ()))
    given = _only(given, split_names(columns))
    given = given if habits is None else habits.of(given)
    given.check_person(person_id)
    is_known = person_id is not None or rows_per_person is not None
    return Public(given, person_id, rows_per_person or 1, is_known)


def _only(given: GivenBounds, names: tuple[str, ...]) -> GivenBounds:
    """Return what is known about these columns; about all of them if none are named."""
    from dpmondrian.common.checks import nearest_names

    everything = list(given.names or ())
    for name in names:
        if name not in everything:
            hint = nearest_names([name], everything) or f" Known columns: {', '.join(everything)}."
            raise typer.BadParameter(f"Column {name!r} has no bounds.{hint}", param_hint="--columns")
    return given.only(names) if names else given


def source_in(file: str, query: str | None, *layout: str | None) -> Source:
    """Return the one file that is named; `layout` is that of `sources_in`."""
    from dpmondrian.tables import Source

    return Source(file, query, **_layout(*layout))  # type: ignore[arg-type]


def _layout(
    delimiter: str | None = None, kind: str | None = None, header: str | None = None, sheet: str | None = None
) -> dict[str, Any]:
    """Return what options say about how files are written, as `Source` takes it."""
    if header not in (None, "none"):
        raise typer.BadParameter(
            f"Must be 'none', if the first row holds values and no names. Got {header!r}.", param_hint="--header"
        )
    return {"delimiter": delimiter, "kind": kind, "header": header is None, "sheet": sheet}


def sources_in(files: Sequence[str], query: str | None = None, *layout: str | None) -> list[Source]:
    """Return the files that are named, and those in the folders and behind the patterns; or a database with its query.

    `layout` are the options --delimiter, --format, --header and --sheet.
    """
    from dpmondrian.exceptions import ParameterError
    from dpmondrian.tables import DATABASES, ENDINGS, sources_of

    is_database = ENDINGS.get(Path(files[0]).suffix.lower()) in DATABASES
    if len(files) == 1 and (query is not None or is_database):
        return [source_in(files[0], query, *layout)]
    if query is not None:
        raise ParameterError(
            parameter="query",
            rule="applies to a single database",
            got="several files",
            way_out="Pass only the database, or omit the query.",
        )
    return sources_of(files, **_layout(*layout))


def check_rows(rows: Files, kinds: dict[str, Any]) -> None:
    """Refuse files without a row, before anything is spent.

    Told to their holder, like missing values; the library itself treats such a table as any other.
    """
    from dpmondrian.exceptions import DataError

    if not rows.has_rows(kinds):
        subject = f"{rows.sources[0].title} has" if len(rows.files) == 1 else "The files have"
        raise DataError(f"{subject} no rows, so there is nothing to publish. Nothing was spent.")
