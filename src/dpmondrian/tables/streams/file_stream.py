"""Files as one table: the same columns in each, and the same rows in every pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import DataError
from dpmondrian.tables.conversion import Kind
from dpmondrian.tables.failures import failure, told
from dpmondrian.tables.files import columns_of, pieces_of
from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.identities import kind_of_ids
from dpmondrian.tables.source import Source
from dpmondrian.tables.streams.stream import Progress, Stream, TableMaker, wanted_kinds

if TYPE_CHECKING:
    import pyarrow

__all__ = ["file_stream"]

_NUMBERS = ("whole", "number", "truth")


def file_stream(sources: Sequence[Source], columns: Sequence[str] | None, reader: Reader) -> Stream:
    """Return files as one stream. Only their metadata are read.

    Parameters
    ----------
    sources : sequence of Source
        At least one; all of one format.
    columns : sequence of str or None
        The columns to read, besides the one of persons; None for all.
    reader : Reader
        How the rows become tables.

    Raises
    ------
    DataError
        If a file cannot be read, is there twice, lacks a column or has it in a type that does not fit.
    """
    files = [_File.found(source) for source in sources]
    _check_different(files)
    kinds = wanted_kinds(sources[0], list(columns_of(sources[0])), columns, reader)
    begins = [_begin(file, files[0], kinds) for file in files]
    _check_one_kind_of_ids(sources, [schema for schema, _ in begins], kinds)
    if columns is None:
        _check_no_others(sources, {*kinds, reader.person_id})
    sizes = [size for _, size in begins]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    head = reader.table(_common([schema for schema, _ in begins]).empty_table())
    return Stream(head, partial(_pieces, files, kinds, reader, head, total))


@dataclass(frozen=True)
class _File:
    """A file, and how to tell whether it is still the same: device, number, size and time of the last change."""

    source: Source
    identity: tuple[int, int, int, int]

    @classmethod
    def found(cls, source: Source) -> _File:
        with told(source):
            return cls(source, _identity(source))

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse a file that was changed before or meanwhile; what else went wrong with it follows from that."""
        self._check()
        try:
            yield
        except DataError:
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        identity = None
        with told(self.source):
            if os.path.lexists(self.source.path):
                identity = _identity(self.source)
        if identity is None:
            raise failure(self.source, "is no longer there. Put it back, or start again without it")
        if identity != self.identity:
            raise failure(
                self.source,
                "was changed while it was in use, and every pass must see the same rows. Start again when nobody writes to it",
            )


def _identity(source: Source) -> tuple[int, int, int, int]:
    status = os.stat(source.path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_different(files: Sequence[_File]) -> None:
    """Refuse a file that is there twice: one person's row would count twice, and the noise is made for one."""
    seen: dict[tuple[int, int], _File] = {}
    for file in files:
        other = seen.setdefault(file.identity[:2], file)
        if other is not file:
            raise failure(
                file.source,
                f"is there twice, also as {str(other.source.path)!r}, so its rows would count twice. Name every file once",
            )


def _begin(file: _File, first: _File, kinds: Mapping[str, Kind]) -> tuple[pyarrow.Schema, int | None]:
    """Return the types in which a file's columns are read, and its bytes in them."""
    with file.unchanged():
        try:
            with closing(pieces_of(file.source, kinds)) as pieces:
                begin = next(pieces)
                return begin.read().schema, begin.total
        except DataError:
            _check_same_kinds(file.source, first.source, kinds)
            raise


def _check_same_kinds(source: Source, first: Source, kinds: Mapping[str, Kind]) -> None:
    """Refuse a file whose column is of another kind than in the first file."""
    own, others = columns_of(source), columns_of(first)
    for name in kinds:
        if name in own and (own[name] in _NUMBERS) != (others[name] in _NUMBERS):
            raise failure(
                source,
                f"has the column {name!r} of type {own[name]}, but in {str(first.path)!r} it is of type {others[name]}. Write it with "
                "one type in all files",
            )


def _check_one_kind_of_ids(
    sources: Sequence[Source], schemas: Sequence[pyarrow.Schema], kinds: Mapping[str, Kind]
) -> None:
    """Refuse files that write ids of persons in different types: one person might keep the rows of two."""
    for name in (name for name, kind in kinds.items() if kind == "id"):
        typed = [
            (source, schema.field(name).type)
            for source, schema in zip(sources, schemas, strict=True)
            if kind_of_ids(schema.field(name).type) is not None
        ]
        for source, type_ in typed[1:]:
            first, first_type = typed[0]
            if kind_of_ids(type_) != kind_of_ids(first_type):
                raise failure(
                    source,
                    f"has the ids of persons {name!r} of type {type_}, but in {str(first.path)!r} they are of type {first_type}, so one "
                    "person might count as two. Write them with one type in all files",
                )


def _check_no_others(sources: Sequence[Source], names: set[str | None]) -> None:
    """Refuse a file with columns that the first does not have, where all columns are to be read."""
    for source in sources[1:]:
        others = [name for name in columns_of(source) if name not in names]
        if others:
            raise failure(
                source,
                f"has the columns {others!r}, which {str(sources[0].path)!r} does not have. Name the columns to cluster in the "
                "bounds, or write all files with the same columns",
            )


def _common(schemas: Sequence[pyarrow.Schema]) -> pyarrow.Schema:
    """Return types for all files: a column of numbers has whole ones only if it has in every file."""
    import pyarrow

    def common(types: list[Any]) -> Any:
        are_whole = [pyarrow.types.is_integer(type_) for type_ in types]
        return pyarrow.float64() if any(are_whole) and not all(are_whole) else types[0]

    return pyarrow.schema(
        [(name, common([schema.field(name).type for schema in schemas])) for name in schemas[0].names]
    )


def _pieces(
    files: Sequence[_File],
    kinds: Mapping[str, Kind],
    reader: Reader,
    head: Table,
    total: int | None,
    progress: Progress | None = None,
) -> Iterator[Callable[[], Table]]:
    maker = TableMaker.begun(reader, head, progress, total)
    for file in files:
        with file.unchanged(), closing(pieces_of(file.source, kinds)) as pieces:
            done = next(pieces).done  # a piece without rows
            for piece in pieces:
                yield partial(_table, file, piece.read, piece.done - done, maker)
                done = piece.done


def _table(file: _File, read: Callable[[], pyarrow.Table], size: int, maker: TableMaker) -> Table:
    with file.unchanged():
        rows = read()
    return maker.table(rows, size)
