"""The nearest centres of rows: exact, without looking at centres that cannot be near.

Rows come in groups that mostly lie together. Take a centre `a` near a group. A row at distance r from `a` has its nearest centre
within r, so a centre farther than ``2 r`` from `a` is not it: it is farther than r from the row. Most rows of a tile reach
about as far, and only the centres within that reach are looked at. Rows that reach farther are put aside and searched at the
end among all centres. How far is far is a guess about time and changes no result.

Distances are taken in single precision first, which is twice as fast. Rows whose two nearest centres are about as near are put aside,
too: only these need exact distances, if single precision cannot tell among all centres either.
"""

import numpy as np

from dpmondrian.kernels.tiles import by_row, order_rows, padded, places_of

from libc.math cimport INFINITY, fabs, floor, pow, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from dpmondrian.kernels.tiles cimport MIDDLE, fill_tile, squared_distance, tile_squares, vectorised, vectorised_by_row

__all__ = ["regroup"]

cdef extern from *:
    """
    #define DPM_STRIP 16
    #if defined(__GNUC__)
    #define DPM_AT_ONCE DPM_STRIP
    typedef float dpm_floats __attribute__((vector_size(4 * DPM_STRIP), aligned(4), may_alias));
    typedef int32_t dpm_numbers __attribute__((vector_size(4 * DPM_STRIP), aligned(4), may_alias));
    #define DPM_EITHER(which, a, b) (((which) & (a)) | (~(which) & (b)))
    #define DPM_EITHER_FLOAT(which, a, b) ((dpm_floats)DPM_EITHER(which, (dpm_numbers)(a), (dpm_numbers)(b)))
    #else
    typedef float dpm_floats;
    typedef int32_t dpm_numbers;
    #define DPM_AT_ONCE 1
    #define DPM_EITHER(which, a, b) ((which) ? (a) : (b))
    #define DPM_EITHER_FLOAT(which, a, b) ((which) ? (a) : (b))
    #endif

    #define DPM_TAKE(place_of, found) \\
        nearer = (found) < smallest; \\
        larger = DPM_EITHER_FLOAT(nearer, smallest, found); \\
        where = DPM_EITHER(nearer, none + (int32_t)(place_of), where); \\
        smallest = DPM_EITHER_FLOAT(nearer, found, smallest); \\
        nearer = larger < next; \\
        next = DPM_EITHER_FLOAT(nearer, larger, next);

    /* Two centres at a time, so that each strip of rows is read once for both, and sums stay in registers. */
    static DPM_VECTORISED dpm_rough_search(
        const float *strips, Py_ssize_t n_columns, Py_ssize_t size, const float *points,
        const Py_ssize_t *numbers, Py_ssize_t n_numbers, float *least, float *other, int32_t *places
    ) {
        const dpm_numbers none = {0};
        const dpm_floats nothing = {0};
        for (Py_ssize_t i = 0; i < size; i += DPM_AT_ONCE) {
            dpm_floats smallest = nothing + INFINITY, next = smallest, larger;
            dpm_numbers where = none, nearer;
            const float *columns = strips + i / DPM_STRIP * DPM_STRIP * n_columns + i % DPM_STRIP;
            Py_ssize_t p = 0;
            for (; p + 2 <= n_numbers; p += 2) {
                const float *one = points + numbers[p] * n_columns, *two = points + numbers[p + 1] * n_columns;
                dpm_floats first = nothing, second = nothing;
                for (Py_ssize_t j = 0; j < n_columns; j++) {
                    const dpm_floats column = *(const dpm_floats *)(columns + j * DPM_STRIP);
                    const dpm_floats a = column - one[j], b = column - two[j];
                    first += a * a;
                    second += b * b;
                }
                DPM_TAKE(p, first)
                DPM_TAKE(p + 1, second)
            }
            if (p < n_numbers) {
                const float *one = points + numbers[p] * n_columns;
                dpm_floats first = nothing;
                for (Py_ssize_t j = 0; j < n_columns; j++) {
                    const dpm_floats a = *(const dpm_floats *)(columns + j * DPM_STRIP) - one[j];
                    first += a * a;
                }
                DPM_TAKE(p, first)
            }
            *(dpm_floats *)(least + i) = smallest;
            *(dpm_floats *)(other + i) = next;
            *(dpm_numbers *)(places + i) = where;
        }
    }
    """
    void dpm_rough_search(
        const float *strips, Py_ssize_t n_columns, Py_ssize_t size, const float *points,
        const Py_ssize_t *numbers, Py_ssize_t n_numbers, float *least, float *other, int32_t *places
    ) noexcept nogil

