"""Streams that are no files: functions, datasets, DuckDB relations, polars LazyFrames."""

import gc
import subprocess
import sys
import traceback

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError
from dpmondrian.tables import arrow_stream
from dpmondrian.tables.frames import Reader, read_table

from .helpers import CATEGORIES, assert_same, made_table, opened, read_rows, reader_of, rows_and_persons

SECRET = "ZXCANARY"


def batches_of(table, n_rows=70):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=n_rows))


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(params=[2**17, 64])
def piece_rows(request, monkeypatch):
    monkeypatch.setattr(arrow_stream, "_MOST_ROWS", request.param)
    monkeypatch.setattr(arrow_stream, "_LEAST_ROWS", 1)
    return request.param


def test_functions_that_return_readers(piece_rows):
    table = made_table()
    reader = reader_of(table)
    assert_same(opened(lambda: batches_of(table), None, reader), read_table(table, reader.written, "person"), passes=3)


def test_functions_that_return_what_can_be_exported(piece_rows):
    table = made_table().select(["double", "small", "person"])
    expected = read_table(table, {}, "person")
    assert_same(opened(lambda: table, None, Reader({}, "person")), expected)
    assert_same(opened(lambda: pl.from_arrow(table), None, Reader({}, "person")), expected)


def test_datasets(tmp_path, piece_rows):
    table = made_table()
    reader = reader_of(table)
    expected = read_table(table, reader.written, "person")
    assert_same(opened(ds.dataset(table), None, reader), expected)
    for number, start in enumerate(range(0, table.num_rows, 300)):
        pq.write_table(table.slice(start, 300), tmp_path / f"{number}.parquet", row_group_size=100)
    assert_same(opened(ds.dataset(tmp_path), None, reader), expected)


def test_columns_of_a_dataset_may_come_from_its_folders(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": [0.5]}), tmp_path / f"year={year}" / "x.parquet")
    assert read_rows(ds.dataset(tmp_path, partitioning="hive")).tolist() == [[0.5, 2023], [0.5, 2024]]
    assert read_rows(ds.dataset(tmp_path, partitioning="hive").filter(ds.field("year") > 2023)).tolist() == [
        [0.5, 2024]
    ]


DUCKDB_TYPES = [
    "double",
    "huge",
    "unsigned",
    "single",
    "truth",
    "small",
    "money",
    "plan",
    "level",
    "agrees",
    "share",
    "person",
]


@pytest.mark.slow
def test_duckdb_relations(connection, piece_rows):
    table = made_table(5000).select(DUCKDB_TYPES)
    reader = reader_of(table)
    connection.register("people", table)
    stream = opened(connection.sql("SELECT * FROM people"), None, reader)
    assert_same(stream, read_table(table, reader.written, "person"))


def test_wanted_columns_of_a_relation(connection):
    relation = connection.sql("""SELECT 1 AS "a b", 2 AS "c""d", 3 AS "e.f", 'text' AS t, 1.5 AS g""")
    stream = opened(relation, ["g", "e.f", 'c"d', "a b"])
    assert stream.head.names == ("a b", 'c"d', "e.f", "g")
    assert stream.head.whole == (True, True, True, False)
    assert read_rows(relation, ["g", "e.f", 'c"d', "a b"]).tolist() == [[1, 2, 3, 1.5]]


POLARS_TYPES = [
    "double",
    "huge",
    "unsigned",
    "single",
    "truth",
    "small",
    "money",
    "plan",
    "coded",
    "level",
    "agrees",
    "person",
]


@pytest.mark.slow
def test_polars_lazy_frames(piece_rows):
    frame = pl.from_arrow(made_table(5000).select(POLARS_TYPES))
    reader = reader_of(frame.to_arrow())
    stream = opened(frame.lazy(), None, reader)
    assert_same(stream, read_table(frame, reader.written, "person"))
    assert_same(stream, read_table(frame.to_arrow(), reader.written, "person"))


def test_wanted_columns_of_a_lazy_frame():
    frame = pl.LazyFrame({"^a$": [1], "*": [2.5], "text": ["x"], "a": [4]})
    assert opened(frame, ["*", "^a$"]).head.names == ("^a$", "*")
    assert read_rows(frame, ["*", "^a$"]).tolist() == [[1, 2.5]]


@pytest.mark.parametrize("kind", ["function", "dataset", "relation", "lazy frame"])
def test_columns_and_types_are_checked_before_rows_are_read(connection, kind):
    table = pa.table({"age": [1.0], "income": [2.0], "plan": ["basic"], "born": pa.array([0], pa.date32())})
    connection.register("people", table)
    X = {
        "function": lambda: batches_of(table),
        "dataset": ds.dataset(table),
        "relation": connection.sql("FROM people"),
        "lazy frame": pl.from_arrow(table).lazy(),
    }[kind]
    with pytest.raises(DataError, match=r"lacks the columns \['incomes'\]\. Did you mean 'income'"):
        opened(X, ["age", "incomes"])
    with pytest.raises(DataError, match=r"has a column 'plan' of type text.*Declare its categories"):
        opened(X, ["age", "plan"])
    with pytest.raises(DataError, match="has a column 'born' of type date"):
        opened(X, ["age", "born"])
    assert read_rows(X, ["age", "plan"], Reader(CATEGORIES)).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("n_rows", [1, 7, 64, 65, 1000])
def test_every_pass_divides_the_rows_in_the_same_way(monkeypatch, n_rows):
    monkeypatch.setattr(arrow_stream, "_MOST_ROWS", 64)
    monkeypatch.setattr(arrow_stream, "_LEAST_ROWS", 64)
    table = pa.table({"x": np.arange(1000.0)})
    stream = opened(lambda: batches_of(table, n_rows))
    assert [piece().n_rows for piece in stream.pieces()] == [64] * 15 + [40]


def test_pieces_of_wide_tables_have_fewer_rows():
    table = pa.table({f"x{number}": np.zeros(10_000) for number in range(1000)})
    sizes = [piece().n_rows for piece in opened(lambda: table).pieces()]
    assert max(sizes) * 8000 <= 2**24
    assert sum(sizes) == 10_000


def test_progress_tells_rows():
    seen = []
    pieces = opened(lambda: batches_of(made_table()), ["double"]).pieces(lambda *where: seen.append(where))
    for piece in pieces:
        piece()
    assert (seen[0], seen[-1]) == ((0, None), (1000, None))


# --- what goes wrong


def test_a_reader_can_be_read_once_only():
    with pytest.raises(DataError, match=r"can be read only once.*lambda:"):
        opened(batches_of(made_table()))


def test_a_function_must_make_a_new_reader():
    reader = batches_of(made_table().select(["double"]))
    with pytest.raises(DataError, match=r"returned the same reader twice.*create a new one"):
        next(opened(lambda: reader).pieces())


def test_a_function_must_return_a_reader():
    with pytest.raises(DataError, match=r"returned a int\. It must return an Arrow RecordBatchReader"):
        opened(lambda: 3)


def test_a_function_must_give_the_same_columns():
    tables = iter([pa.table({"x": [1.0]}), pa.table({"x": [1]})])
    with pytest.raises(DataError, match="returned different columns or types than before"):
        next(opened(lambda: next(tables)).pieces())


def assert_tells_nothing(error):
    assert SECRET not in "".join(traceback.format_exception(error)) + repr(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_errors_of_a_function_are_not_quoted():
    def failing():
        raise ValueError(SECRET)

    with pytest.raises(
        DataError, match=r"The function that returns the rows failed \(ValueError\)\. Call it"
    ) as caught:
        opened(failing)
    assert_tells_nothing(caught.value)


def test_errors_amid_the_rows_are_not_quoted(connection, tmp_path):
    table = pa.table({"x": ["1"] * 5000 + [SECRET]})
    connection.register("people", table)

    def failing():
        yield from table.slice(0, 5000).to_batches()
        raise ValueError(SECRET)

    sources = {
        "The function that returns the rows": lambda: pa.RecordBatchReader.from_batches(
            pa.schema([("x", pa.float64())]),
            (pa.record_batch([b.column(0).cast(pa.float64())], names=["x"]) for b in failing()),
        ),
        "The DuckDB relation": connection.sql("SELECT CAST(x AS DOUBLE) AS x FROM people"),
        "The polars LazyFrame": pl.from_arrow(table).lazy().select(pl.col("x").cast(pl.Float64)),
    }
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [SECRET] * 50, "y": np.arange(50.0)}), path, compression="none", use_dictionary=False)
    sources["The dataset"] = ds.dataset(path)
    for title, X in sources.items():
        stream = opened(X, ["y"] if title == "The dataset" else ["x"])
        if title == "The dataset":
            path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(DataError, match=title) as caught:
            rows_and_persons(piece() for piece in stream.pieces())
        assert_tells_nothing(caught.value)


