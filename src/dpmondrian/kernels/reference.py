# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The kernels in plain NumPy: slow and obviously right. Tests compare `compiled` with these.

Shapes: `codes` is (n_columns, n_rows); `node` is (n_rows,); `slot_of` maps a node to its row in the result, with the last
slot for rows that do not take part. `rows` are the codes, the rests (n_measured, n_rows), and how many places a code and a
rest are worth, both (n_measured,): ``place = code * code_step + rest * rest_step``. Questions about groups take the rows in
the order of `order_rows`, in which group g holds those from ``starts[g]`` to ``starts[g + 1]``.

Answers are added to the last argument.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

__all__ = [
    "box_sums",
    "bridge_counts",
    "clipped_sums",
    "histograms",
    "nearest_centre",
    "order_rows",
    "quantise",
    "radius_counts",
    "regroup",
    "route",
    "silhouettes",
]

ERROR, DROP, MIDDLE = 0, 1, 2


def quantise(
    columns, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, rest_step, missing, codes, rests, start
):  # fmt: skip
    """Write the codes and rests of a block of rows from row `start` on; return the next free row, or -1.

    `columns` has shape (n_columns, n_rows). -1 means that a missing or infinite value was met and `missing` is `ERROR`. Where
    `rests` has fewer columns, the last columns get codes only.
    """
    block = columns.T.astype(np.float64)
    block = np.where(np.isfinite(block), block, np.nan)
    if missing == ERROR and np.isnan(block).any():
        return -1
    if missing == MIDDLE:
        block = np.where(np.isnan(block), (lower + upper) / 2, block)
    block = np.clip(block[~np.isnan(block).any(axis=1)], lower, upper)
    continuous = np.ceil((block - origin) * inverse_step) - 1
    whole = np.rint(block - origin) * inverse_step
    place = np.clip(np.where(on_value, whole, continuous), 0, last_place).astype(np.int64)
    stop = start + len(block)
    codes[:, start:stop] = (place // places_per_code).T
    rests[:, start:stop] = (place % places_per_code // rest_step).T[: len(rests)]
    return stop


def route(codes, node, split_column, cut, left, right):
    """Move each row from its node to the child on its side; `split_column` is -1 where there is no cut."""
    moving = split_column[node] >= 0
    rows = np.flatnonzero(moving)
    parent = node[rows]
    below = codes[split_column[parent], rows] < cut[parent]
    node[rows] = np.where(below, left[parent], right[parent])


def histograms(codes, node, slot_of, counts):
    """Add the number of rows per slot, column and code to `counts`, shape (n_slots, n_columns, n_codes)."""
    slot = slot_of[node]
    kept = slot < len(counts)
    for column in range(len(codes)):
        np.add.at(counts[:, column], (slot[kept], codes[column, kept]), 1)


def order_rows(node, slot_of, n_groups):
    """Return the rows of the groups, one group after the other, and where each group starts.

    Within a group rows keep their order; those of other nodes are left out.
    """
    slot = slot_of[node]
    order = np.argsort(slot, kind="stable")
    starts = np.searchsorted(slot[order], np.arange(n_groups + 1))
    return order[: starts[-1]].astype(np.uint32), starts


def _places(rows, order=slice(None)):
    """Return the places of rows in this order, shape (n_rows, n_measured)."""
    codes, rests, code_step, rest_step = rows
    measured = codes[: len(rests), order].T.astype(np.int64)
    return measured * code_step.astype(np.int64) + rests[:, order].T.astype(np.int64) * rest_step.astype(np.int64)


def box_sums(rows, order, starts, middle, sums):
    """Add per group the sum of ``place - middle`` to `sums`, shape (n_groups, n_measured)."""
    for g, (a, b) in enumerate(pairwise(starts)):
        sums[g] += (_places(rows, order[a:b]) - middle[g]).sum(axis=0)


def _distances(displacement, norm):
    """Return squared L2 lengths (norm 2) or L1 lengths (norm 1) of integer rows."""
    return np.sum(displacement**2 if norm == 2 else np.abs(displacement), axis=1)


def radius_counts(rows, columns, order, starts, centre, thresholds, norm, counts):
    """Add how many rows, over all groups, first fit within each threshold of their group.

    Distances are in the measured columns `columns` only, which `centre` has. `thresholds` has shape (n_groups, n_radii),
    ascending, squared for norm 2. The last of the ``n_radii + 1`` counts is of the rows beyond the largest radius.
    """
    for g, (a, b) in enumerate(pairwise(starts)):
        distance = _distances(_places(rows, order[a:b])[:, columns] - centre[g], norm)
        counts += np.bincount(np.searchsorted(thresholds[g], distance), minlength=len(counts))


def clipped_sums(rows, columns, order, starts, centre, radius, norm, sums):
    """Add per group the sum of displacements from its centre, each shortened to the group's radius.

    Displacements are in the measured columns `columns` only, which `centre` has. One is scaled down, rounded towards zero, and
    checked in integers, so its length never exceeds the radius: that length is the sensitivity.
    """
    for g, (a, b) in enumerate(pairwise(starts)):
        for place in _places(rows, order[a:b])[:, columns]:
            sums[g] += _clip(place - centre[g], int(radius[g]), norm)


def _clip(displacement, radius, norm):
    limit = radius * radius if norm == 2 else radius
    length = int(_distances(displacement[None], norm)[0])
    if length <= limit:
        return displacement
    factor = radius / (np.sqrt(float(length)) if norm == 2 else float(length))
    short = np.trunc(displacement * factor).astype(np.int64)
    while int(_distances(short[None], norm)[0]) > limit:
        short -= np.sign(short)
    return short


def regroup(rows, centres, node):
    """Set every row's node to the number of its nearest centre (squared distance, lowest number on ties)."""
    for i, place in enumerate(_places(rows)):
        node[i] = np.argmin(_distances(place - centres, 2))


def _two_nearest(places, centres):
    """Return per row the numbers of the nearest and second-nearest centre and their squared distances."""
    distance = np.stack([_distances(places - centre, 2) for centre in centres], axis=1)
    order = np.argsort(distance, axis=1, kind="stable")[:, :2]
    return order, np.take_along_axis(distance, order, axis=1)


def bridge_counts(rows, order, starts, centres, pair_of, n_pairs, n_bins, counts):
    """Add rows per pair of centres and bin of the way from the lower to the higher number, then the other rows per centre.

    A row counts once: for the pair of its two nearest centres, at the place of its projection on the line between
    them, or, if it lies behind its nearest centre or `pair_of` does not number the pair, for its nearest centre.
    `counts` is flat, ``n_pairs * n_bins + n_centres`` whole numbers. Groups only save time.
    """
    nearest, distance = _two_nearest(_places(rows, order), centres)
    for (a, b), (near, far) in zip(nearest, distance, strict=True):
        apart = int(((centres[a] - centres[b]) ** 2).sum())
        way = apart + int(near) - int(far)
        if pair_of[a, b] < 0 or way < 0 or apart == 0:
            counts[n_pairs * n_bins + a] += 1
            continue
        place = n_bins * way // (2 * apart)
        counts[pair_of[a, b] * n_bins + (place if a < b else n_bins - 1 - place)] += 1


def silhouettes(rows, order, starts, centres, taken, steps, sums):
    """Add for each choice of centres the sum over rows of ``1 - nearest / second-nearest`` distance.

    Each row's is rounded down to whole steps, and 0 if two centres are where the row is. Groups only save time.
    """
    places = _places(rows, order)
    for k, choice in enumerate(taken):
        _, distance = _two_nearest(places, centres[choice])
        near, far = distance[:, 0].astype(np.float64), distance[:, 1].astype(np.float64)
        ratio = np.sqrt(near / np.where(far > 0, far, 1.0))
        sums[k] += np.where(far > 0, (steps * (1.0 - ratio)).astype(np.int64), 0).sum()


def nearest_centre(block, lower, upper, missing, centres, weights, half_gap, node, cluster_of_node, labels, start):
    """Write the index of the nearest centre of each clipped row; -1 where a value is missing (`DROP`).

    `node`, `cluster_of_node` and `half_gap` only save time. Returns False if a value is missing and `missing` is `ERROR`.
    """
    block = np.where(np.isfinite(block), block, np.nan)
    if missing == ERROR and np.isnan(block).any():
        return False
    if missing == MIDDLE:
        block = np.where(np.isnan(block), (lower + upper) / 2, block)
    lost = np.isnan(block).any(axis=1)
    block = np.clip(np.where(lost[:, None], lower, block), lower, upper)
    distance = (((block[:, None, :] - centres) * weights) ** 2).sum(axis=2)
    labels[start : start + len(block)] = np.where(lost, -1, distance.argmin(axis=1))
    return True
