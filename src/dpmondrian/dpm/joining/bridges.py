"""Bridges: how many rows lie midway between two leaves, and so which leaves are pieces of one cluster.

Cuts that cross a cluster leave pieces of it in several leaves. On the way from the centre of one piece to that of the
next there are rows everywhere; between two clusters the middle of the way is empty. Every row is asked once: it counts
for its two nearest centres, at the place of its projection on the line between them. Counts add up, so the bridge
between two groups of leaves is the sum of the bridges between their members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.centres.clipped import Means
from dpmondrian.dpm.draws import BRIDGE
from dpmondrian.engines import Engine
from dpmondrian.privacy import Door

__all__ = [
    "BRIDGE_BINS",
    "FLAT_SHARE",
    "MIDDLE",
    "VALLEY",
    "Bridges",
    "LeafGroups",
    "Strength",
    "hidden_by_noise",
    "measure_bridges",
    "squared_distances",
]

BRIDGE_BINS = 5
"""Bins of the way between two centres; the middle one is the bridge, the others are its two ends."""

MIDDLE = BRIDGE_BINS // 2

FLAT_SHARE = 0.2
"""Rows in a bin between two halves of flat data, as a share of a half: a bridge like this separates nothing."""

VALLEY = 2.0
"""Strength per depth of a valley: at half the height of the lower peak it is full."""

_NEIGHBOURS = 16
"""Bridges are measured between leaves of which one is among this many nearest ones of the other."""

_LEAST_NEAR = 0.25
"""A leaf has rows of its own if at least this share of its size is found nearer to its centre than to all others."""

_CAUTION = 3.0
"""Of several looks at a strength, the one that is highest this many standard errors below its value is taken."""

_CLEAR = 4.0
"""Rows count as a bridge from this many standard deviations of the noise on: among thousands of pairs hardly one errs."""


class Strength(NamedTuple):
    """How clearly two groups of leaves are apart.

    Attributes
    ----------
    value : float
        1 if nobody lies between them, 0 if as many as in flat data; noise may carry it beyond both.
    error : float
        Standard error of the value, from the noise of all counts and from the chance with which rows fall into them.
    weight : float
        Rows that would lie between them in flat data.
    """

    value: float
    error: float
    weight: float

    def released(self) -> tuple[float, float]:
        """Return value and error within their range, from 0 to 1: an estimate in it cannot be farther off."""
        return min(max(self.value, 0.0), 1.0), min(self.error, 1.0)


@dataclass(frozen=True)
class Bridges:
    """Noisy numbers of rows along the ways between leaves, all arrays with the axes (from, to).

    Attributes
    ----------
    profile : float64 array of shape (n_leaves, n_leaves, BRIDGE_BINS)
        Rows by bin, on the way from the first leaf to the second; 0 where no bridge was measured.
    measured : bool array of shape (n_leaves, n_leaves)
        Whether the two are neighbours, between which a bridge was measured.
    facing : float64 array of shape (n_leaves, n_leaves)
        Share of the rows of the first leaf that face the second, in flat data: the leaves that it sees share them by their
        distances, since a way twice as long holds twice as many rows. 0 where a third leaf stands between.
    sizes, size_errors : float64 arrays of shape (n_leaves,)
        Of the leaves; sizes are positive.
    deviation : float
        Standard deviation of the noise of one count.
    """

    profile: NDArray[np.float64]
    measured: NDArray[np.bool_]
    facing: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    deviation: float

    def strength_between(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Strength:
        """Return how clearly two groups of leaves are apart.

        It is ``1 - rows / flat``, where `rows` lie on the ways between leaves that see each other, and `flat` would if the leaves
        were flat: `FLAT_SHARE` of the rows that face the other group, for each bin. Two looks, at the middle bin and at all
        between the outermost. Or more, if a valley shows on the way: `VALLEY` times its depth relative to the lower of the
        two ends. Where no two leaves see each other nothing is known: 0 with an error of 1.
        """
        block = np.ix_(first, second)
        seen = self.facing[block] > 0.0
        n_bridges = seen.sum()
        if not n_bridges:
            return Strength(0.0, 1.0, 0.0)
        way = self.profile[block][seen].sum(axis=0)
        # A count of n rows varies by sqrt(n) from sample to sample; one more, since where none were met there may be some.
        variance = n_bridges * self.deviation**2 + np.maximum(way, 0.0) + 1.0
        facing = min(self._rows_facing(first, second), self._rows_facing(second, first))
        looks = [_share(way[bins], variance[bins], facing) for bins in (slice(MIDDLE, MIDDLE + 1), slice(1, -1))]
        looks += [_valley(way, variance, (a, b)) for a in range(MIDDLE) for b in range(MIDDLE + 1, BRIDGE_BINS)]
        return max(looks, key=lambda look: look.value - _CAUTION * look.error)

    def _rows_facing(self, group: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[float, float]:
        """Return the rows of a group that face another one, with the variance of that."""
        share = self.facing[np.ix_(group, other)].sum(axis=1)
        variance = self.size_errors[group] ** 2 + self.sizes[group]
        return float(share @ self.sizes[group]), float(share**2 @ variance)


def _share(rows: NDArray[np.float64], variance: NDArray[np.float64], facing: tuple[float, float]) -> Strength:
    """Return the strength by the rows in some bins, compared with those that face the other group on the lower side."""
    share = FLAT_SHARE * len(rows)
    flat = share * facing[0]
    ratio = rows.sum() / flat
    error = np.sqrt(variance.sum() + (share * ratio) ** 2 * facing[1]) / flat
    return Strength(float(1.0 - ratio), float(error), float(flat))


def _valley(way: NDArray[np.float64], variance: NDArray[np.float64], ends: tuple[int, int]) -> Strength:
    """Return the strength by the depth of the middle below the lower of two ends."""
    peak = min(ends, key=lambda end: float(way[end]))
    if way[peak] <= 0.0:
        return Strength(0.0, np.inf, 0.0)
    ratio = way[MIDDLE] / way[peak]
    error = VALLEY * np.sqrt(variance[MIDDLE] + ratio**2 * variance[peak]) / way[peak]
    return Strength(min(VALLEY * float(1.0 - ratio), 1.0), float(error), float(way[peak]))


def hidden_by_noise(means: Means) -> bool:
    """Return whether noise moves a typical centre farther than its nearest neighbour is away (public).

    Then the way between two centres says nothing about the rows. It happens in tables of many columns and few rows.
    """
    error, distance = (means.errors**2).sum(axis=1), squared_distances(means.places).min(axis=1)
    return bool(np.median(error) > np.median(distance))


def measure_bridges(
    engine: Engine, door: Door, means: Means, sizes: NDArray[np.float64], size_errors: NDArray[np.float64]
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
    noisy_counts = door.counts(BRIDGE, None, exact_counts).astype(np.float64)
    ways, others = noisy_counts[:-n_leaves].reshape(-1, BRIDGE_BINS), noisy_counts[-n_leaves:]
    profile = np.zeros((n_leaves, n_leaves, BRIDGE_BINS))
    profile[first, second], profile[second, first] = ways, ways[:, ::-1]
    near = others + profile[:, :, :MIDDLE].sum(axis=(1, 2))
    deviation = door.deviation(BRIDGE)
    bridges = Bridges(
        profile, pair_of >= 0, _facing(centres, first, second), np.maximum(sizes, 1.0), size_errors, deviation
    )
    return bridges, near >= _LEAST_NEAR * sizes


def _neighbouring_pairs(centres: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of leaves, first < second, between which bridges are measured (public).

    One is among the nearest of the other, or they link two crowds of leaves in which all the nearest are of the own crowd: from
    every leaf a way leads to every other one.
    """
    distance = squared_distances(centres.astype(np.float64))
    nearest = np.argsort(distance, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(centres) - 1)]
    near = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(near, nearest, True, axis=1)
    near[_shortest_links(distance)] = True
    first, second = np.nonzero(np.triu(near | near.T))
    return first.astype(np.int64), second.astype(np.int64)


