"""Which things are streamed, told by their type; the library of each is imported by whoever made it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dpmondrian.exceptions import DataError
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.source import Source
from dpmondrian.tables.streams import arrow_stream
from dpmondrian.tables.streams.file_stream import Files, open_files
from dpmondrian.tables.streams.paths import paths_in, sources_of
from dpmondrian.tables.streams.stream import Stream

__all__ = ["open_stream"]


def open_stream(X: Any, columns: Sequence[str] | None, reader: Reader) -> Stream | None:
    """Return the stream of a table that is read piece by piece, or None for a table in memory.

    Parameters
    ----------
    X : table
        Path of a file (Parquet, CSV, Arrow, JSON lines; text formats also compressed), a folder or a glob, or a list of these;
        `Source`, or a list of them; `Files`, which were opened before; `pyarrow.dataset.Dataset`; DuckDB relation; polars LazyFrame; or a function without
        arguments that returns a new Arrow RecordBatchReader at each call, or anything with ``__arrow_c_stream__``. What
        is no file must give the same rows in the same order in every pass.
    columns : sequence of str or None
        The columns to read; None for all, which must then be numbers or declared categories. The column of persons is read
        besides, if it is needed. The columns of the stream are in the order of the table, or of ``reader.order``.
    reader : Reader
        How the rows become tables.

    Raises
    ------
    DataError
        If the table cannot be read or lacks a column. No message tells a value.
    """
    if isinstance(X, Files):
        return X.stream(columns, reader)
    if sources := _sources(X):
        return open_files(sources).stream(columns, reader)
    if _is_a("pyarrow", "RecordBatchReader", X):
        raise DataError(
            "A RecordBatchReader can be read only once, but the rows may be needed several times. Pass a function that creates a new one on each call,"
            " such as lambda: dataset.scanner().to_reader()."
        )
    if _is_a("pyarrow.dataset", "Dataset", X):
        return arrow_stream.dataset_stream(X, columns, reader)
    if _is_a("duckdb", "DuckDBPyRelation", X):
        return arrow_stream.relation_stream(X, columns, reader)
    if _is_a("polars", "LazyFrame", X):
        return arrow_stream.lazy_frame_stream(X, columns, reader)
    return arrow_stream.factory_stream(X, columns, reader) if callable(X) else None


def _sources(X: Any) -> list[Source]:
    """Return the files behind a path, a `Source` or a list of these; none for anything else."""
    items = list(X) if isinstance(X, list | tuple) else [X]
    return items if all(isinstance(item, Source) for item in items) else sources_of(paths_in(items))


def _is_a(module: str, name: str, X: Any) -> bool:
    """Return whether something is of a class of a library, which is imported already if it is."""
    found = getattr(sys.modules.get(module), name, None)
    return found is not None and isinstance(X, found)
