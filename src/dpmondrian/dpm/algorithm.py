"""DPM from beginning to end, for both variants and every engine.

A reader who wants the whole method in one place reads `cluster`: count the rows, grow a tree of private cuts, turn its leaves into
cells, then move k centres (with `n_clusters`) or find out what is apart (without). Everything that leaves the rows goes through
the door.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.threads import one_matrix_thread
from dpmondrian.dpm.cells import CELL_STEPS, MADE_BY_NOISE, Cells, find_cells, move_cells
from dpmondrian.dpm.dividing import divided_along_axes
from dpmondrian.dpm.draws import COUNT, SPLIT
from dpmondrian.dpm.finding import LEAST_SHARE, find_clusters
from dpmondrian.dpm.merging import k_means, squared_distances
from dpmondrian.dpm.paper import choose_n_intervals, domain_means, merged_leaves, paper_rule
from dpmondrian.dpm.partition import Cuts, Everything, Nearest, Partition
from dpmondrian.dpm.plan import level_draws, n_levels
from dpmondrian.dpm.profiles import Histograms, draw_histograms
from dpmondrian.dpm.quality import MEASURED_K, Figures, draw_figures
from dpmondrian.dpm.scores import Score, VarianceScore
from dpmondrian.dpm.settings import Settings
from dpmondrian.dpm.shares import agreeing_cells
from dpmondrian.dpm.steps import COUNT_PART, Centres, Groups, Stepper
from dpmondrian.dpm.tree import GrownTree, ScoreCuts, SplitRule, consistent_counts, grow
from dpmondrian.engines import Engine, Grid, Named
from dpmondrian.privacy import Door, check_noise_fits
from dpmondrian.schema import Schema

__all__ = ["CLEAR_SIZE", "FINAL_SHARE", "K_STEPS", "Clustering", "cluster", "split_rule"]

K_STEPS = 4
"""Steps of k centres: cells are a good start, and each more would make the noise of all larger."""

_LEAST_DRAW = 0.0005
"""No draw that is planned on the way has less of the budget than this, with shares that nobody changed."""
_LEAST_SHARE = 1.0 / 512.0
"""Smallest share of all rows that a side of a cut may hold."""
_NOISE_FLOOR = 2.0
"""A side must also hold this many standard deviations of its count's noise, or it may be empty."""
FINAL_SHARE = 0.1
"""Share of the budget for the sizes and centres of clusters that were found."""
_WORTH_A_STEP = 0.05
"""Share of the budget that is worth another step of the cells, where nothing was found."""
_MOST_VARIANCE = 4.0
"""Histograms whose noise has more times the variance of a count's do not show how far that is off."""
CLEAR_SIZE = 4.0
"""A cluster with fewer standard deviations of noise than this may be much smaller or larger than its size says."""


@dataclass(frozen=True)
class Clustering:
    """Clusters, largest first, and what they came from: released values only, in the grid's units.

    Attributes
    ----------
    centres, centre_errors : float64 array of shape (n_clusters, n_columns)
    sizes, size_errors : float64 array of shape (n_clusters,)
    certainty : float64 array of shape (n_clusters,) or None
        How sure it is that each cluster is apart from the others, where that was found out.
    partition : Partition
        Which cluster a row belongs to.
    cells : Cells or None
        The coreset, from which clusters for every other k follow; None in the paper's variant.
    grid : Grid
        In whose codes and places all of this is.
    tree : GrownTree
    node_sizes, node_size_errors : float64 array of shape (n_nodes,)
        Of all nodes of the tree; they add up along it.
    cluster_of_leaf : int64 array of shape (n_leaves,)
    histograms : Histograms or None
        Rows of every cluster in the bins of every column; None where nobody asked for them.
    figures : Figures or None
        How good the clusters are, likewise.
    """

    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    certainty: NDArray[np.float64] | None
    partition: Partition
    cells: Cells | None
    grid: Grid
    tree: GrownTree
    node_sizes: NDArray[np.float64]
    node_size_errors: NDArray[np.float64]
    cluster_of_leaf: NDArray[np.int64]
    histograms: Histograms | None = None
    figures: Figures | None = None


