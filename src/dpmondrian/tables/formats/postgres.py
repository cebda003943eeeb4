"""PostgreSQL through ADBC: one SELECT statement in a transaction that only reads, streamed, and the same rows in every pass.

A server goes on changing while it is read. So one connection keeps a snapshot for as long as the table is in use, and every pass reads
it in a connection of its own. Parallel and synchronised scans are off, because they would mix up the order of the rows.

Messages of a server quote the query, names and values: only the kind of error is passed on.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from dpmondrian.exceptions import DataError
from dpmondrian.tables.conversion import Kind, counted_pieces
from dpmondrian.tables.failures import failure
from dpmondrian.tables.formats.arrow_files import head_of_schema
from dpmondrian.tables.source import Head, Piece, Source

_BATCH_BYTES = 2**22
_LONGEST_INTEGER = 18  # digits that always fit into 64 bits
_IN_ORDER = ("SET max_parallel_workers_per_gather = 0", "SET synchronize_seqscans = off")
_PLAIN_TYPES = frozenset(
    [
        "bool",
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
        "text",
        "varchar",
        "bpchar",
        "name",
        "date",
        "timestamp",
        "timestamptz",
        "time",
        "bytea",
    ]
)


def head(source: Source) -> Head:
    """Return names and types of the query's columns; the query is not run."""
    session = _Session(source)
    plain = [_in_plain_type(field) for field in session.types()]
    head = head_of_schema(session.types(", ".join(plain)))
    return Head(head.names, head.kinds, schema=head.schema, session=session)


def pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the rows read so far; how many there are is not known."""
    wanted = ", ".join(_in_plain_type(field) for field in head.session.types() if field.name in kinds)
    with head.session.reader(wanted) as batches:
        yield from counted_pieces(source, batches, target, kinds)


class _Session:
    """A snapshot of the database, for as long as this object lives."""

    def __init__(self, source: Source) -> None:
        self._source = source
        connection = _connected(source)
        weakref.finalize(self, connection.close)
        with _explaining_errors(source), closing(connection.cursor()) as cursor:
            _begin(cursor)
            cursor.execute("SELECT pg_export_snapshot()")
            self._snapshot = str(cursor.fetchone()[0])

    def types(self, columns: str = "*") -> Any:
        """Return the Arrow schema of columns of the query."""
        with self._cursor() as cursor:
            return cursor.adbc_execute_schema(self._query(columns))

    @contextmanager
    def reader(self, columns: str) -> Iterator[Any]:
        """Yield the record batches of columns of the query."""
        with self._cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": _BATCH_BYTES})
            cursor.execute(self._query(columns))
            with closing(cursor.fetch_record_batch()) as batches:
                yield batches

    def _query(self, columns: str) -> str:
        return f"SELECT {columns} FROM ({(self._source.query or '').strip().rstrip(';')}\n) AS the_query"  # noqa: S608

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with (
            _explaining_errors(self._source),
            closing(_connected(self._source)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            _begin(cursor)
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{self._snapshot}'")
            for setting in _IN_ORDER:
                cursor.execute(setting)
            yield cursor


def _begin(cursor: Any) -> None:
    cursor.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


def _in_plain_type(field: Any) -> str:
    """Return SQL for a column, in a type that means the same in Arrow."""
    name = '"' + field.name.replace('"', '""') + '"'
    facts = field.metadata or {}
    kind = facts.get(b"POSTGRESQL:type", b"").decode()
    if kind == "numeric":
        return f"{name}::{_number_type(int(facts.get(b'POSTGRESQL:typmod', -1)))} AS {name}"
    if kind == "money":  # Arrow would get cents
        return f"{name}::numeric::float8 AS {name}"
    return name if kind in _PLAIN_TYPES else f"{name}::text AS {name}"


def _number_type(typmod: int) -> str:
    """Return the type for exact numbers with the precision and scale of a column: integers remain exact."""
    precision, scale = divmod(typmod - 4, 2**16)
    return "int8" if typmod >= 4 and scale == 0 and precision <= _LONGEST_INTEGER else "float8"


def _connected(source: Source) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise failure(
            source, "requires the PostgreSQL driver", "Install it with: pip install 'dpmondrian[postgres]'."
        ) from None
    with _explaining_errors(source, "cannot be reached"):
        return dbapi.connect(source.address or "", autocommit=True)


@contextmanager
def _explaining_errors(source: Source, problem: str = "") -> Iterator[None]:
    from adbc_driver_manager import Error

    try:
        yield
        return
    except Error as error:
        kind = type(error).__name__
    if problem:
        raise failure(
            source,
            f"{problem} ({kind})",
            "Check host, port, name and user, and try psql with the same address; keep the password in PGPASSWORD or ~/.pgpass.",
        )
    raise DataError(
        f"The query on {source.name!r} failed ({kind}).",
        "Try it in psql. It must be a single SELECT statement, in a transaction that only reads.",
    )
