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
    "clipped_sums",
    "histograms",
    "nearest_centre",
    "quantise",
    "radius_counts",
    "regroup",
    "route",
]

_TILE = 1024


@njit(nogil=True, cache=True)
def quantise(block, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, missing, places, codes, start):  # type: ignore[no-untyped-def]
    """Write the places and codes of a block of rows; see `reference.quantise`."""
    n_rows, n_columns = block.shape
    position = start
    for i in range(n_rows):
        kept = True
        for j in range(n_columns):
            x = block[i, j]
            if not math.isfinite(x):
                if missing == ERROR:
                    return -1
                if missing == DROP:
                    kept = False
                    break
                x = (lower[j] + upper[j]) / 2
            x = min(max(x, lower[j]), upper[j])
            if on_value[j]:
                place = np.rint(x - origin[j]) * inverse_step[j]
            else:
                place = np.ceil((x - origin[j]) * inverse_step[j]) - 1
            whole_place = np.int64(min(max(place, 0.0), np.float64(last_place[j])))
            places[j, position] = whole_place
            codes[j, position] = whole_place // places_per_code[j]
        if kept:
            position += 1
    return position


@njit(nogil=True, cache=True)
def route(codes, node, split_column, cut, left, right):  # type: ignore[no-untyped-def]
    """Move each row to the child on its side; see `reference.route`."""
    for i in range(node.shape[0]):
        parent = node[i]
        column = split_column[parent]
        if column >= 0:
            node[i] = left[parent] if codes[column, i] < cut[parent] else right[parent]


@njit(nogil=True, cache=True)
def histograms(codes, node, slot_of, n_slots, n_codes):  # type: ignore[no-untyped-def]
    """Return the number of rows per slot, column and code; see `reference.histograms`."""
    n_columns, n_rows = codes.shape
    counts = np.zeros((n_columns, n_slots + 1, n_codes), dtype=np.int64)
    table = np.zeros((n_slots + 1, n_codes), dtype=np.uint32)
    slot = np.empty(n_rows, dtype=slot_of.dtype)
    for i in range(n_rows):
        slot[i] = slot_of[node[i]]
    for j in range(n_columns):
        table[:] = 0
        for i in range(n_rows):
            table[slot[i], codes[j, i]] += 1
        counts[j] = table
    return counts[:, :n_slots].transpose(1, 0, 2)


@njit(nogil=True, cache=True)
def box_sums(places, node, slot_of, middle):  # type: ignore[no-untyped-def]
    """Return per slot the sum of ``place - middle``; see `reference.box_sums`."""
    n_columns, n_rows = places.shape
    n_slots = middle.shape[0]
    sums = np.zeros((n_slots + 1, n_columns), dtype=np.int64)
    shift = np.zeros(n_slots + 1, dtype=np.int64)
    total = np.empty(n_slots + 1, dtype=np.int64)
    for j in range(n_columns):
        shift[:n_slots] = middle[:, j]
        total[:] = 0
        for i in range(n_rows):
            s = slot_of[node[i]]
            total[s] += np.int64(places[j, i]) - shift[s]
        sums[:, j] = total
    return sums[:n_slots]


@njit(nogil=True, cache=True, inline="always")
def _tile_distances(places, slot, centre, norm, start, stop, distance):  # type: ignore[no-untyped-def]
    """Fill `distance` with squared L2 or L1 lengths of the displacements of one tile of rows."""
    for i in range(stop - start):
        distance[i] = 0
    for j in range(places.shape[0]):
        if norm == 2:
            for i in range(start, stop):
                d = np.int64(places[j, i]) - centre[slot[i - start], j]
                distance[i - start] += d * d
        else:
            for i in range(start, stop):
                distance[i - start] += abs(np.int64(places[j, i]) - centre[slot[i - start], j])


@njit(nogil=True, cache=True)
def radius_counts(places, node, slot_of, centre, thresholds, norm):  # type: ignore[no-untyped-def]
    """Return how many rows first fit within each threshold; see `reference.radius_counts`."""
    n_rows = places.shape[1]
    n_slots, n_radii = thresholds.shape
    counts = np.zeros(n_radii + 1, dtype=np.int64)
    padded = np.zeros((n_slots + 1, places.shape[0]), dtype=np.int64)
    padded[:n_slots] = centre
    distance = np.empty(_TILE, dtype=np.int64)
    slot = np.empty(_TILE, dtype=np.int64)
    for start in range(0, n_rows, _TILE):
        stop = min(start + _TILE, n_rows)
        for i in range(start, stop):
            slot[i - start] = slot_of[node[i]]
        _tile_distances(places, slot, padded, norm, start, stop, distance)
        for i in range(stop - start):
            if slot[i] < n_slots:
                counts[np.searchsorted(thresholds[slot[i]], distance[i])] += 1
    return counts


