"""Tables in, blocks of float64 rows out: NumPy arrays, and pandas, polars, Arrow through narwhals.

A table is read in blocks, so that no second copy of it is ever in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.domain import nearest_names
from dpmondrian.exceptions import DataError

__all__ = ["BLOCK_ROWS", "Table", "read_table"]

BLOCK_ROWS = 16_384
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
    """

    names: tuple[str, ...]
    named: bool
    whole: tuple[bool, ...]
    n_rows: int
    _source: Any
    text_names: bool = True

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def block(self, start: int) -> NDArray[np.float64]:
        """Return the rows from `start` on as a C-contiguous float64 block of shape (<= BLOCK_ROWS, n_columns)."""
        return _as_floats(self._source[start : start + BLOCK_ROWS])

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
        order = [self.names.index(name) for name in names]
        source = self._source.select(list(names))
        return Table(tuple(names), True, tuple(self.whole[i] for i in order), self.n_rows, source, self.text_names)


def read_table(X: Any) -> Table:
    """Return a view of a two-dimensional array or data frame, checked for shape and types only."""
    X, text_names = _with_text_names(X)
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(X, "column_names", None) or X.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"Column names must be different. Got {repeated!r} more than once; rename them.") from None
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, text_names)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise DataError("The table is lazy. Call its collect() first, and pass what that returns.")
    return _read_array(X)


def _with_text_names(X: Any) -> tuple[Any, bool]:
    """Return a pandas table with its column names as text, and whether they were text before."""
    names = list(X.columns) if hasattr(X, "set_axis") and hasattr(X, "columns") else []
    if all(isinstance(name, str) for name in names):
        return X, True
    return X.set_axis([str(name) for name in names], axis=1), False


def _read_frame(frame: nw.DataFrame[Any], text_names: bool) -> Table:
    names = frame.columns
    if not names:
        raise DataError("The table has no columns. Give at least one numeric column.")
    _check_n_columns(len(names))
    types = frame.schema
    for name in names:
        dtype = types[name]
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise DataError(
                # Only the type's name: an enumeration would print its categories, which may come from the rows.
                f"Column {name!r} has type {type(dtype).__name__}, but only numbers are clustered. Leave it out, or turn it "
                "into numbers: days since a fixed date, or one 0/1 column per category, with the categories fixed beforehand "
                "and not read from the data."
            )
    whole = tuple(types[name].is_integer() or types[name] == nw.Boolean for name in names)
    return Table(tuple(names), True, whole, len(frame), frame, text_names)


def _read_array(X: Any) -> Table:
    if hasattr(X, "toarray") or type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("Sparse data is not supported. Pass a dense array: X.toarray().")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)  # a masked value is a missing value
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


def _numbers(array: NDArray[np.object_]) -> NDArray[np.float64]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        # The original error would quote a value of the data.
        raise DataError(
            "The array holds objects that are not numbers (argument must be numeric). Give numeric columns; encode text as "
            "one 0/1 column per category, with the categories fixed beforehand."
        ) from None


def _as_floats(rows: Any) -> NDArray[np.float64]:
    if isinstance(rows, nw.DataFrame):
        return np.ascontiguousarray(np.column_stack([_column_as_floats(rows[name]) for name in rows.columns]))
    return np.ascontiguousarray(rows, dtype=np.float64)


def _column_as_floats(column: nw.Series[Any]) -> NDArray[np.float64]:
    try:
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    except Exception:  # Arrow refuses integers that a float must round, and its error quotes them
        return np.array(column.to_list(), dtype=np.float64)
