"""What a caller passes as a table that is read piece by piece: told by its type, no row is looked at.

The library of a table, such as polars, was imported by whoever made it.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.tables import arrow_stream
from dpmondrian.tables.files import Files, open_files
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.source import DATABASES, ENDINGS, SERVERS, Source
from dpmondrian.tables.stream import Stream

_IGNORED = (".", "_")  # how names begin of what other programs leave beside tables: ``_SUCCESS``, ``.part-0.crc``.


def open_stream(X: Any, columns: Sequence[str] | None, reader: Reader) -> Stream | None:
    """Return the stream of a table that is read piece by piece, or None for a table in memory.

    Parameters
    ----------
    X : table
        Path of a file (Parquet, CSV, Arrow, JSON lines; text formats also compressed), a folder or a glob, `Source`, or a list of
        these; `Files`, which were opened before; `pyarrow.dataset.Dataset`; DuckDB relation; polars LazyFrame; or a function
        that returns a new Arrow RecordBatchReader at each call, or anything with ``__arrow_c_stream__``. What is no file must
        give the same rows in the same order in every pass.
    columns : sequence of str or None
        The columns to read, in any order; None for all, which must then be numbers or declared categories. The column of persons
        is read besides, if it is needed.
    reader : Reader
        How the rows become tables.
    """
    if isinstance(X, Files):
        return X.stream(columns, reader)
    if sources := _sources(X):
        return open_files(sources).stream(columns, reader)
    if _is_a("pyarrow", "RecordBatchReader", X):
        raise DataError(
            "A RecordBatchReader can be read only once, but the rows may be needed several times.",
            "Pass a function that creates a new one on each call, such as lambda: dataset.scanner().to_reader().",
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
    if all(isinstance(item, Source) for item in items):
        return items
    return sources_of(items) if all(isinstance(item, str | os.PathLike) for item in items) else []


def _is_a(module: str, name: str, X: Any) -> bool:
    """Return whether something is of a class of a library, which is imported already if it is."""
    found = getattr(sys.modules.get(module), name, None)
    return found is not None and isinstance(X, found)


def sources_of(paths: Sequence[str | os.PathLike[str]], **layout: Any) -> list[Source]:
    """Return the files of one format behind paths, globs and folders: those of each in sorted order.

    Folders are searched to the bottom. Their names tell no values: columns are in the files. `layout` are parameters of `Source`.
    """
    sources = [_source(file, layout) for path in paths for file in _files(path)]
    other = next((source for source in sources if source.format != sources[0].format), None)
    if other is not None:
        raise DataError(
            f"All files must have the same format. {str(sources[0].path)!r} is of format {sources[0].format}, {str(other.path)!r} of "
            f"format {other.format}.",
            "Pass files of one format, such as 'folder/*.parquet'.",
        )
    return sources


def _source(file: Path, layout: dict[str, Any]) -> Source:
    if layout.get("kind") is None and ENDINGS.get(file.suffix.lower()) in DATABASES:
        raise DataError(
            f"The file {str(file)!r} is a database and needs a query that selects the rows.", WayOut.QUERY_DATABASE
        )
    return Source(file, **layout)


def _files(path: str | os.PathLike[str]) -> list[Path]:
    text = os.path.expanduser(path)
    if text.partition(":")[0] in SERVERS and ":" in text:
        name = f"{text.partition(':')[0]}:"
        raise DataError(f"{name!r} is a database and needs a query that selects the rows.", WayOut.QUERY_DATABASE)
    if "://" in text:
        raise DataError(f"{text!r} is a URL, but only paths on this machine can be read.", WayOut.COPY_FILES)
    if os.path.isdir(text):
        found = sorted(_in_folder(Path(text), set()))
        if not found:
            raise DataError(f"The folder {text!r} contains no files.", "Check its name, or write the tables there.")
        return found
    if os.path.lexists(text) or not glob.has_magic(text):
        return [Path(text)]
    return _matches(text)


def _in_folder(folder: Path, seen: set[str]) -> Iterator[Path]:
    """Yield the files in a folder and in those below it, in any order."""
    place = os.path.realpath(folder)
    if place in seen:
        raise DataError(
            f"The folder {str(folder)!r} can be reached in two ways, so its rows would count twice.", "Remove the link."
        )
    seen.add(place)
    for entry in _entries(folder):
        if entry.name.startswith(_IGNORED):
            continue
        if entry.is_dir():
            yield from _in_folder(Path(entry.path), seen)
        else:
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise DataError(
            f"The folder {str(folder)!r} cannot be read: permission denied, or it was deleted ({type(error).__name__}).",
            "Check its name and permissions.",
        ) from None


def _matches(pattern: str) -> list[Path]:
    """Return the files that a pattern matches, and those in the folders that it matches."""
    spelt = Path(pattern).parts
    asks_for_all = any(part.startswith(_IGNORED) and glob.has_magic(part) for part in spelt)
    found: set[Path] = set()
    for match in map(Path, glob.iglob(pattern, recursive=True)):
        if not asks_for_all and any(part.startswith(_IGNORED) for part in match.parts if part not in spelt):
            continue
        found.update(_in_folder(match, set()) if os.path.isdir(match) else [match])
    if not found:
        raise DataError(f"The pattern {pattern!r} matches no readable file.", "Check its folder and wildcards.")
    return sorted(found)
