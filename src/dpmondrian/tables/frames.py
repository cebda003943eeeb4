"""Tables in, blocks of float64 rows out: NumPy arrays, and pandas, polars, Arrow through narwhals; and results as frames of these libraries.

A table is read in blocks, so that no second copy of it is ever in memory. A category becomes its number among the
declared ones. A column that tells to whom a row belongs is used to limit the rows per person, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.schema import Category, Notation, UnreadableError, holds_objects, texts_of_column
from dpmondrian.tables.identities import check_ids_of
from dpmondrian.tables.persons import PersonLimit, person_hashes, row_hashes, rows_to_keep

if TYPE_CHECKING:
    from dpmondrian.tables.stream import Stream


# Results do not depend on these two: they are a matter of speed and memory.
BLOCK_ROWS = 2**14  # rows that are turned into floats together: few enough for the caches of a processor
PART_ROWS = 2**17  # rows that a thread takes at a time, and whose codes are kept together: enough to be worth the while
MOST_COLUMNS = 2**20  # with more, squared distances would no longer be exact (``docs/privacy/representation.md``).


@dataclass(frozen=True)
class Table:
    """A view of the caller's table. Of categories, blocks hold the numbers among `Category.levels`, NaN where one is missing."""

    names: tuple[str, ...]
    named: bool  # whether the names are the table's own
    whole: tuple[bool, ...]  # whether each column has an integer type
    n_rows: int = field(repr=False)  # exact: stays inside
    _source: Any = field(repr=False)
    text_names: bool = True  # in pandas they need not be
    written: Mapping[str, Category | Notation] = field(default_factory=dict)  # columns that are not simply numbers
    _person: Any = field(default=None, repr=False)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def block(self, start: int) -> NDArray[np.float64]:
        """Return the rows from `start` on as a float64 block of shape (<= BLOCK_ROWS, n_columns).

        Its rows or its columns are contiguous, as they are in the table.
        """
        return _as_floats(self._source[start : start + BLOCK_ROWS], self.written)

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
                f"The table has columns that the model was not fitted on: {extra!r}.",
                f"Remove them; the model was fitted on {list(names)!r}.",
            )
        whole = tuple(self.whole[self.names.index(name)] for name in names)
        return replace(self, names=tuple(names), whole=whole, _source=self._source.select(list(names)))

    def limited(self, limit: PersonLimit, on_missing: str) -> Table:
        """Return the table with at most so many rows of each person.

        Rows of which it is not known to whom they belong are left out, or are an error with ``on_missing="error"``.

        Privacy
        -------
        Adding a person's rows adds at most `limit.most` rows to what this returns, and leaves the others as they were: see
        `dpmondrian.tables.persons.rows_to_keep`.
        """
        persons, rows, _ = self.hashes(limit.key, on_missing)
        return self.only(rows_to_keep(persons, rows, limit.most))

    def hashes(
        self, key: NDArray[np.uint64], on_missing: str
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], str | None]:
        """Return the hashes of persons and rows (exact, see `dpmondrian.tables.persons`), and the kind of the ids."""
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
    written: Mapping[str, Category | Notation] | None = None,
    person_id: str | None = None,
    *,
    person_needed: bool = True,
) -> Table:
    """Return a view of a two-dimensional array or data frame, checked for shape and types only.

    Columns of `written` may hold other things than numbers. The column `person_id` tells to whom a row belongs, and is not
    among the columns of the table; `person_needed` says whether it must be there.
    """
    X, text_names = _with_text_names(X)
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(X, "column_names", None) or X.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"Column names must be unique. Got {repeated!r} more than once; rename them.") from None
    if isinstance(frame, nw.DataFrame):
        there = person_needed or person_id in frame.columns
        if person_needed and person_id in frame.columns:
            check_ids_of(frame, person_id)
        return _read_frame(frame, text_names, written or {}, person_id if there else None)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise DataError("The table is lazy.", "Call its collect() method first, and pass the result.")
    if written or (person_needed and person_id is not None):
        raise DataError(
            "Categories, dates, bands and person ids require a table with column names: pandas, polars or Arrow.",
            got="an array",
        )
    return _read_array(X)


