"""What is public about the data: columns, their bounds or categories, whole numbers, log scales, units.

Bounds and categories come from knowledge about the world ("an age lies between 0 and 120"), never from the rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from dpmondrian.common.checks import is_number
from dpmondrian.exceptions import BoundsError, WayOut
from dpmondrian.schema.notations import Notation, notation_of
from dpmondrian.schema.texts import canonical_text

Pair: TypeAlias = "Sequence[Any] | Mapping[str, Any] | Column | Category"
Bounds: TypeAlias = "Pair | Sequence[Pair] | Mapping[str, Pair] | Schema | None"
"""One pair for all columns, a list with one pair per column, a mapping by column name, or a `Schema`.

In a mapping, a sequence of texts in place of a pair lists the categories of a column, and a mapping holds the keys of a section of a
schema file."""

OTHER = "other"  # the category of every value that was not declared

MOST_CATEGORIES = 1000
_WEIGHT_UNCUT, _LEAST_WEIGHT = 0.1, 0.01

LARGEST_BOUND, SMALLEST_RANGE = 1e100, 1e-100
"""Bounds beyond these would overflow when distances are squared, or ranges divided."""


@dataclass(frozen=True)
class Column:
    """A numeric column: its name, bounds, type and scale.

    Parameters
    ----------
    name : str
    lower, upper : float
        Public bounds, ``lower < upper``. Values outside them are clipped.
    whole : bool, default=False
        Whether the column contains only integers. Cuts are then placed between values.
    log : bool, default=False
        Whether equal ratios count as equal distances: windows, distances and means use the logarithm.
        The bounds must be positive.
    unit : str, default=""
        Unit of the values, such as "years". Shown in reports only.
    notation : Notation, optional
        How the values are written: marks of missing values, decimal commas, bands, dates, yes and no. Bounds of dates may be dates;
        those of bands, and of yes and no, follow from the notation.

    Examples
    --------
    >>> from dpmondrian import DPM, Column, Schema
    >>> Column("age", notation={"bands": ["[0-50)", "[50-100)"]})  # the keys of schema files
    Column(name='age', lower=0.0, upper=1.0, whole=True, log=False, unit='', notation=Bands(missing=(), bands=('[0-50)', '[50-100)')))
    >>> age = Column("age", 0, 120, whole=True, unit="years")
    >>> income = Column("income", 1000, 1e6, log=True, unit="EUR")
    >>> model = DPM(bounds=Schema((age, income)))
    """

    name: str
    lower: float = None  # type: ignore[assignment]  # where it follows from the notation
    upper: float = None  # type: ignore[assignment]
    whole: bool = False
    log: bool = False
    unit: str = ""
    notation: Notation | None = None

    def __post_init__(self) -> None:
        given = self.lower, self.upper
        self._take_notation()
        truths = all(isinstance(value, bool | np.bool_) for value in (self.whole, self.log))
        if not isinstance(self.name, str) or not isinstance(self.unit, str) or not truths:
            raise BoundsError(
                "A column must have a name, true or false for 'whole' and 'log', and a string for 'unit'.",
                value=(self.name, self.whole, self.log, self.unit),
            )
        if not (is_number(self.lower) and is_number(self.upper)):
            raise BoundsError(
                column=self.name,
                parameter="bounds",
                rule=f"must be {(self.notation or Notation).ends}",
                value=given,
                way_out=WayOut.GIVE_BOUNDS if self.notation is None else "",
            )
        for name, kind in (("lower", float), ("upper", float), ("whole", bool), ("log", bool)):
            object.__setattr__(self, name, kind(getattr(self, name)))
        self._check_bounds()
        if self.log:
            self._check_log_scale()

    def _take_notation(self) -> None:
        """Make a notation of its plain JSON values, and set what follows from it."""
        if isinstance(self.notation, Mapping):
            object.__setattr__(self, "notation", notation_of(self.notation))
        if self.notation is None:
            return
        if not isinstance(self.notation, Notation):
            raise BoundsError.broken("notation", "must be a Notation", self.notation)
        given, own = tuple(map(self.notation.bound, (self.lower, self.upper))), self.notation.bounds
        if own is not None and given not in ((None, None), own):
            rule = "follow from the words of the column"
            raise BoundsError(column=self.name, parameter="bounds", rule=rule, value=given, way_out="Omit them.")
        facts = {"unit": self.unit or self.notation.unit, "whole": self.whole or own is not None}
        for name, value in {**facts, **dict(zip(("lower", "upper"), own or given, strict=True))}.items():
            object.__setattr__(self, name, value)

    def _check_bounds(self) -> None:
        if max(abs(self.lower), abs(self.upper)) > LARGEST_BOUND:
            raise self._wrong(f"must be within +-{LARGEST_BOUND:g}", "Choose a larger unit.")
        if not self.lower < self.upper:
            raise self._wrong("must satisfy lower < upper", "Swap them, or remove the column if it cannot vary.")
        if self.upper < self.lower + SMALLEST_RANGE:
            raise self._wrong(f"must be at least {SMALLEST_RANGE:g} apart", "Choose a smaller unit.")

    def _check_log_scale(self) -> None:
        if self.whole:
            raise BoundsError(
                f"Column {self.name!r} must be marked 'int' or 'log', not both, because windows on a log scale do not contain whole numbers.",
                "Omit 'int': a column of whole numbers can have a log scale.",
                got="both",
            )
        if not self.lower > 0.0:
            raise self._wrong(
                "must be positive on a log scale",
                "Raise the lower bound to the smallest value that matters (values below it are clipped to it), or omit 'log'.",
            )
        if not self.range > 0.0:
            raise self._wrong(
                "must have different logarithms", "Omit 'log': this close together, both scales are the same."
            )

    def _wrong(self, rule: str, way_out: str) -> BoundsError:
        got = f"({self.lower:g}, {self.upper:g})"
        return BoundsError(column=self.name, parameter="bounds", rule=rule, got=got, way_out=way_out)

    @property
    def n_values(self) -> int:
        """Number of whole values within the bounds."""
        return math.floor(self.upper) - math.ceil(self.lower) + 1

    @property
    def range(self) -> float:
        """Width of the bounds on the column's own scale."""
        return math.log(self.upper) - math.log(self.lower) if self.log else self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain JSON values."""
        values: dict[str, Any] = {"name": self.name, "lower": self.lower, "upper": self.upper, "whole": self.whole}
        values |= ({"log": True} if self.log else {}) | ({"unit": self.unit} if self.unit else {})
        return values | ({} if self.notation is None else {"notation": self.notation.to_dict()})


@dataclass(frozen=True)
class Indicator(Column):
    """Whether a row is in one category: 0 or 1. One of the columns that a `Category` is turned into."""

    of: str = ""  # name of the column of categories
    category: str = ""
    cut: bool = False  # whether cuts may be made along it
    weight: float = 1.0  # distance of two categories, in ranges of a numeric column

    @property
    def range(self) -> float:
        """What differences are divided by, so that two rows of different categories are `weight` ranges apart.

        They differ in two indicators, by 1 each, so without a weight their distance is the square root of 2.
        """
        return math.sqrt(2.0) / self.weight


@dataclass(frozen=True)
class Category:
    """A categorical column with categories declared beforehand; all other values become "other".

    It is encoded as one indicator per category, of which exactly one is set in every row. Centres contain the share of each
    category in a cluster.

    Parameters
    ----------
    name : str
    categories : sequence of str
        Known without looking at the data. "other" is added unless it is declared. Values are compared as strings, without
        surrounding spaces; "1", 1 and 1.0 are the same, and so are true and "True".
    cut : bool, default=False
        Whether clusters may be separated by category. There is nothing between two categories, so such cuts divide the
        clusters into one group per category or combination of categories. If False, categories only describe clusters that
        other columns separate.
    weight : float, default=None
        Distance between two rows of different categories, as a fraction of the distance between the two bounds of a numeric
        column, from 0.01 to 1. If None, 1 with `cut` and 0.1 otherwise, so that categories only decide about rows that lie
        between clusters.
    missing : sequence of str
        What stands for a missing value, besides nothing at all: "?", "unknown".

    Examples
    --------
    >>> from dpmondrian import Category
    >>> Category("plan", ("basic", "premium")).levels
    ('basic', 'premium', 'other')
    """

    name: str
    categories: tuple[str, ...]
    cut: bool = False
    weight: float | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = self.categories
        if isinstance(given, Sequence) and not isinstance(given, str):
            object.__setattr__(self, "categories", tuple(given))
        texts = isinstance(self.categories, tuple) and all(isinstance(item, str) and item for item in given)
        if not isinstance(self.name, str) or not texts or not given:
            way_out = "For example ['basic', 'premium']; write numbers as strings too."
            raise self._wrong("categories", "must be strings, at least one", given, way_out)
        if len({canonical_text(item) for item in given}) != len(given) or len(given) > MOST_CATEGORIES:
            way_out = "Remove repeated or rare ones: undeclared values become 'other', and '1' and '1.0' are the same."
            raise self._wrong("categories", f"must be different, and at most {MOST_CATEGORIES}", len(given), way_out)
        if not isinstance(self.cut, bool):
            raise self._wrong("cut", "must be true or false", self.cut)
        if self.weight is None:
            object.__setattr__(self, "weight", 1.0 if self.cut else _WEIGHT_UNCUT)
        if not is_number(self.weight) or not _LEAST_WEIGHT <= self.weight <= 1.0:  # type: ignore[operator]
            rule = f"must be a number from {_LEAST_WEIGHT:g} to 1"
            raise self._wrong("weight", rule, self.weight, "Omit it to use the default.")
        object.__setattr__(self, "weight", float(self.weight))  # type: ignore[arg-type]
        object.__setattr__(self, "missing", Notation(self.missing).missing)

    def _wrong(self, parameter: str, rule: str, value: Any, way_out: str = "") -> BoundsError:
        return BoundsError(column=self.name, parameter=parameter, rule=rule, value=value, way_out=way_out)

    def numbers(self, texts: Any) -> np.ndarray:
        """Return which of the levels each text is, from an Arrow array; undeclared ones are "other", missing ones NaN."""
        import pyarrow as pa
        import pyarrow.compute as pc

        levels = pa.array([canonical_text(level) for level in self.levels], pa.large_string())
        found = pc.fill_null(pc.index_in(texts, levels), self.levels.index(OTHER))
        marks = pa.array([canonical_text(mark) for mark in self.missing], pa.large_string())
        is_missing = pc.or_(pc.is_null(texts), pc.is_in(texts, marks))
        return np.where(np.asarray(is_missing, dtype=bool), np.nan, np.asarray(found, dtype=np.float64))

    @property
    def levels(self) -> tuple[str, ...]:
        """All categories: the declared ones, and "other"."""
        return self.categories if OTHER in self.categories else (*self.categories, OTHER)

    @property
    def indicators(self) -> tuple[Indicator, ...]:
        """One 0/1 column per category."""
        assert self.weight is not None
        about = {"whole": True, "of": self.name, "cut": self.cut, "weight": float(self.weight)}
        return tuple(
            Indicator(f"{self.name}={level}", 0.0, 1.0, category=level, **about)  # type: ignore[arg-type]
            for level in self.levels
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain JSON values."""
        values = {"name": self.name, "categories": list(self.categories), "weight": self.weight}
        values |= {"cut": True} if self.cut else {}
        return values | ({"missing": list(self.missing)} if self.missing else {})


