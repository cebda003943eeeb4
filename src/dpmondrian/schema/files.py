"""Schema files: what is public about a table, as TOML that people write and keep beside it.

.. code-block:: toml

    person_id = "customer"   # optional: the column that says whose row it is
    rows_per_person = 5      # optional: most rows of one person
    bounds_epsilon = 0.1     # optional: what was spent on bounds that were estimated from the rows, for the unit above
    bounds_entry = "..."     # optional: under which id it stands in the budget file

    [columns.age]
    lower = 0
    upper = 120
    whole = true             # optional, as are log = true and unit = "years"

    [columns.plan]
    categories = ["basic", "premium"]
    cut = true               # optional, as is weight = 0.5

A schema says nothing about single rows, so messages may quote it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dpmondrian.common.checks import nearest_names
from dpmondrian.common.whole_files import write_file
from dpmondrian.exceptions import BoundsError, ParameterError
from dpmondrian.schema.columns import Category, Column, Estimate, Schema
from dpmondrian.schema.draft import draft_schema
from dpmondrian.schema.options import bounds_from_options
from dpmondrian.schema.toml import Plain, toml_key, toml_value

__all__ = ["TableSchema", "bounds_from_options", "draft_schema", "read_schema", "write_schema"]

LARGEST_FILE = 16 * 2**20
"""A larger file is not a schema: somebody gave the table in its place."""

_TOP_KEYS = ("person_id", "rows_per_person", "bounds_epsilon", "bounds_entry", "columns")
_BOUND_KEYS = ("lower", "upper", "whole", "log", "unit")
_CATEGORY_KEYS = ("categories", "cut", "weight")
_HEADER = "# What is public about the columns of a table: known without looking at its rows.\n"
_LARGEST_EXACT_FLOAT = 2.0**53


@dataclass(frozen=True)
class TableSchema:
    """A schema, and how rows belong to people.

    Parameters
    ----------
    schema : Schema
    person_id : str or None, default=None
        Column that identifies the person a row belongs to. It is not used for clustering.
    rows_per_person : int, default=1
        Maximum number of rows per person.
    """

    schema: Schema
    person_id: str | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if self.person_id is not None and (not isinstance(self.person_id, str) or not self.person_id):
            raise ParameterError(
                parameter="person_id", rule="must be the name of a column, as a string", value=self.person_id
            )
        if self.person_id in self.schema.names:
            raise ParameterError(
                parameter="person_id",
                rule="must be a column that is not used for clustering",
                got=f"{self.person_id!r} (which is among the columns)",
                way_out="Remove it from the columns: an identifier says nothing about groups of people.",
            )
        rows = self.rows_per_person
        if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
            raise ParameterError(
                parameter="rows_per_person",
                rule="must be an integer >= 1",
                value=rows,
                way_out="Pass the maximum number of rows per person.",
            )


def read_schema(path: str | Path, only: Sequence[str] = ()) -> TableSchema:
    """Read the schema in a TOML file; raise `BoundsError` or `ParameterError` if it is incomplete or invalid.

    Parameters
    ----------
    path : path
    only : sequence of str
        Columns to use; sections of others may be incomplete. If empty, all columns.
    """
    values = _toml_in(Path(path))
    try:
        return _table_schema(values, only)
    except ParameterError as error:
        raise error.within(f"the schema file {str(path)!r}") from None


def write_schema(table_schema: TableSchema, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a schema atomically to a TOML file."""
    write_file(path, schema_text(table_schema), overwrite=overwrite)


def schema_text(table_schema: TableSchema) -> str:
    """Return the TOML text of a schema, which reads as an equal one."""
    schema = table_schema.schema
    top: dict[str, Plain] = {}
    if table_schema.person_id is not None:
        top["person_id"] = table_schema.person_id
    if table_schema.rows_per_person != 1:
        top["rows_per_person"] = table_schema.rows_per_person
    if schema.estimate is not None:
        top |= _estimate_lines(schema.estimate, table_schema)
    tables = [_HEADER + _lines(top)]
    tables += [f"[columns.{toml_key(column.name)}]\n{_lines(_values_of(column))}" for column in schema.columns]
    return "\n".join(tables)


def _estimate_lines(estimate: Estimate, table_schema: TableSchema) -> dict[str, Plain]:
    unit = table_schema.person_id, table_schema.rows_per_person
    if not estimate.releasable or unit != (estimate.person_id, estimate.rows_per_person):
        raise ParameterError(
            "The bounds were estimated with a seed or for another unit of privacy, so they cannot be written to a schema file.",
            "Estimate them again.",
        )
    return {"bounds_epsilon": estimate.epsilon} | ({"bounds_entry": estimate.entry} if estimate.entry else {})


def _values_of(column: Column | Category) -> Mapping[str, Plain]:
    if isinstance(column, Category):
        default = Category(column.name, column.categories, column.cut).weight
        weight = {} if column.weight is None or column.weight == default else {"weight": float(column.weight)}
        return {"categories": column.categories} | ({"cut": True} if column.cut else {}) | weight
    values: dict[str, Plain] = {"lower": column.lower, "upper": column.upper}
    values |= {key: True for key in ("whole", "log") if getattr(column, key)}
    return values | ({"unit": column.unit} if column.unit else {})


