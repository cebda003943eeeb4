"""A user's table in files: opened once for their names and types, then decoded once per pass, and never a value in a message.

Several files are one table, with the same columns in each, and the same rows in every pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import DataError, ParameterError
from dpmondrian.schema import Notation
from dpmondrian.tables.conversion import Kind, target_schema, without_types
from dpmondrian.tables.failures import check_names, failure, file_errors_reworded
from dpmondrian.tables.formats import arrow_files, csv_files, databases, json_files, postgres, workbooks
from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.identities import kind_of_ids, one_kind
from dpmondrian.tables.source import COUNTED_IN_ROWS, Head, Piece, Source, check_path
from dpmondrian.tables.stream import Progress, Stream, TableMaker, wanted_kinds

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class _Format:
    head: Callable[[Source], Head]
    pieces: Callable[[Source, Head, Any, Mapping[str, Kind]], Iterator[Piece]]


_FORMATS = {
    "CSV": _Format(csv_files.head, csv_files.pieces),
    "JSON lines": _Format(json_files.head, json_files.pieces),
    "Parquet": _Format(arrow_files.parquet_head, arrow_files.parquet_pieces),
    "Arrow": _Format(arrow_files.arrow_head, arrow_files.arrow_pieces),
    "SQLite": _Format(databases.sqlite_head, databases.sqlite_pieces),
    "DuckDB": _Format(databases.duckdb_head, databases.duckdb_pieces),
    "Excel": _Format(workbooks.head, workbooks.pieces),
    "PostgreSQL": _Format(postgres.head, postgres.pieces),
}


_KINDS = ("number", "text", "id")


def open_file(source: Source) -> OpenedFile:
    """Return a file whose head has been read; no row has been looked at, and nothing stays open."""
    with file_errors_reworded(source):
        if source.address is None:
            check_path(source)
        identity = _identity(source)
    with _unchanged(source, identity), file_errors_reworded(source):
        head = _FORMATS[source.format].head(source)
        check_names(source, head.names, [])
    return OpenedFile(source, head, identity)


@dataclass(frozen=True)
class OpenedFile:
    """A file whose head was read. Every pass over its rows opens it once more, and must find it unchanged."""

    source: Source
    head: Head = field(repr=False)
    identity: tuple[int, int, int, int] = field(repr=False)  # device, number, size and time of the last change

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column by name, from metadata only; values are not looked at.

        Kinds are "whole", "number", "truth", "text", "date" and "unknown". CSV, JSON lines and SQLite have no types: there every
        kind is "unknown". The names of JSON lines are the keys of the first object, which is to them what a header is to a CSV
        file. Columns of a CSV file without a name are left out.
        """
        return self.head.kinds

    def types(self, kinds: Mapping[str, Kind]) -> pyarrow.Schema:
        """Return the types in which columns are read; refuse columns that are not there or cannot be read so."""
        if not kinds or not all(isinstance(kind, Notation) or kind in _KINDS for kind in kinds.values()):
            rule = "must map at least one column to 'number', 'text', 'id' or a notation"
            raise ParameterError(parameter="kinds", rule=rule, value=dict(kinds))
        with file_errors_reworded(self.source):
            check_names(self.source, self.head.names, list(kinds))
            if self.head.schema is None:
                return without_types(kinds)
            return target_schema(self.source, self.head.schema, kinds)

    def size(self, kinds: Mapping[str, Kind]) -> int | None:
        """Return how many bytes are read for these columns; None for a database or workbook, which counts rows."""
        if self.head.column_bytes is not None:
            return sum(self.head.column_bytes.get(name, 0) for name in kinds)
        return None if self.source.format in COUNTED_IN_ROWS else self.identity[2]

    def pieces(self, kinds: Mapping[str, Kind]) -> Generator[Piece, None, None]:
        """Yield the rows in pieces: see `read`. Until the end is reached, the file may be open; close the generator, or read on."""
        target = self.types(kinds)
        with _unchanged(self.source, self.identity), file_errors_reworded(self.source):
            for piece in _FORMATS[self.source.format].pieces(self.source, self.head, target, kinds):
                yield piece._replace(read=partial(self._read, piece))

    def _read(self, piece: Piece) -> pyarrow.Table:
        with _unchanged(self.source, self.identity), file_errors_reworded(self.source):
            return piece.read()

    def read(
        self, kinds: Mapping[str, Kind], progress: Callable[[int, int | None], None] | None = None
    ) -> pyarrow.Table:
        """Return the named columns, in this order, as an Arrow table; memory holds little more than that.

        Numbers come as float64, from typed files as their own integer type or float32; texts as strings (see
        `dpmondrian.tables.conversion`); ids in their own type. `progress` is called with what is done and the total: bytes,
        or for a database rows and None. For a bar only: it is exact.
        """
        import pyarrow

        tables, total = [], self.size(kinds)
        if progress is not None:
            progress(0, total)
        with closing(self.pieces(kinds)) as pieces:
            for read, done, _ in pieces:
                tables.append(read())
                if progress is not None:
                    progress(done, total)
        for name in (
            name for name, kind in kinds.items() if kind == "id"
        ):  # a file without types shows them with its rows
            one_kind(kind_of_ids(table.schema.field(name).type) for table in tables)
        return pyarrow.concat_tables(tables or [self.types(kinds).empty_table()], promote_options="default")

    def has_rows(self, kinds: Mapping[str, Kind]) -> bool:
        """Return whether there is a row; where only the rows tell, the first ones of these columns are read."""
        if self.head.has_rows is not None:
            return self.head.has_rows
        with closing(self.pieces(kinds)) as pieces:
            return any(piece.read().num_rows for piece in pieces)


