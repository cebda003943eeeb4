"""Who is one person and who are two: in every format and engine, and in all ways in which one id can be written."""

import datetime
import io
import json
import sqlite3
from collections import Counter
from decimal import Decimal
from functools import partial

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from dpmondrian import DPM, Budget, Category, DataError
from dpmondrian.tables import identities
from dpmondrian.tables.files import Source, open_file
from dpmondrian.tables.formats import csv_files, databases, json_files
from dpmondrian.tables.frames import read_table
from dpmondrian.tables.identities import identities as ids_of
from dpmondrian.tables.persons import person_hashes, rows_to_keep

from .kept_rows import KEY, kept_per_value

ALIKE = [
    *("7", "007", "+7", "7.0", "7.00", "07", " 7", "7 ", "7\t", "0x7", "7e0", "-0", "0", "0.0", "ann", " ann", "Ann"),
    *("True", "true", "TRUE", "é", "e\u0301", "x" * 300, "x" * 301, "\0", "a\0", "a"),
]
"""People whom somebody might take for one another."""


# Every way to hand a table with texts for ids over.


def visits_of(persons, n_rows=3):
    """Return a table in which each person has some rows, the value of which is the number of the person."""
    who = [person for person in persons for _ in range(n_rows)]
    return pa.table({"who": pa.array(who, pa.string()), "x": np.repeat(np.arange(len(persons)), n_rows).astype(float)})


def as_csv(table, folder, name="t.csv", delimiter=","):
    written = io.BytesIO()
    pa.csv.write_csv(table, written, pa.csv.WriteOptions(delimiter=delimiter))
    (folder / name).write_bytes(written.getvalue())
    return folder / name


def as_json(table, folder):
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return folder / "t.jsonl"


def as_file(write, name, table, folder):
    write(table, folder / name)
    return folder / name


