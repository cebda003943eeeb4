"""PE-means (Humphries et al. 2026): candidates for centres that rows vote for, and that evolve by the noisy votes.

Only histograms of votes are released, never sums, so the noise does not grow with the box. ``docs/privacy/peers.md`` has
the argument. Three departures from the published code, which looks at exact values: rows are scaled by their public box
instead of their true mean and largest norm; the number of rows, where the votes end that are believed, is a noisy count;
and `expected_rows` sets the number of candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import GAUSSIAN, ROWS, Draw, Kind, PlannedDraw
from dpmondrian_lab.peers.ball import drawn_into_ball, packed_in_ball
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, LabPlan
from dpmondrian_lab.peers.merging import merge_leaves
from dpmondrian_lab.peers.nearest import Candidates
from dpmondrian_lab.peers.rows import FixedPointRows

__all__ = ["ROW_COUNT", "VOTES", "PEMeans", "weighted_means"]

ROW_COUNT = Draw("row count", Kind.NOISE, ROWS)
"""All rows."""
VOTES = Draw("votes", Kind.NOISE, ROWS)
"""Rows nearest to every candidate of a generation."""

_ROWS_PER_CANDIDATE = 5
_LEAST_MUTANTS = 4
_MOST_CANDIDATES = 2**16
_MOST_TIMES = 4.0
"""The number of generations grows with epsilon up to here, the authors' largest."""
_COUNT_SHARE = 0.01
"""Part of the budget, as the square of Gaussian mu, for the number of rows."""
_STEP = 0.01
"""Size of a mutation in one column, in radii."""
_TAIL = 1.75
"""Index of the stable law of mutations: 2 is Gaussian, less has heavier tails."""
_KMEANS_STARTS = 10
_MOST_PIVOTS = 512


@dataclass(frozen=True)
class _Course:
    """Number of generations, mutants of each centre in the beginning, and the noise of one generation and the count."""

    n_generations: int
    n_mutants: int
    vote_noise: float
    count_noise: float

    @classmethod
    def of(cls, settings: PeerSettings, n_columns: int) -> _Course:
        noise = least_multiplier(
            settings.epsilon * (1.0 - 2 * GAUSSIAN_SLACK), settings.delta * (1.0 - 2 * GAUSSIAN_SLACK)
        )
        times = min(max(settings.epsilon, 1.0), _MOST_TIMES)
        n_generations = int(times * int(4.0 * math.sqrt(n_columns)))
        n_candidates = min(settings.expected_rows // _ROWS_PER_CANDIDATE, _MOST_CANDIDATES)
        n_mutants = max(n_candidates // settings.n_clusters, _LEAST_MUTANTS)
        vote_noise = noise * math.sqrt(n_generations / (1.0 - _COUNT_SHARE))
        return cls(n_generations, n_mutants, vote_noise, noise / math.sqrt(_COUNT_SHARE))


class PEMeans(Peer):
    """PE-means: private evolution of candidates for centres by noisy votes.

    Parameters
    ----------
    n_clusters, epsilon, delta, bounds, expected_rows, random_state
        As in `Peer`; there is one variant, the authors' plain one without projection.

    Examples
    --------
    >>> rows = np.vstack([np.full((500, 2), 20.0), np.full((500, 2), 80.0)])
    >>> PEMeans(2, 5.0, bounds=(0, 100), expected_rows=1000).fit(rows).cluster_centers_.shape
    (2, 2)
    """

    _variants = ("default",)

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        course = _Course.of(settings, n_columns)
        noises = [(ROW_COUNT, 0, course.count_noise)]
        noises += [(VOTES, generation, course.vote_noise) for generation in range(course.n_generations)]
        draws = (PlannedDraw(draw, level, GAUSSIAN, noise, 1.0 / noise) for draw, level, noise in noises)
        return LabPlan(settings.epsilon, settings.delta, JOINT, tuple(draws))

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        k, n_columns = settings.n_clusters, rows.grid.n_columns
        course = _Course.of(settings, n_columns)
        n_mutants = course.n_mutants
        radius = math.sqrt((rows.half_width.astype(np.float64) ** 2).sum())
        [noisy_total] = door.fine_counts(ROW_COUNT, 0, np.array([len(rows.displacement)]))
        start = packed_in_ball((n_mutants + 1) * k, n_columns, radius, door.public_randomness("start"))
        candidates, n_pivots = np.rint(start), math.isqrt(len(start))
        for generation in range(course.n_generations):
            votes = Candidates.of(candidates, n_pivots).nearest(rows.displacement)
            exact_votes = np.bincount(votes, minlength=len(candidates)).astype(np.int64)
            noisy_votes = door.fine_counts(VOTES, generation, exact_votes)
            kept, weights = _believed(noisy_votes, noisy_total, k)
            seed = int(door.public_randomness("k-means", generation).integers(2**31))
            centres, sizes = weighted_means(candidates[kept], weights, k, _KMEANS_STARTS, seed)
            if (weights**2).sum() < len(candidates) * door.deviation(VOTES, generation) ** 2:
                n_mutants = max(n_mutants // 2, _LEAST_MUTANTS)
            candidates = _mutated(centres, n_mutants, radius, door.public_randomness("mutation", generation))
            n_pivots = min(len(centres), _MOST_PIVOTS)
        return Centres(centres, sizes)


def _believed(
    noisy_votes: NDArray[np.float64], noisy_total: float, n_least: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the candidates whose votes are the largest and reach the total, and their weights.

    Below zero is nothing to believe; but at least `n_least` are returned, and each weighs at least one row.
    """
    order = np.argsort(-noisy_votes, kind="stable")
    reached = np.cumsum(np.maximum(noisy_votes[order], 0.0))
    n_kept = min(int(np.searchsorted(reached, noisy_total)) + 1, int((noisy_votes > 0.0).sum()))
    kept = order[: max(n_kept, n_least)]
    return kept, np.maximum(noisy_votes[kept], 1.0)


def weighted_means(
    places: NDArray[np.float64], weights: NDArray[np.float64], n_clusters: int, n_starts: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres and sizes of weighted k-means on released places and weights."""
    label = merge_leaves(places, weights, n_clusters, n_starts, seed)
    sizes = np.bincount(label, weights).astype(np.float64)
    sums = np.stack([np.bincount(label, weights * column) for column in places.T], axis=1)
    return sums / sizes[:, None], sizes


def _mutated(
    centres: NDArray[np.float64], n_mutants: int, radius: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return the centres, then mutants of each: steps of a heavy-tailed law in every column, within the ball."""
    steps = _levy_steps((n_mutants * len(centres), centres.shape[1]), generator)
    mutants = np.tile(centres, (n_mutants, 1)) + _STEP * radius * steps
    return np.rint(np.vstack([centres, drawn_into_ball(mutants, radius)]))


def _levy_steps(shape: tuple[int, int], generator: np.random.Generator) -> NDArray[np.float64]:
    """Return draws of about a symmetric stable law of index `_TAIL`: a ratio of Gaussian powers (Mantegna 1994)."""
    ratio = math.gamma(1.0 + _TAIL) * math.sin(math.pi * _TAIL / 2.0)
    ratio /= math.gamma((1.0 + _TAIL) / 2.0) * _TAIL * 2.0 ** ((_TAIL - 1.0) / 2.0)
    deviation = ratio ** (1.0 / _TAIL)
    numerator, denominator = generator.normal(0.0, deviation, shape), generator.normal(size=shape)
    steps: NDArray[np.float64] = numerator / np.abs(denominator) ** (1.0 / _TAIL)
    return steps
