"""Rows in the bins of clusters, and how near rows lie to centres: whole numbers that are the same wherever they are counted.

Places are whole numbers below 2**16 and there are at most 2**20 columns, so squared distances are whole numbers of at most 2**52: doubles
hold them exactly, in whatever order they are added up. Silhouettes are taken in single precision, which is twice as fast: their distances are
rounded in one way, in the order of the columns.
"""

from itertools import pairwise

import numpy as np

from dpmondrian.kernels.tiles import order_rows, places_of

from libc.math cimport INFINITY, rint, rintf, sqrt, sqrtf
from libc.stdint cimport int32_t, int64_t, uint16_t

from dpmondrian.kernels.tiles cimport fill_tile, tile_rows, tile_squares, vectorised

__all__ = ["CLUSTER_STEP", "bin_counts", "categories", "distance_sums", "places_of"]

CLUSTER_STEP = 2**17
"""Between the keys of the same place in two clusters: more than there are places, and than there are categories."""
cdef enum:
    SHIFT = 6  # so many places are a bucket: for each the bin in which it begins is looked up
    BUCKETS = 2048

ctypedef fused value_type:
    uint16_t
    int32_t

cdef int64_t STEP = CLUSTER_STEP


def categories(rows, columns, order):
    """Return which of these columns is the first beyond place 0 in each row, in this order; 0 where none is."""
    found = np.zeros(len(order), dtype=np.int32)
    for number in range(len(columns) - 1, -1, -1):
        found[places_of(rows, columns[number : number + 1], order)[0] > 0] = number
    return found


def bin_counts(
    const value_type[::1] values, const int64_t[::1] starts, const int64_t[::1] limits, int64_t[::1] counts
):
    """Add the rows in every bin of every cluster; the rows of each cluster are a group, and their values come group by group.

    Bins end at ascending keys ``cluster * CLUSTER_STEP + last value``; each cluster's last bin holds the largest value there is.
    """
    cdef int64_t[::1] first = np.empty(BUCKETS, dtype=np.int64)
    cdef int64_t key, b, bucket, begin = 0
    cdef Py_ssize_t i, g
    with nogil:
        for g in range(starts.shape[0] - 1):
            b = begin
            for bucket in range(BUCKETS):
                while b < limits.shape[0] - 1 and limits[b] < g * STEP + (bucket << SHIFT):
                    b += 1
                first[bucket] = b
            begin = b
            for i in range(starts[g], starts[g + 1]):
                b, key = first[values[i] >> SHIFT], g * STEP + values[i]
                while limits[b] < key:
                    b += 1
                counts[b] += 1


def distance_sums(rows, node, centre_sets, largest_square, widths, least):
    """Return sums over rows of how far they lie from their own centre, and of their silhouettes, each value within its width.

    Parameters
    ----------
    rows : tuple
        As in `reference`.
    node : int16 array of shape (n_rows,)
        The own centre of each row, among those of the first set.
    centre_sets : list of int64 arrays of shape (n_centres, n_columns)
        In all sets but the first the own centre is the nearest one.
    largest_square : int
        Larger squared distances from the own centre count as this one.
    widths : int64 array of shape (1 + n_sets,)
        The value of a row is at most this: first of the squared distance, then of the silhouettes.
    least : float64 array of shape (1 + n_sets,)
        What stands for minus the width, and for less: 0, or -1 where silhouettes may be negative. 1 stands for the width.
    """
    points, total = np.concatenate(centre_sets).astype(np.float64), np.zeros(len(widths), dtype=np.int64)
    begins, n_own = np.cumsum([0, *map(len, centre_sets)]), len(centre_sets[0])
    order, starts = order_rows(node, np.arange(n_own, dtype=np.int16), n_own)
    near_first, apart = _near_first(points, begins)
    scaled = widths.astype(np.float64), np.ascontiguousarray(least, dtype=np.float64)
    _add_sums(places_of(rows, np.arange(points.shape[1]), order), starts, points, begins, near_first, apart, largest_square, *scaled, total)
    return total


