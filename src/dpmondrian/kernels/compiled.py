# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The kernels compiled with numba; machine code is cached on disk beside this file.

Rows are read in tiles that stay in the processor's cache; columns are contiguous. Integer sums do not
depend on the order of rows, so any division of the rows over calls gives the same result, bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE

__all__ = [
    "box_sums",
    "bridge_counts",
    "clipped_sums",
    "cut_scores",
    "first_cut",
    "group_rows",
    "histograms",
    "nearest_centre",
    "quantise",
    "radius_counts",
    "regroup",
    "route",
    "silhouettes",
    "valley_scores",
]

_TILE = 1024


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
def _without_missing(block, lower, upper, missing):
    """Return the rows to keep: without those that miss a value (`DROP`), or with the middle in its place."""
    kept = np.empty_like(block)
    size = 0
    for i in range(block.shape[0]):
        lost = False
        for j in range(block.shape[1]):
            finite = math.isfinite(block[i, j])
            lost |= not finite
            kept[size, j] = block[i, j] if finite else (lower[j] + upper[j]) / 2
        size += 1 if missing == MIDDLE or not lost else 0
    return kept[:size]


@njit(nogil=True, cache=True)
def quantise(
    block, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, missing, places, codes, start
):
    """Write the places and codes of a block of rows; see `reference.quantise`."""
    if not _all_finite(block):
        if missing == ERROR:
            return -1
        block = _without_missing(block, lower, upper, missing)
    n_rows, n_columns = block.shape
    for first in range(0, n_rows, _TILE):
        last = min(first + _TILE, n_rows)
        for j in range(n_columns):
            kept = places[j, start + first : start + last] if j < places.shape[0] else places[0, 0:0]
            _quantise_column(
                block[first:last, j], lower[j], upper[j], origin[j], inverse_step[j], on_value[j], np.float64(last_place[j]),
                1.0 / places_per_code[j], kept, codes[j, start + first : start + last],
            )  # fmt: skip
    return start + n_rows


@njit(nogil=True, cache=True)
def _quantise_column(values, lower, upper, origin, inverse_step, on_value, last_place, inverse_width, places, codes):
    """Write codes and as many places as are kept of one column of a tile, in short loops that become vector code."""
    whole_places = np.empty(values.shape[0], dtype=np.int32)
    for i in range(values.shape[0]):
        x = values[i]
        x = lower if x < lower else x
        x = upper if x > upper else x
        if on_value:
            place = np.rint(x - origin) * inverse_step
        else:
            place = np.ceil((x - origin) * inverse_step) - 1.0
        place = 0.0 if place < 0.0 else place
        whole_places[i] = np.int32(last_place if place > last_place else place)
    for i in range(places.shape[0]):
        places[i] = whole_places[i]
    for i in range(values.shape[0]):
        # Equals place // width: the half keeps the quotient away from whole numbers, so rounding cannot matter.
        codes[i] = np.int32((np.float64(whole_places[i]) + 0.5) * inverse_width)


@njit(nogil=True, cache=True)
def route(codes, node, split_column, cut, left, right):
    """Move each row to the child on its side; see `reference.route`.

    Without a branch per row: a node that stays has itself as both children.
    """
    n_nodes = split_column.shape[0]
    column = np.zeros(n_nodes, dtype=np.int64)
    limit = np.zeros(n_nodes, dtype=np.int64)
    child = np.empty(2 * n_nodes, dtype=node.dtype)
    for k in range(n_nodes):
        stays = split_column[k] < 0
        column[k] = 0 if stays else split_column[k]
        limit[k] = cut[k]
        child[2 * k] = k if stays else left[k]
        child[2 * k + 1] = k if stays else right[k]
    for i in range(node.shape[0]):
        parent = np.int64(node[i])
        side = np.int64(codes[column[parent], i] >= limit[parent])
        node[i] = child[2 * parent + side]


