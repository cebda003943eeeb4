"""Values on which rows heap, such as ages that people round to five years: spikes at equal distances, which are no clusters.

Where a grid or a line shows them, rows are spread over the distance between two heaps. That is a convolution with boxes, which leaves a
log-concave density log-concave. Values hardly wider or narrower than a bin make no spikes but single bins that hold one value less than
others, or one more: along a line these are evened out. Post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.finding.grids import Level, is_divided, repeated
from dpmondrian.kernels.heaps import single_bins, spikes

__all__ = ["evened", "heap_distances", "on_heaps", "spread_over"]

_RISE = 1.5
"""A heap holds so many times the rows of the bins beside it, beyond chance."""
_CHANCE = 4.0
"""Deviations, of noise and sampling, that chance explains."""
_NARROW = 0.15
"""The bins beside a heap hold hardly more rows than those beyond, relative to its own; a cluster's do."""
_JITTER, _REGULAR = 1.0, 0.8
"""Most distances between heaps are alike but for a bin."""
_LEADS = np.linspace(-0.5, 0.5, 41)
"""Over a whole column, a distance that is known from spikes leads at most this part of itself astray."""
_BY_CHANCE = 0.01
"""Spikes at any places are at equal distances with less than this probability, or they are no heaps."""
_ALL = 0.95
"""Heaps that are seen in wide bins hold this share of all rows: clusters as narrow as such a bin also fill those beside it."""

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


def heap_distances(levels: list[Level]) -> list[float]:
    """Return the distance between heaps along each column, in bins of the finest grid; 0 where there are none.

    Where few rows divide the bins of the middle grid, only that one shows heaps: those that hold nearly all rows, as bins there are as wide as
    some clusters.
    """
    wider = [fine // own for fine, own in zip(levels[-1].rows.shape, levels[-2].rows.shape, strict=True)]
    return [_along(levels[-1], axis) or n * _along(levels[-2], axis, _ALL) for axis, n in enumerate(wider)]


def _along(level: Level, axis: int, least_share: float = 0.0) -> float:
    """Return the distance between heaps along a column that hold such a share of all rows, in bins; 0 if there are none.

    Heaps may lie on heaps: on whole numbers first, then on every fifth of them.
    """
    others = tuple(other for other in range(level.rows.ndim) if other != axis)
    rows, variances = level.rows.sum(axis=others), level.variances.sum(axis=others)
    distance = _distance(rows, variances, least_share)
    if not distance:
        return 0.0
    group = np.rint(np.arange(len(rows)) / distance).astype(np.int64)
    rows_of_group, variance_of_group = (np.bincount(group, field).astype(np.float64) for field in (rows, variances))
    return distance * max(1.0, _distance(rows_of_group, variance_of_group))


def _distance(rows: NDArray[np.float64], variances: NDArray[np.float64], least_share: float = 0.0) -> float:
    """Return the distance between heaps along a histogram that hold such a share of its rows, in bins; 0 if there are none.

    A spike at a bound is the end of a scale, or rows that were clipped to it: it counts if it is where the others lead one to expect a heap.
    """
    heaps, last = spikes(rows, variances, _RISE, _CHANCE, _NARROW), len(rows) - 1
    for some in (heaps, heaps[(heaps > 1) & (heaps < last - 1)]):
        if len(some) < 3 or rows[some].sum() < least_share * rows.sum():
            continue
        gaps = np.diff(some)
        alike = np.abs(gaps - np.median(gaps)) <= _JITTER
        n_at_bounds = int(some[0] == 0) + int(some[-1] >= last - 1)
        by_chance = _probability(len(gaps), float(np.median(gaps))) * _probability_of_bin(len(rows)) ** n_at_bounds
        if alike.mean() >= _REGULAR and by_chance < _BY_CHANCE:
            return float(gaps[alike].mean())
    return 0.0


def _probability(n_gaps: int, gap: float) -> float:
    """Return how likely gaps are alike if spikes lie anywhere: gaps then have a geometric law, and three values count as alike."""
    return float(min(1.0, (2.0 * _JITTER + 1.0) / (math.e * gap)) ** (n_gaps - 1))


def _probability_of_bin(n_bins: int) -> float:
    """Return how likely a spike that lies anywhere is within a bin of a bound, or of any other place."""
    return min(1.0, (2.0 * _JITTER + 1.0) / n_bins)


def on_heaps(before: Level, finest: Level, distances: list[float]) -> NDArray[np.float64]:
    """Return rows in the finest grid, those of bins that were not divided on the heaps within them.

    Spread evenly over such a bin, they would stay in it, and a bin that lies between two heaps would stay a gap.
    """
    factor = tuple(fine // own for fine, own in zip(finest.rows.shape, before.rows.shape, strict=True))
    rows = repeated(before.rows, factor)
    for axis, (distance, n_parts) in enumerate(zip(distances, factor, strict=True)):
        others = tuple(other for other in range(rows.ndim) if other != axis)
        shares = _shares_of_heaps(finest.rows.sum(axis=others), distance, n_parts)
        rows = rows * np.expand_dims(shares, others)
    gathered: NDArray[np.float64] = np.where(is_divided(before, finest), finest.rows, rows)
    return gathered


def _shares_of_heaps(rows: NDArray[np.float64], distance: float, n_parts: int) -> NDArray[np.float64]:
    """Return which share of the rows of a wider bin, of so many parts, is in each bin of a column: even shares where a wider bin has no heap.

    Distance and place of the heaps are those of the wave that fits the rows of the column best.
    """
    n_bins = len(rows)
    is_heap = np.zeros(n_bins)
    if distance > 1.0:
        tried = distance * (1.0 + _LEADS * distance / n_bins)
        waves = np.exp(2j * math.pi * np.arange(n_bins) / tried[:, None]) @ rows
        best = int(np.abs(waves).argmax())
        first = float(np.angle(waves[best])) / (2.0 * math.pi) * tried[best]
        places = np.rint(np.arange(first, n_bins, tried[best])).astype(np.int64)
        is_heap[places[(places >= 0) & (places < n_bins)]] = 1.0
    in_bins = is_heap.reshape(-1, n_parts)
    n_heaps = in_bins.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.where(n_heaps > 0, in_bins / np.maximum(n_heaps, 1.0), 1.0 / n_parts)
    return shares.ravel()


def spread_over(field: NDArray[np.float64], distances: list[float]) -> NDArray[np.float64]:
    """Return rows in bins, or their variances, spread over these distances, in bins, along every column.

    They are spread twice: the places of heaps are known to a bin, so that a single box leaves gaps between some and doubles others. Of a heap at a
    bound, half is spread beyond it, so density is even up to the bound. The variances are upper bounds of those of windows: a window holds at
    most all of a bin, and squares of parts are less than parts.
    """
    from scipy.ndimage import convolve1d

    for axis, distance in enumerate(distances):
        if distance > 1.0:
            whole = 2 * math.floor((distance - 1.0) / 2.0) + 1
            edge = (distance - whole) / 2.0
            box = np.array([edge, *[1.0] * whole, edge]) / distance
            field = convolve1d(field, np.convolve(box, box), axis=axis, mode="constant")
    return field
