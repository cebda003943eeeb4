"""DPM from beginning to end (paper, algorithm 1), for both variants and every engine.

A reader who wants the whole method in one place reads `cluster`: count, choose windows, grow the tree of
cuts, fit the counts, find the leaves' centres, put leaves together to clusters, improve the clusters' centres.
Everything that leaves the rows goes through the door.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.centres.clipped import Groups, MeanFinder, Means, leaf_groups
from dpmondrian.dpm.centres.lloyd import (
    Cells,
    doubled_means,
    group_means,
    leaf_steps,
    lloyd_steps,
    merged_means,
    without_empty,
)
from dpmondrian.dpm.centres.paper import domain_means
from dpmondrian.dpm.draws import COUNT, LEVEL
from dpmondrian.dpm.joining.bridges import Bridges, hidden_by_noise, measure_bridges
from dpmondrian.dpm.joining.hierarchy import Hierarchy, hierarchy_of, join_leaves
from dpmondrian.dpm.joining.joins import Joins
from dpmondrian.dpm.plan import paper_offsets
from dpmondrian.dpm.scores.combine import Score
from dpmondrian.dpm.scores.steps import STEPS
from dpmondrian.dpm.scores.valley import ValleyScore
from dpmondrian.dpm.settings import Settings
from dpmondrian.dpm.tree.grower import GrownTree, SplitRule, consistent_counts, grow
from dpmondrian.dpm.tree.intervals import choose_n_intervals
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door
from dpmondrian.schema import Schema

__all__ = ["WIDENING", "Clustering", "cluster", "split_rule"]

ATTEMPTS = 4
"""How often a node may try to find a cut, on as many levels."""

LEAST_SHARE, LEAST_SHARE_WITH_K = 1.0 / 192.0, 2.0**-7
"""Smallest share of all rows that a side of a cut may hold: the paper's tau_e = n / 2**7, and a little less, so that
clusters of a hundredth of the rows are found next to pieces of others."""

MOST_LEAVES = 1024
"""Leaves that are joined to clusters hold at least one part in this many of the rows: the work grows with their cube."""

MOST_LEVELS = 8
"""Most levels of the hierarchy among which the silhouette may choose."""

WIDENING = 4.0
"""How much farther out than the others the first Lloyd step clips."""

NOISE_FLOOR, NOISE_FLOOR_WITH_K = 3.0, 4.0
"""A side must also hold this many standard deviations of its count's noise, or it may be empty. Fewer where bridges
tell an empty leaf from others afterwards."""


@dataclass(frozen=True)
class Clustering:
    """Clusters, largest first, and the tree they came from: released values only, in the grid's units.

    Attributes
    ----------
    centres, centre_errors : float64 array of shape (n_clusters, n_columns)
    sizes, size_errors : float64 array of shape (n_clusters,)
    grid : Grid
        In whose codes the tree's cuts are.
    tree : GrownTree
    node_sizes, node_size_errors : float64 array of shape (n_nodes,)
        Of all nodes of the tree; they add up along it.
    cluster_of_leaf : int64 array of shape (n_leaves,)
    hierarchy : Hierarchy or None
        Of the leaves, where that was measured.
    cluster_of_node : int64 array
        From the node in which the engine left a row to the cluster it most likely belongs to.
    """

    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    grid: Grid
    tree: GrownTree
    node_sizes: NDArray[np.float64]
    node_size_errors: NDArray[np.float64]
    cluster_of_leaf: NDArray[np.int64]
    hierarchy: Hierarchy | None
    cluster_of_node: NDArray[np.int64]


def cluster(engine: Engine, door: Door, schema: Schema, settings: Settings) -> Clustering:
    """Return private clusters of the engine's rows. The last columns of the schema are the directions, if there are any."""
    grid = Grid.with_windows(schema, settings.windows, len(schema.columns) - settings.directions)
    door.check_noise_fits(float(grid.measured.last_place.sum() + grid.n_measured), grid.n_measured)
    [noisy_total] = door.counts(COUNT, 0, [engine.encode(grid)]).tolist()
    if settings.paper and settings.max_depth > 0:
        grid = Grid.with_intervals(schema, choose_n_intervals(engine, door, noisy_total, grid.n_columns))
        engine.encode(grid)
    tree = grow(engine, door, grid, split_rule(door, settings, grid), noisy_total)
    noisy_sizes, size_errors = _sizes(tree, door, settings)
    measured = grid.measured  # from here on directions do not matter
    leaf_sizes, leaf_errors = noisy_sizes[tree.leaf_numbers], size_errors[tree.leaf_numbers]
    leaves = leaf_groups(tree.leaves, measured, leaf_sizes)
    finder = MeanFinder(engine, door, measured, noisy_total=round(float(leaf_sizes.sum())))
    found = _find_clusters(engine, door, measured, finder, leaves, leaf_errors, settings)
    if settings.paper:
        cells = _summed_cells(found, leaf_sizes, leaf_errors)
    elif found.hidden:
        cells = Cells(leaf_steps(door, finder, leaves, found.means), leaf_sizes, leaf_errors)
    else:
        widening = WIDENING if settings.finds_k else 1.0
        cells = lloyd_steps(
            engine, door, measured, finder, found.means, (float(noisy_sizes[0]), float(size_errors[0])), widening
        )
        if settings.finds_k:
            cells, new_number = without_empty(cells)
            found = replace(found, cluster_of_leaf=new_number[found.cluster_of_leaf])
    return _clustering(grid, tree, noisy_sizes, size_errors, found, cells)


