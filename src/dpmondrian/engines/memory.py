"""Rows in memory: three bytes per value (a code and a place), one per direction (a code) and two per row (its node)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpmondrian.domain import Schema
from dpmondrian.engines.base import Splits
from dpmondrian.engines.threads import Threads
from dpmondrian.exceptions import DataError
from dpmondrian.frames import Table
from dpmondrian.grid import Grid
from dpmondrian.kernels import compiled
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE

__all__ = ["MISSING_RULES", "MemoryEngine", "clipped_rows", "missing_value_error"]

_ROWS_PER_GROUPING = 2**16
"""Rows are grouped by node within parts of at most this size, whose columns fit the processor's cache."""
_MOST_NODES = 2**14
"""More than the deepest tree has (depth 12: 8,191 nodes)."""

MISSING_RULES = {"error": ERROR, "drop": DROP, "middle": MIDDLE}


def missing_value_error() -> DataError:
    """Return the error for missing values; it says nothing about where or how many they are."""
    return DataError(
        "The table contains NaN, missing or infinite values, and on_missing='error'. Use on_missing='drop' to leave such "
        "rows out, or on_missing='middle' to put the middle of the column's bounds in their place."
    )


def clipped_rows(block: NDArray[np.float64], schema: Schema, missing: int) -> NDArray[np.float64]:
    """Return rows clipped to the bounds; missing values raise, become NaN (`DROP`), or become the middle."""
    finite = np.isfinite(block)
    if not finite.all():
        if missing == ERROR:
            raise missing_value_error()
        block = np.where(finite, block, (schema.lower + schema.upper) / 2 if missing == MIDDLE else np.nan)
    return np.clip(block, schema.lower, schema.upper)