@njit(nogil=True, cache=True)
def clipped_sums(places, node, slot_of, centre, radius, norm):  # type: ignore[no-untyped-def]
    """Return per slot the sum of shortened displacements; see `reference.clipped_sums`."""
    n_columns, n_rows = places.shape
    n_slots = centre.shape[0]
    padded = np.zeros((n_slots + 1, n_columns), dtype=np.int64)
    padded[:n_slots] = centre
    sums = np.zeros((n_slots + 1, n_columns), dtype=np.int64)
    distance = np.empty(_TILE, dtype=np.int64)
    slot = np.empty(_TILE, dtype=np.int64)
    inside = np.empty(_TILE, dtype=np.int64)
    short = np.empty(n_columns, dtype=np.int64)
    for start in range(0, n_rows, _TILE):
        stop = min(start + _TILE, n_rows)
        for i in range(start, stop):
            slot[i - start] = slot_of[node[i]]
        _tile_distances(places, slot, padded, norm, start, stop, distance)
        for i in range(stop - start):
            s = slot[i]
            inside[i] = s
            if s < n_slots:
                limit = radius[s] * radius[s] if norm == 2 else radius[s]
                if distance[i] > limit:
                    inside[i] = n_slots  # taken in shortened form below; its full form goes to the unused slot
                    for j in range(n_columns):
                        short[j] = np.int64(places[j, start + i]) - padded[s, j]
                    _shorten(short, distance[i], radius[s], limit, norm)
                    for j in range(n_columns):
                        sums[s, j] += short[j]
        for j in range(n_columns):
            for i in range(stop - start):
                s = inside[i]
                sums[s, j] += np.int64(places[j, start + i]) - padded[s, j]
    return sums[:n_slots]


@njit(nogil=True, cache=True)
def _shorten(displacement, length, radius, limit, norm):  # type: ignore[no-untyped-def]
    """Scale a displacement in place, towards zero, until its integer length is within the limit."""
    factor = radius / (math.sqrt(np.float64(length)) if norm == 2 else np.float64(length))
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
def regroup(places, centres, node):  # type: ignore[no-untyped-def]
    """Set every row's node to the number of its nearest centre; see `reference.regroup`."""
    n_columns, n_rows = places.shape
    row = np.empty(n_columns, dtype=np.int64)
    for i in range(n_rows):
        for j in range(n_columns):
            row[j] = places[j, i]
        best, best_distance = 0, np.int64(2) ** 62
        for c in range(centres.shape[0]):
            distance = np.int64(0)
            for j in range(n_columns):
                d = row[j] - centres[c, j]
                distance += d * d
                if distance >= best_distance:
                    break
            if distance < best_distance:
                best, best_distance = c, distance
        node[i] = best


@njit(nogil=True, cache=True)
def nearest_centre(block, lower, upper, missing, centres, weights, half_gap, hint, labels, start):  # type: ignore[no-untyped-def]
    """Write the index of the nearest centre of each clipped row; see `reference.nearest_centre`.

    A row closer to its hinted centre than half of that centre's distance to all others needs no search.
    """
    n_rows, n_columns = block.shape
    row = np.empty(n_columns)
    for i in range(n_rows):
        lost = False
        for j in range(n_columns):
            x = block[i, j]
            if not math.isfinite(x):
                if missing == ERROR:
                    return False
                if missing == MIDDLE:
                    x = (lower[j] + upper[j]) / 2
                else:
                    lost = True
            row[j] = min(max(x, lower[j]), upper[j])
        if lost:
            labels[start + i] = -1
            continue
        guess = hint[start + i] if hint.shape[0] else 0
        best, best_distance = guess, _distance(row, centres, weights, guess, np.inf)
        if math.sqrt(best_distance) >= half_gap[guess]:
            for c in range(centres.shape[0]):
                distance = _distance(row, centres, weights, c, best_distance)
                if distance < best_distance or (distance == best_distance and c < best):
                    best, best_distance = c, distance
        labels[start + i] = best
    return True


@njit(nogil=True, cache=True)
def _distance(row, centres, weights, c, give_up):  # type: ignore[no-untyped-def]
    """Return the squared weighted distance to centre c, or any larger number once it exceeds `give_up`."""
    total = 0.0
    for j in range(row.shape[0]):
        d = (row[j] - centres[c, j]) * weights[j]
        total += d * d
        if total > give_up:
            return total
    return total
