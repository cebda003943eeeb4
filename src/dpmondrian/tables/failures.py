"""What is said when a table cannot be read: one sentence, which never quotes a value, a row number or a count of rows.

The readers below (Arrow, SQLite, DuckDB, JSON) quote rows in their messages, so no word of them is passed on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import DataError, DPMondrianError
from dpmondrian.tables.source import Origin, Source

__all__ = ["check_names", "failure", "no_number", "not_usable", "not_utf8", "reworded", "told", "unknown_columns"]

MOST_NAMES = 30
"""So many columns of a file are listed in a message."""


def failure(source: Origin, reason: str) -> DataError:
    """Return an error about a file, or where else a table comes from."""
    return DataError(f"{source.title} {reason}.")


def no_number(source: Origin, name: str) -> DataError:
    """Return the error for something else than numbers in a column of numbers."""
    return failure(
        source,
        f"has a value in column {name!r} that is not a number. Clean the column, declare its categories, or convert dates to days since a fixed date",
    )


def not_usable(source: Origin, name: str, type_name: str, wanted: str) -> DataError:
    """Return the error for a column whose type cannot become what is wanted. The type is part of the file's structure."""
    way_out = {
        "date": "Convert it to a number, such as days since a fixed date",
        "text": "Declare its categories, or convert it to numbers",
    }.get(type_name, "Remove it, or convert it to numbers or strings")
    return failure(source, f"has a column {name!r} of type {type_name}, which cannot be read as {wanted}. {way_out}")


def not_utf8(source: Origin) -> DataError:
    """Return the error for text in another encoding."""
    return failure(source, "is not UTF-8 text. Save it as UTF-8")


def unknown_columns(source: Origin, unknown: Sequence[str], known: Sequence[str]) -> DataError:
    """Return the error for columns that a file does not have.

    The first line of a CSV file without a header, or the first object of a JSON file, may be somebody's values. So names of
    such a file are listed only if it has one of the wanted columns, which shows that they are names.
    """
    if source.format in ("CSV", "JSON lines") and not known:
        return failure(
            source,
            f"has none of the columns {list(unknown)!r}. Its first line must contain the column names; check them and the delimiter",
        )
    listed = ", ".join(repr(name) for name in known[:MOST_NAMES]) + (", ..." if len(known) > MOST_NAMES else "")
    return failure(source, f"lacks the columns {list(unknown)!r}.{nearest_names(unknown, known)} Its columns: {listed}")


def check_names(source: Origin, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse names that are there twice, and wanted ones that are not there; columns without a name do not count."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names, start=1):
        if name:
            places.setdefault(name, []).append(place)
    repeated = next((found for found in places.values() if len(found) > 1), None)
    if repeated:
        # Places, not names: without a header these would be values.
        raise failure(
            source,
            f"has the same name for columns {' and '.join(map(str, repeated[:2]))}. Give every column a unique name",
        )
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise unknown_columns(
            source, unknown, list(places) if len(unknown) < len(wanted) else _certain(source, list(places))
        )


def _certain(source: Origin, names: Sequence[str]) -> Sequence[str]:
    return [] if source.format in ("CSV", "JSON lines") else names


@contextmanager
def told(source: Source) -> Iterator[None]:
    """Turn every error of a reader of files into one sentence without a value of the data."""
    with reworded(lambda error: failure(source, _reason(source, error))):
        yield


@contextmanager
def reworded(words: Callable[[Exception], DataError]) -> Iterator[None]:
    """Raise in place of an error that may quote values one that does not, and that does not lead to the other either."""
    try:
        yield
        return
    except DPMondrianError as own:
        error: DPMondrianError = own
    except Exception as foreign:  # any message of a reader may quote values
        error = words(foreign)
    try:
        raise error from None
    finally:
        error.__context__ = None


def _reason(source: Source, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8 text. Save it as UTF-8"
    if isinstance(error, MemoryError):
        return "does not fit into memory. Use fewer columns, or a smaller sample of the rows"
    if isinstance(error, OSError):
        return _system_reason(source, error)
    return _damaged(source, type(error).__name__)


def _system_reason(source: Source, error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "cannot be read: permission denied. Ask its owner, or change its permissions"
    if error.errno == errno.ENOENT:
        return "does not exist. Check its name and folder"
    return _damaged(source, errno.errorcode.get(error.errno or 0, type(error).__name__))


def _damaged(source: Source, kind: str) -> str:
    packed = f" compressed with {source.compression}" if source.compression else ""
    return f"is damaged or truncated, or not in the format its extension indicates, {source.format}{packed} ({kind}). Write or copy it again"
