"""EM-MC (Nguyen, Chaturvedi, Xu 2021): candidates for centres by max cover on lattices, k-means on them, private averages.

Rows are projected to a few columns and put into the unit ball. On one lattice after another, from fine to coarse, vectors that
cover many rows become candidates. Noisy numbers of rows weigh the candidates, k-means groups them, and each group releases a
noisy mean of its rows. ``docs/privacy/max_cover.md`` has the argument, and what is wrong with the published code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import GAUSSIAN, LAPLACE, ROWS, Draw, Kind, PlannedDraw, check_noise_fits
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, MAX_COVER, LabPlan, max_cover_epsilon
from dpmondrian_lab.peers.merging import merge_leaves
from dpmondrian_lab.peers.rows import FixedPointRows, middle_place, nearest_centre

__all__ = ["AVERAGES", "CANDIDATES", "CANDIDATE_COUNT", "CLUSTER_SIZE", "EMMC", "Budget", "Lattices"]

CANDIDATES = Draw("candidates", Kind.CHOICE, "weight of a row")
"""Vectors that cover many rows, on all lattices."""
CANDIDATE_COUNT = Draw("candidate count", Kind.NOISE, ROWS)
"""Rows nearest to every candidate."""
CLUSTER_SIZE = Draw("cluster size", Kind.NOISE, ROWS)
"""Rows of every group of candidates."""
AVERAGES = Draw("averages", Kind.NOISE, "moves of a mean")
"""Means of these rows."""

_GAMMA = 0.99
"""Accuracy parameter of projection, lattices and radii, as in the code that the paper measured."""
_COVER_SHARE, _COUNT_SHARE, _AVERAGE_SHARE = 0.2, 0.2, 0.6
_COVER_DELTA, _AVERAGE_DELTA = 0.5, 0.5
_SIZE_SHARE = 0.2
"""Part of the averages' epsilon for the sizes of the clusters."""
_OVERSHOOT = 0.25
"""Part of the averages' delta for sizes that are taken too large."""
_UNIT = 2.0**22
"""Steps in the unit ball: projected rows and candidates are whole numbers, so that distances are exact."""
_PROJECTION_STEPS = 2**12
_FINE = 2**8
"""Parts of a place in which means are computed."""
_LARGEST_DEVIATION = 2.0**44
_LARGEST_LOGARITHM = 2.0**18
"""Weights of vectors are kept below the exponential of this, a quarter of what the max cover can draw with."""

_DEFECTS = (
    "cover sets belong to a permutation of the rows, so other rows than the covered ones are removed, and a row may be "
    "covered and charged again on every scale",
    "draws that follow no row come from one orthant only, so one row makes other candidates possible",
    "the lattice is taken 2**d times too small, so draws follow rows more often than the exponential mechanism allows",
    "a scale on which no row takes part, and the whole series once no row is left, ends early",
    "rows are scaled by the largest norm found in the data",
    "rows are not clipped to the box whose diameter calibrates the noise",
    "clusters of fewer than two rows are skipped by their exact size",
    "averages get noise of standard deviation sigma**2 instead of sigma: too little where sigma is below one",
)


@dataclass(frozen=True)
class Budget:
    """Noise of the four draws.

    Attributes
    ----------
    exponent, cover_delta : float
        Weight of a covered row in the max cover, and the probability set aside for it.
    count, size : float
        Epsilon of the candidates' counts and of the clusters' sizes.
    overshoot : float
        Probability that a cluster is taken larger than it is.
    average_noise : float
        Noise multiplier of the averages.
    """

    exponent: float
    cover_delta: float
    count: float
    size: float
    overshoot: float
    average_noise: float

    @classmethod
    def of(cls, settings: PeerSettings) -> Budget:
        """Return the published constants, or with ``variant="tight"`` the best that the same proof allows."""
        epsilon, delta = settings.epsilon * (1.0 - 2 * GAUSSIAN_SLACK), settings.delta * (1.0 - 2 * GAUSSIAN_SLACK)
        cover, cover_delta = _COVER_SHARE * epsilon, _COVER_DELTA * delta
        averages, average_delta = _AVERAGE_SHARE * epsilon, _AVERAGE_DELTA * delta
        largest_exponent = min(cover, math.log1p(cover / math.log(1.0 / cover_delta)))
        exponent = cover / (2.0 * math.log(math.e / cover_delta))
        means = (1.0 - _SIZE_SHARE) * averages
        least_noise = least_multiplier(means, (1.0 - _OVERSHOOT) * average_delta)
        noise = math.sqrt(2.0 * math.log(3.5 / average_delta)) / means
        if settings.variant == "tight":
            exponent, noise = largest_exponent, least_noise
        if not settings.published:  # the published constants do not hold for a large epsilon
            exponent, noise = min(exponent, largest_exponent), max(noise, least_noise)
        exponent = min(exponent, _LARGEST_LOGARITHM / settings.expected_rows)
        size = _SIZE_SHARE * averages
        return cls(exponent, cover_delta, _COUNT_SHARE * epsilon, size, _OVERSHOOT * average_delta, noise)

    @property
    def offset(self) -> float:
        """What is taken off a noisy size, so that it exceeds the true one with probability `overshoot` at most."""
        return math.log(0.5 / self.overshoot) / self.size


