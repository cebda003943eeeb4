"""Histograms that released cells expect; valleys of histograms, and how much these vary. Sees released numbers only."""

import numpy as np

from libc.math cimport INFINITY, copysign, fabs, rint, sqrt
from libc.stdint cimport int64_t, uint8_t

from dpmondrian.kernels.tiles cimport vectorised

__all__ = ["all_valleys", "clearest_valley", "dispersions", "dispersions_along", "expected_counts", "promising"]

cdef enum:
    LANES = 16  # histograms in which valleys are looked for at once

cdef double CERTAIN = 5.5  # beyond so many deviations a normal law is 0 or 1, up to 2e-8


cdef inline double _normal(double z) noexcept nogil:
    """Return the share of a normal law below z, up to 2e-7 (Abramowitz and Stegun 7.1.28): no table, which is slow to read in a vector."""
    cdef double x = fabs(z) * sqrt(0.5)
    cdef double p = 1.0 + x * (
        0.0705230784 + x * (0.0422820123 + x * (0.0092705272 + x * (0.0001520143 + x * (0.0002765672 + x * 0.0000430638))))
    )
    p *= p
    p *= p
    p *= p
    p *= p
    return 0.5 + copysign(0.5 - 0.5 / p, z)


def expected_counts(
    const double[:, ::1] along, const double[::1] sizes, const double[::1] spreads, double beyond, Py_ssize_t n_bins
):
    """Return the rows that cells expect in the bins of every direction, shape (n_directions, n_bins), and where these begin and end.

    Cell c lies at ``along[d, c]`` of direction d and spreads normally by ``spreads[d]``. Bins end so many spreads `beyond` the outermost
    cells; beyond a cell that lies by itself as far as the way to its neighbour: what draws it out may lie farther still. Where all cells lie
    within two spreads they make one hump, and no rows are counted.
    """
    found, lows, highs = np.zeros((along.shape[0], n_bins)), np.empty(along.shape[0]), np.empty(along.shape[0])
    cdef double[:, ::1] expected = found
    cdef double[::1] low = lows, high = highs, edges = np.empty(n_bins + 1)
    cdef double[::1] below = np.empty(n_bins + 1), whole = np.empty(n_bins + 2)
    cdef Py_ssize_t d, e
    with nogil:
        for d in range(along.shape[0]):
            if _find_ends(&along[d, 0], along.shape[1], beyond * spreads[d], &low[d], &high[d]) <= 2.0 * spreads[d]:
                continue
            for e in range(n_bins + 1):
                edges[e] = low[d] + (high[d] - low[d]) * e / n_bins
            _add_cells(&along[d, 0], along.shape[1], sizes, spreads[d], &edges[0], n_bins + 1, &below[0], &whole[0])
            for e in range(n_bins):
                expected[d, e] = below[e + 1] - below[e]
    return found, lows, highs


cdef double _find_ends(const double *along, Py_ssize_t n_cells, double beyond, double *low, double *high) noexcept nogil:
    """Write where bins begin and end, and return the way from the first to the last cell."""
    cdef double first = INFINITY, second = INFINITY, last = -INFINITY, before = -INFINITY
    cdef Py_ssize_t c
    for c in range(n_cells):
        second = min(second, max(first, along[c]))
        first = min(first, along[c])
        before = max(before, min(last, along[c]))
        last = max(last, along[c])
    low[0], high[0] = first - max(beyond, second - first), last + max(beyond, last - before)
    return last - first


cdef void _add_cells(
    const double *along, Py_ssize_t n_cells, const double[::1] sizes, double spread, const double *edges, Py_ssize_t n_edges, double *below, double *whole
) noexcept nogil:
    """Add the rows that cells expect below every edge; edges ascend at equal distances. `whole` has room for one number more."""
    cdef double reach = CERTAIN * spread, per_edge = (n_edges - 1) / (edges[n_edges - 1] - edges[0]), rows = 0.0
    cdef Py_ssize_t c, e, first, end
    for e in range(n_edges):
        below[e] = whole[e] = 0.0
    for c in range(n_cells):
        first = _first_beyond(edges, n_edges, along[c], -reach, (along[c] - reach - edges[0]) * per_edge)
        end = _first_beyond(edges, n_edges, along[c], reach, (along[c] + reach - edges[0]) * per_edge)
        _add_parts(edges + first, end - first, along[c], 1.0 / spread, sizes[c], below + first)
        whole[end] += sizes[c]  # below this edge and all that follow lie all rows of the cell
    for e in range(n_edges):
        rows += whole[e]
        below[e] += rows


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
    const double *edges, Py_ssize_t size, double place, double per_spread, double rows, double *below
) noexcept nogil:
    """Add the rows of a cell below edges within its reach."""
    cdef Py_ssize_t e
    for e in range(size):
        below[e] += rows * _normal((edges[e] - place) * per_spread)


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
    cdef uint8_t[::1] is_taken = np.ones(counts.shape[0], dtype=np.uint8)
    cdef _Valleys search = _Valleys(counts.shape[1], widths, deviation, dispersion, most_empty, depth, empty)
    with nogil:
        search.clearest_of_all(counts, is_taken, best, place)
    return depths, places


