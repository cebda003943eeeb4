"""JSON lines: one object per line, read line by line; a key that a line lacks is a missing value."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from dpmondrian.common.file_kinds import kind_of_file
from dpmondrian.tables.conversion import Kind, ready_values
from dpmondrian.tables.failures import failure
from dpmondrian.tables.source import BATCH_ROWS, Head, Piece, Source, opened

LONGEST_LINE = 2**24


def head(source: Source) -> Head:
    """Return the keys of the first object: they stand for the header that the format lacks."""
    with opened(source) as (file, _):
        first = next(_objects(source, file), None)
    if first is None:
        raise failure(source, "contains no objects", "Write one JSON object per line.")
    return Head.without_types(first, has_rows=True)


def pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the bytes read so far and those of the file."""
    with opened(source) as (file, below):
        objects = _objects(source, file)
        while rows := list(islice(objects, BATCH_ROWS)):
            values = {name: [row.get(name) for row in rows] for name in kinds}
            yield ready_values(source, values, kinds, below.done, below.total)


def _objects(source: Source, file: Any) -> Iterator[dict[str, Any]]:
    lines = io.BufferedReader(file, 2**20)
    is_first = True
    while line := lines.readline(LONGEST_LINE):
        if is_first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield _object(source, line, is_first)
            is_first = False


def _object(source: Source, line: bytes, is_first: bool) -> dict[str, Any]:
    text = line.decode("utf-8")
    if is_first and text.lstrip().startswith("["):
        raise failure(
            source, "is a single JSON list", "Write one object per line instead (JSON lines; in pandas lines=True)."
        )
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        if is_first and (kind := kind_of_file(source.path)):
            raise failure(
                source,
                f"is {kind}, expected one JSON object per line",
                "Pass the file with the rows, and its format if the name does not tell it.",
            )
        raise failure(source, "has a line that is not a JSON object", "Write one complete object per line.")
    return row