def as_sqlite(table, folder):
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute("CREATE TABLE t (who TEXT, x REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(row["who"], row["x"]) for row in table.to_pylist()])
    connection.close()
    return Source(folder / "t.db", "SELECT * FROM t")


def as_duckdb(table, folder):
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS FROM given")
    return Source(folder / "t.duckdb", "FROM t")


def with_ids(convert, table, folder):
    return table.set_column(0, "who", convert(table["who"]))


WAYS = {
    "CSV": as_csv,
    "TSV": partial(as_csv, name="t.tsv", delimiter="\t"),
    "JSON lines": as_json,
    "Parquet": partial(as_file, pa.parquet.write_table, "t.parquet"),
    "Arrow file": partial(as_file, pa.feather.write_feather, "t.arrow"),
    "SQLite": as_sqlite,
    "DuckDB": as_duckdb,
    "DuckDB relation": lambda table, _: duckdb.from_arrow(table),
    "dataset": lambda table, _: pa.dataset.dataset(table),
    "reader": lambda table, _: table.to_reader,
    "Arrow": lambda table, _: table,
    "large Arrow": partial(with_ids, lambda ids: ids.cast(pa.large_string())),
    "Arrow dictionary": partial(with_ids, lambda ids: ids.dictionary_encode()),
    "Arrow bytes": partial(with_ids, lambda ids: ids.cast(pa.binary())),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas objects": lambda table, _: table.to_pandas().astype({"who": object}),
    "pandas categories": lambda table, _: table.to_pandas().astype({"who": "category"}),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars categories": lambda table, _: pl.from_arrow(table).cast({"who": pl.Categorical}),
    "polars LazyFrame": lambda table, _: pl.from_arrow(table).lazy(),
}
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def made(tmp_path, request):
    """Return a function that hands a table over in one of the ways, each time in a folder of its own."""
    folders = (tmp_path / str(number) for number in range(10**6))

    def handed_over(way, table):
        folder = next(folders)
        folder.mkdir()
        return WAYS[way](table, folder)

    return handed_over


@every_way
def test_ids_that_look_alike_are_different_people(way, made):
    """Byte for byte: each of them keeps two rows, whoever else is there."""
    cut_off = "CSV" in way or (way == "pandas categories" and pd.__version__ < "3")  # texts end at the first NUL
    persons = [name for name in ALIKE if "\0" not in name] if cut_off else ALIKE
    assert kept_per_value(made(way, visits_of(persons)), 2) == Counter(dict.fromkeys(range(len(persons)), 2))


NEIGHBOURS = [("7", "007"), ("7", "+7"), ("7", "7.0"), ("ann", " ann"), ("true", "True"), ("7", "x"), ("0", "-0")]


@pytest.mark.slow
@every_way
@pytest.mark.parametrize(("there", "added"), NEIGHBOURS)
def test_somebody_who_is_added_pushes_nobody_out(way, there, added, made):
    """The rows of the others that are kept stay the same with the same key, also if all ids were numbers before."""
    before = pa.table({"who": [there] * 9 + ["8"] * 9, "x": [float(value) for value in [*range(9), *range(10, 19)]]})
    theirs = pa.table({"who": [added] * 9, "x": [float(value) for value in range(20, 29)]})
    kept_before = kept_per_value(made(way, before), 4)
    kept_after = kept_per_value(made(way, pa.concat_tables([before, theirs])), 4)
    assert kept_before.total() == 8
    assert Counter({value: n for value, n in kept_after.items() if value < 20}) == kept_before
    assert (kept_after - kept_before).total() == 4


@pytest.mark.slow
@every_way
def test_ids_that_say_nothing_are_nobodys(way, made):
    """Otherwise all whose id is missing would be one person, and push each other's rows out."""
    names = [name for name in (*identities.NOBODY, " ", "NA ") if name or "Arrow bytes" not in way]
    table = made(way, visits_of(["ann", *names, "nobody", "0"]))
    expected = {0: 2, len(names) + 1: 2, len(names) + 2: 2}
    if way == "Arrow bytes":  # only no bytes at all say nothing
        expected = dict.fromkeys(range(len(names) + 3), 2)
    assert kept_per_value(table, 2) == Counter(expected)
    if way != "Arrow bytes":
        with pytest.raises(DataError, match="contains missing values"):
            kept_per_value(table, 2, "error")


# One person, written in two types.

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12)
MIDNIGHT = datetime.datetime(2020, 2, 29)

DIFFERENT = {
    "microseconds and nanoseconds": (pa.array([NOON], pa.timestamp("us")), pa.array([NOON], pa.timestamp("ns"))),
    "seconds and milliseconds": (pa.array([NOON], pa.timestamp("s")), pa.array([NOON], pa.timestamp("ms"))),
    "a day and its midnight": (pa.array([DAY]), pa.array([MIDNIGHT], pa.timestamp("us"))),
    "two kinds of days": (pa.array([DAY], pa.date32()), pa.array([DAY], pa.date64())),
    "with and without a zone": (pa.array([NOON], pa.timestamp("us", "UTC")), pa.array([NOON], pa.timestamp("us"))),
    "two zones": (pa.array([NOON], pa.timestamp("us", "UTC")), pa.array([NOON], pa.timestamp("us", "Asia/Tokyo"))),
    "a float and a text": (pa.array([7.5]), pa.array(["7.50"])),
    "a whole float and a text": (pa.array([7.0]), pa.array(["7"])),
    "a whole number and a text": (pa.array([7]), pa.array(["7"])),
    "a day and a text": (pa.array([DAY]), pa.array([DAY.isoformat()])),
    "bytes and a text": (pa.array([b"7"]), pa.array(["7"])),
    "truth and a number": (pa.array([True]), pa.array([1])),
    "truth and a text": (pa.array([True]), pa.array(["true"])),
    "floats of two widths": (pa.array([7.1], pa.float32()), pa.array([7.1], pa.float64())),
    "a decimal and a text": (pa.array([Decimal("7.50")]), pa.array(["7.50"])),
}
"""Pairs of types in which one person may be written; who reads both cannot know whether it is one."""

