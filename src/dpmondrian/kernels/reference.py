# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The kernels in plain NumPy: slow and obviously right. Tests compare `compiled` with these.

Shapes: `places` and `codes` are (n_columns, n_rows); `node` is (n_rows,); `slot_of` maps a node to its row in
the result, with the last slot for rows that do not take part. Sums for centres work on rows grouped by
`group_rows`, whose groups lie side by side between `starts`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "box_sums",
    "bridge_counts",
    "clipped_sums",
    "group_rows",
    "histograms",
    "nearest_centre",
    "quantise",
    "radius_counts",
    "regroup",
    "route",
    "silhouettes",
]

ERROR, DROP, MIDDLE = 0, 1, 2


def quantise(
    block, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, missing, places, codes, start
):
    """Write the places and codes of a block of rows from row `start` on; return the next free row, or -1.

    -1 means that a missing or infinite value was met and `missing` is `ERROR`. Where `places` has fewer columns than the
    block, the last columns get codes only.
    """
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
    places[:, start:stop] = place.T[: len(places)]
    codes[:, start:stop] = (place // places_per_code).T
    return stop


def route(codes, node, split_column, cut, left, right):
    """Move each row from its node to the child on its side; `split_column` is -1 where there is no cut."""
    moving = split_column[node] >= 0
    rows = np.flatnonzero(moving)
    parent = node[rows]
    below = codes[split_column[parent], rows] < cut[parent]
    node[rows] = np.where(below, left[parent], right[parent])


def histograms(codes, node, slot_of, n_slots, n_codes) -> NDArray[np.int64]:
    """Return the number of rows per slot, column and code, shape (n_slots, n_columns, n_codes)."""
    counts = np.zeros((n_slots + 1, codes.shape[0], n_codes), dtype=np.int64)
    slot = slot_of[node]
    for column in range(codes.shape[0]):
        np.add.at(counts[:, column], (slot, codes[column]), 1)
    return counts[:n_slots]


def box_sums(places, starts, middle) -> NDArray[np.int64]:
    """Return per group the sum of ``place - middle``, shape (n_groups, n_columns)."""
    groups = zip(starts[:-1], starts[1:], middle, strict=True)
    return np.array([(places[:, a:b].T.astype(np.int64) - m).sum(axis=0) for a, b, m in groups])


def _distances(displacement, norm):
    """Return squared L2 lengths (norm 2) or L1 lengths (norm 1) of integer rows."""
    return np.sum(displacement**2 if norm == 2 else np.abs(displacement), axis=1)


def radius_counts(places, starts, centre, thresholds, norm) -> NDArray[np.int64]:
    """Return how many rows, over all groups, first fit within each threshold of their group.

    `thresholds` has shape (n_groups, n_radii), ascending, squared for norm 2. The last of the
    ``n_radii + 1`` results counts the rows beyond the largest radius.
    """
    counts = np.zeros(thresholds.shape[1] + 1, dtype=np.int64)
    for a, b, c, limits in zip(starts[:-1], starts[1:], centre, thresholds, strict=True):
        distance = _distances(places[:, a:b].T.astype(np.int64) - c, norm)
        counts += np.bincount(np.searchsorted(limits, distance), minlength=len(counts))
    return counts


def clipped_sums(places, starts, centre, radius, norm) -> NDArray[np.int64]:
    """Return per group the sum of displacements from its centre, each shortened to the group's radius.

    A displacement is scaled down, rounded towards zero, and checked in integers, so its length never
    exceeds the radius: that length is the sensitivity.
    """
    sums = np.zeros((len(centre), places.shape[0]), dtype=np.int64)
    for g, (a, b) in enumerate(pairwise(starts)):
        for row in places[:, a:b].T.astype(np.int64):
            sums[g] += _clip(row - centre[g], int(radius[g]), norm)
    return sums


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


def group_rows(places, node, slot_of, n_groups):
    """Return the places with the rows of each group side by side, and where each group starts.

    Group g holds the rows ``starts[g]`` to ``starts[g + 1]``, in their old order; other rows are left out.
    """
    slot = slot_of[node]
    order = np.argsort(slot, kind="stable")
    starts = np.searchsorted(slot[order], np.arange(n_groups + 1))
    return np.ascontiguousarray(places[:, order[: starts[-1]]]), starts


def regroup(places, centres, node):
    """Set every row's node to the number of its nearest centre (squared distance, lowest number on ties)."""
    for i, row in enumerate(places.T.astype(np.int64)):
        node[i] = np.argmin(_distances(row - centres, 2))


def _two_nearest(places, centres):
    """Return per row the numbers of the nearest and second-nearest centre and their squared distances."""
    rows = places.T.astype(np.int64)
    distance = np.stack([_distances(rows - centre, 2) for centre in centres], axis=1)
    order = np.argsort(distance, axis=1, kind="stable")[:, :2]
    return order, np.take_along_axis(distance, order, axis=1)


def bridge_counts(places, centres, pair_of, n_pairs, n_bins) -> NDArray[np.int64]:
    """Return rows per pair of centres and bin of the way from the lower to the higher number, then the other rows per centre.

    A row counts once: for the pair of its two nearest centres, at the place of its projection on the line between
    them, or, if it lies behind its nearest centre or `pair_of` does not number the pair, for its nearest centre.
    One flat array of ``n_pairs * n_bins + n_centres`` whole numbers.
    """
    counts = np.zeros((n_pairs, n_bins), dtype=np.int64)
    others = np.zeros(len(centres), dtype=np.int64)
    order, distance = _two_nearest(places, centres)
    for (a, b), (near, far) in zip(order, distance, strict=True):
        apart = int(((centres[a] - centres[b]) ** 2).sum())
        way = apart + int(near) - int(far)
        if pair_of[a, b] < 0 or way < 0 or apart == 0:
            others[a] += 1
            continue
        place = n_bins * way // (2 * apart)
        counts[pair_of[a, b], place if a < b else n_bins - 1 - place] += 1
    return np.concatenate([counts.ravel(), others])


def silhouettes(places, centres, taken, steps) -> NDArray[np.int64]:
    """Return for each choice of centres the sum over rows of ``1 - nearest / second-nearest`` distance.

    Each row's is rounded down to whole steps, and 0 if two centres are where the row is.
    """
    sums = []
    for choice in taken:
        _, distance = _two_nearest(places, centres[choice])
        near, far = distance[:, 0].astype(np.float64), distance[:, 1].astype(np.float64)
        ratio = np.sqrt(near / np.where(far > 0, far, 1.0))
        sums.append(int(np.where(far > 0, (steps * (1.0 - ratio)).astype(np.int64), 0).sum()))
    return np.array(sums, dtype=np.int64)


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
