"""Files as streams: the rows of every format, bit by bit as in memory, and with few of them in memory at once."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError
from dpmondrian.tables.files import Source
from dpmondrian.tables.formats import arrow_files, csv_files
from dpmondrian.tables.frames import Reader, read_table

from .helpers import CATEGORIES, assert_same, made_table, opened, read_rows, reader_of, rows_and_persons


def write_parquet(table, path, **options):
    pq.write_table(table, path, **{"row_group_size": 70, "version": "2.6", **options})


def write_arrow(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=70):
            writer.write_batch(batch)


def write_arrow_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=70):
            writer.write_batch(batch)


TYPED = {
    "people.parquet": write_parquet,
    "people.arrow": write_arrow,
    "people.ipc": write_arrow_stream,
    "people.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path), chunksize=70),
}


def texts_and_numbers(n_rows=500):
    """Return a table with the types that files without types have."""
    table = made_table(n_rows).select(["double", "plan", "small", "person"])
    target = pa.schema(
        [("double", pa.float64()), ("plan", pa.string()), ("small", pa.float64()), ("person", pa.string())]
    )
    return table.cast(target)


def csv_bytes(table):
    file = io.BytesIO()
    pa.csv.write_csv(table, file)
    return file.getvalue()


def json_bytes(table):
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


UNTYPED = {
    "people.csv": csv_bytes,
    "people.csv.gz": lambda table: gzip.compress(csv_bytes(table)),
    "people.tsv": lambda table: csv_bytes(table).replace(b",", b"\t"),
    "people.jsonl": json_bytes,
    "people.jsonl.gz": lambda table: gzip.compress(json_bytes(table)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPED)
def test_typed_files_are_the_table_in_memory(tmp_path, name):
    table = made_table()
    TYPED[name](table, tmp_path / name)
    reader = reader_of(table)
    assert_same(opened(tmp_path / name, None, reader), read_table(table, reader.written, "person"))


@pytest.mark.parametrize("name", UNTYPED)
def test_files_without_types_are_the_table_in_memory(tmp_path, name):
    table = texts_and_numbers()
    (tmp_path / name).write_bytes(UNTYPED[name](table))
    reader = reader_of(table)
    columns = [column for column in table.column_names if column != "person"] if "jsonl" in name else None
    stream = opened(tmp_path / name, columns, reader)
    assert stream.head.whole == (False,) * 3
    assert_same(stream, read_table(table, reader.written, "person"))


WHO = pa.array([3, None, 5, 3])
PERSONS = [
    *(WHO, WHO.cast(pa.int8()), WHO.cast(pa.float64()), WHO.cast(pa.float32()), WHO.cast(pa.decimal128(22, 3))),
    *(WHO.cast(pa.string()), WHO.cast(pa.string()).dictionary_encode(), WHO.cast(pa.string()).cast(pa.binary())),
    *(WHO.cast(pa.bool_()), WHO.cast(pa.int32()).cast(pa.date32()), WHO.cast(pa.timestamp("ns", "UTC"))),
]


@pytest.mark.parametrize("who", PERSONS, ids=lambda who: str(who.type))
def test_persons_of_every_type_have_the_ids_of_memory(tmp_path, who):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "who": who})
    write_parquet(table, tmp_path / "x.parquet")
    assert_same(opened(tmp_path / "x.parquet", None, Reader({}, "who")), read_table(table, {}, "who"))


def test_persons_that_a_float_cannot_tell_apart_are_refused_as_in_memory(tmp_path):
    table = pa.table({"x": [1.0, 2.0], "person": pa.array([2.0**24, 2.0**24 + 1], pa.float32())})
    write_parquet(table, tmp_path / "x.parquet")
    (piece,) = opened(tmp_path / "x.parquet", None, Reader({}, "person")).pieces()
    with pytest.raises(DataError, match="cannot distinguish"):
        piece().hashes(np.zeros(4, dtype=np.uint64), "drop")


@pytest.mark.parametrize("name", [*TYPED, "people.csv"])
def test_only_named_columns_are_read_in_the_order_of_the_file(tmp_path, name):
    table = made_table(200) if name in TYPED else texts_and_numbers(200)
    TYPED.get(name, lambda table, path: path.write_bytes(csv_bytes(table)))(table, tmp_path / name)
    stream = opened(tmp_path / name, ("plan", "small", "double"), Reader(CATEGORIES))
    assert stream.head.names == ("double", "small", "plan") if name in TYPED else ("double", "plan", "small")
    assert_same(stream, read_table(table.select(list(stream.head.names)), CATEGORIES))


def test_the_order_of_the_reader_is_kept(tmp_path):
    table = made_table(100).select(["double", "single", "small", "person"])
    write_parquet(table, tmp_path / "x.parquet")
    names = ("small", "double", "single")
    stream = opened(tmp_path / "x.parquet", names, Reader({}, "person", person_needed=False, order=names))
    assert stream.head.whole == (True, False, False)
    assert_same(stream, read_table(table.select(list(names))))


def test_columns_that_are_not_numbers_must_be_declared_or_left_out(tmp_path):
    write_parquet(made_table().select(["single", "plan"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet' has a column 'plan' of type text.*Declare its categories"):
        opened(tmp_path / "x.parquet")
    assert opened(tmp_path / "x.parquet", ["single"]).head.names == ("single",)


def test_missing_columns_are_told_with_the_nearest(tmp_path):
    write_parquet(made_table(), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet' lacks the columns \['doubel'\]\. Did you mean 'double'"):
        opened(tmp_path / "x.parquet", ["doubel", "single"])
    with pytest.raises(DataError, match=r"lacks the columns \['persom'\]\. Did you mean 'person'"):
        opened(tmp_path / "x.parquet", ["double"], Reader({}, "persom"))


def test_a_file_of_persons_only_has_nothing_to_cluster(tmp_path):
    write_parquet(made_table().select(["person"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="no columns to cluster"):
        opened(tmp_path / "x.parquet", None, Reader({}, "person"))


def test_a_file_without_rows_is_a_stream_without_rows(tmp_path):
    table = made_table().slice(0, 0)
    write_parquet(table, tmp_path / "x.parquet")
    reader = reader_of(table)
    assert_same(opened(tmp_path / "x.parquet", None, reader), read_table(table, reader.written, "person"))


@pytest.mark.slow
def test_databases_are_streamed_with_a_query(tmp_path):
    import sqlite3

    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE t (x)")
    connection.executemany("INSERT INTO t VALUES (?)", [(float(i),) for i in range(40_000)])
    connection.commit()
    connection.close()
    stream = opened(Source(tmp_path / "x.db", "SELECT x FROM t"))
    seen, pieces = [], stream.pieces(lambda done, total: seen.append((done, total)))
    with ThreadPoolExecutor(1) as other:  # pieces may be asked for by any thread
        first, second = next(pieces)(), other.submit(next, pieces).result()()
    rows = rows_and_persons([first, second, *(piece() for piece in pieces)])[0]
    assert rows[:, 0].tolist() == list(range(40_000))
    assert seen[-1] == (40_000, None)


# --- pieces


def random_parquet(path, n_rows=10_000, **options):
    generator = np.random.default_rng(1)
    columns = {name: generator.normal(size=n_rows).astype(np.float32) for name in "abc"}
    table = pa.table({**columns, "t": generator.choice(["x", "y"], n_rows)})
    pq.write_table(table, path, **options)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("piece_bytes", [2**24, 40_000, 300])
@pytest.mark.parametrize("largest_group", [2**26, 0])
def test_any_division_of_row_groups_gives_the_same_rows(tmp_path, monkeypatch, piece_bytes, largest_group):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(arrow_files, "LARGEST_GROUP", largest_group)
    table = random_parquet(tmp_path / "x.parquet", row_group_size=3000)
    stream = opened(tmp_path / "x.parquet", "abc")
    assert_same(stream, read_table(table.select(list("abc"))))
    sizes = [piece().n_rows for piece in stream.pieces()]
    assert max(sizes) * 12 <= max(piece_bytes, largest_group)
    assert sizes == [piece().n_rows for piece in stream.pieces()]


@pytest.mark.parametrize("name", ["people.arrow", "people.ipc"])
def test_large_record_batches_are_several_pieces(tmp_path, monkeypatch, name):
    table = made_table().select(["double", "single"])
    TYPED[name](table, tmp_path / name)
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 12 * 30)
    stream = opened(tmp_path / name)
    assert_same(stream, read_table(table))
    assert [piece().n_rows for piece in stream.pieces()][:4] == [30, 30, 10, 30]


def test_row_groups_of_repeated_values_are_large_too(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 4000)
    monkeypatch.setattr(arrow_files, "LARGEST_GROUP", 4000)
    pq.write_table(pa.table({"x": np.zeros(10_000)}), tmp_path / "x.parquet")
    sizes = [piece().n_rows for piece in opened(tmp_path / "x.parquet").pieces()]
    assert sizes == [500] * 20


@pytest.mark.parametrize("largest_group", [2**26, 0])
def test_pieces_are_read_by_several_threads_in_any_order(tmp_path, monkeypatch, largest_group):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 3000)
    monkeypatch.setattr(arrow_files, "LARGEST_GROUP", largest_group)
    for number in range(3):
        random_parquet(tmp_path / f"{number}.parquet", row_group_size=500)
    expected = np.concatenate([read_rows(tmp_path / f"{number}.parquet", "abc") for number in range(3)])
    pieces = list(opened(tmp_path, "abc").pieces())
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(piece) for piece in reversed(pieces)]
    tables = [future.result() for future in reversed(futures)]
    np.testing.assert_array_equal(rows_and_persons(tables)[0], expected)


def test_progress_grows_to_its_total_and_is_told_by_one_thread_at_a_time(tmp_path):
    for number in range(3):
        random_parquet(tmp_path / f"{number}.parquet", row_group_size=500)
    seen, busy = [], threading.Lock()

    def progress(done, total):
        assert busy.acquire(blocking=False)
        seen.append((done, total))
        busy.release()

    pieces = list(opened(tmp_path, "abc").pieces(progress))
    assert len(seen) == 1
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda piece: piece(), pieces))
    done, totals = [done for done, _ in seen], {total for _, total in seen}
    assert done == sorted(done)
    assert totals == {done[-1]}
    assert seen[0][0] == 0
    assert 0 < done[-1] < sum(path.stat().st_size for path in tmp_path.iterdir())


def test_progress_of_csv_ends_at_the_size_of_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 2000)
    for number in range(3):
        (tmp_path / f"{number}.csv").write_bytes(csv_bytes(texts_and_numbers(200)))
    seen = []
    pieces = opened(tmp_path, ["double"]).pieces(lambda *where: seen.append(where))
    assert sum(piece().n_rows for piece in pieces) == 600
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert (seen[0], seen[-1]) == ((0, size), (size, size))
    assert len(seen) > 10


MEMORY = """
import sys, pyarrow as pa, pyarrow.parquet as pq
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.opening import open_stream
rows = 0
for piece in open_stream(sys.argv[1], None, Reader()).pieces():
    rows += piece().n_rows
