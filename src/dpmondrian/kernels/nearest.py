# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The nearest centres of rows: exact, without looking at centres that cannot be near.

Rows come in groups that mostly lie together. Take a centre `a` near a group and another one `b`. A row at distance r from `a`
has its two nearest centres within ``s = max(r, its distance from b)``, so a centre farther than ``r + s`` from `a` is none of
them: it is farther than s from the row. With ``b = a`` this holds for the nearest centre alone. Most rows of a tile reach
about as far, and only the centres within that reach are looked at. Rows that reach farther are put aside and searched at the
end among all centres. How far is far is a guess about time and changes no result.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpmondrian.kernels.tiles import fill_tile, measured_places, order_rows, squared_distances

__all__ = ["bridge_counts", "regroup", "silhouettes"]

_TILE = 256
_WIDE_TILE = 1024
_FIRST_ROWS = 4096
_MOST_SETTLED = 512
"""With more centres it takes too long to find how far apart they are."""
_SAMPLE, _LIMITS = 64, 8
"""So many rows of a tile, and so many limits, are tried to choose which rows are put aside."""
_MARGIN = 1.0 + 1e-9
"""More than all rounding in a reach."""


def regroup(rows, centres, node):
    """Set every row's node to the number of its nearest centre; see `reference.regroup`."""
    unsure = _settled(rows, centres, node)
    if not unsure.size:
        return
    old = node[unsure]
    n_nodes = 1 + int(old.max())
    order, starts = order_rows(old, np.arange(n_nodes, dtype=np.int16), n_nodes)
    order = unsure[order]
    number, _ = _nearest(measured_places(rows, order), starts, centres, 1)
    node[order] = number[0]


def bridge_counts(rows, order, starts, centres, pair_of, n_pairs, n_bins, counts):
    """Add rows per pair of centres and bin of the way, and the other rows; see `reference.bridge_counts`."""
    number, distance = _nearest(measured_places(rows, order), starts, centres, 2)
    _add_bridges(number, distance, centres, pair_of, n_pairs, n_bins, counts)


def silhouettes(rows, order, starts, centres, taken, steps, sums):
    """Add for each choice of centres the sum of the rows' simplified silhouettes; see `reference.silhouettes`."""
    _silhouettes(measured_places(rows, order), starts, centres, taken, steps, sums)


def _settled(rows, centres, node):
    """Move the rows whose codes alone tell their nearest centre, and return the others.

    A place lies within half a code's width of the middle of its code. So a row's distance from a centre is known up to
    ``half_width``, the length of these halves together. If it is surely below half the distance of that centre from its
    nearest other one, no centre is as near. The margin is more than what single precision loses in so many columns.
    """
    codes, rests, code_step, _ = rows
    n_columns, every = len(rests), np.arange(node.size, dtype=np.uint32)
    margin = 1e-3 + 1e-6 * n_columns
    if len(centres) > _MOST_SETTLED or margin >= 1.0:
        return every
    half_width = 0.5 * math.sqrt(((code_step - 1.0) ** 2).sum())
    gaps = _gaps(centres.astype(np.float64))
    limit = (np.maximum(0.0, 0.5 * gaps - half_width) ** 2 * (1.0 - margin)).astype(np.float32)
    if not limit.any():
        return every
    # The distance of a code from a centre is that of its middle: code * step - offset.
    offset = np.ascontiguousarray((centres - 0.5 * (code_step - 1.0)).T.astype(np.float32))
    guess_of = _guesses(codes, code_step, centres.astype(np.float64), node, 1 + int(node.max(initial=0)))
    return every[: _settle(codes, node, guess_of, offset, code_step.astype(np.float32), limit, every)]


@njit(nogil=True, cache=True)
def _gaps(points):
    """Return the distance of each centre from its nearest other one."""
    gaps = np.full(points.shape[0], np.inf)
    for a in range(points.shape[0]):
        for b in range(a):
            total = 0.0
            for j in range(points.shape[1]):
                total += (points[a, j] - points[b, j]) ** 2
            gaps[a], gaps[b] = min(gaps[a], total), min(gaps[b], total)
    return np.sqrt(gaps)


