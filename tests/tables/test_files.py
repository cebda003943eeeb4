"""Tables from files: the same columns from every format, one sentence for every failure, and never a value in it."""

import bz2
import csv
import datetime
import decimal
import gzip
import io
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import traceback
import zipfile
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError, DPMondrianError, ParameterError
from dpmondrian.schema import text_of
from dpmondrian.tables.files import Source, open_file
from dpmondrian.tables.formats import arrow_files, csv_files, databases, json_files
from dpmondrian.tables.source import ENDINGS

QUERY = "SELECT * FROM people"
KINDS = {"income": "number", "plan": "text", "age": "number"}
ROWS = {
    "plan": ["basic", None, "premium"],
    "age": [34, 28, None],
    "income": [1200.5, -3.0, 1e6],
    "note": ["x", "y", "z"],
}
EXPECTED = {"income": [1200.5, -3.0, 1e6], "plan": ["basic", None, "premium"], "age": [34, 28, None]}


def people():
    return pa.table({**ROWS, "age": pa.array(ROWS["age"], pa.int16())})


def csv_text(delimiter=",", line_end="\n"):
    lines = ["plan,age,income,note", "basic,34,1200.5,x", ",28,-3,y", "premium,,1e6,z", ""]
    return line_end.join(lines).replace(",", delimiter).encode()


def json_text():
    rows = [dict(zip(ROWS, values, strict=True)) for values in zip(*ROWS.values(), strict=True)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def with_arrow_codec(codec):
    def compressed(content, path):
        with pa.CompressedOutputStream(str(path), codec) as file:
            file.write(content)

    return compressed


COMPRESSIONS = {
    ".gz": lambda content, path: path.write_bytes(gzip.compress(content)),
    ".bz2": lambda content, path: path.write_bytes(bz2.compress(content)),
    ".xz": lambda content, path: path.write_bytes(lzma.compress(content)),
    ".zst": with_arrow_codec("zstd"),
    ".lz4": with_arrow_codec("lz4"),
}


def write_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, people().schema) as writer:
        writer.write_table(people())


def write_sqlite(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (plan, age, income, note)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", zip(*ROWS.values(), strict=True))
    connection.commit()
    connection.close()


def write_duckdb(path, table=None):
    table = people() if table is None else table
    connection = duckdb.connect(str(path))
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    connection.close()


def write_xlsx(path, rows=None):
    workbook = openpyxl.Workbook()
    for row in [list(ROWS), *zip(*ROWS.values(), strict=True)] if rows is None else rows:
        workbook.active.append(row)
    workbook.save(path)


def write_ods(path):
    """Write what a spreadsheet program would, as far as it matters."""

    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}"/>'

    rows = [list(ROWS), *zip(*ROWS.values(), strict=True)]
    content = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", '<?xml version="1.0"?><manifest/>')
        archive.writestr(
            "content.xml",
            f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
            f'<table:table table:name="people">{content}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )


WRITERS = {
    "people.csv": lambda path: path.write_bytes(csv_text()),
    "people.CSV": lambda path: path.write_bytes(csv_text()),
    "people.v2.tsv": lambda path: path.write_bytes(csv_text("\t")),
    "people.txt": lambda path: path.write_bytes(csv_text(line_end="\r\n")),
    "people.parquet": lambda path: pq.write_table(people(), path, row_group_size=2),
    "people.pq": lambda path: pq.write_table(people(), path),
    "people.arrow": write_stream,
    "people.feather": lambda path: pyarrow.feather.write_feather(people(), str(path)),
    "people.ipc": lambda path: pyarrow.feather.write_feather(people(), str(path), compression="uncompressed"),
    "people.jsonl": lambda path: path.write_bytes(json_text()),
    "people.ndjson": lambda path: path.write_bytes(json_text()),
    "people.json": lambda path: path.write_bytes(b"\xef\xbb\xbf\n" + json_text()),
    "people.db": write_sqlite,
    "people.sqlite": write_sqlite,
    "people.sqlite3": write_sqlite,
    "people.duckdb": write_duckdb,
    "people.xlsx": write_xlsx,
    "people.ods": write_ods,
    **{f"people.csv{end}": lambda path, write=write: write(csv_text(), path) for end, write in COMPRESSIONS.items()},
    **{f"people.jsonl{end}": lambda path, write=write: write(json_text(), path) for end, write in COMPRESSIONS.items()},
}
TYPED = ("Parquet", "Arrow", "DuckDB")


def source_of(path, **options):
    is_database = Path(path).suffix in (".db", ".sqlite", ".sqlite3", ".duckdb")
    return Source(path, **({"query": QUERY} if is_database else {}), **options)


@pytest.fixture
def made(tmp_path):
    """Return a function that makes a file and returns its source."""

    def make(name, content=None):
        path = tmp_path / name
        if content is None:
            WRITERS[name](path)
        elif isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content)
        return source_of(path)

    return make


def test_every_ending_is_tried():
    assert {Path(name.lower()).suffix for name in WRITERS} == {*ENDINGS, *COMPRESSIONS}


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_columns_from_every_format(made, name):
    source = made(name)
    table = open_file(source).read(KINDS)
    assert table.to_pydict() == EXPECTED
    assert table.column_names == list(KINDS)
    number = pa.int16() if source.format in TYPED else pa.float64()
    assert table.schema.types == [pa.float64(), pa.string(), number]


@pytest.mark.parametrize("name", WRITERS)
def test_names_and_kinds_come_from_metadata(made, name):
    source = made(name)
    kinds = {"plan": "text", "age": "whole", "income": "number", "note": "text"}
    assert open_file(source).kinds == (kinds if source.format in TYPED else dict.fromkeys(kinds, "unknown"))