cdef enum:
    TILE = 256
    SAMPLED = 4096  # rows, at least, from whose means centres are guessed
    SAMPLE = 64  # so many rows of a tile, and so many limits, are tried to choose which rows are put aside
    LIMITS = 8
    STRIP = 16  # rows of a tile that are compared with a centre at once
    LEAST_SURE = 16  # guesses are tried where at least one in so many of these rows is sure

_MOST_SETTLED = 512
"""With more centres it takes too long to find how far apart they are."""
cdef double MARGIN = 1.0 + 1e-9  # more than all rounding in a reach


def regroup(rows, centres, node):
    """Set every row's node to the number of its nearest centre; see `reference.regroup`."""
    rows, centres = by_row(rows), np.ascontiguousarray(centres, dtype=np.float64)
    unsure = _settled(rows, centres, node)
    if not unsure.size:
        return
    old = node[unsure]
    n_nodes = 1 + int(old.max())
    order, starts = order_rows(old, np.arange(n_nodes, dtype=np.int16), n_nodes)
    order = unsure[order]
    node[order] = _nearest(places_of(rows, np.arange(centres.shape[1]), order), starts, centres)


def _settled(rows, centres, node):
    """Move the rows that surely have the nearest centre that is guessed, and return the others.

    If a row is nearer to a centre than half of the way from that to its nearest other one, no centre is as near.
    """
    every = np.arange(node.size, dtype=np.uint32)
    if len(centres) > _MOST_SETTLED or not node.size or centres.min() < 0.0 or centres.max() >= 2.0 * MIDDLE:
        return every
    points = padded(centres.astype(np.int64) - MIDDLE, rows.shape[1])
    is_used = padded(np.full((1, centres.shape[1]), -1), rows.shape[1])
    sample = slice(None, None, 1 + node.size // SAMPLED)  # rows that lie together may all be in one node
    some_rows, some_nodes = np.ascontiguousarray(rows[sample]), node[sample].copy()
    known = _guesses(some_rows, centres, some_nodes, 1 + int(node.max())), points, is_used[0], _gaps(centres)
    if _settle(some_rows, some_nodes, *known, every.copy()) >= some_nodes.size - some_nodes.size // LEAST_SURE:
        return every
    return every[: _settle(rows, node, *known, every)]


def _gaps(const double[:, ::1] points):
    """Return the squared distance of each centre from its nearest other one."""
    found = np.full(points.shape[0], np.inf)
    cdef double[::1] gaps = found
    cdef Py_ssize_t a, b, j
    cdef double total
    with nogil:
        for a in range(points.shape[0]):
            for b in range(a):
                total = 0.0
                for j in range(points.shape[1]):
                    total += (points[a, j] - points[b, j]) * (points[a, j] - points[b, j])
                gaps[a], gaps[b] = min(gaps[a], total), min(gaps[b], total)
    return found


def _guesses(rows, centres, node, n_nodes):
    """Return for each node a centre that its rows may have nearest: that of their mean."""
    counts = np.bincount(node, minlength=n_nodes)
    values = rows[:, : centres.shape[1]].T + float(MIDDLE)
    means = np.stack([np.bincount(node, column, n_nodes) for column in values], axis=1) / np.maximum(counts, 1)[:, None]
    squared = (centres**2).sum(axis=1) - 2.0 * (means @ centres.T)
    return np.where(counts > 0, squared.argmin(axis=1), 0).astype(np.int32)


def _settle(
    const int16_t[:, ::1] rows,
    int16_t[::1] node,
    const int32_t[::1] guess_of,
    const int16_t[:, ::1] points,
    const int16_t[::1] is_used,
    const double[::1] gaps,
    uint32_t[::1] unsure,
):
    """Move the rows that are surely nearest to their guess; list the others, and return their number."""
    cdef double[TILE] squares
    cdef int32_t[TILE] guess
    cdef Py_ssize_t start, size, i, n_unsure = 0, n_rows = node.shape[0], n_cells = rows.shape[1]
    cdef bint sure
    with nogil:
        for start from 0 <= start < n_rows by TILE:
            size = min(<Py_ssize_t>TILE, n_rows - start)
            for i in range(size):
                guess[i] = guess_of[<uint16_t>node[start + i]]
            _square(&rows[start, 0], n_cells, size, guess, &points[0, 0], &is_used[0], squares)
            for i in range(size):
                sure = 4.0 * squares[i] < gaps[guess[i]]
                node[start + i] = <int16_t>guess[i] if sure else node[start + i]
                unsure[n_unsure] = <uint32_t>(start + i)
                n_unsure += not sure
    return n_unsure


cdef vectorised_by_row _square(
    const int16_t *rows, Py_ssize_t n_cells, Py_ssize_t size, const int32_t *guess, const int16_t *points, const int16_t *is_used, double *squares
) noexcept nogil:
    """Write the squared distances of rows from their guesses."""
    cdef Py_ssize_t i
    for i in range(size):
        squares[i] = <double>squared_distance(rows + i * n_cells, points + guess[i] * n_cells, is_used, n_cells)


cdef class _Search:
    """Centres, and room for the search among them."""

    cdef double[:, ::1] points, by_column
    cdef float[:, ::1] rough_points
    cdef float[::1] rough_least, rough_other
    cdef int32_t[::1] rough_place
    cdef float surely
    cdef double[::1] apart, mean, reach, keys, found, least
    cdef Py_ssize_t[::1] numbers
    cdef double scale

    def __init__(self, points):
        n_centres, n_columns = points.shape
        self.points, self.by_column = points, points.T.copy()
        self.apart, self.mean = np.empty(n_centres), np.empty(n_columns)
        self.reach, self.keys, self.found, self.least = np.empty((4, max(TILE, n_centres)))
        self.numbers = np.empty(n_centres, dtype=np.intp)
        self.scale = self._key_scale()
        self.rough_points = points.astype(np.float32)
        self.rough_least, self.rough_other = np.empty((2, TILE), dtype=np.float32)
        self.rough_place = np.empty(TILE, dtype=np.int32)
        # Differences of places are exact; each of their squares and sums loses at most one part in 2**24.
        is_exact = np.array_equal(self.rough_points, points)
        self.surely = max(0.0, 1.0 - (n_columns + 4) * 2.0**-21) if is_exact else 0.0

    cdef double _key_scale(self) noexcept nogil:
        """Return by what to multiply a squared distance so that a number below it can be added and both stay exact."""
        cdef double farthest = 0.0, total, far, scale = 1.0
        cdef Py_ssize_t c, j
        for c in range(self.points.shape[0]):
            total = 0.0
            for j in range(self.points.shape[1]):
                far = max(fabs(self.points[c, j] - 65535.0), fabs(self.points[c, j]))
                total += far * far
            farthest = max(farthest, total)
        while (farthest + 1.0) * 2.0 * scale <= 9007199254740992.0:  # 2**53
            scale *= 2.0
        return scale

    cdef Py_ssize_t anchor(self, const uint16_t[:, ::1] places, Py_ssize_t start, Py_ssize_t size) noexcept nogil:
        """Return the centre nearest to the mean of a tile, and write the distances of all centres from it."""
        cdef Py_ssize_t c, j, a = 0, n_centres = self.points.shape[0]
        for j in range(places.shape[0]):
            _find_mean(&places[j, start], size, &self.mean[j])
        tile_squares(self.by_column, n_centres, &self.mean[0], self.apart)
        for c in range(1, n_centres):
            if self.apart[c] < self.apart[a]:
                a = c
        tile_squares(self.by_column, n_centres, &self.points[a, 0], self.apart)
        _take_roots(&self.apart[0], n_centres, 1.0)
        return a

    cdef Py_ssize_t within_reach(self, const double[:, ::1] tile, Py_ssize_t size, Py_ssize_t a, uint8_t[::1] aside) noexcept nogil:
        """List the centres, ascending, that rows of a tile may have nearest; mark the rows put `aside`; return how many are listed."""
        cdef Py_ssize_t c, i, n_numbers = 0
        cdef double limit
        tile_squares(tile, size, &self.points[a, 0], self.reach)
        _take_roots(&self.reach[0], size, 2.0 * MARGIN)
        limit = self._limit(min(size, <Py_ssize_t>SAMPLE))
        for i in range(size):
            aside[i] = self.reach[i] > limit
        for c in range(self.points.shape[0]):
            self.numbers[n_numbers] = c
            n_numbers += self.apart[c] <= limit
        return n_numbers

    cdef double _limit(self, Py_ssize_t n_sampled) noexcept nogil:
        """Return the reach beyond which rows are better put aside: the one of a few that leaves the fewest distances to take."""
        cdef double shortest = INFINITY, longest = 1.0, best, limit
        cdef Py_ssize_t c, i, step, n_near, n_aside, work, fewest = -1, n_within = 0
        for i in range(n_sampled):
            shortest, longest = min(shortest, self.reach[i]), max(longest, self.reach[i])
        shortest, best = max(shortest, 1.0), longest
        for c in range(self.apart.shape[0]):
            self.keys[n_within] = self.apart[c]
            n_within += self.apart[c] <= longest
        for step in range(LIMITS):
            limit = longest * pow(shortest / longest, step / <double>LIMITS)
            n_near = n_aside = 0
            for c in range(n_within):
                n_near += self.keys[c] <= limit
            for i in range(n_sampled):
                n_aside += self.reach[i] > limit
            work = n_sampled * n_near + n_aside * self.apart.shape[0]
            if fewest < 0 or work < fewest:
                best, fewest = limit, work
        return best

    cdef void all_numbers(self) noexcept nogil:
        """List all centres."""
        cdef Py_ssize_t c
        for c in range(self.numbers.shape[0]):
            self.numbers[c] = c

    cdef void search(self, const double[:, ::1] tile, Py_ssize_t size, Py_ssize_t n_numbers, int32_t[::1] number) noexcept nogil:
        """Fill in the nearest of the centres that are listed; the lowest number wins a tie.

        A squared distance and a number together make one key, so the smallest key tells everything.
        """
        cdef Py_ssize_t begin, p, i
        cdef double squared
        self.least[:size] = INFINITY
        for begin from 0 <= begin < n_numbers by <Py_ssize_t>self.scale:
            self.keys[:size] = INFINITY
            for p in range(begin, min(begin + <Py_ssize_t>self.scale, n_numbers)):
                tile_squares(tile, size, &self.points[self.numbers[p], 0], self.found)
                _keep_smaller(&self.found[0], size, self.scale, <double>(p - begin), &self.keys[0])
            for i in range(size):
                squared = floor(self.keys[i] / self.scale)
                if squared < self.least[i]:
                    self.least[i] = squared
                    number[i] = <int32_t>self.numbers[begin + <Py_ssize_t>(self.keys[i] - squared * self.scale)]


    cdef void rough_search(
        self, const float[:, :, ::1] strips, Py_ssize_t size, Py_ssize_t n_numbers, int32_t[::1] number, uint8_t[::1] aside
    ) noexcept nogil:
        """Fill in the nearest of the centres that are listed; put the rows aside of which single precision cannot tell."""
        cdef Py_ssize_t i
        dpm_rough_search(
            &strips[0, 0, 0], strips.shape[1], size, &self.rough_points[0, 0], &self.numbers[0], n_numbers,
            &self.rough_least[0], &self.rough_other[0], &self.rough_place[0]
        )
        for i in range(size):
            number[i] = <int32_t>self.numbers[self.rough_place[i]]
            aside[i] |= not self.rough_least[i] < self.rough_other[i] * self.surely


cdef vectorised _find_mean(const uint16_t *places, Py_ssize_t size, double *mean) noexcept nogil:
    """Write the mean of some places of a tile."""
    cdef int32_t total = 0
    cdef Py_ssize_t i
    for i in range(size):
        total += places[i]
    mean[0] = <double>total / <double>size


cdef vectorised _take_roots(double *squares, Py_ssize_t size, double factor) noexcept nogil:
    """Put roots, times a factor, in the place of squares."""
    cdef Py_ssize_t i
    for i in range(size):
        squares[i] = sqrt(squares[i]) * factor


cdef vectorised _keep_smaller(const double *found, Py_ssize_t size, double scale, double place, double *keys) noexcept nogil:
    """Put the keys of one centre in the place of larger ones."""
    cdef Py_ssize_t i
    cdef double key
    for i in range(size):
        key = found[i] * scale + place
        keys[i] = key if key < keys[i] else keys[i]


def _nearest(const uint16_t[:, ::1] places, const int64_t[::1] starts, points):
    """Return the number of each row's nearest centre; the lowest number wins a tie."""
    numbers_of_rows = np.empty(places.shape[1], dtype=np.int32)
    cdef _Search centres = _Search(points)
    cdef int32_t[::1] number = numbers_of_rows, found = np.empty(TILE, dtype=np.int32)
    cdef double[:, ::1] tile = np.empty((places.shape[0], TILE))
    cdef float[:, :, ::1] rough = np.zeros((TILE // STRIP, places.shape[0], STRIP), dtype=np.float32)
    cdef uint8_t[::1] aside = np.empty(TILE, dtype=np.uint8)
    cdef uint32_t[::1] far = np.empty(places.shape[1], dtype=np.uint32)
    cdef Py_ssize_t g, start, size, i, n_near, a = 0, n_far = 0, n_unsure = 0
    with nogil:
        for g in range(starts.shape[0] - 1):
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                fill_tile(places, start, size, tile)
                if start == starts[g]:
                    a = centres.anchor(places, start, size)
                n_near = centres.within_reach(tile, size, a, aside)
                if n_near == 1:
                    found[:size] = <int32_t>a
                else:
                    _round(tile, size, rough)
                    centres.rough_search(rough, size, n_near, found, aside)
                for i in range(size):
                    number[start + i] = found[i]
                    far[n_far] = <uint32_t>(start + i)
                    n_far += aside[i]
        centres.all_numbers()
        for start from 0 <= start < n_far by TILE:
            size = min(<Py_ssize_t>TILE, n_far - start)
            _fill_scattered(places, &far[start], size, tile)
            _round(tile, size, rough)
            aside[:size] = 0
            centres.rough_search(rough, size, centres.points.shape[0], found, aside)
            for i in range(size):
                number[far[start + i]] = found[i]
                far[n_unsure] = far[start + i]
                n_unsure += aside[i]
        for start from 0 <= start < n_unsure by TILE:
            size = min(<Py_ssize_t>TILE, n_unsure - start)
            _fill_scattered(places, &far[start], size, tile)
            centres.search(tile, size, centres.points.shape[0], found)
            for i in range(size):
                number[far[start + i]] = found[i]
    return numbers_of_rows


cdef void _fill_scattered(const uint16_t[:, ::1] places, const uint32_t *row, Py_ssize_t size, double[:, ::1] tile) noexcept nogil:
    """Copy rows that need not be neighbours into a tile."""
    cdef Py_ssize_t i, j
    for j in range(places.shape[0]):
        for i in range(size):
            tile[j, i] = places[j, row[i]]


cdef void _round(const double[:, ::1] tile, Py_ssize_t size, float[:, :, ::1] strips) noexcept nogil:
    """Copy a tile in single precision, strip by strip, so that all columns of a strip are near each other."""
    cdef Py_ssize_t start, i, j
    for start from 0 <= start < size by STRIP:
        for j in range(tile.shape[0]):
            for i in range(STRIP):
                strips[start // STRIP, j, i] = <float>tile[j, start + i]