@njit(nogil=True, cache=True)
def _guesses(codes, code_step, points, node, n_nodes):
    """Return for each node a centre that its rows may have nearest: that of the mean of the first of them."""
    n_columns = points.shape[1]
    sums, counts = np.zeros((n_nodes, n_columns)), np.zeros(n_nodes)
    for i in range(min(_FIRST_ROWS, node.shape[0])):
        counts[node[i]] += 1.0
        for j in range(n_columns):
            sums[node[i], j] += codes[j, i] * code_step[j]
    guess_of = np.zeros(n_nodes, dtype=np.int32)
    for v in range(n_nodes):
        least = np.inf
        for c in range(points.shape[0] if counts[v] > 0.0 else 0):
            total = 0.0
            for j in range(n_columns):
                total += (sums[v, j] / counts[v] - points[c, j]) ** 2
            if total < least:
                least, guess_of[v] = total, c
    return guess_of


@njit(nogil=True, cache=True)
def _settle(codes, node, guess_of, offset, code_step, limit, unsure):
    """Move the rows that are surely nearest to their guess; list the others, and return their number."""
    guess, distance, n_unsure = np.empty(_WIDE_TILE, dtype=np.int32), np.empty(_WIDE_TILE, dtype=np.float32), 0
    for start in range(0, node.shape[0], _WIDE_TILE):
        size = min(_WIDE_TILE, node.shape[0] - start)
        for i in range(size):
            guess[i] = guess_of[np.uint16(node[start + i])]
        distance[:size] = np.float32(0.0)
        for j in range(offset.shape[0]):
            column, step, own = codes[j, start : start + size], code_step[j], offset[j]
            for i in range(size):
                d = np.float32(column[i]) * step - own[guess[i]]
                distance[i] += d * d
        for i in range(size):
            sure = distance[i] < limit[guess[i]]
            node[start + i] = guess[i] if sure else node[start + i]
            unsure[n_unsure] = start + i
            n_unsure += not sure
    return n_unsure


@njit(nogil=True, cache=True)
def _nearest(places, starts, centres, n_nearest):
    """Return the numbers and squared distances of each row's nearest centres, one or two, both of shape (n_nearest, n_rows).

    The lowest number wins a tie. One is for those who need its number only: its distance may be missing.
    """
    n_columns, n_rows = places.shape
    points = centres.astype(np.float64)
    by_column, every = points.T.copy(), np.arange(points.shape[0])
    number, distance = np.empty((n_nearest, n_rows), dtype=np.int32), np.empty((n_nearest, n_rows))
    found, found_distance = np.empty((2, _TILE), dtype=np.int32), np.empty((2, _TILE))
    tile, aside = np.empty((n_columns, _TILE)), np.zeros(_TILE, dtype=np.bool_)
    far, n_far = np.empty(n_rows, dtype=np.uint32), 0
    scale = _key_scale(points)
    for g in range(starts.shape[0] - 1):
        for start in range(starts[g], starts[g + 1], _TILE):
            size = min(_TILE, starts[g + 1] - start)
            fill_tile(places, start, size, tile)
            if start == starts[g]:
                a, b, apart = _anchors(tile, size, points, by_column, every)
            numbers = _within_reach(tile, size, points, a, b if n_nearest == 2 else a, apart, aside)
            if n_nearest == 1 and numbers.shape[0] == 1:
                found[0, :size] = a
            else:
                _search(tile, size, points, numbers, n_nearest, scale, found, found_distance)
            for k in range(n_nearest):
                for i in range(size):
                    number[k, start + i], distance[k, start + i] = found[k, i], found_distance[k, i]
            for i in range(size):
                far[n_far] = start + i
                n_far += aside[i]
    for start in range(0, n_far, _TILE):
        row = far[start : min(start + _TILE, n_far)]
        _fill_tile_with(places, row, tile)
        _search(tile, row.shape[0], points, every, n_nearest, scale, found, found_distance)
        for k in range(n_nearest):
            for i in range(row.shape[0]):
                number[k, row[i]], distance[k, row[i]] = found[k, i], found_distance[k, i]
    return number, distance


@njit(nogil=True, cache=True)
def _fill_tile_with(places, row, tile):
    """Copy these rows into a tile."""
    for j in range(places.shape[0]):
        for i in range(row.shape[0]):
            tile[j, i] = places[j, row[i]]


@njit(nogil=True, cache=True)
def _anchors(tile, size, points, by_column, members):
    """Return the member nearest to the mean of a tile, the next one to it, and the distances of all centres from it."""
    mean, apart = np.zeros(tile.shape[0]), np.empty(points.shape[0])
    for j in range(tile.shape[0]):
        for i in range(size):
            mean[j] += tile[j, i] / size
    squared_distances(by_column, points.shape[0], mean, apart)
    a = _first_least(apart, members, -1)
    squared_distances(by_column, points.shape[0], points[a], apart)
    b = _first_least(apart, members, a)
    for c in range(apart.shape[0]):
        apart[c] = math.sqrt(apart[c])
    return a, b, apart