@pytest.mark.parametrize("name", WRITERS)
def test_progress_grows_to_its_total(made, name):
    source, seen = made(name), []
    open_file(source).read(KINDS, lambda done, total: seen.append((done, total)))
    done = [done for done, _ in seen]
    assert done == sorted(done)
    total = seen[-1][1]
    assert seen[0] == (0, total)
    if source.format in ("SQLite", "DuckDB", "Excel"):
        assert (done[-1], total) == (3, None)
    else:
        assert 0 < done[-1] <= total <= source.path.stat().st_size
    if source.format in ("CSV", "Parquet"):
        assert done[-1] == total


def test_an_error_of_the_progress_is_not_one_of_the_file(made):
    def broken(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        open_file(made("people.csv")).read(KINDS, broken)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b"plan,age,income\n"),
        ("empty.csv", b"plan,age,income"),
        ("empty.parquet", people().slice(0, 0)),
    ],
)
def test_a_table_without_rows_is_an_empty_table(made, name, content):
    table = open_file(made(name, content)).read(KINDS)
    assert table.num_rows == 0
    assert table.schema.types == [pa.float64(), pa.string(), pa.int16() if name.endswith("t") else pa.float64()]


def test_databases_without_rows_are_empty_tables(made, tmp_path):
    for name in ("people.db", "people.duckdb"):
        made(name)
        table = open_file(Source(tmp_path / name, query=f"{QUERY} WHERE income > 1e9")).read(KINDS)
        assert (table.num_rows, table.column_names) == (0, list(KINDS))


# --- CSV


def test_csv_of_many_blocks(made, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 4096)
    rows = [f"{number},{'a' if number % 2 else 'b'}" for number in range(20_000)]
    table = open_file(made("long.csv", "\n".join(["x,y", *rows]).encode())).read({"y": "text", "x": "number"})
    assert table.column("x").to_pylist() == list(range(20_000))
    assert table.column("x").num_chunks > 3


@pytest.mark.parametrize("delimiter", [";", "|", "\t", "tab", "\\t"])
def test_csv_delimiters(tmp_path, delimiter):
    sign = "\t" if delimiter in ("tab", "\\t") else delimiter
    (tmp_path / "people.csv").write_bytes(csv_text(sign))
    assert open_file(Source(tmp_path / "people.csv", delimiter=delimiter)).read(KINDS).to_pydict() == EXPECTED


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"\n\n", b"\xef\xbb\xbf\r\n"])
def test_csv_marks_and_empty_lines_before_the_header(made, start):
    source = made("people.csv", start + csv_text())
    assert list(open_file(source).kinds) == ["plan", "age", "income", "note"]
    assert open_file(source).read(KINDS).to_pydict() == EXPECTED


def test_csv_quotes(made):
    source = made("quoted.csv", b'"a, b","c ""d""","two\nlines"\r\n"1","x,y","one\r\ntwo"\r\n')
    assert list(open_file(source).kinds) == ["a, b", 'c "d"', "two\nlines"]
    table = open_file(source).read({'c "d"': "text", "two\nlines": "text", "a, b": "number"})
    assert table.to_pylist() == [{'c "d"': "x,y", "two\nlines": "one\r\ntwo", "a, b": 1.0}]


def test_csv_missing_words_are_missing_numbers_and_ordinary_texts(made):
    words = ["", "NA", "NaN", "null", "N/A", "#N/A"]
    source = made("words.csv", "\n".join(["x,y,z", *(f"{word},{word},1" for word in words)]).encode())
    table = open_file(source).read({"x": "number", "y": "text"})
    assert table.to_pydict() == {"x": [None] * 6, "y": [None, *words[1:]]}


def test_csv_truth_values_count_as_numbers(made, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 512)
    numbers = [f"{number / 8},NA" for number in range(400)]
    source = made("truth.csv", "\n".join(["x,y", *numbers, "true,a", " FALSE ,b", "True,c", "NA,d", " 7,e"]).encode())
    table = open_file(source).read({"x": "number", "y": "text"})
    assert table.column("x").to_pylist() == [*(number / 8 for number in range(400)), 1.0, 0.0, 1.0, None, 7.0]
    assert table.column("y").to_pylist() == ["NA"] * 400 + list("abcde")
    assert table.column("x").num_chunks > 2


def test_csv_huge_numbers(made):
    content = b"x\n123456789012345678901234567890\n-1e400\n18446744073709551616\n"
    assert open_file(made("huge.csv", content)).read({"x": "number"}).to_pydict() == {
        "x": [123456789012345678901234567890.0, -np.inf, 2.0**64]
    }


def test_csv_texts_are_taken_as_they_are(made):
    source = made("codes.csv", b"code\n01\n1.0\ntrue\n 1\nx\0y\n")
    assert open_file(source).read({"code": "text"}).to_pydict() == {"code": ["01", "1.0", "true", " 1", "x\0y"]}


def test_csv_columns_without_a_name_are_left_out(made):
    source = made("index.csv", b",age,,\n0,34,,\n1,28,,\n")
    assert open_file(source).kinds == {"age": "unknown"}
    assert open_file(source).read({"age": "number"}).to_pydict() == {"age": [34.0, 28.0]}


def test_csv_bad_bytes_in_another_column_do_not_matter(made):
    source = made("latin.csv", b"age,name\n34,J\xf6rg\n")
    assert open_file(source).read({"age": "number"}).to_pydict() == {"age": [34.0]}
    with pytest.raises(DataError, match="Save it as UTF-8"):
        open_file(source).read({"name": "text"})


def test_csv_years_may_be_names(made):
    assert list(open_file(made("wide.csv", b"country,2023,2024\nx,1,2\n")).kinds) == ["country", "2023", "2024"]


# --- other formats


def test_only_wanted_columns_of_parquet_are_read(made, monkeypatch):
    asked = []
    read_row_groups = pq.ParquetFile.read_row_groups
    monkeypatch.setattr(
        pq.ParquetFile,
        "read_row_groups",
        lambda self, *args, **keywords: asked.append(keywords["columns"]) or read_row_groups(self, *args, **keywords),
    )
    open_file(made("people.parquet")).read({"age": "number"})
    assert asked == [["age"]]


