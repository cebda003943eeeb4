"""At most so many rows of each person, in tables that are streamed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.threads import Threads
from dpmondrian.engines.store import Kept, Store
from dpmondrian.exceptions import DataError
from dpmondrian.tables import PersonLimit, Progress, Stream, Table, one_kind, rows_to_keep_in_passes

_BYTES_PER_ROW = 160
"""That are held for a row while it is decided which are kept: its hashes, its position, and what sorting takes."""


@dataclass(frozen=True, repr=False)
class _Part:
    """The hashes of a piece's rows, where they are kept, and the kind of its persons' ids."""

    persons: Kept
    rows: Kept
    n_rows: int
    digest: bytes
    kind: str | None


@dataclass(frozen=True, repr=False)
class _Choice:
    """Which rows of a piece are kept, as bits, and a digest of the hashes by which that was decided."""

    mask: NDArray[np.uint8]
    digest: bytes


def limited_stream(
    stream: Stream,
    limit: PersonLimit,
    on_missing: str,
    store: Store,
    threads: Threads,
    most_bytes: int,
    reading: Progress | None = None,
) -> Stream:
    """Return a stream of the rows that are kept: as `Table.limited`, for rows that are read several times.

    The table is read once for this, and holds about `most_bytes` of hashes at a time; all of them are kept in the store.

    Privacy
    -------
    Rows are told by their position, which is the same in every pass over files. Of other streams this is not known, so the
    hashes are compared, and a pass with other rows or another order is refused. Argument: ``docs/privacy/persons.md``; tests
    that try to break it: ``tests/engines/test_limits.py``.
    """

    def hashed(piece: Callable[[], Table]) -> _Part:
        persons, rows, kind = piece().hashes(limit.key, on_missing)
        return _Part(store.keep(persons), store.keep(rows), len(rows), _digest(persons, rows), kind)

    parts = threads.map(hashed, stream.pieces(reading))
    one_kind(part.kind for part in parts)
    ends = np.cumsum([part.n_rows for part in parts]).tolist()

    def read_blocks() -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        return ((part.persons.get(), part.rows.get()) for part in parts)

    kept = rows_to_keep_in_passes(
        read_blocks, ends[-1] if ends else 0, limit.most, max(1, most_bytes // _BYTES_PER_ROW)
    )
    choices = [
        _Choice(np.packbits(kept[end - part.n_rows : end]), part.digest) for part, end in zip(parts, ends, strict=True)
    ]
    store.clear()

    def pieces(progress: Progress | None = None) -> Iterator[Callable[[], Table]]:
        for piece, choice in zip_longest(stream.pieces(progress), choices):
            if piece is None or choice is None:
                raise _other_rows()
            yield partial(_chosen_rows, piece, choice, limit, on_missing)

    return replace(stream, pieces=pieces)


def _chosen_rows(piece: Callable[[], Table], choice: _Choice, limit: PersonLimit, on_missing: str) -> Table:
    table = piece()
    persons, rows, _ = table.hashes(limit.key, on_missing)
    if _digest(persons, rows) != choice.digest:
        raise _other_rows()
    return table.only(np.unpackbits(choice.mask, count=table.n_rows).astype(bool))


def _digest(persons: NDArray[np.uint64], rows: NDArray[np.uint64]) -> bytes:
    return hashlib.blake2b(persons.tobytes() + rows.tobytes(), digest_size=16).digest()


def _other_rows() -> DataError:
    return DataError(
        "The table returned different rows, or a different order of rows, when it was read a second time, so the rows per person cannot be limited.",
        "Sort it by columns that make the order unique, or write it to a file and pass that file.",
    )