def promising(
    const double[:, ::1] directions,
    const double[:, ::1] expected,
    const double[:, ::1] tried,
    Py_ssize_t n_hints,
    Py_ssize_t most,
    const int64_t[::1] widths,
    double deviation,
    double depth,
    double empty,
    double seen,
    double apart,
    double least,
    double clear,
    double columns_first,
):
    """Return the directions to look along, which of all are not near to tried ones, and how many are worth it; see `reference.promising`."""
    cdef Py_ssize_t n_directions = directions.shape[0], n_columns = directions.shape[1], n_found = 0, i, j
    cdef _Valleys search = _Valleys(expected.shape[1], widths, deviation, 1.0, 1.0, depth, empty)
    new, order = np.ones(n_directions, dtype=np.bool_), np.empty(n_directions + n_hints, dtype=np.int64)
    cdef uint8_t[::1] is_new = new.view(np.uint8)
    cdef int64_t[::1] best_first = order, found = np.empty(max(most, 1), dtype=np.int64)
    cdef double[::1] z = np.empty(n_directions), worth = np.empty(n_directions), where = np.empty(n_directions)
    cdef Py_ssize_t best = -1, n_promising = 0, place
    with nogil:
        for i in range(n_directions):
            for j in range(tried.shape[0] if i < n_directions - n_hints else 0):
                is_new[i] &= _cosine(&directions[i, 0], &tried[j, 0], n_columns) < seen
        search.clearest_of_all(expected, is_new, z, where)
        for i in range(n_directions):
            if is_new[i] and (best < 0 or z[i] > z[best]):
                best = i
            if z[i] >= least:  # those that differ in rounding only are alike: the first of them is taken, on every processor
                worth[i] = rint(z[i] * (columns_first if _is_column(&directions[i, 0], n_columns) else 1.0) * 1e6) / 1e6
                place = n_promising
                while place > 0 and worth[best_first[place - 1]] < worth[i]:
                    best_first[place] = best_first[place - 1]
                    place -= 1
                best_first[place] = i
                n_promising += 1
        if best < 0 or z[best] < clear:  # the noise of several would hide it
            most = min(most, <Py_ssize_t>1)
        while most > 1 and search.depth_of(&expected[best, 0], deviation * sqrt(<double>most)) < clear:
            most -= 1
        place = min(n_promising, <Py_ssize_t>1)
        for i in range(n_promising - 1, place - 1, -1):
            best_first[i + n_hints] = best_first[i]
        for i in range(n_hints):
            best_first[place + i] = n_directions - n_hints + i
        for i in range(n_promising + n_hints):
            if n_found >= most:
                break
            for j in range(n_found):
                if _cosine(&directions[best_first[i], 0], &directions[found[j], 0], n_columns) >= apart:
                    break
            else:
                found[n_found] = best_first[i]
                n_found += 1
    return [found[i] for i in range(n_found)], new, most


cdef inline double _cosine(const double *one, const double *other, Py_ssize_t n_columns) noexcept nogil:
    """Return how near two directions of length 1 are, whichever way they point."""
    cdef double product = 0.0
    cdef Py_ssize_t j
    for j in range(n_columns):
        product += one[j] * other[j]
    return fabs(product)


cdef inline bint _is_column(const double *direction, Py_ssize_t n_columns) noexcept nogil:
    """Return whether a direction of length 1 is that of a column."""
    cdef Py_ssize_t j
    for j in range(n_columns):
        if fabs(direction[j]) > 0.999:
            return True
    return False


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
    cdef const double *histogram
    cdef Py_ssize_t cut, i
    if end - begin < 3 or _is_hump(&counts[begin], end - begin):
        return []
    histogram = &counts[begin]
    search.clearest(&histogram, 1, end - begin)
    z, place = search.best[0], search.place[0]
    cut = begin + min(max(<Py_ssize_t>rint(place), 1), end - begin - 1)
    for i in range(begin, cut):
        below += counts[i]
    for i in range(cut, end):
        above += counts[i]
    if z < least_z or min(below, above) < least_rows:
        return []
    left, right = _divided(search, counts, begin, cut, least_z, least_rows), _divided(search, counts, cut, end, least_z, least_rows)
    return [*left, (begin + place, z), *right]