def test_wanted_columns_of_an_arrow_file_may_be_in_any_order(made):
    source = made("people.ipc")
    for names in (["note", "plan"], ["age"], ["income", "age", "plan"]):
        kinds = {name: "text" if name in ("note", "plan") else "number" for name in names}
        assert open_file(source).read(kinds).column_names == names


@pytest.mark.parametrize(
    ("piece_bytes", "largest_group", "n_pieces"),
    [(2**24, 2**26, 1), (8000, 2**26, 2), (0, 2**26, 4), (1600, 0, 8), (10**9, 900, 1)],
)
def test_parquet_in_pieces(made, monkeypatch, piece_bytes, largest_group, n_pieces):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(arrow_files, "LARGEST_GROUP", largest_group)
    x = np.arange(1000, dtype=np.float32)
    path = made("small.parquet", pa.table({"x": x, "a.b": x, "a": x})).path
    pq.write_table(pa.table({"x": x, "a.b": x, "a": x}), path, row_group_size=250)
    seen = []
    table = open_file(Source(path)).read({"a": "number", "x": "number"}, lambda done, total: seen.append(done / total))
    assert table.schema.types == [pa.float32()] * 2
    np.testing.assert_array_equal(table.column("a").to_numpy(), x)
    assert len(seen) == 1 + n_pieces
    assert seen == sorted(seen)
    assert seen[-1] == 1


MEMORY = """
import sys, pyarrow as pa
from dpmondrian.schema import text_of
from dpmondrian.tables.files import Source, open_file
table = open_file(Source(sys.argv[1])).read({name: "number" for name in "abcd"})
print(pa.default_memory_pool().max_memory() / table.nbytes)
"""


@pytest.mark.slow
def test_parquet_takes_little_more_memory_than_its_table(made):
    generator = np.random.default_rng(0)
    path = made("large.parquet", pa.table({name: generator.normal(size=10) for name in "abcdefgh"})).path
    table = pa.table({name: generator.normal(size=1_000_000) for name in "abcdefgh"})
    pq.write_table(table, path, row_group_size=100_000)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, timeout=600, check=True
    )
    assert float(done.stdout) < 1.5


TYPES = {
    "whole": pa.array([1, None], pa.int64()),
    "huge": pa.array([2**64 - 1, None], pa.uint64()),
    "half": pa.array([np.float16(0.5), None], pa.float16()),
    "single": pa.array([0.1, None], pa.float32()),
    "truth": pa.array([True, None]),
    "money": pa.array([decimal.Decimal("12.5"), None]),
    "codes": pa.array([3.0, None]),
    "coded": pa.array(["a", None]).dictionary_encode(),
    "coded_number": pa.array([7, None]).dictionary_encode(),
    "large": pa.array(["a", None], pa.large_string()),
    "bytes": pa.array([b"a", None]),
    "day": pa.array([datetime.date(2020, 2, 29), None]),
    "moment": pa.array([datetime.datetime(2020, 2, 29, 12), None], pa.timestamp("ms")),
    "length": pa.array([datetime.timedelta(1), None], pa.duration("s")),
    "nothing": pa.nulls(2),
    "list": pa.array([[1], None]),
    "object": pa.array([{"a": 1}, None]),
}
AS_NUMBERS = {
    "whole": (pa.int64(), 1),
    "huge": (pa.uint64(), 2**64 - 1),
    "half": (pa.float32(), 0.5),
    "single": (pa.float32(), float(np.float32(0.1))),
    "truth": (pa.uint8(), 1),
    "money": (pa.float64(), 12.5),
    "codes": (pa.float64(), 3.0),
    "coded_number": (pa.int64(), 7),
    "nothing": (pa.float64(), None),
}
AS_TEXTS = {
    "whole": "1",
    "huge": str(2**64 - 1),
    "half": "0.5",
    "truth": "true",
    "money": "12.5",
    "codes": "3",
    "coded": "a",
    "coded_number": "7",
    "large": "a",
    "bytes": "a",
    "day": "2020-02-29",
    "moment": "2020-02-29T12:00:00",
    "nothing": None,
}


@pytest.fixture(params=["parquet", "arrow"])
def typed(request, tmp_path):
    path = tmp_path / f"types.{request.param}"
    table = pa.table(TYPES)
    if request.param == "parquet":
        pq.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, str(path))
    return Source(path)


@pytest.mark.parametrize("name", TYPES)
def test_types_as_numbers(typed, name):
    if name in AS_NUMBERS:
        type_, value = AS_NUMBERS[name]
        column = open_file(typed).read({name: "number"}).column(0)
        assert (column.type, column.to_pylist()) == (type_, [value, None])
    else:
        with pytest.raises(DataError, match=f"column {name!r}.*numbers"):
            open_file(typed).read({name: "number"})


@pytest.mark.parametrize("name", [name for name in TYPES if name != "single"])
def test_types_as_texts(typed, name):
    if name in AS_TEXTS:
        column = open_file(typed).read({name: "text"}).column(0)
        assert (column.type, column.to_pylist()) == (pa.string(), [AS_TEXTS[name], None])
    else:
        with pytest.raises(DataError, match=f"column {name!r}.*texts"):
            open_file(typed).read({name: "text"})


@pytest.mark.parametrize("name", ["day", "moment", "length"])
def test_dates_are_told_a_way_out(typed, name):
    with pytest.raises(DataError, match="days since a fixed date"):
        open_file(typed).read({name: "number"})


def test_kinds_of_types(typed):
    kinds = open_file(typed).kinds
    assert [name for name, kind in kinds.items() if kind == "whole"] == ["whole", "huge", "coded_number"]
    assert [name for name, kind in kinds.items() if kind == "number"] == ["half", "single", "money", "codes"]
    assert [name for name, kind in kinds.items() if kind == "text"] == ["coded", "large"]
    assert [name for name, kind in kinds.items() if kind == "date"] == ["day", "moment", "length"]
    assert [name for name, kind in kinds.items() if kind == "unknown"] == ["bytes", "nothing", "list", "object"]
    assert kinds["truth"] == "truth"


@pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 2.5, 1e15, 2.0**53, -(2.0**60), 0.1, 12345678.9])
def test_floats_are_the_same_texts_from_every_format(made, value):
    texts = [
        open_file(made("f.parquet", pa.table({"x": [value]}))).read({"x": "text"}).column(0)[0].as_py(),
        open_file(made("f.jsonl", json.dumps({"x": value}).encode())).read({"x": "text"}).column(0)[0].as_py(),
    ]
    if abs(value) < 2.0**53:
        assert texts == [text_of(value)] * 2
    assert [float(text) for text in texts] == [value] * 2


def test_types_of_duckdb(tmp_path):
    path = tmp_path / "types.duckdb"
    duckdb.connect(str(path)).close()
    query = "SELECT 1::HUGEINT AS h, 1.5::DECIMAL(4, 2) AS d, TRUE AS t, 'a'::ENUM('a', 'b') AS e, DATE '2020-01-01' AS f, [1] AS l"
    source = Source(path, query=query)
    assert list(open_file(source).kinds.values()) == ["number", "number", "truth", "text", "date", "unknown"]
    table = open_file(source).read({"e": "text", "h": "number", "d": "number", "t": "number"})
    assert table.to_pylist() == [{"e": "a", "h": 1.0, "d": 1.5, "t": 1}]


def test_json_values(made):
    rows = [
        {"x": 1, "y": "a"},
        {"x": True, "y": 1.0, "z": [1]},
        {"y": False},
        {"x": 10**400, "y": 7},
        {"x": None, "y": None},
    ]
    source = made("values.jsonl", "\n\n".join(map(json.dumps, rows)).encode() + b'\n{"x": NaN, "y": 0.5}')
    table = open_file(source).read({"x": "number", "y": "text"})
    x = table.column("x").to_pylist()
    assert x[:5] == [1.0, 1.0, None, np.inf, None]
    assert np.isnan(x[5])
    assert table.column("y").to_pylist() == ["a", "1", "false", "7", None, "0.5"]


def test_batches_of_json_and_sqlite(made, monkeypatch):
    monkeypatch.setattr(json_files, "BATCH_ROWS", 2)
    monkeypatch.setattr(databases, "BATCH_ROWS", 2)
    for name in ("people.jsonl", "people.db"):
        table = open_file(made(name)).read(KINDS)
        assert table.to_pydict() == EXPECTED
        assert table.column(0).num_chunks == 2


def test_sqlite_path_with_signs(tmp_path):
    path = tmp_path / "a b?c#d%20.db"
    write_sqlite(path)
    assert open_file(source_of(path)).read(KINDS).to_pydict() == EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people",
        "INSERT INTO people VALUES (1, 2, 3, 4)",
        "DROP TABLE people",
        "CREATE TABLE other (x)",
        "SELECT 1; SELECT 2",
        "ATTACH DATABASE '{other}' AS other",
        "VACUUM INTO '{other}'",
        "PRAGMA journal_mode = WAL",
        "COPY people TO '{other}'",
        "EXPORT DATABASE '{other}'",
        "SET threads = 1",
        "not SQL",
        "-- nothing",
        "SELECT unknown FROM people",
    ],
)
@pytest.mark.parametrize("name", ["people.db", "people.duckdb"])
def test_databases_are_only_read(made, tmp_path, name, query):
    path = made(name).path
    before = path.read_bytes()
    source = Source(path, query=query.format(other=tmp_path / "other"))
    for read in (open_file, lambda source: open_file(source).read(KINDS)):
        with pytest.raises(DataError, match="The query on"):
            read(source)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_query_of_duckdb_does_not_see_variables_of_the_program(made, monkeypatch):
    path = made("people.duckdb").path
    monkeypatch.setattr(databases, "given", people(), raising=False)
    with pytest.raises(DataError, match="failed"):
        open_file(Source(path, query="SELECT * FROM given")).read(KINDS)


def test_databases_are_opened_for_reading_only(made, monkeypatch):
    opened = []
    connect_sqlite, connect_duckdb = sqlite3.connect, duckdb.connect
    sources = [made("people.db"), made("people.duckdb")]
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: opened.append(path) or connect_sqlite(path, **options)
    )
    monkeypatch.setattr(
        duckdb, "connect", lambda path, **options: opened.append(options) or connect_duckdb(path, **options)
    )
    for source in sources:
        open_file(source).read(KINDS)
    by_sqlite, by_duckdb = opened[:2], opened[2:]  # each for its columns, and for its rows
    assert all(address.endswith("people.db?mode=ro") for address in by_sqlite)
    assert [options["read_only"] for options in by_duckdb] == [True, True]


def test_missing_duckdb_is_told(made, monkeypatch):
    source = made("people.duckdb")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for read in (open_file, lambda source: open_file(source).read(KINDS)):
        with pytest.raises(DataError, match=r"pip install 'dpmondrian\[database\]'"):
            read(source)


# --- what is asked for wrongly


@pytest.mark.parametrize("name", ["x", "x.xls", "x.gz", "x.parquet.gz", "x.db.gz", ".csv", "x.csv.zip"])
def test_unknown_endings_list_the_known_ones(name):
    with pytest.raises(DataError, match=r"\.csv, .*\.ods; text formats may also be followed by \.gz"):
        Source(Path(name))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("x.csv", {"query": "SELECT 1"}, "only to databases"),
        ("x.db", {}, "Got none"),
        ("x.duckdb", {"query": "  "}, "Got none"),
        ("x.parquet", {"delimiter": ";"}, "only to CSV files"),
        ("x.csv", {"delimiter": ";;"}, "one character"),
        ("x.csv", {"delimiter": '"'}, "one character"),
        ("x.csv", {"delimiter": "é"}, "one character"),
        ("x.csv", {"delimiter": ""}, "one character"),
    ],
)
def test_wrong_options(name, options, words):
    with pytest.raises(ParameterError, match=words):
        Source(name, **options)


