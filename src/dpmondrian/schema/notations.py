"""How the numbers of a column are written: decimal commas, ordered bands, dates, times of day, yes and no, marks for missing values.

A notation is public and is part of the schema. Every value becomes a number by itself, whatever the other rows hold, and no error
quotes one. Values that have a type already, such as dates of a Parquet file or cells of a workbook, keep what they mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import BoundsError
from dpmondrian.schema.texts import canonical, canonical_text, text_of, texts_of_arrow, texts_of_values

Floats: TypeAlias = "NDArray[np.float64]"

WORDS_FOR_MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
"""Arrow's words for a missing number in a CSV file. They are missing values in every column that has no such category, band or word."""

UNITS = {"days": 86_400, "weeks": 604_800, "hours": 3_600, "minutes": 60, "seconds": 1}
"""Units of dates and times of day, in seconds."""
YES = ("yes", "y", "true", "t", "1")
NO = ("no", "n", "false", "f", "0")
"""Words of a column of yes and no, unless others are declared."""

_EPOCH = datetime(1970, 1, 1)
_MOST_LABELS = 1000
_SPACES = " \u00a0\u202f"
_THOUSANDS = ("", ",", ".", " ", "'", "\u2019")
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?$"
_ISO_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$"
_NANOSECONDS = r"(\.\d{6})\d+"
_CLOCK = r"^\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?$"


class UnreadableError(ValueError):
    """Somewhere in a column is a value that the notation does not know. It says what is wrong, and never which value."""

    def __init__(self, problem: str, way_out: str) -> None:
        super().__init__(problem)
        self.way_out = way_out


_ADD_MARK = "Correct it, or add what stands for a missing value to 'missing'."


