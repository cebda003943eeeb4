"""Where a table comes from: a file, its format by its name, and how to read it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpmondrian.exceptions import DataError, ParameterError, WayOut

__all__ = ["DATABASES", "ENDINGS", "Bytes", "Origin", "Source", "check_path", "check_start", "opened", "start_of"]

ENDINGS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON lines",
    ".db": "SQLite",
    ".sqlite": "SQLite",
    ".sqlite3": "SQLite",
    ".duckdb": "DuckDB",
}
"""Format by the ending of a file's name."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".xz": "xz"}

_TEXTS, DATABASES = ("CSV", "JSON lines"), ("SQLite", "DuckDB")
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"SQLite format 3\x00": "SQLite",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip (such as an Excel workbook)",
    b"\xd0\xcf\x11\xe0": "old Excel",
}
"""How files of some formats begin, to tell a wrong ending."""
START_BYTES = 20
"""Bytes that tell the format, and whether a SQLite database has a log."""


class Origin(Protocol):
    """What messages say about where a table comes from."""

    @property
    def title(self) -> str:
        """How a sentence about it begins, such as "The file 'people.csv'"."""
        ...

    @property
    def format(self) -> str:
        """Name of the format."""
        ...


@dataclass(frozen=True)
class Source:
    """A table in a file.

    Parameters
    ----------
    path : path
        Its ending tells the format: see `ENDINGS`. Text formats may be compressed: ``.csv.gz``, and ``.bz2``, ``.zst``,
        ``.lz4``, ``.xz``.
    query : str or None, default=None
        For a database, the SELECT statement whose result is the table.
    delimiter : str or None, default=None
        For CSV, the character between values. None means a comma, or a tab in a ``.tsv`` file.
    """

    path: Path
    query: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.delimiter in ("\\t", "tab"):  # what people type in a shell
            object.__setattr__(self, "delimiter", "\t")
        self._check_ending()
        self._check_query()
        self._check_delimiter()

    @property
    def title(self) -> str:
        """How a sentence about the file begins."""
        return f"The file {str(self.path)!r}"

    @property
    def format(self) -> str:
        """Name of the format, one of the values of `ENDINGS`."""
        return ENDINGS[self._endings[0]]

    @property
    def compression(self) -> str | None:
        """Name of the compression of a text file, or None."""
        return COMPRESSIONS.get(self._endings[1])

    @property
    def separator(self) -> str:
        """The character between the values of a CSV file."""
        return self.delimiter or ("\t" if self._endings[0] == ".tsv" else ",")

    @property
    def _endings(self) -> tuple[str, str]:
        """Endings of the format and of the compression, in lower case; the second may be empty."""
        endings = [ending.lower() for ending in self.path.suffixes[-2:]]
        if endings and endings[-1] in COMPRESSIONS:
            return (endings[0] if len(endings) == 2 else "", endings[-1])
        return (endings[-1] if endings else "", "")

    def _check_ending(self) -> None:
        ending, compressed = self._endings
        if ending not in ENDINGS or (compressed and ENDINGS[ending] not in _TEXTS):
            raise DataError(
                f"The file {str(self.path)!r} has an unknown extension. Supported: {', '.join(ENDINGS)}; text formats may also be followed by {', '.join(COMPRESSIONS)}.",
                "Rename or convert it.",
            )

    def _check_query(self) -> None:
        if self.format in DATABASES and not (isinstance(self.query, str) and self.query.strip()):
            raise ParameterError(
                parameter="query",
                rule=f"must say which rows of the database {str(self.path)!r} to use",
                got="none",
                way_out=WayOut.SELECT_ROWS,
            )
        if self.format not in DATABASES and self.query is not None:
            raise ParameterError(
                parameter="query",
                rule=f"applies only to databases, but {str(self.path)!r} is a {self.format} file",
                way_out="Omit it.",
            )

    def _check_delimiter(self) -> None:
        if self.delimiter is None:
            return
        if self.format != "CSV":
            raise ParameterError(
                parameter="delimiter",
                rule=f"applies only to CSV files, but {str(self.path)!r} has format {self.format}",
                way_out="Omit it.",
            )
        text = self.delimiter
        if not isinstance(text, str) or len(text) != 1 or not text.isascii() or text in '"\r\n\0':
            raise ParameterError(
                parameter="delimiter", rule="must be one character, such as ';' or '|', or 'tab'", value=text
            )


def check_path(source: Source) -> None:
    """Refuse what is no file that can be read. The file is not opened."""
    path = source.path
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder. Pass one file in it.")
    if not path.exists():
        raise DataError(f"The file {str(path)!r} does not exist. Check its name and folder.")
    if not path.is_file():
        raise DataError(f"{str(path)!r} is not a regular file. Write the table to a file first.")


def check_start(source: Source, start: bytes) -> None:
    """Refuse a file that is empty, or that plainly has another format than its name says, by its first bytes."""
    if not start:
        raise DataError(f"The file {str(source.path)!r} is empty. Write the table again.")
    expected = source.compression or source.format
    found = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
    if found is None and expected in ("Parquet", "SQLite"):
        found = "unknown"
    if found is not None and found != expected:
        raise DataError(
            f"The file {str(source.path)!r} has the extension of a {expected} file, but its content looks like: {found}. "
            "Rename or convert it."
        )


def start_of(source: Source) -> bytes:
    """Return the first bytes of a file, for those formats whose readers open files by themselves."""
    with source.path.open("rb") as file:
        return file.read(START_BYTES)


class Bytes(io.RawIOBase):
    """The bytes of a file, and how many of them were read.

    Attributes
    ----------
    start : bytes
        The first ones.
    done, total : int
        Bytes read so far, and bytes of the file.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self.start = self._file.read(START_BYTES)
        self._file.seek(0)
        self.done = 0
        self.total = os.fstat(self._file.fileno()).st_size

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes."""
        n_bytes = self._file.readinto(buffer) or 0
        self.done += n_bytes
        return n_bytes

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


@contextmanager
def opened(source: Source) -> Iterator[tuple[Any, Bytes]]:
    """Yield the uncompressed bytes of a text file as a file, and the bytes on disk below it.

    A file of another format is refused before anything tries to make sense of it.
    """
    with ExitStack() as stack:
        below = stack.enter_context(Bytes(source.path))
        check_start(source, below.start)
        if source.compression is None:
            yield below, below
        elif source.compression == "xz":
            import lzma

            yield stack.enter_context(lzma.open(io.BufferedReader(below))), below
        else:
            import pyarrow

            file = pyarrow.PythonFile(below, mode="r")
            yield stack.enter_context(pyarrow.CompressedInputStream(file, source.compression)), below
