# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Ranks of rows among the rows of their person, by their hashes.

Equal rows are numbered, and all but the first get a key of their own from the hash and that number: with the same key they
would be kept or lost together, and a row that somebody has often would hardly be kept more often than one that the same person
has once. Which of the equal rows has which number does not matter.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["NEW", "rank_rows"]

NEW = np.uint64(2**64 - 1)
"""In place of a number: not numbered yet."""

_SHORT = 8
"""Runs of this length are sorted by insertion."""


@njit(nogil=True, cache=True)
def _before(i, j, first, second, third, positions):
    """Return whether entry i comes before entry j."""
    if first[i] != first[j]:
        return first[i] < first[j]
    if second[i] != second[j]:
        return second[i] < second[j]
    if third[i] != third[j]:
        return third[i] < third[j]
    return positions[i] < positions[j]


@njit(nogil=True, cache=True)
def _sort(order, begin, end, other, first, second, third, positions):
    """Sort ``order[begin:end]`` by three words and the position, merging runs; `other` is room of the same size."""
    for start in range(begin, end, _SHORT):
        for i in range(start + 1, min(start + _SHORT, end)):
            moved, j = order[i], i
            while j > start and _before(moved, order[j - 1], first, second, third, positions):
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    width = _SHORT
    while width < end - begin:
        for start in range(begin, end, 2 * width):
            middle, stop = min(start + width, end), min(start + 2 * width, end)
            left, right = start, middle
            for i in range(start, stop):
                if left < middle and (
                    right == stop or not _before(order[right], order[left], first, second, third, positions)
                ):
                    other[i] = order[left]
                    left += 1
                else:
                    other[i] = order[right]
                    right += 1
        order[begin:end] = other[begin:end]
        width *= 2


@njit(nogil=True, cache=True)
def _key(row, number):
    """Return the key of one of equal rows: the hash, or a word of the generator SplitMix64 that begins there."""
    if number == np.uint64(0):
        return row
    word = row + number * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def _number(order, begin, end, seconds, rows, numbers, keys, last):
    """Write the numbers and keys of the rows of sorted entries; return whether there are equal rows."""
    any_equal = False
    next_number = np.uint64(0)
    for at in range(begin, end):
        i = order[at]
        if numbers[i] == NEW:
            numbers[i] = next_number
        keys[i] = _key(rows[i], numbers[i])
        last[i] = at + 1 == end or seconds[order[at + 1]] != seconds[i] or rows[order[at + 1]] != rows[i]
        any_equal |= numbers[i] > np.uint64(0)
        next_number = np.uint64(0) if last[i] else numbers[i] + np.uint64(1)
    return any_equal


@njit(nogil=True, cache=True)
def rank_rows(order, firsts, seconds, rows, numbers, positions, ranks, last):
    """Write the ranks of rows among those of their person, number them, and find the last of equal rows.

    Parameters
    ----------
    order : int64 array of shape (n,)
        Sorts `firsts`; it is changed.
    firsts, seconds : uint64 arrays of shape (n,)
        The two words of the hash of each row's person.
    rows : uint64 array of shape (n,)
        The hashes of the rows.
    numbers : uint64 array of shape (n,)
        Among equal rows; rows that are `NEW` get the numbers after the largest there is.
    positions : int64 array of shape (n,)
        Decide what the words leave open; all are different.
    ranks : int64 array of shape (n,)
    last : bool array of shape (n,)
    """
    n_rows = order.shape[0]
    other, keys = np.empty_like(order), np.empty_like(rows)
    begin = 0
    while begin < n_rows:
        end = begin + 1
        while end < n_rows and firsts[order[end]] == firsts[order[begin]]:
            end += 1
        _sort(order, begin, end, other, seconds, rows, numbers, positions)
        if _number(order, begin, end, seconds, rows, numbers, keys, last):
            _sort(order, begin, end, other, seconds, keys, rows, positions)
        rank = 0
        for at in range(begin, end):
            rank = 0 if at > begin and seconds[order[at]] != seconds[order[at - 1]] else rank
            ranks[order[at]] = rank
            rank += 1
        begin = end