class MemoryEngine:
    """Answers the questions of `base.Engine` from arrays in memory, with a thread per part of the rows.

    Parts are added up as integers, so their number changes nothing. Use it as a context manager: leaving it
    ends the threads.

    Complexity: one pass over the codes per level, and a few over the places for the centres.
    """

    def __init__(self, table: Table, schema: Schema, on_missing: str, n_threads: int | None = None) -> None:
        self._table = table
        self._schema = schema
        self._missing = MISSING_RULES[on_missing]
        self.threads = Threads(table.n_rows, n_threads)
        self._grouped_by: list[int] | None = None
        self._splits: Splits | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.threads.__exit__()

    def _over_rows(self, kernel: Callable[[slice], Any]) -> list[Any]:
        """Return what a kernel answers on each part of the rows, after moving the rows of cut nodes."""
        splits, self._splits = self._splits, None

        def work(part: slice) -> Any:
            if splits is not None:
                compiled.route(
                    self._codes[:, part], self._node[part], splits.column, splits.cut, splits.left, splits.right
                )
            return kernel(part)

        return self.threads.map(work, self.threads.row_parts(len(self._node)))

    def gap_counts(self, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps are within each threshold, and the number of gaps; sorts each column once."""
        blocks = [clipped_rows(block, self._schema, self._missing) for block in self._table.blocks()]
        rows = np.concatenate([np.empty((0, self._table.n_columns)), *blocks])
        rows = rows[~np.isnan(rows).any(axis=1)]
        scaled = (rows - self._schema.lower) / (self._schema.upper - self._schema.lower)
        scaled.sort(axis=0)
        counts = np.zeros(len(thresholds), dtype=np.int64)
        for column in scaled.T:
            counts += np.searchsorted(np.sort(np.diff(column)), thresholds, side="right")
        return counts, scaled.shape[1] * max(0, len(scaled) - 1)

    def encode(self, grid: Grid) -> int:
        """Turn the rows into codes and, in measured columns, places, all in node 0; return the number of rows kept."""
        n_rows = self._table.n_rows
        self._n_codes = grid.most_codes
        codes = np.empty((grid.n_columns, n_rows), dtype=np.uint8 if self._n_codes <= 256 else np.uint16)
        places = np.empty((grid.n_measured, n_rows), dtype=np.uint16)
        inverse_step = grid.inverse_step

        def quantise(first_row: int, start: int) -> int:
            stop: int = compiled.quantise(
                self._table.block(first_row), self._schema.lower, self._schema.upper, grid.origin, inverse_step, grid.on_value,
                grid.last_place, grid.places_per_code, self._missing, places, codes, start,
            )  # fmt: skip
            if stop < 0:
                raise missing_value_error()
            return stop

        filled = 0
        if self._missing == DROP:  # where a block begins depends on the rows left out before it
            for first_row in self._table.starts():
                filled = quantise(first_row, filled)
        else:
            filled = max(self.threads.map(lambda row: quantise(row, row), self._table.starts()), default=0)
        self._codes, self._places = codes[:, :filled], places[:, :filled]
        self._node = np.zeros(filled, dtype=np.int16)
        self._grouped_by = self._splits = None
        return filled

    def _slots(self, nodes: list[int]) -> NDArray[np.int16]:
        """Return the map from node number to position in `nodes`; other nodes get the last slot."""
        slot_of = np.full(_MOST_NODES, len(nodes), dtype=np.int16)
        slot_of[nodes] = np.arange(len(nodes), dtype=np.int16)
        return slot_of

    def histograms(self, nodes: list[int]) -> NDArray[np.int64]:
        """Return rows per node, column and code."""
        slot_of = self._slots(nodes)
        return _total(self._over_rows(
            lambda part: compiled.histograms(self._codes[:, part], self._node[part], slot_of, len(nodes), self._n_codes)
        ))  # fmt: skip

    def route(self, splits: Splits) -> None:
        """Move the rows of cut nodes to their children; done together with the next pass over the rows."""
        self._nodes_settled()
        self._grouped_by = None
        self._splits = splits

    def _nodes_settled(self) -> NDArray[np.int16]:
        """Return the node of every row, after rows that wait to be moved."""
        if self._splits is not None:
            self._over_rows(lambda part: None)
        return self._node

    def regroup(self, centres: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move every row to the node numbered like its nearest centre; return the rows per centre."""
        self._over_rows(lambda part: compiled.regroup(self._places[:, part], centres, self._node[part]))
        self._grouped_by = None
        return np.bincount(self._node, minlength=len(centres)).astype(np.int64)

    def bridge_counts(
        self, centres: NDArray[np.int64], pair_of: NDArray[np.int64], n_pairs: int, n_bins: int
    ) -> NDArray[np.int64]:
        """Return how many rows lie along the ways between pairs of centres, and how many others are nearest to each centre."""
        return _total(self._over_rows(
            lambda part: compiled.bridge_counts(self._places[:, part], centres, pair_of, n_pairs, n_bins)
        ))  # fmt: skip

    def silhouettes(self, centres: NDArray[np.int64], taken: NDArray[np.bool_], steps: int) -> NDArray[np.int64]:
        """Return for each choice of centres the sum of the rows' simplified silhouettes."""
        return _total(self._over_rows(lambda part: compiled.silhouettes(self._places[:, part], centres, taken, steps)))

    def _over_groups(self, nodes: list[int], kernel: Callable[..., NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the sum of a kernel's answers over parts of the rows in which groups lie side by side.

        Grouping copies the places once; it pays because several questions about the same nodes follow.
        """
        if self._grouped_by != nodes:
            slot_of, node = self._slots(nodes), self._nodes_settled()
            size = max(1, min(_ROWS_PER_GROUPING, -(-len(node) // self.threads.n_parts)))

            def group(start: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
                part = slice(start, start + size)
                grouped: tuple[NDArray[np.uint16], NDArray[np.int64]] = compiled.group_rows(
                    self._places[:, part], node[part], slot_of, len(nodes)
                )
                return grouped

            self._grouped = self.threads.map(group, range(0, max(1, len(node)), size))
            self._grouped_by = list(nodes)
        return _total(self.threads.map(lambda part: kernel(*part), self._grouped))

    def box_sums(self, nodes: list[int], middle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return per node the sum of ``place - middle``."""
        return self._over_groups(nodes, lambda places, starts: compiled.box_sums(places, starts, middle))

    def radius_counts(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return how many rows first fit within each radius around their node's centre."""
        return self._over_groups(
            nodes,
            lambda places, starts: compiled.radius_counts(_only(places, columns), starts, centre, thresholds, norm),
        )

    def clipped_sums(
        self,
        nodes: list[int],
        centre: NDArray[np.int64],
        radius: NDArray[np.int64],
        norm: int,
        columns: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return per node the sum of displacements from its centre, shortened to its radius."""
        return self._over_groups(
            nodes,
            lambda places, starts: compiled.clipped_sums(_only(places, columns), starts, centre, radius, norm),
        )

    @property
    def places(self) -> NDArray[np.uint16]:
        """Places of all rows, shape (n_measured, n_rows) (sensitive)."""
        return self._places

    def nodes_of_rows(self) -> NDArray[np.int16] | None:
        """Return the node of every row of the table, or None if rows were left out (sensitive)."""
        node = self._nodes_settled()
        return node if len(node) == self._table.n_rows else None


def _only(places: NDArray[np.uint16], columns: NDArray[np.int64] | None) -> NDArray[np.uint16]:
    return places if columns is None else places[columns]


def _total(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of the parts' integers, in the first of them."""
    for part in parts[1:]:
        parts[0] += part
    return parts[0]
