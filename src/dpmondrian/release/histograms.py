"""One column of a cluster or of all rows: private histograms, and the spread, quartiles and shares that follow. Post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release.coreset import numbers_of
from dpmondrian.release.measured import DEVIATIONS, Measured
from dpmondrian.schema import Category, Column

_POINTS = 8
"""Points within a bin at which a cumulated number of rows is looked at."""
_BEND = 0.35
"""Standard error of where rows lie within a bin: so many times its rows times u (1 - u) at the share u of its width. A density that
falls to a fifth from one end of the bin to the other is two of these away from an even one."""
_SEEN = 3.0
"""Deviations of noise above which a bin surely holds rows."""
_SEEN_AMONG_ALL = 4.5
"""The same where all bins of all clusters and columns are looked at: noise makes one of 300,000 as large. Far from the others, it would
outweigh them."""
_EXPECTED_OFF = 0.5
"""Standard deviation of rows in a bin from those expected there, as a part of these."""
_LARGEST_COUNT = 2**62
_MOST_EDGES = 33
"""Of the histogram of all rows, whose clusters have bins of their own."""
_NARROW = 2.0**-15
"""Part of its range that the own bin of a bound takes at most."""
_MOST_LOOKED_AT = 512
"""Edges between which quantiles are sought: more clusters than some 30 have more, all the nearer to each other."""


@dataclass(frozen=True)
class Histogram:
    """Noisy numbers of rows of one cluster in the bins of one column, as they were released.

    Attributes
    ----------
    counts : int64 array of shape (n_bins,)
    edges : float64 array of shape (n_bins + 1,) or None
        Bin b holds the values in ``(edges[b], edges[b + 1]]``, the first one also its lower end. The first edge of whole numbers is
        one less than the smallest. None for a column of categories, which has a bin for each.
    """

    counts: NDArray[np.int64]
    edges: NDArray[np.float64] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the histogram as plain JSON values."""
        return {"counts": self.counts.tolist()} | ({} if self.edges is None else {"edges": self.edges.tolist()})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], column: Column | Category) -> Histogram:
        """Return the histogram that `to_dict` described; raise ValueError, TypeError or KeyError if it is none of this column."""
        counts = values["counts"]
        if not all(type(count) is int and abs(count) < _LARGEST_COUNT for count in counts):
            raise ValueError("a count of a profile is not a whole number, or too large")
        if isinstance(column, Category):
            if len(counts) != len(column.levels):
                raise ValueError("a profile does not have a count for every category")
            return cls(np.array(counts, dtype=np.int64))
        edges = numbers_of(values["edges"], (len(counts) + 1,))
        ends = (np.ceil(column.lower) - 1.0, np.floor(column.upper)) if column.whole else (column.lower, column.upper)
        whole = not column.whole or np.array_equal(edges, np.rint(edges))
        if not counts or np.any(np.diff(edges) <= 0.0) or (edges[0], edges[-1]) != ends or not whole:
            raise ValueError("the edges of a profile do not ascend from one bound of the column to the other")
        return cls(np.array(counts, dtype=np.int64), edges)


