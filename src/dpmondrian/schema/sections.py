"""What is said about one column, by the keys of schema files: the same in a file, in the 'bounds' parameter and on the command line."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import BoundsError, ParameterError
from dpmondrian.schema.columns import Category, Column
from dpmondrian.schema.notations import NOTATIONS, Dates, Numbers, Times, notation_keys, notation_of
from dpmondrian.schema.texts import text_of
from dpmondrian.schema.toml import Plain, toml_key

_BOUND_KEYS = ("lower", "upper", "whole", "log", "unit")
_CATEGORY_KEYS = ("categories", "categories_file", "categories_column", "cut", "weight")
_NOTATION_KEYS = tuple(notation_keys())
_KEYS = (*_BOUND_KEYS, *_NOTATION_KEYS, *_CATEGORY_KEYS, "ignore")
_MOST_CODES_BYTES = 2**24
_HERE = Path()


def column_of(name: str, facts: Mapping[str, Any], folder: Path | None = None) -> Column | Category | None:
    """Return the column that a section describes; None if it is to be ignored. Files are looked for in the folder."""
    check_keys(name, facts)
    if facts.get("ignore"):
        return None
    if "categories" in facts or "categories_file" in facts:
        return category_of(name, facts, folder or Path())
    bounds = {key: value for key, value in facts.items() if key in _BOUND_KEYS}
    notation = {key: value for key, value in facts.items() if key in _NOTATION_KEYS}
    try:
        return Column(name, **bounds, notation=notation_of(notation))
    except BoundsError as error:
        error.column = name  # notations do not know whose they are
        raise
    except TypeError:  # keys of two notations
        raise BoundsError(
            f"The column {name!r} mixes keys that do not belong together.",
            "Use one of 'bands', 'date', 'time' and 'yes', or 'decimal' and 'thousands'.",
            got=", ".join(notation),
        ) from None


def is_complete(facts: Mapping[str, Any]) -> bool:
    """Return whether a section says enough about a column: bounds, or from what they follow."""
    follow = ("categories", "categories_file", "bands", "yes", "no")
    return bool(facts.get("ignore")) or any(key in facts for key in follow) or {"lower", "upper"} <= facts.keys()


def section_of(column: Column | Category) -> Mapping[str, Plain]:
    """Return the section of a column, which reads as an equal one."""
    if isinstance(column, Category):
        default = Category(column.name, column.categories, column.cut).weight
        weight = {} if column.weight is None or column.weight == default else {"weight": float(column.weight)}
        missing = {"missing": column.missing} if column.missing else {}
        return {"categories": column.categories} | ({"cut": True} if column.cut else {}) | weight | missing
    notation = column.notation
    follows = notation is not None and notation.bounds is not None
    values: dict[str, Plain] = {} if follows else {"lower": column.lower, "upper": column.upper}
    if isinstance(notation, Dates | Times):  # exact to the microsecond, as dates are read
        values = {key: notation.exact_text(float(getattr(column, key))) for key in ("lower", "upper")}
    values |= {key: True for key in ("whole", "log") if getattr(column, key) and not (key == "whole" and follows)}
    values |= {"unit": column.unit} if column.unit and (notation is None or column.unit != notation.unit) else {}
    return values | ({} if notation is None else notation.to_dict())


def with_habits(
    column: Column | Category, missing: Sequence[str] = (), decimal: str | None = None, thousands: str | None = None
) -> Column | Category:
    """Return a column with what is usual in a whole file: marks of missing values, and how numbers are written."""
    if isinstance(column, Category):
        return replace(column, missing=_joined(column.missing, missing))
    notation = column.notation or Numbers()
    notation = replace(notation, missing=_joined(notation.missing, missing))
    if isinstance(notation, Numbers) and (notation.decimal, notation.thousands) == (".", ""):
        notation = replace(notation, decimal=decimal or ".", thousands=thousands or "")
    return column if notation == Numbers() else replace(column, notation=notation)


def _joined(own: tuple[str, ...], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*own, *others)))


def check_keys(name: str, facts: Mapping[str, Any]) -> None:
    """Refuse keys that no section has, or that do not belong together."""
    unknown = [key for key in facts if key not in _KEYS]
    if unknown:
        whole_name = toml_key(f"{name}.{unknown[0]}")
        is_dotted_name = isinstance(facts[unknown[0]], dict)
        hint = f" If the column name contains a dot, write [columns.{whole_name}]." if is_dotted_name else ""
        refuse_keys(unknown, _KEYS, f"[columns.{toml_key(name)}]", hint)
    of_numbers = [key for key in facts if key in _BOUND_KEYS or (key in _NOTATION_KEYS and key != "missing")]
    of_categories = [key for key in facts if key in _CATEGORY_KEYS]
    if of_numbers and of_categories:
        raise BoundsError(
            f"The column {name!r} must have bounds or categories, not both.",
            "Delete one set of keys.",
            got=f"{of_numbers} and {of_categories}",
        )
    if len(several := [key for key in facts if key in NOTATIONS and key]) > 1:
        raise BoundsError(
            f"The column {name!r} must be written in one way.", "Delete all but one of them.", got=", ".join(several)
        )


def refuse_keys(unknown: list[str], known: Sequence[str], where: str, hint: str = "") -> NoReturn:
    """Raise the error for keys that are not known."""
    raise ParameterError(
        f"The keys of {where} must be among {list(known)}.",
        value=unknown,
        hint=f"{nearest_names(unknown, known)}{hint}",
    )


def category_of(name: str, facts: Mapping[str, Any], folder: Path = _HERE) -> Category:
    """Return the column of categories that a section describes."""
    if "categories" not in facts:
        categories: Any = _codes_in(name, facts, folder)
    elif "categories_file" in facts or "categories_column" in facts:
        raise BoundsError(f"The column {name!r} must have 'categories' or 'categories_file', not both.", "Delete one.")
    else:
        categories = facts["categories"]
    if not isinstance(categories, list | tuple) or not all(
        isinstance(item, str | bool | int | float) for item in categories
    ):
        raise BoundsError(
            column=name,
            parameter="categories",
            rule="must be a list of strings, numbers, or true and false",
            value=categories,
            way_out='For example categories = ["basic", "premium"].',
        )
    texts = tuple(str(text_of(item)) for item in categories)
    return Category(name, texts, facts.get("cut", False), facts.get("weight"), facts.get("missing", ()))


def _codes_in(name: str, facts: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the codes of a public list: one per line, or a column of a CSV file with a header."""
    given, wanted = facts["categories_file"], facts.get("categories_column")
    if not isinstance(given, str):
        raise BoundsError.broken("categories_file", "must be the path of a file", given)
    path = folder / given
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            content = file.read(_MOST_CODES_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise BoundsError(
            f"The code list {str(path)!r} of column {name!r} cannot be read ({type(error).__name__}).",
            "Check its name; it must be a UTF-8 text file with one code per line, or a CSV file.",
        ) from None
    lines = content.splitlines()
    if path.suffix.lower() not in (".csv", ".tsv"):
        return list(dict.fromkeys(line.strip() for line in lines if line.strip() and not line.startswith("#")))
    header, *rows = list(csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")) or [[]]
    if wanted is not None and wanted not in header:
        raise BoundsError.broken("categories_column", f"must be a column of {str(path)!r}: {header}", wanted)
    place = 0 if wanted is None else header.index(wanted)
    return list(dict.fromkeys(row[place].strip() for row in rows if len(row) > place and row[place].strip()))
