"""Clusters from released cells: weighted k-means, and groups by Ward's method. Post-processing, for any k, as often as one likes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.merging import best_means, groups_of_joins, nearest_neighbour_joins

__all__ = ["k_means", "squared_distances", "ward_groups", "ward_joins"]

_STARTS, _STEPS = 16, 50


def k_means(
    places: NDArray[np.float64], sizes: NDArray[np.float64], n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the centres of at most k clusters of weighted points, and the cluster of every point: the best of several starts.

    The starts are k-means++ with a fixed seed: this sees released values only, so its randomness protects nothing.

    Parameters
    ----------
    places : float64 array of shape (n_points, n_columns)
    sizes : float64 array of shape (n_points,)
        Positive.
    n_clusters : int
        With no more points than that, every point is a cluster.
    """
    if len(places) <= n_clusters:
        return places.copy(), np.arange(len(places))
    n_candidates = 2 + int(np.log(n_clusters))
    chances = np.random.default_rng(0).random((_STARTS, 1 + (n_clusters - 1) * n_candidates))
    centres, cluster = best_means(places, sizes, n_clusters, _STEPS, chances)
    return centres, cluster


def ward_groups(
    places: NDArray[np.float64], sizes: NDArray[np.float64], n_groups: list[int]
) -> list[NDArray[np.int64]]:
    """Return the group of every point, for each number of groups: those whose sum of squares grows least are joined first."""
    joins, _ = ward_joins(places, sizes)
    return [groups_of_joins(joins, len(places), k) for k in n_groups]


def ward_joins(
    places: NDArray[np.float64], sizes: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which two groups are joined, shape (n_points - 1, 2), in the order of how much the sum of squares grows; and that growth.

    Groups are numbered: first the points, then the joins in their order. Nearest groups are followed until two are each other's
    nearest: these are joined at some time whatever else is (Murtagh 1983), so joins are found in any order and sorted afterwards.
    """
    n_points = len(sizes)
    joins, growth = nearest_neighbour_joins(np.ascontiguousarray(places), np.ascontiguousarray(sizes))
    order = np.argsort(growth, kind="stable")
    number = np.arange(2 * n_points - 1)
    number[n_points + order] = n_points + np.arange(n_points - 1)
    return number[joins[order]], growth[order]


def squared_distances(points: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of every point from every other one, shape (n_points, n_others); rounding may leave little more than 0."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    distances: NDArray[np.float64] = np.maximum(squares - 2.0 * points @ others.T, 0.0)
    return distances
