"""Rows in the bins of clusters, and how near rows lie to centres: whole numbers that are the same wherever they are counted.

Places are whole numbers below 2**16 and there are at most 2**20 columns, so squared distances are whole numbers of at most 2**52: doubles
hold them exactly, in whatever order they are added up. Silhouettes are taken in single precision, which is twice as fast: their distances are
rounded in one way, in the order of the columns.
"""

import numpy as np

from dpmondrian.kernels.nearest import regroup
from dpmondrian.kernels.tiles import order_rows, places_of

from libc.math cimport INFINITY, rint, rintf, sqrt, sqrtf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from dpmondrian.kernels.tiles cimport fill_tile, squares_at, tile_rows, tile_squares, vectorised

__all__ = ["CLUSTER_STEP", "bin_counts", "categories", "distance_sums", "places_of"]

CLUSTER_STEP = 2**17
"""Between the keys of the same place in two clusters: more than there are places, and than there are categories."""
cdef enum:
    SHIFT = 6  # so many places are a bucket: for each the bin in which it begins is looked up
    BUCKETS = 2048
    LANES = 16

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


def distance_sums(rows, node, centres, sets, largest_square, widths, least):
    """Return sums over rows of how far they lie from their own centre, and of their silhouettes, each value within its width.

    Parameters
    ----------
    rows : tuple
        As in `reference`.
    node : int16 array of shape (n_rows,)
        The own centre of each row, among those of the first set.
    centres : int64 array of shape (n_centres, n_columns)
        Of all sets. What many sets have in common stands here once, or distances from it are taken several times.
    sets : list of int64 arrays
        The numbers of the centres of every set. In all sets but the first the own centre is the nearest one.
    largest_square : int
        Larger squared distances from the own centre count as this one.
    widths : int64 array of shape (1 + n_sets,)
        The value of a row is at most this: first of the squared distance, then of the silhouettes.
    least : float64 array of shape (1 + n_sets,)
        What stands for minus the width, and for less: 0, or -1 where silhouettes may be negative. 1 stands for the width.
    """
    total = np.zeros(len(widths), dtype=np.int64)
    known = rows, np.ascontiguousarray(centres, dtype=np.float64)
    scaled = float(largest_square), widths.astype(np.float64), np.ascontiguousarray(least, dtype=np.float64)
    finest = max(sets, key=len)  # the smaller its groups of rows, the fewer centres can be near one
    if len(finest) == len(sets[0]):
        _add_groups(*known, node, sets[0], sets, True, *scaled, total)
    else:
        nearest = node.copy()
        regroup(rows, centres[finest], nearest)
        _add_groups(*known, node, sets[0], sets[:1], True, *scaled, total)
        _add_groups(*known, nearest, finest, sets[1:], False, *scaled, total)
    return total


def _add_groups(rows, points, node, pivots, sets, with_own, largest, widths, least, total):
    """Add the sums of these sets: the first ones if the own centres are among them, else the last ones. A node's rows lie about its pivot."""
    order, starts = order_rows(node, np.arange(len(pivots), dtype=np.int16), len(pivots))
    places = places_of(rows, np.arange(points.shape[1]), order)
    silhouettes = slice(1, 1 + len(sets)) if with_own else slice(len(widths) - len(sets), None)
    if with_own:
        _add_distances(places, starts, points, pivots, largest, widths[0], least[0], total)
    known = _near_first(points, pivots, sets)
    _add_silhouettes(places, starts, points, *known, with_own, widths[silhouettes], least[silhouettes], total[silhouettes])


