"""Rows on a worker and where they are, so that no move is made twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import CodedBlock, node_by_node
from dpmondrian.engines.questions import Move, Question, moves_since


@dataclass(frozen=True, repr=False)
class PlacedRows:
    """A block of rows (sensitive), and their nodes after the first `n_moves` of all moves.

    It does not change, so a task that breaks off leaves the rows where they were. If it is lost, all moves bring a new one to the same nodes.
    """

    block: CodedBlock
    node: NDArray[np.int16]
    n_moves: int = 0

    @classmethod
    def of(cls, block: CodedBlock) -> PlacedRows:
        """Return rows before the first move: all in node 0."""
        return cls(block, np.zeros(block.n_rows, dtype=np.int16))

    @property
    def n_bytes(self) -> int:
        """Most memory that the rows, or what `after` returns in their place, take."""
        return self.node.nbytes + max(self.block.code_bytes, self.block.row_bytes)

    def after(self, moves: Sequence[Move], needs_rests: bool) -> PlacedRows:
        """Return the same rows after all of these moves.

        Once places are asked for, they are kept instead of codes and rests, node by node: rows of a node that is cut later lie in few parts
        of memory. Rows that have made more moves begin anew: a copy of an earlier task may run late, and no move may be made twice.
        """
        if self.n_moves > len(moves):
            return PlacedRows(self.block, np.zeros_like(self.node)).after(moves, needs_rests)
        block, node, left = self.block.afresh(), self.node, moves_since(moves, self.n_moves)
        if not block.is_by_row:  # moves by codes are made while there are codes
            by_codes = list(takewhile(lambda move: not move.needs_rests, left))
            node, left = _moved(block, node, by_codes), left[len(by_codes) :]
            if needs_rests or left:
                order = node_by_node(node)
                block, node = block.only_rows(order), node[order]
        return PlacedRows(block, _moved(block, node, left), len(moves))

    def add_answer(self, question: Question, total: NDArray[np.int64]) -> None:
        """Add these rows' answer to the total."""
        question.add(self.block, self.node, total)


@dataclass(repr=False)
class PlacedPart:
    """The rows of a part of a table: a worker that holds this finds them where the last question left them."""

    rows: list[PlacedRows]

    def __sizeof__(self) -> int:
        """Return what Dask should count when it decides what to move to another worker and what to write to disk."""
        return object.__sizeof__(self) + sum(rows.n_bytes for rows in self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows (exact)."""
        return sum(len(rows.node) for rows in self.rows)

    def answer(self, question: Question, moves: Sequence[Move]) -> NDArray[np.int64]:
        """Return the answer after all of these moves."""
        total = question.zero()
        for i, rows in enumerate(self.rows):
            self.rows[i] = moved = rows.after(moves, question.needs_rests)
            moved.add_answer(question, total)
        return total


def _moved(block: CodedBlock, node: NDArray[np.int16], moves: Sequence[Move]) -> NDArray[np.int16]:
    """Return the nodes of rows after some moves."""
    if moves:
        node = node.copy()
    for move in moves:
        move.move(block, node)
    return node
