# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The kernels compiled with numba; machine code is cached on disk beside this file.

Rows are read in tiles that stay in the processor's cache; columns are contiguous. Integer sums do not
depend on the order of rows, so any division of the rows over calls gives the same result, bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpmondrian.kernels.nearest import bridge_counts, regroup, silhouettes
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE
from dpmondrian.kernels.tiles import decode, fill_tile, order_rows, places_of, squared_distances

__all__ = [
    "box_sums",
    "bridge_counts",
    "clipped_sums",
    "cut_scores",
    "first_cut",
    "histograms",
    "nearest_centre",
    "order_rows",
    "quantise",
    "radius_counts",
    "regroup",
    "route",
    "silhouettes",
    "valley_scores",
]

_TILE = 1024
_SMALL_TILE = 256
"""Rows of a tile where all columns of it are in use at once."""
_GAP = 16
"""Cells that keep numbers apart which would else fall into the same part of the processor's cache."""


@njit(nogil=True, cache=True)
def _all_finite(block):
    """Return whether no value is NaN or infinite: on the bits, which the compiler turns into vector code."""
    exponent = np.int64(0x7FF0000000000000)
    bits = block.reshape(-1).view(np.int64)
    found = np.int64(0)
    for i in range(bits.shape[0]):
        found |= np.int64((bits[i] & exponent) == exponent)
    return found == 0


@njit(nogil=True, cache=True)
def _with_middles(block, lower, upper):
    """Return rows with the middle in the place of missing values."""
    whole = np.empty_like(block)
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            whole[i, j] = block[i, j] if math.isfinite(block[i, j]) else (lower[j] + upper[j]) / 2
    return whole


@njit(nogil=True, cache=True)
def quantise(
    columns, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, rest_step, missing, codes, rests, start
):  # fmt: skip
    """Write the codes and rests of a block of rows; see `reference.quantise`."""
    n_columns, n_rows = columns.shape
    tile = np.empty((n_columns, _SMALL_TILE))
    for first in range(0, n_rows, _SMALL_TILE):
        size = min(_SMALL_TILE, n_rows - first)
        for j in range(n_columns):
            for i in range(size):
                tile[j, i] = columns[j, first + i]
        if not _tile_is_finite(tile, size):
            if missing == ERROR:
                return -1
            size = _settle_missing(tile, size, lower, upper, missing)
        for j in range(n_columns):
            _to_places(tile[j, :size], lower[j], upper[j], origin[j], inverse_step[j], on_value[j], last_place[j])
            kept = rests[j, start : start + size] if j < rests.shape[0] else rests[0:0].reshape(-1)
            _split_places(tile[j, :size], places_per_code[j], rest_step[j], codes[j, start : start + size], kept)
        start += size
    return start


@njit(nogil=True, cache=True)
def _tile_is_finite(tile, size):
    """Return whether no value of the first rows is NaN or infinite; see `_all_finite`."""
    exponent = np.int64(0x7FF0000000000000)
    found = np.int64(0)
    for j in range(tile.shape[0]):
        bits = tile[j].view(np.int64)
        for i in range(size):
            found |= np.int64((bits[i] & exponent) == exponent)
    return found == 0


@njit(nogil=True, cache=True)
def _settle_missing(tile, size, lower, upper, missing):
    """Leave out the rows that miss a value (`DROP`) or put the middle in its place; return the number of rows left."""
    kept = 0
    for i in range(size):
        lost = False
        for j in range(tile.shape[0]):
            finite = math.isfinite(tile[j, i])
            lost |= not finite
            tile[j, kept] = tile[j, i] if finite else (lower[j] + upper[j]) / 2
        kept += 1 if missing == MIDDLE or not lost else 0
    return kept


@njit(nogil=True, cache=True)
def _to_places(values, lower, upper, origin, inverse_step, on_value, last_place):
    """Put the places of values in their stead, in a short loop that becomes vector code."""
    last = np.float64(last_place)
    for i in range(values.shape[0]):
        x = values[i]
        x = lower if x < lower else x
        x = upper if x > upper else x
        if on_value:
            place = np.rint(x - origin) * inverse_step
        else:
            place = np.ceil((x - origin) * inverse_step) - 1.0
        place = 0.0 if place < 0.0 else place
        values[i] = last if place > last else place


