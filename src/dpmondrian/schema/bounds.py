"""What the 'bounds' parameter says, in all its forms: the one place where it becomes a `Schema`.

Some of it is needed before the names and types of the table are known (which columns to read, which of them are categories), the
schema itself only afterwards: a column without a word about it has whole numbers if its type has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import BoundsError, ParameterError, WayOut
from dpmondrian.schema.columns import Bounds, Category, Column, Schema
from dpmondrian.schema.notations import Notation
from dpmondrian.schema.sections import column_of

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_WHOLE_WORDS = {"int": True, "whole": True, "integer": True, "float": False, "real": False}


@dataclass(frozen=True)
class GivenBounds:
    """Bounds as a user gave them: a pair, a list of pairs, a mapping or a Schema."""

    given: Bounds

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The columns that have bounds, or None if the bounds do not name any."""
        if isinstance(self.given, Schema):
            return self.given.names
        return None if self._by_name is None else tuple(self._by_name)

    @cached_property
    def categories(self) -> dict[str, Category]:
        """The columns of categories that are declared, by name."""
        if isinstance(self.given, Schema):
            return self.given.categories
        return {name: column for name, column in self._declared.items() if isinstance(column, Category)}

    @cached_property
    def written(self) -> dict[str, Category | Notation]:
        """The columns whose values are not simply numbers, by name: categories, and numbers in a notation."""
        if isinstance(self.given, Schema):
            return self.given.written
        return Schema(tuple(self._declared.values())).written if self._declared else {}

    @cached_property
    def _declared(self) -> dict[str, Column | Category]:
        """The columns that are declared in full, of which nothing depends on the types of the table."""
        columns = {name: _declared(name, pair) for name, pair in (self._by_name or {}).items()}
        return {name: column for name, column in columns.items() if column is not None}

    @property
    def category_use(self) -> str:
        """Whether "none", "some" or "all" of the columns hold categories."""
        n_categories = len(self.categories)
        return "none" if not n_categories else "all" if n_categories == len(self.names or ()) else "some"

    @property
    def kinds(self) -> dict[str, Literal["number", "text", "id"] | Notation]:
        """What each column that has bounds is read as: "number", "text", or numbers in a notation."""
        return {name: kind_to_read(self.written.get(name)) for name in self.names or ()}

    def only(self, names: Sequence[str]) -> GivenBounds:
        """Return what is said about some of the columns that have bounds."""
        if isinstance(self.given, Schema):
            columns = tuple(column for column in self.given.columns if column.name in names)
            return GivenBounds(Schema(columns, self.given.estimate))
        return GivenBounds({name: pair for name, pair in (self._by_name or {}).items() if name in names})

    def check_person(self, person_id: str | None) -> None:
        """Raise an error if the column that identifies people has bounds, as if it were to be clustered on."""
        if person_id is not None and person_id in (self.names or ()):
            raise ParameterError(
                parameter="person_id",
                rule="must name a column that is not used for clustering",
                got=f"{person_id!r} (which has bounds)",
                way_out="Remove it from the bounds.",
            )

    def schema(self, names: Sequence[str], whole: Sequence[bool]) -> Schema:
        """Return the schema of a table with these columns; `whole` says whether the *type* of each is an integer type."""
        if self.given is None:
            raise _wrong("is missing, but the range of every column is required", WayOut.GIVE_BOUNDS)
        if isinstance(self.given, Schema):
            _check_same_names(self.given.names, names)
            columns = dict(zip(self.given.names, self.given.columns, strict=True))
            return Schema(tuple(columns[name] for name in names), self.given.estimate)
        pairs = self._pairs(names)
        return Schema(tuple(_column(n, pair, w) for n, pair, w in zip(names, pairs, whole, strict=True)))

    @cached_property
    def _by_name(self) -> dict[str, Any] | None:
        """A mapping with its names as text; None for another form."""
        return {str(name): pair for name, pair in self.given.items()} if isinstance(self.given, Mapping) else None

    def _pairs(self, names: Sequence[str]) -> list[Any]:
        """Return what is said about each of the columns."""
        if self._by_name is not None:
            _check_same_names(list(self._by_name), names)
            return [self._by_name[name] for name in names]
        if _is_one_pair(self.given):
            return [self.given] * len(names)
        return _listed(self.given, len(names))


