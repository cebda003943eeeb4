"""CSV files: names from the header, types from the caller, so that no value decides how another is read.

In columns of numbers Arrow's words for missing values ("", "NA", "NaN", "null", ...) are missing, and true and false are 1 and
0. In columns of texts only the empty text is missing: "NA" may be a category.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dpmondrian.exceptions import DataError
from dpmondrian.schema import Notation
from dpmondrian.tables.conversion import Kind, numbers_of
from dpmondrian.tables.failures import failure, no_number, not_utf8
from dpmondrian.tables.source import Head, Piece, Source, names_without_header, opened, ready

BLOCK_BYTES = 2**22  # bytes that are read at a time, and so the longest row
HEADER_BYTES = 2**22  # the longest header

_TOO_LONG = "field larger than field limit"
"""How the words of `csv.Error` begin for a value that is longer than `csv.field_size_limit`."""

_OTHER_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


def head(source: Source) -> Head:
    """Return the names in the header, and whether anything comes after it; without a header, names by place."""
    names, has_rows = _header(source)
    if source.header:
        return Head.without_types(names, has_rows)
    return Head.without_types(names_without_header(len(names)), True)


def pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the bytes read so far and those of the file."""
    if not head.has_rows:
        return
    reader = _NumberReader(source, kinds, None if source.header else list(head.names))
    for batch, done, total in reader.batches():
        yield ready(batch, done, total)
    if reader.saw_quotes:
        _check_quotes(source)


def _header(source: Source) -> tuple[list[str], bool]:
    """Return the first line's values, checked to be names and not data, and whether anything comes after it."""
    with opened(source) as (file, _):
        start = _read_up_to(file, HEADER_BYTES)
    # Bytes that are not UTF-8 may stand in columns that nobody asked for; in the header they are refused below.
    text = start.decode("utf-8-sig", errors="surrogateescape")
    lines = io.StringIO(text, newline="")
    try:
        names = next((row for row in csv.reader(lines, delimiter=source.separator, strict=True) if row), [])
    except csv.Error:
        raise failure(source, "has a first line that is not valid CSV", "Check its format and quotes.") from None
    if not any(names) and source.header:
        raise failure(source, "has no header", "Its first line must contain the column names.")
    is_whole, rest = len(start) < HEADER_BYTES, lines.read()
    _check_header(source, names, is_cut=not rest and not is_whole)
    return names, bool(rest.strip()) or not is_whole


