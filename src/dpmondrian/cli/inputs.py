"""What a user said about a table and how to read it, and the table itself: shared by the commands that read rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmondrian.cli.choices import check_text, split_names

if TYPE_CHECKING:
    from dpmondrian.schema import GivenBounds
    from dpmondrian.tables import Files, Source

__all__ = [
    "BoundsOption",
    "ColumnsOption",
    "DelimiterOption",
    "FileArgument",
    "FilesArgument",
    "JsonOption",
    "MemoryOption",
    "PersonOption",
    "Public",
    "QueryOption",
    "QuietOption",
    "RowsPerPersonOption",
    "SchemaOption",
    "ThreadsOption",
    "check_rows",
    "public_facts",
    "sources_in",
]

FileArgument = Annotated[
    Path,
    typer.Argument(help="CSV, Parquet, Arrow/Feather or JSON lines, compressed or not; SQLite or DuckDB with --query."),
]
FilesArgument = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or glob patterns, all in one format: CSV, Parquet, Arrow/Feather or JSON lines (text formats may be "
        "compressed). Or a single SQLite or DuckDB file with --query.",
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(help="TOML file that describes what is public about the columns. 'dpm schema' drafts one."),
]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Alternative to --schema; repeat for each column: age=0:120, children=0:12:int, income=100:1e6:log, plan=basic|premium."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Use only these columns: separated by commas, or repeat the option. Put names that contain a comma in double quotes.",
        show_default="all in the schema",
    ),
]
PersonOption = Annotated[str | None, typer.Option(help="Column that identifies the person a row belongs to.")]
RowsPerPersonOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of rows per person. With --person-id, additional rows are dropped.",
        show_default="1",
    ),
]
QueryOption = Annotated[str | None, typer.Option(help="SQL query that selects the rows, if the file is a database.")]
DelimiterOption = Annotated[str | None, typer.Option(help="Field separator of CSV files.", show_default="comma")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of threads.", show_default="one per core, up to 8")
]

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_LEAST_MEMORY = 10**6


def _bytes_of(text: str) -> int:
    """Return a size such as 2GB in bytes."""
    match = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?) ?({'|'.join(_UNITS)})", text, re.ASCII)
    n_bytes = 0 if match is None else int(Decimal(match[1]) * _UNITS[match[2]])
    if n_bytes < _LEAST_MEMORY:
        raise typer.BadParameter(
            f"A size must be a number followed by a unit ({', '.join(_UNITS)}), and at least 1MB. Got {text!r}. Example: 2GB."
        )
    return n_bytes


MemoryOption = Annotated[
    int | None,
    typer.Option(
        parser=_bytes_of,
        metavar="SIZE",
        help="Memory for the encoded rows, such as 2GB. The rest goes to an unnamed temporary file in TMPDIR.",
        show_default="1GiB",
    ),
]


@dataclass(frozen=True)
class Public:
    """What is public about a table.

    Attributes
    ----------
    given : GivenBounds
        What is said about the columns to cluster.
    people_known : bool
        Whether it was said how rows belong to people.
    """

    given: GivenBounds
    person_id: str | None
    rows_per_person: int
    people_known: bool = False

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
) -> Public:
    """Return what the options say about a table, checked; nothing is read but the schema file.

    Where columns are named, nothing needs to be known about others.
    """
    from dpmondrian.exceptions import ParameterError
    from dpmondrian.schema import GivenBounds, bounds_from_options, read_schema

    check_text([person_id])
    if (schema is None) == (not bounds):
        raise typer.BadParameter(
            "Describe what is public about the columns with exactly one of --schema (a file that 'dpm schema FILE --out schema.toml' "
            "drafts) and --bounds, such as --bounds age=0:120.",
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
    if person_id in given.kinds:
        raise ParameterError(
            parameter="person_id",
            rule="must name a column that is not used for clustering",
            got=f"{person_id!r} (which has bounds)",
            way_out="Remove it from the bounds.",
        )
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


def sources_in(files: Sequence[str], query: str | None = None, delimiter: str | None = None) -> list[Source]:
    """Return the files that are named, and those in the folders and behind the patterns; or a database with its query."""
    from dpmondrian.exceptions import ParameterError
    from dpmondrian.tables import DATABASES, ENDINGS, Source, sources_of

    is_database = ENDINGS.get(Path(files[0]).suffix.lower()) in DATABASES
    if len(files) == 1 and (query is not None or is_database):
        return [Source(Path(files[0]), query, delimiter)]
    if query is not None:
        raise ParameterError(
            parameter="query",
            rule="applies to a single database",
            got="several files",
            way_out="Pass only the database, or omit the query.",
        )
    return sources_of(files, delimiter)


def check_rows(rows: Files, kinds: dict[str, Any]) -> None:
    """Refuse files without a row, before anything is spent.

    Told to their holder, like missing values; the library itself treats such a table as any other.
    """
    from dpmondrian.exceptions import DataError

    if not rows.has_rows(kinds):
        subject = f"{rows.sources[0].title} has" if len(rows.files) == 1 else "The files have"
        raise DataError(f"{subject} no rows, so there is nothing to publish. Nothing was spent.")
