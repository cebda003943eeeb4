"""Real files: workbooks, files without a header, other endings, notations; every way in gives the same numbers."""

import datetime as dt
import json
import sqlite3

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError, ParameterError
from dpmondrian.schema import Bands, Category, Column, Dates, Numbers, Schema, Times, YesNo
from dpmondrian.tables import Reader, Source, open_file, open_table

BANDS = ("[0-10)", "[10-20)", "[20-30)")
SCHEMA = Schema(
    (
        Column("age", notation=Bands(bands=BANDS, missing=("?",))),
        Column("cost", 0, 1e4, notation=Numbers(decimal=",", thousands=".", missing=("-9",))),
        Column("admitted", "2010-01-01", "2020-12-31", notation=Dates(format="%d.%m.%Y")),
        Column("at", 0, 24, notation=Times()),
        Column("smoker", notation=YesNo()),
        Category("plan", ("basic", "premium"), missing=("?",)),
    )
)
NAN = float("nan")
NUMBERS = [[2, 1234.5, 14611, 7.5, 1, 0], [0, 3.25, 14610, 12, 0, NAN], [NAN, NAN, NAN, NAN, NAN, 2]]
TEXTS = {
    "age": ["[20-30)", "[0-10)", "?"],
    "cost": ["1.234,50", "3,25", "-9"],
    "admitted": ["02.01.2010", "2010-01-01", None],
    "at": ["7:30", "12:00", None],
    "smoker": ["Yes", "no", "NA"],
    "plan": ["basic", "?", "gold"],
}
TYPED = {
    **TEXTS,
    "cost": [1234.5, 3.25, -9.0],
    "admitted": [dt.date(2010, 1, 2), dt.date(2010, 1, 1), None],
    "at": [dt.time(7, 30), dt.time(12), None],
    "smoker": [True, False, None],
}


def rows_of(columns):
    return [list(row) for row in zip(*columns.values(), strict=True)]


def as_csv(path, columns):
    lines = [";".join(columns), *(";".join(value or "" for value in row) for row in rows_of(columns))]
    path.write_text("\n".join(lines))
    return Source(path, delimiter=";")


def as_headless_csv(path, columns):
    source = as_csv(path, columns)
    path.write_text(path.read_text().partition("\n")[2])
    return Source(path, delimiter=source.delimiter, header=False)


def as_json(path, columns):
    path.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True)), default=str) + "\n" for row in rows_of(columns))
    )
    return Source(path)


def as_sqlite(path, columns):
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(columns)})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows_of(columns))
    connection.close()
    return Source(path, "SELECT * FROM t")


def as_xlsx(path, columns):
    workbook = openpyxl.Workbook()
    workbook.active.append(["another sheet"])
    sheet = workbook.create_sheet("people")
    for row in [list(columns), *rows_of(columns)]:
        sheet.append(row)
    workbook.save(path)
    return Source(path, sheet="people")


def as_parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return Source(path)


def numbers_of(X, schema=SCHEMA):
    opened = open_table(X, Reader(schema.written), schema.names)
    tables = [piece() for piece in opened.pieces()] if hasattr(opened, "pieces") else [opened]
    return np.concatenate([block for table in tables for block in table.blocks()])


@pytest.mark.parametrize(
    ("write", "name", "columns"),
    [
        (as_csv, "x.csv", TEXTS),
        (as_json, "x.jsonl", TEXTS),
        (as_json, "x.jsonl", TYPED),
        (as_sqlite, "x.db", TEXTS),
        (as_xlsx, "x.xlsx", TEXTS),
        (as_xlsx, "x.xlsx", TYPED),
        (as_parquet, "x.parquet", TEXTS),
        (as_parquet, "x.parquet", TYPED),
    ],
)
def test_the_same_numbers_from_every_file(tmp_path, write, name, columns):
    np.testing.assert_array_equal(numbers_of(write(tmp_path / name, columns)), NUMBERS)


@pytest.mark.parametrize("columns", [TEXTS, TYPED])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda columns: pl.DataFrame(columns).lazy(),
        lambda columns: pyarrow.dataset.dataset(pa.table(columns)),
        lambda columns: lambda: pa.table(columns),
    ],
)
def test_the_same_numbers_from_every_frame(frame, columns):
    np.testing.assert_array_equal(numbers_of(frame(columns)), NUMBERS)


