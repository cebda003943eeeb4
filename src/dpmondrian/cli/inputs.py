"""What a user said about a table, and the table itself: shared by the commands that read rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmondrian.cli.choices import check_text, split_names

if TYPE_CHECKING:
    import pyarrow

    from dpmondrian.domain import Schema
    from dpmondrian.files.tables import Source

__all__ = [
    "BoundsOption",
    "ColumnsOption",
    "DelimiterOption",
    "FileArgument",
    "JsonOption",
    "PersonOption",
    "Public",
    "QueryOption",
    "QuietOption",
    "RowsPerPersonOption",
    "SchemaOption",
    "public_facts",
    "read_rows",
    "rows_of_release",
]

FileArgument = Annotated[
    Path,
    typer.Argument(help="CSV, Parquet, Arrow/Feather or JSON lines, compressed or not; SQLite or DuckDB with --query."),
]
SchemaOption = Annotated[
    Path | None, typer.Option(help="TOML file with what is public about the columns; 'dpm schema' drafts one.")
]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Instead of --schema, once per column: age=0:120, children=0:12:int, income=100:1e6:log, plan=basic|premium."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only these columns: with commas between, or once per column; a name with a comma in double quotes.",
        show_default="all in the schema",
    ),
]
PersonOption = Annotated[str | None, typer.Option(help="Column that tells to whom a row belongs.")]
RowsPerPersonOption = Annotated[
    int | None,
    typer.Option(min=1, help="Most rows of one person; with --person-id others are left out.", show_default="1"),
]
QueryOption = Annotated[str | None, typer.Option(help="SQL query, for a file that is a database.")]
DelimiterOption = Annotated[str | None, typer.Option(help="Between the values of a CSV file.", show_default="comma")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.")]


@dataclass(frozen=True)
class Public:
    """What is public about a table.

    Attributes
    ----------
    bounds : Schema or mapping
        As `DPM` takes them.
    kinds : dict of str to "number" or "text"
        The columns to cluster.
    people_known : bool
        Whether it was said how rows belong to people.
    """

    bounds: Schema | dict[str, Any]
    kinds: dict[str, Any]
    person_id: str | None
    rows_per_person: int
    people_known: bool = False

    @property
    def kinds_to_read(self) -> dict[str, Any]:
        """The columns to read: those to cluster, and the one of persons."""
        return self.kinds if self.person_id is None else {**self.kinds, self.person_id: "text"}


def public_facts(
    schema: Path | None,
    bounds: Sequence[str] | None,
    columns: Sequence[str] | None = None,
    person_id: str | None = None,
    rows_per_person: int | None = None,
) -> Public:
    """Return what the options say about a table, checked; nothing is read but the schema file.

    Where columns are named, nothing needs to be known about others.
    """
    from dpmondrian.exceptions import ParameterError
    from dpmondrian.files.options import bounds_from_options
    from dpmondrian.files.schema_file import read_schema

    check_text([person_id])
    if (schema is None) == (not bounds):
        raise typer.BadParameter(
            "Say what is public about the columns, once: by --schema, a file that 'dpm schema FILE --out schema.toml' drafts, or "
            "by --bounds, such as --bounds age=0:120.",
            param_hint="--schema / --bounds",
        )
    if schema is not None:
        declared = read_schema(schema, split_names(columns))
        person_id = person_id or declared.person_id
        rows_per_person = rows_per_person or (declared.rows_per_person if declared.rows_per_person > 1 else None)
        known: Schema | dict[str, Any] = declared.schema
    else:
        known = dict(bounds_from_options(bounds or ()))
    known = _only(known, split_names(columns))
    kinds = _kinds(known)
    if person_id in kinds:
        raise ParameterError(
            f"The '--person-id' option must name a column that is not clustered. Got {person_id!r}, which has bounds. Leave it out "
            "of the bounds."
        )
    is_known = person_id is not None or rows_per_person is not None
    return Public(known, kinds, person_id, rows_per_person or 1, is_known)


def _only(known: Schema | dict[str, Any], names: tuple[str, ...]) -> Schema | dict[str, Any]:
    """Return what is known about these columns; about all of them if none are named."""
    from dpmondrian.domain import Schema, nearest_names

    everything = list(known.names if isinstance(known, Schema) else known)
    for name in names:
        if name not in everything:
            hint = nearest_names([name], everything) or f" There are {', '.join(everything)}."
            raise typer.BadParameter(f"Nothing is said about column {name!r}.{hint}", param_hint="--columns")
    if not names:
        return known
    if isinstance(known, Schema):
        return Schema(tuple(column for column in known.columns if column.name in names), known.estimate)
    return {name: known[name] for name in names}


def _kinds(known: Schema | dict[str, Any]) -> dict[str, Any]:
    from dpmondrian.domain import Schema, categories_in

    categories = categories_in(known)
    return {
        name: "text" if name in categories else "number"
        for name in (known.names if isinstance(known, Schema) else known)
    }


def read_rows(
    source: Source, kinds: dict[str, Any], progress: Callable[[int, int | None], None] | None = None
) -> pyarrow.Table:
    """Return the columns of a file."""
    from dpmondrian.files.tables import read_columns

    return read_columns(source, kinds, progress)


def rows_of_release(
    schema: Schema, source: Source, more: dict[str, Any] | None = None, progress: Callable[..., None] | None = None
) -> pyarrow.Table:
    """Return the columns of a file that a release knows, and some more."""
    return read_rows(source, {**_kinds(schema), **(more or {})}, progress)
