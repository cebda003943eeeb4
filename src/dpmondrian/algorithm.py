"""DPM from beginning to end (paper, algorithm 1), for both variants and every engine.

A reader who wants the whole method in one place reads `cluster`: count, choose windows, grow the tree of
cuts, fit the counts, find the centres, merge if asked. Everything that leaves the rows goes through the door.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.accounting.plan import (
    CENTRE_PARTS,
    CENTRE_PARTS_WITH_K,
    Plan,
    paper_offsets,
    paper_plan,
    pure_plan,
    zcdp_plan,
)
from dpmondrian.centres.clipped import MeanFinder, Means, leaf_groups
from dpmondrian.centres.lloyd import Cells, doubled_means, lloyd_steps, merged_means
from dpmondrian.centres.paper import domain_means
from dpmondrian.domain import Schema
from dpmondrian.engines.base import Engine
from dpmondrian.grid import Grid
from dpmondrian.release import Door
from dpmondrian.scoring.combine import Score
from dpmondrian.tree.consistency import consistent_counts
from dpmondrian.tree.grower import GrownTree, SplitRule, grow
from dpmondrian.tree.intervals import choose_n_intervals
from dpmondrian.tree.structure import Tree, release_tree

__all__ = ["ALPHA", "ALPHA_WITH_K", "Clustering", "Settings", "cluster", "make_plan"]

ALPHA, ALPHA_WITH_K = 5.0, 3.0
"""Weight of emptiness: the paper's, and a lower one that cuts more often where leaves will be merged.

