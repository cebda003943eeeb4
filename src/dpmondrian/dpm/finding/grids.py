"""Noisy counts of rows in nested grids, for few columns: a wide bin has one number's noise, not that of all bins in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import GRID
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = ["Level", "Nested", "counted", "in_blocks", "repeated", "sums_of_blocks"]

_ROWS_PER_BIN = 0.6
"""Bins of the middle grid hold this many deviations (of noise, and a little of sampling) of rows, were rows spread evenly."""
_MOST_BINS = {1: 128, 2: 128, 3: 40}
"""Bins a side of the middle grid, by the number of columns."""
_LEAST_BINS = 6
_FINER = {1: 4, 2: 4, 3: 2}
"""Into so many bins a side dense bins of the middle grid are divided."""
_COARSER, _COARSE_FROM = 4, 48
"""So many bins a side make one of the coarse grid, where the middle grid has enough of them."""
GRID_SHARES = (0.3, 0.5, 0.2)
"""Shares of coarse, middle and fine grid: the middle one decides about most hills, the coarse one about small clusters in wide gaps."""
_DENSE, _BESIDE = 2.0, 0.25
"""A bin is divided if each of its parts would hold this many deviations of rows, were they spread evenly; beside such a bin a quarter is
enough. Else a curve would look denser where its bins happen to be divided."""


@dataclass(frozen=True)
class Nested:
    """Grids from coarse to fine, the same places at every level.

    Attributes
    ----------
    shapes : list of tuples
        Bins along each column, of every grid.
    widths : int64 array of shape (n_columns,)
        Places of a bin of the finest grid.
    """

    shapes: list[tuple[int, ...]]
    widths: NDArray[np.int64]

    @property
    def factors(self) -> list[tuple[int, ...]]:
        """How many bins of each grid make one of the grid before, along each column."""
        pairs = zip(self.shapes, self.shapes[1:], strict=False)
        return [tuple(fine // coarse for coarse, fine in zip(a, b, strict=True)) for a, b in pairs]

    def costs(self, cost: float) -> list[float]:
        """Return what is spent on each of the grids, of a cost in all."""
        shares = GRID_SHARES[-len(self.shapes) :]
        return [cost * share / math.fsum(shares) for share in shares]

    @classmethod
    def of(cls, grid: Grid, noisy_total: float, deviation: float) -> Nested:
        """Return grids as fine as rows and noise allow; whole numbers get a whole number of values in every bin.

        `deviation` is that of the noise of the middle grid.
        """
        n_columns = grid.n_columns
        sides = (max(noisy_total, 1.0) / (_ROWS_PER_BIN * math.sqrt(deviation**2 + 4.0))) ** (1.0 / n_columns)
        middle = int(np.clip(round(sides), _LEAST_BINS, _MOST_BINS[n_columns]))
        coarser, finer = _COARSER if middle >= _COARSE_FROM else 1, _FINER[n_columns]
        coarse = round(middle / coarser)
        columns = [_column(grid, j, coarse, coarser, finer) for j in range(n_columns)]
        shapes = [tuple(column[level] for column in columns) for level in range(3)]
        return cls(shapes if coarser > 1 else shapes[1:], np.array([column[3] for column in columns], dtype=np.int64))


def _column(grid: Grid, j: int, coarse: int, coarser: int, finer: int) -> tuple[int, int, int, int]:
    """Return the bins of one column in the coarse, middle and fine grid, and the places of a fine bin."""
    most, n_places = coarse * coarser * finer, int(grid.last_place[j]) + 1
    if not grid.on_value[j]:
        return coarse, coarse * coarser, most, -(-n_places // most)
    unit = int(grid.rest_step[j])
    n_values = (n_places - 1) // unit + 1
    values = max(1, -(-n_values // most))
    finer = min(finer, max(1, round(n_values / (values * coarse * coarser))))
    coarser = min(coarser, max(1, round(n_values / (values * finer * coarse))))
    coarse = -(-n_values // (values * finer * coarser))
    return coarse, coarse * coarser, coarse * coarser * finer, values * unit


@dataclass(frozen=True)
class Level:
    """Rows in every bin of a grid, with noise, and the variance of that noise."""

    rows: NDArray[np.float64]
    variances: NDArray[np.float64]


def counted(engine: Engine, door: Door, nested: Nested, cost: float) -> list[Level]:
    """Return noisy rows in the bins of all grids, which agree with each other.

    Of the finest grid only bins are counted that lie in dense ones, or in some beside them; the others are counted again as they are.

    Privacy
    -------
    Released: numbers of rows in bins, once for every grid. A row lies in one bin of each. Argument: ``docs/privacy/finding.md``; tests
    that try to break it: ``tests/privacy/test_neighbours.py``.
    """
    n_levels, factors = len(nested.shapes), nested.factors
    door.extend([door.plan_draw(GRID, level, part) for level, part in enumerate(nested.costs(cost))])
    exact = [engine.grid_counts(nested.widths, nested.shapes[-1])]
    for factor in factors[::-1]:
        exact.insert(0, sums_of_blocks(exact[0], factor))
    weights = [np.zeros(shape) for shape in nested.shapes]
    totals = [np.zeros(shape) for shape in nested.shapes]
    for level in range(n_levels - 1):
        precision = 1.0 / door.deviation(GRID, level) ** 2
        totals[level] += precision * door.counts(GRID, level, exact[level].ravel()).reshape(nested.shapes[level])
        weights[level] += precision
    _count_finest(door, nested, exact, weights, totals)
    return _agreeing(weights, totals, factors)


def _count_finest(
    door: Door,
    nested: Nested,
    exact: list[NDArray[np.int64]],
    weights: list[NDArray[np.float64]],
    totals: list[NDArray[np.float64]],
) -> None:
    """Add the counts of the last draw: fine bins within those that released counts divide, and the other bins of the grid before."""
    last = len(nested.shapes) - 1
    deviation, before = door.deviation(GRID, last), door.deviation(GRID, last - 1)
    n_parts = int(np.prod(nested.factors[-1]))
    known = totals[last - 1] / weights[last - 1]
    least = _DENSE * math.sqrt(n_parts) * math.sqrt(deviation**2 + 4.0)
    may = (known > 4.0 * before) & (n_parts > 1)
    divided = may & (known > least)
    divided |= may & (known > _BESIDE * least) & _beside(divided)
    fine = repeated(divided, nested.factors[-1])
    exact_counts = np.concatenate([exact[last - 1][~divided], exact[last][fine]])
    noisy = door.counts(GRID, last, exact_counts) / deviation**2
    n_wide = int((~divided).sum())
    totals[last - 1][~divided] += noisy[:n_wide]
    weights[last - 1][~divided] += 1.0 / deviation**2
    totals[last][fine] += noisy[n_wide:]
    weights[last][fine] += 1.0 / deviation**2


def _beside(found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the bins that were found, and all that touch one."""
    from scipy.ndimage import binary_dilation

    around: NDArray[np.bool_] = binary_dilation(found, np.ones([3] * found.ndim))
    return around


