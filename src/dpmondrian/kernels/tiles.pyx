"""Rows group by group, and their places."""

import numpy as np

from libc.stdint cimport int64_t

from dpmondrian.kernels.tiles cimport add_squares, vectorised

__all__ = ["measured_places", "order_rows", "places_of"]


def order_rows(const int16_t[::1] node, const int16_t[::1] slot_of, Py_ssize_t n_groups):
    """Return the rows of the groups, one group after the other, and their starts; see `reference.order_rows`."""
    all_starts, order = np.zeros(n_groups + 2, dtype=np.int64), np.empty(node.shape[0], dtype=np.uint32)
    cdef int64_t[:] starts = all_starts, target = np.empty(n_groups + 2, dtype=np.int64)
    cdef uint32_t[::1] ordered = order
    cdef Py_ssize_t i, g, slot
    with nogil:
        for i in range(node.shape[0]):
            starts[<uint16_t>slot_of[<uint16_t>node[i]] + 1] += 1
        for g in range(n_groups + 1):
            starts[g + 1] += starts[g]
        target[:] = starts
        for i in range(node.shape[0]):
            slot = <uint16_t>slot_of[<uint16_t>node[i]]
            ordered[target[slot]] = <uint32_t>i
            target[slot] += 1
    return order[: starts[n_groups]], all_starts[: n_groups + 1]


def places_of(rows, const int64_t[:] columns, const uint32_t[::1] order):
    """Return the places of rows in this order, shape (len(columns), len(order)).

    Column by column, because one column fits the processor's cache and the rows of a group need not be neighbours.
    """
    codes, rests, code_step, rest_step = rows
    places = np.empty((columns.shape[0], order.shape[0]), dtype=np.uint16)
    _write_places(codes, rests, code_step, rest_step, columns, order, places)
    return places


def measured_places(rows, order):
    """Return the places of rows in this order in all measured columns."""
    return places_of(rows, np.arange(len(rows[1])), order)


def _write_places(
    const code_type[:, ::1] codes,
    const rest_type[:, ::1] rests,
    const double[::1] code_step,
    const double[::1] rest_step,
    const int64_t[:] columns,
    const uint32_t[::1] order,
    uint16_t[:, ::1] places,
):
    cdef uint16_t[::1] column = np.empty(rests.shape[1], dtype=np.uint16)
    cdef Py_ssize_t i, j, k
    with nogil:
        for k in range(columns.shape[0]):
            j = columns[k]
            decode(&codes[j, 0], &rests[j, 0], <uint32_t>code_step[j], <uint32_t>rest_step[j], column.shape[0], &column[0])
            for i in range(order.shape[0]):
                places[k, i] = column[order[i]]


cdef Py_ssize_t tile_rows(Py_ssize_t n_columns) noexcept nogil:
    """Return how many rows a tile has that stays in the processor's nearest cache with all its columns."""
    return 16 * max(<Py_ssize_t>2, min(<Py_ssize_t>16, 160 // n_columns))


cdef void tile_squares(const double[:, ::1] tile, Py_ssize_t size, const double *point, double[::1] squares) noexcept nogil:
    """Write the squared distances of the first rows of a tile from a point: four columns at a time, so that few sums are written."""
    cdef Py_ssize_t j = 0, n_columns = tile.shape[0]
    squares[:size] = 0.0
    while j + 4 <= n_columns:
        _add_four(&tile[j, 0], tile.shape[1], size, point + j, &squares[0])
        j += 4
    while j < n_columns:
        _add_one(&tile[j, 0], size, point[j], &squares[0])
        j += 1


cdef vectorised _add_four(const double *first, Py_ssize_t stride, Py_ssize_t size, const double *point, double *squares) noexcept nogil:
    cdef const double *second = first + stride
    cdef const double *third = second + stride
    cdef const double *fourth = third + stride
    cdef double a, b, c, d
    cdef Py_ssize_t i
    for i in range(size):
        a, b, c, d = first[i] - point[0], second[i] - point[1], third[i] - point[2], fourth[i] - point[3]
        squares[i] += (a * a + b * b) + (c * c + d * d)


cdef vectorised _add_one(const double *column, Py_ssize_t size, double centre, double *squares) noexcept nogil:
    add_squares(column, size, centre, squares)
