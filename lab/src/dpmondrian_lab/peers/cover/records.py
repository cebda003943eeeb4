# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Records that lattice vectors cover, in a tree: how many cover a vector, or a part of a box of vectors.

A record covers a lattice vector if its own cell, the nearest lattice vector, is within a fixed distance of it. The tree
is made once, of the points; rounding to cells keeps their order in each coordinate, so it serves the lattices of all scales.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Cells", "Records", "make_records", "remove_covered", "snap", "touching"]

_LEAF_SIZE = 32
_STACK_SIZE = 64  # more than the depth of a tree of 2**48 records


class Records(NamedTuple):
    """Points in the order of a balanced binary tree in which the children of node i are 2i + 1 and 2i + 2.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    order : ndarray of shape (n,)
        Where each point was in the table.
    starts, stops : ndarray of shape (n_nodes,)
        Each node's range of points.
    low, high : ndarray of shape (n_nodes, d)
        The smallest box around a node's points.
    alive : ndarray of bool, shape (n,)
        False for a point that was covered; changed in place.
    n_alive : ndarray of shape (n_nodes,)
        Points alive in each node; changed in place.
    """

    points: NDArray[np.float64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    alive: NDArray[np.bool_]
    n_alive: NDArray[np.int64]


class Cells(NamedTuple):
    """The lattice of one scale: cells of the points and of the corners of the nodes, whole numbers in doubles.

    Doubles are faster than integers here. Squared distances up to 2**53 are exact, and larger ones need not be.
    """

    of_points: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def make_records(points: NDArray[np.float64]) -> Records:
    """Return the tree of the points, all of them alive."""
    order, starts, stops, low, high = _halve(np.ascontiguousarray(points))
    alive = np.ones(order.size, dtype=np.bool_)
    return Records(points[order], order, starts, stops, low, high, alive, stops - starts)


def snap(records: Records, step: float, largest: int) -> Cells:
    """Return the nearest lattice vectors, with coordinates cut off at `largest`; a function of each point alone."""

    def cells(values: NDArray[np.float64]) -> NDArray[np.float64]:
        snapped: NDArray[np.float64] = np.clip(np.rint(values / step), -largest, largest)
        return snapped

    return Cells(cells(records.points), cells(records.low), cells(records.high))


@njit(nogil=True, cache=True)
def _halve(points):
    """Return an order of the points, and the ranges and boxes of nodes that halve at the middle of their widest side."""
    n_points, n_columns = points.shape
    depth = 0
    while (n_points >> depth) > _LEAF_SIZE:
        depth += 1
    n_nodes = 2 ** (depth + 1) - 1
    order = np.arange(n_points)
    starts, stops = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    low, high = np.full((n_nodes, n_columns), np.inf), np.full((n_nodes, n_columns), -np.inf)
    stops[0] = n_points
    for i in range(n_nodes):
        for position in range(starts[i], stops[i]):
            for j in range(n_columns):
                low[i, j] = min(low[i, j], points[order[position], j])
                high[i, j] = max(high[i, j], points[order[position], j])
        if 2 * i + 1 < n_nodes:
            members = order[starts[i] : stops[i]].copy()
            order[starts[i] : stops[i]] = members[np.argsort(points[members, np.argmax(high[i] - low[i])])]
            middle = (starts[i] + stops[i]) // 2
            starts[2 * i + 1], stops[2 * i + 1] = starts[i], middle
            starts[2 * i + 2], stops[2 * i + 2] = middle, stops[i]
    return order, starts, stops, low, high


@njit(nogil=True, cache=True, inline="always")
def _distances(low, high, i, box_low, box_high):
    """Return the least and the largest squared distance between vectors of box i and of another box."""
    nearest, farthest = 0.0, 0.0
    for j in range(box_low.shape[0]):
        below, above = high[i, j] - box_low[j], box_high[j] - low[i, j]
        gap = max(0.0, max(-below, -above))
        reach = max(below, above)
        nearest += gap * gap
        farthest += reach * reach
    return nearest, farthest


@njit(nogil=True, cache=True)
def touching(records, cells, limit, box_low, box_high, found):
    """Return how many alive records cover all vectors of a box, and how many cover only some, listed in `found`.

    For a box of a single vector the first number is the number of records that cover it and the second is zero.
    """
    stack = np.empty(_STACK_SIZE, dtype=np.int64)
    stack[0], stacked = 0, 1
    n_whole, n_part = 0, 0
    while stacked:
        stacked -= 1
        i = stack[stacked]
        if records.n_alive[i] == 0:
            continue
        nearest, farthest = _distances(cells.low, cells.high, i, box_low, box_high)
        if nearest > limit:
            continue
        if farthest <= limit:
            n_whole += records.n_alive[i]
        elif 2 * i + 1 < records.n_alive.shape[0]:
            stack[stacked], stack[stacked + 1] = 2 * i + 1, 2 * i + 2
            stacked += 2
        else:
            for k in range(records.starts[i], records.stops[i]):
                if records.alive[k]:
                    nearest, farthest = _distances(cells.of_points, cells.of_points, k, box_low, box_high)
                    if farthest <= limit:
                        n_whole += 1
                    elif nearest <= limit:
                        found[n_part] = k
                        n_part += 1
    return n_whole, n_part


@njit(nogil=True, cache=True)
def remove_covered(records, cells, limit, vector, i):
    """Remove for good the records of node i that cover the vector; return how many they were."""
    if records.n_alive[i] == 0:
        return 0
    nearest, _ = _distances(cells.low, cells.high, i, vector, vector)
    if nearest > limit:
        return 0
    removed = 0
    if 2 * i + 1 < records.n_alive.shape[0]:
        removed += remove_covered(records, cells, limit, vector, 2 * i + 1)
        removed += remove_covered(records, cells, limit, vector, 2 * i + 2)
    else:
        for k in range(records.starts[i], records.stops[i]):
            if records.alive[k]:
                nearest, _ = _distances(cells.of_points, cells.of_points, k, vector, vector)
                if nearest <= limit:
                    records.alive[k] = False
                    removed += 1
    records.n_alive[i] -= removed
    return removed