@njit(nogil=True, cache=True)
def _first_least(distance, members, but):
    """Return the member with the least distance, `but` only if there is no other."""
    least = members[0]
    for c in members:
        if c != but and (least == but or distance[c] < distance[least]):
            least = c
    return least


@njit(nogil=True, cache=True)
def _within_reach(tile, size, points, a, b, apart, aside):
    """Return the numbers, ascending, of the centres that rows of a tile may have nearest, and mark the rows put `aside`."""
    reach, to_b = np.empty(size), np.zeros(size)
    squared_distances(tile, size, points[a], reach)
    if a != b:
        squared_distances(tile, size, points[b], to_b)
    for i in range(size):
        reach[i] = (math.sqrt(reach[i]) + math.sqrt(max(reach[i], to_b[i]))) * _MARGIN
    limit = _limit(reach[:_SAMPLE], apart)
    for i in range(size):
        aside[i] = reach[i] > limit
    return _numbers_of(apart <= limit)


@njit(nogil=True, cache=True)
def _numbers_of(chosen):
    """Return the numbers of the centres that are chosen, ascending."""
    numbers, size = np.empty(chosen.shape[0], dtype=np.int64), 0
    for c in range(chosen.shape[0]):
        numbers[size] = c
        size += chosen[c]
    return numbers[:size]


@njit(nogil=True, cache=True)
def _limit(reach, apart):
    """Return the reach beyond which rows are better put aside: the one of a few that leaves the fewest distances to take."""
    shortest, longest = np.inf, 1.0
    for i in range(reach.shape[0]):
        shortest, longest = min(shortest, reach[i]), max(longest, reach[i])
    shortest = max(shortest, 1.0)
    best, fewest = longest, np.inf
    for step in range(_LIMITS):
        limit = longest * (shortest / longest) ** (step / _LIMITS)
        n_centres, n_aside = 0, 0
        for c in range(apart.shape[0]):
            n_centres += apart[c] <= limit
        for i in range(reach.shape[0]):
            n_aside += reach[i] > limit
        work = reach.shape[0] * n_centres + n_aside * apart.shape[0]
        if work < fewest:
            best, fewest = limit, work
    return best


@njit(nogil=True, cache=True)
def _key_scale(points):
    """Return by what to multiply a squared distance so that a number below it can be added and both stay exact."""
    farthest = 0.0
    for c in range(points.shape[0]):
        total = 0.0
        for j in range(points.shape[1]):
            total += max(abs(points[c, j] - 65535.0), abs(points[c, j])) ** 2
        farthest = max(farthest, total)
    scale = 1.0
    while (farthest + 1.0) * 2.0 * scale <= 2.0**53:
        scale *= 2.0
    return scale


@njit(nogil=True, cache=True)
def _search(tile, size, points, numbers, n_nearest, scale, number, distance):
    """Fill in the two nearest of the centres with these numbers, ascending; the lowest number wins a tie.

    A squared distance and a number together make one key, so the two smallest keys tell everything.
    """
    first, second, found = np.empty(size), np.empty(size), np.empty(size)
    distance[:], number[:] = np.inf, 0
    for begin in range(0, numbers.shape[0], np.int64(scale)):
        first[:], second[:] = np.inf, np.inf
        for p in range(begin, min(begin + np.int64(scale), numbers.shape[0])):
            squared_distances(tile, size, points[numbers[p]], found)
            place = np.float64(p - begin)
            for i in range(size):
                key = found[i] * scale + place
                # Adding 0 makes the compiler store all numbers, which is faster than to store some.
                second[i] = min(second[i], max(first[i], key)) + 0.0
                first[i] = min(first[i], key) + 0.0
        _keep_nearest(first, scale, numbers[begin:], number, distance)
        if n_nearest == 2:
            _keep_nearest(second, scale, numbers[begin:], number, distance)