SAME = {
    "whole numbers of two widths": (pa.array([7], pa.int32()), pa.array([7], pa.int64())),
    "with and without a sign": (pa.array([7], pa.uint8()), pa.array([7], pa.int64())),
    "a whole number and a float": (pa.array([7]), pa.array([7.0])),
    "whole floats of two widths": (pa.array([7.0], pa.float32()), pa.array([7.0])),
    "a whole number and a decimal": (pa.array([7]), pa.array([Decimal("7.00")])),
    "texts of two lengths": (pa.array(["ann"]), pa.array(["ann"], pa.large_string())),
    "a text and a dictionary": (pa.array(["ann"]), pa.array(["ann"]).dictionary_encode()),
    "two dictionaries": (
        pa.array(["ann"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), pa.array(["bob", "ann"], pa.large_string())),
    ),
    "somebody and nobody": (pa.array(["ann"]), pa.nulls(1)),
}
"""Pairs of types in which equal values are one person, provably."""

ROUNDED = ("a whole number and a float", "whole floats of two widths")
"""Pairs that a scan of a dataset brings to the type of the first, and rounds without a word."""


def some_visits(own, first):
    """Return rows of one person, with values that begin with a number."""
    rows = pa.array([0] * 5)
    return pa.table({"who": own.take(rows), "x": np.arange(first, first + 5).astype(float)})


def parquet_files(tables, folder):
    for number, table in enumerate(tables):
        pa.parquet.write_table(table, folder / f"{number}.parquet")
    return str(folder)


def arrow_files(tables, folder):
    for number, table in enumerate(tables):
        pa.feather.write_feather(table, folder / f"{number}.arrow")
    return str(folder)


def arrow_dataset(tables, folder):
    parquet_files(tables, folder)
    return pa.dataset.dataset(folder)


