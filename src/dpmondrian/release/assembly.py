"""Clusters as the algorithm returns them become what may be published, in the units of the given columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm import Nearest
from dpmondrian.engines import PLACES
from dpmondrian.release.coreset import Coreset
from dpmondrian.release.histograms import Histogram
from dpmondrian.release.profiles import Profiles
from dpmondrian.release.release import Release
from dpmondrian.release.statement import counted_in
from dpmondrian.release.tree import Tree
from dpmondrian.schema import Category

if TYPE_CHECKING:
    from dpmondrian.dpm import Clustering, Settings
    from dpmondrian.engines import Grid
    from dpmondrian.release.statement import Origin, PrivacyStatement
    from dpmondrian.schema import Column, Coordinates, Schema


def released(
    clusters: Clustering,
    coordinates: Coordinates,
    settings: Settings,
    *,
    named: bool,
    on_missing: str,
    privacy: PrivacyStatement,
    origin: Origin,
) -> Release:
    """Return what may be published of a run."""
    centres, centre_errors = _in_units(clusters.centres, clusters.centre_errors, coordinates)
    tree = _tree(clusters, coordinates, counted_in(settings.rows_per_person, settings.person_id))
    profiles = _profiles(clusters, coordinates.given)
    return Release(
        schema=coordinates.given,
        named=named,
        centres=centres,
        centre_errors=centre_errors,
        sizes=clusters.sizes,
        size_errors=clusters.size_errors,
        certainty=clusters.certainty,
        partition=None if isinstance(clusters.partition, Nearest) else clusters.partition,
        cells=_coreset(clusters, coordinates),
        tree=tree,
        privacy=privacy,
        parameters={"on_missing": on_missing} | settings.beyond_privacy(),
        origin=origin,
        profiles=profiles and profiles.known(coordinates.given, tree, centres, centre_errors),
        figures=clusters.figures,
    )


def _profiles(clusters: Clustering, schema: Schema) -> Profiles | None:
    """Return the histograms with the edges of their bins in the units of the given columns."""
    found, grid = clusters.histograms, clusters.grid
    if found is None:
        return None
    by_name = dict(zip(schema.names, schema.columns, strict=True))
    columns = tuple(by_name[name] for name in found.names)
    edges = [
        [None] * len(limits) if isinstance(column, Category) else _edges(grid, int(own[0]), limits, column)
        for column, own, limits in zip(columns, found.columns, zip(*found.limits, strict=True), strict=True)
    ]
    histograms = tuple(
        tuple(map(Histogram, counts, of_cluster))
        for counts, of_cluster in zip(found.counts, zip(*edges, strict=True), strict=True)
    )
    return Profiles(columns, histograms, found.deviation, total=0.0, total_error=0.0)


def _edges(
    grid: Grid, j: int, limits: tuple[NDArray[np.int64], ...], column: Column
) -> Sequence[NDArray[np.float64] | None]:
    """Return the edges of the bins of one column in every cluster, which end with these places; see `Histogram`."""
    upper = grid.origin[j] + grid.step[j] * (np.concatenate(limits) + (0.0 if grid.on_value[j] else 1.0))
    upper = np.exp(upper) if column.log else np.floor(upper + 1e-9) if column.whole else upper
    ends = np.cumsum([1 + len(own) for own in limits])
    is_first = np.zeros(ends[-1], dtype=np.bool_)
    is_first[0], is_first[ends[:-1]] = True, True
    first = np.ceil(column.lower) - 1.0 if column.whole else column.lower
    edges = np.empty(len(is_first))
    edges[is_first], edges[~is_first] = first, upper
    edges[ends - 1] = np.floor(column.upper) if column.whole else column.upper
    return [edges[begin:end] for begin, end in pairwise([0, *ends.tolist()])]


def _in_units(
    centres: NDArray[np.float64], errors: NDArray[np.float64], coordinates: Coordinates
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres and their errors in the units of the given columns."""
    centres = coordinates.values(centres)
    return centres, coordinates.errors(errors, centres)


def _coreset(clusters: Clustering, coordinates: Coordinates) -> Coreset | None:
    """Return the cells in the units of the given columns, without digits that say nothing."""
    cells, grid = clusters.cells, clusters.grid
    if cells is None:
        return None
    centres, errors = _in_units(grid.values(cells.places), grid.step * cells.errors, coordinates)
    steps = coordinates.errors(np.broadcast_to(grid.step, centres.shape), centres)
    return Coreset(
        centres=np.clip(_rounded(centres, steps), coordinates.given.lower, coordinates.given.upper),
        centre_errors=_rounded(errors, errors),
        sizes=cells.sizes,
        size_error=cells.size_error,
        spread=cells.spread / PLACES,
    )


def _rounded(values: NDArray[np.float64], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values rounded to decimals that are between ten and a hundred times finer than their units."""
    decimals = 2.0 - np.ceil(np.log10(np.maximum(units, np.finfo(np.float64).tiny)))
    power = 10.0 ** np.abs(decimals)
    return np.where(decimals >= 0.0, np.rint(values * power) / power, np.rint(values / power) * power)


def _tree(clusters: Clustering, coordinates: Coordinates, counted: str) -> Tree:
    """Return the tree in the units of the given columns.

    `counted` says what sizes are numbers of.
    """
    tree = replace(_grown(clusters, counted), notations=coordinates.notations)
    if coordinates.plain:
        return tree
    return replace(
        tree,
        threshold=coordinates.thresholds(tree.column, tree.threshold),
        ranges=coordinates.rule_ranges,
        categories=coordinates.categories,
    )


def _grown(clusters: Clustering, counted: str) -> Tree:
    """Return the tree in the units of the grid's columns."""
    grid, nodes = clusters.grid, clusters.tree.nodes
    children: NDArray[Any] = np.array([node.children or (-1, -1) for node in nodes], dtype=np.int64)
    return Tree(
        names=grid.schema.names,
        column=np.array([node.column for node in nodes], dtype=np.int64),
        threshold=np.array([np.nan if node.is_leaf else grid.cut_value(node.column, node.cut) for node in nodes]),
        left=children[:, 0].copy(),
        right=children[:, 1].copy(),
        size=clusters.node_sizes,
        size_error=clusters.node_size_errors,
        cluster=clusters.tree.by_node(clusters.cluster_of_leaf),
        counted=counted,
        ranges=grid.schema.ranges,
    )