@pytest.mark.parametrize("kinds", [{}, {"age": "float"}])
def test_wrong_kinds(made, kinds):
    with pytest.raises(ParameterError, match="'number', 'text', 'id' or a notation"):
        open_file(made("people.csv")).read(kinds)


@pytest.mark.parametrize("name", WRITERS)
def test_unknown_columns_are_named_with_near_ones(made, name):
    with pytest.raises(DataError, match=r"lacks the columns \['incme'\].*'income' instead of 'incme'.*'note'"):
        open_file(made(name)).read({"age": "number", "incme": "number"})


def test_names_of_a_file_without_header_are_not_listed(made):
    """They would be somebody's values."""
    for name, content in (("raw.csv", b"Miller,basic,x\nSmith,premium,y\n"), ("raw.jsonl", b'{"Miller": 1}\n')):
        with pytest.raises(DataError, match="has none of the columns") as caught:
            open_file(made(name, content)).read({"plan": "text"})
        assert "Miller" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    ["2020-01-05,Smith,34.5kg", "Smith,12 %", "Smith,$12", "5 Jan 2020,Smith", "12:30,Smith", "P-001234,Smith", "a@b.org,Smith",
     "34,Smith", "Smith,-4", "120/80,Smith"],
)  # fmt: skip
def test_a_first_line_of_values_is_no_header(made, line):
    with pytest.raises(DataError, match="in its first line, which must contain the column names") as caught:
        open_file(made("raw.csv", f"{line}\n{line}\n".encode()))
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    ["age,bmi", "x1,x1023", "id,2023,2024", "id,0,1,2", "PM2.5,no2", "fy2023,q1_2024", "1st,2nd", "90th percentile,height (cm)"],
)  # fmt: skip
def test_names_with_digits_are_names(made, line):
    assert list(open_file(made("named.csv", f"{line}\n".encode())).kinds) == line.split(",")


@pytest.mark.parametrize("place", ["plan", "note"])
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.csv.xz", "people.csv.zst"])
def test_an_open_quote_does_not_swallow_rows(made, tmp_path, place, name):
    """Wherever it stands, also in a column that nobody asked for; the last row may even have the right length."""
    rows = [["basic", "34", "1200.5", "ZXCANARY"] for _ in range(1000)]
    rows[300][["plan", "age", "income", "note"].index(place)] = '"ZXCANARY'
    text = "\n".join(["plan,age,income,note", *map(",".join, rows)]) + ("\n" if place == "note" else '",1,2,x\n')
    path = tmp_path / name
    COMPRESSIONS.get(path.suffix, lambda content, file: file.write_bytes(content))(text.encode(), path)
    with pytest.raises(DataError) as caught:
        open_file(Source(path)).read({"age": "number", "income": "number"})
    assert "ZXCANARY" not in str(caught.value)
    assert "quote" in str(caught.value)


def test_two_open_quotes_do_not_swallow_the_rows_between(made):
    lines = ["age,note", *["34,x"] * 50, '34,"x', *["34,x"] * 50, '34,"x', *["34,x"] * 50]
    with pytest.raises(DataError, match="quote"):
        open_file(made("people.csv", "\n".join(lines).encode())).read({"age": "number"})
    with pytest.raises(DataError, match="Check its format and quotes"):
        open_file(made("people.csv", b'"age,note\n34,x\n'))


def test_quotes_that_are_text_stay_text(made):
    """Long values, quotes within values, and line ends within quotes are all right."""
    long = "x" * 200_000
    content = f'size,note\n5" pipe,"a ""b"" c"\n6",\n7,"{long}\n{long}"\n'.encode()
    table = open_file(made("pipes.csv", content)).read({"size": "text", "note": "text"})
    assert table["size"].to_pylist() == ['5" pipe', '6"', "7"]
    assert table["note"].to_pylist() == ['a "b" c', None, f"{long}\n{long}"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([b"\xff\xfe", b"ZXCANARY"]), "has bytes in column 'who' that are not UTF-8"),
        (
            pa.array([1, 2], pa.timestamp("us", "Mars/ZXCANARY")),
            "has times in column 'who'.*time zone|UnknownTimeZoneError",
        ),
        (pa.array([1, 2], pa.timestamp("ns", "Mars/ZXCANARY")), "has times in column 'who'.*time zone"),
    ],
)
def test_typed_values_without_a_text_are_told_by_their_kind(made, column, words):
    with pytest.raises(DataError, match=words) as caught:
        open_file(made("x.parquet", pa.table({"who": column}))).read({"who": "text"})
    assert "ZXCANARY" not in str(caught.value)


def test_a_database_with_a_write_ahead_log_is_left_as_it_was(tmp_path):
    path = tmp_path / "people.db"
    writing = sqlite3.connect(path)
    writing.execute("PRAGMA journal_mode=wal")
    writing.execute("CREATE TABLE people (age)")
    writing.execute("INSERT INTO people VALUES (34)")
    writing.commit()
    source = Source(path, "SELECT age FROM people")
    assert open_file(source).read({"age": "number"})["age"].to_pylist() == [34.0], "rows that are in the log only"
    writing.close()
    assert os.listdir(tmp_path) == ["people.db"]
    assert open_file(source).read({"age": "number"})["age"].to_pylist() == [34.0]
    assert os.listdir(tmp_path) == ["people.db"]


def test_folders_and_missing_files(tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        open_file(Source(tmp_path / "folder.parquet"))
    with pytest.raises(DataError, match="does not exist"):
        open_file(Source(tmp_path / "none.csv"))
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="not a regular file"):
        open_file(Source(tmp_path / "pipe.csv"))