def kind_to_read(written: Category | Notation | None) -> Literal["number", "text", "id"] | Notation:
    """Return what the values of a column are read as."""
    return "text" if isinstance(written, Category) else "number" if written is None else written


def _listed(bounds: Any, n_columns: int) -> list[Any]:
    try:
        pairs = list(bounds)
    except TypeError:
        forms = "must be a pair, a list of pairs, a mapping or a Schema"
        raise _wrong(forms, WayOut.GIVE_BOUNDS, value=bounds) from None
    if len(pairs) != n_columns:
        rule = f"must have one pair for each of {n_columns} columns"
        raise _wrong(
            rule,
            "Pass a single pair (lower, upper) to use it for all columns.",
            got="1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs",
        )
    return pairs


def _wrong(rule: str, way_out: str | WayOut, **fields: Any) -> BoundsError:
    return BoundsError(parameter="bounds", rule=rule, way_out=way_out, **fields)


def _check_same_names(given: Sequence[str], names: Sequence[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        hint = f"{nearest_names(unknown, names)} Columns of the table: {list(names)!r}."
        raise _wrong(f"names columns that the table does not have: {unknown!r}", WayOut.NUMBER_COLUMNS, hint=hint)
    missing = [name for name in names if name not in given]
    if missing:
        way_out = "Add their bounds, or fit on a table without these columns."
        raise _wrong(f"must name every column. Missing: {missing!r}", way_out)


def _is_one_pair(bounds: Any) -> bool:
    if isinstance(bounds, np.ndarray) and bounds.ndim != 1:
        return False
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) not in (2, 3, 4):
        return False
    return isinstance(bounds[0], Real) or bounds[0] is None


def _declared(name: str, pair: Any) -> Column | Category | None:
    """Return a column that is declared in full: as an object, or by its categories; else None."""
    if isinstance(pair, Column | Category):
        if pair.name != name:
            raise _wrong(f"contains column {pair.name!r} under the name {name!r}", "Use one name for both.")
        return pair
    if isinstance(pair, Mapping):  # the keys of a section in a schema file
        column = column_of(name, pair)
        if column is None:
            raise _wrong("must not name columns to ignore", "Leave it out.", column=name, value=pair)
        return column
    texts = isinstance(pair, Sequence) and not isinstance(pair, str) and all(isinstance(item, str) for item in pair)
    if not texts or not pair:
        return None
    if len(pair) == 2 and all(map(_DATE.fullmatch, pair)):
        first, last = pair
        way_out = f"Write {{'date': 'days', 'lower': {first!r}, 'upper': {last!r}}}, or {{'categories': [...]}} if they are the only two values."
        raise _wrong("must say whether these dates are bounds", way_out, column=name, value=pair)
    return Category(name, tuple(pair))


def _column(name: str, pair: Any, whole: bool) -> Column | Category:
    declared = _declared(name, pair)
    if declared is not None:
        return declared
    is_list = isinstance(pair, Sequence) or (isinstance(pair, np.ndarray) and pair.ndim == 1)
    items = list(pair) if is_list and not isinstance(pair, str) else [pair]
    if len(items) > 2 and isinstance(items[0], str):  # ("children", 0, 12, "int")
        if items[0] != name:
            way_out = "Pass the list in the order of the table, or a mapping by column name."
            raise _wrong(f"names column {items[0]!r} where the table has {name!r}", way_out)
        items = items[1:]
    words = [item for item in items[2:] if isinstance(item, str)]
    kinds, log = [word for word in words if word in _WHOLE_WORDS], "log" in words
    if len(items) != 2 + len(kinds) + log or len(kinds) > 1:
        rule = "must be a pair (lower, upper), with 'int', 'float' or 'log' as an optional third item, or a list of categories"
        raise _wrong(rule, WayOut.GIVE_BOUNDS, column=name, value=pair)
    # A log scale overrides the type of the column, like "float"; "int" beside it is refused.
    return Column(name, items[0], items[1], _WHOLE_WORDS[kinds[0]] if kinds else whole and not log, log)
