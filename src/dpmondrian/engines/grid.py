"""From a value to an integer and back: the only place that turns an index into a position.

Two integer views of a clipped value, both public functions of that value alone:

- its *place*, a fixed-point coordinate of about 16 bits (`PLACES` over the column's range), in which
  sums and distances are taken;
- its *code*, ``place // places_per_code``: the half-interval it lies in. A cut separates the codes
  below it from the rest, so the side of a row follows from its code alone.

What a code leaves of a place is its *rest*, in steps of `Grid.rest_step`:
``place == code * places_per_code + rest * rest_step``. Rows are kept as codes and rests, two small numbers per value.

Whole-number columns get places on their values, and codes that hold the same number of values each. The indicators of a
column of categories get 0 and one more place, so far apart as their weight says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Column, Indicator, Schema

PLACES = 2**16
_MOST_WHOLE_VALUES = (
    2**10
)  # columns with more whole numbers are gridded like continuous ones: a whole number of places for each would make them shorter
_INDICATOR_CODES = 5  # so many that a window of two codes fits between the values 0 and 1, where a cut sees no rows


@dataclass(frozen=True)
class Grid:
    """Fixed-point coordinates and codes of every column. All arrays have shape (n_columns,).

    Place p stands for the value ``origin + step * p`` where `on_value` (whole numbers), else for the interval
    ``(origin + step * p, origin + step * (p + 1)]``. Cut c separates the codes below c from the rest; the first cut is 1, and the next
    lies `stride` codes further: 1 if intervals overlap by half, 2 if they are disjoint.
    """

    schema: Schema
    origin: NDArray[np.float64]
    step: NDArray[np.float64]
    on_value: NDArray[np.bool_]
    n_codes: NDArray[np.int64]
    places_per_code: NDArray[np.int64]
    last_place: NDArray[np.int64]
    stride: int

    @classmethod
    def with_windows(cls, schema: Schema, windows: int) -> Grid:
        """Return the default grid: `windows` intervals per column, overlapping by half, public."""
        return cls._of(schema, [_layout(column, windows) for column in schema.centre_columns], stride=1)

    @classmethod
    def with_intervals(cls, schema: Schema, n_intervals: int) -> Grid:
        """Return the paper's grid: disjoint intervals, a cut in the middle of each."""
        return cls._of(schema, [_continuous(column, 2 * n_intervals) for column in schema.centre_columns], stride=2)

    @classmethod
    def _of(cls, schema: Schema, layouts: list[_Layout], stride: int) -> Grid:
        return cls(
            schema=schema,
            origin=np.array([layout.origin for layout in layouts]),
            step=np.array([layout.step for layout in layouts]),
            on_value=np.array([layout.on_value for layout in layouts]),
            n_codes=np.array([layout.n_codes for layout in layouts], dtype=np.int64),
            places_per_code=np.array([layout.places_per_code for layout in layouts], dtype=np.int64),
            last_place=np.array([layout.last_place for layout in layouts], dtype=np.int64),
            stride=stride,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.origin)

    @cached_property
    def one_hot(self) -> NDArray[np.bool_]:
        """Whether each column is an indicator: of those of one column of categories, every row has exactly one."""
        return np.array([isinstance(column, Indicator) for column in self.schema.columns])

    @cached_property
    def block_begins(self) -> NDArray[np.int64]:
        """First column of every block: the indicators of one column of categories, or a single other column."""
        owner = [column.of if isinstance(column, Indicator) else None for column in self.schema.columns]
        new = [of is None or j == 0 or of != owner[j - 1] for j, of in enumerate(owner)]
        return np.flatnonzero(new)

    @property
    def block_sizes(self) -> NDArray[np.int64]:
        """Number of columns of every block."""
        return np.diff(self.block_begins, append=self.n_columns)

    def possible(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return boxes in places, both (n_boxes, n_columns), without the places of indicators that no row of a box can have.

        An indicator is 0 or 1; if one of a block is 1 the others are 0, and if all others are 0 it is 1.
        """
        if not self.one_hot.any():
            return low, high
        low = np.where(self.one_hot & (low > 0), self.last_place, low)
        high = np.where(self.one_hot & (high < self.last_place), 0, high)
        begins, sizes = self.block_begins, self.block_sizes
        decided = np.repeat(np.maximum.reduceat(low, begins, axis=1) > 0, sizes, axis=1)
        high = np.where(self.one_hot & decided & (low == 0), 0, high)
        n_open = np.add.reduceat((high > 0).astype(np.int64), begins, axis=1)
        only = self.one_hot & (high > 0) & np.repeat(n_open == 1, sizes, axis=1)
        return np.where(only, self.last_place, low), high

    @property
    def most_codes(self) -> int:
        """Largest number of codes of any column."""
        return int(self.n_codes.max())

    def values(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that (real-valued) places stand for; the last axis runs over columns."""
        return self.origin + self.step * (places + np.where(self.on_value, 0.0, 0.5))

    def places_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (real-valued) places of released values: the way back from `values`, within the grid."""
        places = (values - self.origin) / self.step - np.where(self.on_value, 0.0, 0.5)
        return np.clip(places, 0.0, self.last_place)

    def sides(self, column: int, cut: int) -> tuple[int, int]:
        """Return where the codes below a cut end and those above it begin.

        Where each whole number has two codes, values lie in the even ones: the odd code between belongs to no side.
        """
        if self.on_value[column] and self.inverse_step[column] == 2 * self.places_per_code[column]:
            return 2 * ((cut - 1) // 2) + 1, 2 * ((cut + 1) // 2)
        return cut, cut

    @cached_property
    def inverse_step(self) -> NDArray[np.float64]:
        """Places per unit of each column; a whole number where places stand for values."""
        inverse: NDArray[np.float64] = 1.0 / self.step
        return np.where(self.on_value, np.rint(inverse), inverse)

    @cached_property
    def rest_step(self) -> NDArray[np.float64]:
        """Places between neighbouring rests of each column: those between neighbouring values, or one."""
        return np.where(self.on_value, self.inverse_step, 1.0)

    @property
    def code_type(self) -> np.dtype[Any]:
        """The smallest type that holds every code."""
        return np.min_scalar_type(self.most_codes - 1)

    @property
    def rest_type(self) -> np.dtype[Any]:
        """The smallest type that holds every rest."""
        largest = np.minimum(self.places_per_code - 1, self.last_place) // self.rest_step
        return np.min_scalar_type(int(largest.max(initial=0)))

    def cut_value(self, column: int, cut: int) -> float:
        """Return v such that the rows below the cut are those with value <= v."""
        place = cut * int(self.places_per_code[column])
        if self.on_value[column]:  # the last whole value below the cut
            return float(self.origin[column] + np.floor((place - 1) * self.step[column] + 1e-9))
        origin, inverse = float(self.origin[column]), float(self.inverse_step[column])
        value = origin + float(self.step[column]) * place
        # Rounding may put the value itself on the other side: move it down by the smallest step that counts.
        ulp = math.ulp(max(abs(value), abs(origin)))
        while math.ceil((value - origin) * inverse) > place:
            value -= ulp
        return value


@dataclass(frozen=True)
class _Layout:
    origin: float
    step: float
    on_value: bool
    n_codes: int
    places_per_code: int
    last_place: int


def _continuous(column: Column, n_codes: int) -> _Layout:
    places_per_code = PLACES // n_codes
    places = places_per_code * n_codes
    return _Layout(column.lower, (column.upper - column.lower) / places, False, n_codes, places_per_code, places - 1)


def _layout(column: Column, windows: int) -> _Layout:
    """Return the layout of one column.

    Whole numbers: up to `windows` values, each value is an interval of its own (two codes, the value in
    the lower one, so there are cuts on both sides of it); beyond that a code holds several values.
    """
    if isinstance(column, Indicator):
        return _indicator(column)
    n_values = column.n_values
    if not column.whole or not 2 <= n_values <= _MOST_WHOLE_VALUES:
        return _continuous(column, 2 * windows)
    origin = float(np.ceil(column.lower))
    if n_values <= windows:
        places_per_code = (PLACES - 1) // (2 * (n_values - 1))  # from bound to bound as far as in any other column
        places_per_value = 2 * places_per_code
        n_codes = 2 * n_values - 1
    else:
        values_per_code = -(-n_values // (2 * windows))
        n_codes = -(-n_values // values_per_code)
        places_per_value = PLACES // (n_codes * values_per_code)
        places_per_code = values_per_code * places_per_value
    last_place = (n_values - 1) * places_per_value
    return _Layout(origin, 1.0 / places_per_value, True, n_codes, places_per_code, last_place)


def _indicator(column: Indicator) -> _Layout:
    """Return the layout of an indicator: 0 at place 0, and 1 where two rows of different categories are `weight` ranges apart.

    They differ by that place in two columns. Without cuts all places have one code.
    """
    places_per_code = int(PLACES / column.range) // (_INDICATOR_CODES - 1)
    last_place = places_per_code * (_INDICATOR_CODES - 1)
    n_codes, places_per_code = (_INDICATOR_CODES, places_per_code) if column.cut else (1, PLACES)
    return _Layout(0.0, 1.0 / last_place, True, n_codes, places_per_code, last_place)