FORBIDDEN = """
import os, sys
from pathlib import Path
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.accounts.budget import Budget
from dpmondrian.common.whole_files import new_folder, write_file
from dpmondrian.schema.files import read_schema
from dpmondrian.schema import text_of
from dpmondrian.tables.files import Source, open_file
import filelock, pyarrow, tempfile

os.chdir(sys.argv[1])
def attempt(action):
    try:
        action()
    except DPMondrianError as error:
        print(type(error).__name__, error)

def folder():
    with new_folder(sys.argv[2]):
        print("ran")

if os.geteuid() == 0:  # root may do everything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
attempt(lambda: open_file(Source("people.csv")).kinds)
attempt(lambda: open_file(Source("people.csv")).read({"age": "number"}))
attempt(lambda: read_schema("people.csv"))
attempt(lambda: Budget("people.csv").read())
attempt(lambda: Budget.create("new.json", 1.0, 0.0))
attempt(lambda: write_file("new.txt", "x"))
attempt(lambda: write_file("people.csv", "x", overwrite=True))
attempt(folder)
"""


@pytest.mark.slow
@pytest.mark.parametrize("enters", [True, False])
def test_files_that_may_not_be_read_or_written(made, tmp_path, enters):
    path = made("people.csv").path
    path.chmod(0)
    tmp_path.chmod(0o555 if enters else 0)
    command = [sys.executable, "-c", FORBIDDEN, str(tmp_path), "results"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    tmp_path.chmod(0o700)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["DataError"] * 2 + ["ParameterError"] + ["BudgetError"] * 2 + [
        "OutputError"
    ] * 3
    assert all("cannot be read: permission denied" in line for line in lines[:2])
    assert "PermissionError" in lines[2]
    assert all("EACCES" in line for line in lines[3:5])
    assert all("permission denied" in line for line in lines[5:])
    assert [entry.name for entry in tmp_path.iterdir()] == ["people.csv"]


def test_memory_that_does_not_suffice(made, monkeypatch):
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_groups", lambda *_, **__: (_ for _ in ()).throw(pa.ArrowMemoryError("malloc of 1234"))
    )
    with pytest.raises(DataError, match="does not fit into memory"):
        open_file(made("people.parquet")).read(KINDS)


# --- broken files: no message tells a value

SECRETS = ("ZXCANARY", "987654.321", "987654")
SECRET_ROWS = {"plan": ["ZXCANARY"] * 50, "age": [987654.321] * 50, "income": [987654.321] * 50}
SECRET_CSV = b"plan,age,income\n" + b"ZXCANARY,987654.321,987654.321\n" * 50


def parquet_bytes(table):
    file = io.BytesIO()
    pq.write_table(table, file, compression="none", use_dictionary=False)
    return file.getvalue()


def feather_bytes(table):
    file = io.BytesIO()
    pyarrow.feather.write_feather(table, file, compression="uncompressed")
    return file.getvalue()


def overwritten(content, start, bad=b"\xff" * 40):
    return content[:start] + bad + content[start + len(bad) :]


def json_lines(**changes):
    good = {"plan": "ZXCANARY", "age": 987654.321, "income": 987654.321}
    return (json.dumps(good) + "\n").encode() * 3 + (json.dumps(good | changes) + "\n").encode()


SECRET_PARQUET = parquet_bytes(pa.table(SECRET_ROWS))
SECRET_FEATHER = feather_bytes(pa.table(SECRET_ROWS))
ONE_ROW = {"age": [987654.321], "income": [987654.321]}
NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(np.array([0, 9], np.int32).tobytes()), pa.py_buffer(b"ZXCANARY\xff")]
)

