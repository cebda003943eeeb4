# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The kernels in plain NumPy: slow and obviously right. Tests compare `compiled` with these.

Shapes: `codes` is (n_columns, n_rows); `node` is (n_rows,); `slot_of` maps a node to its row in the result, with the last
slot for rows that do not take part. `rows` are the codes, the rests (n_columns, n_rows), and how many places a code and a
rest are worth, both (n_columns,): ``place = code * code_step + rest * rest_step``. Questions about groups take the rows in
the order of `order_rows`, in which group g holds those from ``starts[g]`` to ``starts[g + 1]``.

Answers are added to the last argument.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from dpmondrian.kernels.cells import clearest_valley

__all__ = [
    "across_gaps",
    "between_groups",
    "bin_counts",
    "box_sums",
    "clipped_sums",
    "dispersions_along",
    "distance_counts",
    "distance_sums",
    "histograms",
    "order_rows",
    "promising",
    "quantise",
    "regroup",
    "route",
    "single_bins",
    "spikes",
]

ERROR, DROP, MIDDLE = 0, 1, 2


def quantise(
    columns, lower, upper, origin, inverse_step, on_value, last_place, places_per_code, rest_step, missing, codes, rests, start
):  # fmt: skip
    """Write the codes and rests of a block of rows from row `start` on; return the next free row, or -1.

    `columns` has shape (n_columns, n_rows). -1 means that a missing or infinite value was met and `missing` is `ERROR`.
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
    rests[:, start:stop] = (place % places_per_code // rest_step).T
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
    """Return the places of rows in this order, shape (n_rows, n_columns)."""
    codes, rests, code_step, rest_step = rows
    codes, rests = codes[: len(rests), order].T.astype(np.int64), rests[:, order].T.astype(np.int64)
    return codes * code_step.astype(np.int64) + rests * rest_step.astype(np.int64)


def box_sums(rows, order, starts, middle, sums):
    """Add per group the sum of ``place - middle`` to `sums`, shape (n_groups, n_columns)."""
    for g, (a, b) in enumerate(pairwise(starts)):
        sums[g] += (_places(rows, order[a:b]) - middle[g]).sum(axis=0)


def _distances(displacement, norm):
    """Return squared L2 lengths (norm 2) or L1 lengths (norm 1) of integer rows."""
    return np.sum(displacement**2 if norm == 2 else np.abs(displacement), axis=1)


def distance_counts(rows, columns, order, starts, centre, thresholds, norm, counts):
    """Add how many rows, over all groups, first fit within each threshold around their group's centre.

    Distances are in the columns `columns` only, which `centre` has. `thresholds` are ascending, squared for norm 2. The
    last count is of the rows beyond the largest threshold.
    """
    for g, (a, b) in enumerate(pairwise(starts)):
        distance = _distances(_places(rows, order[a:b])[:, columns] - centre[g], norm)
        counts += np.bincount(np.searchsorted(thresholds, distance), minlength=len(counts))


def clipped_sums(rows, columns, order, starts, centre, radius, norm, sums):
    """Add per group the sum of displacements from its centre, each shortened to the group's radius.

    Displacements are in the columns `columns` only, which `centre` has. One is scaled down, rounded towards zero, and
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


