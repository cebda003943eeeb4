"""Bounds and categories as they are written on a command line: ``age=0:120``, ``plan=basic|premium``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dpmondrian.exceptions import BoundsError
from dpmondrian.schema.columns import Category, Column

__all__ = ["bounds_from_options"]

Facts: TypeAlias = "tuple[float, float] | tuple[float, float, str] | tuple[str, ...]"

_FORMS = "Write NAME=LOW:HIGH, NAME=LOW:HIGH:int, NAME=LOW:HIGH:log or NAME=ONE|TWO|THREE, for example age=0:120."
_WORDS = ("int", "float", "log")


def bounds_from_options(texts: Sequence[str]) -> dict[str, Facts]:
    """Return the bounds and categories of columns by name, as the 'bounds' parameter takes them.

    Parameters
    ----------
    texts : sequence of str
        ``"age=0:120"``, ``"children=0:12:int"``, ``"income=100:1e6:log"`` or ``"plan=basic|premium"``. The name ends at the
        last "=", so it may hold "=" and ":" itself; categories may hold ":", but not "=".

    Examples
    --------
    >>> bounds_from_options(["age=0:120", "plan=basic|premium"])
    {'age': (0.0, 120.0), 'plan': ('basic', 'premium')}
    """
    bounds: dict[str, Facts] = {}
    for text in texts:
        if any("\ud800" <= character <= "\udfff" for character in text):  # bytes of a shell that are not UTF-8
            raise BoundsError(
                parameter="bounds",
                rule="must be UTF-8 text",
                value=text,
                way_out="Check the locale settings of your shell.",
            )
        name, sign, facts = text.rpartition("=")
        if not sign or not name.strip():
            raise BoundsError(parameter="bounds", rule="must name a column", value=text, way_out=_FORMS)
        if name in bounds:
            raise BoundsError(
                parameter="bounds",
                rule="must be given once per column",
                got=f"{name!r} twice",
                way_out="Remove one.",
            )
        bounds[name] = _categories(name, facts) if "|" in facts else _pair(name, facts)
    return bounds


def _categories(name: str, text: str) -> tuple[str, ...]:
    categories = tuple(part.strip() for part in text.split("|"))
    if not all(categories):
        raise BoundsError(
            column=name,
            parameter="categories",
            rule="must not be empty",
            value=text,
            way_out="Remove a '|' at either end or next to another; values that are not listed become 'other'.",
        )
    return Category(name, categories).categories


def _pair(name: str, text: str) -> tuple[float, float] | tuple[float, float, str]:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in (2, 3):
        one_category = f" For a single category write {name}={text}|other." if len(parts) == 1 and text else ""
        raise BoundsError(
            column=name, parameter="bounds", rule="must be LOW:HIGH", value=text, hint=one_category, way_out=_FORMS
        )
    lower, upper = _number(name, parts[0]), _number(name, parts[1])
    word = parts[2] if len(parts) == 3 else ""
    if len(parts) == 3 and word not in _WORDS:
        raise BoundsError(f"The third part of the bounds of column {name!r} must be one of {list(_WORDS)}.", value=word)
    column = Column(name, lower, upper, whole=word == "int", log=word == "log")
    return (column.lower, column.upper, word) if word else (column.lower, column.upper)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BoundsError(
            column=name,
            parameter="bounds",
            rule="must be numbers",
            value=text,
            way_out=f"{_FORMS} Write numbers with a decimal point and without thousands separators.",
        ) from None
