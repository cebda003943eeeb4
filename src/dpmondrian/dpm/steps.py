"""One private step of many centres: how far rows lie from them, how far to clip, and the clipped sums that move them.

The noise of a clipped sum is proportional to how far it clips. So each step asks first how far rows are, over all centres together,
and clips where noise and what clipping does to the centres are least together. Categories are not clipped: a row of another
category than most would be, and shares would be wrong. Their rows are counted, as in profiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.distances import denoised_shares
from dpmondrian.dpm.draws import CATEGORY_COUNTS, CELL_COUNT, CLIPPED_SUMS, DISTANCES
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "CATEGORY_PART",
    "COUNT_PART",
    "DISTANCES_PART",
    "Centres",
    "Groups",
    "Stepper",
    "best_radius",
    "candidate_radii",
    "vector_lengths",
]

COUNT_PART, DISTANCES_PART = 0.12, 0.03
"""Parts of a step's cost for the sizes and the distances; the sums get the rest.

A centre is a sum divided by a size. An error e of the size moves it by e times its shift, which is a fraction of the radius to which
sums are clipped: an eighth of the cost balances the two where shifts are a third of it. Distances are over all rows."""

CATEGORY_PART = 0.2
"""Part of the sums' cost for the counts of categories beside them: shares are released in whole per cents at best."""

_N_RADII, _RADII_PER_DOUBLING = 45, 4
_CONCENTRATION = 0.5
"""The rows beyond a radius are taken to lie in one of this many groups' worth of rows, to one side of its centre: half of the worst case,
in which all of them belong to one group."""
_LEAST_SLOPE = 0.6
"""A radius that weakens a shift more than this is too short to move centres."""
_SMALLEST_CELL = 2.0
"""Groups are taken to hold at least this many standard deviations of their size; fewer rows may be none."""
_FEW_GROUPS = 8.0
"""So few groups say little about how far they differ in a single column: there the average of all columns counts as much."""
_CLEAR_SHIFT = 1.5
"""A group's own shift is more than noise if its square is this many deviations larger than that of noise alone."""

_FAR_PULL, _LONGER = 0.5, 2.0
"""Rows that pull their centre by half of what clipping lets them, on the mean, lie on one side of it and mostly beyond the radius: the next
one is twice as long, if that shift is also more than the noise of twice the radius."""


@dataclass(frozen=True)
class Centres:
    """Released centres in places with the standard errors of their noise, both (n_groups, n_columns).

    `reach`, (n_groups,), is how many times as far as those of others the rows of a group may pull at its centre in the next step; None is 1
    for all. It is more than 1 only where rows pulled clearly, so such a group is not empty.
    """

    places: NDArray[np.float64]
    errors: NDArray[np.float64]
    reach: NDArray[np.float64] | None = None

    @property
    def reaches(self) -> NDArray[np.float64]:
        """The reach of every group, at least 1."""
        return np.ones(len(self.places)) if self.reach is None else self.reach


@dataclass(frozen=True)
class Groups:
    """Disjoint groups of rows with what is released about them.

    `numbers` are node numbers; `sizes` and `size_errors` the released sizes; `low` and `high` the first and last place that a centre may
    have, (n_groups, n_columns).
    """

    numbers: list[int]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def divisors(self) -> NDArray[np.float64]:
        """What sums are divided by, (n_groups, 1): a group that may be empty is taken as large as its size might be."""
        return np.maximum(np.maximum(self.sizes, _SMALLEST_CELL * self.size_errors), 1.0)[:, None]


