"""Rows along directions: counted in bins, and cut apart. Exact, row by row.

A direction is a vector of small whole numbers. The projection of a row on it is the sum of its places, each times the direction's
number: a whole number of at most 47 bits, since places have 16 bits, numbers 11 with their sign and there are at most 2**20 columns. Double
precision holds it exactly.

Rows of few columns are turned first, tile by tile, if there are several lines: two columns are one word of 32 bits, so products of many
rows are taken at once. Other rows are read as they lie.
"""

import numpy as np

from dpmondrian.kernels.tiles import by_row, padded

from libc.math cimport floor
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t

from dpmondrian.kernels.tiles cimport MIDDLE, dot, vectorised, vectorised_by_row

__all__ = ["PARTS", "STEPS", "cut_along", "line_counts"]

PARTS = 256
"""Parts of a row: one that stands for an interval is spread over the bins that the interval meets."""
STEPS = 16
"""Steps of a bin in which it is told how a row is spread."""
cdef enum:
    TILE = 128
    WAY = TILE + 16  # from the words of one pair of columns to those of the next, which fall into another part of the processor's cache
    MOST_TURNED = 32  # columns: so many products of a place and a number of a direction have a sum below 2**31
    TABLES = 4  # rows are counted in so many tables in turn: the same bin twice in a row would wait for itself

cdef int64_t _PARTS = PARTS, _STEPS = STEPS


def _along(rows, directions):
    """Return rows, directions, and what is missing in their products because the middle was taken off all places."""
    rows, directions = by_row(rows), np.asarray(directions, dtype=np.int64)
    return rows, padded(directions, rows.shape[1]), MIDDLE * directions.sum(axis=1)


def _single_columns(const int16_t[:, ::1] directions):
    """Return the column of each direction in which all others are 0, or -1: rows need not be read whole."""
    is_used = np.asarray(directions) != 0
    return np.where(is_used.sum(axis=1) == 1, is_used.argmax(axis=1), -1)


def line_counts(rows, order, starts, line_of, directions, begins, widths, shapes, counts):
    """Add the rows of every group to the bins of the lines of that group; see `reference.line_counts`."""
    shape_begins = np.cumsum([0, *map(len, shapes)])
    _count_lines(*_along(rows, directions), order, starts, line_of, begins, widths, np.concatenate(shapes), shape_begins, counts)


def _count_lines(
    const int16_t[:, ::1] rows,
    const int16_t[:, ::1] directions,
    const int64_t[::1] offsets,
    const uint32_t[::1] order,
    const int64_t[::1] starts,
    const int64_t[::1] line_of,
    const int64_t[::1] begins,
    const int64_t[::1] widths,
    const int64_t[::1] shapes,
    const int64_t[::1] shape_begins,
    int64_t[:, ::1] counts,
):
    cdef Py_ssize_t g, start, size, line, n_lines = line_of.shape[0], n_bins = counts.shape[1], b, t
    cdef int64_t[::1] n_own = np.bincount(line_of, minlength=starts.shape[0]), columns = _single_columns(directions)
    cdef uint32_t[:, :, ::1] tables = np.zeros((n_lines, TABLES, n_bins + 1), dtype=np.uint32)
    cdef double[::1] found = np.empty(TILE)
    cdef _Turned turned = _Turned(rows, directions)
    cdef bint is_turned
    with nogil:
        for g in range(starts.shape[0] - 1):
            is_turned = n_own[g] > 1 and rows.shape[1] <= MOST_TURNED
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                if is_turned:
                    turned.take(&order[start], size)
                for line in range(n_lines):
                    if line_of[line] != g:
                        continue
                    if is_turned:
                        turned.project(line, offsets[line], size, &found[0])
                    elif columns[line] >= 0:
                        _project_column(
                            &rows[0, columns[line]], rows.shape[1], &order[start], size, directions[line, columns[line]], offsets[line], &found[0]
                        )
                    else:
                        _project(&rows[0, 0], rows.shape[1], &order[start], size, &directions[line, 0], offsets[line], &found[0])
                    if shape_begins[line + 1] - shape_begins[line] == 1:
                        _count_points(&found[0], size, begins[line], widths[line], n_bins, &tables[line, 0, 0])
                    else:
                        _count_intervals(
                            &found[0], size, begins[line], widths[line], shapes[shape_begins[line] : shape_begins[line + 1]], counts[line]
                        )
        for line in range(n_lines):
            for t in range(TABLES):
                for b in range(n_bins):
                    counts[line, b] += _PARTS * tables[line, t, b]


cdef class _Turned:
    """A tile of rows, pair of columns by pair."""

    cdef const int32_t[:, ::1] rows, directions
    cdef int32_t[:, ::1] words
    cdef int32_t[::1] sums

    def __init__(self, rows, directions):
        self.rows, self.directions = np.asarray(rows).view(np.int32), np.asarray(directions).view(np.int32)
        self.words, self.sums = np.empty((self.rows.shape[1], WAY), dtype=np.int32), np.empty(TILE, dtype=np.int32)

    cdef void take(self, const uint32_t *order, Py_ssize_t size) noexcept nogil:
        """Take other rows."""
        cdef Py_ssize_t i, w
        for i in range(size):
            for w in range(self.words.shape[0]):
                self.words[w, i] = self.rows[order[i], w]

    cdef void project(self, Py_ssize_t line, int64_t offset, Py_ssize_t size, double *found) noexcept nogil:
        """Write the projections of the rows on a direction."""
        _add_products(&self.words[0, 0], self.words.shape[0], size, &self.directions[line, 0], <double>offset, &self.sums[0], found)


