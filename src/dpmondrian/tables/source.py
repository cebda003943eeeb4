"""Where a table comes from: a file, its format by its name, and how to read it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dpmondrian.exceptions import DataError, ParameterError, WayOut

if TYPE_CHECKING:
    import pyarrow


_ENDINGS = {
    "CSV": (".csv", ".tsv", ".txt"),
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc"),
    "JSON lines": (".jsonl", ".ndjson", ".json"),
    "SQLite": (".db", ".sqlite", ".sqlite3"),
    "DuckDB": (".duckdb",),
    "Excel": (".xlsx", ".ods"),
}
ENDINGS = {ending: format_ for format_, endings in _ENDINGS.items() for ending in endings}
"""Format by the ending of a file's name."""

FORMATS = {
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "jsonl": "JSON lines",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "excel": "Excel",
}
"""Format by its name, for files whose ending does not tell."""

SERVERS = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "duckdb": "DuckDB"}
"""Format by the scheme of an address. ``duckdb:`` is a database in memory, whose query names the files to read."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".xz": "xz"}

_TEXTS, DATABASES = ("CSV", "JSON lines"), ("SQLite", "DuckDB", "PostgreSQL")
WITHOUT_HEADER, COUNTED_IN_ROWS = ("CSV", "Excel"), (*DATABASES, "Excel")
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"SQLite format 3\x00": "SQLite",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "Excel",
    b"\xd0\xcf\x11\xe0": "old Excel (.xls)",
}
"""How files of some formats begin, to tell a wrong ending."""
BATCH_ROWS = 2**14  # rows that are taken together from what gives Python values one by one: databases, JSON lines
START_BYTES = 20  # bytes that tell the format, and whether a SQLite database has a log


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
    """A table in a file or a database.

    Parameters
    ----------
    path : path or address
        Its ending tells the format: see `ENDINGS`. Text formats may be compressed: ``.csv.gz``, and ``.bz2``, ``.zst``,
        ``.lz4``, ``.xz``. Or the address of a database: ``postgresql://user@host/name``, or ``duckdb:`` for whatever a query of DuckDB
        can read.
    query : str or None, default=None
        For a database, the SELECT statement whose result is the table.
    delimiter : str or None, default=None
        For CSV, the character between values. None means a comma, or a tab in a ``.tsv`` file.
    kind : str or None, default=None
        Name of the format, one of `FORMATS`, where the ending does not tell it.
    header : bool, default=True
        Whether the first row of a CSV file or a sheet holds the names. If not, columns are called column_1, column_2 and so on.
    sheet : str or None, default=None
        Name of a sheet of a workbook. None means the first.

    Examples
    --------
    >>> from dpmondrian import Source
    >>> Source("export.dat", kind="csv", delimiter=";", header=False).format
    'CSV'
    >>> Source("postgresql://ann:secret@host/clinic", "SELECT age FROM visits").title
    "The database 'postgresql://ann@host/clinic'"
    """

    path: Path
    query: str | None = None
    delimiter: str | None = None
    kind: str | None = None
    header: bool = True
    sheet: str | None = None
    address: str | None = field(default=None, repr=False, compare=False)  # of a server; may hold a password

    def __post_init__(self) -> None:
        scheme = str(self.path).partition(":")[0]
        if isinstance(self.path, str) and ":" in self.path and scheme in SERVERS:
            object.__setattr__(self, "address", self.path)
            object.__setattr__(self, "kind", scheme)
        object.__setattr__(self, "path", Path(without_secret(str(self.path))))
        if self.delimiter in ("\\t", "tab"):  # what people type in a shell
            object.__setattr__(self, "delimiter", "\t")
        if self.address is None:
            self._check_ending()
        self._check_query()
        self._check_layout()

    @property
    def name(self) -> str:
        """The path, or the address without a password."""
        return str(self.path) if self.address is None else without_secret(self.address)

    @property
    def title(self) -> str:
        """How a sentence about the table begins."""
        return f"The {'file' if self.address is None else 'database'} {self.name!r}"

    @property
    def format(self) -> str:
        """Name of the format, one of the values of `ENDINGS` or `SERVERS`."""
        if self.address is not None:
            return SERVERS[self.kind or ""]
        return ENDINGS[self._endings[0]] if self.kind is None else FORMATS[self.kind]

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
        if self.kind is not None and self.kind not in FORMATS:
            raise ParameterError.broken("format", f"must be one of {', '.join(FORMATS)}", self.kind)
        known = ENDINGS.get(ending) if self.kind is None else FORMATS[self.kind]
        if known is None or (compressed and known not in _TEXTS):
            raise DataError(
                f"The file {str(self.path)!r} has an unknown extension. Supported: {', '.join(ENDINGS)}; text formats may also be followed by {', '.join(COMPRESSIONS)}.",
                WayOut.NAME_FORMAT,
            )

    def _check_query(self) -> None:
        if self.format in DATABASES and not (isinstance(self.query, str) and self.query.strip()):
            raise ParameterError(
                parameter="query",
                rule=f"must say which rows of the database {self.name!r} to use",
                got="none",
                way_out=WayOut.SELECT_ROWS,
            )

    def _check_layout(self) -> None:
        for parameter, is_given, formats, rule in (
            ("query", self.query is not None, DATABASES, "applies only to databases"),
            ("delimiter", self.delimiter is not None, ("CSV",), "applies only to CSV files"),
            ("header", not self.header, WITHOUT_HEADER, "can be missing only in CSV and Excel files"),
            ("sheet", self.sheet is not None, ("Excel",), "applies only to Excel and OpenDocument files"),
        ):
            if is_given and self.format not in formats:
                rule = f"{rule}, but {self.name!r} has format {self.format}"
                raise ParameterError(parameter=parameter, rule=rule, way_out="Omit it.")
        text = self.delimiter
        if text is not None and not (
            isinstance(text, str) and len(text) == 1 and text.isascii() and text not in '"\r\n\0'
        ):
            raise ParameterError.broken("delimiter", "must be one character, such as ';' or '|', or 'tab'", text)


def without_secret(address: str) -> str:
    """Return an address without password and parameters, which may hold one too."""
    scheme, sign, rest = address.partition("://")
    if not sign or scheme not in SERVERS:
        return address
    place = rest.partition("?")[0]
    user, at, host = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}"


def names_without_header(n_columns: int) -> list[str]:
    """Return the names of columns that have none."""
    return [f"column_{place}" for place in range(1, n_columns + 1)]


def check_path(source: Source) -> None:
    """Refuse what is no file that can be read. The file is not opened."""
    path = source.path
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder.", "Pass one file in it.")
    if not path.exists():
        raise DataError(f"The file {str(path)!r} does not exist.", "Check its name and folder.")
    if not path.is_file():
        raise DataError(f"{str(path)!r} is not a regular file.", "Write the table to a file first.")


def check_start(source: Source, start: bytes) -> None:
    """Refuse a file that is empty, or that plainly has another format than its name says, by its first bytes."""
    if not start:
        raise DataError(f"The file {str(source.path)!r} is empty.", "Write the table again.")
    expected = source.compression or source.format
    found = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
    if found is None and expected in ("Parquet", "SQLite", "Excel"):
        found = "unknown"
    if found is not None and found != expected:
        looks = "is something else" if found == "unknown" else f"looks like: {found}"
        raise DataError(
            f"The file {str(source.path)!r} has the extension of {expected} files, but its content {looks}.",
            "Rename or convert it.",
        )


def start_of(source: Source) -> bytes:
    """Return the first bytes of a file, for those formats whose readers open files by themselves."""
    with source.path.open("rb") as file:
        return file.read(START_BYTES)


class Bytes(io.RawIOBase):
    """The bytes of a file: the first ones (`start`), how many were read so far, and how many there are."""

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


@dataclass(frozen=True)
class Head:
    """What is known about a file before its rows are read; it is small, whatever the size of the file."""

    names: tuple[str, ...]  # all columns in order; one without a name is empty
    kinds: dict[str, str]  # of every column with a name: "whole", "number", "truth", "text", "date" or "unknown"
    has_rows: bool | None = None  # None if only the rows themselves tell
    schema: pyarrow.Schema | None = field(default=None, repr=False)  # the types, if the format has any
    column_bytes: Mapping[str, int] | None = field(default=None, repr=False)  # where columns can be read alone
    session: Any = field(
        default=None, repr=False, compare=False
    )  # with a server, in which every pass sees the same rows

    @classmethod
    def without_types(cls, names: Iterable[str], has_rows: bool | None = None) -> Head:
        """Return the head of a file that says nothing about types: they could only be guessed from values."""
        names = tuple(names)
        return cls(names, {name: "unknown" for name in names if name}, has_rows)


class Piece(NamedTuple):
    """Some rows of a table; the pieces of a table come in the order of its rows.

    `done` and `total` are for a bar: bytes, or for a database rows and None.
    """

    read: Callable[[], pyarrow.Table]  # several threads may read different pieces at once, each piece once
    done: int
    total: int | None


def ready(batch: Any, done: int, total: int | None) -> Piece:
    """Return a record batch that is read already as a piece."""
    import pyarrow

    return Piece(lambda: pyarrow.Table.from_batches([batch]), done, total)
