"""Clusters in few columns: hills of the rows' density, by persistence, from wide windows to narrow ones.

Equal windows of rows with a log-concave density have one hill (Prekopa), so two hills that are surely apart are two clusters. Hills
that wide windows have shown keep their places; narrow windows redraw the borders and add hills that must prove themselves.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.finding.dispersion import dispersion_of_grid
from dpmondrian.dpm.finding.grids import Level, Nested, counted, is_divided, repeated, sums_of_blocks
from dpmondrian.dpm.finding.heaps import heap_distances, on_heaps, spread_over
from dpmondrian.dpm.partition import Everything, GridMap, Partition
from dpmondrian.engines import Engine, Grid
from dpmondrian.kernels.hills import flood
from dpmondrian.privacy import Door

__all__ = ["DEPTH", "hills_of_grid", "region_deviation", "windows_of_hills"]

_COARSE_WINDOWS, _WINDOWS, _FINE_WINDOWS = (4, 3, 2), (8, 6, 4, 3, 2), (6, 4, 3, 2)
"""Widths of windows, in bins, of the coarse, the middle and the fine grid."""
_BOXES = {8: (6, 5), 6: (5, 4), 4: (3, 3), 3: (3, 2), 2: (2, 2)}
"""In planes and space a window is a box moved over a box, of these widths: it sees as far in every direction. A square would see 1.41 times
the rows of a slanted curve that it sees of one along its side, and curves would have hills."""
_LINE_Z, _LEAST_Z = 5.0, 2.0
"""Least depth of a pass below a hill, in deviations, along a line, where a pass is the lowest of many windows; and wherever rows lie."""
_OCTAVES = 5
"""In windows up to so many doublings wide rows are looked at for lying along lines."""
_SPIKES = 0.149
"""Two hills need two spikes. Where so many are expected, a table has two or more in 1 % of cases."""
_WAY_AROUND = {2: 0.0, 3: 1.0}
"""So many deviations above the mean a way leads around low windows, from spike to spike: measured on flat, Gaussian and skewed rows
(docs/privacy/finding.md)."""
DEPTH = 0.3
"""However sure, a pass lies this much below the lower of its hills."""
_INDEPENDENT = 4096.0
"""However much rows repeat, a table is taken to hold this many independent ones: enough to show a cluster of one in a hundred."""
_SURE, _CORE = 4.0, 0.4
"""Bins belong to a hill for sure if their window holds this many deviations of rows, and this part of what the top holds."""
_AT_BOUND = 0.02
"""Fewer than this share of all rows at a bound are rows that were clipped to it, not a hill."""
_DOUBT = 0.03
"""Doubt in a hill that is just apart; it falls like the tail of a normal law."""


def hills_of_grid(
    engine: Engine, door: Door, grid: Grid, noisy_total: float, cost: float, least_rows: float
) -> tuple[Partition, NDArray[np.float64]]:
    """Return the hills as a rule for rows, and how sure each of them is."""
    total = max(noisy_total, 1.0)
    nested = _nested(door, grid, total, cost)
    levels = counted(engine, door, nested, cost)
    seeds, doubts = _hills(_cleared(levels, nested, grid, total), nested, total)
    seeds, labels = _without_small(seeds, levels[-1].rows, least_rows)
    hills, labels = np.unique(labels, return_inverse=True)
    if len(hills) == 1:
        return Everything(), np.ones(1)
    return GridMap(nested.widths, labels.reshape(seeds.shape)), 1.0 - doubts[hills]


def windows_of_hills(
    door: Door, grid: Grid, noisy_total: float, cost: float
) -> tuple[list[tuple[NDArray[np.float64], float]], float]:
    """Return the windows in which hills are looked for, and how many deviations a pass must lie below a hill, so that a forecast can ask.

    Of each window its width in every column, as a share of the column's range, and the standard deviation of the noise of its rows.
    """
    nested = _nested(door, grid, max(noisy_total, 1.0), cost)
    deviations = [door.deviation_at(part) for part in nested.costs(cost)]
    windows = [
        (
            np.minimum(width / np.array(shape), 1.0),
            deviation * math.fsum(_weights(width, len(shape))) ** (0.5 * len(shape)),
        )
        for number, (shape, deviation) in enumerate(zip(nested.shapes, deviations, strict=True))
        for width in _widths(number, shape, len(nested.shapes))
    ]
    return windows, _least_z(grid.n_columns, math.prod(nested.shapes[-2]))


def region_deviation(door: Door, grid: Grid, noisy_total: float, cost: float, share: float) -> float:
    """Return the standard deviation of the noise of the rows in such a share of all bins, so that a forecast can ask."""
    nested = _nested(door, grid, max(noisy_total, 1.0), cost)
    return door.deviation_at(nested.costs(cost)[0]) * math.sqrt(share * math.prod(nested.shapes[0]))


def _nested(door: Door, grid: Grid, total: float, cost: float) -> Nested:
    return Nested.of(grid, total, door.deviation_at(0.7 * cost))


def _widths(number: int, shape: tuple[int, ...], n_levels: int) -> list[int]:
    """Return the widths of windows, in bins, of a grid of this shape."""
    is_coarse, is_fine = n_levels == 3 and number == 0, number == n_levels - 1
    widths = _COARSE_WINDOWS if is_coarse else _FINE_WINDOWS if is_fine else _WINDOWS
    return [width for width in widths if 3 * width <= max(shape)]


def _cleared(levels: list[Level], nested: Nested, grid: Grid, total: float) -> list[Level]:
    """Return grids in which neither rows that were clipped to a bound nor heaps of round numbers are hills.

    What a grid has lost at a bound the finer ones lose as well: rows of bins that were not divided are spread over theirs.
    """
    distances = heap_distances(levels)
    kept, cleared = np.ones([1] * levels[0].rows.ndim), []
    for level, shape in zip(levels, nested.shapes, strict=True):
        own_bins = [fine // own for fine, own in zip(nested.shapes[-1], shape, strict=True)]
        kept = repeated(kept, tuple(n // k for n, k in zip(shape, kept.shape, strict=True)))
        rows = level.rows * kept
        within = _without_clipped(rows, grid.last_place // (nested.widths * own_bins), total)
        kept = np.where(within < rows, kept * within / np.maximum(rows, 1e-9), kept)
        cleared.append(Level(within, level.variances))
    return _without_heaps(cleared, nested, distances) if any(distances) else cleared


def _without_heaps(levels: list[Level], nested: Nested, distances: list[float]) -> list[Level]:
    """Return grids whose rows are spread over the distances between heaps, in bins of the finest grid.

    Rows move in the finest grid, and in wider bins with them: of values that are hardly narrower than a bin, some bins hold one and others two.
    """
    moved = spread_over(on_heaps(levels[-2], levels[-1], distances), distances) - levels[-1].rows
    found = []
    for level, shape in zip(levels, nested.shapes, strict=True):
        own_bins = tuple(fine // own for fine, own in zip(nested.shapes[-1], shape, strict=True))
        in_bins = [distance / n for distance, n in zip(distances, own_bins, strict=True)]
        found.append(Level(level.rows + sums_of_blocks(moved, own_bins), spread_over(level.variances, in_bins)))
    return found


def _hills(levels: list[Level], nested: Nested, total: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the hill to which each bin of the finest grid belongs for sure (0: none), and the doubt in every hill."""
    seeds, doubts = np.ones(levels[0].rows.shape, dtype=np.int64), np.zeros(2)
    region, middle = seeds, levels[-2]
    dispersion = min(dispersion_of_grid(middle.rows, middle.variances), max(1.0, total / _INDEPENDENT))
    for number, level in enumerate(levels):
        if number:
            seeds, region = (repeated(field, nested.factors[number - 1]) for field in (seeds, region))
        least_z = _least_z(level.rows.ndim, _n_counted(levels, number))
        for width in _widths(number, level.rows.shape, len(levels)):
            seeds, region, doubts = _at_width(
                level.rows, level.variances, width, seeds, region, doubts, least_z, dispersion
            )
    return seeds, doubts


