"""Histograms that released cells expect; valleys of histograms, and how much these vary. Sees released numbers only."""

import numpy as np

from libc.math cimport INFINITY, M_PI, erfc, exp, rint, sqrt
from libc.stdint cimport int32_t, int64_t

from dpmondrian.kernels.tiles cimport vectorised

__all__ = ["all_valleys", "clearest_valley", "dispersions", "expected_below"]

cdef enum:
    PER_DEVIATION = 64
    ENTRIES = 2 * 8 * PER_DEVIATION + 1

cdef double CERTAIN = 8.0  # beyond so many deviations a normal law is 0 or 1, up to 1e-15
cdef double[ENTRIES] SHARES, DENSITIES  # of the normal law, from -8 to 8 deviations


cdef void _fill_table() noexcept:
    cdef Py_ssize_t i
    cdef double z
    for i in range(ENTRIES):
        z = <double>i / PER_DEVIATION - CERTAIN
        SHARES[i], DENSITIES[i] = 0.5 * erfc(-z / sqrt(2.0)), exp(-0.5 * z * z) / sqrt(2.0 * M_PI)


_fill_table()


cdef inline double _normal(double z) noexcept nogil:
    """Return the share of a normal law below z, from -8 to 8, up to 1e-7: two steps of Taylor's series from the nearest entry."""
    cdef int32_t i = <int32_t>((z + CERTAIN) * PER_DEVIATION + 0.5)
    cdef double entry = <double>i / PER_DEVIATION - CERTAIN
    cdef double rest = z - entry
    return SHARES[i] + rest * DENSITIES[i] * (1.0 - 0.5 * rest * entry)


def expected_below(
    const double[:, ::1] along, const double[::1] sizes, const double[::1] spreads, const double[:, ::1] edges
):
    """Return the rows that cells expect below every edge of every direction, shape (n_directions, n_edges).

    Cell c lies at ``along[d, c]`` of direction d and spreads normally by ``spreads[d]``; edges ascend at equal distances.
    """
    found = np.zeros((edges.shape[0], edges.shape[1]))
    cdef double[:, ::1] below = found
    cdef Py_ssize_t n_edges = edges.shape[1], c, d, first, end
    cdef double place, reach, per_edge
    with nogil:
        for d in range(edges.shape[0]):
            reach, per_edge = CERTAIN * spreads[d], (n_edges - 1) / (edges[d, n_edges - 1] - edges[d, 0])
            for c in range(along.shape[1]):
                place = along[d, c]
                first = _first_beyond(&edges[d, 0], n_edges, place, -reach, (place - reach - edges[d, 0]) * per_edge)
                end = _first_beyond(&edges[d, 0], n_edges, place, reach, (place + reach - edges[d, 0]) * per_edge)
                _add_parts(&edges[d, first], end - first, place, spreads[d], sizes[c], &below[d, first])
                _add_all(n_edges - end, sizes[c], &below[d, end])
    return found


cdef inline Py_ssize_t _first_beyond(
    const double *edges, Py_ssize_t n_edges, double place, double distance, double guess
) noexcept nogil:
    """Return the first of ascending edges that is farther above a place than a distance; the guess only saves time."""
    cdef Py_ssize_t e = <Py_ssize_t>min(max(guess, 0.0), <double>n_edges)
    while e > 0 and edges[e - 1] - place > distance:
        e -= 1
    while e < n_edges and edges[e] - place <= distance:
        e += 1
    return e


cdef vectorised _add_parts(
    const double *edges, Py_ssize_t size, double place, double spread, double rows, double *below
) noexcept nogil:
    """Add the rows of a cell below edges within its reach."""
    cdef Py_ssize_t e
    for e in range(size):
        below[e] += rows * _normal((edges[e] - place) / spread)


cdef vectorised _add_all(Py_ssize_t size, double rows, double *below) noexcept nogil:
    cdef Py_ssize_t e
    for e in range(size):
        below[e] += rows


def clearest_valley(
    const double[:, ::1] counts,
    const int64_t[::1] widths,
    double deviation,
    double dispersion,
    double most_empty,
    double depth,
    double empty,
):
    """Return depth, in deviations, and place of the clearest valley of each histogram; see `dpm.finding.valleys.clearest`."""
    depths, places = np.empty(counts.shape[0]), np.empty(counts.shape[0])
    cdef double[::1] best = depths, place = places
    cdef _Valleys search = _Valleys(counts.shape[1], widths, deviation, dispersion, most_empty, depth, empty)
    cdef Py_ssize_t h
    with nogil:
        for h in range(counts.shape[0]):
            search.clearest(&counts[h, 0], counts.shape[1], &best[h], &place[h])
    return depths, places


