"""Bridges: how many rows lie midway between two leaves, and so which leaves are pieces of one cluster.

Cuts that cross a cluster leave pieces of it in several leaves. On the way from the centre of one piece to that of the
next there are rows everywhere; between two clusters the middle of the way is empty. Every row is asked once: it counts
for its two nearest centres, at the place of its projection on the line between them. Counts add up, so the bridge
between two groups of leaves is the sum of the bridges between their members.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.centres.clipped import Means
from dpmondrian.engines.base import Engine
from dpmondrian.release import Door

__all__ = ["BRIDGE_BINS", "FLAT_SHARE", "Bridges", "hidden_by_noise", "measure_bridges", "squared_distances"]

BRIDGE_BINS = 5
"""Bins of the way between two centres; the middle one is the bridge, the others are its two ends."""

FLAT_SHARE = 0.2
"""Rows in the middle bin between two halves of flat data, as a share of a half: a bridge like this separates nothing."""

_NEIGHBOURS = 16
"""Bridges are measured between leaves of which one is among this many nearest ones of the other."""

_CLEAR = 4.0
"""Counts are told from noise at this many standard deviations: among thousands of pairs hardly one errs."""

_LEAST_NEAR = 0.25
"""A leaf has rows of its own if at least this share of its size is found nearer to its centre than to all others."""

_VALLEY = 2.0
"""Strength per depth of a valley: at half the height of the lower peak it is full."""


@dataclass(frozen=True)
class Bridges:
    """Noisy numbers of rows along the ways between groups, all arrays with the axes (from, to).

    Attributes
    ----------
    profile : float64 array of shape (n_groups, n_groups, BRIDGE_BINS)
        Rows by bin, on the way from the first group to the second.
    middle : float64 array of shape (n_groups, n_groups)
        Rows midway, summed over those pairs of leaves where they are clearer than noise.
    n_pairs, n_clear : float64 arrays of shape (n_groups, n_groups)
        How many noisy counts are summed in `profile` and in `middle`.
    deviation : float
        Standard deviation of the noise of one count.
    """

    profile: NDArray[np.float64]
    middle: NDArray[np.float64]
    n_pairs: NDArray[np.float64]
    n_clear: NDArray[np.float64]
    deviation: float

    def copy(self) -> Bridges:
        """Return a copy that may be changed."""
        return Bridges(
            self.profile.copy(), self.middle.copy(), self.n_pairs.copy(), self.n_clear.copy(), self.deviation
        )

    def strength_between(
        self, first: NDArray[np.int64], second: NDArray[np.int64], sizes: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return how clearly two groups of leaves are apart, from 0 to 1, and the standard error of that."""
        block = np.ix_(first, second)

        def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(values[block].sum(axis=(0, 1)))[None, None]

        pair = Bridges(
            total(self.profile), total(self.middle), total(self.n_pairs), total(self.n_clear), self.deviation
        )
        whole = np.array([min(sizes[first].sum(), sizes[second].sum())])
        strength, error = pair.strengths(0, np.zeros(1, dtype=np.int64), whole)
        return float(np.clip(strength[0], 0.0, 1.0)), float(error[0])

    def joined(self, first: int, second: int) -> None:
        """Add the bridges of the second group to those of the first, in place."""
        for values in (self.profile, self.middle, self.n_pairs, self.n_clear):
            values[first] += values[second]
            values[:, first] += values[:, second]

    def strengths(
        self, one: int, others: NDArray[np.int64], sizes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how clearly one group is apart from others, and the standard errors of that.

        1 where nothing lies between, 0 (or less) where the middle is as full as in flat data: ``1 - share / FLAT_SHARE``,
        where the share is that of the rows midway in the smaller group. Or more, if a valley shows on the way: twice its
        depth relative to the lower of the two ends, if that is clearer than sampling and noise.
        """
        profile, n_pairs = self.profile[one, others], self.n_pairs[one, others]
        noise = self.deviation * np.sqrt(n_pairs)
        pooled = profile[:, BRIDGE_BINS // 2] - _CLEAR * noise
        clear = self.middle[one, others]
        rows = np.maximum(clear, pooled)
        row_errors = np.where(
            pooled > clear, noise, self.deviation * np.sqrt(np.maximum(self.n_clear[one, others], 1.0))
        )
        whole = FLAT_SHARE * np.minimum(sizes[one], sizes[others])
        ends = profile[:, : BRIDGE_BINS // 2].max(axis=1), profile[:, BRIDGE_BINS // 2 + 1 :].max(axis=1)
        peak = np.maximum(np.minimum(*ends), 1.0)
        significant = peak - rows >= _CLEAR * np.sqrt(peak + rows + 2.0 * noise**2)
        depth = np.where(significant, np.minimum(1.0, _VALLEY * (peak - rows) / peak), -np.inf)
        return np.maximum(1.0 - rows / whole, depth), row_errors / whole


def hidden_by_noise(means: Means) -> bool:
    """Return whether noise moves a typical centre farther than its nearest neighbour is away (public).

    Then the way between two centres says nothing about the rows. It happens in tables of many columns and few rows.
    """
    error, distance = (means.errors**2).sum(axis=1), squared_distances(means.places).min(axis=1)
    return bool(np.median(error) > np.median(distance))


def measure_bridges(
    engine: Engine, door: Door, means: Means, sizes: NDArray[np.float64]
) -> tuple[Bridges, NDArray[np.bool_]]:
    """Return the noisy bridges between leaves with these centres and sizes, and which leaves have rows of their own.

    The rows of a narrow slice may all be nearer to the centre of another leaf. Then nothing lies between it and anything
    else, and still it is not apart.

    Privacy
    -------
    Released: numbers of rows by pair of centres and bin, and of other rows by nearest centre, plus discrete noise. A row
    counts once, whatever the centres are: they change by 1 in L1 and L2 norm. Argument: ``docs/privacy/bridges.md``;
    tests that try to break it: ``tests/privacy/test_neighbours.py``.
    """
    n_leaves = len(sizes)
    centres = np.rint(means.places).astype(np.int64)
    first, second = _neighbouring_pairs(centres)
    pair_of = np.full((n_leaves, n_leaves), -1, dtype=np.int64)
    pair_of[first, second] = pair_of[second, first] = np.arange(len(first))
    exact_counts = engine.bridge_counts(centres, pair_of, len(first), BRIDGE_BINS)
    noisy_counts = door.counts(None, exact_counts, "bridge").astype(np.float64)
    ways, others = noisy_counts[:-n_leaves].reshape(-1, BRIDGE_BINS), noisy_counts[-n_leaves:]
    deviation = door.count_deviation(None, "bridge")
    profile = np.zeros((n_leaves, n_leaves, BRIDGE_BINS))
    middle, n_pairs, n_clear = (np.zeros((n_leaves, n_leaves)) for _ in range(3))
    rows = ways[:, BRIDGE_BINS // 2]
    clear = rows > _CLEAR * deviation
    for a, b, way in ((first, second, ways), (second, first, ways[:, ::-1])):
        profile[a, b] = way
        middle[a, b] = np.where(clear, rows, 0.0)
        n_pairs[a, b] = 1.0
        n_clear[a, b] = clear
    near = others + profile[:, :, : BRIDGE_BINS // 2].sum(axis=(1, 2))
    return Bridges(profile, middle, n_pairs, n_clear, deviation), near >= _LEAST_NEAR * sizes


def _neighbouring_pairs(centres: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of leaves, first < second, of which one is among the nearest of the other (public)."""
    distance = squared_distances(centres.astype(np.float64))
    nearest = np.argsort(distance, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(centres) - 1)]
    near = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(near, nearest, True, axis=1)
    first, second = np.nonzero(np.triu(near | near.T))
    return first.astype(np.int64), second.astype(np.int64)


def squared_distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances between centres, with infinity for a centre from itself."""
    distance = np.array([((places - place) ** 2).sum(axis=1) for place in places])
    np.fill_diagonal(distance, np.inf)
    return distance