@njit(nogil=True, cache=True)
def _split_places(places, places_per_code, rest_step, codes, rests):
    """Write the codes of places, and as many rests as are kept.

    Products with inverses stand for quotients: the halves keep them away from whole numbers, so rounding cannot matter.
    """
    inverse_width, inverse_rest = 1.0 / places_per_code, 1.0 / rest_step
    for i in range(codes.shape[0]):
        codes[i] = np.int32((places[i] + 0.5) * inverse_width)
    for i in range(rests.shape[0]):
        rests[i] = np.int32((places[i] - np.float64(codes[i]) * places_per_code) * inverse_rest + 0.5)


@njit(nogil=True, cache=True)
def route(codes, node, split_column, cut, left, right):
    """Move each row to the child on its side; see `reference.route`.

    Without a branch per row: a node that stays has itself as both children. Numbers without signs make shorter code.
    """
    n_rows, n_nodes = node.shape[0], split_column.shape[0]
    all_codes = codes.reshape(-1)
    first = np.zeros(n_nodes, dtype=np.uint64)
    limit = np.zeros(n_nodes, dtype=np.uint64)
    child = np.empty(2 * n_nodes, dtype=node.dtype)
    for k in range(n_nodes):
        stays = split_column[k] < 0
        first[k] = 0 if stays else split_column[k] * n_rows
        limit[k] = cut[k]
        child[2 * k] = k if stays else left[k]
        child[2 * k + 1] = k if stays else right[k]
    for i in range(n_rows):
        parent = np.uint64(node[i])
        side = np.uint64(all_codes[first[parent] + np.uint64(i)] >= limit[parent])
        node[i] = child[parent + parent + side]


@njit(nogil=True, cache=True)
def histograms(codes, node, slot_of, counts):
    """Add the number of rows per slot, column and code; see `reference.histograms`.

    Rows are counted in small tables, which stay in the processor's cache. Where most of their cells would stay empty, rows
    are counted where they belong, slot by slot. A gap between the slots of a table keeps equal codes of different slots
    apart in the cache.
    """
    n_slots, n_columns, n_codes = counts.shape
    if n_slots * n_codes > node.shape[0]:
        order, starts = order_rows(node, slot_of, n_slots)
        for j in range(n_columns):
            for s in range(n_slots):
                _count_slot(codes[j], order[starts[s] : starts[s + 1]], counts[s, j])
        return
    width = n_codes + _GAP
    row, cell = _rows_and_cells(node, slot_of, n_slots, width)
    tables = np.empty((2, n_slots * width), dtype=np.uint32)
    for first in range(0, n_columns, 2):
        last = min(first + 1, n_columns - 1)
        tables[:] = 0
        _count_two(codes[first], codes[last], row, cell, tables[0], tables[1])
        for j in range(first, last + 1):
            for s in range(n_slots):
                for c in range(n_codes):
                    counts[s, j, c] += tables[j - first, s * width + c]


@njit(nogil=True, cache=True)
def _rows_and_cells(node, slot_of, n_slots, width):
    """Return the rows that take part, and where the cells of their slots begin in a table."""
    row, cell = np.empty(node.shape[0], dtype=np.uint32), np.empty(node.shape[0], dtype=np.uint32)
    n_kept = np.uint64(0)
    for i in range(node.shape[0]):
        slot = np.uint32(slot_of[np.uint16(node[i])])
        row[n_kept], cell[n_kept] = i, slot * np.uint32(width)
        n_kept += np.uint64(slot < np.uint32(n_slots))
    return row[:n_kept], cell[:n_kept]


@njit(nogil=True, cache=True)
def _count_slot(column, row, counts):
    """Add 1 for each row in the place of its code."""
    for i in range(row.shape[0]):
        counts[column[row[i]]] += 1


@njit(nogil=True, cache=True)
def _count_two(column_a, column_b, row, cell, table_a, table_b):
    """Add 1 for each row in the places of its codes behind its cell; two columns at once read rows and cells once."""
    for i in range(row.shape[0]):
        r, begin = row[i], np.uint64(cell[i])
        table_a[begin + column_a[r]] += np.uint32(1)
        table_b[begin + column_b[r]] += np.uint32(1)