@dataclass(frozen=True)
class _Found:
    """Clusters as groups of leaves, with their first means; the leaves' own means and bridges where they were measured.

    `hidden` says that noise hides what lies between leaves, so that they are the clusters.
    """

    means: Means
    cluster_of_leaf: NDArray[np.int64]
    leaf_means: Means | None = None
    bridges: Bridges | None = None
    joins: Joins | None = None
    hidden: bool = False


def split_rule(door: Door, settings: Settings, grid: Grid) -> SplitRule:
    """Return what decides about cuts: score, size limit, and the range that a selection pays for."""
    least_share = LEAST_SHARE if settings.finds_k else LEAST_SHARE_WITH_K
    noise_floor = NOISE_FLOOR if settings.finds_k else NOISE_FLOOR_WITH_K

    def size_limit(noisy_total: int, level: int) -> float:
        if settings.min_cluster_size is not None:
            least = noisy_total / MOST_LEAVES if settings.finds_k else 1.0
            return max(float(settings.min_cluster_size), least)
        floor = 1.0 if settings.paper else noise_floor * door.deviation(COUNT, level)
        return max(least_share * noisy_total, floor, 1.0)

    if settings.finds_k:
        valley = ValleyScore(settings.t, settings.q)
        score_valleys = partial(valley.of_nodes, n_codes=grid.n_codes)
        return SplitRule(score_valleys, settings.max_depth, size_limit, lambda *_: valley.range, attempts=ATTEMPTS)
    assert settings.alpha is not None
    score = Score(settings.t, settings.q, settings.alpha, two_sided=not settings.paper)
    score_cuts = partial(score.of_nodes, stride=grid.stride)
    if not settings.paper:
        return SplitRule(score_cuts, settings.max_depth, size_limit, lambda *_: score.range)
    offsets = paper_offsets(door.plan, settings.max_depth)

    def published_range(noisy_count: int, level: int) -> int:
        # exp(eps * f / (2 * Delta)) with Delta = (t/q + alpha) / (n - lambda), times the n of the score steps
        shifted = max(noisy_count - offsets[level] * settings.rows_per_person, 1.0)
        return int(np.ceil(2 * score.sensitivity * noisy_count / shifted))

    return SplitRule(score_cuts, settings.max_depth, size_limit, published_range, within_box=False)