def all_valleys(
    const double[::1] counts,
    const int64_t[::1] widths,
    double deviation,
    double dispersion,
    double most_empty,
    double depth,
    double empty,
    double least_z,
    double least_rows,
):
    """Return place and depth of all valleys of a histogram that are clear enough, in their order; see `dpm.finding.valleys.valleys`."""
    search = _Valleys(counts.shape[0], widths, deviation, dispersion, most_empty, depth, empty)
    return _divided(search, counts, 0, counts.shape[0], least_z, least_rows)


cdef list _divided(
    _Valleys search, const double[::1] counts, Py_ssize_t begin, Py_ssize_t end, double least_z, double least_rows
):
    """Return the valleys of some bins: the clearest, between those on both of its sides."""
    cdef double z, place, below = 0.0, above = 0.0
    cdef Py_ssize_t cut, i
    if end - begin < 3:
        return []
    search.clearest(&counts[begin], end - begin, &z, &place)
    cut = begin + min(max(<Py_ssize_t>rint(place), 1), end - begin - 1)
    for i in range(begin, cut):
        below += counts[i]
    for i in range(cut, end):
        above += counts[i]
    if z < least_z or min(below, above) < least_rows:
        return []
    left, right = _divided(search, counts, begin, cut, least_z, least_rows), _divided(search, counts, cut, end, least_z, least_rows)
    return [*left, (begin + place, z), *right]


cdef class _Valleys:
    """Looks for the clearest valley of histograms of at most so many bins."""

    cdef const int64_t[::1] widths
    cdef double[::1] below, windows, right
    cdef double deviation, dispersion, most_empty, depth, empty

    def __init__(self, most_bins, widths, deviation, dispersion, most_empty, depth, empty):
        self.widths, self.deviation, self.dispersion = widths, deviation, dispersion
        self.most_empty, self.depth, self.empty = most_empty, depth, empty
        self.below, self.windows, self.right = np.zeros((3, most_bins + 1))

    cdef void clearest(self, const double *counts, Py_ssize_t n_bins, double *best, double *place) noexcept nogil:
        """Write depth, -inf if there is none, and place of the clearest valley."""
        cdef Py_ssize_t i, k, width, n_windows
        cdef double left, hill, middle, varies, z
        best[0], place[0] = -INFINITY, 0.0
        for i in range(n_bins):
            self.below[i + 1] = self.below[i] + counts[i]
        for k in range(self.widths.shape[0]):
            width = self.widths[k]
            if n_bins < 3 * width:
                break
            n_windows = n_bins + 1 - width
            for i in range(n_windows):
                self.windows[i] = self.below[i + width] - self.below[i]
            self.right[n_windows - 1] = self.windows[n_windows - 1]
            for i in range(n_windows - 2, -1, -1):
                self.right[i] = max(self.right[i + 1], self.windows[i])
            left = -INFINITY
            for i in range(n_windows - 2 * width):
                left = max(left, self.windows[i])
                hill, middle = min(left, self.right[i + 2 * width]), max(self.windows[i + width], 0.0)
                if middle < (1.0 - self.depth) * hill:
                    varies = min(self.dispersion, self.most_empty) if middle < self.empty * hill else self.dispersion
                    z = (hill - middle) / sqrt(2.0 * width * (self.deviation * self.deviation) + varies * (max(hill, 0.0) + middle) + 1e-9)
                    if z > best[0]:
                        best[0], place[0] = z, i + 1.5 * width


def dispersions(const double[:, :] rows, const double[:, :] variances, const double[::1] difference, double median, Py_ssize_t step):
    """Return the variance of counts per row of theirs, without noise, and these rows; see `dpm.finding.dispersion`."""
    cdef Py_ssize_t n_parts = difference.shape[0], n_windows = rows.shape[0] - step * (n_parts - 1), n_found = 0, i, j, k
    estimates, levels = np.empty(max(n_windows, 0) * rows.shape[1]), np.empty(max(n_windows, 0) * rows.shape[1])
    cdef double[::1] estimate = estimates, level = levels
    cdef double norm = 0.0, differs, noise, mean
    with nogil:
        for k in range(n_parts):
            norm += difference[k] * difference[k]
        for i in range(n_windows):
            for j in range(rows.shape[1]):
                differs = noise = mean = 0.0
                for k in range(n_parts):
                    differs += difference[k] * rows[i + k * step, j]
                    noise += difference[k] * difference[k] * variances[i + k * step, j] / norm
                    mean += rows[i + k * step, j] / n_parts
                if mean > max(2.0 * sqrt(noise), 5.0):
                    estimate[n_found], level[n_found] = (differs * differs / norm / median - noise) / mean, mean
                    n_found += 1
    return estimates[:n_found], levels[:n_found]