@njit(nogil=True, cache=True)
def _keep_nearest(keys, scale, numbers, number, distance):
    """Put the centres that keys stand for among the two nearest of each row, behind those that are as near."""
    first, second, first_distance, second_distance = number[0], number[1], distance[0], distance[1]
    for i in range(keys.shape[0]):
        squared = np.floor(keys[i] / scale)
        if squared < second_distance[i]:
            c = numbers[np.int64(keys[i] - squared * scale)]
            if squared < first_distance[i]:
                second[i], second_distance[i] = first[i], first_distance[i]
                first[i], first_distance[i] = c, squared
            else:
                second[i], second_distance[i] = c, squared


@njit(nogil=True, cache=True)
def _add_bridges(number, distance, centres, pair_of, n_pairs, n_bins, counts):
    """Add the rows whose two nearest centres and squared distances these are to the flat array of `bridge_counts`."""
    squared = np.full(pair_of.shape, -1, dtype=np.int64)
    for i in range(number.shape[1]):
        a, b = number[0, i], number[1, i]
        if squared[a, b] < 0:
            squared[a, b] = np.sum((centres[a] - centres[b]) ** 2)
        pair, apart = pair_of[a, b], squared[a, b]
        way = apart + np.int64(distance[0, i]) - np.int64(distance[1, i])  # 2 * apart is the whole way
        if pair < 0 or way < 0 or apart == 0:
            counts[n_pairs * n_bins + a] += 1
            continue
        bin_from_first = n_bins * way // (2 * apart)
        counts[pair * n_bins + (bin_from_first if a < b else n_bins - 1 - bin_from_first)] += 1


@njit(nogil=True, cache=True)
def _silhouettes(places, starts, centres, taken, steps, sums):
    """Add the sums of the rows' silhouettes, from rows group by group."""
    points = centres.astype(np.float64)
    by_column, every = points.T.copy(), np.arange(points.shape[0])
    shared = np.ones(points.shape[0], dtype=np.bool_)
    for k in range(taken.shape[0]):
        shared &= taken[k]
    members = _numbers_of(shared)
    tile, aside = np.empty((places.shape[0], _TILE)), np.zeros(_TILE, dtype=np.bool_)
    far, n_far = np.empty(places.shape[1], dtype=np.uint32), 0
    for g in range(starts.shape[0] - 1):
        for start in range(starts[g], starts[g + 1], _TILE):
            size = min(_TILE, starts[g + 1] - start)
            fill_tile(places, start, size, tile)
            numbers = every
            if members.shape[0] > 1:
                if start == starts[g]:
                    a, b, apart = _anchors(tile, size, points, by_column, members)
                numbers = _within_reach(tile, size, points, a, b, apart, aside)
            _add_silhouettes(tile, size, points, numbers, aside, shared, taken, steps, sums)
            for i in range(size):
                far[n_far] = start + i
                n_far += aside[i]
    aside[:] = False
    for start in range(0, n_far, _TILE):
        row = far[start : min(start + _TILE, n_far)]
        _fill_tile_with(places, row, tile)
        _add_silhouettes(tile, row.shape[0], points, every, aside, shared, taken, steps, sums)


@njit(nogil=True, cache=True)
def _add_silhouettes(tile, size, points, numbers, aside, shared, taken, steps, sums):
    """Add the silhouettes of the rows of a tile that are not put `aside`; centres that all choices take are looked at once."""
    near, far, found = np.empty(size), np.empty(size), np.empty(size)
    near[:], far[:] = np.inf, np.inf
    others, to_others, n_others = np.empty_like(numbers), np.empty((numbers.shape[0], size)), 0
    for c in numbers:
        if shared[c]:
            squared_distances(tile, size, points[c], found)
            _keep_two(found, near, far)
        else:
            squared_distances(tile, size, points[c], to_others[n_others])
            others[n_others] = c
            n_others += 1
    for t in range(taken.shape[0]):
        first, second = near.copy(), far.copy()
        for k in range(n_others):
            if taken[t, others[k]]:
                _keep_two(to_others[k], first, second)
        for i in range(size):
            found[i] = steps * (1.0 - math.sqrt(first[i] / max(second[i], 1.0)))
        total = np.int64(0)
        for i in range(size):
            total += np.int64(found[i]) if second[i] > 0.0 and not aside[i] else 0
        sums[t] += total


@njit(nogil=True, cache=True)
def _keep_two(found, near, far):
    """Keep the two smallest numbers of each row."""
    for i in range(found.shape[0]):
        # Adding 0 makes the compiler store all numbers, which is faster than to store some.
        far[i] = min(far[i], max(near[i], found[i])) + 0.0
        near[i] = min(near[i], found[i]) + 0.0
