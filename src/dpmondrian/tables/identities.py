"""Whose row it is: an id as bytes, one form for each person and one person for each form.

Ids are of one *kind* over the whole table, however many files and parts it has, and different ids of a kind have different
bytes. Texts are their own bytes, as they are written. Numbers must be whole, and are the same if their values are, whatever
their type. Dates and times are the same only in one type: a day and its midnight, or a time with and without a zone, may be
one person or two, and nobody here can know.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from dpmondrian.exceptions import DataError
from dpmondrian.schema import arrow_codes, holds_objects, is_text

NOBODY = ("", "NA", "N/A", "n/a", "<NA>", "nan", "NaN", "NaT", "null", "NULL", "None", "none")
"""Texts by which files say that they do not know whose row it is, with or without white space around."""
_LARGEST_EXACT = {2: 2**11, 4: 2**24, 8: 2**53}  # up to here floats tell whole numbers apart, by their bytes
_MOST_DIGITS = 76
_EXTENSION_KEY = b"ARROW:extension:name"
"""Where a field says what extension it is, if nobody here knows that extension and its type is that of what is stored."""
_EXTENSIONS = ("arrow.uuid", "arrow.json")
"""Whose bytes are all that they say. Of others the type says more: the frequency of pandas' periods, an address in memory."""


class Identities(NamedTuple):
    """The ids of a column (sensitive), and their kind, which ids of other parts of the table must have too.

    The kind is for comparison only: it may come from the values, so it is not shown.
    """

    ids: Any  # a pyarrow.LargeBinaryArray, null where it is not known whose row it is
    kind: str | None  # None where nobody is known


class NoIdError(ValueError):
    """A value or a type that is no id: what is wrong with it, without the value, and what to do about it."""

    def __init__(self, problem: str, way_out: str) -> None:
        super().__init__(problem)
        self.way_out = way_out

    def of_column(self, name: str) -> DataError:
        """Return the error about a column."""
        return DataError(f"The column {name!r} of person ids {self}.", self.way_out)


_OTHER = (
    "contains values that are neither strings, numbers nor dates of one type",
    "Remove it, or convert them to strings.",
)
_SEVERAL = (
    "contains ids of several types, such as strings and numbers, or times of different types: 7 and '7' may be one person or two",
    "Write it with one type in all rows and files.",
)
_EXTENSION = (
    "has an extension type, which may carry more meaning than the stored numbers or bytes: month 5 and day 5 are both 5",
    "Convert it to strings.",
)
_OBJECTS = (
    "contains Python objects and would lose their types on the way",
    "Collect the table first, or convert them to strings.",
)
_FRACTION = (
    "contains numbers that are not integers, and 7.5 and '7.50' may be one person or two",
    "Read it as strings.",
)
_TOO_LARGE = (
    "contains numbers that a float cannot distinguish, so rows of different people would count as one person's",
    "Read it as integers or strings.",
)


def identities(column: nw.Series[Any]) -> Identities:
    """Return the ids of a column of any library; raise `DataError`, without a value, if one is no id or kinds differ."""
    try:
        return _of_column(column)
    except NoIdError as error:
        refused = error.of_column(column.name)
    except Exception:  # of a library, which may quote a value
        refused = NoIdError(*_OTHER).of_column(column.name)
    # Outside of the block: the original error is not even in the context of this one.
    raise refused


def one_kind(kinds: Iterable[str | None]) -> str | None:
    """Return the kind of ids that all parts of a table have; None if nobody is known.

    Several are refused: one person might be written in two ways, and keep the rows of two.
    """
    found = set(kinds) - {None}
    if len(found) > 1:
        raise DataError(f"The column of person ids {_SEVERAL[0]}.", _SEVERAL[1])
    return next(iter(found), None)


def kind_of_field(field: Any) -> str | None:
    """Return the kind of ids of an Arrow field: of its type, as in `kind_of_ids`, and of what else is said about it."""
    extension = (field.metadata or {}).get(_EXTENSION_KEY)
    if extension is not None and extension.decode(errors="replace") not in _EXTENSIONS:
        raise NoIdError(*_EXTENSION)
    return kind_of_ids(field.type)


def kind_of_ids(type_: Any) -> str | None:
    """Return the kind of ids that an Arrow type holds, None for one without values; raise `NoIdError` if it holds none."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(type_, pa.BaseExtensionType):
        if type_.extension_name not in _EXTENSIONS:
            raise NoIdError(*_EXTENSION)
        return kind_of_ids(type_.storage_type)
    if types.is_null(type_):
        return None
    if types.is_dictionary(type_):
        return kind_of_ids(type_.value_type)
    if is_text(type_):
        return "text"
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_boolean(type_):
        return "truth"
    if _is_bytes(type_):
        return "bytes"
    if types.is_temporal(type_) and not types.is_interval(type_):
        return str(type_)
    raise NoIdError(*_OTHER)


def check_ids_of(frame: nw.DataFrame[Any], name: str) -> None:
    """Refuse a column whose type holds no ids, as far as only the table, and not the column by itself, says so."""
    native = frame.to_native()
    if frame.implementation.is_polars() and not holds_objects(frame[name]):
        field = _polars_field(native, name)
    elif frame.implementation.is_pyarrow():
        field = native.schema.field(name)
    else:
        return
    try:
        kind_of_field(field)
        return
    except NoIdError as error:
        refused = error.of_column(name)
    raise refused


def _polars_field(frame: Any, name: str) -> Any:
    """Return a column's field in Arrow; polars has types that Arrow does not know, and these hold no ids."""
    import pyarrow as pa

    try:
        return frame.select(name).head(0).to_arrow().schema.field(0)
    except Exception:
        return pa.field(name, pa.list_(pa.null()))


