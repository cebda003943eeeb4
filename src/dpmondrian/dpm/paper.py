"""``variant="paper"`` beside its tree: the size of its intervals, the rule of its cuts, and centres from noisy sums over the whole domain.

The size of intervals is that of algorithm 2, corrected: pooled gaps, chosen over public candidates. For a normal distribution with
standard deviation sigma, the gaps between n sorted values scale like ``sigma / n``, so the paper's look-up table is one number: the 65 %
point of n times a gap for sigma = 1. Each candidate sigma then stands for one gap length, and the exponential mechanism chooses among the
candidates directly by how many of the pooled gaps are shorter.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import DOMAIN_SUMS, INTERVAL_SIZE
from dpmondrian.dpm.merging import k_means
from dpmondrian.dpm.plan import paper_offsets
from dpmondrian.dpm.scores import Score
from dpmondrian.dpm.settings import Settings
from dpmondrian.dpm.steps import Centres
from dpmondrian.dpm.tree import SplitRule
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "GAP_PERCENTILE",
    "SIGMAS",
    "choose_n_intervals",
    "domain_means",
    "gap_score_change",
    "merged_leaves",
    "paper_rule",
    "standard_gap",
]

_LEAST_SHARE = 2.0**-7
"""Smallest share of all rows that a side of a cut may hold: the paper's tau_e."""

GAP_PERCENTILE = 65
SIGMAS = np.arange(1, 60) / 400.0
"""Candidate standard deviations as fractions of a column's range: the paper's 0.5, 1.0, ..., 29.5 on [-100, 100]."""

MOST_SORTED = 2**20
"""About so many rows are sorted; of larger tables a share is looked at, whose gaps tell the same and are longer."""


@lru_cache(maxsize=1)
def standard_gap() -> float:
    """Return g with ``P(n * gap <= g) = 0.65`` for many sorted standard normal values.

    ``P(n * gap <= g) = 1 - integral of phi(x) * exp(-phi(x) * g) dx``, solved by bisection.
    """
    x = np.linspace(-12.0, 12.0, 20_001)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def share_within(g: float) -> float:
        return 1.0 - float(np.sum(density * np.exp(-density * g)) * (x[1] - x[0]))

    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share_within(middle) < GAP_PERCENTILE / 100 else (low, middle)
    return high


def gap_score_change(n_columns: int) -> int:
    """Return the most that one row changes the score ``-|100 * #{gaps <= v} - 65 * #gaps|``.

    Privacy
    -------
    In each column a new value replaces one gap by two shorter ones, or adds one at an end: the number
    of gaps grows by 1 (0 for the first row) and those ``<= v`` by 0, 1 or 2. So the term changes by at most
    ``200 - 65`` per column. Argument: ``docs/privacy/interval-size.md``; tests that try to break it:
    ``tests/privacy/test_gap_score.py``.
    """
    return (200 - GAP_PERCENTILE) * n_columns


def choose_n_intervals(engine: Engine, door: Door, noisy_total: int, n_columns: int) -> int:
    """Return the number of intervals per column, ``range / (sigma / 2)``, with sigma chosen privately."""
    share = min(1.0, MOST_SORTED / max(noisy_total, 1))
    thresholds = SIGMAS * standard_gap() / (share * max(noisy_total, 1))
    exact_within, exact_gaps = engine.gap_counts(thresholds, share)
    exact_scores = -np.abs(100 * exact_within - GAP_PERCENTILE * exact_gaps)
    # The usual factor 2: the score may move up for one candidate and down for another.
    [chosen] = door.select(INTERVAL_SIZE, None, [exact_scores], [2 * gap_score_change(n_columns)])
    return max(1, int(2.0 / SIGMAS[chosen]))


def paper_rule(door: Door, settings: Settings, grid: Grid) -> SplitRule:
    """Return what decides about cuts: the published score and range."""
    score = Score(settings.t, settings.q, settings.alpha, two_sided=False)
    score_cuts = partial(score.of_nodes, stride=grid.stride)
    offsets = paper_offsets(door.plan, settings.max_depth)

    def size_limit(noisy_total: int, _: int) -> float:
        return float(settings.min_cluster_size or max(_LEAST_SHARE * noisy_total, 1.0))

    def published_range(noisy_count: int, level: int) -> int:
        # exp(eps * f / (2 * Delta)) with Delta = (t/q + alpha) / (n - lambda), times the n of the score steps
        shifted = max(noisy_count - offsets[level] * settings.rows_per_person, 1.0)
        return int(np.ceil(2 * score.sensitivity * noisy_count / shifted))

    return SplitRule(lambda _: score_cuts, settings.max_depth, size_limit, published_range, within_box=False)


def domain_means(
    engine: Engine, door: Door, grid: Grid, leaf_numbers: list[int], leaf_sizes: NDArray[np.float64]
) -> Centres:
    """Return the leaves' centres; the noise is scaled to half the diagonal of the domain.

    Sums are relative to the middle of the domain, so bounds (0, b) cost no more than (-b/2, b/2).
    """
    n_leaves, sizes = len(leaf_numbers), np.maximum(leaf_sizes, 1.0)[:, None]
    middle = np.tile(grid.last_place // 2, (n_leaves, 1))
    half_diagonal = int(np.ceil(np.sqrt(((grid.last_place - grid.last_place // 2).astype(np.float64) ** 2).sum())))
    exact_sums = engine.box_sums(leaf_numbers, middle)
    noisy_sums, deviations = door.ball_sums(DOMAIN_SUMS, None, exact_sums, np.full(n_leaves, half_diagonal))
    return Centres(np.clip(middle + noisy_sums / sizes, 0, grid.last_place), deviations / sizes)


def merged_leaves(
    leaves: Centres, sizes: NDArray[np.float64], n_clusters: int | None
) -> tuple[Centres, NDArray[np.int64]]:
    """Return the means of leaves merged to k clusters, weighted by their sizes, and the cluster of every leaf."""
    sizes = np.maximum(sizes, 1.0)
    _, group = k_means(leaves.places, sizes, n_clusters or len(sizes))
    member = np.eye(group.max() + 1)[group].T * sizes
    part = member / member.sum(axis=1, keepdims=True)
    return Centres(part @ leaves.places, np.sqrt(part**2 @ leaves.errors**2)), group
