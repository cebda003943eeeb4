"""Centres of the default variant: a coarse mean in the leaf's box, then a private radius and clipped means.

The noise of a clipped mean is proportional to how far rows lie from the centre known so far, instead of
the size of the box, which in many columns is nearly the whole domain. Categories are not clipped: a row of another category
than most would be, and shares would be wrong. Their sums have a draw of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import CATEGORY_SUMS, CLIPPED_SUMS, COARSE_SUMS, RADIUS
from dpmondrian.dpm.tree.grower import Node
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "Groups",
    "MeanFinder",
    "Means",
    "candidate_radii",
    "expected_distance",
    "leaf_boxes",
    "leaf_groups",
    "radius_prior",
    "vector_lengths",
]

_RADII_PER_DOUBLING = 3
_N_RADII = 37
_PRIOR_PER_RADIUS = 0.02


@dataclass(frozen=True)
class Means:
    """Released centres in places with the standard errors of their noise, both (n_groups, n_measured)."""

    places: NDArray[np.float64]
    errors: NDArray[np.float64]


@dataclass(frozen=True)
class Groups:
    """Disjoint groups of rows with what is public about them.

    `numbers` are node numbers; `low` and `high` the first and last place of each group's box, shape
    (n_groups, n_measured); `sizes` the released sizes, at least 1, shape (n_groups, 1).
    """

    numbers: list[int]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.float64]


def leaf_boxes(leaves: list[Node], grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last place of every leaf's box in the grid's measured columns, each (n_leaves, n_measured).

    Cuts along directions only take rows out of the box: those of the leaf lie in it all the same.
    """
    grid = grid.measured
    low = np.array([leaf.low[: grid.n_columns] for leaf in leaves]) * grid.places_per_code
    high = np.array([leaf.high[: grid.n_columns] for leaf in leaves]) * grid.places_per_code - 1
    return grid.possible(low, np.minimum(high, grid.last_place))


def radius_prior(noisy_total: int) -> NDArray[np.int64]:
    """Return the price of each radius, in rows: a larger one must take in 2 % more of them per step.

    Without a prior all radii that hold every row would tie, and the largest costs the most noise.
    """
    return np.array([round(_PRIOR_PER_RADIUS * max(noisy_total, 1) * step) for step in range(_N_RADII)], dtype=np.int64)


def candidate_radii(last_places: NDArray[np.int64], norm: int) -> NDArray[np.float64]:
    """Return the radii among which one is chosen, up to one that holds the whole grid of these numeric columns."""
    widest = float(vector_lengths((last_places[None, :] + 1).astype(np.float64), norm)[0])
    return widest * 2.0 ** (np.arange(1 - _N_RADII, 1) / _RADII_PER_DOUBLING)


def leaf_groups(leaves: list[Node], grid: Grid, noisy_sizes: NDArray[np.float64]) -> Groups:
    """Return the leaves as groups of rows within their boxes."""
    low, high = leaf_boxes(leaves, grid)
    return Groups([leaf.number for leaf in leaves], low, high, np.maximum(noisy_sizes, 1.0)[:, None])


