"""``variant="paper"`` after its tree: the rule of its cuts, and centres from noisy sums over the whole domain."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import DOMAIN_SUMS
from dpmondrian.dpm.merging import k_means
from dpmondrian.dpm.plan import paper_offsets
from dpmondrian.dpm.scores import Score
from dpmondrian.dpm.settings import Settings
from dpmondrian.dpm.steps import Centres
from dpmondrian.dpm.tree.grower import SplitRule
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = ["domain_means", "merged_leaves", "paper_rule"]

_LEAST_SHARE = 2.0**-7
"""Smallest share of all rows that a side of a cut may hold: the paper's tau_e."""


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
