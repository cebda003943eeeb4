"""Tree, sizes and centres of a release: whether they can belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Category, Coordinates

if TYPE_CHECKING:
    from dpmondrian.dpm import Settings
    from dpmondrian.release.release import Release
    from dpmondrian.release.tree import Tree

__all__ = ["centre_faults", "size_faults", "tree_faults"]

_ROUNDING = 1e-9
_FAR = 40.0
"""Standard errors: noise is further away with a probability below 10^-24, Laplace noise included."""


def tree_faults(release: Release, settings: Settings) -> Iterator[str]:
    """Yield why a tree cannot be one that was grown with these parameters."""
    tree = release.tree
    if _depths(tree).max() > settings.max_depth:
        yield f"the tree has more levels than 'max_depth' = {settings.max_depth}"
    if (tree.leaf_centres is not None or tree.strength is not None) and not settings.finds_k:
        yield "the tree has a hierarchy, which this variant does not measure"
    leaf = tree.column < 0
    if np.any(tree.column[leaf] != -1) or np.any(tree.left[leaf] != -1) or np.any(tree.right[leaf] != -1):
        yield "a part of the tree that is not cut names a column or parts of its own"
    if np.any(tree.cluster[~leaf] != -1) or np.any(tree.cluster[leaf] < 0):
        yield "a part of the tree that is cut has a cluster, or one that is not cut has none"
    if not all(
        np.isnan(values[leaf]).all()
        for values in (tree.threshold, tree.strength, tree.strength_error)
        if values is not None
    ):
        yield "a part of the tree that is not cut has a threshold or a strength"
    # With fewer parts than clusters each part is one, and the largest are doubled; else clusters are made of parts.
    if len(np.unique(tree.cluster[leaf])) != min(len(release.sizes), tree.n_leaves):
        yield "a cluster has no part of the tree, or parts share one although there are too few of them"
    if not _cuts_are_within_boxes(release):
        yield "a cut lies beyond the bounds of its column, or outside of its part of the table"


def _depths(tree: Tree) -> NDArray[np.int64]:
    depths = np.zeros(len(tree.column), dtype=np.int64)
    for node in np.flatnonzero(tree.column >= 0):  # children come after their parents
        depths[[tree.left[node], tree.right[node]]] = depths[node] + 1
    return depths


def _cuts_are_within_boxes(release: Release) -> bool:
    """Return whether every cut divides the interval that the cuts above leave of its column."""
    tree, coordinates = release.tree, Coordinates(release.schema, release.parameters.get("directions", 0))
    n_columns = len(release.schema.centre_columns)  # directions come after them
    lower = np.concatenate([release.schema.lower, coordinates.schema.lower[n_columns:]])
    upper = np.concatenate([release.schema.upper, coordinates.schema.upper[n_columns:]])
    boxes = {0: (lower, upper)}
    for node in np.flatnonzero(tree.column >= 0).tolist():
        low, high = boxes.pop(node)
        column, threshold = int(tree.column[node]), float(tree.threshold[node])
        if not low[column] <= threshold <= high[column]:
            return False
        below, above = high.copy(), low.copy()
        below[column] = above[column] = threshold
        boxes[int(tree.left[node])], boxes[int(tree.right[node])] = (low, below), (above, high)
    return True


def size_faults(release: Release, settings: Settings) -> Iterator[str]:
    """Yield which sizes do not add up: exactly along the tree (in the paper's variant as drawn), else within their errors."""
    tree = release.tree
    inner = np.flatnonzero(tree.column >= 0)
    sides = np.stack([tree.left[inner], tree.right[inner]])
    gaps = np.abs(tree.size[inner] - tree.size[sides].sum(axis=0))
    allowed = _ROUNDING * (1.0 + np.abs(tree.size[sides]).sum(axis=0) + np.abs(tree.size[inner]))
    if settings.paper:
        allowed = allowed + _FAR * (tree.size_error[inner] + tree.size_error[sides].sum(axis=0))
    if np.any(gaps > allowed):
        yield "the sizes of two parts of the tree do not add up to the part that was cut"
    if np.any(np.diff(release.sizes) > 0.0):
        yield "the clusters are not sorted by size"
    together = np.sqrt(
        (release.size_errors**2).sum() + tree.size_error[0] ** 2
    )  # at most: the errors have a part in common
    most = _FAR * together + _ROUNDING * abs(tree.size[0])
    if abs(release.sizes.sum() - tree.size[0]) > most:
        yield "the sizes of the clusters do not add up to that of the tree, as far as their errors allow"


def centre_faults(release: Release, settings: Settings) -> Iterator[str]:
    """Yield why there cannot be so many clusters, or shares of categories are none."""
    n_clusters, n_leaves = len(release.sizes), release.tree.n_leaves
    if settings.n_clusters is None and n_clusters > n_leaves:
        yield "there are more clusters than parts of the tree"
    if settings.n_clusters is not None and not settings.paper and n_clusters != settings.n_clusters:
        yield f"there are {n_clusters} clusters, and 'n_clusters' is {settings.n_clusters}"
    if settings.n_clusters is not None and settings.paper and n_clusters > settings.n_clusters:
        yield f"there are {n_clusters} clusters, more than 'n_clusters' = {settings.n_clusters}"
    begin = 0
    for column in release.schema.columns:
        width = len(column.levels) if isinstance(column, Category) else 1
        shares = release.centres[:, begin : begin + width].sum(axis=1)
        if isinstance(column, Category) and np.any(np.abs(shares - 1.0) > _ROUNDING * width):
            yield f"the shares of the categories of {column.name!r} do not add up to one"
        begin += width