def dask_parts(tables, folder):
    delayed = pytest.importorskip("dask", reason="Needs the extra 'dask'.").delayed
    dd = pytest.importorskip("dask.dataframe", reason="Needs the extra 'dask'.")
    parts = [table.to_pandas(types_mapper=pd.ArrowDtype) for table in tables]
    return dd.from_delayed([delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


def pandas_objects(tables, folder):
    values = [value.as_py() for table in tables for value in table["who"]]
    x = np.concatenate([table["x"].to_numpy() for table in tables])
    return pd.DataFrame({"who": pd.Series(values, dtype=object), "x": x})


PARTS = {"Parquet": parquet_files, "Arrow": arrow_files, "dataset": arrow_dataset, "Dask": dask_parts}


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("pair", DIFFERENT)
def test_parts_with_ids_of_different_kinds_are_refused(parts, pair, tmp_path):
    """One person would keep twice the rows."""
    if parts in ("Parquet", "dataset") and pair in ("seconds and milliseconds", "two kinds of days"):
        pytest.skip("Parquet has one type for both.")
    table = PARTS[parts]([some_visits(own, 5 * number) for number, own in enumerate(DIFFERENT[pair])], tmp_path)
    with pytest.raises(DataError, match=r"ids of persons|person ids"):
        kept_per_value(table, 2)


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("pair", SAME)
def test_a_person_in_types_of_one_kind_keeps_no_more(parts, pair, tmp_path):
    if parts == "dataset" and pair in ("a whole number and a decimal", "two dictionaries"):
        pytest.skip("Versions of Arrow refuse to scan these.")
    tables = [some_visits(own, 5 * number) for number, own in enumerate(SAME[pair])]
    if parts == "dataset" and pair in ROUNDED:
        with pytest.raises(DataError, match="would be rounded"):
            kept_per_value(PARTS[parts](tables, tmp_path), 2)
        return
    assert kept_per_value(PARTS[parts](tables, tmp_path), 2).total() == 2


@pytest.mark.parametrize(
    "values",
    [
        *([7, "7"], [7.0, "7"], [7.5, "7.50"], [True, 1], [True, "true"], [Decimal("7.5"), 7.5], [7.5, 7.5]),
        *(
            [DAY, MIDNIGHT],
            [DAY, DAY.isoformat()],
            [b"7", "7"],
            [np.float32(7.1), 7.1],
            [MIDNIGHT, pd.Timestamp(0, tz="UTC")],
        ),
        *([pd.Timestamp(0, tz="UTC"), pd.Timestamp(0, tz="Asia/Tokyo")], [float("inf")], [2.0**53], [Decimal("1e99")]),
        *([np.float32(2**24)], [(1, 2)], [{1}], ["\ud800"]),
    ],
    ids=repr,
)
def test_objects_of_several_kinds_are_refused(values):
    """A column of pandas may hold anything: reading a large CSV file in parts leaves numbers in some and texts in others."""
    with pytest.raises(DataError, match="of person ids contains") as refused:
        kept_per_value(pd.DataFrame({"who": pd.Series([*values, None], dtype=object), "x": 1.0}), 2)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("values", [[7, "7"], [7.5, "7.50"], [DAY, MIDNIGHT]], ids=repr)
def test_categories_of_several_kinds_are_refused(values):
    with pytest.raises(DataError, match="of person ids contains"):
        kept_per_value(pd.DataFrame({"who": pd.Categorical(values), "x": 1.0}), 2)


@pytest.mark.parametrize(
    "values",
    [
        *([7, np.int8(7), np.uint64(7)], [7, 7.0, np.float32(7)], [Decimal("7"), Decimal("7.00"), 7]),
        *([0.0, -0.0, 0, Decimal("-0")], ["ann", np.str_("ann")], [MIDNIGHT, pd.Timestamp(MIDNIGHT)], [DAY, DAY]),
        *([True, np.True_], [10**30, Decimal(10**30)]),
    ],
    ids=repr,
)
def test_equal_objects_are_one_person(values):
    table = pd.DataFrame({"who": pd.Series([*values, None, np.nan, pd.NA, pd.NaT], dtype=object)})
    assert kept_per_value(table.assign(x=np.arange(len(table), dtype=float)), 1).total() == 1


def test_numbers_are_told_apart_by_all_their_digits():
    ids = [10**30, 10**30 + 1, 2**63, 2**63 + 1, -1, 1, 0]
    table = pd.DataFrame({"who": pd.Series(ids, dtype=object), "x": np.arange(len(ids), dtype=float)})
    assert kept_per_value(table, 1).total() == len(ids)
    decimals = pa.table({"who": pa.array(map(Decimal, ids), pa.decimal128(38, 0)), "x": np.arange(len(ids)) / 1.0})
    assert kept_per_value(decimals, 1) == kept_per_value(table, 1)


def test_days_that_are_stored_in_milliseconds_are_told_apart_by_these():
    ids = pa.array([0, 1, 86_400_000]).view(pa.date64())
    assert kept_per_value(pa.table({"who": ids, "x": [0.0, 1.0, 2.0]}), 1).total() == 3


# Formats without types.


def json_file(path, ids):
    rows = [f'{{"who": {own}, "x": {number}}}\n' for number, own in enumerate(ids)]
    path.write_text("".join(rows))
    return str(path)


@pytest.mark.parametrize(
    "ids", [["7", '"7"'], ["7", "7.0"], ["7.5", '"7.50"'], ["1", "true"], ["1e2"], ["9223372036854775808"]]
)
@pytest.mark.parametrize("batch_rows", [1, 100])
def test_json_numbers_that_may_be_another_id_are_refused(ids, batch_rows, tmp_path, monkeypatch):
    """Also where they stand in different batches of rows, or in different files."""
    monkeypatch.setattr(json_files, "BATCH_ROWS", batch_rows)
    with pytest.raises(DataError, match="7"):
        kept_per_value(json_file(tmp_path / "t.jsonl", ids), 1)
    if len(ids) > 1:
        for number, own in enumerate(ids):
            json_file(tmp_path / f"part{number}.jsonl", [own])
        with pytest.raises(DataError, match="7"):
            kept_per_value(str(tmp_path / "part*.jsonl"), 1)
    with pytest.raises(DataError, match="7"):
        open_file(Source(tmp_path / "t.jsonl")).read({"who": "id", "x": "number"})


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_json_ids_are_texts_or_whole_numbers(batch_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "BATCH_ROWS", batch_rows)
    texts = ['"7"', "null", '"007"', '"7.0"', '"7"', '"\\u0037"']
    assert kept_per_value(json_file(tmp_path / "t.jsonl", texts), 1).total() == 3
    numbers = ["7", "null", "-7", "9223372036854775807", "7"]
    assert kept_per_value(json_file(tmp_path / "n.jsonl", numbers), 1).total() == 3
    assert open_file(Source(tmp_path / "n.jsonl")).read({"who": "id"})["who"].to_pylist()[0] == 7


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_sqlite_gives_every_value_a_type_of_its_own(batch_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "BATCH_ROWS", batch_rows)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (who, x)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(7, 0), ("7", 1), ("007", 2), (None, 3)])
    connection.close()
    with pytest.raises(DataError, match=r"one person or"):
        kept_per_value(Source(tmp_path / "t.db", "SELECT * FROM t"), 1)
    as_texts = Source(tmp_path / "t.db", "SELECT CAST(who AS TEXT) AS who, x FROM t")
    assert kept_per_value(as_texts, 1).total() == 2


