"""Values as texts, one by one: for categories.

The text of a value depends on that value alone. A library that finds one type for a whole column would make it depend
on the other rows: beside 1.55 the decimal number 1.5 may become "1.50", and then one row changes the category of all others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import DataError

_LARGEST_EXACT_FLOAT = 2.0**53
_PANDAS_TYPES = ("StringDtype", "ArrowDtype", "CategoricalDtype")
"""Of pandas, that seem to hold objects, and have a type of their own."""


class NoTextError(ValueError):
    """A value that has no text: a list, an object, bytes that are not UTF-8."""


def text_of(value: Any) -> str | None:
    """Return the text that a person would write for a value, None for a missing one; raise `NoTextError` if there is none.

    1, 1.0 and Decimal("1.00") are "1"; truth values are "true" and "false"; dates are as in ISO 8601.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, Real):
        return _float_text(float(value))
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            pass
    raise NoTextError


_CANONICAL = (
    (r"^[\t\n\f\r ]+|[\t\n\f\r ]+$", ""),
    (r"^(-?[0-9]+)\.0+$", r"\1"),
    (r"^-0$", "0"),
    (r"^[Tt]rue$|^TRUE$", "true"),
    (r"^[Ff]alse$|^FALSE$", "false"),
)
"""Files write one value in several ways: " 1", "1.0" and "1", "True" and "true"."""
_NOT_CANONICAL = r"^[\t\n\f\r ]|[\t\n\f\r ]$|^-?[0-9]+\.0+$|^-0$|^(?:True|TRUE|False|FALSE)$"
"""What the patterns above would change."""


def canonical_text(text: str) -> str:
    """Return the one way to write a text, by which texts are compared."""
    for pattern, replacement in _CANONICAL:
        text = re.sub(pattern, replacement, text)
    return text


def canonical(texts: Any) -> Any:
    """Return an Arrow array of texts, each written in its one way: `canonical_text`."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, _NOT_CANONICAL)).as_py():  # several times faster, and usual
        return texts
    for pattern, replacement in _CANONICAL:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


def _float_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_EXACT_FLOAT else repr(value)


def _decimal_text(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def texts_of_values(values: Iterable[Any]) -> Any:
    """Return Python values as an Arrow array of texts."""
    import pyarrow as pa

    return pa.array([text_of(value) for value in values], pa.large_string())


def is_text(type_: Any) -> bool:
    """Return whether an Arrow type is one of texts."""
    from pyarrow import types

    return any(test(type_) for test in (types.is_string, types.is_large_string, types.is_string_view))


def texts_of_arrow(array: Any) -> Any:
    """Return an Arrow array as texts; each different value is turned into a text once."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        pieces = [texts_of_arrow(chunk) for chunk in array.chunks]
        return (
            pa.chunked_array(pieces, pa.large_string()).combine_chunks() if pieces else pa.array([], pa.large_string())
        )
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        return texts_of_arrow(array.dictionary).take(array.indices)
    if is_text(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_nested(array.type):
        raise NoTextError
    if pa.types.is_integer(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":  # Python's dates have no nanoseconds
        return array.cast(pa.string()).cast(pa.large_string())
    if pa.types.is_float16(array.type):  # of which older versions of Arrow make no dictionary
        array = array.cast(pa.float32())
    encoded = array.dictionary_encode()
    return texts_of_values(encoded.dictionary.to_pylist()).take(encoded.indices)


def texts_of_column(column: nw.Series[Any]) -> Any:
    """Return the texts of a column of any library, each from its own value and written in its one way."""
    with suppress(Exception):
        return canonical(_own_texts(column, column.to_native()))
    # Outside of the block: errors of Arrow quote a value.
    raise DataError(
        f"Column {column.name!r} contains values that are neither strings nor numbers.",
        "Remove it, or convert them to strings.",
    )


def holds_objects(column: nw.Series[Any]) -> bool:
    """Return whether a column of pandas or polars holds any Python values, of which Arrow would find a type, or see addresses only."""
    dtype = getattr(column.to_native(), "dtype", None)
    if getattr(dtype, "kind", None) == "O":  # pandas, and its extensions
        return type(dtype).__name__ not in _PANDAS_TYPES
    return column.implementation.is_polars() and column.dtype == nw.Object


def _own_texts(column: nw.Series[Any], native: Any) -> Any:
    if holds_objects(column):
        return texts_of_values(column.to_list())
    if hasattr(getattr(native, "cat", None), "categories"):  # pandas, whose categories may be any Python values too
        return texts_of_values(native.cat.categories).take(arrow_codes(native.cat.codes.to_numpy()))
    return texts_of_arrow(column.to_arrow())


def arrow_codes(codes: NDArray[Any]) -> Any:
    """Return the codes of pandas' categories as an Arrow array, null where there is none."""
    import pyarrow as pa

    return pa.array(codes.astype(np.int64), mask=codes < 0)