def cluster(engine: Engine, door: Door, schema: Schema, settings: Settings) -> Clustering:
    """Return private clusters of the engine's rows; unless each belongs to the nearest centre, these are then in the nodes of their clusters."""
    # Tails that vanish are no errors, whatever the caller's state says.
    with np.errstate(all="ignore"), one_matrix_thread():
        return _cluster(engine, door, schema, settings)


def _cluster(engine: Engine, door: Door, schema: Schema, settings: Settings) -> Clustering:
    assert settings.windows is not None
    grid = Grid.with_windows(schema, settings.windows)
    longest = float(grid.last_place.sum() + grid.n_columns)
    n_changed = max(grid.n_columns, len(MEASURED_K) + 2)
    least = None if settings.paper else _LEAST_DRAW
    check_noise_fits(door.plan, door.rows_per_person, longest, n_changed, least)
    [noisy_total] = door.counts(COUNT, 0, [engine.encode(grid)]).tolist()
    if settings.paper:
        return _paper_clustering(engine, door, schema, settings, grid, noisy_total)
    levels = n_levels(settings, noisy_total / door.deviation_at(door.plan.total), len(grid.block_begins))
    door.extend(level_draws(door, settings, levels))
    tree = grow(engine, door, grid, split_rule(door, settings, grid, levels, noisy_total), noisy_total)
    sizes, size_errors = consistent_counts(tree, lambda level: door.deviation(COUNT, level) ** 2)
    _waive_unused(door, tree, levels)
    with_k = settings.n_clusters is not None
    stepper = Stepper(engine, door, grid, float(sizes[0]), with_k)
    for_cells = door.left - settings.chosen_shares["clusters"] * door.plan.total
    cells, leaves = find_cells(engine, door, grid, stepper, tree, sizes, size_errors, levels, with_k, for_cells)
    clusters = _k_clusters if settings.n_clusters else _found_clusters
    found = clusters(engine, door, grid, stepper, cells, settings, float(sizes[0]))
    cluster_of_leaf = found.partition.clusters(np.rint(leaves.places).astype(np.int64))
    histograms = _histograms(engine, door, grid, found, settings)
    found = _with_agreeing_cells(found, histograms, grid)
    figures = _figures(engine, door, grid, stepper.spread, found, settings, float(sizes[0]))
    found = _counted_again(found, histograms, float(sizes[0]), float(size_errors[0]))
    engine.route(Named(_ranks(found.groups).astype(np.int16)))
    return _clustering(grid, tree, sizes, size_errors, found, cluster_of_leaf, histograms, figures)


@dataclass(frozen=True)
class _Clusters:
    """Clusters in the order in which a partition numbers them; the engine's rows are in the nodes of these numbers."""

    centres: Centres
    groups: Groups
    partition: Partition
    cells: Cells | None
    certainty: NDArray[np.float64] | None = None


def split_rule(door: Door, settings: Settings, grid: Grid, levels: int, noisy_total: int) -> SplitRule:
    """Return what decides about cuts: score, size limit, and the range that a selection pays for.

    Scores take turns. Variance makes cells round, which is what centres need; the paper's score sees gaps, which keep
    clusters whole.
    """
    gaps = Score(settings.t, settings.q, settings.alpha)

    def size_limit(noisy_total: int, level: int) -> float:
        floor = max(_LEAST_SHARE * noisy_total, _NOISE_FLOOR * door.deviation(COUNT, level), 1.0)
        return float(settings.min_cluster_size or floor)

    def score_of(level: int) -> Score | VarianceScore:
        if level % 2:
            return gaps
        return VarianceScore(size_limit(noisy_total, level + 1), grid.places_per_code)

    def score_cuts(level: int) -> ScoreCuts:
        score = score_of(level)
        return partial(score.of_nodes, stride=grid.stride) if isinstance(score, Score) else score.of_nodes

    return SplitRule(score_cuts, levels, size_limit, lambda _, level: score_of(level).range, attempts=levels)


