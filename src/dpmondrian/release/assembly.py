"""Clusters as the algorithm returns them become what may be published, in the units of the given columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release.tree import Tree

if TYPE_CHECKING:
    from dpmondrian.dpm import Clustering
    from dpmondrian.schema import Coordinates

__all__ = ["released_centres", "released_tree"]


def released_centres(clusters: Clustering, coordinates: Coordinates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres and their errors in the units of the given columns."""
    if coordinates.plain:
        return clusters.centres, clusters.centre_errors
    centres = coordinates.values(clusters.centres)
    return centres, coordinates.errors(clusters.centre_errors, centres)


def released_tree(clusters: Clustering, coordinates: Coordinates, counted: str) -> Tree:
    """Return the tree in the units of the given columns; cuts along directions stay as they are.

    `counted` says what sizes are numbers of.
    """
    tree = _tree_of(clusters, counted)
    if coordinates.plain:
        return tree
    return replace(
        tree,
        threshold=coordinates.thresholds(tree.column, tree.threshold),
        ranges=coordinates.rule_ranges,
        leaf_centres=None if tree.leaf_centres is None else coordinates.values(tree.leaf_centres),
        log_columns=coordinates.log_columns,
        categories=coordinates.categories,
    )


def _tree_of(clusters: Clustering, counted: str) -> Tree:
    """Return the tree in the units of the grid's columns."""
    grid, nodes, hierarchy = clusters.grid, clusters.tree.nodes, clusters.hierarchy
    children = np.array([node.children or (-1, -1) for node in nodes], dtype=np.int64)
    tree = Tree(
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
    if hierarchy is None:
        return tree
    return replace(
        tree,
        strength=hierarchy.strength,
        strength_error=hierarchy.strength_error,
        leaf_centres=hierarchy.leaf_centres,
        joins=hierarchy.joins,
    )