@njit(nogil=True, cache=True)
def histograms(codes, node, slot_of, n_slots, n_codes):
    """Return the number of rows per slot, column and code; see `reference.histograms`."""
    n_columns, n_rows = codes.shape
    counts = np.zeros((n_slots, n_columns, n_codes), dtype=np.int64)
    table = np.zeros((n_slots + 1) * n_codes, dtype=np.uint32)
    offset = np.empty(n_rows, dtype=np.uint32)
    for i in range(n_rows):
        offset[i] = np.uint32(slot_of[node[i]]) * np.uint32(n_codes)
    for j in range(n_columns):
        table[:] = 0
        column = codes[j]
        for i in range(n_rows):
            table[offset[i] + column[i]] += np.uint32(1)
        for s in range(n_slots):
            for c in range(n_codes):
                counts[s, j, c] = table[s * n_codes + c]
    return counts


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
def group_rows(places, node, slot_of, n_groups):
    """Return the places with the rows of each group side by side, and their starts; see `reference.group_rows`."""
    n_columns, n_rows = places.shape
    starts = np.zeros(n_groups + 2, dtype=np.int64)
    slot = np.empty(n_rows, dtype=np.int16)
    for i in range(n_rows):
        slot[i] = slot_of[node[i]]
        starts[slot[i] + 1] += 1
    for g in range(n_groups + 1):
        starts[g + 1] += starts[g]
    n_kept = starts[n_groups]
    target = starts.copy()
    order = np.empty(n_rows, dtype=np.uint32)
    for i in range(n_rows):
        order[target[slot[i]]] = i
        target[slot[i]] += 1
    grouped = np.empty((n_columns, n_kept), dtype=places.dtype)
    for j in range(n_columns):
        column, new_column = places[j], grouped[j]
        for i in range(n_kept):
            new_column[i] = column[order[i]]
    return grouped, starts[: n_groups + 1]


@njit(nogil=True, cache=True)
def box_sums(places, starts, middle):
    """Return per group the sum of ``place - middle``; see `reference.box_sums`."""
    n_groups, n_columns = middle.shape
    sums = np.empty((n_groups, n_columns), dtype=np.int64)
    for j in range(n_columns):
        column = places[j]
        for g in range(n_groups):
            total = np.int64(0)
            for i in range(starts[g], starts[g + 1]):
                total += np.int64(column[i])
            sums[g, j] = total - (starts[g + 1] - starts[g]) * middle[g, j]
    return sums


@njit(nogil=True, cache=True)
def _tile_distances(places, centre, norm, start, stop, distance):
    """Fill `distance` with squared L2 or L1 lengths of the displacements of rows from one centre.

    They are whole numbers below 2**53, so double precision holds them exactly and is faster than integers.
    """
    size = stop - start
    distance[:size] = 0.0
    for j in range(places.shape[0]):
        column = places[j, start:stop]
        c = np.float64(centre[j])
        if norm == 2:
            for i in range(size):
                d = np.float64(column[i]) - c
                distance[i] += d * d
        else:
            for i in range(size):
                distance[i] += abs(np.float64(column[i]) - c)


@njit(nogil=True, cache=True)
def radius_counts(places, starts, centre, thresholds, norm):
    """Return how many rows first fit within each threshold; see `reference.radius_counts`."""
    n_groups, n_radii = thresholds.shape
    counts = np.zeros(n_radii + 1, dtype=np.int64)
    distance = np.empty(_TILE)
    for g in range(n_groups):
        limits = thresholds[g].astype(np.float64)
        for start in range(starts[g], starts[g + 1], _TILE):
            stop = min(start + _TILE, starts[g + 1])
            _tile_distances(places, centre[g], norm, start, stop, distance)
            for k in range(n_radii):
                # Counting against one radius after the other takes no branches, so it beats a search per row.
                within = 0
                for i in range(stop - start):
                    within += distance[i] <= limits[k]
                counts[k] += within
                if within == stop - start:
                    counts[k + 1 : n_radii] += within
                    break
            counts[n_radii] += stop - start
    for k in range(n_radii, 0, -1):
        counts[k] -= counts[k - 1]
    return counts


@njit(nogil=True, cache=True)
def clipped_sums(places, starts, centre, radius, norm):
    """Return per group the sum of shortened displacements; see `reference.clipped_sums`."""
    n_groups, n_columns = centre.shape
    sums = np.zeros((n_groups, n_columns), dtype=np.int64)
    distance = np.empty(_TILE)
    short = np.empty(n_columns, dtype=np.int64)
    for g in range(n_groups):
        limit = radius[g] * radius[g] if norm == 2 else radius[g]
        for start in range(starts[g], starts[g + 1], _TILE):
            stop = min(start + _TILE, starts[g + 1])
            _tile_distances(places, centre[g], norm, start, stop, distance)
            for j in range(n_columns):
                column = places[j, start:stop]
                total = np.int64(0)
                for i in range(stop - start):
                    total += np.int64(column[i])
                sums[g, j] += total - (stop - start) * centre[g, j]
            for i in range(stop - start):
                if distance[i] > limit:  # put the shortened displacement in the place of the full one
                    for j in range(n_columns):
                        short[j] = np.int64(places[j, start + i]) - centre[g, j]
                        sums[g, j] -= short[j]
                    _shorten(short, distance[i], radius[g], limit, norm)
                    for j in range(n_columns):
                        sums[g, j] += short[j]
    return sums


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
def regroup(places, centres, node):
    """Set every row's node to the number of its nearest centre; see `reference.regroup`.

    Squared distances are whole numbers below 2**53, so floating point is exact.
    """
    n_columns, n_rows = places.shape
    points, weights = centres.astype(np.float64), np.ones(n_columns)
    tile = np.empty((n_columns, _TILE))
    best, best_distance = np.empty(_TILE, dtype=np.int64), np.empty(_TILE)
    for start in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - start)
        _fill_tile(places, start, size, tile)
        best[:size], best_distance[:size] = 0, np.inf
        _nearest_in_tile(tile, size, points, weights, best, best_distance)
        for i in range(size):
            node[start + i] = best[i]


