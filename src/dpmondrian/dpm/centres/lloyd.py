"""From leaves to clusters: leaves merged or joined, then private Lloyd steps.

Merging is post-processing. In each step every row counts for its nearest centre so far: a public rule
for every row by itself, so the cells are disjoint groups, like leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.centres.clipped import Groups, MeanFinder, Means
from dpmondrian.dpm.centres.merge import merge_leaves
from dpmondrian.dpm.draws import CELL_COUNT
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "SMALLEST_CELL",
    "Cells",
    "doubled_means",
    "group_means",
    "leaf_steps",
    "lloyd_steps",
    "merged_means",
    "without_empty",
]


_CLEAR_SIZE = 4.0
"""A cluster with fewer standard deviations of noise than this may be much smaller or larger than its size says."""

SMALLEST_CELL = 2.0
"""Cells are taken to hold at least this many standard deviations of their count's noise; fewer rows may be none."""


@dataclass(frozen=True)
class Cells:
    """Clusters: centres, and released sizes with their standard errors.

    `of_node` is the cluster of each of the engine's nodes, if rows were moved from the leaves to the clusters' own cells.
    """

    means: Means
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    of_node: NDArray[np.int64] | None = None


def merged_means(means: Means, sizes: NDArray[np.float64], n_clusters: int) -> tuple[Means, NDArray[np.int64]]:
    """Return the means of merged leaves and the cluster of every leaf; with no more than k leaves, the leaves."""
    group = merge_leaves(means.places, sizes, n_clusters)
    return group_means(means, sizes, group), group


def group_means(means: Means, sizes: NDArray[np.float64], group: NDArray[np.int64]) -> Means:
    """Return the means of groups of leaves, weighted by the leaves' sizes; groups are numbered from 0 without a gap."""
    member = np.eye(group.max() + 1)[group].T * sizes  # (n_groups, n_leaves)
    part = member / member.sum(axis=1, keepdims=True)
    return Means(part @ means.places, np.sqrt(part**2 @ means.errors**2))


def doubled_means(means: Means, leaves: Groups, radius: float, n_clusters: int) -> Means:
    """Return k centres from fewer leaves: the largest are doubled, a radius apart along their widest columns.

    Post-processing. The Lloyd steps then move the twins to where the rows are.
    """
    places, errors = list(means.places), list(means.errors)
    shares = list(leaves.sizes[:, 0])
    columns = [
        list(np.argsort(-(high - low), kind="stable")) for low, high in zip(leaves.low, leaves.high, strict=True)
    ]
    while len(places) < n_clusters:
        largest = int(np.argmax(shares))
        column = columns[largest][0]
        columns[largest] = columns[largest][1:] + columns[largest][:1]
        shift = np.zeros_like(places[largest])
        shift[column] = radius / 2
        shares[largest] /= 2
        for collection, twin in ((places, places[largest] - shift), (errors, errors[largest])):
            collection.append(twin)
        places[largest] = places[largest] + shift
        shares.append(shares[largest])
        columns.append(list(columns[largest]))
    return Means(np.array(places), np.array(errors))


def lloyd_steps(
    engine: Engine,
    door: Door,
    grid: Grid,
    finder: MeanFinder,
    means: Means,
    noisy_total: tuple[float, float],
    widening: float = 1.0,
) -> Cells:
    """Return the clusters after the planned Lloyd steps; their sizes add up to the noisy total (given with its error).

    The first step clips `widening` times as far out as the others: a centre that starts between two clusters, because a
    leaf holds a slice of one beside the other, has a long way to go.
    """
    n_clusters, (total, total_error) = len(means.places), noisy_total
    low, high = np.zeros((n_clusters, grid.n_columns), dtype=np.int64), np.tile(grid.last_place, (n_clusters, 1))
    radius = None
    steps = door.plan.steps(CELL_COUNT)
    for step in steps:
        means = Means(np.clip(means.places, 0, grid.last_place), means.errors)
        exact_counts = engine.regroup(np.rint(means.places).astype(np.int64))
        noisy_counts = door.counts(CELL_COUNT, step, exact_counts).astype(np.float64)
        sizes = noisy_counts + (total - noisy_counts.sum()) / n_clusters
        # A cell that may be empty is divided by what its count might be, so that noise does not throw its centre away.
        divisors = np.maximum(sizes, SMALLEST_CELL * door.deviation(CELL_COUNT, step))
        groups = Groups(list(range(n_clusters)), low, high, np.maximum(divisors, 1.0)[:, None])
        radius = finder.radius(step, groups, means) if radius is None else radius
        means = finder.clipped(step, groups, means, radius * (widening if step == steps[0] else 1.0))
    variance = door.deviation(CELL_COUNT, step) ** 2 * (1.0 - 1.0 / n_clusters) + (total_error / n_clusters) ** 2
    size_errors = np.full(n_clusters, np.sqrt(variance))
    return Cells(_doubted(means, sizes, size_errors, grid), sizes, size_errors, np.arange(n_clusters))


def _doubted(means: Means, sizes: NDArray[np.float64], size_errors: NDArray[np.float64], grid: Grid) -> Means:
    """Return centres whose stated errors are those of a guess where a cluster is not clearly larger than noise.

    There the noisy sum was divided by a number that may be several times too large or too small. Post-processing.
    """
    guess = (grid.last_place + 1.0) / np.sqrt(12.0)  # of a place that may be anywhere
    doubtful = sizes < _CLEAR_SIZE * size_errors
    return Means(means.places, np.where(doubtful[:, None], np.maximum(means.errors, guess), means.errors))


def leaf_steps(door: Door, finder: MeanFinder, leaves: Groups, means: Means) -> Means:
    """Return better centres of leaves, with the budget of the Lloyd steps but without moving rows between leaves.

    For centres that are still mostly noise: the nearest of them says little about where a row belongs, its leaf does.
    """
    radius = None
    for step in door.plan.steps(CELL_COUNT):
        radius = finder.radius(step, leaves, means) if radius is None else radius
        means = finder.clipped(step, leaves, means, radius)
    return means


def without_empty(cells: Cells) -> tuple[Cells, NDArray[np.int64]]:
    """Return the clusters that are larger than noise, and for each of the old ones the new one: itself or the nearest.

    Post-processing. A leaf whose rows all turned out to be nearer to other clusters leaves an empty one behind.
    """
    kept = cells.sizes >= SMALLEST_CELL * cells.size_errors
    kept[np.argmax(cells.sizes)] = True
    places = cells.means.places
    distance = np.array([((places[kept] - place) ** 2).sum(axis=1) for place in places])
    nearest = distance.argmin(axis=1)
    nearest[kept] = np.arange(kept.sum())
    sizes, variances = np.zeros(kept.sum()), np.zeros(kept.sum())
    np.add.at(sizes, nearest, cells.sizes)
    np.add.at(variances, nearest, cells.size_errors**2)
    means = Means(places[kept], cells.means.errors[kept])
    return Cells(means, sizes, np.sqrt(variances), nearest), nearest
