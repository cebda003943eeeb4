"""Parquet and Arrow files: typed columns, of which only the wanted ones are read, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dpmondrian.files.conversion import Kind, converted, kind_of, target_schema, without_rows
from dpmondrian.files.failures import check_names
from dpmondrian.files.source import Source

__all__ = ["arrow_batches", "arrow_columns", "kinds_in", "parquet_batches", "parquet_columns"]

BATCH_ROWS = 2**18


def kinds_in(source: Source, schema: Any) -> dict[str, str]:
    """Return the kind of every column of an Arrow schema by name."""
    check_names(source, schema.names, [])
    return {field.name: kind_of(field.type) for field in schema}


def parquet_columns(source: Source) -> dict[str, str]:
    """Return names and kinds from the metadata of a Parquet file."""
    with _parquet(source) as file:
        return kinds_in(source, file.schema_arrow)


def parquet_batches(source: Source, kinds: Mapping[str, Kind]) -> Iterator[tuple[Any, int, int | None]]:
    """Yield record batches of these columns, with their bytes in the file that were read so far and that there are."""
    with _parquet(source) as file:
        schema = file.schema_arrow
        check_names(source, schema.names, list(kinds))
        target = target_schema(source, schema, kinds)
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        sizes = [_bytes_of(group, set(kinds)) for group in groups]
        yield without_rows(target), 0, sum(sizes)
        for number, group in enumerate(groups):
            rows = 0
            for batch in file.iter_batches(BATCH_ROWS, row_groups=[number], columns=list(kinds)):
                rows += batch.num_rows
                done = sum(sizes[:number]) + sizes[number] * rows // max(1, group.num_rows)
                yield converted(source, batch, target), done, sum(sizes)


def _bytes_of(group: Any, names: set[str]) -> int:
    chunks = (group.column(number) for number in range(group.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in names)


@contextmanager
def _parquet(source: Source) -> Iterator[Any]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(source.path) as file:
        yield file


def arrow_columns(source: Source) -> dict[str, str]:
    """Return names and kinds from the schema of an Arrow file."""
    with _arrow(source, None) as (reader, _):
        return kinds_in(source, reader.schema)


def arrow_batches(source: Source, kinds: Mapping[str, Kind]) -> Iterator[tuple[Any, int, int | None]]:
    """Yield record batches of these columns, with the bytes read so far and those of the file."""
    with _arrow(source, None) as (reader, _):
        schema = reader.schema
    check_names(source, schema.names, list(kinds))
    target = target_schema(source, schema, kinds)
    with _arrow(source, sorted(schema.get_field_index(name) for name in kinds)) as (reader, file):
        total = file.size()
        yield without_rows(target), 0, total
        for batch, done in _record_batches(reader, file):
            batch.validate(full=True)  # a damaged file must not be taken for memory
            yield converted(source, batch, target), min(done, total), total


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
