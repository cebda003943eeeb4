"""At most so many rows of each person: whose row it is, and which rows are kept.

A person is told by a 128-bit hash of the id (`dpmondrian.tables.identities`), a row by a 64-bit hash of its person and its values, both with a
key that is drawn afresh for every run and stays secret. Which rows are kept follows from these hashes alone: the same key
chooses the same rows in whatever order, files and parts the rows come. Hashes are exact and stay inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.hashing import hash_rows, hash_texts
from dpmondrian.kernels.ranking import NEW, rank_rows
from dpmondrian.tables.identities import identities

Hashes: TypeAlias = NDArray[np.uint64]
ReadBlocks: TypeAlias = Callable[[], Iterable[tuple[Hashes, Hashes]]]

_BLOCK_ROWS, _ROWS_AT_ONCE = 2**17, 2**22
_HALF = np.uint64(32)
_CELL_BITS = 16  # of addresses of rows, by which they are counted at first


@dataclass(frozen=True, eq=False)
class PersonLimit:
    """How many rows of each person are kept, and the secret key by which they are chosen."""

    most: int
    key: Hashes = field(repr=False)


def person_hashes(column: nw.Series[Any], key: Hashes) -> tuple[Hashes, NDArray[np.bool_], str | None]:
    """Return the hashes of the persons of a column, of shape (n, 2), and whether each person is known.

    The third value is the kind of their ids, which all parts of a table must have in common (`dpmondrian.tables.identities.one_kind`). Who
    is not known has two zeros for a hash.
    """
    ids, kind = identities(column)
    known = np.asarray(ids.is_valid(), dtype=bool)
    hashes = np.zeros((len(ids), 2), dtype=np.uint64)
    if known.any():  # otherwise there may be no buffers
        _, offsets, data = ids.buffers()
        begins = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
        hash_texts(begins, np.frombuffer(data, dtype=np.uint8), known, key, hashes)
    return hashes, known, kind


def row_hashes(block: NDArray[np.float64], persons: Hashes, key: Hashes) -> Hashes:
    """Return the hashes of the rows of a block of shape (n, n_columns); rows of one person with the same values have the same."""
    hashes = np.empty(len(block), dtype=np.uint64)
    hash_rows(block, persons, key, hashes)
    return hashes


def rows_to_keep(persons: Hashes, rows: Hashes, most: int) -> NDArray[np.bool_]:
    """Return which rows are kept: of each person a choice of `most` rows, or all if there are no more.

    All rows of a person must be there; rows of nobody are not kept. Kept are the rows with the smallest hashes, where all but
    the first of equal rows get one of their own: every row of a person is kept with the same probability
    (`dpmondrian.kernels.ranking`).

    Privacy
    -------
    Whether a row is kept depends on the rows of its person and on the key alone. Argument: ``docs/privacy/persons.md``; tests
    that try to break it: ``tests/privacy/test_persons.py``.
    """
    starts = range(0, len(rows), _BLOCK_ROWS)
    blocks = [(persons[i : i + _BLOCK_ROWS], rows[i : i + _BLOCK_ROWS]) for i in starts]
    return rows_to_keep_in_passes(lambda: blocks, len(rows), most, _ROWS_AT_ONCE)


def rows_to_keep_in_passes(read_blocks: ReadBlocks, n_rows: int, most: int, rows_at_once: int) -> NDArray[np.bool_]:
    """Return which rows are kept, the same as `rows_to_keep` for all of them, where that many hashes would not fit into memory.

    `read_blocks` returns the hashes of persons and rows, block by block, in the same order each time. About `rows_at_once`
    rows are worked on at a time, with about 160 bytes each; of a person with more rows only those are held that can still be
    kept.

    Complexity
    ----------
    About ``1 + n_rows / rows_at_once`` readings; two or three more for each person who has more than `rows_at_once` rows.
    """
    is_kept = np.zeros(n_rows, dtype=bool)
    held = _Held.new(np.empty((0, 2), dtype=np.uint64), np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
    for low, end in _ranges(read_blocks, rows_at_once):
        held = _chosen_in_range(held, _in_range(read_blocks, low, end), most, rows_at_once)
        goes_on = held.persons[:, 0] >> _HALF == np.uint64(end >> 32)
        is_kept[held.positions[~goes_on]] = True
        held = held.take(goes_on)
    return is_kept


@dataclass(frozen=True, repr=False)
class _Held:
    """Rows that may be kept: their hashes, their numbers among equal rows (`NEW`: not numbered yet), where they come."""

    persons: Hashes
    rows: Hashes
    numbers: NDArray[np.uint64]
    positions: NDArray[np.int64]

    @classmethod
    def new(cls, persons: Hashes, rows: Hashes, positions: NDArray[np.int64]) -> _Held:
        return cls(persons, rows, np.full(len(rows), NEW), positions)

    @classmethod
    def joined(cls, parts: Sequence[_Held]) -> _Held:
        return cls(
            np.concatenate([part.persons for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.positions for part in parts]),
        )

    def take(self, which: NDArray[Any]) -> _Held:
        """Return the rows of a mask or a list of indices."""
        return _Held(self.persons[which], self.rows[which], self.numbers[which], self.positions[which])

    def __len__(self) -> int:
        return len(self.rows)


def _chosen(held: _Held, most: int) -> _Held:
    """Return the rows that are kept if there are no others."""
    held, ranks, _ = _ranked(held)
    return held.take(ranks < most)


def _still_possible(held: _Held, most: int) -> _Held:
    """Return the rows that may be kept whatever comes, and of equal rows the last, from whose number others go on."""
    held, ranks, last = _ranked(held)
    return held.take((ranks < most) | last)


def _ranked(held: _Held) -> tuple[_Held, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows numbered, their ranks among the rows of their person, and which are the last of equal ones."""
    firsts, seconds = np.ascontiguousarray(held.persons.T)
    ranks, last = np.empty(len(held), dtype=np.int64), np.empty(len(held), dtype=bool)
    numbered = replace(held, numbers=held.numbers.copy())
    rank_rows(np.argsort(firsts), firsts, seconds, held.rows, numbered.numbers, held.positions, ranks, last)
    return numbered, ranks, last