@dataclass(frozen=True)
class Lattices:
    """The lattices of the max cover: all public.

    Attributes
    ----------
    n_columns : int
        Columns after projection.
    steps : tuple of float
        One per scale.
    limit : float
        Squared distance, in steps, up to which a row covers a vector.
    picks : int
        Vectors drawn per scale.
    """

    n_columns: int
    steps: tuple[float, ...]
    limit: float
    picks: int

    @classmethod
    def of(cls, settings: PeerSettings, n_columns: int) -> Lattices:
        """Return the published choice; `expected_rows` takes the place of the number of rows."""
        n = settings.expected_rows
        kept = min(n_columns, max(1, math.floor(math.log10(n) / _GAMMA**2)))
        n_scales = math.ceil(math.log(2 * n) / math.log(1.0 + _GAMMA))
        first = _GAMMA / (n * math.sqrt(kept))
        steps = tuple(first * (1.0 + _GAMMA) ** scale for scale in range(n_scales))
        picks = max(1, math.ceil(settings.n_clusters * math.log(math.ceil(1.0 / _GAMMA))))
        return cls(kept, steps, kept * (1.0 + 1.0 / _GAMMA) ** 2, picks)


class EMMC(Peer):
    """EM-MC: private k-means from candidates that cover many rows.

    Parameters
    ----------
    n_clusters, epsilon, delta, bounds, expected_rows, random_state
        As in `Peer`.
    variant : {"default", "tight", "as_published"}, default="default"
        "default" is the published algorithm without its mistakes, with its constants. "tight" is the same with the
        least noise that the proof allows for the same budget. "as_published" repeats the code that the DPM paper measured.

    Examples
    --------
    >>> rows = np.vstack([np.full((5000, 2), 20.0), np.full((5000, 2), 80.0)])
    >>> EMMC(2, 2.0, bounds=(0, 100), expected_rows=10_000).fit(rows).cluster_centers_.shape[1]
    2
    """

    _variants = ("default", "tight", "as_published")
    _published_code_clips = False

    _most_rows = 10**8
    """With more, the steps of the finest lattice could not be told apart."""

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        budget = Budget.of(settings)
        cost = max_cover_epsilon(budget.exponent, budget.cover_delta)
        draws = (
            PlannedDraw(CANDIDATES, None, MAX_COVER, 1.0 / budget.exponent, cost, budget.cover_delta),
            PlannedDraw(CANDIDATE_COUNT, 0, LAPLACE, 1.0 / budget.count, budget.count),
            PlannedDraw(CLUSTER_SIZE, 0, LAPLACE, 1.0 / budget.size, budget.size, budget.overshoot),
            PlannedDraw(AVERAGES, None, GAUSSIAN, budget.average_noise, 1.0 / budget.average_noise),
        )
        defects = _DEFECTS if settings.published else ()
        return LabPlan(settings.epsilon, settings.delta, JOINT, draws, defects=defects)

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        check_noise_fits(door.plan, door.rows_per_person, float(_reach(rows, np.ones(1))[0]))
        lattices = Lattices.of(settings, rows.grid.n_columns)
        project = _published_projection if settings.published else _projection
        points = project(rows, door, lattices.n_columns)
        candidates = _candidates(points, door, lattices)
        label = nearest_centre(points, candidates)
        exact_counts = np.bincount(label, minlength=len(candidates)).astype(np.int64)
        noisy_counts = door.counts(CANDIDATE_COUNT, 0, exact_counts)
        middles = _merged(candidates, noisy_counts, door, settings)
        label = nearest_centre(points, middles)
        average = _published_averages if settings.published else _averages
        return average(rows, label, len(middles), door, Budget.of(settings))


def _projection(rows: FixedPointRows, door: LabDoor, n_kept: int) -> NDArray[np.float64]:
    """Return every row in the unit ball, in whole `_UNIT` steps: a function of that row and public numbers alone.

    The product of whole numbers is exact, and all other operations are on single numbers, so no result depends on the order
    in which a library adds.
    """
    n_columns = rows.grid.n_columns
    points, length = rows.displacement, math.sqrt(float((rows.half_width.astype(np.float64) ** 2).sum()))
    if n_kept < n_columns:
        matrix = door.public_randomness("projection").normal(size=(n_columns, n_kept))
        points = points @ np.rint(matrix * _PROJECTION_STEPS)
        length *= _PROJECTION_STEPS * math.sqrt(n_kept)
    points = points / length
    norm = np.sqrt(reduce(add, (column * column for column in points.T)))
    scaled: NDArray[np.float64] = np.rint(points / np.maximum(1.0, norm)[:, None] * _UNIT)
    return scaled