print(rows, pa.default_memory_pool().max_memory())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("row_group_size", "most"), [(100_000, 40e6), (4_000_000, 70e6)])
def test_a_parquet_file_is_never_in_memory_as_a_whole(tmp_path, row_group_size, most):
    table = pa.table({name: np.random.default_rng(0).random(4_000_000) for name in "abcdefgh"})  # 256 MB
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, row_group_size=row_group_size, use_dictionary=False, compression="none")
    command = [sys.executable, "-c", MEMORY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    rows, peak = map(int, done.stdout.split())
    assert rows == 4_000_000
    assert peak < most


def is_open(path):
    """Return whether this process has a file open; how many others it has open does not matter."""
    links = (Path("/proc/self/fd") / number for number in os.listdir("/proc/self/fd"))
    return str(path) in {os.readlink(link) for link in links if os.path.islink(link)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The system does not tell which files are open.")
def test_a_pass_that_is_given_up_leaves_no_file_open(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 300)
    monkeypatch.setattr(arrow_files, "LARGEST_GROUP", 300)
    random_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_bytes(csv_bytes(texts_and_numbers(20_000)))
    for name in ("x.parquet", "x.csv"):
        pieces = opened(tmp_path / name, ["a"] if name == "x.parquet" else ["double"]).pieces()
        next(pieces)()
        assert is_open(tmp_path / name)
        pieces.close()
        assert not is_open(tmp_path / name)


def test_a_stream_shows_no_rows(tmp_path):
    pq.write_table(pa.table({"x": [987654.321] * 50}), tmp_path / "x.parquet")
    stream = opened(tmp_path / "x.parquet")
    assert "987654" not in repr(stream)
    assert "50" not in repr(stream).replace(str(tmp_path), "")


@pytest.mark.slow
def test_libraries_are_imported_only_when_used(tmp_path):
    random_parquet(tmp_path / "x.parquet")
    code = (
        "import sys; from dpmondrian.tables.opening import open_stream; from dpmondrian.tables.frames import Reader\n"
        "names = ('pyarrow', 'pyarrow.parquet', 'pyarrow.dataset', 'duckdb', 'polars', 'sqlite3')\n"
        "print([n for n in names if n in sys.modules])\n"
        "list(open_stream(sys.argv[1], 'abc', Reader()).pieces())[0]()\n"
        "print([n for n in names if n in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.splitlines() == ["[]", "['pyarrow', 'pyarrow.parquet']"]
