"""The kernels that read rows, compiled.

Rows are read in tiles that stay in the processor's cache; columns are contiguous. Integer sums do not
depend on the order of rows, so any division of the rows over calls gives the same result, bit for bit.
"""

import numpy as np

from dpmondrian.kernels.nearest import regroup
from dpmondrian.kernels.tiles import by_row, order_rows, padded

from libc.math cimport ceil, isfinite, rint, sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from dpmondrian.kernels.tiles cimport MIDDLE as OFF, absolute_distance, code_type, rest_type, squared_distance, vectorised, vectorised_by_row

__all__ = [
    "box_sums",
    "clipped_sums",
    "distance_counts",
    "histograms",
    "order_rows",
    "quantise",
    "regroup",
    "route",
]

ctypedef fused value_type:
    float
    double

cdef enum:
    TILE = 1024
    SMALL_TILE = 256  # rows of a tile where all columns of it are in use at once
    AT_ONCE = 8  # columns of a row: as many numbers as a line of the cache has
    GAP = 16  # cells that keep numbers apart which would else fall into the same part of the processor's cache
    ERROR = 0  # as in `reference`
    MIDDLE = 2


def quantise(
    const value_type[:, :] columns,
    const double[::1] lower,
    const double[::1] upper,
    const double[::1] origin,
    const double[::1] inverse_step,
    on_value,
    const int64_t[::1] last_place,
    const int64_t[::1] places_per_code,
    const double[::1] rest_step,
    int missing,
    code_type[:, ::1] codes,
    rest_type[:, ::1] rests,
    Py_ssize_t start,
):
    """Write the codes and rests of a block of rows; see `reference.quantise`."""
    cdef const uint8_t[::1] is_on_value = on_value.view(np.uint8)
    cdef Py_ssize_t n_columns = columns.shape[0], n_rows = columns.shape[1], first, size, j
    cdef double[:, ::1] tile = np.empty((n_columns, SMALL_TILE))
    with nogil:
        for first from 0 <= first < n_rows by SMALL_TILE:
            size = min(<Py_ssize_t>SMALL_TILE, n_rows - first)
            _copy_rows(columns, first, size, tile)
            if not _tile_is_finite(tile, size):
                if missing == ERROR:
                    start = -1
                    break
                size = _settle_missing(tile, size, lower, upper, missing)
            for j in range(n_columns):
                _to_places(&tile[j, 0], size, lower[j], upper[j], origin[j], inverse_step[j], is_on_value[j], <double>last_place[j])
                _write_codes(&tile[j, 0], size, 1.0 / <double>places_per_code[j], &codes[j, start])
                if j < rests.shape[0]:
                    _write_rests(&tile[j, 0], &codes[j, start], size, <double>places_per_code[j], 1.0 / rest_step[j], &rests[j, start])
            start += size
    return start


cdef void _copy_rows(const value_type[:, :] columns, Py_ssize_t first, Py_ssize_t size, double[:, ::1] tile) noexcept nogil:
    """Copy rows into a tile, in the order in which they lie in memory: some columns at a time, whose parts of the tile stay in the nearest cache."""
    cdef Py_ssize_t begin, i, j
    if columns.strides[0] < columns.strides[1]:
        for begin from 0 <= begin < tile.shape[0] by AT_ONCE:
            for i in range(size):
                for j in range(begin, min(begin + AT_ONCE, tile.shape[0])):
                    tile[j, i] = columns[j, first + i]
    else:
        for j in range(tile.shape[0]):
            for i in range(size):
                tile[j, i] = columns[j, first + i]


cdef bint _tile_is_finite(const double[:, ::1] tile, Py_ssize_t size) noexcept nogil:
    """Return whether no value of the first rows is NaN or infinite: on the bits, which the compiler turns into vector code."""
    cdef uint64_t exponent = 0x7FF0000000000000, found = 0
    cdef Py_ssize_t j
    for j in range(tile.shape[0]):
        _find_ones(<const uint64_t *>&tile[j, 0], size, exponent, &found)
    return found == 0


cdef vectorised _find_ones(const uint64_t *words, Py_ssize_t size, uint64_t mask, uint64_t *found) noexcept nogil:
    """Set a number to 1 if a word has all bits of a mask."""
    cdef Py_ssize_t i
    cdef uint64_t any_found = 0
    for i in range(size):
        any_found |= (words[i] & mask) == mask
    found[0] |= any_found