def _sizes(tree: GrownTree, door: Door, settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes and standard errors of all nodes: fitted along the tree, or as drawn for the paper."""
    variances = [door.deviation(COUNT, level) ** 2 for level in range(settings.max_depth + 1)]
    if settings.paper:
        drawn = np.array([float(node.noisy_count) for node in tree.nodes])
        return drawn, np.sqrt([variances[node.level] for node in tree.nodes])
    return consistent_counts(tree, variances.__getitem__)


def _find_clusters(
    engine: Engine,
    door: Door,
    grid: Grid,
    finder: MeanFinder,
    leaves: Groups,
    leaf_errors: NDArray[np.float64],
    settings: Settings,
) -> _Found:
    """Return which leaves make up a cluster: merged to k, or joined where bridges show that they are one."""
    sizes = leaves.sizes[:, 0]
    if settings.paper:
        return _Found(*merged_means(domain_means(engine, door, grid, leaves), sizes, settings.n_clusters or len(sizes)))
    means = finder.coarse(leaves)
    radius = finder.radius(1, leaves, means)
    means = finder.clipped(1, leaves, means, radius)
    if settings.n_clusters is None:
        return _joined_leaves(engine, door, means, sizes, leaf_errors)
    if len(sizes) < settings.n_clusters:
        return _Found(doubled_means(means, leaves, radius, settings.n_clusters), np.arange(len(sizes)))
    return _Found(*merged_means(means, sizes, settings.n_clusters))


def _joined_leaves(
    engine: Engine, door: Door, means: Means, sizes: NDArray[np.float64], size_errors: NDArray[np.float64]
) -> _Found:
    """Return the clusters that the bridges between leaves show.

    Where noise hides what lies between leaves, they stay as they are, without a hierarchy. If nothing is surely apart, all
    rows are one cluster. Otherwise what is surely apart is undone, and among the next levels
    of the hierarchy one is chosen by the silhouette of the rows: how much nearer they are to their own centre than
    to the next one.
    """
    if len(sizes) == 1:
        return _Found(means, np.zeros(1, dtype=np.int64), means)
    if hidden_by_noise(means):
        return _Found(means, np.arange(len(sizes)), hidden=True)
    bridges, inhabited = measure_bridges(engine, door, means, sizes, size_errors)
    joined = join_leaves(bridges, inhabited, means.places)
    joins, fewest = joined.joins, joined.n_surely_apart()
    most = min(len(sizes), fewest + MOST_LEVELS - 1) if fewest > 1 else 1
    level = _best_level(engine, door, means, sizes, [joins.tops(k) for k in range(fewest, most + 1)])
    group = joins.groups(fewest + level)
    return _Found(group_means(means, sizes, group), group, means, bridges, joins)


def _best_level(
    engine: Engine, door: Door, means: Means, sizes: NDArray[np.float64], levels: list[NDArray[np.int64]]
) -> int:
    """Return the index of the level with the best silhouette, chosen privately; `levels` hold the group of every leaf.

    From one level to the next one group falls into two, so most centres belong to many levels.

    Privacy
    -------
    Released: the index of a level. Each score is a sum over rows of at most one silhouette of at most `STEPS`, never
    negative: one row raises all scores by amounts within ``[0, STEPS]``. Argument: ``docs/privacy/bridges.md``; tests that
    try to break it: ``tests/privacy/test_neighbours.py``.
    """
    if len(levels) == 1:
        return 0
    groups = np.unique(levels)
    leaves_of = [next(level == group for level in levels if (level == group).any()) for group in groups]
    centres = np.array([np.average(means.places[leaves], axis=0, weights=sizes[leaves]) for leaves in leaves_of])
    taken = np.array([np.isin(groups, level) for level in levels])
    exact_scores = engine.silhouettes(np.rint(centres).astype(np.int64), taken, STEPS)
    [chosen] = door.select(LEVEL, None, [exact_scores], [STEPS])
    return chosen


def _summed_cells(found: _Found, leaf_sizes: NDArray[np.float64], leaf_errors: NDArray[np.float64]) -> Cells:
    """Return merged leaves as clusters whose sizes are the sums of theirs."""
    member = np.eye(len(found.means.places))[found.cluster_of_leaf].T
    return Cells(found.means, member @ leaf_sizes, np.sqrt(member @ leaf_errors**2))


def _clustering(
    grid: Grid,
    grown: GrownTree,
    sizes: NDArray[np.float64],
    size_errors: NDArray[np.float64],
    found: _Found,
    cells: Cells,
) -> Clustering:
    """Return the clusters in the data's units, largest first. Post-processing."""
    measured = grid.measured
    order = np.argsort(-cells.sizes, kind="stable")
    rank = np.argsort(order)
    cluster_of_leaf = rank[found.cluster_of_leaf]
    hierarchy = None
    if found.leaf_means is not None:
        hierarchy = hierarchy_of(grown, measured.values(found.leaf_means.places), found.bridges, found.joins)
    return Clustering(
        centres=measured.values(cells.means.places[order]),
        centre_errors=measured.step * cells.means.errors[order],
        sizes=np.maximum(cells.sizes[order], 0.0),
        size_errors=cells.size_errors[order],
        grid=grid,
        tree=grown,
        node_sizes=sizes,
        node_size_errors=size_errors,
        cluster_of_leaf=cluster_of_leaf,
        hierarchy=hierarchy,
        # After Lloyd steps the engine's nodes are the cells, in the order before sorting by size.
        cluster_of_node=grown.by_node(cluster_of_leaf) if cells.of_node is None else rank[cells.of_node],
    )
