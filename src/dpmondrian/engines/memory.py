"""Rows in memory: three bytes per value (a code and a place) and two per row (its node)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.domain import Schema
from dpmondrian.engines.base import Splits
from dpmondrian.exceptions import DataError
from dpmondrian.frames import Table
from dpmondrian.grid import Grid
from dpmondrian.kernels import compiled
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE

__all__ = ["MISSING_RULES", "MemoryEngine", "missing_value_error"]

MISSING_RULES = {"error": ERROR, "drop": DROP, "middle": MIDDLE}


def missing_value_error() -> DataError:
    """Return the error for missing values; it says nothing about where or how many they are."""
    return DataError(
        "The table contains NaN, missing or infinite values, and on_missing='error'. Use on_missing='drop' to leave such "
        "rows out, or on_missing='middle' to put the middle of the column's bounds in their place."
    )


class MemoryEngine:
    """Answers the questions of `base.Engine` from arrays in memory.

    Complexity: one pass over the codes per level, two passes over the places for the centres.
    """

    def __init__(self, table: Table, schema: Schema, on_missing: str) -> None:
        self._table = table
        self._schema = schema
        self._missing = MISSING_RULES[on_missing]

    def gap_counts(self, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps are within each threshold, and the number of gaps; sorts each column once."""
        rows = np.concatenate([self._clean(block) for block in self._table.blocks()] or [np.empty((0, self._table.n_columns))])
        scaled = (rows - self._schema.lower) / (self._schema.upper - self._schema.lower)
        scaled.sort(axis=0)
        counts = np.zeros(len(thresholds), dtype=np.int64)
        for column in range(scaled.shape[1]):
            gaps = np.sort(np.diff(scaled[:, column]))
            counts += np.searchsorted(gaps, thresholds, side="right")
        return counts, scaled.shape[1] * max(0, len(scaled) - 1)

    def _clean(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        finite = np.isfinite(block)
        if self._missing == ERROR and not finite.all():
            raise missing_value_error()
        if self._missing == DROP:
            block = block[finite.all(axis=1)]
        elif self._missing == MIDDLE:
            block = np.where(finite, block, (self._schema.lower + self._schema.upper) / 2)
        return np.clip(block, self._schema.lower, self._schema.upper)

    def encode(self, grid: Grid) -> int:
        """Turn the rows into places and codes, all in node 0; return the number of rows kept."""
        n_rows, n_columns = self._table.n_rows, grid.n_columns
        self._n_codes = grid.most_codes
        codes = np.empty((n_columns, n_rows), dtype=np.uint8 if self._n_codes <= 256 else np.uint16)
        places = np.empty((n_columns, n_rows), dtype=np.uint16)
        inverse_step = np.where(grid.on_value, np.rint(1.0 / grid.step), 1.0 / grid.step)
        filled = 0
        for block in self._table.blocks():
            filled = compiled.quantise(
                block, self._schema.lower, self._schema.upper, grid.origin, inverse_step, grid.on_value,
                grid.last_place, grid.places_per_code, self._missing, places, codes, filled,
            )  # fmt: skip
            if filled < 0:
                raise missing_value_error()
        self._codes, self._places = codes[:, :filled], places[:, :filled]
        self._node = np.zeros(filled, dtype=np.int16)
        return filled

    def _slots(self, nodes: list[int]) -> NDArray[np.int16]:
        """Return the map from node number to position in `nodes`; other nodes get the last slot."""
        slot_of = np.full(2**15, len(nodes), dtype=np.int16)
        slot_of[nodes] = np.arange(len(nodes), dtype=np.int16)
        return slot_of

    def histograms(self, nodes: list[int]) -> NDArray[np.int64]:
        """Return rows per node, column and code."""
        return compiled.histograms(self._codes, self._node, self._slots(nodes), len(nodes), self._n_codes)

    def route(self, splits: Splits) -> None:
        """Move the rows of cut nodes to their children."""
        compiled.route(self._codes, self._node, splits.column, splits.cut, splits.left, splits.right)

    def regroup(self, centres: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move every row to the node numbered like its nearest centre; return the rows per centre."""
        compiled.regroup(self._places, centres, self._node)
        return np.bincount(self._node, minlength=len(centres)).astype(np.int64)

    def box_sums(self, nodes: list[int], middle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return per node the sum of ``place - middle``."""
        return compiled.box_sums(self._places, self._node, self._slots(nodes), middle)

    def radius_counts(
        self, nodes: list[int], centre: NDArray[np.int64], thresholds: NDArray[np.int64], norm: int
    ) -> NDArray[np.int64]:
        """Return how many rows first fit within each radius around their node's centre."""
        return compiled.radius_counts(self._places, self._node, self._slots(nodes), centre, thresholds, norm)

    def clipped_sums(
        self, nodes: list[int], centre: NDArray[np.int64], radius: NDArray[np.int64], norm: int
    ) -> NDArray[np.int64]:
        """Return per node the sum of displacements from its centre, shortened to its radius."""
        return compiled.clipped_sums(self._places, self._node, self._slots(nodes), centre, radius, norm)

    def nodes_of_rows(self) -> NDArray[np.int16] | None:
        """Return the node of every row of the table, or None if rows were left out."""
        return self._node if len(self._node) == self._table.n_rows else None
