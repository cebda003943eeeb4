"""Everything that gives record batches as often as it is asked: functions, datasets, DuckDB relations, polars LazyFrames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from dpmondrian.exceptions import DataError
from dpmondrian.tables.conversion import Kind, table_of, target_schema, unusable_ids
from dpmondrian.tables.failures import failure, reworded
from dpmondrian.tables.formats.arrow_files import BUFFER_BYTES, PIECE_BYTES, bytes_per_row
from dpmondrian.tables.formats.databases import relation_reader
from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.identities import NoIdError, kind_of_field, one_kind, refuse_objects
from dpmondrian.tables.stream import Progress, Stream, TableMaker, wanted_kinds

if TYPE_CHECKING:
    import pyarrow


Batches: TypeAlias = "Callable[[list[str], int], Iterator[Any]]"
"""Begins a pass: returns the record batches of these columns, in order and of about so many rows."""

_LEAST_ROWS, _MOST_ROWS = 2**10, 2**17


@dataclass(frozen=True)
class _Origin:
    title: str
    way_out: str
    format: str = "Arrow"

    def failed(self, error: Exception) -> DataError:
        return failure(self, f"failed ({type(error).__name__})", f"{self.way_out}.")


def factory_stream(function: Callable[[], Any], columns: Sequence[str] | None, reader: Reader) -> Stream:
    """Return the stream of a function that returns a new Arrow reader at each call."""
    origin = _Origin("The function that returns the rows", "Call it yourself, and read what it returns")
    opened = _Readers(origin, function, reader.needed_person)
    with reworded(origin.failed):
        begin = opened.new()
        schema = begin.schema
        begin.close()

    def batches(names: list[str], _: int) -> Iterator[Any]:
        with opened.new() as batches:
            if batches.schema != schema:
                raise failure(
                    origin,
                    "returned different columns or types than before",
                    "It must return the same rows on each call.",
                )
            for batch in batches:
                yield batch.select(names)

    return _stream(origin, schema, batches, columns, reader)


class _Readers:
    """Calls the function, and refuses a reader that was used before: it would have no rows left.

    Ids that are Python objects are refused too: Arrow would find a type for them, call by call, or export their addresses.
    """

    def __init__(self, origin: _Origin, function: Callable[[], Any], person_id: str | None) -> None:
        self._origin, self._function, self._person_id = origin, function, person_id
        self._last: Any = None

    def new(self) -> Any:
        import pyarrow

        found = self._function()
        if not hasattr(found, "__arrow_c_stream__"):
            raise failure(
                self._origin,
                f"returned a {type(found).__name__}",
                "It must return an Arrow RecordBatchReader, or an object that can be exported as one.",
            )
        if found is self._last and isinstance(found, pyarrow.RecordBatchReader):
            raise failure(
                self._origin,
                "returned the same reader twice, which has no rows left",
                "It must create a new one on each call.",
            )
        self._last = found
        if self._person_id is not None:
            with _usable_ids(self._origin, self._person_id):
                refuse_objects(found, self._person_id)
        return pyarrow.RecordBatchReader.from_stream(found)


def dataset_stream(dataset: Any, columns: Sequence[str] | None, reader: Reader) -> Stream:
    """Return the stream of a `pyarrow.dataset.Dataset`."""
    origin = _Origin(
        "The dataset", "Read it with its own to_batches() to see why; a file may be damaged, missing or modified"
    )
    options = _scan_options(dataset)
    if reader.needed_person is not None:
        with reworded(origin.failed), _usable_ids(origin, reader.needed_person):
            _check_ids(dataset, reader.needed_person)

    def batches(names: list[str], n_rows: int) -> Iterator[Any]:
        # Threads of the scanner would read ahead of the threads that work on the pieces.
        scanner = dataset.scanner(columns=names, batch_size=n_rows, use_threads=False, fragment_readahead=1, **options)
        return iter(scanner.to_batches())

    return _stream(origin, dataset.schema, batches, columns, reader)


@contextmanager
def _usable_ids(origin: _Origin, name: str) -> Iterator[None]:
    """Tell what is wrong with the column of persons."""
    try:
        yield
        return
    except NoIdError as error:
        refused = unusable_ids(origin, name, error)
    raise refused


def _check_ids(dataset: Any, name: str) -> None:
    """Refuse ids that a scan would change on the way to the type of the dataset, file by file and without a word.

    It would turn a 7 of one file into "7" and a 7.00 of another into "7.00", or the folders id=7 and id=007 into the number 7.
    """
    if name not in dataset.schema.names:
        return
    declared = dataset.schema.field(name)
    kind = kind_of_field(declared)
    for fragment in dataset.get_fragments():
        if name in _partition_keys(fragment):
            raise NoIdError(
                "is stored in folder names, where 7 and 007 may be the same number", "Store it in the files."
            )
        if _has_no_types(fragment):  # so its values are read as what is declared, or looks like them
            if kind != "text":
                raise NoIdError(
                    "is not a string in files without types, where 7 and 007 may be the same number",
                    "Declare it as a string in the schema.",
                )
        elif name in fragment.physical_schema.names:
            own = fragment.physical_schema.field(name)
            one_kind([kind, kind_of_field(own)])
            if _may_round(_values(own.type), _values(declared.type)):
                raise NoIdError(
                    f"has type {own.type} in a file and would be rounded to {declared.type}",
                    "Write it with one type in all files.",
                )


def _partition_keys(fragment: Any) -> Collection[str]:
    from pyarrow.dataset import get_partition_keys

    keys: dict[str, Any] = get_partition_keys(fragment.partition_expression)
    return keys


def _has_no_types(fragment: Any) -> bool:
    import pyarrow.dataset

    formats = (pyarrow.dataset.CsvFileFormat, pyarrow.dataset.JsonFileFormat)
    return isinstance(getattr(fragment, "format", None), formats)


def _values(type_: Any) -> Any:
    from pyarrow import types

    return type_.value_type if types.is_dictionary(type_) else type_


def _may_round(type_: Any, target: Any) -> bool:
    """Return whether Arrow would change numbers when it casts them, or hide that they were floats; else it is exact, or fails."""
    from pyarrow import types

    if types.is_floating(type_):
        return not (types.is_floating(target) and target.bit_width >= type_.bit_width)
    return bool(types.is_decimal(type_) and types.is_floating(target))


def _scan_options(dataset: Any) -> dict[str, Any]:
    """Return what keeps whole columns of Parquet files out of memory."""
    import pyarrow.dataset

    if not isinstance(getattr(dataset, "format", None), pyarrow.dataset.ParquetFileFormat):
        return {}
    options = pyarrow.dataset.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    )
    return {"fragment_scan_options": options}


def relation_stream(relation: Any, columns: Sequence[str] | None, reader: Reader) -> Stream:
    """Return the stream of a DuckDB relation."""
    origin = _Origin("The DuckDB relation", "Try it in DuckDB itself; its connection must be open")
    with reworded(origin.failed):
        schema = relation_reader(relation.limit(0)).schema

    def batches(names: list[str], _: int) -> Iterator[Any]:
        quoted = ('"' + name.replace('"', '""') + '"' for name in names)
        return iter(relation_reader(relation.project(", ".join(quoted))))

    return _stream(origin, schema, batches, columns, reader)


def lazy_frame_stream(frame: Any, columns: Sequence[str] | None, reader: Reader) -> Stream:
    """Return the stream of a polars LazyFrame."""
    import polars

    origin = _Origin("The polars LazyFrame", "Collect some rows of it to see why")
    if not hasattr(frame, "collect_batches"):
        raise failure(origin, "requires polars 1.34 or newer for streaming", "Install it, or pass frame.collect().")
    with reworded(origin.failed):
        empty = polars.DataFrame(schema=frame.collect_schema())
        if reader.needed_person is not None:
            with _usable_ids(origin, reader.needed_person):
                refuse_objects(empty, reader.needed_person)
        schema = empty.to_arrow().schema

    def batches(names: list[str], n_rows: int) -> Iterator[Any]:
        wanted = frame.select(polars.selectors.by_name(*names))
        for part in wanted.collect_batches(chunk_size=n_rows, maintain_order=True):
            yield from part.to_arrow().to_batches()

    return _stream(origin, schema, batches, columns, reader)


def _stream(
    origin: _Origin, schema: pyarrow.Schema, batches: Batches, columns: Sequence[str] | None, reader: Reader
) -> Stream:
    kinds = wanted_kinds(origin, schema.names, columns, reader)
    target = target_schema(origin, schema, kinds)
    head = reader.of_streams.table(target.empty_table())
    return Stream(head, partial(_pieces, origin, target, kinds, batches, reader, head))


def _pieces(
    origin: _Origin,
    target: pyarrow.Schema,
    kinds: Mapping[str, Kind],
    batches: Batches,
    reader: Reader,
    head: Table,
    progress: Progress | None = None,
) -> Iterator[Callable[[], Table]]:
    n_rows = min(_MOST_ROWS, max(_LEAST_ROWS, PIECE_BYTES // bytes_per_row(target)))
    maker = TableMaker.begun(reader, head, progress, None)
    with reworded(origin.failed):
        for piece in _divided(batches(target.names, n_rows), n_rows):
            yield partial(_table, origin, piece, target, kinds, maker)


def _divided(batches: Iterator[Any], n_rows: int) -> Iterator[list[Any]]:
    """Yield the rows in pieces of so many, however they come: every pass must divide them in the same way."""
    piece: list[Any] = []
    missing = n_rows
    for batch in batches:
        start = 0
        while batch.num_rows - start >= missing:
            yield [*piece, batch.slice(start, missing)]
            start += missing
            piece, missing = [], n_rows
        if start < batch.num_rows:
            piece.append(batch.slice(start))
            missing -= batch.num_rows - start
    if piece:
        yield piece


def _table(
    origin: _Origin, piece: list[Any], target: pyarrow.Schema, kinds: Mapping[str, Kind], maker: TableMaker
) -> Table:
    with reworded(origin.failed):
        rows = table_of(origin, piece, target, kinds)
    return maker.table(rows, rows.num_rows)
