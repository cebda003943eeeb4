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
    categories = ["basic", "premium"]    # or categories_file = "plans.csv", a public code list
    cut = true               # optional, as is weight = 0.5

    [columns.income]
    lower = 0
    upper = 1e6
    decimal = ","            # 1.234,50; missing values are written as ? or -9
    thousands = "."
    missing = ["?", "-9"]

    [columns.band]
    bands = ["[0-50)", "[50-100)"]       # ordered

    [columns.admitted]
    date = "days"            # numbers are days since 1970; time = "hours" for times of day
    lower = 2010-01-01
    upper = 2020-12-31
    format = "%d.%m.%Y"      # optional: how dates are written, if not as above

    [columns.smoker]
    yes = ["yes", "1"]
    no = ["no", "0"]

    [columns.comment]
    ignore = true

What is usual in the whole file may stand at the top: ``missing``, ``decimal`` and ``thousands``. A schema says nothing about single rows, so messages may quote it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpmondrian.common.checks import check_integer, nearest_names
from dpmondrian.common.file_kinds import kind_of_file
from dpmondrian.common.whole_files import write_file
from dpmondrian.exceptions import BoundsError, ParameterError
from dpmondrian.schema.columns import Estimate, Schema
from dpmondrian.schema.sections import check_keys, column_of, is_complete, refuse_keys, section_of, with_habits
from dpmondrian.schema.toml import Plain, toml_key, toml_value

LARGEST_FILE = 16 * 2**20  # a larger file is not a schema: somebody gave the table in its place

_HABITS = ("missing", "decimal", "thousands")
_TOP_KEYS = ("person_id", "rows_per_person", "bounds_epsilon", "bounds_entry", *_HABITS, "columns")
_HEADER = "# What is public about the columns of a table: known without looking at its rows.\n"


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
    ignored : tuple of str
        Columns of the table that are deliberately left out.

    Examples
    --------
    >>> from dpmondrian import DPM, Column, Schema, TableSchema
    >>> known = TableSchema(Schema((Column("age", 0, 120),)), person_id="patient", rows_per_person=3)
    >>> model = DPM(bounds=known.schema, person_id=known.person_id, rows_per_person=known.rows_per_person)
    """

    schema: Schema
    person_id: str | None = None
    rows_per_person: int = 1
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.person_id is not None and (not isinstance(self.person_id, str) or not self.person_id):
            raise ParameterError.broken("person_id", "must be the name of a column, as a string", self.person_id)
        if self.person_id in self.schema.names:
            raise ParameterError(
                parameter="person_id",
                rule="must be a column that is not used for clustering",
                got=f"{self.person_id!r} (which is among the columns)",
                way_out="Remove it from the columns: an identifier says nothing about groups of people.",
            )
        check_integer("rows_per_person", self.rows_per_person, 1, None, "Pass the maximum number of rows per person.")


def read_schema(path: str | Path, only: Sequence[str] = ()) -> TableSchema:
    """Read the schema in a TOML file; raise `BoundsError` or `ParameterError` if it is incomplete or invalid.

    Parameters
    ----------
    path : path
    only : sequence of str
        Columns to use; sections of others may be incomplete. If empty, all columns.

    Returns
    -------
    table_schema : TableSchema

    Examples
    --------
    >>> import tempfile
    >>> from dpmondrian import read_schema
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "schema.toml")
    ...     _ = path.write_text("columns.age = {lower = 0, upper = 120}")
    ...     read_schema(path).schema.names
    ('age',)
    """
    values = toml_in(Path(path))
    try:
        return _table_schema(values, only, Path(path).parent)
    except ParameterError as error:
        raise error.within(f"the schema file {str(path)!r}") from None


def write_schema(table_schema: TableSchema, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a schema atomically to a TOML file.

    Parameters
    ----------
    table_schema : TableSchema
    path : path
    overwrite : bool, default=False
        Whether a file that is there may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from dpmondrian import Column, read_schema, Schema, TableSchema, write_schema
    >>> known = TableSchema(Schema((Column("age", 0, 120),)), person_id="patient")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_schema(known, f"{folder}/schema.toml")
    ...     read_schema(f"{folder}/schema.toml") == known
    True
    """
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
    sections = {column.name: section_of(column) for column in schema.columns}
    sections |= {name: {"ignore": True} for name in table_schema.ignored}
    tables += [f"[columns.{toml_key(name)}]\n{_lines(section)}" for name, section in sections.items()]
    return "\n".join(tables)