@dataclass(frozen=True)
class Reader:
    """How tables are read, or the parts of a table that lie in different places; see `read_table`. Public.

    With `order` the columns of a named table come in this order, and there may be no others.
    """

    written: Mapping[str, Category | Notation] = field(default_factory=dict)
    person_id: str | None = None
    person_needed: bool = True
    order: tuple[str, ...] | None = None

    def table(self, X: Any) -> Table:
        """Return a view of a table in memory."""
        table = read_table(X, self.written, self.person_id, person_needed=self.person_needed)
        return table if self.order is None else table.reordered(self.order)

    @property
    def needed_person(self) -> str | None:
        """The column that tells to whom a row belongs, if it must be there."""
        return self.person_id if self.person_needed else None

    @property
    def of_streams(self) -> Reader:
        """The same for what a stream gives, whose readers have turned notations into numbers already."""
        return replace(self, written={name: how for name, how in self.written.items() if isinstance(how, Category)})


def open_table(X: Any, reader: Reader, columns: Sequence[str] | None) -> Table | Stream:
    """Return a table in memory as a view of it, and anything else as a stream (`dpmondrian.tables.opening`).

    `columns` are read where reading fewer than all saves time, such as from files; None for all.
    """
    if isinstance(X, np.ndarray):
        return reader.table(X)
    from dpmondrian.tables.opening import open_stream

    stream = open_stream(X, columns, reader)
    return reader.table(X) if stream is None else stream


def _with_text_names(X: Any) -> tuple[Any, bool]:
    """Return a pandas table with its column names as text, and whether they were text before."""
    names = list(X.columns) if hasattr(X, "set_axis") and hasattr(X, "columns") else []
    if all(isinstance(name, str) for name in names):
        return X, True
    return X.set_axis([str(name) for name in names], axis=1), False


def _read_frame(
    frame: nw.DataFrame[Any], text_names: bool, written: Mapping[str, Category | Notation], person_id: str | None
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
        raise DataError("The table has no columns.", "Pass at least one numeric column.")
    _check_n_columns(len(names))
    types = frame.schema
    for name in names:
        dtype = types[name]
        if not (name in written or dtype.is_numeric() or dtype == nw.Boolean):
            raise DataError(
                # Only the type's name: an enumeration would print its categories, which may come from the rows.
                f"Column {name!r} has type {type(dtype).__name__}, but only numbers and declared categories can be clustered.",
                "Convert it to numbers or remove it. If it holds categories, declare its categories in the bounds, from public knowledge and not from the data: {'plan': ['basic', 'premium']}."
                " If it holds dates, say how they are written: {'admitted': {'date': 'days', 'lower': '2010-01-01', 'upper': '2020-12-31'}}.",
            )
    whole = tuple(types[name].is_integer() or types[name] == nw.Boolean for name in names)
    own = {name: written[name] for name in names if name in written}
    return Table(tuple(names), True, whole, len(frame), frame, text_names, own, person)


def _read_array(X: Any) -> Table:
    if hasattr(X, "toarray") or type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("Sparse data is not supported. Pass a dense array: X.toarray().")
    if isinstance(X, np.ma.MaskedArray):
        X = np.where(np.ma.getmaskarray(X), np.nan, _numbers(X.filled(0)))  # a masked value is a missing value
    try:
        array = np.asarray(X)
    except ValueError:
        raise DataError("The rows differ in length.", "Pass a table with the same columns in every row.") from None
    if array.ndim != 2:
        given = "" if isinstance(X, np.ndarray) else f" (a {type(X).__name__})"
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array{given} instead.",
            "Reshape your data using X.reshape(-1, 1) for one "
            "column or X.reshape(1, -1) for one row. Other supported inputs: pandas, polars, Arrow, Dask and Spark tables, file paths, DuckDB relations, and functions that return a new Arrow reader on each call.",
        )
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported.", "Pass real and imaginary parts as two columns.")
    if array.dtype.kind == "O":
        array = _numbers(array)
    if array.dtype.kind not in "biuf":
        raise DataError(
            # Only the kind of type: the type of texts would tell the length of the longest one.
            f"The array has type {array.dtype.type.__name__}, but only numbers can be clustered.",
            "Encode text as one 0/1 column per category, "
            "with the categories fixed beforehand and not read from the data.",
        )
    if array.shape[1] == 0:
        # scikit-learn's wording, without the number of rows: that is a fact of the data.
        raise DataError("0 feature(s) (shape=(, 0)) while a minimum of 1 is required.", "Pass at least one column.")
    _check_n_columns(array.shape[1])
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    # A list has no type of its own: NumPy would choose one by looking at the values.
    whole = isinstance(X, np.ndarray) and array.dtype.kind in "biu"
    return Table(names, False, (whole,) * array.shape[1], array.shape[0], array)