def _waive_unused(door: Door, tree: GrownTree, levels: int) -> None:
    """Give back what the levels cost at which no node was open."""
    used = max([node.level for node in tree.nodes] + [level for node in tree.nodes for level, _ in node.rejected])
    for level in range(used, levels):
        door.waive(SPLIT, level)
        door.waive(COUNT, level + 1)


def _k_clusters(
    engine: Engine, door: Door, grid: Grid, stepper: Stepper, cells: Cells, settings: Settings, total: float
) -> _Clusters:
    """Return k clusters: cells merged to k centres, which all that is left of the budget then moves."""
    assert settings.n_clusters is not None
    centres = _start(cells, settings.n_clusters, grid)
    cost = door.left / K_STEPS
    last_step = CELL_STEPS + K_STEPS
    for step in range(CELL_STEPS + 1, last_step + 1):
        cost = min(cost, door.left)
        counted = stepper.regroup(step, centres, COUNT_PART * cost)
        groups = _adding_up(counted, total)
        centres = stepper.moved(step, groups, centres, (1.0 - COUNT_PART) * cost)
        if step < last_step:
            centres = _put_to_use(centres, (counted.sizes < 0.0) & (centres.reaches == 1.0), cells)
    centres = _doubted(centres, groups, grid)
    return _Clusters(centres, groups, Nearest(np.rint(centres.places).astype(np.int64)), cells)


def _found_clusters(
    engine: Engine, door: Door, grid: Grid, stepper: Stepper, cells: Cells, settings: Settings, total: float
) -> _Clusters:
    """Return the clusters that are apart; what is left of the budget measures their sizes and centres, or the cells if there is one."""
    reserve = min(FINAL_SHARE * door.plan.total, 0.5 * door.left)
    least_rows = max(LEAST_SHARE * total, float(settings.min_cluster_size or 0))
    found = find_clusters(engine, door, grid, cells, total, reserve, least_rows)
    step = CELL_STEPS + 1
    if isinstance(found.partition, Everything) and door.left - reserve > _WORTH_A_STEP * door.plan.total:
        cells = move_cells(stepper, step, Centres(cells.places, cells.errors), door.left - reserve)
        step += 1
    # Rows that were cut along lines are in the parts already.
    move = found.partition.name() if isinstance(found.partition, Cuts) else found.partition.move()
    exact_counts = engine.move(move, found.partition.n_clusters)
    groups = _adding_up(stepper.counted(step, exact_counts, COUNT_PART * door.left, found.partition.n_clusters), total)
    start = _means_of_cells(cells, found.partition, grid)
    centres = _doubted(stepper.moved(step, groups, start, door.left), groups, grid)
    return _Clusters(centres, groups, found.partition, cells, found.certainty)


def _histograms(engine: Engine, door: Door, grid: Grid, found: _Clusters, settings: Settings) -> Histograms | None:
    """Return histograms of the final clusters, where they were asked for."""
    if not settings.profiles or found.cells is None:
        return None
    if isinstance(found.partition, Nearest):  # its centres have moved since
        engine.route(found.partition.move())
    return draw_histograms(engine, door, grid, found.centres, found.cells.spread, settings.profile_names)


def _with_agreeing_cells(found: _Clusters, histograms: Histograms | None, grid: Grid) -> _Clusters:
    """Return clusters whose cells have, together, the shares of categories of the cluster. Post-processing."""
    if found.cells is None or not grid.one_hot.any():
        return found
    cluster = found.partition.clusters(np.rint(found.cells.places).astype(np.int64))
    return replace(found, cells=agreeing_cells(found.cells, cluster, found.centres, histograms, grid))


