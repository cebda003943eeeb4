"""The private coreset: cells with centre, size and errors, from which clusters for every k follow.

A tree of private cuts divides the rows (`dpmondrian.dpm.tree`); its leaves get centres; then every row counts for its nearest
centre, twice. What comes out says where rows are, as finely as rows and budget can carry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import COARSE_SUMS
from dpmondrian.dpm.steps import COUNT_PART, Centres, Groups, Stepper
from dpmondrian.dpm.tree import GrownTree, Node
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "CELL_STEPS",
    "COARSE_PART",
    "LEAF_PART",
    "MADE_BY_NOISE",
    "Cells",
    "find_cells",
    "leaf_boxes",
    "move_cells",
    "rows_per_cell",
]

CELL_STEPS = 2
"""Steps in which rows count for their nearest cell: the first carries cells over the borders of boxes, the second settles."""

COARSE_PART, LEAF_PART = 0.10, 0.32
"""Parts of the cells' share for a first place in the tree and for the leaves' centres; the steps get the rest.

A leaf is known to be within its box, so its centre needs less than the cells, whose centres are what is released."""

MADE_BY_NOISE = 2.0
"""Cells of this many standard deviations of their size may be empty: then noise put them anywhere, far from all rows."""

_ANCESTORS = 12
_START, _CELL, _CELL_WITH_K = 1.0 / 8.0, 1.0 / 8.0, 1.0 / 4.0
"""A leaf starts at the mean of the smallest part of the tree around it that holds a twelfth of all rows, and enough for noise to move its
mean by no more than an eighth of half of its box. Groups that are known better than to an eighth of their spread are divided; with
k, whose centres start from cells, to a quarter."""
_APART = 0.1
"""Centres of a leaf that is divided start this part of the rows' distance around its mean: so near that mostly directions count."""


@dataclass(frozen=True)
class Cells:
    """A released coreset, in places; each row counts for its nearest cell.

    Attributes
    ----------
    places, errors : float64 array of shape (n_cells, n_columns)
        Centres and the standard errors of their noise.
    sizes : float64 array of shape (n_cells,)
        Positive.
    size_error : float
        Standard error of every size.
    spread : float
        Root mean square distance of rows from their cell's centre, per column, over all cells.
    reach : float64 array of shape (n_cells,) or None
        See `Centres`.
    """

    places: NDArray[np.float64]
    errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_error: float
    spread: float
    reach: NDArray[np.float64] | None = None


def find_cells(
    engine: Engine,
    door: Door,
    grid: Grid,
    stepper: Stepper,
    tree: GrownTree,
    node_sizes: NDArray[np.float64],
    node_size_errors: NDArray[np.float64],
    levels: int,
    with_k: bool,
    cost: float,
) -> tuple[Cells, Centres]:
    """Return the cells that grow from the leaves of a tree of at most so many levels, and the centres of the leaves, at a cost in all."""
    numbers = tree.leaf_numbers
    low, high = leaf_boxes(tree.leaves, grid)
    leaves = Groups(numbers, node_sizes[numbers], node_size_errors[numbers], low, high)
    places = _first_places(engine, door, grid, tree, node_sizes, leaves, COARSE_PART * cost)
    centres = leaf_centres = stepper.moved(0, leaves, Centres(places, np.zeros_like(places)), LEAF_PART * cost)
    step_cost = (1.0 - COARSE_PART - LEAF_PART) * cost / CELL_STEPS
    sizes, rows_each = leaves.sizes, rows_per_cell(door, grid, step_cost, with_k)
    for step in range(1, CELL_STEPS + 1):
        centres = _enough(centres, sizes, stepper.spread, grid, rows_each, 2**levels)
        cells = move_cells(stepper, step, centres, step_cost)
        centres, sizes = Centres(cells.places, cells.errors, cells.reach), cells.sizes
    return cells, leaf_centres


def rows_per_cell(door: Door, grid: Grid, step_cost: float, with_k: bool) -> float:
    """Return how many rows a cell stands for where rows are many; groups with twice as many are divided. So that a forecast can ask."""
    return _rows_for(_CELL_WITH_K if with_k else _CELL, door, grid, step_cost)