cdef bint _is_hump(const double *counts, Py_ssize_t n_bins) noexcept nogil:
    """Return whether numbers only rise and then only fall."""
    cdef Py_ssize_t i = 1
    while i < n_bins and counts[i] >= counts[i - 1]:
        i += 1
    while i < n_bins and counts[i] <= counts[i - 1]:
        i += 1
    return i >= n_bins


cdef class _Valleys:
    """Looks for the clearest valleys of histograms of at most so many bins: `best` is their depth, -inf if there is none, at this `place`."""

    cdef const int64_t[::1] widths
    cdef double[:, ::1] below, windows, right
    cdef double[LANES] best, place
    cdef double deviation, dispersion, most_empty, depth, empty

    def __init__(self, most_bins, widths, deviation, dispersion, most_empty, depth, empty):
        self.widths, self.deviation, self.dispersion = widths, deviation, dispersion
        self.most_empty, self.depth, self.empty = most_empty, depth, empty
        self.below, self.windows, self.right = np.zeros((3, most_bins + 1, LANES))

    cdef void clearest_of_all(self, const double[:, ::1] counts, const uint8_t[::1] is_taken, double[::1] best, double[::1] place) noexcept nogil:
        """Write depth and place of the clearest valley of histograms; -inf where there is none, and for those that are not taken."""
        cdef const double *histogram[LANES]
        cdef Py_ssize_t number[LANES]
        cdef Py_ssize_t h, lane, n_taken = 0
        for h in range(counts.shape[0]):
            best[h], place[h] = -INFINITY, 0.0
            if is_taken[h] and not _is_hump(&counts[h, 0], counts.shape[1]):  # windows of humps make one, too
                histogram[n_taken], number[n_taken] = &counts[h, 0], h
                n_taken += 1
            if n_taken == LANES or (n_taken and h == counts.shape[0] - 1):
                self.clearest(histogram, n_taken, counts.shape[1])
                for lane in range(n_taken):
                    best[number[lane]], place[number[lane]] = self.best[lane], self.place[lane]
                n_taken = 0

    cdef double depth_of(self, const double *counts, double deviation) noexcept nogil:
        """Return the depth of the clearest valley of one histogram if the noise of its bins has another deviation."""
        cdef double planned = self.deviation
        self.deviation = deviation
        self.clearest(&counts, 1, self.below.shape[0] - 1)
        self.deviation = planned
        return self.best[0]

    cdef void clearest(self, const double *const *counts, Py_ssize_t n_taken, Py_ssize_t n_bins) noexcept nogil:
        """Look at so many histograms, which have so many bins."""
        cdef Py_ssize_t i, k, lane, width
        cdef double *below = &self.below[0, 0]
        for lane in range(n_taken):
            self.best[lane], self.place[lane], below[lane] = -INFINITY, 0.0, 0.0
            for i in range(n_bins):
                below[(i + 1) * n_taken + lane] = below[i * n_taken + lane] + counts[lane][i]
        for k in range(self.widths.shape[0]):
            width = self.widths[k]
            if n_bins < 3 * width:
                break
            _look(
                below, &self.windows[0, 0], &self.right[0, 0], n_taken, width, n_bins + 1 - width,
                2.0 * width * (self.deviation * self.deviation), self.dispersion, min(self.dispersion, self.most_empty),
                1.0 - self.depth, self.empty, self.best, self.place,
            )  # fmt: skip