@dataclass(frozen=True)
class Notation:
    """How the values of a column are written.

    Parameters
    ----------
    missing : sequence of str
        What stands for a missing value in this column, besides nothing at all and the usual words such as "NA": "?", "-9".
    """

    missing: tuple[str, ...] = ()
    key: ClassVar[str] = ""  # by which a section of a schema file tells that it is this notation
    problem: ClassVar[str] = ""  # what is wrong with a value that cannot be read
    ends: ClassVar[str] = "two finite numbers (lower, upper)"  # what bounds must be

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", _texts("missing", self.missing))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Bounds of whole numbers, where they follow from the notation."""
        return None

    @property
    def unit(self) -> str:
        """The unit of the numbers, where it follows from the notation."""
        return ""

    def bound(self, given: Any) -> Any:
        """Return a bound as a number, if it is a date or time."""
        return given

    def of_arrow(self, array: Any) -> Floats:
        """Return the numbers of an Arrow array of any type, NaN where a value is missing."""
        raise NotImplementedError

    def of_values(self, values: Sequence[Any]) -> Floats:
        """Return the numbers of Python values of any types, NaN where one is missing."""
        raise NotImplementedError

    def text(self, value: float) -> str | None:
        """Return a number, such as a mean or a threshold, as people write it in this notation; None for a plain number."""
        return None

    def written(self, value: float) -> Any:
        """Return a value of a row as the table writes it."""
        text = self.text(value)
        return value if text is None else text

    def to_dict(self) -> dict[str, Any]:
        """Return all but defaults as plain JSON values, by the keys of schema files."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        default = {field.name: field.default for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if name == self.key or value != default[name]
        }

    def _checked(self, texts: Any, numbers: Floats, marks: Iterable[str]) -> Floats:
        """Return numbers without marks of missing values; refuse texts that are neither a number nor such a mark."""
        is_mark = _is_in(texts, marks)
        unread = np.isnan(numbers) & ~is_mark & ~_is_in(texts, WORDS_FOR_MISSING)
        if unread.any():
            raise UnreadableError(self.problem, _ADD_MARK)
        return np.where(is_mark, np.nan, numbers)


class _Words(Notation):
    """Values that are one of some declared words, in upper or lower case."""

    def of_arrow(self, array: Any) -> Floats:
        return self._looked_up(texts_of_arrow(array))

    def of_values(self, values: Sequence[Any]) -> Floats:
        return self._looked_up(texts_of_values(values))

    @property
    def _numbers(self) -> dict[str, float]:
        """The number of each word."""
        raise NotImplementedError

    def _looked_up(self, texts: Any) -> Floats:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.utf8_lower(canonical(texts))
        numbers = {_folded(word): number for word, number in self._numbers.items()}
        places = pc.index_in(texts, pa.array(list(numbers), pa.large_string()))
        found = pa.array(list(numbers.values()), pa.float64()).take(places)
        missing = [_folded(mark) for mark in (*self.missing, *WORDS_FOR_MISSING) if _folded(mark) not in numbers]
        return self._checked(texts, _floats(found), missing)


@dataclass(frozen=True)
class Numbers(Notation):
    """Numbers with a decimal comma, with separators of thousands, or with marks for missing values.

    Parameters
    ----------
    decimal : {".", ","}
    thousands : str
        One of ``, . '`` and a space, or nothing. Separators may be left out; where they stand, three digits must follow the last one.
    """

    decimal: str = "."
    thousands: str = ""
    problem = "is not a number"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decimal not in (".", ","):
            raise BoundsError.broken("decimal", "must be '.' or ','", self.decimal)
        if self.thousands not in _THOUSANDS or self.thousands == self.decimal:
            rule = "must be one of ',', '.', \"'\" and ' ', and not the decimal sign"
            raise BoundsError.broken("thousands", rule, self.thousands, "Set 'decimal' too: decimal = \",\".")

    def written(self, value: float) -> Any:
        """Return a number, as a text where its decimal sign is not the usual one."""
        return value if self.decimal == "." else str(value).replace(".", self.decimal)

    def of_arrow(self, array: Any) -> Floats:
        """Return the numbers of an Arrow array of any type."""
        from pyarrow import types

        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if types.is_decimal(array.type):  # rounded one by one
            return self.of_values(array.to_pylist())
        if types.is_integer(array.type) or types.is_floating(array.type) or types.is_boolean(array.type):
            return self._unmarked(_floats(array.cast("float64", safe=False)))
        if types.is_temporal(array.type):
            raise UnreadableError(self.problem, 'Declare it as a date: date = "days".')
        return self._parsed(texts_of_arrow(array))

    def of_values(self, values: Sequence[Any]) -> Floats:
        """Return the numbers of Python values; only those that are texts are read in this notation."""
        is_number = [isinstance(value, bool | int | float | Decimal | np.number | np.bool_) for value in values]
        own = np.array([_as_float(v) if is_n else np.nan for v, is_n in zip(values, is_number, strict=True)])
        texts = texts_of_values(None if is_n else v for v, is_n in zip(values, is_number, strict=True))
        return np.where(is_number, self._unmarked(own), self._parsed(texts))

    def _parsed(self, texts: Any) -> Floats:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.utf8_trim_whitespace(texts)
        lower = pc.utf8_lower(texts)
        plain = pc.if_else(pc.equal(lower, "true"), "1", pc.if_else(pc.equal(lower, "false"), "0", texts))
        plain = _only(plain, self._pattern)
        if self.thousands:
            plain = pc.replace_substring_regex(plain, f"[{re.escape(self._separators)}]", "")
        if self.decimal != ".":
            plain = pc.replace_substring(plain, self.decimal, ".")
        return self._unmarked(self._checked(texts, _floats(plain.cast(pa.float64())), self.missing))

    def _unmarked(self, numbers: Floats) -> Floats:
        return np.where(np.isin(numbers, self._marks), np.nan, numbers) if self._marks else numbers

    @cached_property
    def _marks(self) -> list[float]:
        """Marks of missing values that are numbers: -9 is the same as -9.0."""
        found = []
        for mark in self.missing:
            try:
                found.append(float(mark))
            except ValueError:
                continue
        return found

    @property
    def _separators(self) -> str:
        return _SPACES if self.thousands == " " else self.thousands

    @property
    def _pattern(self) -> str:
        separator, point = f"[{re.escape(self._separators)}]", re.escape(self.decimal)
        grouped = rf"|\d{{1,3}}({separator}\d{{2,3}})*{separator}\d{{3}}" if self.thousands else ""
        return rf"^[-+]?((\d+{grouped})({point}\d*)?|{point}\d+)([eE][-+]?\d+)?$|^[-+]?[iI]nf(inity)?$"


@dataclass(frozen=True)
class Bands(_Words):
    """Ordered bands, such as ``[0-10)``, ``[10-20)``: their numbers are 0, 1, 2 and so on.

    Parameters
    ----------
    bands : sequence of str
        All bands, from the lowest to the highest.
    """

    bands: tuple[str, ...] = ()
    key = "bands"
    problem = "is none of the declared bands"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bands", _texts("bands", self.bands, 2))

    @property
    def bounds(self) -> tuple[float, float]:
        """The numbers of the first and the last band."""
        return 0.0, len(self.bands) - 1.0

    def text(self, value: float) -> str:
        """Return the band that is nearest to a number."""
        return self.bands[min(max(round(value), 0), len(self.bands) - 1)]

    @property
    def _numbers(self) -> dict[str, float]:
        return {band: float(place) for place, band in enumerate(self.bands)}


@dataclass(frozen=True)
class YesNo(_Words):
    """Yes and no: 1 and 0.

    Parameters
    ----------
    yes, no : sequence of str
        The words for each.
    """

    yes: tuple[str, ...] = YES
    no: tuple[str, ...] = NO
    key = "yes"
    problem = "is none of the declared words for yes and no"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("yes", "no"):
            object.__setattr__(self, name, _texts(name, getattr(self, name), 1))
        if both := {_folded(word) for word in self.yes} & {_folded(word) for word in self.no}:
            raise BoundsError.broken("yes", "and 'no' must have no word in common", sorted(both))

    def text(self, value: float) -> str | None:
        """Return the first of the words for 0 and for 1; a mean of them is a number."""
        return {0.0: self.no[0], 1.0: self.yes[0]}.get(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the words for both."""
        return super().to_dict() | {"no": list(self.no)}

    @property
    def bounds(self) -> tuple[float, float]:
        """No and yes."""
        return 0.0, 1.0

    @property
    def _numbers(self) -> dict[str, float]:
        return {"true": 1.0, "false": 0.0} | dict.fromkeys(self.yes, 1.0) | dict.fromkeys(self.no, 0.0)


