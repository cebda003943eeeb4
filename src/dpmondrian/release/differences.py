"""What sets a cluster apart from all rows: from released values only, and nothing that their noise could have made.

A numeric column differs by how far the centre of the cluster is from the mean of all rows, as a share of the column's range: the distance
by which rows were clustered. A column of categories differs by the largest difference of a share. Both are from 0 to 1, and the same for
a column of the values 0 and 1. A difference is told only if noise would hardly have made it in any of the clusters, columns and
categories that were looked at (Bonferroni), and, of a numeric column, if the histograms, which have noise of their own, agree: that a row
of the cluster is more often above a row of the table than below, or less often (Cliff's delta).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release.histograms import ColumnProfile, Part
from dpmondrian.schema import Column

HIGHER, LOWER, MORE, FEWER = "higher", "lower", "more", "fewer"
"""Ways to differ: values of a numeric column, rows of a category."""

LEAST_DIFFERENCE, LEAST_CERTAINTY = 0.05, 0.95
"""Smaller differences set nothing apart, however certain; less certain ones may be noise."""
_AGREEMENT = 1.644854
"""Deviations of noise by which the histograms must agree: one time of 20 they would by chance."""


@dataclass(frozen=True)
class Difference:
    """One column in which a cluster differs from all rows.

    Attributes
    ----------
    kind : {"higher", "lower", "more", "fewer"}
        Values are higher or lower, or rows of the category are more or fewer.
    size : float
        From 0 (no difference) to 1: how far the centre is from the mean of all rows, as a share of the column's range; of categories the
        difference of the two shares.
    certainty : float
        Probability that a difference of this size is not the work of noise, all that was looked at taken into account.
    own, every : ColumnProfile
        The column in the cluster and in all rows.
    category : str or None
        The category whose share differs most.
    """

    kind: str
    size: float
    certainty: float
    own: ColumnProfile
    every: ColumnProfile
    category: str | None = None

    @property
    def is_more(self) -> bool:
        """Whether values are higher, or rows of the category (or of yes) are more, than in all rows."""
        return self.kind in (HIGHER, MORE)

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.own.column.name


class Effect(NamedTuple):
    """A signed difference with its variance by noise, and the bin that it is about (-1 for all)."""

    size: float
    variance: float
    category: int = -1


_RARER = 0.8
"""A category that is rarer is named only if its difference is clearly the largest: what there is more of says more."""
_NONE = Effect(0.0, 1.0)


def certain_differences(
    every: Sequence[ColumnProfile], centres: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[tuple[Difference, ...], ...]:
    """Return for every cluster how it differs from all rows, largest first.

    `every` has the clusters' parts of each column. `centres` and their `errors`, both (n_clusters, n_columns), are on the scales of
    the columns; those of categories are not looked at.
    """
    n_clusters, n_looked_at = (
        len(centres),
        len(centres) * int(np.sum([len(column.categories or (0,)) for column in every])),
    )
    found: list[list[Difference]] = [[] for _ in range(n_clusters)]
    for column, own_centres, own_errors in zip(every, centres.T, errors.T, strict=True):
        for cluster, effect in enumerate(_effects(column, own_centres, own_errors)):
            certainty = _certainty(effect, n_looked_at)
            if certainty >= LEAST_CERTAINTY and abs(effect.size) >= LEAST_DIFFERENCE:
                found[cluster].append(_difference(column, cluster, effect, certainty))
    return tuple(tuple(sorted(own, key=lambda one: -one.size)) for own in found)


def _effects(column: ColumnProfile, centres: NDArray[np.float64], errors: NDArray[np.float64]) -> Sequence[Effect]:
    """Return the differences of a column in all clusters; none where the histograms do not show a shift of the centre."""
    if column.categories:
        return category_effects(column.parts)
    shifts, deltas = centre_effects(column, centres, errors), numeric_effects(column.parts)
    return [shift if _agrees(shift, delta) else _NONE for shift, delta in zip(shifts, deltas, strict=True)]


def _agrees(shift: Effect, delta: Effect) -> bool:
    """Return whether the histograms show a difference in the same direction."""
    return bool(delta.size * np.sign(shift.size) >= _AGREEMENT * math.sqrt(delta.variance))


def centre_effects(
    column: ColumnProfile, centres: NDArray[np.float64], errors: NDArray[np.float64]
) -> Sequence[Effect]:
    """Return how far the centres of all clusters are from the mean of all rows, as shares of the column's range."""
    assert isinstance(column.column, Column)
    sizes = np.array([max(float(part.counts.sum()), 0.0) for part in column.parts])
    weight = sizes / max(float(sizes.sum()), 1.0)
    width = column.column.range
    shifts = (centres - weight @ centres) / width
    variances = ((1.0 - 2.0 * weight) * errors**2 + (weight**2 @ errors**2)) / width**2
    return [Effect(float(shift), max(float(variance), 0.0)) for shift, variance in zip(shifts, variances, strict=True)]