def line_counts(rows, order, starts, line_of, directions, begins, widths, shapes, counts):
    """Add the rows of every group to the bins of the lines of that group, in 256 parts of a row.

    Line l belongs to group ``line_of[l]``; bin b holds the projections on ``directions[l]`` from ``begins[l] + b * widths[l]`` on. A row may
    stand for an interval around its projection, 1/16 of a width long for each item of ``shapes[l]`` but the first. These items say how
    many parts lie below each step: they rise from 0 to 256. With one item only a row is a point. What lies beyond all bins counts
    nowhere.
    """
    for line, group in enumerate(line_of):
        own = _places(rows, order[starts[group] : starts[group + 1]]).astype(np.int64)
        width, shape = int(widths[line]), shapes[line]
        step, n_steps = width // 16, len(shape) - 1
        for projection in (own @ directions[line]).tolist():
            low = projection - int(begins[line]) - step * n_steps // 2
            for b in range(counts.shape[1]):
                if n_steps == 0:
                    counts[line, b] += 256 * (b * width <= low < (b + 1) * width)
                else:
                    ends = [min(max(edge * width - low, 0) // step, n_steps) for edge in (b, b + 1)]
                    counts[line, b] += shape[ends[1]] - shape[ends[0]]


def bin_counts(values, node, limits, step):
    """Return the rows in every bin; see `dpmondrian.kernels.profiles`."""
    counts = np.zeros(len(limits), dtype=np.int64)
    for value, cluster in zip(values, node, strict=True):
        counts[next(b for b, limit in enumerate(limits) if int(cluster) * step + int(value) <= limit)] += 1
    return counts


def distance_sums(places, node, centres, sets, largest_square, widths, least):
    """Return sums of distances and silhouettes, row by row in whole numbers; see `dpmondrian.kernels.profiles`.

    Silhouettes are in double precision here, so that single values may be rounded to the next whole number.
    """
    total = np.zeros(len(widths), dtype=np.int64)
    for row, own in zip(places.T.astype(np.int64), node, strict=True):
        for number, members in enumerate(sets):
            squares = ((centres[members] - row) ** 2).sum(axis=1)
            nearest = own if number == 0 else int(np.argmin(squares))
            near, others = float(squares[nearest]), np.delete(squares, nearest)
            a, b = np.sqrt(near), np.sqrt(float(others.min(initial=2**62)))
            silhouette = 0.0 if max(a, b) == 0.0 or not len(others) else (b - a) / max(a, b)
            values = {1 + number: silhouette} | ({0: min(near, largest_square) / largest_square} if number == 0 else {})
            for j, value in values.items():
                scaled = (value - (1.0 + least[j]) / 2.0) / ((1.0 - least[j]) / 2.0)
                total[j] += int(np.rint(scaled * widths[j]))
    return total


def between_groups(places, sizes, noise, joins, numbers_of_groups, variance, trusted, most_pairs, most_against_all):
    """Return directions between pairs of groups of points, and between each group and all others.

    Groups are what the first of `joins` make of the points until so many are left, for each of the `numbers_of_groups`. Of these the first
    `most_pairs` pairs by size are compared, and among at most `most_against_all` groups, if more than two, each with all others; the same
    groups once. Each comparison adds the way between the means and Fisher's linear discriminant, in which rows spread about points by
    `variance`, unless the squared way is at most so many times its `noise` as is `trusted`.
    """
    found, seen = [], set()
    for k in [k for k in numbers_of_groups if k <= len(sizes)]:
        groups = sorted(_groups_of_joins(joins, len(sizes), k), key=lambda group: -sizes[list(group)].sum())
        pairs = sorted(pair[::-1] for pair in combinations(range(k), 2))[:most_pairs]
        compared = [frozenset((groups[one], groups[other])) for one, other in pairs]
        if 2 < k <= most_against_all:
            compared += [frozenset((group, frozenset(range(len(sizes))) - group)) for group in groups]
        for pair in dict.fromkeys(compared):
            if pair not in seen:
                found += _directions(places, sizes, noise, variance, trusted, *map(list, pair))
        seen.update(compared)
    return np.array(found).reshape(-1, places.shape[1])


def _groups_of_joins(joins, n_points, n_groups):
    """Return the sets of points that are left after as many joins as leave so many groups."""
    groups = {i: frozenset([i]) for i in range(n_points)}
    for number, (one, other) in enumerate(joins[: n_points - n_groups].tolist()):
        groups[n_points + number] = groups.pop(one) | groups.pop(other)
    return list(groups.values())


def _directions(places, sizes, noise, variance, trusted, one, other):
    """Return the way between two groups and its discriminant, or nothing if the way may be noise."""
    means = [np.average(places[group], axis=0, weights=sizes[group]) for group in (one, other)]
    way = means[1] - means[0]
    if way @ way <= trusted * sum(
        (sizes[group] ** 2 @ noise[group]) / sizes[group].sum() ** 2 for group in (one, other)
    ):
        return []
    about = np.concatenate([places[group] - mean for group, mean in zip((one, other), means, strict=True)])
    weights = sizes[one + other] / sizes[one + other].sum()
    return [way, np.linalg.solve((about.T * weights) @ about + variance * np.eye(len(way)), way)]


def across_gaps(places, noise, trusted, most):
    """Return directions along the longest edges of the shortest tree that connects all points, if their length is more than noise."""
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    tree, edges = {0}, []
    while len(tree) < len(places):
        outside = [i for i in range(len(places)) if i not in tree]
        edges.append(min((squares[i, j], i, j) for i in outside for j in tree))
        tree.add(edges[-1][1])
    longest = sorted(edges, reverse=True)[:most]
    chosen = [(i, j) for square, i, j in longest if square > trusted * (noise[i] + noise[j])]
    return np.array([places[i] - places[j] for i, j in chosen]).reshape(-1, places.shape[1])


def spikes(rows, variances, rise, sure, narrow):
    """Return the bins that hold more than `rise` times the rows of those beside them, beyond `sure` deviations of noise and sampling.

    There are no rows outside. None is one if, over all of them, the bins beside hold more rows than those beyond by `narrow` times the rows of
    the spikes.
    """
    around = np.pad(rows, 2)
    beside, beyond = (around[1:-3] + around[3:-1]) / 2.0, (around[:-4] + around[4:]) / 2.0
    chance = sure * np.sqrt(variances + np.maximum(beside, 1.0))
    found = rows > rise * np.maximum(beside, 0.0) + chance
    if (beside - beyond)[found].sum() > narrow * rows[found].sum():
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(found)


def single_bins(counts, deviation, rise, most_more, sure, narrow, many):
    """Return whether single bins hold clearly fewer rows than both of their neighbours, and whether some hold clearly more.

    Clear is `rise` times and `sure` deviations of noise and sampling; beyond `most_more` times as many, bins hold too many. The bins beside
    all of one kind must hold hardly less or more rows than those beyond, up to `narrow` times their rows and one deviation; and at least
    so `many` bins must hold rows.
    """
    if (counts > max(sure * deviation, 0.5 * float(counts.mean()))).sum() < many:
        return False, False
    own, before, after = counts[2:-2], counts[1:-3], counts[3:-1]
    lower, higher = np.maximum(np.minimum(before, after), 0.0), np.maximum(np.maximum(before, after), 0.0)
    beside, beyond = (before + after) / 2.0, (counts[:-4] + counts[4:]) / 2.0

    def chance(rows):
        return sure * np.sqrt(deviation**2 + np.maximum(rows, 1.0))

    def is_single(found, falls):
        rows = beyond[found]
        return bool(found.any()) and falls[found].sum() <= narrow * rows.sum() + np.sqrt(
            (deviation**2 + np.maximum(rows, 1.0)).sum()
        )

    less = rise * own < lower - chance(lower)
    more = (own > rise * higher + chance(higher)) & (own < most_more * higher + chance(higher))
    return is_single(less, beyond - beside), is_single(more, beside - beyond)


def dispersions_along(counts, variance, difference, median, fewest):
    """Return the medians of how much counts vary per row, without noise: of bins, of every two of them together, and of bins relative to rows.

    Fourth differences are compared with what they are for independent rows, in windows that clearly hold some. Medians of fewer than `fewest`
    numbers are 0.
    """
    medians = []
    for width, windows in ((1, counts), (2, counts[:-1] + counts[1:])):
        n_windows = max(len(windows) - width * (len(difference) - 1), 0)
        parts = [windows[width * k :][:n_windows] for k in range(len(difference))]
        means = sum(parts) / len(parts)
        clear = means > np.maximum(2.0 * np.sqrt(width * variance), 5.0)
        differs = (
            sum(number * part for number, part in zip(difference, parts, strict=True)) ** 2 / (difference**2).sum()
        )
        estimates = ((differs / median - width * variance) / means)[clear]
        is_enough = len(estimates) >= fewest
        medians.append(float(np.median(estimates)) if is_enough else 0.0)
        if width == 1:
            relative = float(np.median(estimates / means[clear])) if is_enough else 0.0
    return *medians, relative


def promising(
    directions, expected, tried, n_hints, most, widths, deviation, depth, empty, seen, apart, least, clear, columns_first
):  # fmt: skip
    """Return the numbers of directions to look along, best first; which of all are not near to those that were tried; and how many are worth it.

    The last `n_hints` directions are hints, which come after the best one, and are never near to tried ones. Others are taken if cells expect
    a valley of at least so many deviations as `least`; near means a cosine of at least `seen` to tried ones, of `apart` to each other. A
    column comes before slanted directions with valleys less than `columns_first` times as deep. `deviation` is that of the noise of a bin
    if one direction is looked along, at most `most` are: so many that the best valley stays `clear`, since noise grows with their number.
    """

    def depths(counts, deviation):
        return clearest_valley(counts, widths, deviation, 1.0, 1.0, depth, empty)[0]

    is_new = np.ones(len(directions), dtype=np.bool_)
    if len(tried):
        near = (np.abs(directions @ tried.T) >= seen).any(axis=1)
        is_new = ~near | (np.arange(len(directions)) >= len(directions) - n_hints)
    if not is_new.any():
        return [], is_new, min(most, 1)
    z = np.where(is_new, depths(expected, deviation), -np.inf)
    best = np.flatnonzero(is_new)[z[is_new].argmax()]
    while most > 1 and depths(expected[[best]], deviation * np.sqrt(most))[0] < clear:
        most -= 1
    worth = np.round(np.where((np.abs(directions) > 0.999).any(axis=1), z * columns_first, z), 6)
    best_first = [i for i in np.argsort(-worth, kind="stable").tolist() if z[i] >= least]
    hinted = list(range(len(directions) - n_hints, len(directions)))
    found: list[int] = []
    for i in best_first[:1] + hinted + best_first[1:]:
        if len(found) < most and all(abs(directions[i] @ directions[j]) < apart for j in found):
            found.append(i)
    return found, is_new, most