def _near_first(points, begins):
    """Return for each own centre the numbers of the centres of every set, the nearest first, and their distances."""
    own = points[: begins[1]]
    squares = (own**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2.0 * own @ points.T
    sets = [slice(begin, end) for begin, end in pairwise(begins)]
    near_first = np.hstack([part.start + squares[:, part].argsort(axis=1, kind="stable") for part in sets])
    return near_first, np.sqrt(np.take_along_axis(squares, near_first, axis=1))


def _add_sums(
    const uint16_t[:, ::1] places,
    const int64_t[::1] starts,
    const double[:, ::1] points,
    const int64_t[::1] begins,
    const int64_t[:, ::1] near_first,
    const double[:, ::1] apart,
    double largest,
    const double[::1] widths,
    const double[::1] least,
    int64_t[::1] total,
):
    """Add the sums of rows, which come own centre by own centre.

    A row at distance r from its own centre g is at most ``d + r`` from the two centres of a set that are within d of g, and at least
    ``e - r`` from one at distance e. So centres beyond ``d + 2 r`` are not among its two nearest ones.
    """
    cdef Py_ssize_t n_columns = points.shape[1], most = tile_rows(n_columns), g, start, size, s, p, c
    cdef double[:, ::1] tile = np.empty((n_columns, most))
    cdef float[:, ::1] rough = np.empty((n_columns, most), dtype=np.float32), rough_points = np.asarray(points).astype(np.float32)
    cdef double[::1] own = np.empty(most)
    cdef float[::1] squares, near, other
    cdef double reach, limit, margin = 1.0 + 2.0 ** -22 * (n_columns + 8)  # more than all rounding in two distances
    squares, near, other = np.empty((3, most), dtype=np.float32)
    with nogil:
        for g in range(starts.shape[0] - 1):
            for start from starts[g] <= start < starts[g + 1] by most:
                size = min(<int64_t>most, starts[g + 1] - start)
                fill_tile(places, start, size, tile)
                fill_tile(places, start, size, rough)
                tile_squares(tile, size, &points[g, 0], own)
                reach = 2.0 * sqrt(_largest(own, size))
                _add_squares(&own[0], size, largest, widths[0], least[0], &total[0])
                for s in range(begins.shape[0] - 1):
                    limit = (reach + apart[g, begins[s] + 1]) * margin if begins[s + 1] - begins[s] > 1 else INFINITY
                    near[:size] = INFINITY
                    other[:size] = INFINITY
                    if s == 0:
                        tile_squares(rough, size, &rough_points[g, 0], near)
                    for p in range(begins[s], begins[s + 1]):
                        c = near_first[g, p]
                        if apart[g, p] > limit:
                            break
                        if s == 0 and c == g:
                            continue
                        tile_squares(rough, size, &rough_points[c, 0], squares)
                        if s == 0:
                            _keep_least(&squares[0], size, &other[0])
                        else:
                            _keep_two(&squares[0], size, &near[0], &other[0])
                    _add_silhouettes(&near[0], &other[0], size, <float>widths[1 + s], <float>least[1 + s], &total[1 + s])


cdef double _largest(const double[::1] values, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    cdef double found = 0.0
    for i in range(size):
        found = max(found, values[i])
    return found


cdef vectorised _keep_least(const float *squares, Py_ssize_t size, float *least) noexcept nogil:
    """Put squares in the place of larger ones."""
    cdef Py_ssize_t i
    for i in range(size):
        least[i] = squares[i] if squares[i] < least[i] else least[i]


cdef vectorised _keep_two(const float *squares, Py_ssize_t size, float *near, float *other) noexcept nogil:
    """Keep the least of all squares and the least of the others."""
    cdef Py_ssize_t i
    cdef float larger
    for i in range(size):
        larger = near[i] if squares[i] < near[i] else squares[i]
        near[i] = squares[i] if squares[i] < near[i] else near[i]
        other[i] = larger if larger < other[i] else other[i]


# Values from `least` to 1 are brought to whole numbers from -width to width.


cdef vectorised _add_squares(
    const double *squares, Py_ssize_t size, double largest, double width, double least, int64_t *total
) noexcept nogil:
    """Add squared distances, as parts of the largest one."""
    cdef double middle = (1.0 + least) / 2.0, half = (1.0 - least) / 2.0, value
    cdef int32_t found = 0
    cdef Py_ssize_t i
    for i in range(size):
        value = squares[i] if squares[i] < largest else largest
        found += <int32_t>rint((value / largest - middle) / half * width)
    total[0] += found


cdef vectorised _add_silhouettes(
    const float *near, const float *other, Py_ssize_t size, float width, float least, int64_t *total
) noexcept nogil:
    """Add ``(b - a) / max(a, b)`` of squared distances a² and b², from `least` to 1; 0 where both are none, or there is no other."""
    cdef float middle = (1 + least) / 2, half = (1 - least) / 2, larger, value
    cdef int32_t found = 0
    cdef Py_ssize_t i
    for i in range(size):
        larger = near[i] if near[i] > other[i] else other[i]
        value = 1 - sqrtf((other[i] if near[i] > other[i] else near[i]) / larger)
        value = value if 0 < larger < INFINITY else 0
        value = -value if near[i] > other[i] else value
        value = value if value > least else least
        found += <int32_t>rintf((value - middle) / half * width)
    total[0] += found
