"""Public views of the columns: log scales, indicators of categories, and directions along which cuts may be made.

The algorithm sees *coordinates* in place of values. They follow from the schema and the number of directions, row by row,
so they cost nothing of the budget, and whatever holds for one row's values holds for its coordinates
(``docs/privacy/representation.md``). What is released is turned back into the columns' own units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_integer
from dpmondrian.exceptions import ParameterError
from dpmondrian.schema.columns import OTHER, Category, Column, Indicator, Schema

__all__ = ["LEAST_VALUES", "MOST_DIRECTIONS", "Coordinates"]

LEAST_VALUES = 128
"""Whole-number columns with fewer values play no part in directions: their sums would leave gaps that look like valleys."""

MOST_DIRECTIONS = 64
"""Every direction costs time and memory like a column, and one more place where noise may find a cut."""

_SEED = 20_240_229
"""Of the random directions: any fixed number will do, it was chosen without any data."""

_LOG_TERMS = 12
"""Terms of the series of the logarithm; the next one is below the last bit."""


@dataclass(frozen=True)
class Coordinates:
    """What the algorithm sees in place of the values of a row. Of numeric columns without log scales and directions: the values.

    Attributes
    ----------
    given : Schema
        The columns as the caller gave them.
    directions : int
        Number of directions that are added as columns after those of centres (`Schema.centre_columns`).
    """

    given: Schema
    directions: int = 0

    def __post_init__(self) -> None:
        number = check_integer("directions", self.directions, 0, MOST_DIRECTIONS, "Use 0 to cut along columns only.")
        object.__setattr__(self, "directions", number)
        if self.directions and len(self.mixed) < 2:
            raise ParameterError(
                parameter="directions",
                rule="must be 0 unless there are at least two columns, not counting categories and whole numbers with fewer "
                f"than {LEAST_VALUES} values",
                value=self.directions,
                way_out="Use 0 to cut along columns only.",
            )
        taken = sorted({f"direction {j + 1}" for j in range(self.directions)} & set(self.given.centre_names))
        if taken:
            raise ParameterError(
                parameter="directions",
                rule=f"adds columns whose names already exist in the table: {taken!r}",
                way_out="Rename them, or use 0 to cut along columns only.",
            )

    @property
    def plain(self) -> bool:
        """Whether coordinates are the values themselves."""
        return not (self.directions or self.log_columns or self.given.categories)

    @cached_property
    def log_columns(self) -> tuple[int, ...]:
        """Indices of the columns of centres that are on a log scale."""
        return tuple(j for j, column in enumerate(self.given.centre_columns) if column.log)

    @cached_property
    def mixed(self) -> tuple[int, ...]:
        """Indices of the columns of centres that directions are made of."""
        few = [column.whole and column.n_values < LEAST_VALUES for column in self.given.centre_columns]
        return tuple(j for j, is_few in enumerate(few) if not is_few)

    @cached_property
    def schema(self) -> Schema:
        """The columns of the coordinates: those of centres, with logarithms of bounds on a log scale, then the directions."""
        if not self.directions:
            return self._scaled
        # |x_i| <= 1/2 in the cube, so no row reaches beyond this; it holds for every row, so it is public.
        reach = (0.5 * np.abs(self.matrix).sum(axis=1)).tolist()
        added = tuple(Column(f"direction {j}", -bound, bound) for j, bound in enumerate(reach, start=1))
        return Schema(self._scaled.columns + added)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """Unit vectors, one row per direction: direction j of a row x in the cube is (R x)_j.

        The columns of the cube are those of centres on their scales, brought to [-1/2, 1/2] by their bounds.
        """
        matrix, mixed = np.zeros((self.directions, len(self.given.centre_columns))), self.mixed
        if self.directions:
            in_plane = len(mixed) == 2
            matrix[:, mixed] = _in_plane(self.directions) if in_plane else _random(self.directions, len(mixed))
        return matrix

    @property
    def rule_ranges(self) -> tuple[float | None, ...]:
        """Range per column of the tree, from which digits in rules follow; None on a log scale, where they vary."""
        own = tuple(None if column.log else column.range for column in self.given.centre_columns)
        return own + self.schema.ranges[len(own) :]

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

        A missing or infinite value remains missing. It makes the directions that it plays a part in missing too, unless
        `fill_missing` puts the middle of its column in its place there.

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
        if self.directions:
            cube = [_in_cube(columns[j], self._scaled.centre_columns[j], fill_missing) for j in self.mixed]
            columns += [_weighted_sum(weights, cube) for weights in self.matrix[:, self.mixed].tolist()]
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
        if not self.log_columns and not self.given.categories:
            return centres
        centres, log = np.clip(centres, self._scaled.lower, self._scaled.upper), list(self.log_columns)
        centres[:, log] = np.exp(centres[:, log])
        for own in self._indicators:
            centres[:, own] = _shares(centres[:, own])
        return np.clip(centres, self.given.lower, self.given.upper)

    @cached_property
    def _indicators(self) -> list[slice]:
        """Where the indicators of each column of categories are among the columns of centres."""
        widths = [len(column.levels) if isinstance(column, Category) else 1 for column in self.given.columns]
        ends = np.cumsum(widths).tolist()
        return [
            slice(end - width, end)
            for column, width, end in zip(self.given.columns, widths, ends, strict=True)
            if isinstance(column, Category)
        ]

    def errors(self, errors: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard errors of released centres in the columns' own units, in which the centres are `values`.

        The error of a logarithm is turned back by the delta method: times the centre.
        """
        if not self.log_columns:
            return errors
        return errors * np.where([column.log for column in self.given.centre_columns], values, 1.0)

    def thresholds(self, column: NDArray[np.int64], threshold: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return released thresholds of cuts in the columns' own units; those of directions stay as they are."""
        threshold = threshold.copy()
        log = np.isin(column, self.log_columns)
        threshold[log] = _largest_with_log(threshold[log])
        return threshold

    @cached_property
    def _scaled(self) -> Schema:
        """The columns of centres on their scales, without directions."""
        if not self.log_columns and not self.given.categories:
            return self.given
        return Schema(
            tuple(
                Column(column.name, math.log(column.lower), math.log(column.upper)) if column.log else column
                for column in self.given.centre_columns
            )
        )


def _in_plane(n_directions: int) -> NDArray[np.float64]:
    """Return directions that divide each of the two right angles between two columns evenly.

    Evenly is better than at random, which leaves large angles out. With an even number r no line of the plane is farther
    than 90 / (r + 2) degrees from a direction or a column.
    """
    first, second = (n_directions + 1) // 2, n_directions // 2
    angles = [math.pi / 2 * j / (first + 1) for j in range(1, first + 1)]
    angles += [math.pi / 2 * (1 + j / (second + 1)) for j in range(1, second + 1)]
    return np.array([[math.cos(angle), math.sin(angle)] for angle in angles]).reshape(-1, 2)


def _random(n_directions: int, n_columns: int) -> NDArray[np.float64]:
    """Return rows of successive random orthogonal matrices: n_columns at a time are at right angles to each other.

    The first ones are the same whatever their number.
    """
    # A RandomState, because its stream is the same in every version of NumPy.
    normal = np.random.RandomState(_SEED).standard_normal((n_directions, n_columns))
    matrices = [np.empty((0, n_columns))]
    for start in range(0, n_directions, n_columns):
        orthogonal, triangle = np.linalg.qr(normal[start : start + n_columns].T)
        matrices.append((orthogonal * np.sign(np.diag(triangle))).T)  # the signs make all directions equally likely
    return np.concatenate(matrices)


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


def _shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _in_cube(values: NDArray[np.float64], column: Column, fill_missing: bool) -> NDArray[np.float64]:
    """Return clipped values brought to [-1/2, 1/2] by the bounds; the middle, 0, may stand for missing ones."""
    cube = np.clip((_clipped(values, column) - (column.lower + column.upper) / 2) / column.range, -0.5, 0.5)
    return np.where(np.isnan(cube), 0.0, cube) if fill_missing else cube


def _weighted_sum(weights: list[float], columns: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of weighted columns, added one after the other."""
    total = weights[0] * columns[0]
    for weight, values in zip(weights[1:], columns[1:], strict=True):
        total += weight * values
    return total


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