def test_a_csv_file_in_which_all_but_one_id_are_numbers(tmp_path, monkeypatch):
    """The reader guesses nothing, also where the other id comes many blocks later."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 256)
    rows = [f"{prefix}{number},{value}\n" for number in range(40) for prefix in ("", "0") for value in (number, number)]
    (tmp_path / "a.csv").write_text("who,x\n" + "".join(rows))
    (tmp_path / "b.csv").write_text("who,x\n" + "".join([*rows, "zoe,63\n"]))
    before, after = (kept_per_value(str(tmp_path / name), 1) for name in ("a.csv", "b.csv"))
    assert before == Counter(dict.fromkeys(range(40), 2))
    assert after == before + Counter({63: 1})


# Nothing is drawn or charged for a table that is refused.


@pytest.mark.parametrize("parts", ["Parquet", "Dask", "pandas", "JSON lines"])
@pytest.mark.parametrize("variant", ["dpm", "paper"])
def test_a_refusal_costs_nothing(parts, variant, tmp_path):
    (tmp_path / "parts").mkdir()
    tables = [some_visits(own, 0) for own in DIFFERENT["a whole number and a text"]]
    make = {**PARTS, "pandas": pandas_objects, "JSON lines": lambda *_: json_file(tmp_path / "t.jsonl", ["7", '"7"'])}
    budget, drawn = Budget.create(tmp_path / "budget.json", 10, 1e-3), []
    model = DPM(
        bounds={"x": (0, 63)}, person_id="who", random_state=0, **({} if variant == "dpm" else {"variant": variant})
    )
    with pytest.raises(DataError):
        model.fit(make[parts](tables, tmp_path / "parts"), budget=budget, progress=lambda *draw: drawn.append(draw))
    assert drawn == []
    assert budget.read().entries == ()


# Hashes.


def column_of(values):
    return nw.from_native(pa.chunked_array([pa.array(values)]), series_only=True)


def test_hashes_are_those_of_the_bytes_that_are_written():
    found, known, kind = person_hashes(column_of(ALIKE), KEY)
    assert known.all()
    assert kind == "text"
    assert len({tuple(own) for own in found.tolist()}) == len(ALIKE)
    assert ids_of(column_of(ALIKE)).ids.to_pylist() == [name.encode() for name in ALIKE]
    assert np.array_equal(
        found[[0]], person_hashes(column_of([7]), KEY)[0]
    )  # so a seed keeps the same rows of a typed table
    assert not np.any(found == person_hashes(column_of(ALIKE), KEY + np.uint64(1))[0])


def test_nobody_has_no_hash_and_no_row():
    ids = ["", "NA", None, "nan", " ", "NULL", "None", "0", "nobody"]
    found, known, _ = person_hashes(column_of(ids), KEY)
    assert known.tolist() == [False] * 7 + [True] * 2
    assert not found[:7].any()
    assert found[7:].all()
    assert rows_to_keep(found, np.arange(9, dtype=np.uint64), 5).tolist() == known.tolist()
    for nothing in ([], [None, ""]):
        found, known, kind = person_hashes(column_of(pa.array(nothing, pa.string())), KEY)
        assert found.shape == (len(nothing), 2)
        assert not known.any()
        assert kind is None


def test_persons_are_told_apart_by_value_not_by_code():
    """A dictionary may hold one value twice, and a missing one."""
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.uint8()), pa.array(["ann", "bob", "ann", None]))
    assert kept_per_value(pa.table({"who": ids, "x": [1.0, 2.0, 3.0, 4.0]}), 1).total() == 2


# Types that say more than what they store.


def unknown_extension():
    """Return whole numbers of an extension that nobody here knows, so that only the field says so."""
    field = pa.field("who", pa.int64(), metadata={"ARROW:extension:name": "elsewhere.number"})
    return pa.table([pa.array([5]), pa.array([1.0])], schema=pa.schema([field, ("x", pa.float64())]))


def periods(frequency):
    return pa.array(pd.Series(pd.PeriodIndex.from_ordinals([5], freq=frequency)))


EXTENSIONS = {
    "months": lambda: some_visits(periods("M"), 0),
    "days": lambda: some_visits(periods("D"), 0),
    "truth in bytes": lambda: some_visits(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([2], pa.int8())), 0),
    "opaque bytes": lambda: some_visits(
        pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "number", "elsewhere"), pa.array([b"5"])), 0
    ),
    "unknown": unknown_extension,
}
HANDED_OVER = {
    **{way: WAYS[way] for way in ("Parquet", "Arrow file", "dataset", "reader", "Arrow")},
    "Parquet dataset": lambda table, folder: arrow_dataset([table], folder),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars LazyFrame": lambda table, _: pl.from_arrow(table).lazy(),
}


@pytest.mark.parametrize("way", HANDED_OVER)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_ids_whose_type_says_more_than_its_numbers_are_refused(extension, way, tmp_path):
    """Month 5 and day 5 are both the number 5; also where the reader leaves nothing of the type but a note."""
    with pytest.raises(DataError, match=r"ids of persons|person ids"):
        kept_per_value(HANDED_OVER[way](EXTENSIONS[extension](), tmp_path), 1)


@pytest.mark.parametrize("way", ["Parquet", "Arrow file", "dataset", "reader", "Arrow"])
def test_ids_of_extensions_that_are_all_in_their_bytes_are_taken(way, tmp_path):
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.binary(16)))
    assert kept_per_value(WAYS[way](pa.table({"who": ids, "x": [1.0, 2.0, 3.0]}), tmp_path), 1).total() == 2


# Python objects in tables of other libraries.


def objects_of_one_person(n_rows=20):
    """Return equal texts that are different objects."""
    return ["".join(["a", "nn"]) + str(0) for _ in range(n_rows)]


def polars_objects(ids):
    return pl.DataFrame({"who": pl.Series(ids, dtype=pl.Object), "x": np.arange(len(ids), dtype=float)})


@pytest.mark.parametrize("ids", [objects_of_one_person(), [10**6 + number - number for number in range(20)]])
def test_equal_objects_of_polars_are_one_person(ids):
    """Arrow would be given their addresses."""
    assert kept_per_value(polars_objects(ids), 1).total() == 1


def test_objects_of_polars_are_told_apart_like_those_of_pandas():
    assert kept_per_value(polars_objects([7, 7.0, Decimal("7.00"), 8, None, float("nan")]), 1).total() == 2
    with pytest.raises(DataError, match="several types"):
        kept_per_value(polars_objects([7, "7"]), 1)


def test_objects_that_would_lose_their_type_on_the_way_are_refused():
    table = polars_objects(objects_of_one_person())
    in_pandas = pd.DataFrame({"who": pd.Series([DAY, pd.Timestamp(NOON)], dtype=object), "x": [1.0, 2.0]})
    for lost in (table.lazy(), lambda: table, lambda: in_pandas):
        with pytest.raises(DataError, match="contains Python objects"):
            kept_per_value(lost, 1)


def test_categories_of_objects_are_told_by_their_values():
    plans = pl.DataFrame({"plan": pl.Series(["a", "".join(["b", "c"]), 1, None], dtype=pl.Object), "x": [1.0] * 4})
    table = read_table(plans, {"plan": Category("plan", ("a", "bc", "1"))})
    assert np.array_equal(table.block(0)[:, 0], [0, 1, 2, np.nan], equal_nan=True)


# Readers that change ids before they are seen.


CASTS = {
    "whole numbers to texts": (pa.array([7]), pa.string()),
    "decimals to texts": (pa.array([Decimal("7.00")]), pa.string()),
    "floats to texts": (pa.array([7.5]), pa.string()),
    "bytes to texts": (pa.array([b"7"]), pa.string()),
    "texts to numbers": (pa.array(["007"]), pa.int64()),
    "floats to narrower ones": (pa.array([7.00000001]), pa.float32()),
    "floats to decimals": (pa.array([7.004]), pa.decimal128(10, 2)),
    "floats to whole numbers": (pa.array([2.0**53 + 2]), pa.int64()),
    "decimals to floats": (pa.array([Decimal("7." + "0" * 20 + "1")]), pa.float64()),
    "times to coarser ones": (pa.array([NOON], pa.timestamp("us")), pa.timestamp("ms")),
    "numbers to truth": (pa.array([7]), pa.bool_()),
    "months to texts": (periods("M"), pa.string()),
    "a dictionary of floats to texts": (pa.array([7.5]).dictionary_encode(), pa.string()),
}


@pytest.mark.parametrize("cast", CASTS)
def test_a_dataset_must_not_change_ids(cast, tmp_path):
    """A scan turns each file into the declared type in its own way: 7 becomes "7", and 7.00 "7.00"."""
    own, declared = CASTS[cast]
    parquet_files([some_visits(own, 0)], tmp_path)
    dataset = pa.dataset.dataset(tmp_path, schema=pa.schema([("who", declared), ("x", pa.float64())]))
    with pytest.raises(DataError, match=r"ids of persons|person ids"):
        kept_per_value(dataset, 1)


@pytest.mark.parametrize(
    "types", [(pa.int32(), pa.int64()), (pa.int64(), pa.decimal128(20, 0)), (pa.float32(), pa.float64())]
)
def test_a_dataset_may_widen_ids(types, tmp_path):
    own, declared = types
    parquet_files([some_visits(pa.array([7]).cast(own), 0), some_visits(pa.array([7]).cast(declared), 5)], tmp_path)
    dataset = pa.dataset.dataset(tmp_path, schema=pa.schema([("who", declared), ("x", pa.float64())]))
    assert kept_per_value(dataset, 1).total() == 1


@pytest.mark.parametrize("declared", [pa.int32(), pa.string()])
def test_names_of_folders_are_no_ids(declared, tmp_path):
    for name in ("7", "007"):
        (tmp_path / f"who={name}").mkdir()
        pa.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / f"who={name}" / "0.parquet")
    partitioning = pa.dataset.partitioning(pa.schema([("who", declared)]), flavor="hive")
    for given in ("hive", partitioning):
        with pytest.raises(DataError, match="folder names"):
            kept_per_value(pa.dataset.dataset(tmp_path, partitioning=given), 1)


@pytest.mark.parametrize("text", ["CSV", "JSON"])
def test_datasets_of_files_without_types_are_read_as_texts_only(text, tmp_path):
    ids = ['"007"', '"7"'] if text == "JSON" else ["007", "7"]
    lines = [f'{{"who": {own}, "x": 1.0}}' if text == "JSON" else f"{own},1.0" for own in ids]
    (tmp_path / "0.txt").write_text("\n".join(["who,x", *lines] if text == "CSV" else lines) + "\n")
    texts, numbers = (pa.schema([("who", type_), ("x", pa.float64())]) for type_ in (pa.string(), pa.int64()))
    assert kept_per_value(pa.dataset.dataset(tmp_path, schema=texts, format=text.lower()), 1).total() == 2
    with pytest.raises(DataError, match="Declare it as a string"):
        kept_per_value(pa.dataset.dataset(tmp_path, schema=numbers, format=text.lower()), 1)
    if text == "CSV":
        with pytest.raises(DataError, match="Declare it as a string"):
            kept_per_value(pa.dataset.dataset(tmp_path, format="csv"), 1)


@pytest.mark.parametrize("values", [[7, 7.0], [1, "1"], [DAY, pd.Timestamp(DAY)]], ids=repr)
@pytest.mark.parametrize("made_by", ["from_pandas", "from_delayed", "from_map"])
def test_objects_that_dask_turned_into_texts_are_refused(values, made_by):
    dask = pytest.importorskip("dask", reason="Needs the extra 'dask'.")
    dd = pytest.importorskip("dask.dataframe", reason="Needs the extra 'dask'.")
    part = pd.DataFrame({"who": pd.Series(values, dtype=object), "x": [1.0, 2.0]})
    make = {
        "from_pandas": lambda: dd.from_pandas(part, npartitions=1),
        "from_delayed": lambda: dd.from_delayed([dask.delayed(part)], meta=part.iloc[:0]),
        "from_map": lambda: dd.from_map(lambda _: part, [0], meta=part.iloc[:0]),
    }[made_by]
    with pytest.raises(DataError, match="Dask converted to strings"):
        kept_per_value(make()[["x", "who"]], 1)
    with dask.config.set({"dataframe.convert-string": False}):
        kept_as_they_are = make()
    if values == [7, 7.0]:
        assert kept_per_value(kept_as_they_are, 1).total() == 1
    else:
        with pytest.raises(DataError, match="several types"):
            kept_per_value(kept_as_they_are, 1)


def test_texts_that_were_objects_in_pandas_are_taken_by_dask():
    dd = pytest.importorskip("dask.dataframe", reason="Needs the extra 'dask'.")
    part = pd.DataFrame({"who": pd.Series(["ann", "ann", "7", "007", None], dtype=object), "x": np.arange(5.0)})
    assert kept_per_value(dd.from_pandas(part, npartitions=2), 1).total() == 3


def test_no_advice_leads_to_the_same_hole(tmp_path):
    """CAST(... AS TEXT) turns 7 and 7.0 of one person into two people."""
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (who, x)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(7, 0), (7.0, 1)])
    connection.close()
    with pytest.raises(DataError, match="Correct them at the source") as refused:
        kept_per_value(Source(tmp_path / "t.db", "SELECT * FROM t"), 1)
    assert "CAST" not in str(refused.value)