def _estimate_lines(estimate: Estimate, table_schema: TableSchema) -> dict[str, Plain]:
    unit = table_schema.person_id, table_schema.rows_per_person
    if not estimate.releasable or unit != (estimate.person_id, estimate.rows_per_person):
        raise ParameterError(
            "The bounds were estimated with a seed or for another unit of privacy, so they cannot be written to a schema file.",
            "Estimate them again.",
        )
    return {"bounds_epsilon": estimate.epsilon} | ({"bounds_entry": estimate.entry} if estimate.entry else {})


def _lines(values: Mapping[str, Plain]) -> str:
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in values.items())


def toml_in(path: Path) -> dict[str, Any]:
    """Return the values in a TOML file of at most some size; raise `ParameterError` if it is none."""
    try:
        text = _bytes_in(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse_other_kinds(path)
        raise ParameterError(f"The schema file {str(path)!r} is not UTF-8 text.", "Save it as UTF-8.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _refuse_other_kinds(path)
        raise ParameterError(
            f"The schema file {str(path)!r} is not valid TOML: {error}.",
            "A section starts with [columns.NAME]. Put quotes around all strings, and around names with characters other than letters, "
            'digits, "_" and "-".',
        ) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        raise ParameterError(f"The schema file {str(path)!r} is not valid TOML.", "Write it again.") from None


def _refuse_other_kinds(path: Path) -> None:
    if (kind := kind_of_file(path)) not in ("", "a schema file"):
        way_out = "'dpm init' writes one from the columns of a table."
        raise ParameterError(f"The file {str(path)!r} is {kind}, expected a schema file (TOML).", way_out) from None


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


def _table_schema(values: Mapping[str, Any], only: Sequence[str], folder: Path) -> TableSchema:
    unknown = [key for key in values if key not in _TOP_KEYS]
    if unknown:
        refuse_keys(unknown, _TOP_KEYS, "the file")
    columns = values.get("columns", {})
    if not isinstance(columns, dict) or not columns:
        raise BoundsError("There must be at least one section [columns.NAME].", got="none")
    for name, facts in columns.items():
        if not isinstance(facts, dict):
            raise BoundsError(f"The column {name!r} must be a section [columns.{toml_key(name)}].", value=facts)
        check_keys(name, facts)
    columns = _chosen(columns, only)
    _check_complete(columns)
    described = {name: column_of(name, facts, folder) for name, facts in columns.items()}
    habits = {key: values[key] for key in _HABITS if key in values}
    read = tuple(with_habits(column, **habits) for column in described.values() if column is not None)
    people = {"person_id": values.get("person_id"), "rows_per_person": values.get("rows_per_person", 1)}
    estimate = None
    if "bounds_epsilon" in values:
        estimate = Estimate(values["bounds_epsilon"], **people, entry=values.get("bounds_entry"))
    ignored = tuple(name for name, column in described.items() if column is None)
    return TableSchema(Schema(read, estimate), **people, ignored=ignored)


def _chosen(columns: Mapping[str, Any], only: Sequence[str]) -> Mapping[str, Any]:
    """Return the sections of some columns, or of all if none are named."""
    for name in only:
        if name not in columns or columns[name].get("ignore"):
            hint = nearest_names([name], list(columns)) or f" Known columns: {', '.join(columns)}."
            raise ParameterError(f"The file does not describe column {name!r}.", hint=hint)
    return {name: facts for name, facts in columns.items() if name in only} if only else columns


def _check_complete(columns: Mapping[str, Mapping[str, Any]]) -> None:
    missing = [name for name, facts in columns.items() if not is_complete(facts)]
    if missing:
        raise BoundsError(
            f"Every column must have 'lower' and 'upper', or 'categories'. Missing: {missing}.",
            "Use what is known without looking at the rows, or write 'ignore = true' for columns you do not want to cluster on.",
        )
