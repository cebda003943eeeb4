"""Coded rows: what every engine holds of the table, wherever it holds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.grid import Grid
from dpmondrian.engines.missing import MISSING_RULES, missing_value_error
from dpmondrian.engines.views import view_of
from dpmondrian.kernels import compiled
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PART_ROWS, Table

__all__ = ["CodedBlock", "coded_blocks"]


@dataclass(frozen=True, repr=False)
class CodedBlock:
    """Some rows (sensitive), two small numbers per value: ``place = code * code_step + rest * rest_step``.

    Attributes
    ----------
    codes : uint8 or uint16 array of shape (n_columns, n_rows)
    rests : uint8 or uint16 array of shape (n_measured, n_rows)
        Empty where a question needs codes only.
    code_step, rest_step : float64 arrays of shape (n_measured,)
    """

    codes: NDArray[Any]
    rests: NDArray[Any]
    code_step: NDArray[np.float64]
    rest_step: NDArray[np.float64]

    @classmethod
    def of(cls, grid: Grid, codes: NDArray[Any], rests: NDArray[Any]) -> CodedBlock:
        """Return rows that were coded by a grid."""
        measured = slice(grid.n_measured)
        return cls(codes, rests, grid.places_per_code[measured].astype(np.float64), grid.rest_step[measured])

    @property
    def n_rows(self) -> int:
        """Number of rows (exact)."""
        return int(self.codes.shape[1])

    @property
    def rows(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """What kernels take."""
        return self.codes, self.rests, self.code_step, self.rest_step

    def places(self) -> NDArray[np.float64]:
        """Return the rows' places, shape (n_measured, n_rows)."""
        measured = self.codes[: len(self.rests)]
        return measured * self.code_step[:, None] + self.rests * self.rest_step[:, None]


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
        rests = np.empty((grid.n_measured, view.n_rows), dtype=grid.rest_type)
        filled = 0
        for block in view.own_blocks():
            filled = compiled.quantise(
                block.T, schema.lower, schema.upper, grid.origin, grid.inverse_step, grid.on_value, grid.last_place,
                grid.places_per_code, grid.rest_step, MISSING_RULES[on_missing], codes, rests, filled,
            )  # fmt: skip
            if filled < 0:
                raise missing_value_error()
        if filled < view.n_rows:
            codes, rests = codes[:, :filled].copy(), rests[:, :filled].copy()
        yield CodedBlock.of(grid, codes, rests)