@dataclass(frozen=True)
class Part:
    """The rows of one cluster in one column: estimates without bias, and their noise.

    The noise of the counts is that of independent bins around their mean, and that of their total, spread evenly.
    """

    edges: NDArray[np.float64]  # on the scale of the column; of categories their numbers
    counts: NDArray[np.float64]
    variance: float
    total_variance: float

    def variances(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variances of weighted sums of the counts; the last axis runs over bins."""
        return self._variances((weights**2).sum(axis=-1), weights.sum(axis=-1))

    def _variances(self, squares: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
        n_bins = len(self.counts)
        spread = np.maximum(squares - sums**2 / n_bins, 0.0)
        variances: NDArray[np.float64] = self.variance * spread + self.total_variance * (sums / n_bins) ** 2
        return variances

    def cumulated(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows up to points; within a bin they are spread evenly."""
        rows: NDArray[np.float64] = np.interp(points, self.edges, np.append(0.0, np.cumsum(self.counts)))
        return rows

    def doubt(
        self, points: NDArray[np.float64], share: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variance by noise of ``cumulated - share * total`` at points, and its error from where rows lie within a bin.

        There is a line for each share, of shape (n_shares, 1); the error is that of all.
        """
        n_bins = len(self.counts)
        begin = np.clip(np.searchsorted(self.edges, points, side="right") - 1, 0, n_bins - 1)
        width = np.maximum(np.diff(self.edges), np.finfo(np.float64).tiny)
        inside = np.clip((points - self.edges[begin]) / width[begin], 0.0, 1.0)
        squares = begin * (1.0 - share) ** 2 + (inside - share) ** 2 + (n_bins - begin - 1) * share**2
        bend = _BEND * np.maximum(self.counts[begin], 0.0) * inside * (1.0 - inside)
        return self._variances(squares, begin + inside - n_bins * share), bend

    @cached_property
    def plausible(self) -> NDArray[np.float64]:
        """The nearest counts that are not negative, with the same total."""
        return _plausible(self.counts)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which bins surely hold rows."""
        seen: NDArray[np.bool_] = self.counts > _SEEN * np.sqrt(self.variance)
        return seen

    @cached_property
    def clear(self) -> NDArray[np.float64]:
        """Counts that are none up to twice their noise and shrink beyond, with the same total: for what far bins outweigh."""
        shrunk = np.maximum(self.counts - 4.0 * self.variance / np.maximum(self.counts, np.sqrt(self.variance)), 0.0)
        if not shrunk.any():
            return self.plausible
        return shrunk * (max(float(self.counts.sum()), 0.0) / float(shrunk.sum()))

    def believed(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return counts between what is expected, as shares of the rows, and what was counted.

        The more rows are expected in a bin, the more its count may tell; where none are, only one that is clearly no noise.
        """
        expected = expected * max(float(self.counts.sum()), 1.0)
        off, prior = self.counts - expected, (_EXPECTED_OFF * expected) ** 2
        clear = 1.0 - _SEEN_AMONG_ALL**2 * self.variance / np.maximum(off**2, np.finfo(np.float64).tiny)
        return np.maximum(expected + np.maximum(prior / (prior + self.variance), clear) * off, 0.0)


@dataclass(frozen=True)
class ColumnProfile:
    """One column of a cluster, or of all rows, as its histograms show it.

    Attributes
    ----------
    column : Column or Category
    """

    column: Column | Category
    parts: tuple[Part, ...] = field(repr=False)

    @property
    def categories(self) -> tuple[str, ...] | None:
        """The categories, which are the bins; None for a numeric column."""
        return self.column.levels if isinstance(self.column, Category) else None

    @cached_property
    def _scale_edges(self) -> NDArray[np.float64]:
        """The edges of all parts together, thinned out if they are many."""
        edges = np.unique(np.concatenate([part.edges for part in self.parts]))
        return edges if len(self.parts) == 1 or self.categories else _thinned(edges, _MOST_EDGES)

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """The ends of the bins in the units of the column, shape (n_bins + 1,), see `Histogram`; None for categories."""
        return None if self.categories else self._values(self._scale_edges)

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Rows in every bin, shape (n_bins,): the nearest numbers to the released ones that are not negative and add up to `size`."""
        if self.categories:  # all clusters have the same bins: their noise is taken together
            return _plausible(np.sum([part.counts for part in self.parts], axis=0))
        cumulated = [
            np.interp(self._scale_edges, part.edges, np.append(0.0, np.cumsum(part.plausible))) for part in self.parts
        ]
        return np.diff(np.sum(cumulated, axis=0))

    @property
    def errors(self) -> NDArray[np.float64]:
        """Standard errors of the noise in the counts, shape (n_bins,); bins that were thinned out are approximate."""
        return np.full(len(self.counts), np.sqrt(math.fsum(part.variance for part in self.parts)))

    @property
    def size(self) -> float:
        """Number of rows, with noise."""
        return max(float(math.fsum(part.counts.sum() for part in self.parts)), 0.0)

    def _values(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in the units of the column from its scale."""
        assert isinstance(self.column, Column)
        return np.clip(np.exp(places), self.column.lower, self.column.upper) if self.column.log else places

    @cached_property
    def shares(self) -> tuple[Measured, ...]:
        """The share of the rows in every bin, in the order of the categories or bins of a column with the same bins everywhere."""
        counts, size = self.counts, max(self.size, 1.0)
        found = []
        for b, share in enumerate(np.clip(counts / size, 0.0, 1.0).tolist()):
            weights = np.eye(len(counts))[b] - share
            variance = float(math.fsum(part.variances(weights) for part in self.parts))
            found.append(Measured.around(share, float(np.sqrt(variance)) / size, 0.0, 1.0))
        return tuple(found)

    @property
    def share_of(self) -> dict[str, Measured]:
        """The share of every category, by name."""
        return dict(zip(self.categories or (), self.shares, strict=False))

    @cached_property
    def quartiles(self) -> tuple[Measured, Measured, Measured]:
        """The values below which a quarter, half and three quarters of the rows lie, of a numeric column."""
        first, second, third = self._quantiles(0.25, 0.5, 0.75)
        return first, second, third

    def quantile(self, share: float) -> Measured:
        """Return the value up to which this share of the rows lies. The interval holds noise and the width of bins."""
        return self._quantiles(share)[0]

    def _quantiles(self, *shares: float) -> list[Measured]:
        edges = _thinned(np.unique(np.concatenate([part.edges for part in self.parts])), _MOST_LOOKED_AT)
        steps = np.arange(_POINTS) / _POINTS
        points = np.append((edges[:-1, None] + np.diff(edges)[:, None] * steps).ravel(), edges[-1])
        beyond, noise, bend = np.zeros((3, len(shares), len(points)))
        share = np.array(shares)[:, None]
        for part in self.parts:  # one after the other: side by side, those of many clusters would fill the memory
            beyond += part.cumulated(points) - share * part.counts.sum()
            doubt = part.doubt(points, share)
            noise += doubt[0]
            bend += doubt[1]
        reach = DEVIATIONS * np.sqrt(noise + bend**2)
        return [self._crossed(points, *lines) for lines in zip(beyond, reach, strict=True)]

    def _crossed(
        self, points: NDArray[np.float64], beyond: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> Measured:
        """Return where rows beyond a share begin, from how many are beyond it at points, and the error of that."""
        assert isinstance(self.column, Column)
        rising = (np.maximum.accumulate(beyond) + np.minimum.accumulate(beyond[::-1])[::-1]) / 2.0
        low, value = _crossing(points, beyond + reach), self._or_bound(_crossing(points, rising))
        high = -_crossing(-points[::-1], (reach - beyond)[::-1])
        ends = self._values(np.array([low, value, high]))
        if self.column.whole:
            ends = np.clip(np.ceil(ends - 1e-9), np.ceil(self.column.lower), np.floor(self.column.upper))
        low, value, high = ends.tolist()
        return Measured(value, min(low, value), max(high, value))

    def _or_bound(self, value: float) -> float:
        """Return the bound in the place of a value that lies in the bound's own bin, which is too narrow for anything else: amounts are often none."""
        lower, upper = self.parts[0].edges[[0, -1]].tolist()
        first, last = min(part.edges[1] for part in self.parts), max(part.edges[-2] for part in self.parts)
        narrow = (upper - lower) * _NARROW
        if value <= first <= lower + narrow:
            return float(lower)
        return float(upper) if value > last >= upper - narrow else value

    def fitted(self, near: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
        """Return values of a cluster, on the scale of the column, as many in every bin as its histogram says, in the same order.

        Those that lie in the right bin stay; the others are drawn from it anew, evenly.
        """
        assert isinstance(self.column, Column)
        [part] = self.parts
        own = np.clip(np.searchsorted(part.edges, near) - 1, 0, len(part.counts) - 1)
        cumulated = np.cumsum(part.believed(np.bincount(own, minlength=len(part.counts)) / len(near)))
        rank = (np.argsort(np.argsort(near)) + 0.5) / len(near) * cumulated[-1]
        bins = np.minimum(np.searchsorted(cumulated, rank), len(cumulated) - 1)
        low, high = part.edges[bins], part.edges[bins + 1]
        anew = low + (high - low) * generator.random(len(near))
        values: NDArray[np.float64] = np.where((near > low) & (near <= high), near, anew)
        return np.ceil(values) if self.column.whole else values

    def share_above(self, value: float) -> float:
        """Return the share of the rows of a numeric column that are above a value."""
        assert isinstance(self.column, Column)
        at = np.array([math.log(value) if self.column.log else value])
        rows = math.fsum(
            float(np.interp(at, part.edges, np.append(0.0, np.cumsum(part.plausible)))[0]) for part in self.parts
        )
        return min(max(1.0 - rows / max(self.size, 1.0), 0.0), 1.0)

    @property
    def scale_median(self) -> Measured:
        """The median on the scale of the column; none of categories."""
        if not isinstance(self.column, Column):
            return Measured(0.0, 0.0, 0.0)
        median = self.quartiles[1]
        return Measured(*map(math.log, median)) if self.column.log else median

    @cached_property
    def sd(self) -> Measured:
        """Standard deviation of a numeric column, of logarithms on a log scale.

        Noise hides the few far rows that could make it much larger, and the interval says so. Its lower end counts the rows that can
        be seen.
        """
        assert isinstance(self.column, Column)
        size, clear = max(self.size, 1.0), max(math.fsum(float(part.clear.sum()) for part in self.parts), 1.0)
        middles = [(part.edges[1:] + part.edges[:-1] + self.column.whole) / 2.0 for part in self.parts]
        mean = math.fsum(float(middle @ part.clear) for middle, part in zip(middles, self.parts, strict=True)) / clear
        squares = [_squares(part.edges - mean, self.column.whole) for part in self.parts]
        pairs = list(zip(squares, self.parts, strict=True))
        value = math.fsum(float(even @ part.clear) for (even, _), part in pairs) / clear
        inside = math.fsum(float(half @ part.clear) for (_, half), part in pairs) / clear / 2.0
        whole, reach = _mean_with_reach([(even, part) for (even, _), part in pairs], size)
        seen, of_seen = _mean_with_reach([(np.where(part.seen, even, 0.0), part) for (even, _), part in pairs], size)
        low, high = max(seen - of_seen - inside, 0.0), max(whole, 0.0) + reach + inside
        return Measured(*np.sqrt([min(max(value, low), high), min(low, high), high]).tolist())


def _plausible(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest counts that are not negative, with the same total."""
    falling, total = -np.sort(-counts), max(float(counts.sum()), 0.0)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    nearest: NDArray[np.float64] = np.maximum(counts - excess[max((falling > excess).sum(), 1) - 1], 0.0)
    return nearest


def _thinned(edges: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return at most so many of these edges, the first and the last among them."""
    return edges[np.unique(np.linspace(0, len(edges) - 1, min(len(edges), most)).round().astype(np.int64))]


def _squares(edges: NDArray[np.float64], whole: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean squares of rows that lie evenly in bins, whose edges are relative to the mean, and half of how far squares differ there."""
    first, last = edges[:-1] + whole, edges[1:]  # of whole numbers the first and last one of each bin
    even = (first**2 + first * last + last**2) / 3.0 + whole * (last - first) / 6.0
    nearest = np.where(first * last < 0.0, 0.0, np.minimum(first**2, last**2))
    return even, (np.maximum(first**2, last**2) - nearest) / 2.0


def _mean_with_reach(weighted: list[tuple[NDArray[np.float64], Part]], size: float) -> tuple[float, float]:
    """Return the mean of weights of bins over all rows, and how far noise may have moved it."""
    mean = math.fsum(float(weights @ part.counts) for weights, part in weighted) / size
    noise = math.fsum(float(part.variances(weights - mean)) for weights, part in weighted)
    return mean, DEVIATIONS * float(np.sqrt(noise)) / size


def _crossing(points: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return where values first are at least 0, between two points by interpolation; the last point if they never are."""
    at = int(np.argmax(values >= 0.0)) if values.max() >= 0.0 else len(values) - 1
    if at == 0 or values[at] < 0.0:
        return float(points[at])
    before, after = values[at - 1], values[at]
    return float(points[at - 1] + (points[at] - points[at - 1]) * -before / (after - before))
