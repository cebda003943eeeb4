"""The questions that an engine answers. Every answer is a sum of integers over rows: exact, and sensitive."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.grid import Grid

__all__ = ["Engine", "Splits"]


class Splits:
    """Cuts to apply to nodes, as arrays over node numbers (-1 in `column` where there is no cut)."""

    def __init__(self, n_nodes: int) -> None:
        self.column = np.full(n_nodes, -1, dtype=np.int64)
        self.cut = np.zeros(n_nodes, dtype=np.int64)
        self.left = np.zeros(n_nodes, dtype=np.int16)
        self.right = np.zeros(n_nodes, dtype=np.int16)

    def add(self, node: int, column: int, cut: int, left: int, right: int) -> None:
        """Cut `node`: rows whose code in `column` is below `cut` go to `left`, the others to `right`."""
        self.column[node], self.cut[node], self.left[node], self.right[node] = column, cut, left, right


class Engine(Protocol):
    """Rows in nodes of a growing tree. All rows begin in node 0.

    `nodes` lists node numbers; answers come in that order. Histograms are over all columns of the grid; sums, centres and
    distances are in places of its measured columns.
    """

    def gap_counts(self, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps between neighbouring values, over all columns, are within each threshold.

        Gaps and thresholds are fractions of a column's range. The second value is the number of gaps.
        """
        ...

    def encode(self, grid: Grid) -> int:
        """Turn the rows into codes of `grid` and places of its measured columns, all in node 0; return the number of rows."""
        ...

    def histograms(self, nodes: list[int]) -> NDArray[np.int64]:
        """Return rows per node, column and code, shape (n_nodes, n_columns, most_codes)."""
        ...

    def route(self, splits: Splits) -> None:
        """Move the rows of cut nodes to their children."""
        ...

    def regroup(self, centres: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move every row to the node numbered like its nearest centre; return the rows per centre.

        Squared distances are in places, exact; the lowest number wins a tie.
        """
        ...

    def bridge_counts(
        self, centres: NDArray[np.int64], pair_of: NDArray[np.int64], n_pairs: int, n_bins: int
    ) -> NDArray[np.int64]:
        """Return how many rows lie along the ways between pairs of centres, by pair and bin, then how many others per centre.

        A row counts once: for its two nearest centres, or for the nearest alone. `pair_of` numbers the pairs, -1 for none.
        """
        ...

    def silhouettes(self, centres: NDArray[np.int64], taken: NDArray[np.bool_], steps: int) -> NDArray[np.int64]:
        """Return for each choice of centres the sum over rows of ``1 - nearest / second-nearest`` distance, in steps.

        `taken` has shape (n_choices, n_centres).
        """
        ...

    def box_sums(self, nodes: list[int], middle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return per node the sum of ``place - middle[node]``, shape (n_nodes, n_columns)."""
        ...

    def radius_counts(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return how many rows first fit within each radius around their node's centre.

        With `columns` distances are in these measured columns only, which `centre` then has.
        """
        ...

    def clipped_sums(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        radius: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return per node the sum of displacements from its centre, shortened to its radius; in `columns` only, if given."""
        ...
