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

from dpmondrian.domain import OTHER, Category, nearest_names
from dpmondrian.exceptions import DataError
from dpmondrian.texts import canonical, canonical_text, texts_of_arrow, texts_of_values

__all__ = ["BLOCK_ROWS", "Table", "read_table"]

BLOCK_ROWS = 16_384
MOST_COLUMNS = 2**20
"""With more, squared distances would no longer be exact (``docs/privacy/representation.md``)."""
_LARGEST_EXACT = {"Float64": 2.0**53, "Float32": 2.0**24, "Float16": 2.0**11}
"""Up to here floats tell whole numbers apart, by type."""
_NOBODY = ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None")
"""Texts by which files say that they do not know whose row it is."""


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
        """Return the rows from `start` on as a C-contiguous float64 block of shape (<= BLOCK_ROWS, n_columns)."""
        return _as_floats(self._source[start : start + BLOCK_ROWS], self.categories)

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all blocks in order."""
        return map(self.block, self.starts())

    def starts(self) -> range:
        """Return the first row of every block."""
        return range(0, self.n_rows, BLOCK_ROWS)

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

    def limited(self, most: int, keys: NDArray[np.uint64], on_missing: str) -> Table:
        """Return the table with at most so many rows of each person: those with the smallest of the random keys.

        Rows of which it is not known to whom they belong are left out, or are an error with ``on_missing="error"``.

        Privacy
        -------
        Whether a row is kept depends on the rows and keys of its person alone. So adding a person's rows adds at most `most`
        rows to what this returns, and leaves the law of the others as it was. Argument: ``docs/privacy/persons.md``; tests
        that try to break it: ``tests/privacy/test_persons.py``.
        """
        person = _numbered(self._person)
        known = person >= 0
        if on_missing == "error" and not known.all():
            raise DataError(
                "The column of 'person_id' contains missing values, and on_missing='error'. Use on_missing='drop' or 'middle' to "
                "leave rows out of which it is not known to whom they belong."
            )
        kept = known & first_of_each(person, keys, most)
        mask = nw.new_series("kept", kept, nw.Boolean, backend=self._source.implementation)
        return replace(self, n_rows=int(kept.sum()), _source=self._source.filter(mask), _person=None)


def first_of_each(group: NDArray[np.int64], keys: NDArray[np.uint64], most: int) -> NDArray[np.bool_]:
    """Return which rows are among the `most` ones of their group with the smallest keys."""
    order = np.lexsort((keys, group))
    begins = np.flatnonzero(np.diff(group[order], prepend=-2))
    rank = np.arange(len(group)) - np.repeat(begins, np.diff(begins, append=len(group)))
    kept = np.empty(len(group), dtype=bool)
    kept[order] = rank < most
    return kept


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
        return _read_frame(frame, text_names, categories or {}, person_id if there else None)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise DataError("The table is lazy. Call its collect() first, and pass what that returns.")
    if categories or (person_needed and person_id is not None):
        raise DataError(
            "Categories and 'person_id' need a table with column names: pandas, polars or Arrow. Got an array."
        )
    return _read_array(X)


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
                f"The 'person_id' parameter must name a column of the table. Got {person_id!r}."
                f"{nearest_names([person_id], frame.columns)} Columns of the table: {frame.columns!r}."
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
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data using X.reshape(-1, 1) for one "
            "column or X.reshape(1, -1) for one row."
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


def _as_floats(rows: Any, categories: Mapping[str, Category]) -> NDArray[np.float64]:
    if not isinstance(rows, nw.DataFrame):
        return np.ascontiguousarray(rows, dtype=np.float64)
    columns = [
        _category_numbers(rows[name], categories[name]) if name in categories else _column_as_floats(rows[name])
        for name in rows.columns
    ]
    return np.ascontiguousarray(np.column_stack(columns))


def _category_numbers(column: nw.Series[Any], category: Category) -> NDArray[np.float64]:
    """Return the numbers of a column's values among the levels of its category; undeclared ones are "other"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _texts(column)
    levels = pa.array([canonical_text(level) for level in category.levels], pa.large_string())
    found = pc.index_in(texts, levels)
    numbers = np.asarray(pc.fill_null(found, category.levels.index(OTHER)), dtype=np.float64)
    return np.where(np.asarray(pc.is_null(texts), dtype=bool), np.nan, numbers)


def _numbered(column: nw.Series[Any]) -> NDArray[np.int64]:
    """Return a number for each person of a column, -1 for missing ones; persons are the same if their texts are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    largest = _LARGEST_EXACT.get(type(column.dtype).__name__, _LARGEST_EXACT["Float64"])
    if column.dtype.is_float() and np.any(np.abs(column.cast(nw.Float64).to_numpy()) >= largest):
        raise DataError(
            f"Column {column.name!r} of 'person_id' holds numbers that a float cannot tell apart, so rows of different people would "
            "count as one person's. Read it as whole numbers or texts."
        )
    texts = _texts(column)
    known = pc.invert(pc.is_in(texts, pa.array(_NOBODY, pa.large_string())))
    codes = pc.if_else(known, texts, None).dictionary_encode()
    return np.asarray(pc.fill_null(codes.indices.cast(pa.int64()), -1), dtype=np.int64)


def _texts(column: nw.Series[Any]) -> Any:
    """Return the texts of a column, each from its own value; see `dpmondrian.texts`."""
    with suppress(Exception):
        return canonical(_own_texts(column, column.to_native()))
    # Outside of the block: errors of Arrow quote a value.
    raise DataError(
        f"Column {column.name!r} holds values that are neither texts nor numbers. Leave it out, or turn them into texts."
    )


def _own_texts(column: nw.Series[Any], native: Any) -> Any:
    if getattr(getattr(native, "dtype", None), "hasobject", False):  # pandas: any Python values
        return texts_of_values(native)
    if hasattr(getattr(native, "cat", None), "categories"):  # pandas, whose categories may be any Python values too
        return texts_of_values(native.cat.categories).take(_arrow_codes(native.cat.codes.to_numpy()))
    return texts_of_arrow(column.to_arrow())


def _arrow_codes(codes: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(codes.astype(np.int64), mask=codes < 0)


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
