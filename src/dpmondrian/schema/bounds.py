"""What the 'bounds' parameter says, in all its forms: the one place where it becomes a `Schema`.

Some of it is needed before the names and types of the table are known (which columns to read, which of them are categories), the
schema itself only afterwards: a column without a word about it has whole numbers if its type has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import BoundsError, WayOut
from dpmondrian.schema.columns import Bounds, Category, Column, Schema

__all__ = ["GivenBounds"]

_WHOLE_WORDS = {"int": True, "whole": True, "integer": True, "float": False, "real": False}


@dataclass(frozen=True)
class GivenBounds:
    """Bounds as a user gave them.

    Parameters
    ----------
    given : pair, list of pairs, mapping or Schema
        A pair may carry a third item, ``"int"``, ``"float"`` or ``"log"``, which overrides the column's type.
    """

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
        columns = {name: _declared(name, pair) for name, pair in (self._by_name or {}).items()}
        return {name: column for name, column in columns.items() if isinstance(column, Category)}

    @property
    def category_use(self) -> str:
        """Whether "none", "some" or "all" of the columns hold categories."""
        n_categories = len(self.categories)
        return "none" if not n_categories else "all" if n_categories == len(self.names or ()) else "some"

    @property
    def kinds(self) -> dict[str, Literal["number", "text", "id"]]:
        """What each column that has bounds is read as: "number" or "text"."""
        return {name: "text" if name in self.categories else "number" for name in self.names or ()}

    def only(self, names: Sequence[str]) -> GivenBounds:
        """Return what is said about some of the columns that have bounds."""
        if isinstance(self.given, Schema):
            columns = tuple(column for column in self.given.columns if column.name in names)
            return GivenBounds(Schema(columns, self.given.estimate))
        return GivenBounds({name: pair for name, pair in (self._by_name or {}).items() if name in names})

    def schema(self, names: Sequence[str], whole: Sequence[bool]) -> Schema:
        """Return the schema of a table.

        Parameters
        ----------
        names : sequence of str
            Its columns.
        whole : sequence of bool
            Whether each column's *type* is an integer type. Values are never looked at.
        """
        if self.given is None:
            raise BoundsError(
                parameter="bounds",
                rule="is missing, but the range of every column is required",
                way_out=WayOut.GIVE_BOUNDS,
            )
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


def _listed(bounds: Any, n_columns: int) -> list[Any]:
    try:
        pairs = list(bounds)
    except TypeError:
        raise BoundsError(
            parameter="bounds",
            rule="must be a pair, a list of pairs, a mapping or a Schema",
            value=bounds,
            way_out=WayOut.GIVE_BOUNDS,
        ) from None
    if len(pairs) != n_columns:
        raise BoundsError(
            parameter="bounds",
            rule=f"must have one pair for each of {n_columns} columns",
            got=f"{len(pairs)} pairs",
            way_out="Pass a single pair (lower, upper) to use it for all columns.",
        )
    return pairs


def _check_same_names(given: Sequence[str], names: Sequence[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        raise BoundsError(
            parameter="bounds",
            rule=f"names columns that the table does not have: {unknown!r}",
            hint=f"{nearest_names(unknown, names)} Columns of the table: {list(names)!r}.",
            way_out=WayOut.NUMBER_COLUMNS,
        )
    missing = [name for name in names if name not in given]
    if missing:
        raise BoundsError(
            parameter="bounds",
            rule=f"must name every column. Missing: {missing!r}",
            way_out="Add their bounds, or fit on a table without these columns.",
        )


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
            raise BoundsError(
                parameter="bounds",
                rule=f"contains column {pair.name!r} under the name {name!r}",
                way_out="Use one name for both.",
            )
        return pair
    texts = isinstance(pair, Sequence) and not isinstance(pair, str) and all(isinstance(item, str) for item in pair)
    return Category(name, tuple(pair)) if texts and pair else None


def _column(name: str, pair: Any, whole: bool) -> Column | Category:
    declared = _declared(name, pair)
    if declared is not None:
        return declared
    is_list = isinstance(pair, Sequence) or (isinstance(pair, np.ndarray) and pair.ndim == 1)
    items = list(pair) if is_list and not isinstance(pair, str) else [pair]
    if len(items) > 2 and isinstance(items[0], str):  # ("children", 0, 12, "int")
        if items[0] != name:
            raise BoundsError(
                parameter="bounds",
                rule=f"names column {items[0]!r} where the table has {name!r}",
                way_out="Pass the list in the order of the table, or a mapping by column name.",
            )
        items = items[1:]
    words = [item for item in items[2:] if isinstance(item, str)]
    kinds, log = [word for word in words if word in _WHOLE_WORDS], "log" in words
    if len(items) != 2 + len(kinds) + log or len(kinds) > 1:
        raise BoundsError(
            column=name,
            parameter="bounds",
            rule="must be a pair (lower, upper), with 'int', 'float' or 'log' as an optional third item, or a list of categories",
            value=pair,
            way_out=WayOut.GIVE_BOUNDS,
        )
    # A log scale overrides the type of the column, like "float"; "int" beside it is refused.
    return Column(name, items[0], items[1], _WHOLE_WORDS[kinds[0]] if kinds else whole and not log, log)