def _chosen_in_range(held: _Held, parts: Iterable[_Held], most: int, rows_at_once: int) -> _Held:
    """Return the rows that are kept of those that were held before and those of the parts."""
    waiting, n_waiting, most_waiting = [held], len(held), len(held) + rows_at_once
    for part in parts:
        waiting.append(part)
        n_waiting += len(part)
        if n_waiting > most_waiting:
            waiting = [_still_possible(_Held.joined(waiting), most)]
            n_waiting = len(waiting[0])
            most_waiting = max(most_waiting, 2 * n_waiting)
    return _chosen(_Held.joined(waiting), most)


def _in_range(read_blocks: ReadBlocks, low: int, end: int) -> Iterator[_Held]:
    """Yield the rows with addresses from `low` to before `end`."""
    start = 0
    for persons, rows in read_blocks():
        addresses = _addresses(persons, rows)
        is_known = (persons[:, 0] | persons[:, 1]) != 0
        inside = np.flatnonzero(is_known & (addresses >= np.uint64(low)) & (addresses <= np.uint64(end - 1)))
        yield _Held.new(persons[inside], rows[inside], start + inside)
        start += len(rows)


def _addresses(persons: Hashes, rows: Hashes) -> Hashes:
    """Return a word for every row that orders them by person, then by row, as far as half of both hashes can."""
    return (persons[:, 0] >> _HALF << _HALF) | (rows >> _HALF)


def _ranges(read_blocks: ReadBlocks, rows_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of addresses, in order: each holds at most so many rows, or only one address."""
    low, n_rows = 0, 0
    for start, count in _cells(read_blocks, 0, 64 - _CELL_BITS, rows_at_once):
        if n_rows and n_rows + count > rows_at_once:
            yield low, start
            low, n_rows = start, 0
        n_rows += count
    yield low, 2**64


def _cells(read_blocks: ReadBlocks, low: int, shift: int, rows_at_once: int) -> Iterator[tuple[int, int]]:
    """Yield where cells of addresses begin and how many rows they hold; crowded cells are divided further."""
    counts = np.zeros(2**_CELL_BITS, dtype=np.int64)
    for part in _in_range(read_blocks, low, low + (1 << shift + _CELL_BITS)):
        cells = (_addresses(part.persons, part.rows) - np.uint64(low)) >> np.uint64(shift)
        counts += np.bincount(cells.astype(np.int64), minlength=len(counts))
    for cell in np.flatnonzero(counts).tolist():
        start, count = low + (cell << shift), int(counts[cell])
        if count > rows_at_once and shift:
            yield from _cells(read_blocks, start, shift - _CELL_BITS, rows_at_once)
        else:
            yield start, count
