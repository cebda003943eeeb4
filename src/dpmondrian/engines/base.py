"""The engine that the algorithm knows. Every answer is a sum of integers over rows: exact, and sensitive.

A new engine is one file. It says where coded blocks are (`encode`), how a question reaches them and their answers are added up
(`total`), and counts gaps for the paper's variant (`gap_counts`). All else is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines import questions as ask
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.questions import Move, Question
from dpmondrian.exceptions import DataError

MOST_ROWS = 2**32
"""Fewer rows than these are clustered: the proofs are about integers that do not overflow (``docs/privacy/representation.md``)."""


def check_n_rows(n_rows: int) -> None:
    """Refuse a table with `MOST_ROWS` rows or more. The error is for the holder: it tells that the table is very large."""
    if n_rows >= MOST_ROWS:
        raise DataError(
            f"The table has too many rows: fewer than {MOST_ROWS:,} can be clustered, so that all sums fit into 64 bits. Nothing was drawn.",
            "Use a random sample of them, or fewer rows per person.",
        )


class Engine(ABC):
    """Rows in nodes of a growing tree. All rows begin in node 0. Use it as a context manager: leaving it frees what it holds.

    `nodes` lists node numbers; answers come in that order. Histograms are over all columns of the grid; sums, centres and
    distances are in places of its columns.
    """

    def __init__(self) -> None:
        self._moves: list[Move] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @abstractmethod
    def gap_counts(self, thresholds: NDArray[np.float64], share: float) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps between neighbouring values, over all columns, are within each threshold.

        Gaps and thresholds are fractions of a column's range. The second value is the number of gaps. Only a public `share`
        of the rows is looked at (`dpmondrian.engines.gaps`).
        """

    def encode(self, grid: Grid) -> int:
        """Turn the rows into codes and rests of `grid`, all in node 0; return the number of rows kept.

        Raises
        ------
        DataError
            If there are too many of them: condition C1 of ``docs/privacy/README.md``. Nothing was drawn then, because the first
            draw is the number of rows.
        """
        self._grid = grid
        self._moves = []
        n_rows = self._encode(grid)
        check_n_rows(n_rows)
        return n_rows

    @abstractmethod
    def _encode(self, grid: Grid) -> int:
        """Code the rows; return the number of rows kept."""

    @abstractmethod
    def total(self, question: Question) -> NDArray[np.int64]:
        """Return the sum of a question's answers over all blocks of rows, after all moves so far."""

    def moves_since(self, n_done: int = 0) -> Sequence[Move]:
        """Return the moves that bring a row to its node if `n_done` of them were made; see `questions.moves_since`."""
        return ask.moves_since(self._moves, n_done)

    def histograms(self, nodes: list[int]) -> NDArray[np.int64]:
        """Return rows per node, column and code, shape (n_nodes, n_columns, most_codes)."""
        return self.total(ask.Histograms(nodes, self._grid.n_columns, self._grid.most_codes))

    def route(self, move: Move) -> None:
        """Move rows, such as those of cut nodes to their children; done together with the next question."""
        self._moves.append(move)

    def regroup(self, centres: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move every row to the node numbered like its nearest centre; return the rows per centre.

        Squared distances are in places, exact; the lowest number wins a tie.
        """
        return self.move(ask.ToNearest(centres), len(centres))

    def move(self, move: Move, n_nodes: int) -> NDArray[np.int64]:
        """Move every row to its node by a public rule; return the rows per node, of which there are `n_nodes`."""
        self._moves.append(move)
        return self.total(ask.NodeCounts(n_nodes))

    def grid_counts(self, widths: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the rows in the bins of a grid, of so many places along each column."""
        return self.total(ask.GridCounts(widths, shape))

    def line_counts(self, question: ask.LineCounts) -> NDArray[np.int64]:
        """Return rows of nodes along directions, in bins and parts of a row, shape (n_lines, n_bins)."""
        return self.total(question)

    def bin_counts(self, question: ask.BinCounts) -> NDArray[np.int64]:
        """Return rows of nodes in bins of columns, column after column."""
        return self.total(question)

    def distance_sums(self, question: ask.DistanceSums) -> NDArray[np.int64]:
        """Return sums over all rows of how far they are from centres, and of their silhouettes."""
        return self.total(question)

    def box_sums(self, nodes: list[int], middle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return per node the sum of ``place - middle[node]``, shape (n_nodes, n_columns)."""
        return self.total(ask.BoxSums(nodes, middle))

    def distance_counts(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return how many rows first fit within each distance from their node's centre, in the `columns` only.

        `thresholds` are ascending, squared for norm 2; the last count is of the rows beyond all.
        """
        return self.total(ask.DistanceCounts(nodes, columns, centre, thresholds, norm))

    def clipped_sums(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        radius: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return per node the sum of displacements from its centre, shortened to its radius, in the `columns` only."""
        return self.total(ask.ClippedSums(nodes, columns, centre, radius, norm))