cdef Py_ssize_t _settle_missing(
    double[:, ::1] tile, Py_ssize_t size, const double[::1] lower, const double[::1] upper, int missing
) noexcept nogil:
    """Leave out the rows that miss a value (`DROP`) or put the middle in its place; return the number of rows left."""
    cdef Py_ssize_t i, j, kept = 0
    cdef bint lost
    for i in range(size):
        lost = False
        for j in range(tile.shape[0]):
            if isfinite(tile[j, i]):
                tile[j, kept] = tile[j, i]
            else:
                lost = True
                tile[j, kept] = (lower[j] + upper[j]) / 2
        kept += missing == MIDDLE or not lost
    return kept


cdef vectorised _to_places(
    double *values, Py_ssize_t size, double lower, double upper, double origin, double inverse_step, bint on_value, double last
) noexcept nogil:
    """Put the places of values in their stead."""
    cdef Py_ssize_t i
    cdef double x
    for i in range(size):
        x = values[i]
        x = lower if x < lower else x
        values[i] = upper if x > upper else x
    if on_value:
        for i in range(size):
            values[i] = rint(values[i] - origin) * inverse_step
    else:
        for i in range(size):
            values[i] = ceil((values[i] - origin) * inverse_step) - 1.0
    for i in range(size):
        x = values[i]
        x = 0.0 if x < 0.0 else x
        values[i] = last if x > last else x


# Products with inverses stand for quotients: the halves keep them away from whole numbers, so rounding cannot matter.


cdef vectorised _write_codes(const double *places, Py_ssize_t size, double inverse_width, code_type *codes) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        codes[i] = <code_type><int32_t>((places[i] + 0.5) * inverse_width)


