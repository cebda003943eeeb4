"""Joining leaves to a hierarchy by the bridges between them. Post-processing of what was released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpmondrian.joining.bridges import Bridges, squared_distances
from dpmondrian.tree.joins import Joins
from dpmondrian.tree.structure import Tree

__all__ = ["join_leaves", "with_hierarchy"]


def join_leaves(
    bridges: Bridges,
    inhabited: NDArray[np.bool_],
    places: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> Joins:
    """Return the joins of all leaves.

    The two groups with the lowest strength are joined first; where nothing lies between any, the two nearest.

    Parameters
    ----------
    bridges : Bridges
        Between leaves.
    inhabited : bool array of shape (n_leaves,)
        Whether a leaf has rows near its own centre. Those that have none go to the nearest other leaf before all others.
    places : float64 array of shape (n_leaves, n_columns)
        Centres of the leaves.
    sizes : float64 array of shape (n_leaves,)
        Positive.
    """
    n_leaves = len(sizes)
    bridges, places, sizes, number = bridges.copy(), places.copy(), sizes.copy(), np.arange(n_leaves)
    strength, error = np.empty((n_leaves, n_leaves)), np.empty((n_leaves, n_leaves))
    for i in range(n_leaves):
        strength[i], error[i] = bridges.strengths(i, number, sizes)
    distance = squared_distances(places)
    lost = ~inhabited
    strength[lost], strength[:, lost] = -np.inf, -np.inf
    np.fill_diagonal(strength, np.inf)
    open_groups = np.ones(n_leaves, dtype=bool)
    joins, found = np.empty((n_leaves - 1, 2), dtype=np.int64), np.empty((n_leaves - 1, 2))
    for join in range(n_leaves - 1):
        weakest = np.flatnonzero(strength == strength.min())
        i, j = sorted(divmod(int(weakest[np.argmin(distance.ravel()[weakest])]), n_leaves))
        joins[join], found[join] = (number[i], number[j]), (strength[i, j], error[i, j])
        bridges.joined(i, j)
        places[i] = (sizes[i] * places[i] + sizes[j] * places[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        number[i] = n_leaves + join
        lost[i] &= lost[j]
        open_groups[j] = False
        strength[j], strength[:, j] = np.inf, np.inf
        others = np.flatnonzero(open_groups & (np.arange(n_leaves) != i))
        if others.size:
            new_strength, error[i, others] = bridges.strengths(i, others, sizes)
            strength[i, others] = strength[others, i] = np.where(lost[i] | lost[others], -np.inf, new_strength)
            error[others, i] = error[i, others]
            distance[i, others] = distance[others, i] = ((places[others] - places[i]) ** 2).sum(axis=1)
    return Joins(joins[:, 0], joins[:, 1], np.clip(found[:, 0], 0.0, 1.0), found[:, 1])


def with_hierarchy(tree: Tree, leaf_centres: NDArray[np.float64], bridges: Bridges | None, joins: Joins | None) -> Tree:
    """Return the tree with the strength of every cut and the hierarchy of its leaves; a single leaf has neither."""
    strength, strength_error = np.full(len(tree.column), np.nan), np.full(len(tree.column), np.nan)
    leaf_of_node = np.cumsum(tree.column < 0) - 1
    sizes = np.maximum(tree.size[tree.column < 0], 1.0)
    below: dict[int, NDArray[np.int64]] = {}
    for node in range(len(tree.column) - 1, -1, -1):
        if tree.column[node] < 0:
            below[node] = leaf_of_node[node : node + 1]
            continue
        assert bridges is not None
        left, right = below.pop(int(tree.left[node])), below.pop(int(tree.right[node]))
        strength[node], strength_error[node] = bridges.strength_between(left, right, sizes)
        below[node] = np.concatenate([left, right])
    return replace(tree, strength=strength, strength_error=strength_error, leaf_centres=leaf_centres, joins=joins)
