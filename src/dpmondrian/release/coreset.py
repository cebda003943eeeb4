"""The released coreset: cells in the units of the columns, from which clusters for every k follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import is_number

if TYPE_CHECKING:
    from dpmondrian.schema import Schema

LARGEST_ERROR = 1e120
"""Noise is up to 2**45 times, the range up to 1e3 (logarithms) times what the largest bound is, 1e100."""


@dataclass(frozen=True)
class Coreset:
    """Cells that say where rows are, as finely as rows and budget allowed. Each row counts for its nearest cell.

    Attributes
    ----------
    centres, centre_errors : float64 array of shape (n_cells, n_centre_columns)
        Centres of the cells and the standard errors of the noise in them, over `Schema.centre_columns`.
    sizes : float64 array of shape (n_cells,)
        Noisy numbers of rows, all positive. Cells that could not be told from empty ones are left out.
    size_error : float
        Standard error of the noise in every size.
    spread : float
        Root mean square distance of rows from their cell's centre in a numeric column, over all rows and columns, as a share
        of the column's range.
    """

    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_error: float
    spread: float

    def __len__(self) -> int:
        return len(self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return the cells as plain JSON values."""
        return {
            "centres": self.centres.tolist(),
            "centre_errors": self.centre_errors.tolist(),
            "sizes": self.sizes.tolist(),
            "size_error": self.size_error,
            "spread": self.spread,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], schema: Schema) -> Coreset:
        """Return the cells that `to_dict` described; raise ValueError, TypeError or KeyError if they are none."""
        n_cells, n_columns = len(values["sizes"]), len(schema.centre_columns)
        cells = cls(
            centres=numbers_of(values["centres"], (n_cells, n_columns)),
            centre_errors=numbers_of(values["centre_errors"], (n_cells, n_columns)),
            sizes=numbers_of(values["sizes"], (n_cells,)),
            size_error=float(numbers_of([values["size_error"]], (1,))[0]),
            spread=float(numbers_of([values["spread"]], (1,))[0]),
        )
        if not n_cells or cells.sizes.min() <= 0.0:
            raise ValueError("there are no cells, or one without a size")
        if not np.all((cells.centres >= schema.lower) & (cells.centres <= schema.upper)):
            raise ValueError("a cell lies beyond the bounds of its column")
        if min(cells.centre_errors.min(), cells.size_error, cells.spread) < 0.0:
            raise ValueError("an error or the spread of the cells is negative")
        return cells


def numbers_of(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return lists of numbers as an array of this shape; raise ValueError for texts, truth values and what is too large."""
    lists = [values] if len(shape) == 1 else values
    if not all(isinstance(items, list) and all(map(is_number, items)) for items in lists):
        raise ValueError("there is something else where numbers must be")
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.all(np.abs(array) <= LARGEST_ERROR):
        raise ValueError("lists of numbers differ in length, or a number is too large")
    return array