def _agreeing(
    weights: list[NDArray[np.float64]], totals: list[NDArray[np.float64]], factors: list[tuple[int, ...]]
) -> list[Level]:
    """Return the least-squares fit of all counts: upwards by inverse variance, then downwards. Post-processing.

    Where a bin was not divided, its rows are spread evenly over the finer ones.
    """
    n_levels = len(weights)
    rows, variances = [np.zeros(0)] * n_levels, [np.zeros(0)] * n_levels
    rows[-1] = np.where(weights[-1] > 0, totals[-1] / np.maximum(weights[-1], 1e-300), 0.0)
    variances[-1] = np.where(weights[-1] > 0, 1.0 / np.maximum(weights[-1], 1e-300), 0.0)
    for level in range(n_levels - 2, -1, -1):
        below = sums_of_blocks(variances[level + 1], factors[level])
        precision = np.where(below > 0, 1.0 / np.maximum(below, 1e-300), 0.0)
        weight = weights[level] + precision
        total = totals[level] + precision * sums_of_blocks(rows[level + 1], factors[level])
        rows[level], variances[level] = total / weight, 1.0 / weight
    for level in range(n_levels - 1):
        factor, n_parts = factors[level], float(np.prod(factors[level]))
        below = sums_of_blocks(variances[level + 1], factor)
        lack = np.where(
            below > 0, (rows[level] - sums_of_blocks(rows[level + 1], factor)) / np.maximum(below, 1e-300), 0.0
        )
        even = repeated(below == 0, factor)
        fitted = rows[level + 1] + repeated(lack, factor) * variances[level + 1]
        rows[level + 1] = np.where(even, repeated(rows[level] / n_parts, factor), fitted)
        variances[level + 1] = np.where(even, repeated(variances[level] / n_parts, factor), variances[level + 1])
    return [Level(r, v) for r, v in zip(rows, variances, strict=True)]


def is_divided(before: Level, finest: Level) -> NDArray[np.bool_]:
    """Return which bins of the finest grid were counted; rows and variances of others are even parts of those of the grid before."""
    factor = tuple(fine // own for fine, own in zip(finest.rows.shape, before.rows.shape, strict=True))
    divided: NDArray[np.bool_] = finest.variances != repeated(before.variances / math.prod(factor), factor)
    return divided


def in_blocks(shape: tuple[int, ...], factor: tuple[int, ...]) -> list[int]:
    """Return the shape in which every second axis runs over the bins of a block."""
    return [length for n, k in zip(shape, factor, strict=True) for length in (n // k, k)]


def sums_of_blocks(values: NDArray[Any], factor: tuple[int, ...]) -> NDArray[Any]:
    """Return the sums over blocks of so many bins along each axis."""
    sums: NDArray[Any] = values.reshape(in_blocks(values.shape, factor)).sum(axis=tuple(range(1, 2 * values.ndim, 2)))
    return sums


def repeated(values: NDArray[Any], factor: tuple[int, ...]) -> NDArray[Any]:
    """Return values for each of the finer bins."""
    for axis, k in enumerate(factor):
        values = np.repeat(values, k, axis=axis) if k > 1 else values
    return values