class MeanFinder:
    """Finds the centres of groups of rows, step by step, through the door.

    `norm` is 2 with Gaussian noise and 1 with Laplace noise: the length to which rows are clipped.
    """

    def __init__(self, engine: Engine, door: Door, grid: Grid, noisy_total: int) -> None:
        self._engine = engine
        self._door = door
        self._grid = grid
        self._noisy_total = noisy_total
        self._norm = 2 if door.plan.currency == "rho" else 1
        self._numeric, self._indicators = np.flatnonzero(~grid.one_hot), np.flatnonzero(grid.one_hot)
        self._columns = self._numeric if len(self._indicators) else None
        self._radii = candidate_radii(grid.last_place[self._numeric], self._norm)

    def coarse(self, groups: Groups) -> Means:
        """Return rough centres, from sums relative to the middle of each box.

        Indicators are taken relative to the lower end: a row has one of a block, so it moves the block by one length in all.
        """
        middle = np.where(self._grid.one_hot, groups.low, (groups.low + groups.high) // 2)
        half_widths = np.maximum(1, np.maximum.reduceat(groups.high - middle, self._grid.block_begins, axis=1))
        exact_sums = self._engine.box_sums(groups.numbers, middle)
        noisy_sums, deviations = self._door.box_sums(COARSE_SUMS, None, exact_sums, half_widths, self._grid.block_sizes)
        return Means(middle + noisy_sums / groups.sizes, deviations / groups.sizes)

    def radius(self, step: int, groups: Groups, means: Means) -> float:
        """Return one radius for all groups: how far rows lie from the centres so far, beyond their error.

        A radius is scored by the rows that it holds, over all groups, less `radius_prior`. Without numeric columns there is
        nothing to hold, and none is drawn.

        Privacy
        -------
        One row raises the score of some radii by 1 and leaves the others: range 1. Argument:
        ``docs/privacy/radius.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        if not len(self._numeric):
            return 1.0
        centre, error, _ = self._reach(groups, means)
        limits = expected_distance(self._radii[None, :], error[:, None], self._norm)
        thresholds = np.floor(limits * limits if self._norm == 2 else limits).astype(np.int64)
        exact_counts = self._engine.radius_counts(groups.numbers, centre, thresholds, self._norm, self._columns)
        exact_scores = np.cumsum(exact_counts[:-1]) - radius_prior(self._noisy_total)
        [chosen] = self._door.select(RADIUS, step, [exact_scores], [1])
        return float(self._radii[chosen])

    def clipped(self, step: int, groups: Groups, means: Means, radius: float) -> Means:
        """Return better centres: from displacements clipped to the radius and the centres' own error, and shares of categories."""
        places, errors = means.places.copy(), means.errors.copy()
        if len(self._numeric):
            places[:, self._numeric], errors[:, self._numeric] = self._clipped(step, groups, means, radius)
        if len(self._indicators):
            places[:, self._indicators], errors[:, self._indicators] = self._shares(step, groups)
        return Means(places, errors)

    def _clipped(
        self, step: int, groups: Groups, means: Means, radius: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres in the numeric columns with their errors."""
        centre, error, farthest = self._reach(groups, means)
        reach = np.maximum(1, np.minimum(expected_distance(radius, error, self._norm), farthest)).astype(np.int64)
        exact_sums = self._engine.clipped_sums(groups.numbers, centre, reach, self._norm, self._columns)
        noisy_sums, deviations = self._door.ball_sums(CLIPPED_SUMS, step, exact_sums, reach)
        shift, errors = noisy_sums / groups.sizes, deviations / groups.sizes
        low, high = groups.low[:, self._numeric], groups.high[:, self._numeric]
        return np.clip(centre + _shrink(shift, errors) * shift, low, high), errors

    def _shares(self, step: int, groups: Groups) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the places of the indicators' means with their errors, from sums as in `coarse`."""
        low, high = groups.low[:, self._indicators], groups.high[:, self._indicators]
        sizes = self._grid.block_sizes[self._grid.one_hot[self._grid.block_begins]]
        begins = np.cumsum(sizes) - sizes
        reach = np.maximum(1, np.maximum.reduceat(high - low, begins, axis=1))
        exact_sums = self._engine.box_sums(groups.numbers, groups.low)[:, self._indicators]
        noisy_sums, deviations = self._door.box_sums(CATEGORY_SUMS, step, exact_sums, reach, sizes)
        return np.clip(low + noisy_sums / groups.sizes, low, high), deviations / groups.sizes

    def _reach(
        self, groups: Groups, means: Means
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centres on whole places, the length of their error, and how far a row of the box can be; of numeric columns."""
        low, high = groups.low[:, self._numeric], groups.high[:, self._numeric]
        centre = np.clip(np.rint(means.places[:, self._numeric]), low, high).astype(np.int64)
        farthest = np.ceil(vector_lengths(np.maximum(centre - low, high - centre).astype(np.float64), self._norm))
        return centre, np.minimum(vector_lengths(means.errors[:, self._numeric], self._norm), farthest), farthest


def _shrink(shift: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the James-Stein factor of each shift, shape (n_groups, 1): a shift no longer than its noise is none.

    Post-processing. It keeps small groups, whose shift is mostly noise, near the centre known so far.
    """
    n_columns = shift.shape[1]
    noise = (errors**2).sum(axis=1) * max(n_columns - 2, 1) / n_columns
    energy = (shift**2).sum(axis=1)
    factor: NDArray[np.float64] = np.where(energy > noise, 1.0 - noise / np.maximum(energy, noise), 0.0)
    return factor[:, None]


def vector_lengths(vectors: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Return the L2 or L1 length of each row."""
    length: NDArray[np.float64] = np.sqrt((vectors**2).sum(axis=1)) if norm == 2 else np.abs(vectors).sum(axis=1)
    return length


def expected_distance(
    spread: NDArray[np.float64] | float, error: NDArray[np.float64], norm: int
) -> NDArray[np.float64]:
    """Return the distance at which a row is expected that lies `spread` from a centre known up to `error`."""
    return np.sqrt(spread * spread + error * error) if norm == 2 else spread + error
