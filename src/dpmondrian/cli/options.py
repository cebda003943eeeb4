"""Options and arguments that several commands have, with their help; a command takes them as ``options.Epsilon``."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

Release = Annotated[Path, typer.Argument(help="A release.json written by 'dpm cluster'.")]
File = Annotated[
    str,
    typer.Argument(
        help="CSV, JSON lines, Parquet, Arrow/Feather or Excel; with --query a SQLite or DuckDB file, postgresql://user@host/database, or "
        "duckdb: for whatever DuckDB can read."
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or glob patterns, all in one format: CSV, Parquet, Arrow/Feather, JSON lines (text formats may be compressed) "
        "or Excel. Or with --query a single SQLite or DuckDB file, postgresql://user@host/database, or duckdb: for whatever DuckDB can "
        "read.",
    ),
]
Schema = Annotated[
    Path | None,
    typer.Option(help="TOML file that describes what is public about the columns. 'dpm init' writes one."),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        help="What is public about the columns, without a schema file: age=0:120:int,bmi=10:60, or repeat it; 'int' marks whole numbers. Also income=100:1e6:log, plan=basic|premium, "
        "code=@codes.csv, size=small<large, admitted=2010-01-01:2020-12-31, smoker=yes/no (1/0 and the like are understood)."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="Use only these columns: separated by commas, or repeat the option. Put names that contain a comma in double quotes.",
        show_default="all in the schema",
    ),
]
Epsilon = Annotated[float, typer.Option(help="Privacy budget. Smaller values give stronger privacy and more noise.")]
Delta = Annotated[float, typer.Option(help="Should be well below 1 / (number of people). 0 for pure epsilon.")]
Person = Annotated[str | None, typer.Option(help="Column that identifies the person a row belongs to.")]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of rows per person. With --person-id, additional rows are dropped.",
        show_default="1",
    ),
]
Query = Annotated[str | None, typer.Option(help="SQL query that selects the rows, if the file is a database.")]
Delimiter = Annotated[str | None, typer.Option(help="Field separator of CSV files.", show_default="comma")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of files with another extension: csv, parquet, arrow, jsonl, excel, sqlite or duckdb.",
        show_default="by the extension",
    ),
]
Header = Annotated[
    str | None,
    typer.Option(
        help="'none' if the first row of a CSV or Excel file holds values. Columns are then column_1, column_2, ...",
        show_default="the first row",
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.", show_default="the first")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="What stands for a missing value: '?', or age=-9 for one column. Repeat for more.",
        show_default="empty, NA, NaN, null",
    ),
]
DecimalSign = Annotated[str | None, typer.Option(help="Decimal sign of numbers.", show_default="point")]
Thousands = Annotated[str | None, typer.Option(help="Separator of thousands in numbers.", show_default="none")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of threads.", show_default="one per core, up to 8")
]

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_LEAST_MEMORY = 10**6


def size_in_bytes(text: str) -> int:
    """Return a size such as 2GB in bytes."""
    match = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?) ?({'|'.join(_UNITS)})", text, re.ASCII)
    n_bytes = 0 if match is None else int(Decimal(match[1]) * _UNITS[match[2]])
    if n_bytes < _LEAST_MEMORY:
        raise typer.BadParameter(
            f"A size must be a number followed by a unit ({', '.join(_UNITS)}), and at least 1MB. Got {text!r}. Example: 2GB."
        )
    return n_bytes


Memory = Annotated[
    int | None,
    typer.Option(
        parser=size_in_bytes,
        metavar="SIZE",
        help="Memory for the encoded rows, such as 2GB. The rest goes to an unnamed temporary file in TMPDIR.",
        show_default="1GiB",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="For research only: reproducible noise protects nobody.")]
