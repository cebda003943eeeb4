"""Files as one table: opened once, the same columns in each, and the same rows in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import DataError
from dpmondrian.tables.conversion import Kind
from dpmondrian.tables.failures import failure
from dpmondrian.tables.files import OpenedFile, open_file
from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.identities import kind_of_ids
from dpmondrian.tables.source import Source
from dpmondrian.tables.stream import Progress, Stream, TableMaker, wanted_kinds

if TYPE_CHECKING:
    import pyarrow


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