def test_a_file_without_header_has_names_by_place(tmp_path):
    source = as_headless_csv(tmp_path / "x.csv", TEXTS)
    assert list(open_file(source).kinds) == [f"column_{place}" for place in range(1, 7)]
    named = Schema.from_dict([{**column, "name": f"column_{j}"} for j, column in enumerate(SCHEMA.to_dict(), 1)])
    np.testing.assert_array_equal(numbers_of(source, named), NUMBERS)


def test_a_sheet_without_header_has_names_by_place(tmp_path):
    path = as_xlsx(tmp_path / "x.xlsx", {"1": [2], "3": [4.5]}).path
    table = open_file(Source(path, sheet="people", header=False)).read({"column_2": "text"})
    assert table.to_pydict() == {"column_2": ["3", "4.5"]}


def test_any_ending_with_a_format(tmp_path):
    path = tmp_path / "export.dat"
    path.write_text("age\n1\n2\n")
    with pytest.raises(DataError, match="unknown extension"):
        Source(path)
    assert open_file(Source(path, kind="csv")).read({"age": "number"}).to_pydict() == {"age": [1.0, 2.0]}
    with pytest.raises(ParameterError, match="must be one of csv"):
        Source(path, kind="word")


def test_options_are_for_formats_that_have_them(tmp_path):
    with pytest.raises(ParameterError, match="CSV and Excel"):
        Source("x.parquet", header=False)
    with pytest.raises(ParameterError, match="Excel and OpenDocument"):
        Source("x.csv", sheet="one")


def test_cells_are_ids_in_one_form(tmp_path):
    """Excel holds 7 as 7.0; beside the text '7' it may be one person or two."""
    path = as_xlsx(tmp_path / "x.xlsx", {"id": [7, 7.0, 8], "a": [1, 2, 3]}).path
    assert open_file(Source(path, sheet="people")).read({"id": "id"}).to_pydict() == {"id": [7, 7, 8]}
    for name, ids in {"mixed": [7, "7"], "fraction": [7.5, 8]}.items():
        path = as_xlsx(tmp_path / f"{name}.xlsx", {"id": ids}).path
        with pytest.raises(DataError, match="neither all strings nor all 64-bit integers"):
            open_file(Source(path, sheet="people")).read({"id": "id"})


@pytest.mark.parametrize("write", [as_csv, as_json, as_sqlite, as_xlsx, as_parquet])
@pytest.mark.parametrize("name", ["age", "cost", "admitted", "at", "smoker"])
def test_what_cannot_be_read_is_never_quoted(tmp_path, write, name):
    columns = {**TEXTS, name: ["CANARY77", *TEXTS[name][1:]]}
    endings = {as_csv: "csv", as_json: "jsonl", as_sqlite: "db", as_xlsx: "xlsx", as_parquet: "parquet"}
    source = write(tmp_path / f"x.{endings[write]}", columns)
    with pytest.raises(DataError, match=f"column {name!r}") as caught:
        numbers_of(source)
    assert "CANARY" not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"


def test_workbooks_that_are_none(tmp_path):
    path = tmp_path / "x.xlsx"
    path.write_text("age\n1\n")
    with pytest.raises(DataError, match="its content is something else"):
        open_file(Source(path))
    path.write_bytes(b"PK\x03\x04CANARY")
    with pytest.raises(DataError, match="damaged") as caught:
        open_file(Source(path))
    assert "CANARY" not in str(caught.value)
    with pytest.raises(DataError, match=r"no sheet 'two'.*Its sheets: Sheet, people"):
        open_file(Source(as_xlsx(tmp_path / "y.xlsx", TEXTS).path, sheet="two"))


def test_duckdb_reads_whatever_it_can(tmp_path):
    (tmp_path / "x.json").write_text('[{"age": 1}, {"age": 2}]')
    source = Source("duckdb:", f"SELECT age FROM read_json('{tmp_path / 'x.json'}')")
    assert open_file(source).read({"age": "number"}).to_pydict() == {"age": [1, 2]}