def refuse_objects(frame: Any, name: str) -> None:
    """Raise `NoIdError` for a column of Python objects in a table of pandas or polars that is about to become Arrow's."""
    found = nw.from_native(frame, eager_only=True, pass_through=True)
    if isinstance(found, nw.DataFrame) and name in found.columns and holds_objects(found[name]):
        raise NoIdError(*_OBJECTS)


def _is_bytes(type_: Any) -> bool:
    from pyarrow import types

    tests = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    return any(test(type_) for test in tests)


def _of_column(column: nw.Series[Any]) -> Identities:
    native = column.to_native()
    if holds_objects(column):
        return identities_of_values(column.to_list())
    if hasattr(getattr(native, "cat", None), "categories"):  # pandas, whose categories may be any Python values too
        of_categories = _of_column(nw.from_native(native.cat.categories.to_series(), series_only=True))
        return _checked(of_categories.ids.take(arrow_codes(native.cat.codes.to_numpy())), of_categories.kind)
    array = column.to_arrow()
    return _checked(_bytes_of(array), kind_of_ids(array.type))


def _checked(ids: Any, kind: str | None) -> Identities:
    """Return ids without those of nobody."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "text":
        words = pc.ascii_trim_whitespace(ids.cast(pa.large_string()))  # which refuses what is not UTF-8
        ids = pc.if_else(pc.is_in(words, pa.array(NOBODY, pa.large_string())), pa.scalar(None, ids.type), ids)
    elif kind == "bytes":
        ids = pc.if_else(pc.equal(pc.binary_length(ids), 0), pa.scalar(None, ids.type), ids)
    return Identities(ids, None if ids.null_count == len(ids) else kind)


def _bytes_of(array: Any) -> Any:
    """Return the ids of an Arrow array of one type: different values have different bytes, equal ones the same."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(array, pa.ChunkedArray):
        parts = [_bytes_of(chunk) for chunk in array.chunks]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
    if isinstance(array, pa.ExtensionArray):
        kind_of_ids(array.type)  # which refuses all but a few
        return _bytes_of(array.storage)
    if types.is_dictionary(array.type):
        return _bytes_of(array.dictionary).take(array.indices)
    if is_text(array.type) or _is_bytes(array.type) or types.is_null(array.type):
        return array.cast(pa.large_binary())
    return _as_numbers(array).cast(pa.large_string()).cast(pa.large_binary())


def _as_numbers(array: Any) -> Any:
    """Return whole numbers, and the numbers that stand for dates and truth values in memory."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_integer(array.type) or types.is_boolean(array.type):
        return array
    if types.is_floating(array.type):
        return _whole_floats(array)
    if types.is_decimal(array.type):
        return _whole_decimals(array)
    kind_of_ids(array.type)  # of dates, or refused
    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())


def _whole_floats(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    largest = _LARGEST_EXACT[array.type.bit_width // 8]
    values = array.cast(pa.float64())
    values = pc.if_else(pc.is_nan(values), None, values)
    if pc.any(pc.greater_equal(pc.abs(values), float(largest))).as_py():
        raise NoIdError(*_TOO_LARGE)
    if pc.any(pc.not_equal(values, pc.trunc(values))).as_py():
        raise NoIdError(*_FRACTION)
    return values.cast(pa.int64())


def _whole_decimals(array: Any) -> Any:
    import pyarrow as pa

    try:
        return array.cast(pa.decimal256(_MOST_DIGITS, 0))
    except pa.ArrowInvalid:
        pass  # its words quote a value
    raise NoIdError(*_FRACTION)


def identities_of_values(values: Iterable[Any]) -> Identities:
    """Return the ids of Python values, which must be of one kind."""
    import pyarrow as pa

    found = [_of_value(value) for value in values]
    kinds = {kind for kind, _ in found} - {None}
    if len(kinds) > 1:
        raise NoIdError(*_SEVERAL)
    return _checked(pa.array([own for _, own in found], pa.large_binary()), next(iter(kinds), None))


def _of_value(value: Any) -> tuple[str | None, bytes | None]:
    """Return the kind and the bytes of an id; None and None for a missing one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value):
        return None, None
    if isinstance(value, str):
        return "text", value.encode("utf-8")
    if isinstance(value, bytes):
        return "bytes", value
    if isinstance(value, bool | np.bool_):
        return "truth", b"true" if value else b"false"
    if isinstance(value, Integral | Decimal | float | np.float32 | np.float16):
        return "number", str(_whole(value)).encode()
    if isinstance(value, date | time) and getattr(value, "tzinfo", None) is None:
        kind = datetime if isinstance(value, datetime) else date if isinstance(value, date) else time
        return kind.__name__, value.isoformat().encode()
    raise NoIdError(*_OTHER)


def _is_nan(value: Any) -> bool:
    return (
        value.is_nan()
        if isinstance(value, Decimal)
        else isinstance(value, float | np.floating) and bool(np.isnan(value))
    )


def _whole(value: Any) -> int:
    """Return the whole number that a number is."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Decimal):
        too_large = value.is_infinite() or value.adjusted() >= _MOST_DIGITS
    else:
        too_large = abs(value) >= _LARGEST_EXACT[np.dtype(type(value)).itemsize]
    if too_large:
        raise NoIdError(*_TOO_LARGE)
    if value != int(value):
        raise NoIdError(*_FRACTION)
    return int(value)