cdef vectorised _add_products(
    const int32_t *words, Py_ssize_t n_words, Py_ssize_t size, const int32_t *direction, double offset, int32_t *sums, double *found
) noexcept nogil:
    """Write projections: both halves of the words of rows are multiplied with those of the direction's words."""
    cdef int32_t low, high
    cdef Py_ssize_t w, i
    for i in range(size):
        sums[i] = 0
    for w in range(n_words):
        if direction[w]:
            low, high = <int16_t>direction[w], direction[w] >> 16
            for i in range(size):
                sums[i] += <int16_t>words[i] * low + (words[i] >> 16) * high
        words += WAY
    for i in range(size):
        found[i] = <double>sums[i] + offset  # whole numbers below 2**53


cdef vectorised_by_row _project(
    const int16_t *rows, Py_ssize_t n_cells, const uint32_t *order, Py_ssize_t size, const int16_t *direction, int64_t offset, double *found
) noexcept nogil:
    """Write the projections of some rows on a direction."""
    cdef Py_ssize_t i
    for i in range(size):
        found[i] = <double>(dot(rows + order[i] * n_cells, direction, n_cells) + offset)


cdef void _project_column(
    const int16_t *column, Py_ssize_t n_cells, const uint32_t *order, Py_ssize_t size, int64_t number, int64_t offset, double *found
) noexcept nogil:
    """Write the projections of some rows on the direction of a column."""
    cdef Py_ssize_t i
    for i in range(size):
        found[i] = <double>(column[order[i] * n_cells] * number + offset)


cdef void _count_points(
    const double *found, Py_ssize_t size, int64_t begin, int64_t width, Py_ssize_t n_bins, uint32_t *tables
) noexcept nogil:
    """Add rows with these projections to bins; behind the last bin of each table come those beyond all bins."""
    cdef int32_t bins[TILE]
    cdef Py_ssize_t i
    _find_bins(found, size, <double>begin, <double>width, <double>n_bins, bins)
    for i in range(size):
        tables[(i % TABLES) * (n_bins + 1) + bins[i]] += 1


cdef vectorised _find_bins(
    const double *found, Py_ssize_t size, double begin, double width, double n_bins, int32_t *bins
) noexcept nogil:
    """Write the bins of projections; that of those beyond all bins is behind the last."""
    cdef double inverse = 1.0 / width, x, b
    cdef Py_ssize_t i
    for i in range(size):
        x = found[i] - begin
        x = x if x >= 0.0 else n_bins * width
        x = x if x < n_bins * width else n_bins * width
        b = floor(x * inverse)
        b = b + 1.0 if x >= (b + 1.0) * width else b  # the quotient may be rounded across a whole number
        b = b - 1.0 if x < b * width else b
        bins[i] = <int32_t>b


cdef void _count_intervals(
    const double *found, Py_ssize_t size, int64_t begin, int64_t width, const int64_t[::1] shape, int64_t[::1] counts
) noexcept nogil:
    """Add rows that stand for intervals around these projections, part by part."""
    cdef int64_t n_bins = counts.shape[0], n_steps = shape.shape[0] - 1, step = width // _STEPS
    cdef int64_t half = step * n_steps // 2, low, first, last, b
    cdef Py_ssize_t i
    for i in range(size):
        low = <int64_t>found[i] - begin - half
        if low + 2 * half < 0:
            continue
        first, last = max(low, 0) // width, min(n_bins - 1, (low + 2 * half) // width)
        for b in range(first, last + 1):
            counts[b] += shape[_steps_below((b + 1) * width - low, step, n_steps)]
            counts[b] -= shape[_steps_below(b * width - low, step, n_steps)]


cdef inline int64_t _steps_below(int64_t edge, int64_t step, int64_t n_steps) noexcept nogil:
    """Return how many steps of a row's interval lie below an edge, which is so far above its lower end."""
    return 0 if edge <= 0 else min(edge // step, n_steps)


def cut_along(rows, order, starts, directions, thresholds, first, node):
    """Send the rows of every group to the nodes from its `first` on: each by how many thresholds of its group its projection has reached."""
    threshold_begins = np.cumsum([0, *map(len, thresholds)])
    limits = np.concatenate(thresholds).astype(np.float64)
    _cut(*_along(rows, directions), order, starts, limits, threshold_begins, np.array(first, dtype=np.int16), node)


def _cut(
    const int16_t[:, ::1] rows,
    const int16_t[:, ::1] directions,
    const int64_t[::1] offsets,
    const uint32_t[::1] order,
    const int64_t[::1] starts,
    const double[::1] thresholds,
    const int64_t[::1] threshold_begins,
    const int16_t[::1] first,
    int16_t[::1] node,
):
    cdef Py_ssize_t g, start, size, i, t
    cdef int64_t[::1] columns = _single_columns(directions)
    cdef double[::1] found = np.empty(TILE)
    cdef int16_t[::1] side = np.empty(TILE, dtype=np.int16)
    with nogil:
        for g in range(starts.shape[0] - 1):
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                if columns[g] >= 0:
                    _project_column(
                        &rows[0, columns[g]], rows.shape[1], &order[start], size, directions[g, columns[g]], offsets[g], &found[0]
                    )
                else:
                    _project(&rows[0, 0], rows.shape[1], &order[start], size, &directions[g, 0], offsets[g], &found[0])
                side[:size] = first[g]
                for t in range(threshold_begins[g], threshold_begins[g + 1]):
                    for i in range(size):
                        side[i] += found[i] >= thresholds[t]
                for i in range(size):
                    node[order[start + i]] = side[i]
