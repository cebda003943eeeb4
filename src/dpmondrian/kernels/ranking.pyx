"""Ranks of rows among the rows of their person, by their hashes.

Equal rows are numbered, and all but the first get a key of their own from the hash and that number: with the same key they
would be kept or lost together, and a row that somebody has often would hardly be kept more often than one that the same person
has once. Which of the equal rows has which number does not matter.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t

__all__ = ["NEW", "rank_rows"]

NEW = np.uint64(2**64 - 1)
"""In place of a number: not numbered yet."""
cdef uint64_t NOT_NUMBERED = NEW

cdef enum:
    SHORT = 8  # runs of this length are sorted by insertion


cdef struct Words:
    const uint64_t *first
    const uint64_t *second
    const uint64_t *third
    const int64_t *positions


cdef inline bint _before(int64_t i, int64_t j, Words w) noexcept nogil:
    """Return whether entry i comes before entry j."""
    if w.first[i] != w.first[j]:
        return w.first[i] < w.first[j]
    if w.second[i] != w.second[j]:
        return w.second[i] < w.second[j]
    if w.third[i] != w.third[j]:
        return w.third[i] < w.third[j]
    return w.positions[i] < w.positions[j]


cdef void _sort(int64_t[::1] order, Py_ssize_t begin, Py_ssize_t end, int64_t[::1] other, Words words) noexcept nogil:
    """Sort ``order[begin:end]`` by three words and the position, merging runs; `other` is room of the same size."""
    cdef Py_ssize_t start, middle, stop, left, right, i, j, width = SHORT
    cdef int64_t moved
    for start from begin <= start < end by SHORT:
        for i in range(start + 1, min(start + SHORT, end)):
            moved, j = order[i], i
            while j > start and _before(moved, order[j - 1], words):
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    while width < end - begin:
        for start from begin <= start < end by 2 * width:
            middle, stop = min(start + width, end), min(start + 2 * width, end)
            left, right = start, middle
            for i in range(start, stop):
                if left < middle and (right == stop or not _before(order[right], order[left], words)):
                    other[i] = order[left]
                    left += 1
                else:
                    other[i] = order[right]
                    right += 1
        order[begin:end] = other[begin:end]
        width *= 2


cdef inline uint64_t _key(uint64_t row, uint64_t number) noexcept nogil:
    """Return the key of one of equal rows: the hash, or a word of the generator SplitMix64 that begins there."""
    if number == 0:
        return row
    cdef uint64_t word = row + number * 0x9E3779B97F4A7C15U
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBU
    return word ^ (word >> 31)


cdef bint _number(
    const int64_t[::1] order, Py_ssize_t begin, Py_ssize_t end, const uint64_t[::1] seconds, const uint64_t[::1] rows,
    uint64_t[::1] numbers, uint64_t[::1] keys, uint8_t[::1] last,
) noexcept nogil:  # fmt: skip
    """Write the numbers and keys of the rows of sorted entries; return whether there are equal rows."""
    cdef bint any_equal = False
    cdef uint64_t next_number = 0
    cdef Py_ssize_t at
    cdef int64_t i
    for at in range(begin, end):
        i = order[at]
        if numbers[i] == NOT_NUMBERED:
            numbers[i] = next_number
        keys[i] = _key(rows[i], numbers[i])
        last[i] = at + 1 == end or seconds[order[at + 1]] != seconds[i] or rows[order[at + 1]] != rows[i]
        any_equal |= numbers[i] > 0
        next_number = 0 if last[i] else numbers[i] + 1
    return any_equal


def rank_rows(
    int64_t[::1] order,
    const uint64_t[::1] firsts,
    const uint64_t[::1] seconds,
    const uint64_t[::1] rows,
    uint64_t[::1] numbers,
    const int64_t[::1] positions,
    int64_t[::1] ranks,
    last,
):
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
    cdef uint8_t[::1] is_last = last.view(np.uint8)
    cdef int64_t[::1] other = np.empty(order.shape[0], dtype=np.int64)
    cdef uint64_t[::1] keys = np.empty(order.shape[0], dtype=np.uint64)
    cdef Py_ssize_t begin = 0, end, at
    cdef int64_t rank
    if not order.shape[0]:
        return
    with nogil:
        while begin < order.shape[0]:
            end = begin + 1
            while end < order.shape[0] and firsts[order[end]] == firsts[order[begin]]:
                end += 1
            _sort(order, begin, end, other, Words(&seconds[0], &rows[0], &numbers[0], &positions[0]))
            if _number(order, begin, end, seconds, rows, numbers, keys, is_last):
                _sort(order, begin, end, other, Words(&seconds[0], &keys[0], &rows[0], &positions[0]))
            rank = 0
            for at in range(begin, end):
                rank = 0 if at > begin and seconds[order[at]] != seconds[order[at - 1]] else rank
                ranks[order[at]] = rank
                rank += 1
            begin = end