def _published_projection(rows: FixedPointRows, door: LabDoor, n_kept: int) -> NDArray[np.float64]:
    """Return rows as they are, projected and divided by the largest norm among them: the leak."""
    points = rows.grid.values(rows.displacement + middle_place(rows.grid))
    if n_kept < rows.grid.n_columns:
        matrix = door.public_randomness("projection").normal(size=(rows.grid.n_columns, n_kept))
        points = points @ (matrix / math.sqrt(n_kept))
    norm = np.sqrt((points**2).sum(axis=1))
    scaled: NDArray[np.float64] = np.rint(points / norm.max(initial=1e-9) * _UNIT)
    return scaled


def _candidates(points: NDArray[np.float64], door: LabDoor, lattices: Lattices) -> NDArray[np.float64]:
    """Return the distinct vectors of all lattices, in whole `_UNIT` steps."""
    vectors = door.cover(CANDIDATES, points / _UNIT, lattices.steps, lattices.limit, lattices.picks)
    places = [step * drawn for step, drawn in zip(lattices.steps, vectors, strict=True)]
    return np.unique(np.rint(np.concatenate(places) * _UNIT), axis=0)


def _merged(
    candidates: NDArray[np.float64], noisy_counts: NDArray[np.int64], door: LabDoor, settings: PeerSettings
) -> NDArray[np.float64]:
    """Return the middles of k groups of candidates, by k-means weighted with their noisy counts."""
    kept = noisy_counts > 0
    weights = np.where(kept, noisy_counts, 0.0)
    if not kept.any():
        kept, weights = ~kept, np.ones(len(candidates))
    candidates, weights = candidates[kept], weights[kept]
    seed = int(door.public_randomness("k-means").integers(2**31))
    label = merge_leaves(candidates, weights, settings.n_clusters, 1 if settings.published else 10, seed)
    member = np.eye(label.max() + 1)[label].T * weights
    middles: NDArray[np.float64] = np.rint(member @ candidates / member.sum(axis=1)[:, None])
    return middles


def _reach(rows: FixedPointRows, size: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how far one row can move the mean of a cluster of at least that size, in parts of a place.

    The diameter of the box over the size, and one part in each column for rounding the mean.
    """
    diameter = math.sqrt(float((rows.grid.last_place.astype(np.float64) ** 2).sum()))
    reach: NDArray[np.float64] = np.ceil(_FINE * diameter / size) + math.ceil(math.sqrt(rows.grid.n_columns))
    return reach.astype(np.int64)


def _exact_means(exact_counts: NDArray[np.int64], exact_sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return means in parts of a place, rounded to the nearest; of no rows, the middle of the box."""
    counts: NDArray[np.int64] = np.maximum(exact_counts, 1)[:, None]
    means: NDArray[np.int64] = (2 * _FINE * exact_sums + counts) // (2 * counts)
    return means


def _averages(rows: FixedPointRows, label: NDArray[np.int64], n_groups: int, door: LabDoor, budget: Budget) -> Centres:
    """Return noisy means of the clusters that are large enough, judged by their noisy sizes."""
    exact_counts, exact_sums = rows.sums(label, n_groups)
    noisy_counts = door.counts(CLUSTER_SIZE, 0, exact_counts)
    sizes = noisy_counts - math.ceil(budget.offset)
    kept = np.flatnonzero(sizes > 0)
    if not len(kept):  # then the largest one, as if it had one row: its mean moves by the diameter at most
        kept = np.array([np.argmax(sizes)])
    reach = _reach(rows, np.maximum(sizes[kept], 1).astype(np.float64))
    noisy_means = door.means(AVERAGES, _exact_means(exact_counts, exact_sums)[kept], reach)
    centres = np.clip(noisy_means / _FINE, -rows.half_width, rows.half_width)
    return Centres(centres, np.maximum(noisy_counts[kept], 0).astype(np.float64))


def _published_averages(
    rows: FixedPointRows, label: NDArray[np.int64], n_groups: int, door: LabDoor, budget: Budget
) -> Centres:
    """Return means with noise of standard deviation sigma**2, in the units of the data, and not clipped."""
    exact_counts, exact_sums = rows.sums(label, n_groups)
    noisy_counts = door.counts(CLUSTER_SIZE, 0, exact_counts)
    sizes = noisy_counts.astype(np.float64) - budget.offset
    kept = np.flatnonzero((sizes > 0) & (exact_counts >= 2))  # the leak
    if not len(kept):
        kept, sizes = np.array([np.argmax(sizes)]), np.maximum(sizes, 1.0)
    sizes = sizes[kept]
    diameter = math.sqrt(float(((rows.grid.last_place * rows.grid.step) ** 2).sum()))
    sigma = budget.average_noise * diameter / sizes
    deviation = np.minimum(sigma[:, None] ** 2 * rows.grid.inverse_step * _FINE, _LARGEST_DEVIATION)
    exact_means = _exact_means(exact_counts, exact_sums)[kept]
    noisy_means = door.means(AVERAGES, exact_means, _reach(rows, sizes), deviation)
    return Centres(noisy_means / _FINE, np.maximum(noisy_counts[kept], 0).astype(np.float64), clip=False)
