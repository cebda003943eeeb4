"""A user's table from a file: names and types first, then the wanted columns, and never a value in a message."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import ParameterError
from dpmondrian.files import arrow_files, csv_files, databases, json_files
from dpmondrian.files.conversion import Kind
from dpmondrian.files.failures import told
from dpmondrian.files.source import ENDINGS, Source, check_file

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ENDINGS", "Kind", "Source", "columns_of", "read_columns"]


@dataclass(frozen=True)
class _Format:
    columns: Callable[[Source], dict[str, str]]
    batches: Callable[[Source, Mapping[str, Kind]], Iterator[tuple[Any, int, int | None]]]


_FORMATS = {
    "CSV": _Format(csv_files.columns, csv_files.batches),
    "JSON lines": _Format(json_files.columns, json_files.batches),
    "Parquet": _Format(arrow_files.parquet_columns, arrow_files.parquet_batches),
    "Arrow": _Format(arrow_files.arrow_columns, arrow_files.arrow_batches),
    "SQLite": _Format(databases.sqlite_columns, databases.sqlite_batches),
    "DuckDB": _Format(databases.duckdb_columns, databases.duckdb_batches),
}


def columns_of(source: Source) -> dict[str, str]:
    """Return the kind of every column by name, from metadata only; values are not looked at.

    Kinds are "whole", "number", "truth", "text", "date" and "unknown". CSV, JSON lines and SQLite have no types: there every
    kind is "unknown". The names of JSON lines are the keys of the first object, which is to them what a header is to a CSV
    file. Columns of a CSV file without a name are left out.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    with told(source):
        check_file(source)
        return _FORMATS[source.format].columns(source)


def read_columns(
    source: Source, kinds: Mapping[str, Kind], progress: Callable[[int, int | None], None] | None = None
) -> pyarrow.Table:
    """Return the named columns of a file, in this order, as an Arrow table.

    Parameters
    ----------
    source : Source
    kinds : mapping of str to "number" or "text"
        The columns to read. Numbers come as float64, from typed files as their own integer type or float32; texts as
        strings (`dpmondrian.files.conversion` says how other values become texts).
    progress : callable, optional
        Called with what is done and the total: bytes, or for a database rows and None. For a bar only: it is exact.

    Raises
    ------
    DataError
        If the file cannot be read, lacks a column, or a column cannot be read as what it should be. No message tells a value.

    Notes
    -----
    Pieces of the file become pieces of the table, without a copy: memory holds little more than the result.
    """
    import pyarrow

    if not kinds or not set(kinds.values()) <= {"number", "text"}:
        raise ParameterError(
            f"The 'kinds' parameter must map at least one column to 'number' or 'text'. Got {dict(kinds)!r} instead."
        )
    pieces = []
    with closing(_batches(source, kinds)) as batches:
        for batch, done, total in batches:
            pieces.append(batch)
            if progress is not None:
                progress(done, total)
    return pyarrow.Table.from_batches(pieces[1:], schema=pieces[0].schema)


def _batches(source: Source, kinds: Mapping[str, Kind]) -> Generator[tuple[Any, int, int | None], None, None]:
    """Yield an empty batch, then those of the file."""
    with told(source):
        check_file(source)
        yield from _FORMATS[source.format].batches(source, kinds)