@dataclass(frozen=True)
class _Moments(Notation):
    """Dates or times of day, in a unit.

    Parameters
    ----------
    format : str
        How texts are written, as in `datetime.strptime`: "%d.%m.%Y". Dates and times as in ISO 8601 are always understood.
    """

    format: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit not in UNITS:
            raise BoundsError.broken(self.key, f"must be one of {list(UNITS)}", self.unit)
        if not isinstance(self.format, str) or (self.format and "%" not in self.format):
            rule = "must be a pattern such as '%d.%m.%Y' or '%m/%d/%Y %H:%M'"
            raise BoundsError.broken("format", rule, self.format)

    @property
    def unit(self) -> str:
        """The unit of the numbers."""
        return str(getattr(self, self.key))

    def bound(self, given: Any) -> Any:
        """Return the number of a date or time, or of the text of one: as in ISO 8601, else in the format of the table."""
        if not isinstance(given, str | date | time):
            return given
        for format_ in ("", self.format):
            try:
                return float(self._read(texts_of_values([given]), format_)[0])
            except UnreadableError:
                continue
        return given

    def written(self, value: float) -> Any:
        """Return a date or time in the format of the table."""
        moment = _EPOCH + timedelta(seconds=value * UNITS[self.unit])
        return moment.strftime(self.format) if self.format else super().written(value)

    def of_arrow(self, array: Any) -> Floats:
        """Return the numbers of an Arrow array of dates, times or texts."""
        from pyarrow import types

        if types.is_integer(array.type) or types.is_floating(array.type) or types.is_decimal(array.type):
            raise UnreadableError(self.problem, "Declare it as a number.")
        return self._read(texts_of_arrow(array), "" if types.is_temporal(_value_type(array)) else self.format)

    def of_values(self, values: Sequence[Any]) -> Floats:
        """Return the numbers of Python dates, times and texts; only those that are texts are read in the format of the table."""
        is_text = [isinstance(value, str) for value in values]
        typed = texts_of_values(None if is_t else v for v, is_t in zip(values, is_text, strict=True))
        texts = texts_of_values(v if is_t else None for v, is_t in zip(values, is_text, strict=True))
        return np.where(is_text, self._read(texts, self.format), self._read(typed, ""))

    def _read(self, texts: Any, format_: str) -> Floats:
        """Return the numbers of texts, each in the format if it can be read so, else as in ISO 8601.

        Privacy
        -------
        How a text is read depends on that text alone: one that Arrow cannot read, which ends its reading of all others, has
        these read one by one. Argument: ``docs/privacy/representation.md``; tests that try to break it:
        ``tests/schema/test_notations.py``.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.utf8_trim_whitespace(texts)
        texts = pc.if_else(pa.array(_is_in(texts, self.missing)), pa.scalar(None, texts.type), texts)
        found = self._of_format(texts) if format_ else pa.nulls(len(texts), pa.int64())
        others = pc.if_else(pc.is_null(found), texts, pa.scalar(None, texts.type))
        try:
            found = pc.coalesce(found, self._of_iso(others))
        except pa.ArrowInvalid:  # 30 February; its words quote the value
            found = pc.coalesce(found, _each(self._iso_or_none, others))
        return self._checked(texts, _floats(found) / (1e6 * UNITS[self.unit]), ())

    def _iso_or_none(self, text: str) -> int | None:
        """Return the microseconds of one text that is written as in ISO 8601, None for another."""
        import pyarrow as pa

        try:
            found: int | None = self._of_iso(pa.array([text], pa.large_string()))[0].as_py()
        except pa.ArrowInvalid:
            return None
        return found

    def _of_format(self, texts: Any) -> Any:
        """Return the texts that have the format as microseconds, null for others; each different text is read once."""
        return _each(self._microseconds, texts)

    def _microseconds(self, text: str) -> int | None:
        try:
            moment = datetime.strptime(text, self.format)
        except ValueError:
            return None
        start = _EPOCH if self.key == "date" else moment.replace(hour=0, minute=0, second=0, microsecond=0)
        zone = moment.utcoffset() or timedelta()
        return (moment.replace(tzinfo=None) - zone - start.replace(tzinfo=None)) // timedelta(microseconds=1)

    def _of_iso(self, texts: Any) -> Any:
        """Return the texts that are written as in ISO 8601 as microseconds, null for others."""
        raise NotImplementedError


@dataclass(frozen=True)
class Dates(_Moments):
    """Dates, with or without a time: so many units since the beginning of 1970, in UTC where a time zone is given.

    Parameters
    ----------
    date : {"days", "weeks", "hours", "minutes", "seconds"}
    """

    date: str = "days"
    key = "date"
    problem = "is not a date"
    ends = "two dates such as 2020-01-01 and 2029-12-31"

    def exact_text(self, value: float) -> str:
        """Return the date of a number, to the microsecond."""
        return (
            (_EPOCH + timedelta(microseconds=round(value * UNITS[self.date] * 1e6)))
            .isoformat()
            .removesuffix("T00:00:00")
        )

    def text(self, value: float) -> str | None:
        """Return the date of a number, with the time if the unit is shorter than a day."""
        try:
            moment = _EPOCH + timedelta(seconds=value * UNITS[self.date])
        except OverflowError:
            return None
        return moment.date().isoformat() if UNITS[self.date] >= UNITS["days"] else f"{moment:%Y-%m-%d %H:%M}"

    def _of_iso(self, texts: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.replace_substring_regex(texts, _NANOSECONDS, r"\1")
        local = _only(texts, _ISO_DATE).cast(pa.timestamp("us")).cast(pa.int64())
        zoned = _only(texts, _ISO_ZONED).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        return pc.coalesce(local, zoned)


@dataclass(frozen=True)
class Times(_Moments):
    """Times of day: so many units since midnight.

    Parameters
    ----------
    time : {"hours", "minutes", "seconds"}
    """

    time: str = "hours"
    key = "time"
    problem = "is not a time of day"
    ends = "two times of day such as 08:00 and 20:00"

    def exact_text(self, value: float) -> str:
        """Return the time of a number, to the microsecond."""
        return (_EPOCH + timedelta(microseconds=round(value * UNITS[self.time] * 1e6))).time().isoformat()

    def text(self, value: float) -> str | None:
        """Return the time of a number."""
        minutes = round(value * UNITS[self.time] / 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}" if 0 <= minutes <= 24 * 60 else None

    def _of_iso(self, texts: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.replace_substring_regex(texts, _NANOSECONDS, r"\1")
        clock = pc.replace_substring_regex(_only(texts, _CLOCK), r"^(\d):", r"0\1:")
        day, gap = (pa.scalar(text, pa.large_string()) for text in ("1970-01-01", " "))
        return pc.binary_join_element_wise(day, clock, gap).cast(pa.timestamp("us")).cast(pa.int64())


NOTATIONS: dict[str, type[Notation]] = {kind.key: kind for kind in (Numbers, Bands, Dates, Times, YesNo)}
"""By the key that tells them; plain numbers have none."""


def notation_of(facts: Mapping[str, Any]) -> Notation | None:
    """Return the notation of the facts of a section, by the keys of schema files; None if they say nothing but what is usual."""
    kind = next((kind for key, kind in NOTATIONS.items() if key and key in facts), Numbers)
    if kind is Numbers and "no" in facts:
        kind = YesNo
    notation = kind(**facts)
    return None if notation == Numbers() else notation


def notation_keys() -> list[str]:
    """Return all keys of notations."""
    return list(dict.fromkeys(field.name for kind in NOTATIONS.values() for field in fields(kind)))


def _texts(name: str, given: Any, least: int = 0) -> tuple[str, ...]:
    """Return different texts; TOML's numbers and truth values are as they are written in a table."""
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, Sequence) or not all(isinstance(item, str | bool | int | float) for item in items):
        raise BoundsError.broken(name, "must be a list of strings", given)
    texts = tuple(item if isinstance(item, str) else str(text_of(item)) for item in items)
    if not least <= len(texts) <= _MOST_LABELS or len({_folded(text) for text in texts}) < len(texts):
        raise BoundsError.broken(
            name, f"must be {least or 'any'} or more different strings, at most {_MOST_LABELS}", given
        )
    return texts


def _folded(text: str) -> str:
    return canonical_text(text).lower()


def _each(number: Callable[[str], int | None], texts: Any) -> Any:
    """Return what a function makes of texts, as whole numbers or null; each different text is read once."""
    import pyarrow as pa

    encoded = texts.dictionary_encode()
    return pa.array([number(text) for text in encoded.dictionary.to_pylist()], pa.int64()).take(encoded.indices)


def _value_type(array: Any) -> Any:
    """Return the type of an Arrow array's values, also where these are in a dictionary."""
    from pyarrow import types

    return array.type.value_type if types.is_dictionary(array.type) else array.type


def _floats(array: Any) -> Floats:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_in(texts: Any, words: Iterable[str]) -> NDArray[np.bool_]:
    """Return which texts are among some words, or missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.or_(pc.is_null(texts), pc.is_in(texts, pa.array(list(words), pa.large_string())))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _only(texts: Any, pattern: str) -> Any:
    """Return the texts that match a pattern, null for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, texts.type))


def _as_float(value: Any) -> float:
    """Return the nearest float; beyond all floats is infinite, as in a CSV file."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