@njit(nogil=True, cache=True)
def cut_scores(histograms, low, high, stride, noisy_counts, two_sided, slopes, starts, cap, weight):
    """Return the scores of the cuts of all nodes in turn, where each node and column begins, and the nodes' rows.

    The scores are those of `scoring.combine.Score.of_histogram`. `low` and `high` are the nodes' boxes, shape
    (n_nodes, n_columns); `slopes` the outer and inner slope of centreness, `starts` where its inner branch starts.
    The cuts of a column are ``first_cut(low), first_cut(low) + stride, ...`` below `high`.
    """
    n_nodes, n_columns, _ = histograms.shape
    outer, inner = slopes
    begin = np.zeros((n_nodes, n_columns + 1), dtype=np.int64)
    n_cuts = 0
    for k in range(n_nodes):
        begin[k, 0] = n_cuts
        for j in range(n_columns):
            n_cuts += max(0, -(-(high[k, j] - first_cut(low[k, j], stride)) // stride))
            begin[k, j + 1] = n_cuts
    scores = np.empty(n_cuts, dtype=np.int64)
    totals = np.empty(n_nodes, dtype=np.int64)
    for k in range(n_nodes):
        totals[k] = histograms[k, 0].sum()
        whole_count = totals[k] if two_sided else noisy_counts[k]
        top = cap * noisy_counts[k]
        for j in range(n_columns):
            histogram = histograms[k, j]
            position, c = begin[k, j], first_cut(low[k, j], stride)
            rows_below = histogram[: c - 1].sum()
            while position < begin[k, j + 1]:
                rows_below += histogram[c - 1]
                side = min(rows_below, whole_count - rows_below)
                central = min(outer * side, starts[k] + inner * side, top)
                scores[position] = central + weight * (noisy_counts[k] - histogram[c - 1] - histogram[c])
                if stride == 2:
                    rows_below += histogram[c]
                position += 1
                c += stride
    return scores, begin, totals


@njit(nogil=True, cache=True)
def valley_scores(
    histograms,
    low,
    high,
    n_codes,
    columns,
    widths,
    noisy_counts,
    peak_weight,
    valley_weight,
    outer,
    inner,
    starts,
    caps,
):
    """Return the scores of the cuts of all nodes in turn, their columns and cuts, the nodes' begins, and the nodes' rows.

    `columns` and `widths` list the windows' columns and widths in codes; per entry `outer`, `inner`, `starts` (per row of
    the noisy count) and `caps` (likewise) are the weighted centreness. Windows begin every half width. The last one may
    reach beyond the last code, where there are no rows.
    """
    n_nodes = histograms.shape[0]
    most = 0
    for e in range(columns.shape[0]):
        most += 2 * n_codes[columns[e]] // widths[e] + 2
    scores = np.empty(n_nodes * most, dtype=np.int64)
    column_of = np.empty(n_nodes * most, dtype=np.int32)
    cut_of = np.empty(n_nodes * most, dtype=np.int32)
    begin = np.zeros(n_nodes + 1, dtype=np.int64)
    totals = np.empty(n_nodes, dtype=np.int64)
    below = np.zeros(histograms.shape[2] + 1, dtype=np.int64)
    window = np.zeros(histograms.shape[2] + 2, dtype=np.int64)
    right_peak = np.zeros(histograms.shape[2] + 2, dtype=np.int64)
    position = 0
    for k in range(n_nodes):
        totals[k] = histograms[k, 0].sum()
        last_column = -1
        for e in range(columns.shape[0]):
            j, half = columns[e], widths[e] // 2
            if j != last_column:
                for c in range(n_codes[j]):
                    below[c + 1] = below[c] + histograms[k, j, c]
                last_column = j
            n_windows = -(-n_codes[j] // half) - 1
            for s in range(n_windows - 1):
                window[s] = below[(s + 2) * half] - below[s * half]
            if n_windows > 0:
                window[n_windows - 1] = totals[k] - below[(n_windows - 1) * half]
            right_peak[n_windows] = 0
            for s in range(n_windows - 1, -1, -1):
                right_peak[s] = max(right_peak[s + 1], window[s])
            start, cap = np.int64(np.rint(starts[e] * noisy_counts[k])), caps[e] * noisy_counts[k]
            # The cuts (s + 1) * half that lie inside the box.
            first, last = low[k, j] // half, min(n_windows, -(-high[k, j] // half) - 1)
            left_peak = np.int64(0)
            for s in range(first - 1):
                left_peak = max(left_peak, window[s])
            for s in range(first, last):
                # Windows that do not overlap this one; beside the bounds the part of one that is left.
                if s >= 2:
                    left_peak = max(left_peak, window[s - 2])
                peak_left = left_peak if s >= 2 else below[s * half]
                peak_right = right_peak[s + 2] if s + 2 < n_windows else totals[k] - below[s * half] - window[s]
                cut = (s + 1) * half
                side = min(below[cut], totals[k] - below[cut])
                central = min(outer[e] * side, start + inner[e] * side, cap)
                scores[position] = peak_weight * min(peak_left, peak_right) - valley_weight * window[s] + central
                column_of[position], cut_of[position] = j, cut
                position += 1
        begin[k + 1] = position
    return scores[:position], column_of[:position], cut_of[:position], begin, totals


@njit(nogil=True, cache=True)
def first_cut(low, stride):
    """Return the first cut above the lower end of a box; cuts are at 1, 1 + stride, ..."""
    return 1 + stride * ((low + stride - 1) // stride)


@njit(nogil=True, cache=True)
def box_sums(rows, order, starts, middle, sums):
    """Add per group the sum of ``place - middle``; see `reference.box_sums`."""
    column = np.empty(rows[1].shape[1], dtype=np.uint16)
    for j in range(middle.shape[1]):
        decode(rows, j, column)
        for g in range(middle.shape[0]):
            group = order[starts[g] : starts[g + 1]]
            total = np.int64(0)
            for i in range(group.shape[0]):
                total += np.int64(column[group[i]])
            sums[g, j] += total - group.shape[0] * middle[g, j]


@njit(nogil=True, cache=True)
def _lengths(tile, size, point, norm, length):
    """Write squared L2 or L1 lengths of the displacements of the rows of a tile from a point."""
    if norm == 2:
        squared_distances(tile, size, point, length)
        return
    length[:size] = 0.0
    for j in range(tile.shape[0]):
        centre, column = point[j], tile[j]
        for i in range(size):
            length[i] += abs(column[i] - centre)


def radius_counts(rows, columns, order, starts, centre, thresholds, norm, counts):
    """Add how many rows first fit within each threshold; see `reference.radius_counts`."""
    _radius_counts(places_of(rows, columns, order), starts, centre, thresholds, norm, counts)


@njit(nogil=True, cache=True)
def _radius_counts(places, starts, centre, thresholds, norm, counts):
    """Add the counts of `radius_counts`, from rows group by group."""
    n_groups, n_radii = thresholds.shape
    within = np.zeros(n_radii + 1, dtype=np.int64)
    tile, length = np.empty((places.shape[0], _TILE)), np.empty(_TILE)
    for g in range(n_groups):
        limits, point = thresholds[g].astype(np.float64), centre[g].astype(np.float64)
        for start in range(starts[g], starts[g + 1], _TILE):
            size = min(_TILE, starts[g + 1] - start)
            fill_tile(places, start, size, tile)
            _lengths(tile, size, point, norm, length)
            _add_within(length[:size], limits, within)
    counts[0] += within[0]
    for k in range(n_radii):
        counts[k + 1] += within[k + 1] - within[k]


@njit(nogil=True, cache=True)
def _add_within(lengths, limits, within):
    """Add how many lengths are within each limit, and at last how many there are.

    Counting against one limit after the other takes no branches, so it beats a search per row.
    """
    held = 0
    for k in range(limits.shape[0]):
        if held < lengths.shape[0]:
            held = 0
            for i in range(lengths.shape[0]):
                held += lengths[i] <= limits[k]
        within[k] += held
    within[limits.shape[0]] += lengths.shape[0]


def clipped_sums(rows, columns, order, starts, centre, radius, norm, sums):
    """Add per group the sum of shortened displacements; see `reference.clipped_sums`."""
    _clipped_sums(places_of(rows, columns, order), starts, centre, radius, norm, sums)


@njit(nogil=True, cache=True)
def _clipped_sums(places, starts, centre, radius, norm, sums):
    """Add the sums of `clipped_sums`, from rows group by group."""
    n_groups, n_columns = centre.shape
    tile, length = np.empty((n_columns, _TILE + _GAP)), np.empty(_TILE)
    short = np.empty(n_columns, dtype=np.int64)
    for g in range(n_groups):
        limit, point = (radius[g] * radius[g] if norm == 2 else radius[g]), centre[g].astype(np.float64)
        for start in range(starts[g], starts[g + 1], _TILE):
            size = min(_TILE, starts[g + 1] - start)
            fill_tile(places, start, size, tile)
            _lengths(tile, size, point, norm, length)
            for j in range(n_columns):
                column, total = places[j, start : start + size], np.int64(0)
                for i in range(size):
                    total += np.int64(column[i])
                sums[g, j] += total - size * centre[g, j]
            for i in range(size):
                if length[i] > limit:  # put the shortened displacement in the place of the full one
                    for j in range(n_columns):
                        short[j] = np.int64(tile[j, i]) - centre[g, j]
                        sums[g, j] -= short[j]
                    _shorten(short, length[i], radius[g], limit, norm)
                    for j in range(n_columns):
                        sums[g, j] += short[j]


@njit(nogil=True, cache=True)
def _shorten(displacement, length, radius, limit, norm):
    """Scale a displacement in place, towards zero, until its integer length is within the limit."""
    factor = radius / (math.sqrt(length) if norm == 2 else length)
    for j in range(displacement.shape[0]):
        displacement[j] = np.int64(displacement[j] * factor)
    while True:
        now = np.int64(0)
        for j in range(displacement.shape[0]):
            now += displacement[j] * displacement[j] if norm == 2 else abs(displacement[j])
        if now <= limit:
            return
        for j in range(displacement.shape[0]):
            displacement[j] -= np.sign(displacement[j])


@njit(nogil=True, cache=True)
def _nearest_in_tile(tile, size, centres, weights, best, best_distance):
    """Improve the best centre of each of `size` points, which are the columns of `tile`; ties go to the lower number.

    Distances are added up column by column for all points at once, which the compiler turns into vector code.
    """
    distance = np.empty(size)
    for c in range(centres.shape[0]):
        distance[:] = 0.0
        for j in range(tile.shape[0]):
            centre, weight, column = centres[c, j], weights[j], tile[j]
            for i in range(size):
                d = (column[i] - centre) * weight
                distance[i] += d * d
        for i in range(size):
            if distance[i] < best_distance[i] or (distance[i] == best_distance[i] and c < best[i]):
                best[i], best_distance[i] = c, distance[i]


@njit(nogil=True, cache=True)
def nearest_centre(block, lower, upper, missing, centres, weights, half_gap, node, cluster_of_node, labels, start):
    """Write the index of the nearest centre of each clipped row; see `reference.nearest_centre`.

    A row closer to its node's centre than half of that centre's distance to all others needs no search. The
    others are collected in tiles, which are searched together.
    """
    n_rows, n_columns = block.shape
    all_finite = _all_finite(block)
    if not all_finite and missing == ERROR:
        return False
    if not all_finite:
        lost = np.zeros(n_rows, dtype=np.bool_)
        for i in range(n_rows):
            for j in range(n_columns):
                lost[i] |= not math.isfinite(block[i, j])
        block = _with_middles(block, lower, upper)
    tile, row = np.empty((n_columns, _TILE)), np.empty(_TILE, dtype=np.int64)
    best, best_distance = np.empty(_TILE, dtype=np.int64), np.empty(_TILE)
    size = 0
    for i in range(n_rows):
        guess = cluster_of_node[node[start + i]] if node.shape[0] else 0
        distance = _distance(block, i, lower, upper, centres, guess, weights)
        labels[start + i] = guess
        if math.sqrt(distance) >= half_gap[guess]:
            for j in range(n_columns):
                tile[j, size] = min(max(block[i, j], lower[j]), upper[j])
            row[size], best[size], best_distance[size] = i, guess, distance
            size += 1
        if size == _TILE or i == n_rows - 1:
            _nearest_in_tile(tile, size, centres, weights, best, best_distance)
            for t in range(size):
                labels[start + row[t]] = best[t]
            size = 0
    if not all_finite and missing == DROP:
        for i in range(n_rows):
            if lost[i]:
                labels[start + i] = -1
    return True


@njit(nogil=True, cache=True)
def _distance(block, i, lower, upper, centres, c, weights):
    """Return the squared weighted distance of the clipped row i to centre c."""
    total = 0.0
    for j in range(block.shape[1]):
        x = block[i, j]
        x = lower[j] if x < lower[j] else x
        x = upper[j] if x > upper[j] else x
        d = (x - centres[c, j]) * weights[j]
        total += d * d
    return total