cdef vectorised _look(
    const double *below, double *windows, double *right, Py_ssize_t n, Py_ssize_t width, Py_ssize_t n_windows, double noise,
    double dispersion, double if_empty, double depth, double empty, double *best, double *place,
) noexcept nogil:  # fmt: skip
    """Look for valleys between windows of a width in n histograms; keep those that are clearer than the best ones so far."""
    cdef double[LANES] left
    cdef const double *window
    cdef const double *beyond
    cdef double hill, middle, varies, z, here
    cdef Py_ssize_t i, h
    for i in range(n_windows * n):
        windows[i] = below[i + width * n] - below[i]
    for h in range(n):
        left[h] = -INFINITY
        right[(n_windows - 1) * n + h] = windows[(n_windows - 1) * n + h]
    for i in range(n_windows - 2, -1, -1):
        window, beyond = windows + i * n, right + (i + 1) * n
        for h in range(n):
            right[i * n + h] = beyond[h] if beyond[h] > window[h] else window[h]
    for i in range(n_windows - 2 * width):
        window, beyond, here = windows + i * n, right + (i + 2 * width) * n, i + 1.5 * width
        for h in range(n):
            left[h] = left[h] if left[h] > window[h] else window[h]
            hill = left[h] if left[h] < beyond[h] else beyond[h]
            middle = window[width * n + h] if window[width * n + h] > 0.0 else 0.0
            varies = if_empty if middle < empty * hill else dispersion
            z = (hill - middle) / sqrt(noise + varies * ((hill if hill > 0.0 else 0.0) + middle) + 1e-9)
            z = z if middle < depth * hill else -INFINITY
            place[h] = here if z > best[h] else place[h]
            best[h] = z if z > best[h] else best[h]


def dispersions_along(const double[::1] counts, double variance, const double[::1] difference, double median, Py_ssize_t fewest):
    """Return the medians of what `dispersions` finds in counts with noise of this variance: of bins, and of every two of them together.

    The last number is the median of those of bins relative to the rows of each. Medians of fewer than `fewest` numbers are 0.
    """
    cdef Py_ssize_t n_bins = counts.shape[0], width, n_found, b
    cdef double[:, ::1] windows = np.empty((n_bins, 1)), variances = np.empty((n_bins, 1))
    cdef double[::1] estimates = np.empty(n_bins), levels = np.empty(n_bins)
    cdef double[2] medians = [0.0, 0.0]
    cdef double relative = 0.0
    with nogil:
        for width in range(1, 3):
            for b in range(n_bins + 1 - width):
                windows[b, 0] = counts[b] + counts[b + 1] if width == 2 else counts[b]
                variances[b, 0] = width * variance
            n_found = _find_dispersions(windows[: n_bins + 1 - width], variances, difference, median, width, &estimates[0], &levels[0])
            if n_found < fewest:
                continue
            if width == 1:
                for b in range(n_found):
                    levels[b] = estimates[b] / levels[b]
                relative = _median(&levels[0], n_found)
            medians[width - 1] = _median(&estimates[0], n_found)
    return medians[0], medians[1], relative


cdef double _median(double *values, Py_ssize_t size) noexcept nogil:
    """Return the median of a few numbers, and bring them in order."""
    cdef Py_ssize_t i, place
    cdef double value
    for i in range(1, size):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    return 0.5 * (values[(size - 1) // 2] + values[size // 2])


def dispersions(const double[:, ::1] rows, const double[:, ::1] variances, const double[::1] difference, double median):
    """Return the variance of counts per row of theirs, without noise, in windows that clearly hold some; see `dpm.finding.dispersion`."""
    cdef double[::1] estimate, level = np.empty(rows.size + 1)
    cdef Py_ssize_t n_found
    estimates = np.empty(rows.size + 1)
    estimate = estimates
    with nogil:
        n_found = _find_dispersions(rows, variances, difference, median, 1, &estimate[0], &level[0])
    return estimates[:n_found]


cdef Py_ssize_t _find_dispersions(
    const double[:, ::1] rows, const double[:, ::1] variances, const double[::1] difference, double median, Py_ssize_t step,
    double *estimates, double *levels,
) noexcept nogil:  # fmt: skip
    """Write what `dispersions` returns for windows of bins so many steps apart, and the rows in each; return how many there are."""
    cdef Py_ssize_t n_parts = difference.shape[0], n_found = 0, i, j, k
    cdef double norm = 0.0, differs, noise, mean
    for k in range(n_parts):
        norm += difference[k] * difference[k]
    for i in range(rows.shape[0] - step * (n_parts - 1)):
        for j in range(rows.shape[1]):
            differs = noise = mean = 0.0
            for k in range(n_parts):
                differs += difference[k] * rows[i + k * step, j]
                noise += difference[k] * difference[k] * variances[i + k * step, j] / norm
                mean += rows[i + k * step, j] / n_parts
            if mean > max(2.0 * sqrt(noise), 5.0):
                estimates[n_found], levels[n_found] = (differs * differs / norm / median - noise) / mean, mean
                n_found += 1
    return n_found
