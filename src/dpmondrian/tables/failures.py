"""What is said when a table cannot be read: one sentence, which never quotes a value, a row number or a count of rows.

The readers below (Arrow, SQLite, DuckDB, JSON) quote rows in their messages, so no word of them is passed on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import DataError, DPMondrianError
from dpmondrian.tables.source import Origin, Source

UNCERTAIN = ("CSV", "JSON lines", "Excel")  # whose first row may be somebody's values
MOST_NAMES = 30  # so many columns of a file are listed in a message


def failure(source: Origin, problem: str, way_out: str = "") -> DataError:
    """Return an error about a file, or where else a table comes from."""
    return DataError(f"{source.title} {problem}.", way_out)


def no_number(source: Origin, name: str) -> DataError:
    """Return the error for something else than numbers in a column of numbers."""
    return failure(
        source,
        f"has a value in column {name!r} that is not a number",
        "Clean the column, or say in the schema how it is written: its categories, bands or dates, what stands for missing values, or its decimal sign (--decimal on the command line).",
    )


def not_usable(source: Origin, name: str, type_name: str, wanted: str) -> DataError:
    """Return the error for a column whose type cannot become what is wanted. The type is part of the file's structure."""
    way_out = {
        "date": 'Declare it as a date in the schema (date = "days"), or convert it to days since a fixed date.',
        "text": "Declare its categories, or convert it to numbers.",
    }.get(type_name, "Remove it, or convert it to numbers or strings.")
    problem = f"has a column {name!r} of type {type_name}, which cannot be read as {wanted}"
    return failure(source, problem, way_out)


def not_utf8(source: Origin) -> DataError:
    """Return the error for text in another encoding."""
    return failure(source, "is not UTF-8 text", "Save it as UTF-8.")


def unknown_columns(source: Origin, unknown: Sequence[str], known: Sequence[str]) -> DataError:
    """Return the error for columns that a file does not have.

    The first line of a CSV file without a header, or the first object of a JSON file, may be somebody's values. So names of
    such a file are listed only if it has one of the wanted columns, which shows that they are names.
    """
    if not known:
        return failure(
            source,
            f"has none of the columns {list(unknown)!r}",
            "Its first line must contain the column names; check them and the delimiter.",
        )
    listed = ", ".join(repr(name) for name in known[:MOST_NAMES]) + (", ..." if len(known) > MOST_NAMES else "")
    hint = f"{nearest_names(unknown, known)} Its columns: {listed}.".strip()
    return failure(source, f"lacks the columns {list(unknown)!r}", hint)


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
            f"has the same name for columns {' and '.join(map(str, repeated[:2]))}",
            "Give every column a unique name.",
        )
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise unknown_columns(
            source, unknown, list(places) if len(unknown) < len(wanted) else _certain(source, list(places))
        )


def _certain(source: Origin, names: Sequence[str]) -> Sequence[str]:
    """Return the names of a table, as far as they are certain to be names: by place, or from metadata."""
    return [] if source.format in UNCERTAIN and getattr(source, "header", True) else names


@contextmanager
def file_errors_reworded(source: Source) -> Iterator[None]:
    """Turn every error of a reader of files into one sentence without a value of the data."""
    with reworded(partial(_failure_of, source)):
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


def _failure_of(source: Source, error: Exception) -> DataError:
    """Return what an error of a reader means."""
    code = error.errno if isinstance(error, OSError) else None
    if isinstance(error, UnicodeDecodeError):
        return not_utf8(source)
    if isinstance(error, MemoryError):
        return failure(source, "does not fit into memory", "Use fewer columns, or a smaller sample of the rows.")
    if code in (errno.EACCES, errno.EPERM):
        return failure(source, "cannot be read: permission denied", "Ask its owner, or change its permissions.")
    if code == errno.ENOENT:
        return failure(source, "does not exist", "Check its name and folder.")
    packed = f" compressed with {source.compression}" if source.compression else ""
    format_, kind = f"{source.format}{packed}", errno.errorcode.get(code or 0, type(error).__name__)
    problem = f"is damaged or truncated, or not in the format its extension indicates, {format_} ({kind})"
    return failure(source, problem, "Write or copy it again.")