The lower one was chosen on UCI Letters; on other data it made no clear difference (README, "How good")."""

LEAST_SHARE = 2.0**-7
"""Smallest share of all rows that a side of a cut may hold (the paper's tau_e = n / 2**7)."""

NOISE_FLOOR = 4.0
"""A side must also hold this many standard deviations of its count's noise, or it may be empty."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a run; all public."""

    epsilon: float
    delta: float
    variant: str
    shares: Mapping[str, float]
    max_depth: int
    windows: int
    t: float
    q: float
    alpha: float
    min_cluster_size: int | None
    n_clusters: int | None
    rows_per_person: int

    def beyond_privacy(self) -> dict[str, Any]:
        """Return the estimator's parameters that the privacy statement does not hold, by their names there."""
        values = asdict(self)
        values["budget_shares"] = dict(values.pop("shares"))
        stated = ("epsilon", "delta", "variant", "rows_per_person")
        return {name: value for name, value in values.items() if name not in stated}

    @property
    def paper(self) -> bool:
        """Whether the paper's composition, scores and constants are used."""
        return self.variant == "paper"


@dataclass(frozen=True)
class Clustering:
    """Released clusters, largest first, and the tree they came from.

    `cluster_of_node` maps the node in which the engine left a row to the cluster it most likely belongs to.
    """

    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    tree: Tree
    cluster_of_node: NDArray[np.int64]


def make_plan(settings: Settings) -> Plan:
    """Return the plan of a run, made from public parameters before any row is read."""
    if settings.paper:
        return paper_plan(settings.epsilon, settings.delta, settings.max_depth, settings.shares)
    parts = CENTRE_PARTS if settings.n_clusters is None else CENTRE_PARTS_WITH_K
    if settings.delta == 0.0:
        return pure_plan(settings.epsilon, settings.max_depth, settings.shares, parts)
    return zcdp_plan(settings.epsilon, settings.delta, settings.max_depth, settings.shares, parts)


def cluster(engine: Engine, door: Door, schema: Schema, settings: Settings) -> Clustering:
    """Return private clusters of the engine's rows."""
    grid = Grid.with_windows(schema, settings.windows)
    door.check_noise_fits(float(grid.last_place.sum() + grid.n_columns))
    [noisy_total] = door.counts(0, [engine.encode(grid)]).tolist()
    if settings.paper and settings.max_depth > 0:
        grid = Grid.with_intervals(schema, choose_n_intervals(engine, door, noisy_total, grid.n_columns))
        engine.encode(grid)
    tree = grow(engine, door, grid, _split_rule(door, settings), noisy_total)
    noisy_sizes, size_errors = _sizes(tree, door, settings)
    leaves = [leaf.number for leaf in tree.leaves]
    cells, cluster_of_leaf = _centres(engine, door, grid, tree, noisy_sizes[leaves], size_errors[leaves], settings)
    return _clustering(grid, tree, noisy_sizes, size_errors, cells, cluster_of_leaf, settings)


def _split_rule(door: Door, settings: Settings) -> SplitRule:
    """Return what decides about cuts: score, size limit, and the range that a selection pays for."""
    score = Score(settings.t, settings.q, settings.alpha, two_sided=not settings.paper)
    score_range, score_sensitivity = score.range, score.sensitivity

    def size_limit(noisy_total: int, level: int) -> float:
        if settings.min_cluster_size is not None:
            return float(settings.min_cluster_size)
        floor = 1.0 if settings.paper else NOISE_FLOOR * door.count_deviation(level)
        return max(LEAST_SHARE * noisy_total, floor, 1.0)

    def exact_range(noisy_count: int, level: int) -> int:
        return score_range

    if not settings.paper:
        return SplitRule(score, settings.max_depth, size_limit, exact_range)
    offsets = paper_offsets(door.plan, settings.max_depth)

    def published_range(noisy_count: int, level: int) -> int:
        # exp(eps * f / (2 * Delta)) with Delta = (t/q + alpha) / (n - lambda), times the n of the score steps
        shifted = max(noisy_count - offsets[level] * settings.rows_per_person, 1.0)
        return int(np.ceil(2 * score_sensitivity * noisy_count / shifted))

    return SplitRule(score, settings.max_depth, size_limit, published_range, within_box=False)


def _sizes(tree: GrownTree, door: Door, settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes and standard errors of all nodes: fitted along the tree, or as drawn for the paper."""
    variances = [door.count_deviation(level) ** 2 for level in range(settings.max_depth + 1)]
    if settings.paper:
        drawn = np.array([float(node.noisy_count) for node in tree.nodes])
        return drawn, np.sqrt([variances[node.level] for node in tree.nodes])
    return consistent_counts(tree, variances.__getitem__)


def _centres(
    engine: Engine,
    door: Door,
    grid: Grid,
    tree: GrownTree,
    leaf_sizes: NDArray[np.float64],
    leaf_errors: NDArray[np.float64],
    settings: Settings,
) -> tuple[Cells, NDArray[np.int64]]:
    """Return the clusters and the cluster of every leaf: leaves as they are, or merged to k."""
    groups = leaf_groups(tree.leaves, grid, leaf_sizes)
    if settings.paper:
        means = domain_means(engine, door, grid, groups)
        return _merged_leaves(means, leaf_sizes, leaf_errors, settings.n_clusters or len(leaf_sizes))
    one_each = np.arange(len(leaf_sizes))
    finder = MeanFinder(engine, door, grid, noisy_total=round(float(leaf_sizes.sum())))
    means = finder.coarse(groups)
    radius = finder.radius(1, groups, means)
    means = finder.clipped(1, groups, means, radius)
    if settings.n_clusters is None:
        means = finder.clipped(2, groups, means, finder.radius(2, groups, means))
        return Cells(means, leaf_sizes, leaf_errors), one_each
    if len(leaf_sizes) < settings.n_clusters:
        means, cluster_of_leaf = doubled_means(means, groups, radius, settings.n_clusters), one_each
    else:
        means, cluster_of_leaf = merged_means(means, groups.sizes[:, 0], settings.n_clusters)
    return lloyd_steps(engine, door, grid, finder, means, leaf_sizes.sum()), cluster_of_leaf


def _merged_leaves(
    means: Means, leaf_sizes: NDArray[np.float64], leaf_errors: NDArray[np.float64], n_clusters: int
) -> tuple[Cells, NDArray[np.int64]]:
    """Return leaves merged to at most k clusters, whose sizes are the sums of theirs."""
    means, cluster_of_leaf = merged_means(means, np.maximum(leaf_sizes, 1.0), n_clusters)
    member = np.eye(len(means.places))[cluster_of_leaf].T
    return Cells(means, member @ leaf_sizes, np.sqrt(member @ leaf_errors**2)), cluster_of_leaf


def _clustering(
    grid: Grid,
    grown: GrownTree,
    sizes: NDArray[np.float64],
    size_errors: NDArray[np.float64],
    cells: Cells,
    cluster_of_leaf: NDArray[np.int64],
    settings: Settings,
) -> Clustering:
    """Return the clusters in the data's units, largest first. Post-processing."""
    order = np.argsort(-cells.sizes, kind="stable")
    rank = np.argsort(order)
    counted = "people" if settings.rows_per_person == 1 else "rows"
    tree = release_tree(grown, grid, sizes, size_errors, rank[cluster_of_leaf], counted)
    return Clustering(
        centres=grid.values(cells.means.places[order]),
        centre_errors=grid.step * cells.means.errors[order],
        sizes=np.maximum(cells.sizes[order], 0.0),
        size_errors=cells.size_errors[order],
        tree=tree,
        # After Lloyd steps the engine's nodes are the cells, in the order before sorting by size.
        cluster_of_node=rank if cells.regrouped else tree.cluster,
    )