def _figures(
    engine: Engine, door: Door, grid: Grid, spread: float, found: _Clusters, settings: Settings, total: float
) -> Figures | None:
    """Return how good the final clusters are, where that was asked for."""
    if not settings.profiles or found.cells is None:
        return None
    return draw_figures(engine, door, grid, found.partition, found.centres.places, found.cells, spread, total)


def _counted_again(found: _Clusters, histograms: Histograms | None, total: float, total_error: float) -> _Clusters:
    """Return clusters whose sizes are also those of their histograms, which count every row once more. Post-processing.

    Centres that are the nearest ones of rows have moved since these were counted, which gave each other rows. How many is seen from how
    much farther the two counts are apart than their noise explains, unless that of the histograms hides it.
    """
    if histograms is None:
        return found
    counted, n_clusters, (again, of_again) = found.groups, len(found.groups.sizes), histograms.sizes
    variances = counted.size_errors**2
    if isinstance(found.partition, Nearest) and n_clusters > 1:
        if of_again.mean() > _MOST_VARIANCE * variances.mean():
            return found
        apart = float(np.var(counted.sizes - again, ddof=1))
        variances = variances + max(0.0, apart - float(np.mean(variances + of_again)))
    sizes = (of_again * counted.sizes + variances * again) / (of_again + variances)
    variances = of_again * variances / (of_again + variances)
    errors = np.sqrt(variances * (1.0 - 1.0 / n_clusters) + (total_error / n_clusters) ** 2)  # of sizes that add up
    return replace(found, groups=_adding_up(replace(counted, sizes=sizes, size_errors=errors), total))


def _start(cells: Cells, n_clusters: int, grid: Grid) -> Centres:
    """Return k centres: cells merged by weighted k-means; with too few cells, these are divided. Post-processing."""
    reach = Centres(cells.places, cells.errors, cells.reach).reaches
    if len(cells.places) < n_clusters:
        places, cell = divided_along_axes(cells, grid, n_clusters)
        return Centres(places, np.zeros_like(places), reach[cell])
    places, cluster = k_means(cells.places, cells.sizes, n_clusters)
    reach = np.bincount(cluster, cells.sizes * reach) / np.bincount(cluster, cells.sizes)
    return Centres(places, np.zeros_like(places), reach)


def _put_to_use(centres: Centres, is_empty: NDArray[np.bool_], cells: Cells) -> Centres:
    """Return centres in which each one without rows shares the cells of the centre that serves its own worst. Post-processing.

    A cell that noise made can lie so far from all rows that it gets a centre of its own. Half of such centres count fewer than no rows
    in a step, one of many rows hardly ever does: it takes a step or two until they are put to use.
    """
    if not is_empty.any():
        return centres
    places, centre_of = centres.places.copy(), squared_distances(cells.places, centres.places).argmin(axis=1)
    sizes = np.where((cells.sizes > CLEAR_SIZE * cells.size_error) & ~is_empty[centre_of], cells.sizes, 0.0)
    for number in np.flatnonzero(is_empty).tolist():
        costs = sizes * ((cells.places - places[centre_of]) ** 2).sum(axis=1)
        worst = int(np.bincount(centre_of, costs).argmax())
        [own] = np.nonzero((centre_of == worst) & (sizes > 0.0))
        if len(own) < 2:
            break
        pair, side = k_means(cells.places[own], sizes[own], 2)
        places[[worst, number]], centre_of[own[side == 1]] = pair, number
    return Centres(places, centres.errors, centres.reach)


def _means_of_cells(cells: Cells, partition: Partition, grid: Grid) -> Centres:
    """Return the mean of the cells of each cluster, where its centre may start; of all cells where it has none.

    Rows that noise may have made do not count, unless a cluster has no others: such cells may lie anywhere.
    """
    cluster = partition.clusters(np.rint(cells.places).astype(np.int64))
    is_member = np.eye(partition.n_clusters)[cluster].T
    member = is_member * np.maximum(cells.sizes - MADE_BY_NOISE * cells.size_error, 0.0)
    for others in (is_member * cells.sizes, np.broadcast_to(cells.sizes, is_member.shape)):
        member = np.where(member.any(axis=1, keepdims=True), member, others)
    part = member / member.sum(axis=1, keepdims=True)
    return Centres(part @ cells.places, np.sqrt(part**2 @ cells.errors**2))