BROKEN = {
    "nothing": ("x.csv", b"", "is empty"),
    "a mark only": ("x.csv", b"\xef\xbb\xbf", "no header"),
    "empty lines": ("x.csv", b"\n\n\n", "no header"),
    "text in a number": ("x.csv", SECRET_CSV + b"a,ZXCANARY,1\n", "column 'age' that is not a number"),
    "date in a number": ("x.csv", SECRET_CSV + b"a,1,2020-01-01\n", "column 'income'.*bands or dates"),
    "decimal comma": ("x.csv", SECRET_CSV + b'a,"987654,321",1\n', "column 'age'"),
    "short row": ("x.csv", SECRET_CSV + b"ZXCANARY,987654.321\n", "different length"),
    "long row": ("x.csv", SECRET_CSV + b"ZXCANARY,987654.321,1,ZXCANARY\n", "different length"),
    "open quote": ("x.csv", SECRET_CSV + b'"ZXCANARY,1,1\n' + SECRET_CSV, "different length"),
    "long line": ("x.csv", SECRET_CSV + b"ZXCANARY" * 2**20 + b",1,1\n", "too long"),
    "latin text": ("x.csv", SECRET_CSV + b"ZXCANARY\xf6,1,1\n", "UTF-8"),
    "latin number": ("x.csv", SECRET_CSV + b"ZXCANARY,\xf6987654,1\n", "UTF-8|column 'age'"),
    "latin header": ("x.csv", b"plan,ZXCANARY\xf6,age\n1,2,3\n", "UTF-8"),
    "utf-16": ("x.csv", SECRET_CSV.decode().encode("utf-16"), "UTF-8"),
    "utf-16 without mark": ("x.csv", SECRET_CSV.decode().encode("utf-16-le"), "UTF-8"),
    "zero in a number": ("x.csv", SECRET_CSV + b"a,987654\0,1\n", "column 'age'"),
    "zero in the header": ("x.csv", b"plan,age\0ZXCANARY,income\n", "UTF-8"),
    "no header": (
        "x.csv",
        b"ZXCANARY,987654.321,987654.321\n" * 3,
        "numbers, dates or similar values in its first line",
    ),
    "no header, whole numbers": ("x.csv", b"987654,1,2\n" * 3, "numbers, dates or similar values in its first line"),
    "no header, texts": ("x.csv", b"ZXCANARY,b,c\n" * 3, "none of the columns"),
    "no header, same values": ("x.csv", b"ZXCANARY,b,ZXCANARY\n" * 3, "columns 1 and 3"),
    "same names": ("x.csv", b"plan,age,age,income\nZXCANARY,987654.321,1,1\n", "columns 2 and 3"),
    "semicolons": (
        "x.csv",
        SECRET_CSV.replace(b",", b";"),
        "If the delimiter is ';', pass delimiter=';', or --delimiter ';' on the command line",
    ),
    "tabs": ("x.csv", SECRET_CSV.replace(b",", b"\t"), "If the delimiter is tab"),
    "bars": ("x.txt", SECRET_CSV.replace(b",", b"|"), "If the delimiter is '|'"),
    "commas": ("x.tsv", SECRET_CSV, "If the delimiter is ','"),
    "semicolons without header": ("x.csv", b"ZXCANARY;987654.321\n" * 5, "If the delimiter is ';'"),
    "huge header": ("x.csv", b"ZXCANARY" * 2**20, "first line"),
    "Parquet as CSV": ("x.csv", SECRET_PARQUET, "content looks like: Parquet"),
    "gzip as CSV": ("x.csv", gzip.compress(SECRET_CSV), "looks like: gzip"),
    "zip as CSV": ("x.csv", b"PK\x03\x04ZXCANARY", "Excel"),
    "CSV as gzip": ("x.csv.gz", SECRET_CSV, "compressed with gzip"),
    "bz2 as gzip": ("x.csv.gz", bz2.compress(SECRET_CSV), "looks like: bz2"),
    "CSV as Parquet": ("x.parquet", SECRET_CSV, "but its content is something else"),
    "CSV as Arrow": ("x.arrow", SECRET_CSV, "indicates, Arrow"),
    "CSV as JSON": ("x.jsonl", SECRET_CSV, "is a CSV file, expected one JSON object per line"),
    "CSV as SQLite": ("x.db", SECRET_CSV, "but its content is something else"),
    "CSV as DuckDB": ("x.duckdb", SECRET_CSV, "cannot be opened as a DuckDB database"),
    "cut gzip": ("x.csv.gz", gzip.compress(SECRET_CSV)[:-10], "damaged or truncated"),
    "cut gzip header": ("x.csv.gz", gzip.compress(SECRET_CSV)[:5], "damaged or truncated"),
    "cut bz2": ("x.csv.bz2", bz2.compress(SECRET_CSV)[:-10], "damaged or truncated"),
    "cut xz": ("x.csv.xz", lzma.compress(SECRET_CSV)[:-10], "damaged or truncated"),
    "damaged xz": ("x.jsonl.xz", overwritten(lzma.compress(json_lines() * 99), 60), "damaged or truncated"),
    "cut gzip of JSON": ("x.jsonl.gz", gzip.compress(json_lines() * 99)[:-10], "damaged or truncated"),
    "cut Parquet": ("x.parquet", SECRET_PARQUET[:-20], "damaged or truncated"),
    "Parquet without end": ("x.parquet", SECRET_PARQUET[:200], "damaged or truncated"),
    "Parquet with a damaged foot": (
        "x.parquet",
        overwritten(SECRET_PARQUET, len(SECRET_PARQUET) - 300),
        "damaged or truncated",
    ),
    "Parquet with a damaged page": ("x.parquet", overwritten(SECRET_PARQUET, 4), "damaged or truncated"),
    "Parquet with bad text": ("x.parquet", parquet_bytes(pa.table({**ONE_ROW, "plan": NOT_UTF8})), "UTF-8"),
    "Parquet with the same names": (
        "x.parquet",
        parquet_bytes(pa.table([[987654.321]] * 3 + [["ZXCANARY"]], names=["age", "income", "age", "plan"])),
        "columns 1 and 3",
    ),
    "Parquet with text as numbers": (
        "x.parquet",
        parquet_bytes(pa.table(SECRET_ROWS | {"age": ["ZXCANARY"] * 50})),
        "'age' of type text",
    ),
    "Parquet with coded text": (
        "x.parquet",
        parquet_bytes(pa.table(SECRET_ROWS | {"age": pa.array(["ZXCANARY"] * 50).dictionary_encode()})),
        "'age' of type text",
    ),
    "cut Arrow": ("x.arrow", SECRET_FEATHER[:-20], "damaged or truncated"),
    "half Arrow": ("x.arrow", SECRET_FEATHER[: len(SECRET_FEATHER) // 2], "damaged or truncated"),
    "damaged Arrow": ("x.arrow", overwritten(SECRET_FEATHER, len(SECRET_FEATHER) - 120), "damaged or truncated"),
    "Arrow with bad text": ("x.arrow", feather_bytes(pa.table({**ONE_ROW, "plan": NOT_UTF8})), "UTF-8|damaged"),
    "cut JSON": ("x.jsonl", json_lines()[:-20], "not a JSON object"),
    "JSON with text as number": ("x.jsonl", json_lines(age="ZXCANARY"), "column 'age' that is not a number"),
    "JSON with a list as number": ("x.jsonl", json_lines(age=[987654.321]), "column 'age' that is not a number"),
    "JSON with an object as text": ("x.jsonl", json_lines(plan={"ZXCANARY": 1}), "column 'plan'"),
    "JSON list": ("x.json", b'[{"plan": "ZXCANARY"}]', "lines=True"),
    "JSON numbers": ("x.jsonl", b"987654.321\n" * 3, "not a JSON object"),
    "JSON depth": ("x.jsonl", b'{"ZXCANARY": ' * 100_000, "not a JSON object"),
    "JSON digits": ("x.jsonl", b'{"plan": 987654' + b"1" * 10_000 + b"}", "not a JSON object"),
    "JSON latin": ("x.jsonl", json_lines() + b'{"plan": "ZXCANARY\xf6"}\n', "UTF-8"),
    "JSON of spaces": ("x.jsonl", b"\n \n", "no objects"),
    "JSON without the columns": ("x.jsonl", b'{"ZXCANARY": 987654.321}\n', "none of the columns"),
}


def assert_tells_nothing(error, capfd):
    """The error and all that would be printed of it hold no value; nor does anything that a reader printed itself."""
    assert isinstance(error, DPMondrianError)
    assert error.__cause__ is None
    assert error.__context__ is None, "not even for a debugger"
    printed = "".join(traceback.format_exception(error)) + repr(error) + "".join(capfd.readouterr())
    assert not [secret for secret in SECRETS if secret in printed]
    assert str(error).count("\n") == 0
    assert len(str(error)) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_without_a_value(made, capfd, case):
    name, content, words = BROKEN[case]
    source = made(name, content)
    with pytest.raises(DataError, match=words.replace("|'", "\\|'")) as caught:
        open_file(source).read(KINDS)
    assert_tells_nothing(caught.value, capfd)
    try:
        open_file(source)
    except DataError as error:
        assert_tells_nothing(error, capfd)


@pytest.mark.parametrize(
    "error",
    [
        ValueError,
        KeyError,
        RuntimeError,
        OSError,
        EOFError,
        MemoryError,
        OverflowError,
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        AssertionError,
    ],
)
def test_no_word_of_a_reader_gets_out(made, capfd, monkeypatch, error):
    words = SECRETS[0]

    def failing(*_, **__):
        raise error(words)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", failing)
    monkeypatch.setattr(json_files, "ready_values", failing)
    monkeypatch.setattr(pa.csv, "open_csv", failing)
    for name in ("people.parquet", "people.jsonl", "people.csv"):
        with pytest.raises(DataError) as caught:
            open_file(made(name)).read(KINDS)
        assert_tells_nothing(caught.value, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv.gz", "jsonl.bz2", "db", "duckdb"])
def test_damage_anywhere_never_gets_out(tmp_path, capfd, ending):
    """Cut and overwritten at many places: read as something, or refused in our words; no crash."""
    path = tmp_path / f"x.{ending}"
    table = pa.table(SECRET_ROWS)
    if ending == "duckdb":
        write_duckdb(path, table)
    elif ending == "db":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE people (plan, age, income)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", zip(*SECRET_ROWS.values(), strict=True))
        connection.commit()
        connection.close()
    else:
        contents = {
            "parquet": SECRET_PARQUET,
            "arrow": SECRET_FEATHER,
            "csv.gz": gzip.compress(SECRET_CSV),
            "jsonl.bz2": bz2.compress(json_lines() * 9),
        }
        path.write_bytes(contents[ending])
    good, refused = path.read_bytes(), 0
    n_places = 12 if ending == "duckdb" else 40
    for start in np.linspace(1, len(good) - 1, n_places).astype(int):
        for content in (good[:start], overwritten(good, start, b"\xfe\x01\x80\x00\xff" * 3)):
            path.write_bytes(content)
            try:
                open_file(source_of(path)).read(KINDS)
            except DPMondrianError as error:
                refused += 1
                assert_tells_nothing(error, capfd)
    assert refused > n_places / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT plan, abs(-9223372036854775807 - 1) AS age, '987654' AS income FROM people", "failed|'income'"),
        ("SELECT plan AS age, plan, income FROM people", "'age'"),
        ("SELECT plan, age, income, income FROM people", "columns 3 and 4"),
        ("SELECT ZXCANARY FROM people", "failed"),
        ("SELECT plan, age, income, json_extract('ZXCANARY{', '$.x') FROM people", "failed"),
        ("SELECT plan, age, income FROM people WHERE", "failed"),
        ("", "Got none"),
    ],
)
@pytest.mark.parametrize("name", ["people.db", "people.duckdb"])
def test_failing_queries_tell_nothing(made, capfd, name, query, words):
    path = made(name).path
    with pytest.raises(DPMondrianError, match=words) as caught:
        open_file(Source(path, query=query)).read(KINDS)
    assert_tells_nothing(caught.value, capfd)


def test_sqlite_values_of_the_wrong_type_tell_nothing(tmp_path, capfd):
    for value, words in (("ZXCANARY", "not a number"), (b"ZXCANARY", "not a number")):
        path = tmp_path / f"{type(value).__name__}.db"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE people (plan TEXT, age REAL, income REAL)")
        connection.execute("INSERT INTO people VALUES ('x', ?, 1)", (value,))
        connection.execute("INSERT INTO people VALUES (CAST(X'5A5843414E415259FF' AS TEXT), 1, 1)")
        connection.commit()
        connection.close()
        with pytest.raises(DataError, match=words) as caught:
            open_file(Source(path, query=f"{QUERY} WHERE plan = 'x'")).read(KINDS)
        assert_tells_nothing(caught.value, capfd)
        with pytest.raises(DataError, match="UTF-8") as caught:
            open_file(Source(path, query="SELECT plan, 1 AS age, 1 AS income FROM people")).read(KINDS)
        assert_tells_nothing(caught.value, capfd)


@pytest.mark.slow
def test_reading_is_not_imported_with_the_module():
    code = (
        "import sys, dpmondrian.tables.files; print([m for m in ('pyarrow', 'duckdb', 'sqlite3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "[]"


# --- Python's csv module has one limit for the whole process


@pytest.mark.parametrize("text", ['age,note\n1,"a\nb"\n', 'age,note\n1,"open\n'], ids=["sound", "a quote that is open"])
def test_the_limit_of_the_csv_module_is_not_touched(tmp_path, monkeypatch, text):
    def touched(*arguments):
        assert not arguments, "other threads read with it"
        return 131_072

    monkeypatch.setattr(csv, "field_size_limit", touched)
    (tmp_path / "rows.csv").write_text(text)
    with suppress(DataError):
        open_file(Source(tmp_path / "rows.csv")).read({"age": "number"})


def test_only_values_of_many_quotes_and_delimiters_are_too_long(tmp_path):
    """Others are read whatever the limit is; `test_quotes_that_are_text_stay_text` has a long text."""
    (tmp_path / "rows.csv").write_text('age,note\n1,"' + "x," * 131_073 + '"\n')
    with pytest.raises(DataError, match="has a value that is too long, or a quote that is not closed"):
        open_file(Source(tmp_path / "rows.csv")).read({"age": "number"})
