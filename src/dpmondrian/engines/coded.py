"""Coded rows: what every engine holds of the table, wherever it holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.grid import Grid
from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.kernels.compiled import quantise
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE
from dpmondrian.kernels.tiles import MIDDLE_PLACE, by_row, cells_of, order_rows
from dpmondrian.schema import Coordinates, Schema
from dpmondrian.tables import PART_ROWS, Table

MISSING_RULES = {"error": ERROR, "drop": DROP, "middle": MIDDLE}


def missing_value_error() -> DataError:
    """Return the error for missing values; it says nothing about where or how many they are."""
    return DataError(
        "The table contains NaN, missing or infinite values.", WayOut.HANDLE_MISSING, because={"on_missing": "error"}
    )


def clipped_rows(block: NDArray[np.float64], schema: Schema, missing: int) -> NDArray[np.float64]:
    """Return rows clipped to the bounds; missing values raise, become NaN (`DROP`), or become the middle."""
    finite = np.isfinite(block)
    if not finite.all():
        if missing == ERROR:
            raise missing_value_error()
        block = np.where(finite, block, (schema.lower + schema.upper) / 2 if missing == MIDDLE else np.nan)
    return np.clip(block, schema.lower, schema.upper)


def view_of(table: Table, coordinates: Coordinates, on_missing: str) -> Table:
    """Return a table with coordinates in its blocks; the table itself if they are the values."""
    if coordinates.plain:
        return table
    names = coordinates.schema.names
    return _View(
        names=names,
        named=table.named,
        whole=(False,) * len(names),
        n_rows=table.n_rows,
        _source=table,
        text_names=table.text_names,
        of_rows=lambda block: coordinates.of_rows(block, fill_missing=on_missing == "middle"),
    )


@dataclass(frozen=True, kw_only=True)
class _View(Table):
    """A table whose blocks are made from those of another one, its source."""

    of_rows: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def block(self, start: int) -> NDArray[np.float64]:
        return self.of_rows(self._source.block(start))

    def own_blocks(self) -> Iterator[NDArray[Any]]:
        return self.blocks()


class CodedBlock:
    """Some rows (sensitive), two small numbers per value: ``place = code * code_step + rest * rest_step``.

    Parameters
    ----------
    codes, rests : uint8 or uint16 arrays of shape (n_columns, n_rows), or None
        Rests may be empty where only codes are looked at. Codes may be None if `rows` are given.
    code_step, rest_step : float64 arrays of shape (n_columns,)
    rows : int16 array, optional
        The same places row by row, as `kernels.tiles.by_row` makes them.
    """

    def __init__(
        self,
        codes: NDArray[Any] | None,
        rests: NDArray[Any] | None,
        code_step: NDArray[np.float64],
        rest_step: NDArray[np.float64],
        rows: NDArray[np.int16] | None = None,
    ) -> None:
        self._codes, self._rests, self._rows = codes, rests, rows
        self.code_step, self.rest_step = code_step, rest_step

    @classmethod
    def of(
        cls,
        grid: Grid,
        codes: NDArray[Any] | None,
        rests: NDArray[Any] | None,
        rows: NDArray[np.int16] | None = None,
    ) -> CodedBlock:
        """Return rows that were coded by a grid."""
        return cls(codes, rests, grid.places_per_code.astype(np.float64), grid.rest_step, rows)

    @property
    def n_rows(self) -> int:
        """Number of rows (exact)."""
        return int(self.codes.shape[1]) if self._rows is None else len(self._rows)

    @property
    def codes(self) -> NDArray[Any]:
        """Codes of all values, shape (n_columns, n_rows)."""
        if self._codes is None:
            self._codes = (self.places() // self.code_step[:, None]).astype(np.uint16, order="C")
        return self._codes

    @property
    def rests(self) -> NDArray[Any]:
        """Rests of all values, likewise."""
        if self._rests is None:
            self._rests = (self.places() % self.code_step[:, None] // self.rest_step[:, None]).astype(
                np.uint16, order="C"
            )
        return self._rests

    @property
    def coded(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """What the plain kernels take."""
        return self.codes, self.rests, self.code_step, self.rest_step

    @property
    def rows(self) -> NDArray[np.int16]:
        """What kernels take that look at places."""
        rows: NDArray[np.int16] = by_row(self.coded) if self._rows is None else self._rows
        return rows

    @property
    def row_bytes(self) -> int:
        """Memory that the rows take as kernels take them."""
        return 2 * self.n_rows * int(cells_of(len(self.code_step)))

    @property
    def code_bytes(self) -> int:
        """Memory that the codes and rests take."""
        return sum(values.nbytes for values in (self._codes, self._rests) if values is not None)

    @property
    def is_by_row(self) -> bool:
        """Whether the rows are there as kernels take them."""
        return self._rows is not None

    def by_row(self) -> CodedBlock:
        """Return a block that has its rows as kernels take them: for several questions, or moves and a question."""
        return CodedBlock(self._codes, self._rests, self.code_step, self.rest_step, self.rows)

    def only_rows(self, order: NDArray[np.uint32]) -> CodedBlock:
        """Return a block of the rows in this order as kernels take them, without codes and rests."""
        return CodedBlock(None, None, self.code_step, self.rest_step, by_row(self.coded, order))

    def afresh(self) -> CodedBlock:
        """Return the same block without codes and rests that it once worked out of its rows."""
        if self._rows is None:
            return self
        return CodedBlock(None, None, self.code_step, self.rest_step, self._rows)

    def places(self) -> NDArray[np.float64]:
        """Return the rows' places, shape (n_columns, n_rows)."""
        if self._rows is not None:
            return self._rows[:, : len(self.code_step)].T.astype(np.float64) + float(MIDDLE_PLACE)
        return self.codes * self.code_step[:, None] + self.rests * self.rest_step[:, None]


def coded_blocks(table: Table, coordinates: Coordinates, on_missing: str, grid: Grid) -> Iterator[CodedBlock]:
    """Yield the rows of a table as codes and rests of the grid, in blocks of at most `PART_ROWS`.

    Privacy
    -------
    The code and rest of a value depend on its row alone. Argument: ``docs/privacy/representation.md``; tests that try to
    break it: ``tests/schema/test_coordinates.py``, ``tests/kernels/test_compiled.py``.
    """
    schema = coordinates.schema
    for first_row in range(0, table.n_rows, PART_ROWS):
        view = view_of(table.between(first_row, first_row + PART_ROWS), coordinates, on_missing)
        codes = np.empty((grid.n_columns, view.n_rows), dtype=grid.code_type)
        rests = np.empty((grid.n_columns, view.n_rows), dtype=grid.rest_type)
        filled = 0
        for block in view.own_blocks():
            filled = quantise(
                block.T, schema.lower, schema.upper, grid.origin, grid.inverse_step, grid.on_value, grid.last_place,
                grid.places_per_code, grid.rest_step, MISSING_RULES[on_missing], codes, rests, filled,
            )  # fmt: skip
            if filled < 0:
                raise missing_value_error()
        if filled < view.n_rows:
            codes, rests = codes[:, :filled].copy(), rests[:, :filled].copy()
        yield CodedBlock.of(grid, codes, rests)


def node_by_node(node: NDArray[np.int16]) -> NDArray[np.uint32]:
    """Return the order of rows in which those of a node lie together."""
    n_nodes = 1 + int(node.max(initial=0))
    order: NDArray[np.uint32] = order_rows(node, np.arange(n_nodes, dtype=np.int16), n_nodes)[0]
    return order