def _check_n_columns(n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise DataError(f"The table has {n_columns} columns; at most {MOST_COLUMNS} are supported.", "Remove some.")


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    with suppress(TypeError, ValueError, OverflowError):
        return array.astype(np.float64)
    # Outside of the block: the original error, which quotes a value of the data, is not even in the context of this one.
    raise DataError(
        "The array contains objects that are not numbers (argument must be numeric).",
        "Pass numeric columns; encode text as one 0/1 column per category, with the categories fixed beforehand.",
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


def _as_floats(rows: Any, written: Mapping[str, Category | Notation]) -> NDArray[np.float64]:
    if not isinstance(rows, nw.DataFrame):
        return np.ascontiguousarray(rows, dtype=np.float64)
    columns, native = np.empty((len(rows.columns), len(rows))), rows.to_native()
    for j, name in enumerate(rows.columns):
        if name in written:
            columns[j] = _declared_numbers(rows[name], written[name])
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
        if len(chunk):  # from its memory, since `to_numpy` would load pandas
            kind = np.dtype(np.float32 if str(column.type) == "float" else np.float64)
            values[begin:end] = np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * kind.itemsize)
    return True


def _declared_numbers(column: nw.Series[Any], written: Category | Notation) -> NDArray[np.float64]:
    """Return what the values of a column stand for: numbers, or the numbers of categories among their levels."""
    if isinstance(written, Category):
        return written.numbers(texts_of_column(column))
    try:
        if holds_objects(column) or hasattr(getattr(column.to_native(), "cat", None), "categories"):
            return written.of_values(column.to_list())
        return written.of_arrow(column.to_arrow())
    except UnreadableError as error:
        refused = DataError(f"Column {column.name!r} contains a value that {error}.", error.way_out)
    except Exception:  # of a library, which may quote a value
        refused = DataError(f"Column {column.name!r} contains a value that {written.problem}.")
    raise refused


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


_LIBRARIES = ("pandas", "polars")


def frames_of(X: Any) -> str | None:
    """Return the library of a table in memory or on disk: "polars" or "pandas"; None for whatever else it is."""
    library = type(X).__module__.partition(".")[0]
    return library if library in _LIBRARIES else None


def frame_of(columns: Mapping[str, Any], library: str | None) -> Any:
    """Return columns as a frame of a library; without one, of the first that is installed, or an Arrow table."""
    for name in (library,) if library else _LIBRARIES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.DataFrame({key: _plain(values) for key, values in columns.items()})
    import pyarrow

    return pyarrow.table(dict(columns))


def _plain(values: Any) -> Any:
    """Return texts as a list, of which every library makes a column of texts."""
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "O" else values