def _least_z(n_columns: int, n_bins: int) -> float:
    """Return how many deviations a pass must lie below a hill, where so many bins were counted: more, the more places there are to look at."""
    if n_columns == 1:
        return _LINE_Z
    spike = -NormalDist().inv_cdf(min(_SPIKES / n_bins, 0.5))
    return max(_LEAST_Z, (spike - _WAY_AROUND[n_columns]) / math.sqrt(2.0))


def _n_counted(levels: list[Level], number: int) -> int:
    """Return how many bins of a grid were counted: those of a finer one that were not divided show nothing new. At least those of the middle grid."""
    before, level = levels[-2], levels[-1]
    if number < len(levels) - 1:
        return before.rows.size
    return max(before.rows.size, int(is_divided(before, level).sum()))


def _at_width(
    rows: NDArray[np.float64],
    noise: NDArray[np.float64],
    width: int,
    seeds: NDArray[np.int64],
    region: NDArray[np.int64],
    doubts: NDArray[np.float64],
    least_z: float,
    dispersion: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return seeds, regions and doubts after windows of one width were looked at."""
    weights = _weights(width, rows.ndim)
    height, variance = _windows(rows, weights).ravel(), np.maximum(_windows(noise, weights**2), 0.0).ravel()
    sampling = dispersion * np.maximum(height, 0.0)
    flatness = _along_a_line(rows, noise, width)
    least_z += (_LINE_Z - least_z) * flatness
    n_known = int(seeds.max())
    hill, z, tops = flood(
        np.argsort(-height, kind="stable"),
        height,
        variance,
        sampling,
        np.array(rows.shape),
        _highest_of_each(seeds.ravel(), height),
        least_z,
        DEPTH,
    )
    n_hills = len(z) - 1
    if n_hills > n_known:
        divided = np.zeros(n_known + 1, dtype=np.bool_)
        divided[region.ravel()[tops[n_known + 1 :]]] = True
        seeds = np.where(divided[seeds], 0, seeds)  # a hill that was divided is known by its parts
        own = _DOUBT * np.exp(-(1.0 - 0.4 * flatness) * np.maximum(z[n_known + 1 :] ** 2 - least_z**2, 0.0))
        doubts = np.append(doubts[: n_known + 1], np.minimum(own, 1.0))
    if n_hills < 2:
        return seeds, region, doubts
    seen = (region.ravel() == hill) | (hill > n_known)
    return _sure_bins(hill, height, variance, seen, seeds, n_hills), hill.reshape(rows.shape), doubts


def _sure_bins(
    hill: NDArray[np.int64],
    height: NDArray[np.float64],
    variance: NDArray[np.float64],
    seen: NDArray[np.bool_],
    seeds: NDArray[np.int64],
    n_hills: int,
) -> NDArray[np.int64]:
    """Return seeds with the bins that belong to a hill for sure; every hill has at least its top.

    A hill that wider windows have shown is only where they saw it, too (`seen`): the foot of a high hill is higher than the top of a low one.
    """
    top = np.full(n_hills + 1, -np.inf)
    np.maximum.at(top, hill, height)
    sure = seen & (height > _SURE * np.sqrt(variance)) & (height > _CORE * top[hill])
    flat = np.where((hill > 0) & (seeds.ravel() != hill), 0, seeds.ravel())  # where wider windows saw another hill
    flat[sure] = hill[sure]
    for number in range(1, n_hills + 1):
        [own] = np.nonzero(hill == number)
        if len(own) and not np.any(flat == number):
            flat[own[height[own].argmax()]] = number
    return flat.reshape(seeds.shape)


def _highest_of_each(seeds: NDArray[np.int64], height: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of a hill at the highest of its seeds, the last one of equals; 0 elsewhere."""
    mark = np.zeros(len(seeds), dtype=np.int64)
    [known] = np.nonzero(seeds)
    top, last = np.full(int(seeds.max()) + 1, -np.inf), np.full(int(seeds.max()) + 1, -1)
    np.maximum.at(top, seeds[known], height[known])
    highest = known[height[known] == top[seeds[known]]]
    np.maximum.at(last, seeds[highest], highest)
    mark[last[last >= 0]] = np.flatnonzero(last >= 0)
    return mark


def _weights(width: int, n_columns: int) -> NDArray[np.float64]:
    """Return the weights of the bins of a window along a column. Their squares have the same sum, so rows seen vary like rows counted."""
    first, second = (width, 1) if n_columns == 1 else _BOXES[width]
    weights = np.convolve(np.ones(first), np.ones(second))
    even: NDArray[np.float64] = weights * (weights.sum() / (weights**2).sum())
    return even


def _windows(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum over the window around every bin; there is nothing beyond the grid."""
    from scipy.ndimage import correlate1d

    for axis in range(values.ndim):
        values = correlate1d(values, weights, axis=axis, mode="constant")
    return values


def _along_a_line(rows: NDArray[np.float64], noise: NDArray[np.float64], width: int) -> float:
    """Return 1 where rows lie along lines, 0 where they fill a plane or space, or lie in spots; between, by their own dimension.

    That is the logarithm of how many more other rows a square of twice the width holds around a row, without noise. Spots may have any dimension at
    one width, but not at the next as well. What is a line to wider squares only is a band: the more windows side by side, the less it matters.
    """
    if rows.ndim == 1:
        return 1.0
    half = max(rows.shape) / 2
    widths = [width << octave for octave in range(_OCTAVES) if octave < 2 or width << octave <= half]
    others = [float((rows * _squares(rows, wider)).sum() - noise.sum() - rows.sum()) for wider in widths]
    dimensions = [math.log2(after / before) if 0.0 < before < after else 0.0 for before, after in pairwise(others)]
    like_lines = [max(1.0 - abs(dimension - 1.0), 0.0) ** 4 for dimension in dimensions]
    at_two_widths = [min(pair) for pair in pairwise(like_lines)] or like_lines
    return max(like_line / math.sqrt(2.0**octave) for octave, like_line in enumerate(at_two_widths))


def _squares(rows: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the rows in the square around every bin."""
    from scipy.ndimage import uniform_filter

    sums: NDArray[np.float64] = uniform_filter(rows, width, mode="constant") * width**rows.ndim
    return sums


def _without_clipped(rows: NDArray[np.float64], last: NDArray[np.int64], total: float) -> NDArray[np.float64]:
    """Return counts in which the few rows at a bound are no hill of their own; `last` is the last bin of each column that can hold rows."""
    rows = rows.copy()
    for axis in range(rows.ndim):
        along = np.moveaxis(rows, axis, 0)
        if last[axis] < 2:
            continue
        for edge, beside in ((0, 1), (int(last[axis]), int(last[axis]) - 1)):
            if along[edge].sum() < _AT_BOUND * total:
                along[edge] = np.minimum(along[edge], np.maximum(along[beside], 0.0))
    return rows


def _without_small(
    seeds: NDArray[np.int64], rows: NDArray[np.float64], least_rows: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return seeds and the hill of every bin, the nearest seed's, after hills with too few rows went to their neighbours."""
    labels = _nearest_seed(seeds)
    while True:
        sizes = np.bincount(labels.ravel(), rows.ravel())
        hills = np.unique(labels)
        smallest = int(hills[sizes[hills].argmin()])
        if len(hills) == 1 or sizes[smallest] >= least_rows:
            return seeds, labels
        seeds = np.where(seeds == smallest, 0, seeds)
        labels = _nearest_seed(seeds)


def _nearest_seed(seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the hill of the nearest seed of every bin; distances are in shares of the columns' ranges."""
    from scipy.ndimage import distance_transform_edt

    if not seeds.any():
        return np.ones_like(seeds)
    nearest = distance_transform_edt(
        seeds == 0, sampling=[1.0 / n for n in seeds.shape], return_distances=False, return_indices=True
    )
    labels: NDArray[np.int64] = seeds[tuple(nearest)]
    return labels
