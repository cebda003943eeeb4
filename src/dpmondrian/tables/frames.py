"""Tables in, blocks of float64 rows out: NumPy arrays, and pandas, polars, Arrow through narwhals.

A table is read in blocks, so that no second copy of it is ever in memory. A category becomes its number among the
declared ones. A column that tells to whom a row belongs is used to limit the rows per person, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.schema import OTHER, Category, canonical_text, texts_of_column
from dpmondrian.tables.identities import check_ids_of
from dpmondrian.tables.persons import PersonLimit, kept, person_hashes, row_hashes
from dpmondrian.tables.sizes import BLOCK_ROWS

__all__ = ["Reader", "Table", "read_table"]

MOST_COLUMNS = 2**20
"""With more, squared distances would no longer be exact (``docs/privacy/representation.md``)."""


@dataclass(frozen=True)
class Table:
    """A view of the caller's table.

    Attributes
    ----------
    names : tuple of str
    named : bool
        Whether the names are the table's own.
    text_names : bool
        Whether they are text (in pandas they need not be).
    whole : tuple of bool
        Whether each column has an integer type.
    n_rows : int
        Exact: stays inside.
    categories : mapping from column name to Category
        Columns whose values are categories: blocks hold their numbers among `Category.levels`, NaN where one is missing.
    """

    names: tuple[str, ...]
    named: bool
    whole: tuple[bool, ...]
    n_rows: int = field(repr=False)
    _source: Any = field(repr=False)
    text_names: bool = True
    categories: Mapping[str, Category] = field(default_factory=dict)
    _person: Any = field(default=None, repr=False)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def block(self, start: int) -> NDArray[np.float64]:
        """Return the rows from `start` on as a float64 block of shape (<= BLOCK_ROWS, n_columns).

        Its rows or its columns are contiguous, as they are in the table.
        """
        return _as_floats(self._source[start : start + BLOCK_ROWS], self.categories)

    def own_blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all blocks in order, as float32 if all columns are: half as much to copy, and the same numbers."""
        for start in self.starts():
            narrow = _as_own_floats(self._source[start : start + BLOCK_ROWS])
            yield self.block(start) if narrow is None else narrow

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all blocks in order."""
        return map(self.block, self.starts())

    def starts(self) -> range:
        """Return the first row of every block."""
        return range(0, self.n_rows, BLOCK_ROWS)

    def between(self, start: int, stop: int) -> Table:
        """Return the rows from `start` to before `stop`, or to the end, as a table of their own. Nothing is copied."""
        stop = min(stop, self.n_rows)
        person = None if self._person is None else self._person[start:stop]
        return replace(self, n_rows=stop - start, _source=self._source[start:stop], _person=person)

    def with_numbers(self, numbers: NDArray[np.float64]) -> Table:
        """Return other rows, as the numbers that blocks hold, with the names and types of this table."""
        return replace(self, n_rows=len(numbers), _source=numbers, _person=None)

    def reordered(self, names: Sequence[str]) -> Table:
        """Return the table with its columns in the order of `names`; other columns are an error."""
        if not self.named or self.names == tuple(names):
            return self
        missing = [name for name in names if name not in self.names]
        if missing:
            raise DataError(
                f"The table lacks columns that the model was fitted on: {missing!r}."
                f"{nearest_names(missing, self.names)} Columns of the table: {list(self.names)!r}."
            )
        extra = [name for name in self.names if name not in names]
        if extra:
            raise DataError(
                f"The table has columns that the model was not fitted on: {extra!r}. Leave them out; the model knows "
                f"{list(names)!r}."
            )
        whole = tuple(self.whole[self.names.index(name)] for name in names)
        return replace(self, names=tuple(names), whole=whole, _source=self._source.select(list(names)))

    def limited(self, limit: PersonLimit, on_missing: str) -> Table:
        """Return the table with at most so many rows of each person.

        Rows of which it is not known to whom they belong are left out, or are an error with ``on_missing="error"``.

        Privacy
        -------
        Adding a person's rows adds at most `limit.most` rows to what this returns, and leaves the others as they were: see
        `dpmondrian.tables.persons.kept`.
        """
        persons, rows, _ = self.hashes(limit.key, on_missing)
        return self.only(kept(persons, rows, limit.most))

    def hashes(
        self, key: NDArray[np.uint64], on_missing: str
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], str | None]:
        """Return the hashes of the persons and of the rows (exact), by which rows are kept, and the kind of the persons' ids.

        `dpmondrian.tables.persons` says what they are.
        """
        persons, known, kind = person_hashes(self._person, key)
        if on_missing == "error" and not known.all():
            raise DataError(
                "The column of person ids contains missing values.",
                WayOut.DROP_UNKNOWN_PEOPLE,
                because={"on_missing": "error"},
            )
        rows = np.empty(self.n_rows, dtype=np.uint64)
        for start in self.starts():
            block = self.block(start)
            rows[start : start + len(block)] = row_hashes(block, persons[start : start + len(block)], key)
        return persons, rows, kind

    def only(self, wanted: NDArray[np.bool_]) -> Table:
        """Return the wanted rows of a named table; whose they are is forgotten."""
        mask = nw.new_series("wanted", wanted, nw.Boolean, backend=self._source.implementation)
        return replace(self, n_rows=int(wanted.sum()), _source=self._source.filter(mask), _person=None)


def read_table(
    X: Any,
    categories: Mapping[str, Category] | None = None,
    person_id: str | None = None,
    *,
    person_needed: bool = True,
) -> Table:
    """Return a view of a two-dimensional array or data frame, checked for shape and types only.

    Parameters
    ----------
    X : array or data frame
    categories : mapping from column name to Category, optional
        Columns that may hold other things than numbers.
    person_id : str, optional
        Column that tells to whom a row belongs; it is not among the columns of the table.
    person_needed : bool
        Whether that column must be there.
    """
    X, text_names = _with_text_names(X)
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(X, "column_names", None) or X.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"Column names must be different. Got {repeated!r} more than once; rename them.") from None
    if isinstance(frame, nw.DataFrame):
        there = person_needed or person_id in frame.columns
        if person_needed and person_id in frame.columns:
            check_ids_of(frame, person_id)
        return _read_frame(frame, text_names, categories or {}, person_id if there else None)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise DataError("The table is lazy. Call its collect() first, and pass what that returns.")
    if categories or (person_needed and person_id is not None):
        raise DataError(
            "Categories and person ids need a table with column names: pandas, polars or Arrow.", got="an array"
        )
    return _read_array(X)


@dataclass(frozen=True)
class Reader:
    """How tables are read, or the parts of a table that lie in different places; see `read_table`. Public.

    With `order` the columns of a named table come in this order, and there may be no others.
    """

    categories: Mapping[str, Category] = field(default_factory=dict)
    person_id: str | None = None
    person_needed: bool = True
    order: tuple[str, ...] | None = None

    def table(self, X: Any) -> Table:
        """Return a view of a table in memory."""
        table = read_table(X, self.categories, self.person_id, person_needed=self.person_needed)
        return table if self.order is None else table.reordered(self.order)


def _with_text_names(X: Any) -> tuple[Any, bool]:
    """Return a pandas table with its column names as text, and whether they were text before."""
    names = list(X.columns) if hasattr(X, "set_axis") and hasattr(X, "columns") else []
    if all(isinstance(name, str) for name in names):
        return X, True
    return X.set_axis([str(name) for name in names], axis=1), False


def _read_frame(
    frame: nw.DataFrame[Any], text_names: bool, categories: Mapping[str, Category], person_id: str | None
) -> Table:
    person = None
    if person_id is not None:
        if person_id not in frame.columns:
            raise DataError(
                parameter="person_id",
                rule="must name a column of the table",
                value=person_id,
                hint=f"{nearest_names([person_id], frame.columns)} Columns of the table: {frame.columns!r}.",
            )
        person, frame = frame[person_id], frame.drop(person_id)
    names = frame.columns
    if not names:
        raise DataError("The table has no columns. Give at least one numeric column.")
    _check_n_columns(len(names))
    types = frame.schema
    for name in names:
        dtype = types[name]
        if not (name in categories or dtype.is_numeric() or dtype == nw.Boolean):
            raise DataError(
                # Only the type's name: an enumeration would print its categories, which may come from the rows.
                f"Column {name!r} has type {type(dtype).__name__}, but only numbers and declared categories are clustered. "
                "Leave it out, or turn it into numbers, such as days since a fixed date, or declare its categories in the "
                "bounds, from public knowledge and not from the data: {'plan': ['basic', 'premium']}."
            )
    whole = tuple(types[name].is_integer() or types[name] == nw.Boolean for name in names)
    own = {name: categories[name] for name in names if name in categories}
    return Table(tuple(names), True, whole, len(frame), frame, text_names, own, person)


def _read_array(X: Any) -> Table:
    if hasattr(X, "toarray") or type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("Sparse data is not supported. Pass a dense array: X.toarray().")
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), np.nan, _numbers(X.filled(0)))  # a masked value is a missing value
    try:
        array = np.asarray(X)
    except ValueError:
        raise DataError("The rows differ in length. Give a table with the same columns in every row.") from None
    if array.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead{_of_type(X)}. Reshape your data using X.reshape(-1, 1) for one "
            "column or X.reshape(1, -1) for one row. Besides arrays, tables of pandas, polars, Arrow, Dask and Spark are taken, paths of "
            "files, DuckDB relations, and functions that return a new Arrow reader at each call."
        )
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported. Give real and imaginary parts as two columns.")
    if array.dtype.kind == "O":
        array = _numbers(array)
    if array.dtype.kind not in "biuf":
        raise DataError(
            # Only the kind of type: the type of texts would tell the length of the longest one.
            f"The array has type {array.dtype.type.__name__}, but only numbers are clustered. Encode text as one 0/1 column per category, "
            "with the categories fixed beforehand and not read from the data."
        )
    if array.shape[1] == 0:
        # scikit-learn's wording, without the number of rows: that is a fact of the data.
        raise DataError("0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Give at least one column.")
    _check_n_columns(array.shape[1])
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    # A list has no type of its own: NumPy would choose one by looking at the values.
    whole = isinstance(X, np.ndarray) and array.dtype.kind in "biu"
    return Table(names, False, (whole,) * array.shape[1], array.shape[0], array)


def _of_type(X: Any) -> str:
    """Return what somebody gave in the place of an array, in words."""
    return "" if isinstance(X, np.ndarray) else f", of a {type(X).__name__}"


def _check_n_columns(n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise DataError(f"The table has {n_columns} columns; at most {MOST_COLUMNS} are taken. Leave some out.")


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    with suppress(TypeError, ValueError, OverflowError):
        return array.astype(np.float64)
    # Outside of the block: the original error, which quotes a value of the data, is not even in the context of this one.
    raise DataError(
        "The array holds objects that are not numbers (argument must be numeric). Give numeric columns; encode text as "
        "one 0/1 column per category, with the categories fixed beforehand."
    )


def _as_own_floats(rows: Any) -> NDArray[np.float32] | None:
    """Return a block of float32 rows as it is; None for other rows."""
    if isinstance(rows, np.ndarray):
        return rows if rows.dtype == np.float32 and rows.flags.c_contiguous else None
    if not (isinstance(rows, nw.DataFrame) and rows.implementation.is_pyarrow()):
        return None
    native = rows.to_native()
    columns = np.empty((native.num_columns, native.num_rows), dtype=np.float32)
    is_narrow = all(str(kind) == "float" for kind in native.schema.types)
    return columns.T if is_narrow and all(map(_copied_floats, native.columns, columns)) else None


def _as_floats(rows: Any, categories: Mapping[str, Category]) -> NDArray[np.float64]:
    if not isinstance(rows, nw.DataFrame):
        return np.ascontiguousarray(rows, dtype=np.float64)
    columns, native = np.empty((len(rows.columns), len(rows))), rows.to_native()
    for j, name in enumerate(rows.columns):
        if name in categories:
            columns[j] = _category_numbers(rows[name], categories[name])
        elif not (rows.implementation.is_pyarrow() and _copied_floats(native.column(j), columns[j])):
            columns[j] = _column_as_floats(rows[name])
    return columns.T


def _copied_floats(column: Any, values: NDArray[Any]) -> bool:
    """Write an Arrow column to an array if nothing needs to be converted but the width of floats; say whether it was."""
    if str(column.type) not in ("float", "double") or column.null_count:
        return False
    end = 0
    for chunk in column.chunks:
        begin, end = end, end + len(chunk)
        values[begin:end] = chunk.to_numpy()
    return True


def _category_numbers(column: nw.Series[Any], category: Category) -> NDArray[np.float64]:
    """Return the numbers of a column's values among the levels of its category; undeclared ones are "other"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = texts_of_column(column)
    levels = pa.array([canonical_text(level) for level in category.levels], pa.large_string())
    found = pc.index_in(texts, levels)
    numbers = np.asarray(pc.fill_null(found, category.levels.index(OTHER)), dtype=np.float64)
    return np.where(np.asarray(pc.is_null(texts), dtype=bool), np.nan, numbers)


def _column_as_floats(column: nw.Series[Any]) -> NDArray[np.float64]:
    if not column.dtype.is_decimal():  # whose conversion may round by the scale of the column, so by its other rows
        with suppress(Exception):  # Arrow refuses integers that a float must round, and its error quotes them
            return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return np.array([_as_float(value) for value in column.to_list()], dtype=np.float64)


def _as_float(value: Any) -> float:
    """Return a number as the nearest float; NaN for a missing one."""
    with suppress(TypeError, ValueError):
        return float(value)
    return np.nan