def _lines(values: Mapping[str, Plain]) -> str:
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in values.items())


def _toml_in(path: Path) -> dict[str, Any]:
    try:
        text = _bytes_in(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"The schema file {str(path)!r} is not UTF-8 text.", "Save it as UTF-8.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"The schema file {str(path)!r} is not valid TOML: {error}.",
            "A section starts with [columns.NAME]. Put quotes around all strings, and around names with characters other than letters, "
            'digits, "_" and "-".',
        ) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        raise ParameterError(f"The schema file {str(path)!r} is not valid TOML.", "Write it again.") from None


def _bytes_in(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise ParameterError(
            f"The schema file {str(path)!r} does not exist.",
            "Check its name, or draft one from the column names.",
        ) from None
    except IsADirectoryError:
        raise ParameterError(f"The schema file {str(path)!r} is a folder.", "Pass the TOML file in it.") from None
    except OSError as error:
        raise ParameterError(f"The schema file {str(path)!r} cannot be read ({type(error).__name__}).") from None
    if len(content) > LARGEST_FILE:
        raise ParameterError(
            f"The schema file {str(path)!r} is too large for a schema.", "Did you pass the table itself?"
        )
    return content


def _table_schema(values: Mapping[str, Any], only: Sequence[str] = ()) -> TableSchema:
    _check_keys(values, _TOP_KEYS, "the file")
    columns = values.get("columns", {})
    if not isinstance(columns, dict) or not columns:
        raise BoundsError("There must be at least one section [columns.NAME].", got="none")
    for name, facts in columns.items():
        if not isinstance(facts, dict):
            raise BoundsError(f"The column {name!r} must be a section [columns.{toml_key(name)}].", value=facts)
        _check_column_keys(name, facts)
    columns = _chosen(columns, only)
    _check_complete(columns)
    read = tuple(_column(name, facts) for name, facts in columns.items())
    people = {"person_id": values.get("person_id"), "rows_per_person": values.get("rows_per_person", 1)}
    estimate = None
    if "bounds_epsilon" in values:
        estimate = Estimate(values["bounds_epsilon"], **people, entry=values.get("bounds_entry"))
    return TableSchema(Schema(read, estimate), **people)


def _chosen(columns: Mapping[str, Any], only: Sequence[str]) -> Mapping[str, Any]:
    """Return the sections of some columns, or of all if none are named."""
    for name in only:
        if name not in columns:
            hint = nearest_names([name], list(columns)) or f" Known columns: {', '.join(columns)}."
            raise ParameterError(f"The file does not describe column {name!r}.", hint=hint)
    return {name: facts for name, facts in columns.items() if name in only} if only else columns


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [key for key in values if key not in known]
    if unknown:
        _refuse_keys(unknown, known, where, "")


def _check_column_keys(name: str, facts: Mapping[str, Any]) -> None:
    known = (*_BOUND_KEYS, *_CATEGORY_KEYS)
    unknown = [key for key in facts if key not in known]
    if unknown:
        whole_name = toml_key(f"{name}.{unknown[0]}")
        is_dotted_name = isinstance(facts[unknown[0]], dict)
        hint = f" If the column name contains a dot, write [columns.{whole_name}]." if is_dotted_name else ""
        _refuse_keys(unknown, known, f"[columns.{toml_key(name)}]", hint)
    of_bounds = [key for key in facts if key in _BOUND_KEYS]
    of_categories = [key for key in facts if key in _CATEGORY_KEYS]
    if of_bounds and of_categories:
        raise BoundsError(
            f"The column {name!r} must have bounds or categories, not both.",
            "Delete one set of keys.",
            got=f"{of_bounds} and {of_categories}",
        )


def _refuse_keys(unknown: list[str], known: tuple[str, ...], where: str, hint: str) -> NoReturn:
    raise ParameterError(
        f"The keys of {where} must be among {list(known)}.",
        value=unknown,
        hint=f"{nearest_names(unknown, known)}{hint}",
    )


def _check_complete(columns: Mapping[str, Mapping[str, Any]]) -> None:
    missing = [
        name
        for name, facts in columns.items()
        if "categories" not in facts and not ("lower" in facts and "upper" in facts)
    ]
    if missing:
        raise BoundsError(
            f"Every column must have 'lower' and 'upper', or 'categories'. Missing: {missing}.",
            "Use what is known without looking at the rows, or delete the sections of columns you do not want to cluster "
            "on.",
        )


def _column(name: str, facts: Mapping[str, Any]) -> Column | Category:
    if "categories" not in facts:
        return Column(name, **facts)
    categories = facts["categories"]
    if not isinstance(categories, list) or not all(isinstance(item, str | bool | int | float) for item in categories):
        raise BoundsError(
            column=name,
            parameter="categories",
            rule="must be a list of strings, numbers, or true and false",
            value=categories,
            way_out='For example categories = ["basic", "premium"].',
        )
    return Category(name, tuple(map(_as_text, categories)), facts.get("cut", False), facts.get("weight"))


def _as_text(item: str | bool | int | float) -> str:
    """Return a category as the text that a table's value is turned into: 1.0 is "1", true is "true"."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float) and item.is_integer() and abs(item) < _LARGEST_EXACT_FLOAT:
        return str(int(item))
    return str(item)
