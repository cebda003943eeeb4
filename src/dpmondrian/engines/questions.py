# mypy: disable-error-code="no-untyped-call"
"""What an engine can be asked: each answer is a sum of integers over blocks of rows.

A question is small and can be sent to where rows are. Its answers on blocks are added up as integers, so how rows are
divided into blocks, and in which order blocks answer, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import CodedBlock
from dpmondrian.kernels import profiles
from dpmondrian.kernels.compiled import (
    box_sums,
    clipped_sums,
    distance_counts,
    histograms,
    order_rows,
    regroup,
    route,
)
from dpmondrian.kernels.lines import cut_along, line_counts

_MOST_NODES = 2**14
"""More than the deepest tree has (depth 12: 8,191 nodes), and than there may be clusters."""


_COLUMNS_AT_ONCE = 16
"""Columns of which all rows of a block are looked at together: they take little memory, and are next to each other."""


class Move(Protocol):
    """A step that takes every row from one node to another, or leaves it."""

    needs_rests: ClassVar[bool]

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Write the new nodes of a block's rows in the place of the old ones."""
        ...


class Splits:
    """Cuts to apply to nodes, as arrays over node numbers (-1 in `column` where there is no cut)."""

    needs_rests: ClassVar[bool] = False

    def __init__(self, n_nodes: int) -> None:
        self.column = np.full(n_nodes, -1, dtype=np.int64)
        self.cut = np.zeros(n_nodes, dtype=np.int64)
        self.left = np.zeros(n_nodes, dtype=np.int16)
        self.right = np.zeros(n_nodes, dtype=np.int16)

    def add(self, node: int, column: int, cut: int, left: int, right: int) -> None:
        """Cut `node`: rows whose code in `column` is below `cut` go to `left`, the others to `right`."""
        self.column[node], self.cut[node], self.left[node], self.right[node] = column, cut, left, right

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move the rows of cut nodes to their children."""
        route(block.codes, node, self.column, self.cut, self.left, self.right)


@dataclass(frozen=True)
class ToNearest:
    """Every row goes to the node numbered like its nearest centre, wherever it was."""

    centres: NDArray[np.int64]
    needs_rests: ClassVar[bool] = True

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row. Where it was only helps to find its centre sooner."""
        regroup(block.rows, self.centres, node)


@dataclass(frozen=True)
class AllTogether:
    """Every row goes to node 0, wherever it was."""

    needs_rests: ClassVar[bool] = False

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row."""
        node[:] = 0


@dataclass(frozen=True)
class CutAlong:
    """Nodes that are cut along directions: each of their rows goes on by how many thresholds its projection has reached.

    The fields have one item per node that is cut: its number, the direction, ascending thresholds, and the number of the first node
    behind the cut.
    """

    nodes: list[int]
    directions: list[NDArray[np.int64]]
    thresholds: list[NDArray[np.int64]]
    first: list[int]
    needs_rests: ClassVar[bool] = True

    def add(self, node: int, direction: NDArray[np.int64], thresholds: NDArray[np.int64], first: int) -> None:
        """Cut one more node."""
        self.nodes.append(node)
        self.directions.append(direction)
        self.thresholds.append(thresholds)
        self.first.append(first)

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move the rows of the nodes that are cut."""
        order, starts = order_rows(node, _slots(self.nodes), len(self.nodes))
        cut_along(block.rows, order, starts, self.directions, self.thresholds, self.first, node)


@dataclass(frozen=True)
class Named:
    """Every row goes to the node that its node stands for."""

    node_of: NDArray[np.int16]
    needs_rests: ClassVar[bool] = False

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row."""
        node[:] = self.node_of[node]


@dataclass(frozen=True)
class CutAndName:
    """Every row goes from node 0, or from its nearest centre, through cuts, one after the other, and then to the node that the last stands for."""

    cuts: tuple[CutAlong, ...]
    node_of: NDArray[np.int16]
    begin: AllTogether | ToNearest = AllTogether()
    needs_rests: ClassVar[bool] = True

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row, wherever it was."""
        self.begin.move(block, node)
        for cut in self.cuts:
            cut.move(block, node)
        node[:] = self.node_of[node]


@dataclass(frozen=True)
class ByMap:
    """Every row goes to the node of the bin in which it lies, wherever it was; rows beyond the last bin count as in it."""

    widths: NDArray[np.int64]
    node_of: NDArray[np.int16]
    needs_rests: ClassVar[bool] = True

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row."""
        node[:] = self.node_of[_bins(block, self.widths, self.node_of.shape)]


def _bins(block: CodedBlock, widths: NDArray[np.int64], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """Return the bin of every row, column by column."""
    places = block.places().astype(np.int64)
    return tuple(np.minimum(places[j] // widths[j], shape[j] - 1) for j in range(len(shape)))


def moves_since(moves: Sequence[Move], n_done: int) -> Sequence[Move]:
    """Return the moves that bring a row to its node if the first `n_done` were made: the others, or fewer that do the same.

    Where a row is after it went to its nearest centre does not depend on where it was before, so only the last such move
    counts. Cuts before it stay: rows that lie together find their centre sooner. Nothing that was before rows began anew counts.
    """
    moves = moves[n_done:]
    anew = max((i for i, move in enumerate(moves) if isinstance(move, AllTogether | CutAndName | ByMap)), default=0)
    moves = moves[anew:]
    last = max((i for i, move in enumerate(moves) if isinstance(move, ToNearest)), default=0)
    return [move for move in moves[:last] if not isinstance(move, ToNearest | Named)] + list(moves[last:])


class Question(Protocol):
    """Something whose answer on rows is the sum of its answers on blocks of them."""

    needs_rests: ClassVar[bool]

    def zero(self) -> NDArray[np.int64]:
        """Return the answer on no rows."""
        ...

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add the answer on a block's rows, which are in these nodes."""
        ...