@dataclass(frozen=True)
class Estimate:
    """How bounds were estimated from the rows themselves, with differential privacy (`suggest_bounds`).

    Attributes
    ----------
    epsilon : float
        Epsilon spent on the estimate.
    rows_per_person, person_id : int, str or None
        Whose privacy was protected.
    releasable : bool
        False for an estimate with a seed.
    entry : str or None
        Id of its charge in a budget file.
    """

    epsilon: float
    rows_per_person: int = 1
    person_id: str | None = None
    releasable: bool = True
    entry: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.epsilon) or self.epsilon < 0:
            raise BoundsError.broken(
                "bounds_epsilon", "(what was spent on the bounds) must be a number >= 0", self.epsilon
            )
        object.__setattr__(self, "epsilon", float(self.epsilon))
        rows, texts = self.rows_per_person, (self.person_id, self.entry)
        if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1 or not isinstance(self.releasable, bool):
            raise BoundsError(
                "A bounds estimate must have 'rows_per_person' >= 1, and true or false for 'releasable'.",
                value=self,
            )
        if not all(text is None or isinstance(text, str) for text in texts):
            raise BoundsError("The 'person_id' and 'entry' of a bounds estimate must be strings or None.", value=self)

    def cost(self, rows_per_person: int, person_id: str | None) -> float:
        """Return the epsilon of the estimate for another unit of privacy; raise `BoundsError` if it has none.

        A person with M rows is, for an estimate that protects any m rows, at most M / m steps away, rounded up.
        """
        if person_id != self.person_id:
            raise BoundsError(
                f"The bounds were estimated {_of_people(self.person_id)}, and this run is {_of_people(person_id)}: the two protect different units.",
                "Use the same column in both, estimate the bounds again, or pass public bounds.",
            )
        return self.epsilon if person_id is not None else self.epsilon * -(-rows_per_person // self.rows_per_person)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order: everything DPM needs to know about the data beforehand.

    Parameters
    ----------
    columns : sequence of Column and Category
    estimate : Estimate, optional
        If bounds were estimated from the same rows (`suggest_bounds`), the cost of that. It is part of the privacy statement.

    Examples
    --------
    >>> from dpmondrian import Category, Column, Schema
    >>> schema = Schema((Column("age", 0, 120), Category("plan", ("basic", "premium"))))
    >>> schema.centre_names
    ('age', 'plan=basic', 'plan=premium', 'plan=other')
    """

    columns: tuple[Column | Category, ...]
    estimate: Estimate | None = None

    def __post_init__(self) -> None:
        given = self.columns if isinstance(self.columns, Sequence) else ()
        if not all(isinstance(column, Column | Category) for column in given) or isinstance(given, str):
            raise BoundsError("A schema must contain columns of type Column or Category.", value=self.columns)
        object.__setattr__(self, "columns", tuple(given))
        if not self.columns:
            raise BoundsError("A schema must have at least one column.", got="none")
        for names in (self.names, self.centre_names):
            repeated = sorted(name for name, times in Counter(names).items() if times > 1)
            if repeated:
                raise BoundsError("Column names must be unique.", "Rename them.", got=f"{repeated} more than once")

    def bounds_epsilon(self, rows_per_person: int = 1, person_id: str | None = None) -> float:
        """Return what was spent on bounds that were estimated from the same rows, for a unit of privacy."""
        return 0.0 if self.estimate is None else self.estimate.cost(rows_per_person, person_id)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def centre_columns(self) -> tuple[Column, ...]:
        """The columns of centres: the numeric ones, and in place of each column of categories its indicators."""
        return tuple(
            part
            for column in self.columns
            for part in (column.indicators if isinstance(column, Category) else (column,))
        )

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each column of the table is among the columns of centres, by name: several, if it holds categories."""
        widths = [len(column.levels) if isinstance(column, Category) else 1 for column in self.columns]
        ends = accumulate(widths)
        return {name: slice(end - width, end) for name, width, end in zip(self.names, widths, ends, strict=True)}

    @property
    def centre_names(self) -> tuple[str, ...]:
        """Names of the columns of centres, such as "age" and "plan=basic"."""
        return tuple(column.name for column in self.centre_columns)

    @property
    def categories(self) -> dict[str, Category]:
        """The columns of categories, by name."""
        return {column.name: column for column in self.columns if isinstance(column, Category)}

    @property
    def written(self) -> dict[str, Category | Notation]:
        """The columns whose values are not simply numbers, by name: categories, and numbers in a notation."""
        read = {column.name: column.notation if isinstance(column, Column) else column for column in self.columns}
        return {name: how for name, how in read.items() if how is not None}

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the columns of centres, float64."""
        return np.array([column.lower for column in self.centre_columns])

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the columns of centres, float64."""
        return np.array([column.upper for column in self.centre_columns])

    @property
    def ranges(self) -> tuple[float, ...]:
        """Width of the bounds of the columns of centres, each on its own scale."""
        return tuple(column.range for column in self.centre_columns)

    @property
    def weights(self) -> np.ndarray:
        """Factor per column of centres that brings differences to a common scale.

        A difference is divided by its column's range and multiplied by the mean range, so that a column
        in grams counts the same as one in kilograms. With one pair of bounds for all columns, every factor is 1
        and distances are plain Euclidean distances. On a log scale, difference and range use logarithms.
        """
        ranges = np.array(self.ranges)
        return np.ones(len(ranges)) if np.all(ranges == ranges[0]) else ranges.mean() / ranges

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the columns as plain JSON values."""
        return [column.to_dict() for column in self.columns]

    @classmethod
    def from_dict(cls, columns: Sequence[Mapping[str, Any]], estimate: Estimate | None = None) -> Schema:
        """Return the schema of what `to_dict` wrote; raise TypeError or BoundsError if it is none."""
        kinds = [Category if "categories" in column else Column for column in columns]
        return cls(tuple(kind(**column) for kind, column in zip(kinds, columns, strict=True)), estimate)

    @classmethod
    def from_bounds(cls, bounds: Bounds, names: Sequence[str], whole: Sequence[bool]) -> Schema:
        """Return the schema of a table with these columns; `whole` says whether the *type* of each is an integer type."""
        from dpmondrian.schema.bounds import GivenBounds

        return GivenBounds(bounds).schema(names, whole)


def _of_people(person_id: str | None) -> str:
    return "without a column of people" if person_id is None else f"for people in column {person_id!r}"
