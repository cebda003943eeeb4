"""Rows of a table in fixed point around the middle of their box, for peers that look at all columns at once.

Coordinates are whole numbers held in float64. Products and sums of them stay below 2**53, so matrix products are exact and
the group of a row depends on that row alone, whatever the order in which a library adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines import Grid, LocalEngine, check_n_rows
from dpmondrian.exceptions import DataError
from dpmondrian.schema import Coordinates, Schema
from dpmondrian.tables import Table

__all__ = ["FixedPointRows", "finite", "middle_place", "nearest_centre"]

_BLOCK_VALUES = 2**22
_WINDOWS = 2  # the peers use places only; any number of windows gives the same ones


@dataclass(frozen=True)
class FixedPointRows:
    """Exact rows, clipped to the bounds: sensitive.

    Attributes
    ----------
    grid : Grid
    displacement : float64 array of shape (n_rows, n_columns)
        Whole numbers: places from the middle of the box.
    """

    grid: Grid
    displacement: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, table: Table, schema: Schema, clip: bool = True) -> FixedPointRows:
        """Return the rows of a table; missing values are refused.

        ``clip=False`` leaves rows outside the bounds where they are, as some published code does: no privacy then.
        """
        check_n_rows(table.n_rows)
        grid = Grid.with_windows(schema, _WINDOWS)
        if not clip:
            values = finite(np.concatenate([np.empty((0, table.n_columns)), *table.blocks()]))
            return cls(grid, np.floor((values - grid.origin) * grid.inverse_step) - middle_place(grid))
        with LocalEngine(table, Coordinates(schema), "error") as engine:
            try:
                engine.encode(grid)
            except DataError:
                raise _missing_values() from None
            displacement = np.ascontiguousarray(engine.places().T)
        displacement -= middle_place(grid)
        return cls(grid, displacement)

    @property
    def half_width(self) -> NDArray[np.int64]:
        """Largest displacement in each column (public)."""
        return self.grid.last_place - middle_place(self.grid)

    def values(self, displacement: NDArray[np.float64], clip: bool = True) -> NDArray[np.float64]:
        """Return points in the units of the data, clipped to the bounds."""
        places = displacement + middle_place(self.grid)
        return self.grid.values(np.clip(places, 0, self.grid.last_place) if clip else places)

    def sums(self, label: NDArray[np.int64], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows and the sum of displacements of every group; rows labelled -1 are left out."""
        from scipy.sparse import csr_array

        kept = np.flatnonzero(label >= 0)
        member = csr_array((np.ones(kept.size), (label[kept], kept)), shape=(n_groups, len(label)))
        counts = np.bincount(label[kept], minlength=n_groups).astype(np.int64)
        return counts, (member @ self.displacement).astype(np.int64)


def _missing_values() -> DataError:
    """Return the error for missing values; it says nothing about where or how many they are."""
    return DataError(
        "The table contains NaN, missing or infinite values. Leave such rows out, or put values in their place that do not "
        "depend on the data, such as the middle of the column's bounds."
    )


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values if none is missing or infinite."""
    if not np.isfinite(values).all():
        raise _missing_values()
    return values


def middle_place(grid: Grid) -> NDArray[np.int64]:
    """Return the place in the middle of each column (public)."""
    return grid.last_place // 2


def nearest_centre(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest centre of every point, the lowest number on ties; exact if all are whole numbers."""
    label = np.empty(len(points), dtype=np.int64)
    squares = (centres**2).sum(axis=1)
    size = max(1, _BLOCK_VALUES // len(centres))
    for start in range(0, len(points), size):
        block = points[start : start + size]
        label[start : start + size] = np.argmin(squares - 2.0 * (block @ centres.T), axis=1)
    return label
