"""Joining leaves to a hierarchy by the bridges between them. Post-processing of what was released."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.joining.bridges import Bridges, LeafGroups, Strength, squared_distances
from dpmondrian.dpm.joining.joins import FLAT_STRENGTH, Joins
from dpmondrian.dpm.tree.grower import GrownTree

__all__ = ["CAN_BE_APART", "DOUBT", "Hierarchy", "Joined", "hierarchy_of", "join_leaves"]

CAN_BE_APART = 0.8
"""Least strength that a join must be able to have to be undone, if noise explains all the rows between that it can."""

DOUBT = 0.05
"""Probability, at most, that noise and chance carry clusters over `FLAT_STRENGTH`. All levels of a hierarchy share it."""


class Joined(NamedTuple):
    """Leaves joined two by two.

    Attributes
    ----------
    joins : Joins
        As they are released.
    strengths : list of Strength
        Of the joins, in their order.
    at_most : list of float
        The strength that each join can have at most, if noise explains all rows midway that it can.
    """

    joins: Joins
    strengths: list[Strength]
    at_most: list[float]

    def n_surely_apart(self) -> int:
        """Return the number of clusters that are surely apart.

        It is the largest to which the joins can be undone, the last one first, so that each of them can have a strength of
        `CAN_BE_APART`, and the mean of their strengths, weighted by the rows that would lie between in flat data, surely exceeds
        `FLAT_STRENGTH`. A small cluster alone is often too small for certainty; fifty of them, with nobody between any, are not.
        """
        sure = NormalDist().inv_cdf(1.0 - DOUBT / len(self.strengths))
        value, error, weight = np.array(self.strengths)[::-1].T
        mean = np.cumsum(weight * value) / np.cumsum(weight)
        mean_error = np.sqrt(np.cumsum((weight * error) ** 2)) / np.cumsum(weight)
        can_be = np.logical_and.accumulate(np.array(self.at_most)[::-1] >= CAN_BE_APART)
        surely = np.flatnonzero(can_be & (mean - sure * mean_error > FLAT_STRENGTH))
        return int(surely.max(initial=-1)) + 2


def join_leaves(bridges: Bridges, inhabited: NDArray[np.bool_], places: NDArray[np.float64]) -> Joined:
    """Return the joins of all leaves.

    The two groups that can be apart least are joined first; where nothing surely lies between any, the two nearest.

    Parameters
    ----------
    bridges : Bridges
        Between leaves.
    inhabited : bool array of shape (n_leaves,)
        Whether a leaf has rows near its own centre. Those that have none go to the nearest other leaf before all others.
    places : float64 array of shape (n_leaves, n_columns)
        Centres of the leaves.
    """
    n_leaves = len(inhabited)
    groups, places, number = LeafGroups.of_leaves(bridges), places.copy(), np.arange(n_leaves)
    leaves = [number[i : i + 1] for i in range(n_leaves)]
    strength = np.array([groups.strengths_at_most(i, number) for i in range(n_leaves)])
    distance = squared_distances(places)
    lost = ~inhabited
    strength[(lost[:, None] | lost) & (groups.n_bridges > 0)] = -np.inf
    np.fill_diagonal(strength, np.inf)
    open_groups = np.ones(n_leaves, dtype=bool)
    joins = np.empty((n_leaves - 1, 2), dtype=np.int64)
    found, at_most = [], []
    for join in range(n_leaves - 1):
        weakest = np.flatnonzero(strength == strength.min())
        i, j = sorted(divmod(int(weakest[np.argmin(distance.ravel()[weakest])]), n_leaves))
        joins[join] = number[i], number[j]
        at_most.append(float(strength[i, j]))
        between = bridges.strength_between(leaves[i], leaves[j])
        # Where nobody lives nothing is empty between.
        found.append(between._replace(value=min(between.value, 0.0)) if lost[i] or lost[j] else between)
        places[i] = (groups.sizes[i] * places[i] + groups.sizes[j] * places[j]) / (groups.sizes[i] + groups.sizes[j])
        groups.join(i, j)
        leaves[i] = np.concatenate([leaves[i], leaves[j]])
        number[i] = n_leaves + join
        lost[i] &= lost[j]
        open_groups[j] = False
        strength[j], strength[:, j] = np.inf, np.inf
        others = np.flatnonzero(open_groups & (np.arange(n_leaves) != i))
        if others.size:
            new_strength = groups.strengths_at_most(i, others)
            no_doubt = (lost[i] | lost[others]) & (groups.n_bridges[i, others] > 0)
            strength[i, others] = strength[others, i] = np.where(no_doubt, -np.inf, new_strength)
            distance[i, others] = distance[others, i] = ((places[others] - places[i]) ** 2).sum(axis=1)
    released = np.array([between.released() for between in found])
    return Joined(Joins(*joins.T, *released.T), found, at_most)


@dataclass(frozen=True)
class Hierarchy:
    """How the leaves of a tree go together.

    Attributes
    ----------
    leaf_centres : float64 array of shape (n_leaves, n_columns)
    joins : Joins or None
        None for a single leaf.
    strength, strength_error : float64 array of shape (n_nodes,)
        How clearly the two sides of every cut are apart; NaN at leaves.
    """

    leaf_centres: NDArray[np.float64]
    joins: Joins | None
    strength: NDArray[np.float64]
    strength_error: NDArray[np.float64]


def hierarchy_of(
    tree: GrownTree, leaf_centres: NDArray[np.float64], bridges: Bridges | None, joins: Joins | None
) -> Hierarchy:
    """Return the hierarchy of a tree's leaves with the strength of every cut; a single leaf has no bridges and no joins."""
    strength, strength_error = np.full((2, len(tree.nodes)), np.nan)
    leaf_of_node = tree.by_node(np.arange(len(leaf_centres)))
    below: dict[int, NDArray[np.int64]] = {}
    for node in reversed(tree.nodes):
        if node.children is None:
            below[node.number] = leaf_of_node[node.number : node.number + 1]
            continue
        assert bridges is not None
        left, right = (below.pop(child) for child in node.children)
        strength[node.number], strength_error[node.number] = bridges.strength_between(left, right).released()
        below[node.number] = np.concatenate([left, right])
    return Hierarchy(leaf_centres, joins, strength, strength_error)