cdef vectorised _write_rests(
    const double *places, const code_type *codes, Py_ssize_t size, double width, double inverse_rest, rest_type *rests
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        rests[i] = <rest_type><int32_t>((places[i] - codes[i] * width) * inverse_rest + 0.5)


def route(
    const code_type[:, ::1] codes,
    int16_t[::1] node,
    const int64_t[::1] split_column,
    const int64_t[::1] cut,
    const int16_t[::1] left,
    const int16_t[::1] right,
):
    """Move each row to the child on its side; see `reference.route`.

    Without a branch per row: a node that stays has itself as both children. Numbers without signs make shorter code.
    """
    cdef Py_ssize_t n_rows = node.shape[0], n_nodes = split_column.shape[0], i, k
    cdef uint64_t[::1] first = np.zeros(n_nodes, dtype=np.uint64), limit = np.zeros(n_nodes, dtype=np.uint64)
    cdef int16_t[::1] child = np.empty(2 * n_nodes, dtype=np.int16)
    cdef const code_type *code
    cdef uint64_t parent
    cdef bint stays
    if n_rows == 0:
        return
    with nogil:
        code = &codes[0, 0]
        for k in range(n_nodes):
            stays = split_column[k] < 0
            first[k] = 0 if stays else split_column[k] * n_rows
            limit[k] = cut[k]
            child[2 * k] = k if stays else left[k]
            child[2 * k + 1] = k if stays else right[k]
        for i in range(n_rows):
            parent = <uint16_t>node[i]
            node[i] = child[2 * parent + (code[first[parent] + i] >= limit[parent])]


def histograms(
    const code_type[:, ::1] codes, const int16_t[::1] node, const int16_t[::1] slot_of, int64_t[:, :, ::1] counts
):
    """Add the number of rows per slot, column and code; see `reference.histograms`.

    Rows are counted in small tables, which stay in the processor's cache. Where most of their cells would stay empty, rows
    are counted where they belong, slot by slot. A gap between the slots of a table keeps equal codes of different slots
    apart in the cache.
    """
    cdef Py_ssize_t n_slots = counts.shape[0], n_columns = counts.shape[1], n_codes = counts.shape[2]
    cdef Py_ssize_t width = n_codes + GAP, n_kept = 0, first, last, j, s, c
    if n_slots * n_codes > node.shape[0]:
        ordered, starts = order_rows(node, slot_of, n_slots)
        _count_slots(codes, ordered, starts, counts)
        return
    cdef uint32_t[::1] row = np.empty(node.shape[0], dtype=np.uint32), cell = np.empty(node.shape[0], dtype=np.uint32)
    cdef uint32_t[:, ::1] tables = np.empty((2, n_slots * width), dtype=np.uint32)
    with nogil:
        n_kept = _find_cells(node, slot_of, n_slots, width, row, cell)
        for first from 0 <= first < n_columns by 2:
            last = min(first + 1, n_columns - 1)
            memset(&tables[0, 0], 0, 2 * n_slots * width * sizeof(uint32_t))
            _count_two(&codes[first, 0], &codes[last, 0], row, cell, n_kept, &tables[0, 0], &tables[1, 0])
            for j in range(first, last + 1):
                for s in range(n_slots):
                    for c in range(n_codes):
                        counts[s, j, c] += tables[j - first, s * width + c]


def _count_slots(
    const code_type[:, ::1] codes, const uint32_t[::1] order, const int64_t[:] starts, int64_t[:, :, ::1] counts
):
    """Add 1 for each row in the place of its code, slot by slot."""
    cdef Py_ssize_t i, j, s
    with nogil:
        for j in range(counts.shape[1]):
            for s in range(counts.shape[0]):
                for i in range(starts[s], starts[s + 1]):
                    counts[s, j, codes[j, order[i]]] += 1


cdef Py_ssize_t _find_cells(
    const int16_t[::1] node, const int16_t[::1] slot_of, uint32_t n_slots, uint32_t width, uint32_t[::1] row, uint32_t[::1] cell
) noexcept nogil:
    """Write the rows that take part and where the cells of their slots begin in a table; return how many they are."""
    cdef Py_ssize_t i, n_kept = 0
    cdef uint32_t slot
    for i in range(node.shape[0]):
        slot = <uint16_t>slot_of[<uint16_t>node[i]]
        row[n_kept] = <uint32_t>i
        cell[n_kept] = slot * width
        n_kept += slot < n_slots
    return n_kept


cdef void _count_two(
    const code_type *column_a,
    const code_type *column_b,
    const uint32_t[::1] row,
    const uint32_t[::1] cell,
    Py_ssize_t n_kept,
    uint32_t *table_a,
    uint32_t *table_b,
) noexcept nogil:
    """Add 1 for each row in the places of its codes behind its cell; two columns at once read rows and cells once."""
    cdef Py_ssize_t i
    for i in range(n_kept):
        table_a[cell[i] + column_a[row[i]]] += 1
        table_b[cell[i] + column_b[row[i]]] += 1


def box_sums(rows, const uint32_t[::1] order, const int64_t[:] starts, const int64_t[:, :] middle, int64_t[:, :] sums):
    """Add per group the sum of ``place - middle``; see `reference.box_sums`."""
    cdef const int16_t[:, ::1] row = by_row(rows)
    cdef int32_t[::1] total = np.empty(row.shape[1], dtype=np.int32)
    cdef Py_ssize_t start, size, g, j
    with nogil:
        for g in range(middle.shape[0]):
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                _add_rows(&row[0, 0], row.shape[1], &order[start], size, &total[0])
                for j in range(middle.shape[1]):
                    sums[g, j] += total[j] + size * (OFF - middle[g, j])


cdef vectorised _add_rows(const int16_t *rows, Py_ssize_t n_cells, const uint32_t *order, Py_ssize_t size, int32_t *total) noexcept nogil:
    """Write the sum of the rows of a tile."""
    cdef Py_ssize_t i, j
    for j in range(n_cells):
        total[j] = 0
    for i in range(size):
        for j in range(n_cells):
            total[j] += rows[order[i] * n_cells + j]


def _centred(rows, columns, centre):
    """Return rows, centres as rows are, and which of their cells count."""
    rows = by_row(rows)
    points, is_used = np.zeros((len(centre), rows.shape[1]), dtype=np.int64), np.zeros(rows.shape[1], dtype=np.int16)
    points[:, columns] = np.asarray(centre) - OFF
    is_used[columns] = -1
    return rows, padded(points, rows.shape[1]), is_used


cdef vectorised_by_row _lengths(
    const int16_t *rows, Py_ssize_t n_cells, const uint32_t *order, Py_ssize_t size, const int16_t *centre, const int16_t *is_used, int norm,
    double *length,
) noexcept nogil:  # fmt: skip
    """Write squared L2 or L1 lengths of the displacements of the rows of a tile from a centre."""
    cdef Py_ssize_t i
    if norm == 2:
        for i in range(size):
            length[i] = <double>squared_distance(rows + order[i] * n_cells, centre, is_used, n_cells)
    else:
        for i in range(size):
            length[i] = <double>absolute_distance(rows + order[i] * n_cells, centre, is_used, n_cells)


def distance_counts(
    rows, columns, const uint32_t[::1] order, const int64_t[:] starts, centre, const int64_t[:] thresholds, int norm, int64_t[:] counts
):
    """Add how many rows first fit within each threshold; see `reference.distance_counts`."""
    all_rows, centres, used = _centred(rows, columns, centre)
    cdef const int16_t[:, ::1] row = all_rows, points = centres
    cdef const int16_t[::1] is_used = used
    cdef double[::1] length = np.empty(TILE)
    cdef int64_t[::1] within = np.zeros(thresholds.shape[0] + 1, dtype=np.int64)
    cdef Py_ssize_t start, size, g, k
    with nogil:
        for g in range(points.shape[0]):
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                _lengths(&row[0, 0], row.shape[1], &order[start], size, &points[g, 0], &is_used[0], norm, &length[0])
                _add_within(&length[0], size, thresholds, within)
        counts[0] += within[0]
        for k in range(thresholds.shape[0]):
            counts[k + 1] += within[k + 1] - within[k]


cdef void _add_within(const double *lengths, Py_ssize_t size, const int64_t[:] limits, int64_t[::1] within) noexcept nogil:
    """Add how many lengths are within each limit, and at last how many there are.

    Counting against one limit after the other takes no branches, so it beats a search per row.
    """
    cdef int64_t held = 0
    cdef Py_ssize_t k
    for k in range(limits.shape[0]):
        if held < size:
            _count_within(lengths, size, <double>limits[k], &held)
        within[k] += held
    within[limits.shape[0]] += size


cdef vectorised _count_within(const double *lengths, Py_ssize_t size, double limit, int64_t *held) noexcept nogil:
    cdef int64_t found = 0
    cdef Py_ssize_t i
    for i in range(size):
        found += lengths[i] <= limit
    held[0] = found


def clipped_sums(
    rows, const int64_t[:] columns, const uint32_t[::1] order, const int64_t[:] starts, const int64_t[:, :] centre, const int64_t[:] radius,
    int norm, int64_t[:, :] sums,
):  # fmt: skip
    """Add per group the sum of shortened displacements; see `reference.clipped_sums`."""
    all_rows, centres, used = _centred(rows, columns, centre)
    cdef const int16_t[:, ::1] row = all_rows, points = centres
    cdef const int16_t[::1] is_used = used
    cdef Py_ssize_t n_columns = centre.shape[1], start, size, i, j, g
    cdef int32_t[::1] whole = np.empty(row.shape[1], dtype=np.int32)
    cdef double[::1] length = np.empty(TILE)
    cdef int64_t[::1] short = np.empty(n_columns, dtype=np.int64)
    cdef int64_t limit
    with nogil:
        for g in range(centre.shape[0]):
            limit = radius[g] * radius[g] if norm == 2 else radius[g]
            for start from starts[g] <= start < starts[g + 1] by TILE:
                size = min(<int64_t>TILE, starts[g + 1] - start)
                _lengths(&row[0, 0], row.shape[1], &order[start], size, &points[g, 0], &is_used[0], norm, &length[0])
                _add_rows(&row[0, 0], row.shape[1], &order[start], size, &whole[0])
                for j in range(n_columns):
                    sums[g, j] += whole[columns[j]] + size * (OFF - centre[g, j])
                for i in range(size):
                    if length[i] > limit:  # put the shortened displacement in the place of the full one
                        for j in range(n_columns):
                            short[j] = row[order[start + i], columns[j]] + OFF - centre[g, j]
                            sums[g, j] -= short[j]
                        _shorten(short, length[i], radius[g], limit, norm)
                        for j in range(n_columns):
                            sums[g, j] += short[j]


cdef void _shorten(int64_t[::1] displacement, double length, int64_t radius, int64_t limit, int norm) noexcept nogil:
    """Scale a displacement in place, towards zero, until its integer length is within the limit."""
    cdef double factor = <double>radius / (sqrt(length) if norm == 2 else length)
    cdef int64_t now
    cdef Py_ssize_t j
    for j in range(displacement.shape[0]):
        displacement[j] = <int64_t>(<double>displacement[j] * factor)
    while True:
        now = 0
        for j in range(displacement.shape[0]):
            now += displacement[j] * displacement[j] if norm == 2 else max(displacement[j], -displacement[j])
        if now <= limit:
            return
        for j in range(displacement.shape[0]):
            displacement[j] -= (displacement[j] > 0) - (displacement[j] < 0)