class Stepper:
    """Moves the centres of groups of rows, step by step, through the door.

    `norm` is 2 with Gaussian noise and 1 with Laplace noise: the length to which rows are clipped. With k, further steps settle what a long
    reach has moved; cells without k are released where they come to lie, so there every group has the same radius.

    Attributes
    ----------
    spread : float
        Root mean square distance of rows from their centres, per numeric column, in places, as known from the last step.
    """

    def __init__(self, engine: Engine, door: Door, grid: Grid, noisy_total: float, with_k: bool) -> None:
        self._engine, self._door, self._grid, self._reaches_far = engine, door, grid, with_k
        self._noisy_total = max(noisy_total, 1.0)
        self._norm = 2 if door.plan.currency == "rho" else 1
        self._numeric, self._indicators = np.flatnonzero(~grid.one_hot), np.flatnonzero(grid.one_hot)
        self.spread = float(grid.last_place.max()) / math.sqrt(12.0)

    def regroup(self, step: int, centres: Centres, cost: float) -> Groups:
        """Move every row to its nearest centre and return these groups with their noisy sizes."""
        n_groups = len(centres.places)
        exact_counts = self._engine.regroup(np.rint(centres.places).astype(np.int64))
        return self.counted(step, exact_counts, cost, n_groups)

    def counted(self, step: int, exact_counts: NDArray[np.int64], cost: float, n_groups: int) -> Groups:
        """Return groups that may lie anywhere, with noisy sizes; rows are in the nodes of these numbers."""
        self._door.extend([self._door.plan_draw(CELL_COUNT, step, cost)])
        sizes = self._door.counts(CELL_COUNT, step, exact_counts).astype(np.float64)
        errors = np.full(n_groups, self._door.deviation(CELL_COUNT, step))
        shape = (n_groups, self._grid.n_columns)
        low, high = np.zeros(shape, dtype=np.int64), np.broadcast_to(self._grid.last_place, shape)
        return Groups(list(range(n_groups)), sizes, errors, low, high)

    def moved(self, step: int, groups: Groups, centres: Centres, cost: float) -> Centres:
        """Return better centres of groups, at a cost in all."""
        places, errors, reach = centres.places.copy(), centres.errors.copy(), centres.reaches
        numeric, indicators = self._numeric, self._indicators
        for_shares = 0.0 if not len(indicators) else cost if not len(numeric) else CATEGORY_PART * cost
        if len(numeric):
            places[:, numeric], errors[:, numeric], reach = self._clipped(step, groups, centres, cost - for_shares)
        if len(indicators):
            places[:, indicators], errors[:, indicators] = self._shares(step, groups, for_shares)
        return Centres(places, errors, reach)

    def _clipped(
        self, step: int, groups: Groups, centres: Centres, cost: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centres in the numeric columns with their errors, and their reach."""
        door, for_distances = self._door, DISTANCES_PART * cost
        door.extend(
            [
                door.plan_draw(DISTANCES, step, for_distances),
                door.plan_draw(CLIPPED_SUMS, step, cost - for_distances),
            ]
        )
        low, high = groups.low[:, self._numeric], groups.high[:, self._numeric]
        centre = np.clip(np.rint(centres.places[:, self._numeric]), low, high).astype(np.int64)
        radius, slope, widest = self._radius(step, groups, centre)
        radii = np.floor(np.minimum(radius * centres.reaches, widest)).astype(np.int64)
        exact_sums = self._engine.clipped_sums(groups.numbers, centre, radii, self._norm, self._numeric)
        noisy_sums, deviations = door.ball_sums(CLIPPED_SUMS, step, exact_sums, radii)
        shift, errors = noisy_sums / (slope * groups.divisors), deviations / (slope * groups.divisors)
        reach = np.ones(len(radii))
        if self._reaches_far:
            reach = _next_reach(slope * shift, slope * errors, radii, centres.reaches, self._norm)
        return np.clip(centre + _without_noise(shift, errors, groups.divisors), low, high), errors, reach

    def _radius(self, step: int, groups: Groups, centre: NDArray[np.int64]) -> tuple[float, float, float]:
        """Return the radius with the least expected error of the centres, by how much it weakens a shift, and the longest radius.

        Post-processing of one noisy histogram of distances.

        Privacy
        -------
        Released: a histogram of the distances of all rows from their own centres; one row is in one bin. Argument:
        ``docs/privacy/lloyd.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        door, n_columns = self._door, len(self._numeric)
        radii = candidate_radii(self._grid.last_place[self._numeric], self._norm)
        thresholds = np.floor(radii**self._norm).astype(np.int64)
        exact_counts = self._engine.distance_counts(groups.numbers, centre, thresholds, self._norm, self._numeric)
        noisy_counts = door.counts(DISTANCES, step, exact_counts[:-1])
        shares = denoised_shares(noisy_counts, door.deviation(DISTANCES, step), self._norm)
        self.spread = _per_column(float(np.sqrt(_middles(radii) ** 2 @ shares)), n_columns, self._norm)
        rows_each = self._noisy_total / len(centre)
        noise_per_radius = door.deviation(CLIPPED_SUMS, step) / rows_each
        radius, slope = best_radius(radii, shares, n_columns, len(centre), noise_per_radius)
        return max(1.0, math.floor(radius)), slope, float(radii[-1])

    def _shares(self, step: int, groups: Groups, cost: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the places of the indicators' means with their errors: rows of every category are counted, as in profiles.

        Privacy
        -------
        Released: rows per group and category. A row has one category of each column, so it is in one bin of each of at most M histograms of its
        group; a column whose category the group's box decides is not counted. Argument: ``docs/privacy/lloyd.md``; tests that try to break it:
        ``tests/privacy/test_neighbours.py``.
        """
        self._door.extend([self._door.plan_draw(CATEGORY_COUNTS, step, cost)])
        low, high = groups.low[:, self._indicators], groups.high[:, self._indicators]
        one = self._grid.last_place[self._indicators]
        is_open = np.logical_or.reduceat(groups.high > groups.low, self._grid.block_begins, axis=1)
        n_open = is_open[:, self._grid.one_hot[self._grid.block_begins]].sum(axis=1)
        exact_counts = self._engine.box_sums(groups.numbers, groups.low)[:, self._indicators] // one
        noisy, deviations = self._door.histograms(CATEGORY_COUNTS, step, list(exact_counts), np.maximum(n_open, 1))
        shares, errors = np.array(noisy) / groups.divisors, deviations[:, None] / groups.divisors
        return np.clip(low + one * shares, low, high), one * errors


def _per_column(length: float, n_columns: int, norm: int) -> float:
    """Return the root mean square of single columns of vectors of this length; of L1 lengths as in a normal distribution."""
    return length / math.sqrt(n_columns) if norm == 2 else length / n_columns * math.sqrt(math.pi / 2.0)


def candidate_radii(last_place: NDArray[np.int64], norm: int) -> NDArray[np.float64]:
    """Return the radii to which sums may be clipped, up to the length of the whole domain."""
    widest = vector_lengths((last_place + 1).astype(np.float64)[None], norm)[0]
    radii: NDArray[np.float64] = widest * 2.0 ** (np.arange(1 - _N_RADII, 1) / _RADII_PER_DOUBLING)
    return radii


def best_radius(
    radii: NDArray[np.float64], shares: NDArray[np.float64], n_columns: int, n_groups: int, noise_per_radius: float
) -> tuple[float, float]:
    """Return the radius with the least expected error of the centres, and by how much it weakens a shift.

    The error is noise, proportional to the radius, and the pull of the rows beyond it, which is lost. Post-processing.

    Parameters
    ----------
    radii, shares : float64 arrays of shape (n_radii,)
        Candidates, and the share of rows between each and the one before.
    n_columns, n_groups : int
    noise_per_radius : float
        Noise of a centre in one column, per unit of the radius.
    """
    middles = _middles(radii)
    excess = np.maximum(middles - radii[:, None], 0.0) @ shares
    beyond = radii[:, None] / middles * (1.0 - 1.0 / n_columns)
    slopes = np.where(middles <= radii[:, None], 1.0, beyond) @ shares
    noise = noise_per_radius * radii / np.maximum(slopes, _LEAST_SLOPE)
    loss = _CONCENTRATION * n_groups * excess**2 + n_columns * noise**2
    chosen = int(np.argmin(np.where(slopes < _LEAST_SLOPE, np.inf, loss)))
    return float(radii[chosen]), float(slopes[chosen])


def _middles(radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of which rows between one radius and the next are taken to be."""
    middles: NDArray[np.float64] = radii / 2.0 ** (0.5 / _RADII_PER_DOUBLING)
    return middles


def _without_noise(
    shift: NDArray[np.float64], errors: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return shifts without most of what is noise in them: each is pulled to the shift that all groups have in common. Post-processing.

    How far groups truly differ from it is estimated for every column from all groups (empirical Bayes), so that columns in which
    they do not differ add little noise to their distances. A group whose own shift is clearly more than noise keeps it (James-Stein).
    """
    part = rows / rows.sum()
    common = (part * shift).sum(axis=0)
    own = shift - common
    n_groups, n_columns = shift.shape
    beyond_noise = (part * (own**2 - (1.0 - part) * errors**2)).sum(axis=0)
    known = n_groups / (n_groups + _FEW_GROUPS)
    differ = np.maximum(known * beyond_noise + (1.0 - known) * beyond_noise.mean(), 0.0)
    by_column = differ / np.maximum(differ + errors**2, 1e-300)
    noise, energy = (errors**2).sum(axis=1), (own**2).sum(axis=1)
    is_clear = energy > noise * (1.0 + _CLEAR_SHIFT * math.sqrt(2.0 / n_columns))
    by_group = np.where(is_clear, 1.0 - noise / np.maximum(energy, 1e-300), 0.0)
    moved: NDArray[np.float64] = common + np.maximum(by_column, by_group[:, None]) * own
    return moved


def _next_reach(
    mean: NDArray[np.float64],
    errors: NDArray[np.float64],
    radii: NDArray[np.int64],
    reach: NDArray[np.float64],
    norm: int,
) -> NDArray[np.float64]:
    """Return the reach of groups in the next step, from the noisy means of their clipped displacements. Post-processing.

    One radius serves most rows. A small group far from its centre is in clear sight, but clipping lets the centre go only as far as
    the rows of others need. Where a mean is nearly as long as a displacement may be, rows lie on one side, and hardly any is near.
    """
    noise, energy = (errors**2).sum(axis=1), (mean**2).sum(axis=1)
    is_clear = energy > _LONGER**2 * noise
    part = np.sqrt(np.maximum(1.0 - noise / np.maximum(energy, 1e-300), 0.0))
    pull = part * vector_lengths(mean, norm) / radii
    return np.where(is_clear & (pull > _FAR_PULL), _LONGER * reach, 1.0)


def vector_lengths(vectors: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Return the L2 or L1 length of each row."""
    length: NDArray[np.float64] = np.sqrt((vectors**2).sum(axis=1)) if norm == 2 else np.abs(vectors).sum(axis=1)
    return length