def _read_up_to(file: Any, n_bytes: int) -> bytes:
    parts = []
    while n_bytes > 0 and (part := file.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _check_header(source: Source, names: list[str], is_cut: bool) -> None:
    text = "".join(names)
    if "\0" in text or any("\udc80" <= character <= "\udcff" for character in text):
        raise not_utf8(source)
    if is_cut:
        raise failure(source, "has a first line that is too long for a header", "Check its line endings.")
    if source.header and _looks_like_data(names):
        raise failure(
            source,
            "has numbers, dates or similar values in its first line, which must contain the column names",
            "Add a header line, or say that there is none: --header none on the command line, Source(path, header=False) in Python. If such "
            "a value really is a name, add a word to it.",
        )
    others = [word for sign, word in _OTHER_DELIMITERS.items() if sign in names[0] and sign != source.separator]
    if len(names) == 1 and others and source.delimiter is None:
        raise failure(
            source,
            "has only one column",
            f"If the delimiter is {others[0]}, pass delimiter={others[0]}, or --delimiter {others[0]} on the command line.",
        )


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_MEASURED = re.compile(r"[-+<>~]?\s*[$€£¥]?\s*\d+([.,' ]\d+)*\s*([%‰°$€£¥]|[^\W\d_]{1,5})?([/*^²³][^\W_]{0,4})*[.]?")
_DATE = re.compile(r"\d{1,4}[-/. ]\s?(\d{1,2}|[^\W\d_]{3,9})[-/. ]\s?\d{1,4}([T ].*)?|\d{1,2}:\d{2}(:\d{2})?.*")
_ORDINAL = re.compile(r"\d+(st|nd|rd|th)")
_YEAR = re.compile(r"(?<!\d)(19|20)\d\d(?!\d)")


def _looks_like_data(names: list[str]) -> bool:
    """Return whether a first line holds what no column is called; 2023 and 2024 beside a name may be names, as may 0, 1 and 2."""
    given = [name.strip() for name in names if name.strip()]
    if all(_NUMBER.fullmatch(name) for name in given):
        return True
    whole = [int(name) for name in given if name.isdecimal()]
    return not _are_labels(whole) or any(_is_value(name) for name in given if not name.isdecimal())


def _are_labels(numbers: list[int]) -> bool:
    """Return whether whole numbers are years, or count on from the first."""
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return True
    return all(1900 <= number < 2100 for number in numbers)


def _is_value(name: str) -> bool:
    """Return whether a text is a number, a measured quantity, a date, an address or mostly digits, such as "P-001234"."""
    if _ORDINAL.fullmatch(name):
        return False
    if any(pattern.fullmatch(name) for pattern in (_NUMBER, _MEASURED, _DATE)) or "@" in name:
        return True
    n_digits = sum(map(str.isdigit, _YEAR.sub("", name)))
    return n_digits >= 5 and 2 * n_digits >= len(name)


def _check_quotes(source: Source) -> None:
    """Refuse a file in which a quote is opened and not closed, closed within a value, or closed some rows later.

    Arrow takes everything up to the next quote, or the end of the file, for one value, and so loses rows without a word.
    """
    try:
        try:
            _read_quotes(source, None)
        except csv.Error as error:
            if not str(error).startswith(_TOO_LONG):
                raise
            # The limit of a value's length is one for the whole process. Without their plain characters all but odd values keep it.
            _read_quotes(source, re.compile(rf'[^"\r\n{re.escape(source.separator)}]+'))
    except csv.Error as error:
        if str(error).startswith(_TOO_LONG):
            raise _too_long(source) from None
        raise failure(
            source,
            "has a quote that is not closed, or not closed at the end of its value, so rows would be lost",
            "Close it, or double quotes inside values.",
        ) from None


def _read_quotes(source: Source, left_out: re.Pattern[str] | None) -> None:
    """Read all rows, with one character in place of each run that is left out; raise `csv.Error` if a quote is wrong."""
    with opened(source) as (file, _):
        # The readers of some compressions lack what a text layer asks for.
        lines = io.TextIOWrapper(io.BufferedReader(_Watched(file)), "utf-8-sig", errors="surrogateescape", newline="")
        shortened = lines if left_out is None else (left_out.sub("x", line) for line in lines)
        _check_lines(csv.reader(shortened, delimiter=source.separator, strict=True), source.separator)


def _too_long(source: Source) -> DataError:
    return failure(
        source,
        "has a value that is too long, or a quote that is not closed",
        "Close it, or write the table as Parquet.",
    )


def _check_lines(reader: Any, separator: str) -> None:
    """Read all rows; raise `csv.Error` if a value of several lines holds a line that has the form of a row.

    Of a form with two values there are many texts, so it is not looked for.
    """
    last_line = 0
    for row in reader:
        n_lines, last_line = reader.line_num - last_line, reader.line_num
        if n_lines > 2 and len(row) > 2:
            inner = (line for value in row for line in value.splitlines()[1:-1])
            if any(line.count(separator) == len(row) - 1 for line in inner):
                raise csv.Error


class _Watched(io.RawIOBase):
    """The bytes of another file, and whether a quote was among them."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.saw_quotes = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self.saw_quotes = self.saw_quotes or b'"' in content
        return len(content)


class _NumberReader:
    """Reads numbers as numbers, which is quick; and if that fails as texts, which tells where and knows true and false."""

    def __init__(self, source: Source, kinds: Mapping[str, Kind], names: list[str] | None) -> None:
        self.source, self.kinds, self.names = source, kinds, names
        self.saw_quotes = False

    def batches(self) -> Iterator[tuple[Any, int, int | None]]:
        import pyarrow

        read = 0
        try:
            for batch, done, total in self._read(pyarrow.float64()):
                read += batch.num_rows
                yield self._with_meaning(batch), done, total
            return
        except pyarrow.ArrowInvalid as error:
            if "conversion error to double" not in str(error):
                raise self._explained(error) from None
        yield from self._from_texts(read)

    def _from_texts(self, skipped: int) -> Iterator[tuple[Any, int, int | None]]:
        """Yield what is behind the rows that were read already."""
        import pyarrow

        try:
            for batch, done, total in self._read(pyarrow.string()):
                behind = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - behind.num_rows
                yield self._with_meaning(self._with_numbers(behind)), done, total
        except pyarrow.ArrowInvalid as error:
            raise self._explained(error) from None

    def _read(self, number_type: Any) -> Iterator[tuple[Any, int, int | None]]:
        import pyarrow
        import pyarrow.csv as arrow_csv

        types = {name: number_type if kind == "number" else pyarrow.string() for name, kind in self.kinds.items()}
        with (
            opened(self.source) as (file, below),
            _Watched(file) as watched,
            arrow_csv.open_csv(
                watched,
                read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=self.names),
                parse_options=arrow_csv.ParseOptions(delimiter=self.source.separator, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
            ) as reader,
        ):
            for batch in reader:
                yield batch, below.done, below.total
            self.saw_quotes = self.saw_quotes or watched.saw_quotes

    def _with_numbers(self, batch: Any) -> Any:
        for place, (name, kind) in enumerate(self.kinds.items()):
            if kind == "number":
                batch = batch.set_column(place, name, self._numbers(name, batch.column(place)))
        return batch

    def _numbers(self, name: str, texts: Any) -> Any:
        import pyarrow
        import pyarrow.compute as compute
        import pyarrow.csv as arrow_csv

        missing = pyarrow.array(arrow_csv.ConvertOptions().null_values)
        texts = compute.utf8_trim_whitespace(texts)
        lower = compute.utf8_lower(texts)
        texts = compute.if_else(compute.equal(lower, "true"), "1", texts)
        texts = compute.if_else(compute.equal(lower, "false"), "0", texts)
        texts = compute.if_else(compute.is_in(texts, missing), None, texts)
        try:
            return texts.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            raise no_number(self.source, name) from None

    def _with_meaning(self, batch: Any) -> Any:
        """Return a batch without empty texts, and with numbers in place of what is written in a notation."""
        import pyarrow.compute as compute

        for place, (name, kind) in enumerate(self.kinds.items()):
            texts = batch.column(place)
            if isinstance(kind, Notation):
                batch = batch.set_column(place, name, numbers_of(self.source, name, texts, kind))
            elif kind != "number":
                batch = batch.set_column(place, name, compute.if_else(compute.equal(texts, ""), None, texts))
        return batch

    def _explained(self, error: Exception) -> DataError:
        """Return what an error of Arrow means, without its words, which quote a row."""
        words = str(error)
        if words.startswith("CSV parse error"):
            return failure(
                self.source, "has rows of different lengths", "Check its quotes and delimiters, and write it again."
            )
        if words.startswith("straddling"):
            return failure(self.source, "has a row that is too long", "Check its line endings and quotes.")
        if words.endswith("invalid UTF8 data"):
            return not_utf8(self.source)
        return failure(self.source, "is damaged or not a CSV file", "Write it again.")
