"""Parquet and Arrow files: typed columns, of which only the wanted ones are read, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from dpmondrian.tables.conversion import Kind, kind_of, table_of
from dpmondrian.tables.source import Head, Piece, Source, check_start, start_of

PIECE_BYTES = 2**24  # what a piece has in memory, about: small row groups are read together, large ones in parts
LARGEST_GROUP = 2**26
"""Row groups with no more than this are one piece, because several threads can decode them side by side."""
BUFFER_BYTES = 2**20
_TEXT_BYTES = 16  # a guess: how long texts are is not in the metadata


def head_of_schema(schema: Any, has_rows: bool | None = None, column_bytes: Mapping[str, int] | None = None) -> Head:
    """Return the head of a file with an Arrow schema."""
    kinds = {field.name: kind_of(field.type) for field in schema}
    return Head(tuple(schema.names), kinds, has_rows, schema, column_bytes)


def parquet_head(source: Source) -> Head:
    """Return what the metadata of a Parquet file say."""
    check_start(source, start_of(source))
    with _parquet(source) as file:
        metadata = file.metadata
        column_bytes: dict[str, int] = {}
        for number in range(metadata.num_row_groups):
            for chunk in _chunks(metadata.row_group(number)):
                column_bytes[chunk.path_in_schema] = (
                    column_bytes.get(chunk.path_in_schema, 0) + chunk.total_compressed_size
                )
        return head_of_schema(file.schema_arrow, metadata.num_rows > 0, column_bytes)


def parquet_pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the row groups of a file, with their bytes in these columns. They are decoded by whoever reads the piece.

    A row group that is too large for that is decoded here, part by part. Metadata are read anew, because those of many files might not
    fit into memory.
    """
    with _parquet(source) as file:
        metadata = file.metadata
    groups = [_RowGroup(metadata.row_group(number), number, target) for number in range(metadata.num_row_groups)]
    done, total = 0, sum(group.bytes_in_file for group in groups)
    for run in _runs(groups):
        if len(run) > 1 or run[0].bytes_in_memory <= LARGEST_GROUP:
            done += sum(group.bytes_in_file for group in run)
            yield Piece(
                partial(_row_groups, source, metadata, [group.number for group in run], target, kinds), done, total
            )
        else:
            yield from _parts(source, metadata, run[0], target, kinds, done, total)
            done += run[0].bytes_in_file


def _chunks(row_group: Any) -> list[Any]:
    """Return the metadata of a row group's columns."""
    return [row_group.column(place) for place in range(row_group.num_columns)]


class _RowGroup:
    """What the metadata say about a row group: its number, rows, and bytes in the wanted columns."""

    def __init__(self, metadata: Any, number: int, target: Any) -> None:
        self.number, self.n_rows = number, metadata.num_rows
        wanted = [chunk for chunk in _chunks(metadata) if chunk.path_in_schema in target.names]
        self.bytes_in_file = sum(chunk.total_compressed_size for chunk in wanted)
        # Values that repeat take less room in the file than in memory.
        self.bytes_in_memory = max(
            sum(chunk.total_uncompressed_size for chunk in wanted), self.n_rows * bytes_per_row(target)
        )


def bytes_per_row(schema: Any) -> int:
    """Return about how many bytes a row takes in memory."""
    from pyarrow import types

    return sum(field.type.bit_width // 8 if types.is_primitive(field.type) else _TEXT_BYTES for field in schema)


def _runs(groups: list[_RowGroup]) -> Iterator[list[_RowGroup]]:
    """Yield row groups, small ones that lie side by side together: each piece costs the opening of the file."""
    run: list[_RowGroup] = []
    for group in groups:
        if run and sum(member.bytes_in_memory for member in run) + group.bytes_in_memory > PIECE_BYTES:
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def _row_groups(source: Source, metadata: Any, numbers: list[int], target: Any, kinds: Mapping[str, Kind]) -> Any:
    with _parquet(source, metadata) as file:
        # Without threads of its own: pieces are read by several threads.
        rows = file.read_row_groups(numbers, columns=target.names, use_threads=False)
    return table_of(source, rows.to_batches(), target, kinds)


def _parts(
    source: Source, metadata: Any, group: _RowGroup, target: Any, kinds: Mapping[str, Kind], done: int, total: int
) -> Iterator[Piece]:
    """Yield the parts of a large row group, behind so many bytes of others."""
    n_rows = 0
    part_rows = max(1, group.n_rows * PIECE_BYTES // group.bytes_in_memory)
    with _parquet(source, metadata) as file:
        for batch in file.iter_batches(part_rows, [group.number], target.names, use_threads=False):
            n_rows += batch.num_rows
            yield Piece(
                partial(table_of, source, [batch], target, kinds),
                done + group.bytes_in_file * n_rows // group.n_rows,
                total,
            )


@contextmanager
def _parquet(source: Source, metadata: Any = None) -> Iterator[Any]:
    """Yield an open file; metadata that were read before are not read again."""
    import pyarrow.parquet

    # Reading ahead would bring whole columns of the file into memory.
    with pyarrow.parquet.ParquetFile(
        source.path, metadata=metadata, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    ) as file:
        yield file


def arrow_head(source: Source) -> Head:
    """Return the schema of an Arrow file."""
    check_start(source, start_of(source))
    with _arrow(source, None) as (reader, _):
        return head_of_schema(reader.schema)


def arrow_pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the record batches of these columns, with the bytes read so far and those of the file.

    A record batch is read as a whole; large ones are more than one piece, so that several threads can work on them.
    """
    with _arrow(source, sorted(head.names.index(name) for name in kinds)) as (reader, file):
        total, n_rows = file.size(), max(1, PIECE_BYTES // bytes_per_row(target))
        for batch, done in _record_batches(reader, file):
            for start in range(0, batch.num_rows, n_rows):
                yield Piece(
                    partial(_checked, source, batch.slice(start, n_rows), target, kinds), min(done, total), total
                )


def _checked(source: Source, batch: Any, target: Any, kinds: Mapping[str, Kind]) -> Any:
    batch.validate(full=True)  # a damaged file must not be taken for memory
    return table_of(source, [batch], target, kinds)


def _record_batches(reader: Any, file: Any) -> Iterator[tuple[Any, int]]:
    """Yield the record batches of a file or stream, with the bytes that lie before their ends."""
    if not hasattr(reader, "num_record_batches"):
        for batch in reader:
            yield batch, file.tell()
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number), file.size() * (number + 1) // reader.num_record_batches


@contextmanager
def _arrow(source: Source, fields: list[int] | None) -> Iterator[tuple[Any, Any]]:
    """Yield a reader of some fields (None: all) of an Arrow file or stream, and the file below it."""
    import pyarrow

    options = pyarrow.ipc.IpcReadOptions() if fields is None else pyarrow.ipc.IpcReadOptions(included_fields=fields)
    with pyarrow.OSFile(str(source.path)) as file:
        is_stream = file.read(6) != b"ARROW1"
        file.seek(0)
        open_reader = pyarrow.ipc.open_stream if is_stream else pyarrow.ipc.open_file
        with open_reader(file, options=options) as reader:
            yield reader, file