def _slots(nodes: list[int]) -> NDArray[np.int16]:
    """Return the map from node number to position in `nodes`; other nodes get the last slot."""
    slot_of = np.full(_MOST_NODES, len(nodes), dtype=np.int16)
    slot_of[nodes] = np.arange(len(nodes), dtype=np.int16)
    return slot_of


@dataclass(frozen=True)
class Histograms:
    """Rows per node, column and code."""

    nodes: list[int]
    n_columns: int
    n_codes: int
    needs_rests: ClassVar[bool] = False

    def zero(self) -> NDArray[np.int64]:
        """Return a table of zeros, shape (n_nodes, n_columns, n_codes)."""
        return np.zeros((len(self.nodes), self.n_columns, self.n_codes), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        histograms(block.codes, node, _slots(self.nodes), total)


@dataclass(frozen=True)
class NodeCounts:
    """Rows per node, for nodes numbered from 0."""

    n_nodes: int
    needs_rests: ClassVar[bool] = False

    def zero(self) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(self.n_nodes, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        total += np.bincount(node, minlength=self.n_nodes)


@dataclass(frozen=True)
class BoxSums:
    """Per node the sum of ``place - middle``."""

    nodes: list[int]
    middle: NDArray[np.int64]
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, shape (n_nodes, n_columns)."""
        return np.zeros(self.middle.shape, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add a block's sums."""
        order, starts = order_rows(node, _slots(self.nodes), len(self.nodes))
        box_sums(block.rows, order, starts, self.middle, total)


@dataclass(frozen=True)
class DistanceCounts:
    """How many rows first fit within each distance from their node's centre."""

    nodes: list[int]
    columns: NDArray[np.int64]
    centre: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    norm: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, one for each distance and one for rows beyond all."""
        return np.zeros(len(self.thresholds) + 1, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        order, starts = order_rows(node, _slots(self.nodes), len(self.nodes))
        distance_counts(block.rows, self.columns, order, starts, self.centre, self.thresholds, self.norm, total)


@dataclass(frozen=True)
class ClippedSums:
    """Per node the sum of displacements from its centre, shortened to its radius."""

    nodes: list[int]
    columns: NDArray[np.int64]
    centre: NDArray[np.int64]
    radius: NDArray[np.int64]
    norm: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, shape (n_nodes, n_columns)."""
        return np.zeros(self.centre.shape, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add a block's sums."""
        order, starts = order_rows(node, _slots(self.nodes), len(self.nodes))
        clipped_sums(block.rows, self.columns, order, starts, self.centre, self.radius, self.norm, total)


@dataclass(frozen=True)
class LineCounts:
    """Rows of nodes along directions, in bins, in parts of a row; see `kernels.reference.line_counts`."""

    nodes: list[int]
    line_of: NDArray[np.int64]
    directions: NDArray[np.int64]
    begins: NDArray[np.int64]
    widths: NDArray[np.int64]
    shapes: list[NDArray[np.int64]]
    n_bins: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, shape (n_lines, n_bins)."""
        return np.zeros((len(self.directions), self.n_bins), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        order, starts = order_rows(node, _slots(self.nodes), len(self.nodes))
        line_counts(
            block.rows, order, starts, self.line_of, self.directions, self.begins, self.widths, self.shapes, total
        )


@dataclass(frozen=True)
class GridCounts:
    """Rows in the bins of a grid over all columns."""

    widths: NDArray[np.int64]
    shape: tuple[int, ...]
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, one axis per column."""
        return np.zeros(self.shape, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        bins = np.ravel_multi_index(_bins(block, self.widths, self.shape), self.shape)
        total += np.bincount(bins, minlength=total.size).reshape(self.shape)


@dataclass(frozen=True)
class BinCounts:
    """Rows of nodes in bins of several columns; see `kernels.profiles.bin_counts`.

    A column is one of the grid, or all indicators of a column of categories, whose value is the number of its category.
    """

    columns: list[NDArray[np.int64]]
    limits: list[NDArray[np.int64]]
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, for the bins of one column after the other."""
        return np.zeros(sum(map(len, self.limits)), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        n_clusters = int(self.limits[0][-1]) // profiles.CLUSTER_STEP + 1
        order, starts = order_rows(node, _slots(list(range(n_clusters))), n_clusters)
        begins = np.cumsum([0, *map(len, self.limits)])
        alone = [i for i, columns in enumerate(self.columns) if len(columns) == 1]
        for first in range(0, len(alone), _COLUMNS_AT_ONCE):
            numbers = alone[first : first + _COLUMNS_AT_ONCE]
            places = profiles.places_of(block.rows, np.concatenate([self.columns[i] for i in numbers]), order)
            for i, values in zip(numbers, places, strict=True):
                profiles.bin_counts(values, starts, self.limits[i], total[begins[i] : begins[i + 1]])
        for i, columns in enumerate(self.columns):
            if len(columns) > 1:
                values = profiles.categories(block.rows, columns, order)
                profiles.bin_counts(values, starts, self.limits[i], total[begins[i] : begins[i + 1]])


@dataclass(frozen=True)
class DistanceSums:
    """How far rows are from their own centre, and silhouettes; see `kernels.profiles.distance_sums`."""

    centres: NDArray[np.int64]
    sets: list[NDArray[np.int64]]
    largest_square: int
    widths: NDArray[np.int64]
    least: NDArray[np.float64]
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(len(self.widths), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add a block's sums."""
        total += profiles.distance_sums(
            block.rows, node, self.centres, self.sets, self.largest_square, self.widths, self.least
        )
