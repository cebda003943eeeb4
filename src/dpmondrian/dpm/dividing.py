"""More clusters than cells: cells are divided where rows are taken to lie. Post-processing of released values.

Of a cell only its centre, its size and the spread of all cells are released. Its rows are taken to be spread evenly around its centre, as
far in every numeric column, and categories to be independent of everything else. What is divided is what would explain most, if that were so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.partition import Cuts
from dpmondrian.engines import Grid

__all__ = ["Part", "divided", "divided_along_axes", "variance_within"]

_SIDE = math.sqrt(2.0 / math.pi)
"""The mean of either half of a normal distribution lies so many standard deviations from its middle; the half has the rest of its variance."""
_LEAST_VARIANCE = 1e-3
"""Cells are taken to differ along every axis by at least this part of their variance along the first one: noise may hide so much."""
_UNKNOWN_SHARE = 1.0 / math.sqrt(12.0)
"""Standard error of the share of rows on one side, which may be anything from none to all."""
_UNKNOWN_SHIFT = 0.5
"""Standard error of where a side lies, in spreads of the rows: half of a normal distribution may lie up to 0.8 away in any column."""


@dataclass(frozen=True)
class Part:
    """A cell or a part of one, in places.

    Attributes
    ----------
    place, variance, spread : float64 arrays of shape (n_columns,)
        Its centre, the squared standard errors of that, and how far rows are taken to lie from it.
    size, size_error : float
    """

    place: NDArray[np.float64]
    variance: NDArray[np.float64]
    spread: NDArray[np.float64]
    size: float
    size_error: float


@dataclass(frozen=True)
class _Division:
    """How a part is divided: rows whose place in a column reaches the threshold are above, the others below."""

    column: int
    threshold: int
    gain: float  # sum of squares that the sides explain
    below: Part
    above: Part


def divided(cells: list[Part], grid: Grid, n_parts: int) -> tuple[list[Part], Cuts]:
    """Return so many parts, and the rule that leads there; rows start in the part numbered like their cell.

    The clusters of the rule are the parts in their order. There are fewer cells than parts.
    """
    order = _by_difference(cells, grid)
    nodes, made = list(cells), dict[int, tuple[_Division, int]]()
    waiting = [(-one.gain, number, one) for number, one in enumerate(_division(cell, order, grid) for cell in cells)]
    heapify(waiting)
    while len(nodes) - len(made) < n_parts:
        _, number, division = heappop(waiting)
        made[number] = division, len(nodes)
        for side in (division.below, division.above):
            again = _division(side, order, grid)
            heappush(waiting, (-again.gain, len(nodes), again))
            nodes.append(side)
    numbers, rule = _rule(nodes, made, grid.n_columns)
    return [nodes[number] for number in numbers], rule


def divided_along_axes(cells: Cells, grid: Grid, n_parts: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the centres of so many parts of fewer cells, and the cell of each. They are where steps start, so no rule must lead there.

    Again and again the part is halved that this explains most of. Rows of a cell are taken to lie around its centre as cells lie around
    theirs, but less so: with standard deviations along the principal axes that are in proportion to the fourth roots of cells' variances.
    """
    share = cells.sizes / cells.sizes.sum()
    away = cells.places - share @ cells.places
    between, axes = np.linalg.eigh((share * away.T) @ away - np.diag(share @ cells.errors**2))
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0) < 0.0, -1.0, 1.0)
    shape = np.sqrt(np.maximum(between, max(_LEAST_VARIANCE * float(between[-1]), 1.0)))
    parts: list[tuple[float, int, int, NDArray[np.float64], float, NDArray[np.float64]]] = []

    def add(cell: int, place: NDArray[np.float64], size: float, variance: NDArray[np.float64]) -> None:
        heappush(parts, (-size * float(variance.max()), next(number), cell, place, size, variance))

    number = count()
    of_categories = np.maximum(cells.places * (grid.last_place - cells.places), 0.0)
    within = np.where(grid.one_hot, of_categories, cells.spread**2).sum(axis=1)
    for cell, (place, size) in enumerate(zip(cells.places, cells.sizes.tolist(), strict=True)):
        add(cell, place, size, within[cell] * shape / shape.sum())
    while len(parts) < n_parts:
        _, _, cell, place, size, variance = heappop(parts)
        axis = int(variance.argmax())
        shift = _SIDE * math.sqrt(variance[axis]) * axes[:, axis]
        variance = variance * np.where(np.arange(len(variance)) == axis, 1.0 - _SIDE**2, 1.0)
        for side in (place - shift, place + shift):
            add(cell, np.clip(side, 0.0, grid.last_place), size / 2.0, variance)
    parts.sort(key=lambda part: part[1])
    return np.array([place for _, _, _, place, _, _ in parts]), np.array([cell for _, _, cell, _, _, _ in parts])


def variance_within(parts: list[Part], grid: Grid) -> float:
    """Return the sum of squares of rows around the centres of their parts, as far as they are taken to lie."""
    return math.fsum(part.size * float((_row_spread(part, grid) ** 2).sum()) for part in parts)