def _shortest_links(distance: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two ends of every link of the shortest tree that links all centres."""
    linked = np.zeros(len(distance), dtype=bool)
    linked[0] = True
    nearest, gap = np.zeros(len(distance), dtype=np.int64), distance[0].copy()
    links = np.empty((len(distance) - 1, 2), dtype=np.int64)
    for link in range(len(links)):
        new = int(np.argmin(np.where(linked, np.inf, gap)))
        links[link], linked[new] = (nearest[new], new), True
        closer = distance[new] < gap
        nearest[closer], gap[closer] = new, distance[new][closer]
    return links[:, 0], links[:, 1]


def _facing(centres: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each leaf's rows that face another leaf, among the pairs that see each other (public).

    Two centres see each other if no third one lies in the ball around the midpoint that touches both. The shortest links
    are among these pairs, so every leaf sees another one.
    """
    squares = squared_distances(centres.astype(np.float64))
    length = np.zeros_like(squares)
    for a, b in zip(first, second, strict=True):
        if not np.any(squares[a] + squares[b] < squares[a, b]):
            length[a, b] = length[b, a] = max(np.sqrt(squares[a, b]), 1.0)
    return np.asarray(length / length.sum(axis=1, keepdims=True))


def squared_distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances between centres, with infinity for a centre from itself."""
    distance = np.array([((places - place) ** 2).sum(axis=1) for place in places])
    np.fill_diagonal(distance, np.inf)
    return distance


@dataclass(frozen=True)
class LeafGroups:
    """Groups of leaves and the bridges between them, which add up when two groups are joined. Changed in place.

    All arrays but `sizes` have the axes (from, to).

    Attributes
    ----------
    profile : float64 array of shape (n_groups, n_groups, BRIDGE_BINS)
    clear : float64 array of shape (n_groups, n_groups)
        Rows midway, summed over those bridges where they are clearer than noise.
    n_bridges : float64 array of shape (n_groups, n_groups)
        Number of noisy counts that are summed in a bin of `profile`.
    sizes : float64 array of shape (n_groups,)
    deviation : float
        Standard deviation of the noise of one count.
    """

    profile: NDArray[np.float64]
    clear: NDArray[np.float64]
    n_bridges: NDArray[np.float64]
    sizes: NDArray[np.float64]
    deviation: float

    @classmethod
    def of_leaves(cls, bridges: Bridges) -> LeafGroups:
        """Return groups of one leaf each."""
        rows = bridges.profile[:, :, MIDDLE]
        clear = np.where(rows > _CLEAR * bridges.deviation, rows, 0.0)
        n_bridges = bridges.measured.astype(np.float64)
        return cls(bridges.profile.copy(), clear, n_bridges, bridges.sizes.copy(), bridges.deviation)

    def join(self, first: int, second: int) -> None:
        """Add the second group to the first."""
        for values in (self.profile, self.clear, self.n_bridges):
            values[first] += values[second]
            values[:, first] += values[:, second]
        self.sizes[first] += self.sizes[second]

    def strengths_at_most(self, one: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how clearly one group may be apart from others at most: rows that noise could explain do not count.

        Infinite where no bridge was measured, so that only neighbours are joined. Not for release: it is the better
        end of what the noise leaves open, and `Bridges.strength_between` says what was measured.
        """
        profile, n_bridges = self.profile[one, others], self.n_bridges[one, others]
        noise = self.deviation * np.sqrt(n_bridges)
        rows = np.maximum(self.clear[one, others], profile[:, MIDDLE] - _CLEAR * noise)
        flat = FLAT_SHARE * np.minimum(self.sizes[one], self.sizes[others])
        ends = profile[:, :MIDDLE].max(axis=1), profile[:, MIDDLE + 1 :].max(axis=1)
        peak = np.maximum(np.minimum(*ends), 1.0)
        significant = peak - rows >= _CLEAR * np.sqrt(peak + rows + 2.0 * noise**2)
        depth = np.where(significant, np.minimum(1.0, VALLEY * (peak - rows) / peak), -np.inf)
        return np.where(n_bridges > 0, np.maximum(1.0 - rows / flat, depth), np.inf)
