"""Rows group by group, and their places."""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t

from dpmondrian.kernels.tiles cimport MIDDLE, code_type, decode, real_type, rest_type, vectorised

__all__ = ["MIDDLE_PLACE", "by_row", "cells_of", "order_rows", "padded", "places_of"]

cdef enum:
    VECTOR = 8  # cells: as many 16-bit numbers as every processor takes at once
    TILE = 256

MIDDLE_PLACE = MIDDLE
"""What is taken off places in rows, so that they have 16 bits with a sign."""


def order_rows(const int16_t[::1] node, const int16_t[::1] slot_of, Py_ssize_t n_groups):
    """Return the rows of the groups, one group after the other, and their starts; see `reference.order_rows`."""
    all_starts, order = np.zeros(n_groups + 2, dtype=np.int64), np.empty(node.shape[0], dtype=np.uint32)
    cdef int64_t[:] starts = all_starts, target = np.empty(n_groups + 2, dtype=np.int64)
    cdef uint32_t[::1] ordered = order
    cdef Py_ssize_t n_rows = node.shape[0], i = 0, end, g, slot
    with nogil:
        while i < n_rows:  # most rows lie beside others of their node
            end = _end_of_run(node, i)
            starts[<uint16_t>slot_of[<uint16_t>node[i]] + 1] += end - i
            i = end
        for g in range(n_groups + 1):
            starts[g + 1] += starts[g]
        target[:] = starts
        i = 0
        while i < n_rows:
            end, slot = _end_of_run(node, i), <uint16_t>slot_of[<uint16_t>node[i]]
            _count_up(i, end - i, &ordered[target[slot]])
            target[slot] += end - i
            i = end
    return order[: starts[n_groups]], all_starts[: n_groups + 1]


cdef inline Py_ssize_t _end_of_run(const int16_t[::1] node, Py_ssize_t i) noexcept nogil:
    """Return the first row from i on that is in another node."""
    cdef int16_t own = node[i]
    while i < node.shape[0] and node[i] == own:
        i += 1
    return i


cdef vectorised _count_up(uint32_t first, Py_ssize_t size, uint32_t *numbers) noexcept nogil:
    """Write so many numbers, one after the other."""
    cdef Py_ssize_t i
    for i in range(size):
        numbers[i] = <uint32_t>(first + i)


def cells_of(n_columns):
    """Return how many numbers a row has: zeros follow its places up to a whole number of vectors."""
    return VECTOR * max(1, (n_columns + VECTOR - 1) // VECTOR)


def by_row(rows, order=None):
    """Return rows one after the other, in this order, shape (n_rows, n_cells): places minus 2**15, then zeros.

    `rows` are those of `reference`, or what this has returned before, which keeps its order. A row lies in one or two lines of the
    processor's cache, so it is read as fast in any order.
    """
    if isinstance(rows, np.ndarray):
        return rows
    codes, rests, code_step, rest_step = rows
    found = np.zeros((codes.shape[1], cells_of(len(rests))), dtype=np.int16)
    place = np.arange(len(found), dtype=np.uint32)
    if order is not None:
        place[order] = place.copy()
    _write_rows(codes, rests, code_step, rest_step, place, found)
    return found


def _write_rows(
    const code_type[:, ::1] codes,
    const rest_type[:, ::1] rests,
    const double[::1] code_step,
    const double[::1] rest_step,
    const uint32_t[::1] place,
    int16_t[:, ::1] found,
):
    """Write rows to their places among all, as columns lie in memory."""
    cdef uint16_t column[TILE]
    cdef Py_ssize_t start, size, i, j
    with nogil:
        for start from 0 <= start < found.shape[0] by TILE:
            size = min(<Py_ssize_t>TILE, found.shape[0] - start)
            for j in range(rests.shape[0]):
                decode(&codes[j, start], &rests[j, start], <uint32_t>code_step[j], <uint32_t>rest_step[j], size, column)
                for i in range(size):
                    found[place[start + i], j] = <int16_t>(<int32_t>column[i] - MIDDLE)


def padded(vectors, n_cells):
    """Return vectors of whole numbers, shape (n_vectors, n_columns), as `dot` takes them."""
    vectors = np.asarray(vectors)
    found = np.zeros((len(vectors), n_cells), dtype=np.int16)
    found[:, : vectors.shape[1]] = vectors
    return found


def places_of(rows, const int64_t[:] columns, const uint32_t[::1] order):
    """Return the places of rows in this order, shape (len(columns), len(order))."""
    places = np.empty((columns.shape[0], order.shape[0]), dtype=np.uint16)
    cdef const int16_t[:, ::1] row = by_row(rows)
    cdef uint16_t[:, ::1] place = places
    cdef Py_ssize_t start, size, i, k
    with nogil:
        for start from 0 <= start < order.shape[0] by TILE:  # a tile of rows stays in the cache
            size = min(<Py_ssize_t>TILE, order.shape[0] - start)
            for k in range(columns.shape[0]):
                for i in range(start, start + size):
                    place[k, i] = <uint16_t>(<int32_t>row[order[i], columns[k]] + MIDDLE)
    return places


cdef Py_ssize_t tile_rows(Py_ssize_t n_columns) noexcept nogil:
    """Return how many rows a tile has that stays in the processor's nearest cache with all its columns."""
    return 16 * max(<Py_ssize_t>2, min(<Py_ssize_t>16, 160 // n_columns))


cdef void tile_squares(const real_type[:, ::1] tile, Py_ssize_t size, const real_type *point, real_type[::1] squares) noexcept nogil:
    """Write the squared distances of the first rows of a tile from a point."""
    _write_squares(&tile[0, 0], tile.shape[1], tile.shape[0], size, point, &squares[0])


cdef void squares_at(
    const real_type *tile, Py_ssize_t stride, Py_ssize_t n_columns, Py_ssize_t size, const real_type *point, real_type *squares
) noexcept nogil:
    """Do the same where the tile lies, with rows of columns so far apart: for many points and few rows."""
    _write_squares(tile, stride, n_columns, size, point, squares)


cdef vectorised _write_squares(
    const real_type *column, Py_ssize_t stride, Py_ssize_t n_columns, Py_ssize_t size, const real_type *point, real_type *squares
) noexcept nogil:
    """Write squared distances, four columns at a time, so that few sums are written."""
    cdef const real_type *second
    cdef const real_type *third
    cdef const real_type *fourth
    cdef real_type a, b, c, d
    cdef Py_ssize_t i, j = 0
    for i in range(size):
        squares[i] = 0.0
    while j + 4 <= n_columns:
        second, third, fourth = column + stride, column + 2 * stride, column + 3 * stride
        for i in range(size):
            a, b, c, d = column[i] - point[j], second[i] - point[j + 1], third[i] - point[j + 2], fourth[i] - point[j + 3]
            squares[i] += (a * a + b * b) + (c * c + d * d)
        column += 4 * stride
        j += 4
    while j < n_columns:
        for i in range(size):
            a = column[i] - point[j]
            squares[i] += a * a
        column += stride
        j += 1
