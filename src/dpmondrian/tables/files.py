"""A user's table from a file: names and types first, then the wanted columns, and never a value in a message."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, get_args

from dpmondrian.exceptions import ParameterError
from dpmondrian.tables.conversion import Kind
from dpmondrian.tables.failures import told
from dpmondrian.tables.formats import arrow_files, csv_files, databases, json_files
from dpmondrian.tables.identities import kind_of_ids, one_kind
from dpmondrian.tables.pieces import Piece
from dpmondrian.tables.source import ENDINGS, Source, check_file

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ENDINGS", "Kind", "Piece", "Source", "columns_of", "pieces_of", "read_columns"]


@dataclass(frozen=True)
class _Format:
    columns: Callable[[Source], dict[str, str]]
    pieces: Callable[[Source, Mapping[str, Kind]], Iterator[Piece]]


_FORMATS = {
    "CSV": _Format(csv_files.columns, csv_files.pieces),
    "JSON lines": _Format(json_files.columns, json_files.pieces),
    "Parquet": _Format(arrow_files.parquet_columns, arrow_files.parquet_pieces),
    "Arrow": _Format(arrow_files.arrow_columns, arrow_files.arrow_pieces),
    "SQLite": _Format(databases.sqlite_columns, databases.sqlite_pieces),
    "DuckDB": _Format(databases.duckdb_columns, databases.duckdb_pieces),
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
    kinds : mapping of str to "number", "text" or "id"
        The columns to read. Numbers come as float64, from typed files as their own integer type or float32; texts as
        strings (`dpmondrian.tables.conversion` says how other values become texts); ids in their own type.
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

    tables = []
    with closing(pieces_of(source, kinds)) as pieces:
        for read, done, total in pieces:
            tables.append(read())
            if progress is not None:
                progress(done, total)
    for name in (name for name, kind in kinds.items() if kind == "id"):  # a file without types shows them with its rows
        one_kind(kind_of_ids(table.schema.field(name).type) for table in tables[1:])
    return pyarrow.concat_tables(tables[1:] or tables, promote_options="default")


def pieces_of(source: Source, kinds: Mapping[str, Kind]) -> Generator[Piece, None, None]:
    """Yield a piece without rows, which tells the types, then the rows of a file: `read_columns` says how.

    Until its end is reached, the file may be open; close the generator, or read on.
    """
    if not kinds or not set(kinds.values()) <= set(get_args(Kind)):
        raise ParameterError(
            parameter="kinds", rule="must map at least one column to 'number', 'text' or 'id'", value=dict(kinds)
        )
    with told(source):
        check_file(source)
        for piece in _FORMATS[source.format].pieces(source, kinds):
            yield piece._replace(read=partial(_read, source, piece))


def _read(source: Source, piece: Piece) -> pyarrow.Table:
    with told(source):
        return piece.read()