def test_a_relation_whose_connection_is_closed(connection):
    relation = connection.sql("SELECT 1.5 AS x")
    stream = opened(relation)
    connection.close()
    with pytest.raises(DataError, match=r"The DuckDB relation failed.*connection must be open"):
        next(stream.pieces())
    with pytest.raises(DataError, match="The DuckDB relation failed"):
        opened(relation)


def test_a_polars_that_cannot_stream(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    with pytest.raises(DataError, match=r"requires polars 1\.34 or newer.*frame\.collect\(\)"):
        opened(pl.LazyFrame({"x": [1.0]}))


@pytest.mark.slow
def test_a_pass_that_is_given_up_closes_its_reader():
    closed = []

    def rows():
        try:
            for _ in range(100):
                yield pa.record_batch([pa.array(np.zeros(2**17))], names=["x"])
        finally:
            closed.append(True)

    schema = pa.schema([("x", pa.float64())])
    pieces = opened(lambda: pa.RecordBatchReader.from_batches(schema, rows())).pieces()
    next(pieces)()
    closed.clear()
    pieces.close()
    gc.collect()
    assert closed


# --- memory

MEMORY = """
import resource, sys
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.opening import open_stream
import duckdb, polars, pyarrow.dataset

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

kind, path = sys.argv[1:]
connection = duckdb.connect(config={"threads": 2})
connection.execute("SET enable_progress_bar = false")  # it would be printed
X = {
    "dataset": lambda: pyarrow.dataset.dataset(path),
    "relation": lambda: connection.read_parquet(path),
    "lazy frame": lambda: polars.scan_parquet(path),
}[kind]()
pieces = open_stream(X, None, Reader()).pieces()
rows, before = next(pieces)().n_rows, peak()
rows += sum(piece().n_rows for piece in pieces)
print(rows, peak() - before)
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """Return a file with 256 MB of rows, which is deleted after the tests here."""
    path = tmp_path_factory.mktemp("large") / "x.parquet"
    table = pa.table({name: np.random.default_rng(0).random(4_000_000) for name in "abcdefgh"})
    pq.write_table(table, path, row_group_size=100_000, use_dictionary=False, compression="none")
    yield path
    path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dataset", "relation", "lazy frame"])
def test_rows_are_not_all_in_memory(large_file, kind):
    command = [sys.executable, "-c", MEMORY, kind, str(large_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    rows, more = map(int, done.stdout.split())
    assert rows == 4_000_000
    assert more < 110e6
