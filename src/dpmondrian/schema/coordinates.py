"""Public views of the columns: log scales, and indicators of categories.

The algorithm sees *coordinates* in place of values. They follow from the schema, row by row, so they cost nothing of
the budget, and whatever holds for one row's values holds for its coordinates
(``docs/privacy/representation.md``). What is released is turned back into the columns' own units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema.columns import OTHER, Category, Column, Indicator, Schema
from dpmondrian.schema.notations import Notation

_LOG_TERMS = 12  # terms of the series of the logarithm; the next one is below the last bit


@dataclass(frozen=True)
class Coordinates:
    """What the algorithm sees in place of the values of a row. Of numeric columns without log scales: the values."""

    given: Schema  # the columns as the caller gave them

    @property
    def plain(self) -> bool:
        """Whether coordinates are the values themselves."""
        return not (self.log_columns or self.given.categories)

    @cached_property
    def log_columns(self) -> tuple[int, ...]:
        """Indices of the columns of centres that are on a log scale."""
        return tuple(j for j, column in enumerate(self.given.centre_columns) if column.log)

    @property
    def rule_ranges(self) -> tuple[float | None, ...]:
        """Range per column of the tree, from which digits in rules follow; None on a log scale, where they vary."""
        return tuple(None if column.log else column.range for column in self.given.centre_columns)

    @property
    def notations(self) -> dict[int, Notation]:
        """How the numbers of columns of centres are written, where they stand for something else, such as dates."""
        columns = enumerate(self.given.centre_columns)
        return {j: column.notation for j, column in columns if column.notation is not None}

    @property
    def categories(self) -> dict[int, tuple[str, str]]:
        """Column and category of every indicator, by its number among the columns of the tree."""
        return {
            j: (column.of, column.category)
            for j, column in enumerate(self.given.centre_columns)
            if isinstance(column, Indicator)
        }

    def of_rows(self, block: NDArray[np.float64], fill_missing: bool = False) -> NDArray[np.float64]:
        """Return the coordinates of a block of rows.

        A missing or infinite value remains missing; `fill_missing` puts "other" in the place of a missing category.

        Privacy
        -------
        The coordinates of a row depend on that row alone, to the last bit. So there is no matrix product, whose sums a
        library orders by the shape of the block, and no ``np.log``, whose last bit may depend on where in the block a
        value lies: only operations that are rounded in one way, value by value, in a fixed order. Argument:
        ``docs/privacy/representation.md``; tests that try to break it: ``tests/schema/test_coordinates.py``.
        """
        if self.plain:
            return block
        columns = [
            part
            for values, column in zip(block.T, self.given.columns, strict=True)
            for part in _coordinates_of(values, column, fill_missing)
        ]
        return np.column_stack(columns)

    def of_centres(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates of released centres: the way back from `values`."""
        centres = centres.copy()
        for j in self.log_columns:
            centres[:, j] = _log(_clipped(centres[:, j], self.given.centre_columns[j]))
        return centres

    def values(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return released centres in the columns' own units, within the bounds.

        Geometric means on a log scale; shares of categories, which add up to one.
        """
        if self.plain:
            return centres
        centres, log = np.clip(centres, self.schema.lower, self.schema.upper), list(self.log_columns)
        centres[:, log] = np.exp(centres[:, log])
        for own in (self.given.places[name] for name in self.given.categories):
            centres[:, own] = nearest_shares(centres[:, own])
        return np.clip(centres, self.given.lower, self.given.upper)

    def errors(self, errors: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard errors of released centres in the columns' own units, in which the centres are `values`.

        The error of a logarithm is turned back by the delta method: times the centre.
        """
        if not self.log_columns:
            return errors
        return errors * np.where([column.log for column in self.given.centre_columns], values, 1.0)

    def of_errors(self, errors: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the errors of the coordinates of released centres, which are clipped: the way back from `errors`."""
        return errors / self.errors(np.ones_like(errors), np.clip(centres, self.given.lower, self.given.upper))

    def thresholds(self, column: NDArray[np.int64], threshold: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return released thresholds of cuts in the columns' own units."""
        threshold = threshold.copy()
        log = np.isin(column, self.log_columns)
        threshold[log] = _largest_with_log(threshold[log])
        return threshold

    @cached_property
    def schema(self) -> Schema:
        """The columns of the coordinates: those of centres, with logarithms of bounds on a log scale."""
        if self.plain:
            return self.given
        return Schema(
            tuple(
                Column(column.name, math.log(column.lower), math.log(column.upper)) if column.log else column
                for column in self.given.centre_columns
            )
        )


def _coordinates_of(
    values: NDArray[np.float64], column: Column | Category, fill_missing: bool
) -> list[NDArray[np.float64]]:
    """Return the coordinates that stand for one column: its values, their logarithms, or the indicators of its categories.

    The middle of categories, which stands for missing ones, is "other".
    """
    if isinstance(column, Category):
        if fill_missing:
            values = np.where(np.isnan(values), column.levels.index(OTHER), values)
        lost = np.isnan(values)
        return [np.where(lost, np.nan, values == number) for number in range(len(column.levels))]
    return [_log(_clipped(values, column)) if column.log else values]


def nearest_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest shares that are not negative and add up to one (projection on the simplex), row by row."""
    falling = -np.sort(-shares, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, shares.shape[1] + 1)
    n_positive = (falling > excess).sum(axis=1)
    nearest: NDArray[np.float64] = np.maximum(shares - excess[np.arange(len(shares)), n_positive - 1][:, None], 0.0)
    return nearest


def _clipped(values: NDArray[np.float64], column: Column) -> NDArray[np.float64]:
    """Return values within the bounds; missing and infinite ones become NaN."""
    clipped: NDArray[np.float64] = np.clip(np.where(np.isfinite(values), values, np.nan), column.lower, column.upper)
    return clipped


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of positive values: ``log(m * 2**e) = e * log(2) + 2 * artanh((m - 1) / (m + 1))``.

    With m in [0.7, 1.4] the argument of artanh is at most 0.18, and its power series is short. All operations are
    rounded in one way by IEEE 754, so the result is one function of the value on every machine.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < 0.7
    mantissa, exponent = np.where(small, 2.0 * mantissa, mantissa), exponent - small
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(values, 1.0 / (2 * _LOG_TERMS - 1))
    for term in range(_LOG_TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    logarithm: NDArray[np.float64] = exponent * math.log(2.0) + 2.0 * (ratio * series)
    return logarithm


def _largest_with_log(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest values whose logarithms are within the limits.

    The exponential alone may lie on the other side of a cut by rounding, and then a rule would be wrong about rows with
    just that value: 1,000 is the middle of (1, 1e6), so this does happen.
    """
    values = np.exp(limits)
    while np.any(beyond := _log(values) > limits):
        values = np.where(beyond, np.nextafter(values, 0.0), values)
    while np.any(within := _log(np.nextafter(values, np.inf)) <= limits):
        values = np.where(within, np.nextafter(values, np.inf), values)
    return values
