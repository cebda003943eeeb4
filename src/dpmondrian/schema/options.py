"""What is said about columns in short texts, on the command line and in answers: "age=0:120", "plan=basic|premium"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from dpmondrian.exceptions import BoundsError, WayOut
from dpmondrian.schema.columns import Category, Column
from dpmondrian.schema.notations import NO, YES, Bands, YesNo
from dpmondrian.schema.sections import category_of

Facts: TypeAlias = "tuple[float, float] | tuple[float, float, str] | tuple[str, ...] | Mapping[str, Any]"

_FORMS = (
    "Write NAME=LOW:HIGH, NAME=LOW:HIGH:int, NAME=LOW:HIGH:log, NAME=ONE|TWO|THREE, NAME=LOW<MIDDLE<HIGH for ordered bands, "
    "NAME=2010-01-01:2020-12-31, NAME=yes/no or NAME=@FILE for a public list of codes, for example age=0:120."
)
_WORDS = ("int", "float", "log")
_DATES = re.compile(r"(\d{4}-\d{2}-\d{2}):(\d{4}-\d{2}-\d{2})")
_COMPLETE = re.compile(r"[^=]+=([^=]*[:|<][^=]*|@[^=]+|[^=/]+/[^=/]+)")
"""A column with what is said about it, where several stand in one text."""
_NAMED = re.compile(r"[^=]+=[^=]*")


def bounds_from_options(texts: Sequence[str]) -> dict[str, Facts]:
    """Return the bounds and categories of columns by name, as the 'bounds' parameter takes them.

    The name ends at the last "=", so it may hold "=" and ":" itself; categories may hold ":", but not "=".

    Examples
    --------
    >>> bounds_from_options(["age=0:120,children=0:12:int", "plan=basic|premium"])
    {'age': (0.0, 120.0), 'children': (0.0, 12.0, 'int'), 'plan': ('basic', 'premium')}
    >>> bounds_from_options(["size=small<large", "smoker=yes/no"])["size"]
    {'bands': ['small', 'large']}
    """
    bounds: dict[str, Facts] = {}
    for text in chain.from_iterable(map(_parts, texts)):
        if any("\ud800" <= character <= "\udfff" for character in text):  # bytes of a shell that are not UTF-8
            raise _wrong("must be UTF-8 text", "Check the locale settings of your shell.", value=text)
        name, sign, facts = text.rpartition("=")
        if not sign or not name.strip():
            raise _wrong("must name a column", _FORMS, value=text)
        if name in bounds:
            raise _wrong("must be given once per column", "Remove one.", got=f"{name!r} twice")
        bounds[name] = facts_from_text(name, facts)
    return bounds


def facts_from_text(name: str, text: str) -> Facts:
    """Return what a short text says about a column: see `_FORMS`."""
    if text.startswith("@"):
        return {"categories": category_of(name, {"categories_file": text[1:]}).categories}
    if _is_yes_no(text):
        return YesNo().to_dict()
    if "|" in text:
        return Category(name, _listed(name, text, "categories", "|")).categories
    if "<" in text:
        return Bands(bands=_listed(name, text, "bands", "<")).to_dict()
    if dates := _DATES.fullmatch(text.strip()):
        return {"date": "days", "lower": dates[1], "upper": dates[2]}
    return _pair(name, text)


def _parts(text: str) -> list[str]:
    """Return the columns in a text such as "age=0:120,bmi=10:60"; commas may also be part of names and categories.

    Where the first is complete and each of the others has a name, one that is wrong is told by its own name.
    """
    parts = text.split(",")
    several = len(parts) > 1 and _COMPLETE.fullmatch(parts[0]) and all(map(_NAMED.fullmatch, parts))
    return parts if several else [text]


def _is_yes_no(text: str) -> bool:
    """Return whether a text is a word for yes and one for no, in either order: "yes/no", "1/0", "false/true"."""
    first, sign, second = (part.strip().lower() for part in text.partition("/"))
    return bool(sign) and any(one in YES and other in NO for one, other in ((first, second), (second, first)))


def _listed(name: str, text: str, parameter: str, sign: str) -> tuple[str, ...]:
    """Return the items of a list, none of which is empty."""
    items = tuple(part.strip() for part in text.split(sign))
    if not all(items):
        ways = {
            "|": "values that are not listed become 'other'",
            "<": f"list bands that contain '{sign}' in a schema file",
        }
        raise BoundsError(
            column=name,
            parameter=parameter,
            rule="must not be empty",
            value=text,
            way_out=f"Remove a '{sign}' at either end or next to another; {ways[sign]}.",
        )
    return items


def _pair(name: str, text: str) -> tuple[float, float] | tuple[float, float, str]:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in (2, 3):
        raise _wrong("must be LOW:HIGH", _FORMS, column=name, value=text, hint=_as_categories(name, text))
    lower, upper = _number(name, parts[0]), _number(name, parts[1])
    word = parts[2] if len(parts) == 3 else ""
    if len(parts) == 3 and word not in _WORDS:
        raise BoundsError(f"The third part of the bounds of column {name!r} must be one of {list(_WORDS)}.", value=word)
    column = Column(name, lower, upper, whole=word == "int", log=word == "log")
    return (column.lower, column.upper, word) if word else (column.lower, column.upper)


def _as_categories(name: str, text: str) -> str:
    """Return how a text is written if it is meant as categories: "female/male" as "female|male"; empty if it cannot be."""
    items = [item.strip() for item in re.split("[/,;]", text)]
    if ":" in text or not all(items):
        return ""
    if len(items) == 1:
        return f" For a single category write {name}={text}|other."
    return f" For categories write {name}={'|'.join(items)}."


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        way_out = f"{_FORMS} Write numbers with a decimal point and without thousands separators."
        raise _wrong("must be numbers", way_out, column=name, value=text) from None


def _wrong(rule: str, way_out: str | WayOut, **fields: Any) -> BoundsError:
    return BoundsError(parameter="bounds", rule=rule, way_out=way_out, **fields)