@njit(nogil=True, cache=True)
def _fill_tile(places, start, size, tile):
    """Copy rows into a tile of floating-point numbers, once for all centres."""
    for j in range(places.shape[0]):
        column = places[j, start : start + size]
        for i in range(size):
            tile[j, i] = column[i]


@njit(nogil=True, cache=True)
def _squared_distances(tile, size, point, distance):
    """Write the squared distances of the rows of a tile from a point: whole numbers below 2**53, so exact."""
    distance[:size] = 0.0
    for j in range(tile.shape[0]):
        centre, column = point[j], tile[j]
        for i in range(size):
            d = column[i] - centre
            distance[i] += d * d


@njit(nogil=True, cache=True)
def _two_nearest(tile, size, points, distance, first, first_distance, second, second_distance):
    """Fill in the nearest and the second-nearest point of each row of a tile with their squared distances.

    The lowest number wins a tie.
    """
    first_distance[:size], second_distance[:size] = np.inf, np.inf
    for c in range(points.shape[0]):
        _squared_distances(tile, size, points[c], distance)
        for i in range(size):
            if distance[i] < first_distance[i]:
                second[i], second_distance[i] = first[i], first_distance[i]
                first[i], first_distance[i] = c, distance[i]
            elif distance[i] < second_distance[i]:
                second[i], second_distance[i] = c, distance[i]


@njit(nogil=True, cache=True)
def bridge_counts(places, centres, pair_of, n_pairs, n_bins):
    """Return rows per pair of centres and bin of the way, and the other rows; see `reference.bridge_counts`."""
    counts = np.zeros((n_pairs, n_bins), dtype=np.int64)
    others = np.zeros(centres.shape[0], dtype=np.int64)
    points = centres.astype(np.float64)
    tile, distance = np.empty((places.shape[0], _TILE)), np.empty(_TILE)
    first, second = np.zeros(_TILE, dtype=np.int64), np.zeros(_TILE, dtype=np.int64)
    first_distance, second_distance = np.empty(_TILE), np.empty(_TILE)
    for start in range(0, places.shape[1], _TILE):
        size = min(_TILE, places.shape[1] - start)
        _fill_tile(places, start, size, tile)
        _two_nearest(tile, size, points, distance, first, first_distance, second, second_distance)
        for i in range(size):
            a, b = first[i], second[i]
            pair = pair_of[a, b]
            apart = np.int64(0)
            for j in range(centres.shape[1]):
                apart += (centres[a, j] - centres[b, j]) ** 2
            way = apart + np.int64(first_distance[i]) - np.int64(second_distance[i])  # 2 * apart is the whole way
            if pair < 0 or way < 0 or apart == 0:
                others[a] += 1
                continue
            bin_from_first = n_bins * way // (2 * apart)
            counts[pair, bin_from_first if a < b else n_bins - 1 - bin_from_first] += 1
    return np.concatenate((counts.ravel(), others))


@njit(nogil=True, cache=True)
def silhouettes(places, centres, taken, steps):
    """Return for each choice of centres the sum of the rows' simplified silhouettes; see `reference.silhouettes`."""
    n_choices, n_centres = taken.shape
    sums = np.zeros(n_choices, dtype=np.int64)
    points = centres.astype(np.float64)
    tile, distance = np.empty((places.shape[0], _TILE)), np.empty((n_centres, _TILE))
    near, far = np.empty(_TILE), np.empty(_TILE)
    for start in range(0, places.shape[1], _TILE):
        size = min(_TILE, places.shape[1] - start)
        _fill_tile(places, start, size, tile)
        for c in range(n_centres):
            _squared_distances(tile, size, points[c], distance[c])
        for k in range(n_choices):
            near[:size], far[:size] = np.inf, np.inf
            for c in range(n_centres):
                if taken[k, c]:
                    for i in range(size):
                        d = distance[c, i]
                        far[i] = min(far[i], max(d, near[i]))
                        near[i] = min(near[i], d)
            for i in range(size):
                if far[i] > 0.0:
                    sums[k] += np.int64(steps * (1.0 - math.sqrt(near[i] / far[i])))
    return sums


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
        block = _without_missing(block, lower, upper, MIDDLE)
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