def _by_difference(cells: list[Part], grid: Grid) -> NDArray[np.int64]:
    """Return the numeric columns, those in which cells differ most first: there rows are known to."""
    sizes = np.maximum([cell.size for cell in cells], 1.0)
    places = np.array([cell.place for cell in cells])
    variance = sizes @ (places - sizes @ places / sizes.sum()) ** 2
    columns = np.argsort(-variance, kind="stable")
    return columns[~grid.one_hot[columns]]


def _division(part: Part, order: NDArray[np.int64], grid: Grid) -> _Division:
    """Return the division of a part that explains most; numeric columns are preferred in this order."""
    of_categories = _category_gains(part, grid)
    category = int(np.argmax(of_categories))
    column = int(order[np.argmax(part.spread[order])]) if len(order) else -1
    if column < 0 or of_categories[category] > (_SIDE * part.spread[column]) ** 2:
        return _by_category(part, category, part.size * float(of_categories[category]), grid)
    return _by_halves(part, column, grid)


def _category_gains(part: Part, grid: Grid) -> NDArray[np.float64]:
    """Return the squared distance that is explained by telling the rows of each category from others; 0 in other columns."""
    share = part.place / grid.last_place
    squares = np.repeat(np.add.reduceat(share**2, grid.block_begins), grid.block_sizes)
    others = np.maximum(1.0 - share, 1e-9)
    gains = share * others * (1.0 + (squares - share**2) / others**2) * grid.last_place**2.0
    return np.where(grid.one_hot & (share > 0.0) & (share < 1.0), gains, 0.0)


def _by_category(part: Part, column: int, gain: float, grid: Grid) -> _Division:
    """Return the rows of a category, and those of the others of its column."""
    [block] = np.flatnonzero((grid.block_begins <= column) & (column < grid.block_begins + grid.block_sizes))
    own = slice(int(grid.block_begins[block]), int(grid.block_begins[block] + grid.block_sizes[block]))
    last = float(grid.last_place[column])
    share, share_error = part.place[column] / last, math.sqrt(part.variance[column]) / last
    with_it, without = part.place.copy(), part.place.copy()
    with_it[own], with_it[column] = 0.0, last
    without[own] = part.place[own] / max(1.0 - share, 1e-9)
    without[column] = 0.0
    above = _side(part, with_it, part.spread, share, share_error, grid)
    below = _side(part, without, part.spread, 1.0 - share, share_error, grid)
    return _Division(column, int(last), gain, below, above)


def _by_halves(part: Part, column: int, grid: Grid) -> _Division:
    """Return the rows on either side of the centre in a numeric column."""
    last, shift = int(grid.last_place[column]), _SIDE * part.spread[column]
    spread = part.spread.copy()
    spread[column] *= math.sqrt(1.0 - _SIDE**2)
    below, above = part.place.copy(), part.place.copy()
    below[column], above[column] = max(below[column] - shift, 0.0), min(above[column] + shift, last)
    sides = (_side(part, place, spread, 0.5, _UNKNOWN_SHARE, grid) for place in (below, above))
    threshold = min(max(math.ceil(part.place[column]), 1), last)
    return _Division(column, threshold, part.size * float(shift) ** 2, *sides)


def _side(
    part: Part, place: NDArray[np.float64], spread: NDArray[np.float64], share: float, share_error: float, grid: Grid
) -> Part:
    """Return one side of a part, which holds a share of its rows, known up to an error."""
    variance = part.variance + (_UNKNOWN_SHIFT * _row_spread(part, grid)) ** 2
    size_error = math.hypot(share * part.size_error, share_error * part.size)
    return Part(place, variance, spread, share * part.size, size_error)


def _row_spread(part: Part, grid: Grid) -> NDArray[np.float64]:
    """Return how far rows lie from the centre in every column; of categories their shares tell."""
    of_categories = np.sqrt(np.maximum(part.place * (grid.last_place - part.place), 0.0))
    return np.where(grid.one_hot, of_categories, part.spread)


def _rule(nodes: list[Part], made: dict[int, tuple[_Division, int]], n_columns: int) -> tuple[list[int], Cuts]:
    """Return the nodes that are left in the order of the rule's clusters, and the rule: its cuts by depth, so that few rounds do."""
    n_cells = len(nodes) - 2 * len(made)
    old_number = list(range(n_cells))
    cuts: list[tuple[int, int, _Division]] = []
    for number, node in enumerate(old_number):  # it grows: those of one depth come one after the other
        if node in made:
            division, first = made[node]
            cuts.append((number, len(old_number), division))
            old_number += [first, first + 1]
    left = np.array([node not in made for node in old_number])
    directions = np.zeros((len(cuts), n_columns), dtype=np.int64)
    directions[np.arange(len(cuts)), [division.column for _, _, division in cuts]] = 1
    rule = Cuts(
        parts=tuple(part for part, _, _ in cuts),
        first=tuple(first for _, first, _ in cuts),
        directions=tuple(directions),
        thresholds=tuple(np.array([division.threshold]) for _, _, division in cuts),
        cluster_of_part=np.where(left, np.cumsum(left) - 1, -1),
    )
    return [node for node in old_number if node not in made], rule