def _certainty(effect: Effect, n_looked_at: int) -> float:
    """Return the probability that noise alone would not have made an effect as large, of so many that were looked at."""
    deviations = abs(effect.size) / math.sqrt(max(effect.variance, np.finfo(np.float64).tiny))
    return 1.0 - min(1.0, n_looked_at * math.erfc(deviations / math.sqrt(2.0)))


def _difference(column: ColumnProfile, cluster: int, effect: Effect, certainty: float) -> Difference:
    up, down = (MORE, FEWER) if column.categories else (HIGHER, LOWER)
    own = ColumnProfile(column.column, (column.parts[cluster],))
    category = column.categories[effect.category] if column.categories else None
    return Difference(up if effect.size > 0 else down, abs(effect.size), certainty, own, column, category)


def category_effects(parts: Sequence[Part]) -> list[Effect]:
    """Return for every cluster the largest difference of a category's share from that in all rows."""
    counts = np.array([part.counts for part in parts])
    totals = np.maximum(counts.sum(axis=1), 1.0)
    whole, every = max(float(totals.sum()), 1.0), counts.sum(axis=0) / max(float(totals.sum()), 1.0)
    noise, of_totals = _variances_of(parts)
    effects = []
    for cluster, total in enumerate(totals.tolist()):
        own = counts[cluster] / total
        differing = int(np.argmax(np.where(own > every, own - every, _RARER * (every - own))))
        one = np.eye(len(every))[differing]
        in_all = (one - every[differing]) / whole
        others = Part(every, every, float(np.delete(noise, cluster).sum()), float(np.delete(of_totals, cluster).sum()))
        variance = parts[cluster].variances((one - own[differing]) / total - in_all) + others.variances(in_all)
        effects.append(Effect(float(own[differing] - every[differing]), float(variance), differing))
    return effects


def numeric_effects(parts: Sequence[Part]) -> list[Effect]:
    """Return Cliff's delta of every cluster against all rows: how much more often its rows are above than below those of the table."""
    grid = np.unique(np.concatenate([part.edges for part in parts]))
    bins = _Bins.of(parts, grid)
    totals = np.array([max(float(part.counts.sum()), 1.0) for part in parts])
    whole, every = float(totals.sum()), np.zeros(len(grid))
    for part in parts:
        every += part.cumulated(grid)
    above_every = bins.means(every / whole)
    effects = []
    for part, total, own in zip(parts, totals.tolist(), bins.slices, strict=True):
        size = 2.0 * float((part.counts / total) @ above_every[own]) - 1.0
        weights = (1.0 - size - 2.0 * bins.means(part.cumulated(grid) / total)) / whole
        weights[own] += (2.0 * above_every[own] - (1.0 + size)) / total
        effects.append(Effect(min(max(size, -1.0), 1.0), bins.variance(weights)))
    return effects


def _variances_of(parts: Sequence[Part]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variances by noise of a bin, and of all bins together, of every part."""
    return np.array([part.variance for part in parts]), np.array([part.total_variance for part in parts])


@dataclass(frozen=True)
class _Bins:
    """The bins of all parts in one row, so that many clusters are compared without a step for each pair of them."""

    grid: NDArray[np.float64]  # all edges
    ends: tuple[NDArray[np.int64], NDArray[np.int64]]  # which of these are the lower and the upper ones
    firsts: NDArray[np.int64]  # of each part
    sizes: NDArray[np.int64]
    noise: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(cls, parts: Sequence[Part], grid: NDArray[np.float64]) -> _Bins:
        lower, upper = (np.concatenate([part.edges[end] for part in parts]) for end in (slice(-1), slice(1, None)))
        sizes = np.array([len(part.counts) for part in parts])
        ends = np.searchsorted(grid, lower), np.searchsorted(grid, upper)
        return cls(grid, ends, np.cumsum(sizes) - sizes, sizes, _variances_of(parts))

    @property
    def slices(self) -> list[slice]:
        """Where the bins of each part are."""
        return [
            slice(first, first + size) for first, size in zip(self.firsts.tolist(), self.sizes.tolist(), strict=True)
        ]

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means over every bin of a function that is given on the grid."""
        area = np.append(0.0, np.cumsum(np.diff(self.grid) * (values[1:] + values[:-1]) / 2.0))
        lower, upper = self.ends
        means: NDArray[np.float64] = (area[upper] - area[lower]) / (self.grid[upper] - self.grid[lower])
        return means

    def variance(self, weights: NDArray[np.float64]) -> float:
        """Return the variance by noise of a weighted sum over the bins of all parts, as `Part.variances` does for one."""
        squares, sums = (np.add.reduceat(each, self.firsts) for each in (weights**2, weights))
        noise, of_totals = self.noise
        spread = np.maximum(squares - sums**2 / self.sizes, 0.0)
        return float((noise * spread + of_totals * (sums / self.sizes) ** 2).sum())
