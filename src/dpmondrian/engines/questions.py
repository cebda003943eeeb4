# mypy: disable-error-code="no-untyped-call"
"""What an engine can be asked: each answer is a sum of integers over blocks of rows.

A question is small and can be sent to where rows are. Its answers on blocks are added up as integers, so how rows are
divided into blocks, and in which order blocks answer, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import CodedBlock
from dpmondrian.kernels import compiled

__all__ = [
    "BoxSums",
    "BridgeCounts",
    "ClippedSums",
    "Histograms",
    "Move",
    "NodeCounts",
    "Question",
    "RadiusCounts",
    "Silhouettes",
    "Splits",
    "ToNearest",
    "answer",
]

_MOST_NODES = 2**14
"""More than the deepest tree has (depth 12: 8,191 nodes), and than there may be clusters."""


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
        compiled.route(block.codes, node, self.column, self.cut, self.left, self.right)


@dataclass(frozen=True)
class ToNearest:
    """Every row goes to the node numbered like its nearest centre, wherever it was."""

    centres: NDArray[np.int64]
    needs_rests: ClassVar[bool] = True

    def move(self, block: CodedBlock, node: NDArray[np.int16]) -> None:
        """Move every row. Where it was only helps to find its centre sooner."""
        compiled.regroup(block.rows, self.centres, node)


class Question(Protocol):
    """Something whose answer on rows is the sum of its answers on blocks of them."""

    needs_rests: ClassVar[bool]

    def zero(self) -> NDArray[np.int64]:
        """Return the answer on no rows."""
        ...

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add the answer on a block's rows, which are in these nodes."""
        ...


def answer(question: Question, moves: Sequence[Move], block: CodedBlock, total: NDArray[np.int64]) -> None:
    """Add a block's answer to the total after moves that all begin in node 0; nothing is remembered.

    For engines whose blocks may be lost and made again at any time: the moves bring a new block to where the old one was.
    """
    node = np.zeros(block.n_rows, dtype=np.int16)
    for move in moves:
        move.move(block, node)
    question.add(block, node, total)


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
        compiled.histograms(block.codes, node, _slots(self.nodes), total)


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
class BridgeCounts:
    """Rows per pair of centres and bin of the way between them, then the others per nearest centre."""

    centres: NDArray[np.int64]
    pair_of: NDArray[np.int64]
    n_pairs: int
    n_bins: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(self.n_pairs * self.n_bins + len(self.centres), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows; those of one node are looked at together, since they have near centres in common."""
        order, starts = _all_by_node(node)
        compiled.bridge_counts(block.rows, order, starts, self.centres, self.pair_of, self.n_pairs, self.n_bins, total)


@dataclass(frozen=True)
class Silhouettes:
    """For each choice of centres the sum of the rows' simplified silhouettes."""

    centres: NDArray[np.int64]
    taken: NDArray[np.bool_]
    steps: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros."""
        return np.zeros(len(self.taken), dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add a block's silhouettes."""
        order, starts = _all_by_node(node)
        compiled.silhouettes(block.rows, order, starts, self.centres, self.taken, self.steps, total)


@dataclass(frozen=True)
class BoxSums:
    """Per node the sum of ``place - middle``."""

    nodes: list[int]
    middle: NDArray[np.int64]
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, shape (n_nodes, n_measured)."""
        return np.zeros(self.middle.shape, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Add a block's sums."""
        order, starts = compiled.order_rows(node, _slots(self.nodes), len(self.nodes))
        compiled.box_sums(block.rows, order, starts, self.middle, total)


@dataclass(frozen=True)
class RadiusCounts:
    """How many rows first fit within each radius around their node's centre."""

    nodes: list[int]
    columns: NDArray[np.int64]
    centre: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    norm: int
    needs_rests: ClassVar[bool] = True

    def zero(self) -> NDArray[np.int64]:
        """Return zeros, one for each radius and one for rows beyond all."""
        return np.zeros(self.thresholds.shape[1] + 1, dtype=np.int64)

    def add(self, block: CodedBlock, node: NDArray[np.int16], total: NDArray[np.int64]) -> None:
        """Count a block's rows."""
        order, starts = compiled.order_rows(node, _slots(self.nodes), len(self.nodes))
        compiled.radius_counts(block.rows, self.columns, order, starts, self.centre, self.thresholds, self.norm, total)


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
        order, starts = compiled.order_rows(node, _slots(self.nodes), len(self.nodes))
        compiled.clipped_sums(block.rows, self.columns, order, starts, self.centre, self.radius, self.norm, total)


def _all_by_node(node: NDArray[np.int16]) -> Any:
    """Return all rows in the order of their nodes, and where each node begins."""
    n_nodes = int(node.max(initial=-1)) + 1
    return compiled.order_rows(node, np.arange(n_nodes, dtype=np.int16), n_nodes)