def _rows_for(part: float, door: Door, grid: Grid, cost: float) -> float:
    """Return how many rows make the noise of their mean, at a cost, such a part of how far they lie from it."""
    n_columns = len(grid.block_begins)
    longer = (
        math.sqrt(n_columns) if door.plan.currency == "rho" else n_columns
    )  # what is clipped has an L2 or an L1 length
    return door.deviation_at(cost) * longer / part


def _enough(
    centres: Centres, sizes: NDArray[np.float64], spread: float, grid: Grid, rows_each: float, most: int
) -> Centres:
    """Return centres around those of large groups, so that each stands for about so many rows; at most so many more.

    Within wide bounds, cuts that are far apart leave most rows in few leaves, and noise moves most rows to few of them. The
    directions are random, with a fixed seed: this sees released values only, and the steps that follow find the rows.
    """
    sizes = np.maximum(sizes, 0.0)
    parts = np.maximum(np.floor(sizes / max(rows_each, float(sizes.sum()) / most)), 1.0).astype(np.int64)
    away = np.random.default_rng(0).normal(size=(int(parts.sum()), grid.n_columns)) * ~grid.one_hot
    away *= _APART * spread * np.repeat(parts > 1, parts)[:, None]
    places = np.clip(np.repeat(centres.places, parts, axis=0) + away, 0, grid.last_place)
    return Centres(places, np.repeat(centres.errors, parts, axis=0), np.repeat(centres.reaches, parts))


def move_cells(stepper: Stepper, step: int, centres: Centres, cost: float) -> Cells:
    """Return the cells after a step in which every row counts for its nearest centre.

    A cell that is no larger than the noise of its size is none, unless its rows pulled clearly: empty ones last one step in six, and hardly
    two. Post-processing.
    """
    groups = stepper.regroup(step, centres, COUNT_PART * cost)
    centres = stepper.moved(step, groups, centres, (1.0 - COUNT_PART) * cost)
    kept = (groups.sizes > groups.size_errors) | (centres.reaches > 1.0)
    kept[np.argmax(groups.sizes)] = True
    sizes = np.maximum(groups.sizes[kept], 1.0)
    size_error = float(groups.size_errors[0])
    return Cells(centres.places[kept], centres.errors[kept], sizes, size_error, stepper.spread, centres.reaches[kept])


def leaf_boxes(leaves: list[Node], grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last place of every leaf's box in the grid's columns, each (n_leaves, n_columns)."""
    low = np.array([leaf.low for leaf in leaves]) * grid.places_per_code
    high = np.array([leaf.high for leaf in leaves]) * grid.places_per_code - 1
    return grid.possible(low, np.minimum(high, grid.last_place))


def _first_places(
    engine: Engine,
    door: Door,
    grid: Grid,
    tree: GrownTree,
    node_sizes: NDArray[np.float64],
    leaves: Groups,
    cost: float,
) -> NDArray[np.float64]:
    """Return a first place for every leaf: the mean of a larger part of the tree around it, moved into its box.

    Sums are relative to the middle of the part's box. Shares of categories need no first place: leaves count them.
    """
    least_rows = max(float(node_sizes[0]) / _ANCESTORS, _rows_for(_START, door, grid, cost))
    part_of_leaf = [_large_part(tree, node_sizes, number, least_rows) for number in leaves.numbers]
    parts, part = np.unique(part_of_leaf, return_inverse=True)
    low, high = leaf_boxes([tree.nodes[number] for number in parts], grid)
    middle, numeric = (low + high) // 2, ~grid.one_hot
    places = middle.astype(np.float64)
    if numeric.any():
        exact_sums = np.zeros(middle.shape, dtype=np.int64)
        np.add.at(exact_sums, part, engine.box_sums(leaves.numbers, middle[part]))
        door.extend([door.plan_draw(COARSE_SUMS, None, cost)])
        half_widths = np.maximum(1, high - middle)[:, numeric]
        noisy_sums, _ = door.box_sums(COARSE_SUMS, None, exact_sums[:, numeric], half_widths)
        places[:, numeric] += noisy_sums / np.bincount(part, np.maximum(leaves.sizes, 1.0))[:, None]
    return np.clip(np.clip(places, low, high)[part], leaves.low, leaves.high)


def _large_part(tree: GrownTree, node_sizes: NDArray[np.float64], number: int, least_rows: float) -> int:
    """Return the smallest node around a leaf that holds so many rows, or the root."""
    while number and node_sizes[number] < least_rows:
        number = tree.nodes[number].parent
    return number
