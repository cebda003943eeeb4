"""Values on which rows heap, such as ages that people round to five years: spikes at equal distances, which are no clusters.

Where a grid or a line shows them, rows are spread over the distance between two heaps. That is a convolution with boxes, which leaves a
log-concave density log-concave. Values hardly wider or narrower than a bin make no spikes but single bins that hold one value less than
others, or one more: along a line these are evened out. Post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.finding.grids import Level
from dpmondrian.kernels.heaps import single_bins, spikes

__all__ = ["evened", "heap_distances", "spread_over"]

_RISE = 1.5
"""A heap holds so many times the rows of the bins beside it, beyond chance."""
_CHANCE = 4.0
"""Deviations, of noise and sampling, that chance explains."""
_NARROW = 0.15
"""The bins beside a heap hold hardly more rows than those beyond, relative to its own; a cluster's do."""
_JITTER, _REGULAR = 1.0, 0.8
"""Most distances between heaps are alike but for a bin."""
_BY_CHANCE = 0.01
"""Spikes at any places are at equal distances with less than this probability, or they are no heaps."""
_TIMES = 2
"""So often rows are spread: the places of heaps are known to a bin, so that a single box leaves gaps between some and doubles others."""

_SURE = 3.0
"""Bins that hold a value less or more than others lie so many deviations below or above both of their neighbours."""
_MOST_MORE = 2.5
"""They hold at most so many times the rows: two values where others hold one."""
_MANY = 12
"""Fewer bins that hold rows may be clusters with gaps between."""


def evened(counts: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """Return counts along a line, with noise of this deviation, in which distances between values are no gaps.

    Of values hardly wider apart than a bin, a bin now and then holds none; of values hardly nearer, one holds two. Such a bin has full bins
    on both sides, while density falls towards a gap between clusters. What has one hill keeps one.
    """
    distance = _distance(counts, np.full(len(counts), deviation**2))
    if distance:
        return spread_over(counts, [distance])
    less, more = single_bins(counts, deviation, _RISE, _MOST_MORE, _SURE, _NARROW, _MANY)
    if less:
        counts = _between(counts, np.maximum, np.minimum)
    if more:
        counts = _between(counts, np.minimum, np.maximum)
    return counts


def _between(counts: NDArray[np.float64], at_least: np.ufunc, of_both: np.ufunc) -> NDArray[np.float64]:
    """Return counts of which none lies below both of its neighbours, or above them."""
    evened = counts.copy()
    evened[1:-1] = at_least(counts[1:-1], of_both(counts[:-2], counts[2:]))
    return evened


def heap_distances(finest: Level) -> list[float]:
    """Return the distance between heaps along each column, in bins of the finest grid; 0 where there are none.

    Heaps may lie on heaps: on whole numbers first, then on every fifth of them.
    """
    axes = range(finest.rows.ndim)
    found = []
    for axis in axes:
        others = tuple(other for other in axes if other != axis)
        rows, variances = finest.rows.sum(axis=others), finest.variances.sum(axis=others)
        distance = _distance(rows, variances)
        if distance:
            group = np.rint(np.arange(len(rows)) / distance).astype(np.int64)
            gathered = (np.bincount(group, field).astype(np.float64) for field in (rows, variances))
            distance *= max(1.0, _distance(*gathered))
        found.append(distance)
    return found


def _distance(rows: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """Return the distance between heaps along a histogram, in bins; 0 if there are none."""
    heaps = spikes(rows, variances, _RISE, _CHANCE, _NARROW)
    if len(heaps) < 3:
        return 0.0
    gaps = np.diff(heaps)
    alike = np.abs(gaps - np.median(gaps)) <= _JITTER
    is_regular = alike.mean() >= _REGULAR and _probability(len(gaps), float(np.median(gaps))) < _BY_CHANCE
    return float(gaps[alike].mean()) if is_regular else 0.0


def _probability(n_gaps: int, gap: float) -> float:
    """Return how likely gaps are alike if spikes lie anywhere: gaps then have a geometric law, and three values count as alike."""
    return float(min(1.0, (2.0 * _JITTER + 1.0) / (math.e * gap)) ** (n_gaps - 1))


def spread_over(field: NDArray[np.float64], distances: list[float]) -> NDArray[np.float64]:
    """Return rows in bins, or their variances, spread over these distances, in bins, along every column.

    The variances are upper bounds of those of windows: a window holds at most all of a bin, and squares of parts are less than parts.
    """
    from scipy.ndimage import convolve1d

    for axis, distance in enumerate(distances):
        if distance > 1.0:
            whole = 2 * math.floor((distance - 1.0) / 2.0) + 1
            edge = (distance - whole) / 2.0
            box = np.array([edge, *[1.0] * whole, edge]) / distance
            for _ in range(_TIMES):
                field = convolve1d(field, box, axis=axis, mode="reflect")
    return field