@contextmanager
def _unchanged(source: Source, identity: tuple[int, ...]) -> Iterator[None]:
    """Refuse a file that was changed before or meanwhile; what else went wrong with it follows from that."""
    _check_identity(source, identity)
    try:
        yield
    except DataError:
        _check_identity(source, identity)
        raise
    _check_identity(source, identity)


def _check_identity(source: Source, identity: tuple[int, ...]) -> None:
    if source.address is not None:  # a snapshot of the server sees to it
        return
    found = None
    with file_errors_reworded(source):
        if os.path.lexists(source.path):
            found = _identity(source)
    if found is None:
        raise failure(source, "no longer exists", "Restore it, or start again without it.")
    if found != identity:
        raise failure(
            source,
            "was modified during the run, but every pass must see the same rows",
            "Start again when nothing writes to it.",
        )


def _identity(source: Source) -> tuple[int, int, int, int]:
    if source.address is not None:
        return 0, hash((source.address, source.query)), 0, 0
    status = os.stat(source.path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


_NUMBERS = ("whole", "number", "truth")


def open_files(sources: Sequence[Source]) -> Files:
    """Return files of one format, at least one, as one table; the head of each is read, once. A file may not be there twice."""
    files = tuple(open_file(source) for source in sources)
    _check_different(files)
    return Files(files)


@dataclass(frozen=True)
class Files:
    """Files whose heads were read: one table, whose columns are chosen when it is streamed. `DPM.fit` and others take it as it is."""

    files: tuple[OpenedFile, ...]

    @property
    def sources(self) -> list[Source]:
        """Where they are."""
        return [file.source for file in self.files]

    def has_rows(self, kinds: Mapping[str, Kind]) -> bool:
        """Return whether any file has a row; see `OpenedFile.has_rows`."""
        return any(file.has_rows(kinds) for file in self.files)

    def stream(self, columns: Sequence[str] | None, reader: Reader) -> Stream:
        """Return the table as a stream of these columns (None: all), besides the one of persons. Nothing is read."""
        first = self.files[0]
        kinds = wanted_kinds(first.source, list(first.kinds), columns, reader)
        types = [_types(file, first, kinds) for file in self.files]
        _check_one_kind_of_ids(self.sources, types, kinds)
        if columns is None:
            _check_no_others(self.files, {*kinds, reader.person_id})
        head = reader.of_streams.table(_no_rows(_common(types)))
        return Stream(head, partial(_pieces, self.files, kinds, reader, head))


def _no_rows(types: pyarrow.Schema) -> pyarrow.Table:
    """Return a table without rows; ``types.empty_table()`` would load pandas."""
    import pyarrow

    return pyarrow.Table.from_batches([], types)


def _check_different(files: Sequence[OpenedFile]) -> None:
    """Refuse a file that is there twice: one person's row would count twice, and the noise is made for one."""
    seen: dict[tuple[int, int], OpenedFile] = {}
    for file in files:
        other = seen.setdefault(file.identity[:2], file)
        if other is not file:
            raise failure(
                file.source,
                f"is included twice, also as {other.source.name!r}, so its rows would count twice",
                "Pass every file only once.",
            )


def _types(file: OpenedFile, first: OpenedFile, kinds: Mapping[str, Kind]) -> pyarrow.Schema:
    """Return the types in which a file's columns are read."""
    try:
        return file.types(kinds)
    except DataError:
        _check_same_kinds(file, first, kinds)
        raise


def _check_same_kinds(file: OpenedFile, first: OpenedFile, kinds: Mapping[str, Kind]) -> None:
    """Refuse a file whose column is of another kind than in the first file."""
    own, others = file.kinds, first.kinds
    for name in kinds:
        if name in own and (own[name] in _NUMBERS) != (others[name] in _NUMBERS):
            raise failure(
                file.source,
                f"has a column {name!r} of type {own[name]}, but in {first.source.name!r} it is of type {others[name]}",
                "Write it with one type in all files.",
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
                    f"has person ids {name!r} of type {type_}, but in {first.name!r} they are of type {first_type}, so one "
                    "person might count as two",
                    "Write them with one type in all files.",
                )


def _check_no_others(files: Sequence[OpenedFile], names: set[str | None]) -> None:
    """Refuse a file with columns that the first does not have, where all columns are to be read."""
    for file in files[1:]:
        others = [name for name in file.kinds if name not in names]
        if others:
            raise failure(
                file.source,
                f"has the columns {others!r}, which {files[0].source.name!r} does not have",
                "Name the columns to cluster in the bounds, or write all files with the same columns.",
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
    files: Sequence[OpenedFile],
    kinds: Mapping[str, Kind],
    reader: Reader,
    head: Table,
    progress: Progress | None = None,
) -> Iterator[Callable[[], Table]]:
    maker = TableMaker.begun(reader, head, progress, _total(files, kinds))
    for file in files:
        with closing(file.pieces(kinds)) as pieces:
            done = 0
            for piece in pieces:
                yield partial(_table, piece.read, piece.done - done, maker)
                done = piece.done


def _total(files: Sequence[OpenedFile], kinds: Mapping[str, Kind]) -> int | None:
    sizes = [file.size(kinds) for file in files]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _table(read: Callable[[], pyarrow.Table], size: int, maker: TableMaker) -> Table:
    return maker.table(read(), size)