def _adding_up(groups: Groups, total: float) -> Groups:
    """Return groups whose sizes add up to the number of all rows, as known from the tree."""
    n_groups = len(groups.sizes)
    sizes = groups.sizes + (total - groups.sizes.sum()) / n_groups
    return Groups(groups.numbers, sizes, groups.size_errors, groups.low, groups.high)


def _doubted(centres: Centres, groups: Groups, grid: Grid) -> Centres:
    """Return centres whose stated errors are those of a guess where a cluster is not clearly larger than noise.

    There the noisy sum was divided by a number that may be several times too large or too small. Post-processing.
    """
    guess = (grid.last_place + 1.0) / np.sqrt(12.0)  # of a place that may be anywhere
    doubtful = groups.sizes < CLEAR_SIZE * groups.size_errors
    return Centres(centres.places, np.where(doubtful[:, None], np.maximum(centres.errors, guess), centres.errors))


def _paper_clustering(
    engine: Engine, door: Door, schema: Schema, settings: Settings, grid: Grid, noisy_total: int
) -> Clustering:
    """Return the clusters of the paper's variant: its leaves, merged if k is given."""
    if settings.max_depth > 0:
        grid = Grid.with_intervals(schema, choose_n_intervals(engine, door, noisy_total, grid.n_columns))
        engine.encode(grid)
    tree = grow(engine, door, grid, paper_rule(door, settings, grid), noisy_total)
    sizes = np.array([float(node.noisy_count) for node in tree.nodes])
    errors = np.array([door.deviation(COUNT, node.level) for node in tree.nodes])
    numbers = tree.leaf_numbers
    leaves = domain_means(engine, door, grid, numbers, sizes[numbers])
    centres, cluster_of_leaf = merged_leaves(leaves, sizes[numbers], settings.n_clusters)
    member = np.eye(len(centres.places))[cluster_of_leaf].T
    shape = centres.places.shape
    groups = Groups(
        list(range(shape[0])),
        member @ sizes[numbers],
        np.sqrt(member @ errors[numbers] ** 2),
        np.zeros(shape, dtype=np.int64),
        np.broadcast_to(grid.last_place, shape),
    )
    partition = Nearest(np.rint(centres.places).astype(np.int64))
    found = _Clusters(centres, groups, partition, None)
    return _clustering(grid, tree, sizes, errors, found, cluster_of_leaf)


def _ranks(groups: Groups) -> NDArray[np.int64]:
    """Return the number that each group has among all, the largest first."""
    return np.argsort(np.argsort(-groups.sizes, kind="stable"))


def _clustering(
    grid: Grid,
    tree: GrownTree,
    node_sizes: NDArray[np.float64],
    node_size_errors: NDArray[np.float64],
    found: _Clusters,
    cluster_of_leaf: NDArray[np.int64],
    histograms: Histograms | None = None,
    figures: Figures | None = None,
) -> Clustering:
    """Return the clusters in the data's units, largest first. Post-processing."""
    rank = _ranks(found.groups)
    order = np.argsort(rank)
    cluster_of_leaf = rank[cluster_of_leaf]
    return Clustering(
        centres=grid.values(found.centres.places[order]),
        centre_errors=grid.step * found.centres.errors[order],
        sizes=np.maximum(found.groups.sizes[order], 0.0),
        size_errors=found.groups.size_errors[order],
        certainty=None if found.certainty is None else found.certainty[order],
        partition=found.partition.renumbered(rank),
        cells=found.cells,
        grid=grid,
        tree=tree,
        node_sizes=node_sizes,
        node_size_errors=node_size_errors,
        cluster_of_leaf=cluster_of_leaf,
        histograms=None if histograms is None else histograms.ordered(order),
        figures=figures,
    )
