"""SQLite and DuckDB databases: opened for reading only, one SELECT statement, nothing else.

A database from somebody else may hold a view under the name of a table. So neither views nor queries can open other files, reach the
network or load code: they see this database alone.

Messages of a database quote the query, names and values: only the kind of error is passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from dpmondrian.exceptions import DataError
from dpmondrian.tables.conversion import Kind, counted_pieces, ready_values
from dpmondrian.tables.failures import check_names, failure
from dpmondrian.tables.formats.arrow_files import head_of_schema
from dpmondrian.tables.source import BATCH_ROWS, Head, Piece, Source, check_start, start_of

_ALONE = {
    "python_enable_replacements": "false",  # a name in the query is not looked for among the variables of this program
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""How DuckDB is started. What does not fit into memory it still puts beside the database."""
_OUTSIDE_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
"""Functions of SQLite that reach outside of the database, where a system has them."""


def sqlite_head(source: Source) -> Head:
    """Return the names of the query's columns, and whether it has rows; in SQLite every value has its own type."""
    with _sqlite(source) as cursor:
        cursor.connection.text_factory = bytes  # whatever the first row holds, it is not looked at
        has_rows = cursor.fetchone() is not None
        return Head.without_types((item[0] for item in cursor.description), has_rows)


def sqlite_pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the rows read so far; how many there are is not known."""
    with _sqlite(source) as cursor:
        names = [item[0] for item in cursor.description]
        check_names(source, names, list(kinds))  # a log beside the database may hold another view of it by now
        done = 0
        while rows := cursor.fetchmany(BATCH_ROWS):
            values = dict(zip(names, zip(*rows, strict=True), strict=True))
            done += len(rows)
            yield ready_values(source, values, kinds, done, None)


@contextmanager
def _sqlite(source: Source) -> Iterator[Any]:
    """Yield a cursor with the result of the query."""
    import sqlite3

    def read_only(action: int, _: str | None, name: str | None, *__: object) -> int:
        reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
        outside = action == sqlite3.SQLITE_FUNCTION and str(name).lower() in _OUTSIDE_FUNCTIONS
        return sqlite3.SQLITE_OK if action in reading and not outside else sqlite3.SQLITE_DENY

    try:
        with closing(sqlite3.connect(_sqlite_address(source), uri=True, check_same_thread=False)) as connection:
            connection.text_factory = lambda text: text.decode("utf-8")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.set_authorizer(read_only)
            cursor = connection.execute(source.query or "")
            if cursor.description is None:
                raise _no_select(source)
            yield cursor
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _failed(source, error) from None


def _sqlite_address(source: Source) -> str:
    """Return the address of a database that is only read.

    A database with a write-ahead log leaves files beside it when it is opened. Where there is no log nobody has it open, so it
    can be read as one that does not change, which leaves none.
    """
    start = start_of(source)
    check_start(source, start)
    has_log_mode = start[18:20] == b"\x02\x02"
    is_closed = has_log_mode and not source.path.with_name(f"{source.path.name}-wal").exists()
    return f"{source.path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_closed else ''}"


def duckdb_head(source: Source) -> Head:
    """Return names and types of the query's columns; the query is not run."""
    if source.address is None:
        check_start(source, start_of(source))
    with _duckdb(source) as relation:
        return head_of_schema(relation_reader(relation.limit(0)).schema)


def duckdb_pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the rows read so far; how many there are is not known."""
    with _duckdb(source) as relation:
        reader = relation_reader(relation)
        check_names(source, reader.schema.names, list(kinds))
        yield from counted_pieces(source, reader, target, kinds)


@contextmanager
def _duckdb(source: Source) -> Iterator[Any]:
    """Yield the query as a relation, not yet run."""
    try:
        import duckdb
    except ImportError:
        raise failure(source, "requires duckdb", "Install it with: pip install 'dpmondrian[database]'.") from None

    config: dict[str, Any] = {**_ALONE}
    if source.address is not None:  # no database of somebody else's is involved: the query may name any file
        config = {"python_enable_replacements": "false"}
    place = ":memory:" if source.address is not None else str(source.path)
    try:
        connection = duckdb.connect(place, read_only=source.address is None, config=config)
    except duckdb.Error as error:
        raise failure(
            source,
            f"cannot be opened as a DuckDB database ({type(error).__name__})",
            "It may be damaged, of a different version, or open for writing in another program.",
        ) from None
    try:
        with closing(connection):
            statements = duckdb.extract_statements(source.query or "")
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise _no_select(source)
            yield connection.sql(statements[0])
    except duckdb.Error as error:
        raise _failed(source, error) from None


def relation_reader(relation: Any) -> Any:
    """Return the rows of a relation in batches; they are not all held at once.

    The method has another name in older versions of DuckDB, whose Arrow stream would hold all rows.
    """
    method = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
    return method(BATCH_ROWS)


def _no_select(source: Source) -> DataError:
    return DataError(f"The query on {source.name!r} must be a single SELECT statement that returns the rows.")


def _failed(source: Source, error: Exception) -> DataError:
    return DataError(
        f"The query on {source.name!r} failed ({type(error).__name__}).",
        "Try it in the database's own client. Here a query can only read this database and no other file, even through a view.",
    )