def _near_first(points, pivots, sets):
    """Return all centres for each pivot, the nearest first, and their distances; where the sets begin, and the centres of each as their ranks in that."""
    near = points[pivots]
    squares = (near**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2.0 * near @ points.T
    order = squares.argsort(axis=1, kind="stable")
    numbers, begins = np.concatenate(sets), np.cumsum([0, *map(len, sets)])
    by_number = np.argsort(numbers, kind="stable")
    sets_of = np.repeat(np.arange(len(sets)), np.diff(begins))[by_number]
    first_of = np.searchsorted(numbers[by_number], np.arange(len(points) + 1))
    ranks = np.empty((len(pivots), len(numbers)), dtype=np.int32)
    _share_out(order, sets_of, first_of, begins, ranks)
    return order, np.sqrt(np.take_along_axis(squares, order, axis=1)), begins, ranks


def _share_out(
    const int64_t[:, ::1] order,
    const int64_t[::1] sets_of,
    const int64_t[::1] first_of,
    const int64_t[::1] begins,
    int32_t[:, ::1] ranks,
):
    """Give the ranks of centres to the sets that have them."""
    cdef int64_t[::1] end = np.empty(begins.shape[0], dtype=np.int64)
    cdef Py_ssize_t g, i, m, s
    with nogil:
        for g in range(order.shape[0]):
            end[:] = begins
            for i in range(order.shape[1]):
                for m in range(first_of[order[g, i]], first_of[order[g, i] + 1]):
                    s = sets_of[m]
                    ranks[g, end[s]] = <int32_t>i
                    end[s] += 1


def _add_distances(
    const uint16_t[:, ::1] places,
    const int64_t[::1] starts,
    const double[:, ::1] points,
    const int64_t[::1] own,
    double largest,
    double width,
    double least,
    int64_t[::1] total,
):
    """Add how far rows, which come group by group, lie from their own centres."""
    cdef Py_ssize_t n_columns = points.shape[1], most = tile_rows(n_columns), g, start, size
    cdef double[:, ::1] tile = np.empty((n_columns, most))
    cdef double[::1] squares = np.empty(most)
    with nogil:
        for g in range(starts.shape[0] - 1):
            for start from starts[g] <= start < starts[g + 1] by most:
                size = min(<int64_t>most, starts[g + 1] - start)
                fill_tile(places, start, size, tile)
                tile_squares(tile, size, &points[own[g], 0], squares)
                _add_squares(&squares[0], size, largest, width, least, &total[0])


def _add_silhouettes(
    const uint16_t[:, ::1] places,
    const int64_t[::1] starts,
    const double[:, ::1] points,
    const int64_t[:, ::1] order,
    const double[:, ::1] apart,
    const int64_t[::1] begins,
    const int32_t[:, ::1] ranks,
    bint with_own,
    const double[::1] widths,
    const double[::1] least,
    int64_t[::1] total,
):
    """Add the silhouettes of rows, which come pivot by pivot; with own centres, these are the pivots, and those of the first set."""
    cdef _Tile tile = _Tile(points)
    cdef Py_ssize_t n_sets = begins.shape[0] - 1, g, start, s
    cdef const int32_t *own
    cdef const int32_t *before
    cdef bint changed
    cdef int64_t found
    with nogil:
        for g in range(starts.shape[0] - 1):
            for start from starts[g] <= start < starts[g + 1] by tile.most:
                tile.fill(places, start, min(<int64_t>tile.most, starts[g + 1] - start), &order[g, 0], &apart[g, 0])
                found = 0
                for s in range(n_sets):
                    own, before = &ranks[g, begins[s]], &ranks[g, begins[s - 1 if s else 0]]
                    if s == 0 or (with_own and s == 1):
                        tile.find_nearest(own, begins[s + 1] - begins[s], with_own and s == 0)
                        changed = True
                    else:
                        changed = tile.exchange(before, begins[s] - begins[s - 1], own, begins[s + 1] - begins[s])
                        changed |= widths[s] != widths[s - 1] or least[s] != least[s - 1]
                    if changed:
                        found = 0
                        _sum_silhouettes(tile.near, tile.other, tile.size, <float>widths[s], <float>least[s], &found)
                    total[s] += found


cdef class _Tile:
    """Some rows about one pivot, and how far the two centres of a set are that are nearest to each.

    A row at distance r from the pivot whose second centre is at distance d is farther than that from a centre that is more than ``d + r`` from
    the pivot: for all rows together, beyond `limit`. From one set to the next few centres change, so the nearest ones are those of
    the set before, unless one of them is gone, and the new ones.
    """

    cdef Py_ssize_t most, size, n_columns
    cdef float[:, ::1] tile, centres, all_squares, of_rows
    cdef uint8_t[::1] all_known
    cdef float *near
    cdef float *other
    cdef float *radius
    cdef float *reach
    cdef float *squares
    cdef uint8_t *is_known
    cdef const int64_t *order
    cdef const double *apart
    cdef double limit, margin

    def __init__(self, points):
        n_points, self.n_columns = points.shape
        self.most = 2 * tile_rows(self.n_columns)  # in single precision
        self.tile = np.empty((self.n_columns, self.most), dtype=np.float32)
        self.centres = np.asarray(points).astype(np.float32)
        self.all_squares, self.all_known = np.empty((n_points, self.most), dtype=np.float32), np.empty(n_points, dtype=np.uint8)
        self.of_rows = np.zeros((4, self.most), dtype=np.float32)
        self.near, self.other, self.radius, self.reach = &self.of_rows[0, 0], &self.of_rows[1, 0], &self.of_rows[2, 0], &self.of_rows[3, 0]
        self.squares, self.is_known = &self.all_squares[0, 0], &self.all_known[0]
        self.margin = 1.0 + 2.0 ** -22 * (self.n_columns + 8)  # more than all rounding in two distances

    cdef void fill(
        self, const uint16_t[:, ::1] places, Py_ssize_t start, Py_ssize_t size, const int64_t *order, const double *apart
    ) noexcept nogil:
        """Take other rows; the first in the order of centres is where the pivot is."""
        self.size, self.order, self.apart = size, order, apart
        fill_tile(places, start, size, self.tile)
        self.all_known[:] = False
        _write_roots(self._squares_of(0), size, self.radius)

    cdef const float *_squares_of(self, Py_ssize_t rank) noexcept nogil:
        """Return the squared distances of rows from a centre."""
        cdef float *squares = self.squares + rank * self.most
        if not self.is_known[rank]:
            squares_at(&self.tile[0, 0], self.most, self.n_columns, self.size, &self.centres[self.order[rank], 0], squares)
            self.is_known[rank] = True
        return squares

    cdef void _set_limit(self) noexcept nogil:
        cdef float[LANES] largest
        cdef Py_ssize_t j
        _write_reach(self.other, self.radius, self.size, self.reach, largest)
        self.limit = largest[0]
        for j in range(1, LANES):
            self.limit = max(self.limit, largest[j])
        self.limit *= self.margin

    cdef void find_nearest(self, const int32_t *ranks, Py_ssize_t n_centres, bint with_own) noexcept nogil:
        """Find the two nearest centres of a set, or the nearest one besides the pivot, which is its first."""
        cdef Py_ssize_t p
        for p in range(self.size):
            self.near[p] = self.other[p] = INFINITY
        self.limit = INFINITY
        for p in range(n_centres):
            if self.apart[ranks[p]] > self.limit:
                break
            if with_own:
                _keep_least(self._squares_of(ranks[p]), self.size, self.near if p == 0 else self.other)
            else:
                _keep_two(self._squares_of(ranks[p]), self.size, self.near, self.other)
            if p & (p + 1) == 0:  # after 2, 4, 8 ... centres
                self._set_limit()
        self._set_limit()

    cdef bint exchange(self, const int32_t *before, Py_ssize_t n_before, const int32_t *ranks, Py_ssize_t n_centres) noexcept nogil:
        """Find the two nearest centres of a set, with those of the set before at hand; return whether they may be others."""
        cdef Py_ssize_t i = 0, p = 0
        cdef int32_t gone, new
        cdef bint changed = False
        while True:  # centres that are gone
            gone = before[i] if i < n_before and self.apart[before[i]] <= self.limit else -1
            if gone < 0:
                break
            while p < n_centres and ranks[p] < gone:
                p += 1
            if p < n_centres and ranks[p] == gone:
                p += 1
            elif _n_within(self._squares_of(gone), self.other, self.size):
                self.find_nearest(ranks, n_centres, False)
                return True
            i += 1
        i = p = 0
        while p < n_centres and self.apart[ranks[p]] <= self.limit:  # centres that are new
            new = ranks[p]
            while i < n_before and before[i] < new:
                i += 1
            if i < n_before and before[i] == new:
                i += 1
            elif _n_within(self._squares_of(new), self.other, self.size):
                _keep_two(self._squares_of(new), self.size, self.near, self.other)
                changed = True
            p += 1
        if changed:
            self._set_limit()
        return changed


cdef vectorised _write_roots(const float *squares, Py_ssize_t size, float *roots) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        roots[i] = sqrtf(squares[i])


cdef vectorised _write_reach(const float *other, const float *radius, Py_ssize_t size, float *reach, float *largest) noexcept nogil:
    """Write how far from the pivot a centre may be that is as near as the second one; and the largest of all that are so many rows apart."""
    cdef Py_ssize_t i, j
    for i in range(size):
        reach[i] = sqrtf(other[i]) + radius[i]
    for j in range(LANES):
        largest[j] = 0.0
    for i from 0 <= i <= size - LANES by LANES:
        for j in range(LANES):
            largest[j] = reach[i + j] if reach[i + j] > largest[j] else largest[j]
    for i in range(size - size % LANES, size):
        largest[0] = reach[i] if reach[i] > largest[0] else largest[0]


cdef Py_ssize_t _n_within(const float *squares, const float *others, Py_ssize_t size) noexcept nogil:
    """Return how many squares are not larger than others."""
    cdef int32_t found = 0
    _count_within(squares, others, size, &found)
    return found


cdef vectorised _count_within(const float *squares, const float *others, Py_ssize_t size, int32_t *found) noexcept nogil:
    cdef int32_t within = 0
    cdef Py_ssize_t i
    for i in range(size):
        within += squares[i] <= others[i]
    found[0] = within


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


cdef vectorised _sum_silhouettes(
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
