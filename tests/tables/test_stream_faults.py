"""Files that are damaged, gone, changed or different: one sentence that names the file and a way out, and no value."""

import gzip
import os
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError
from dpmondrian.tables.files import _Format
from dpmondrian.tables.formats import arrow_files, csv_files
from dpmondrian.tables.frames import Reader

from .helpers import CATEGORIES, opened, read_rows, touched_later

SECRET = 987654.321


def write(path, n_rows=5000, row_group_size=1000, **columns):
    table = pa.table({"x": np.full(n_rows, SECRET), "y": np.arange(n_rows, dtype=float), **columns})
    pq.write_table(table, path, row_group_size=row_group_size, compression="none", use_dictionary=False)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 0)


@pytest.fixture(params=["groups", "parts"])
def path(request, tmp_path, monkeypatch):
    """Return a file whose row groups are read by the pieces, or before them in parts."""
    if request.param == "parts":
        monkeypatch.setattr(arrow_files, "PIECE_BYTES", 500)
        monkeypatch.setattr(arrow_files, "LARGEST_GROUP", 500)
    write(tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def assert_tells_nothing(error):
    printed = "".join(traceback.format_exception(error)) + repr(error)
    assert str(SECRET) not in printed
    assert error.__cause__ is None
    while (error := error.__context__) is not None:
        assert isinstance(error, DataError)


def consume(pieces):
    for piece in pieces:
        piece()


# --- damage


@pytest.mark.parametrize("keep", [3, 100, 1000, 40_000, -1, -20])
def test_a_file_that_is_cut_off(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        DataError, match=r"x\.parquet' (is damaged|has the extension of).*(Write or copy it again|Rename)"
    ) as caught:
        opened(path)
    assert_tells_nothing(caught.value)


def test_an_empty_file(tmp_path):
    (tmp_path / "x.parquet").touch()
    with pytest.raises(DataError, match=r"x\.parquet' is empty"):
        opened(tmp_path)


def test_damage_in_the_middle_is_found_when_it_is_reached(path):
    content = bytearray(path.read_bytes())
    header = pq.ParquetFile(path).metadata.row_group(3).column(1).data_page_offset
    content[header : header + 30] = b"\xff" * 30
    path.write_bytes(content)
    pieces = opened(path).pieces()
    assert next(pieces)().n_rows > 0
    with pytest.raises(DataError, match=r"x\.parquet' is damaged.*Write or copy it again") as caught:
        consume(pieces)
    assert_tells_nothing(caught.value)


def test_a_wrong_value_is_found_by_its_checksum(path):
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=1000, compression="none", use_dictionary=False, write_page_checksum=True)
    content = path.read_bytes()
    place = content.index(np.float64(3456.0).tobytes())
    path.write_bytes(content[:place] + np.float64(-1.0).tobytes() + content[place + 8 :])
    with pytest.raises(DataError, match=r"x\.parquet' is damaged"):
        consume(opened(path).pieces())


def test_text_that_is_no_text(path):
    write(path, plan=["ok"] * 5000)
    content = path.read_bytes()
    place = content.rindex(b"ok\x02\x00\x00\x00ok")
    path.write_bytes(content[:place] + b"\xff\xfe" + content[place + 2 :])
    with pytest.raises(DataError, match=r"x\.parquet' is not UTF-8 text"):
        consume(opened(path, None, Reader(CATEGORIES)).pieces())


def test_a_compressed_csv_that_is_cut_off(tmp_path):
    generator = np.random.default_rng(0)
    lines = "".join(f"{value}\n" for value in generator.normal(size=100_000))
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"x\n" + lines.encode())[:-5000])
    with pytest.raises(DataError, match=r"x\.csv\.gz' is damaged or truncated"):
        consume(opened(tmp_path / "x.csv.gz").pieces())


def test_a_csv_value_that_is_no_number_in_a_later_file(tmp_path):
    (tmp_path / "1.csv").write_text("x,y\n1,2\n")
    (tmp_path / "2.csv").write_text(f"x,y\n1,{SECRET}kg\n")
    with pytest.raises(DataError, match=r"2\.csv' has a value in column 'y' that is not a number") as caught:
        consume(opened(tmp_path).pieces())
    assert_tells_nothing(caught.value)


# --- gone


def test_a_file_that_disappears_between_listing_and_opening(tmp_path, monkeypatch):
    write(tmp_path / "1.parquet")
    write(tmp_path / "2.parquet")
    head = arrow_files.parquet_head

    def removing(source):
        (tmp_path / "2.parquet").unlink(missing_ok=source.path.name != "2.parquet")
        return head(source)

    monkeypatch.setattr("dpmondrian.tables.files._FORMATS", {"Parquet": _Format(removing, arrow_files.parquet_pieces)})
    with pytest.raises(DataError, match=r"2\.parquet' does not exist. Check its name"):
        opened(tmp_path)


def test_a_file_that_disappears_while_it_is_opened(tmp_path, monkeypatch):
    write(tmp_path / "1.parquet")
    head = arrow_files.parquet_head

    def removing(source):
        found = head(source)
        source.path.unlink()
        return found

    monkeypatch.setattr("dpmondrian.tables.files._FORMATS", {"Parquet": _Format(removing, arrow_files.parquet_pieces)})
    with pytest.raises(DataError, match=r"1\.parquet' no longer exists. Restore it"):
        opened(tmp_path)


def test_a_file_that_disappears_between_two_passes(path):
    stream = opened(path)
    consume(stream.pieces())
    path.unlink()
    with pytest.raises(DataError, match=r"x\.parquet' no longer exists. Restore it") as caught:
        consume(stream.pieces())
    assert_tells_nothing(caught.value)


def test_a_file_that_disappears_during_a_pass(path):
    pieces = opened(path).pieces()
    next(pieces)()
    path.unlink()
    with pytest.raises(DataError, match=r"x\.parquet' no longer exists"):
        consume(pieces)


def test_a_file_that_may_no_longer_be_read(path, monkeypatch):
    stream = opened(path)

    def forbidden(*_):
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "stat", forbidden)
    pieces = stream.pieces()
    with pytest.raises(DataError, match=r"x\.parquet' cannot be read: permission denied"):
        next(pieces)


# --- changed


def another_size(path):
    write(path, n_rows=5001)


def another_time(path):
    touched_later(path)


def another_file(path):
    status, content = path.stat(), path.read_bytes()
    path.with_name("new").write_bytes(content)
    path.with_name("new").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES = [another_size, another_time, another_file]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_changed_between_passes(path, change):
    stream = opened(path)
    consume(stream.pieces())
    change(path)
    with pytest.raises(DataError, match=r"x\.parquet' was modified during the run.*Start again"):
        next(stream.pieces())


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_changed_during_a_pass(path, change):
    pieces = opened(path).pieces()
    next(pieces)()
    change(path)
    with pytest.raises(DataError, match=r"x\.parquet' was modified during the run"):
        consume(pieces)


@pytest.mark.parametrize("change", [another_time, another_file])
def test_a_text_file_that_is_changed_after_its_last_row(tmp_path, change):
    (tmp_path / "x.csv").write_text("x\n" + "1\n" * 100)
    pieces = opened(tmp_path / "x.csv").pieces()
    piece = next(pieces)
    change(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"x\.csv' was modified"):
        next(pieces)
    with pytest.raises(DataError, match=r"x\.csv' was modified"):
        piece()


def test_that_it_was_changed_is_said_rather_than_that_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "1,2\n" * 50_000)
    pieces = opened(path).pieces()
    next(pieces)()
    with path.open("r+") as file:
        file.write("x,y\n" + "1,2,3\n" * 10_000)
    with pytest.raises(DataError, match=r"x\.csv' was modified"):
        consume(pieces)


def test_files_that_come_later_are_not_read(tmp_path):
    write(tmp_path / "1.parquet", n_rows=10)
    stream = opened(tmp_path)
    write(tmp_path / "2.parquet", n_rows=10)
    assert [piece().n_rows for piece in stream.pieces()] == [10]


# --- different


def test_a_column_that_is_text_in_one_file(tmp_path):
    pq.write_table(pa.table({"x": [1.5], "y": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [1.5], "y": [f"{SECRET}"]}), tmp_path / "2.parquet")
    with pytest.raises(
        DataError,
        match=r"2\.parquet' has a column 'y' of type text, but in '.*1\.parquet' it is of type whole\. Write it",
    ) as caught:
        opened(tmp_path)
    assert_tells_nothing(caught.value)
    (tmp_path / "2.parquet").rename(tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet' has a column 'y' of type text.*Declare its categories"):
        opened(tmp_path)
    assert read_rows(tmp_path, ["x"]).tolist() == [[1.5], [1.5]]


def test_categories_may_be_texts_in_one_file_and_numbers_in_another(tmp_path):
    pq.write_table(pa.table({"level": ["1", "2 "]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"level": [1.0, 2.0]}), tmp_path / "2.parquet")
    assert read_rows(tmp_path, None, Reader(CATEGORIES)).tolist() == [[0], [1], [0], [1]]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        (pa.int64(), pa.int8(), True),
        (pa.int64(), pa.bool_(), True),
        (pa.int64(), pa.float32(), False),
        (pa.float16(), pa.uint8(), False),
        (pa.bool_(), pa.decimal128(5, 2), False),
    ],
)
def test_numbers_may_be_of_different_types(tmp_path, first, second, whole):
    pq.write_table(pa.table({"x": pa.array(np.array([0.0, 1.0])).cast(first)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": pa.array(np.array([1.0, 0.0])).cast(second)}), tmp_path / "2.parquet")
    stream = opened(tmp_path)
    assert stream.head.whole == (whole,)
    assert [piece().whole for piece in stream.pieces()] == [(whole,)] * 2
    assert read_rows(tmp_path).tolist() == [[0], [1], [1], [0]]


def test_large_whole_numbers_are_rounded_one_by_one_beside_floats(tmp_path):
    pq.write_table(pa.table({"x": pa.array([2**53 + 1, 2**63 - 1])}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": pa.array([0.5])}), tmp_path / "2.parquet")
    assert read_rows(tmp_path).tolist() == [[2.0**53], [2.0**63], [0.5]]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_column_that_one_file_lacks(tmp_path, ending):
    for number, names in enumerate((["x", "income"], ["incomes", "x"])):
        path = tmp_path / f"{number}.{ending}"
        if ending == "csv":
            path.write_text(",".join(names) + "\n1,2\n")
        else:
            pq.write_table(pa.table({name: [1] for name in names}), path)
    with pytest.raises(DataError, match=rf"1\.{ending}' lacks the columns \['income'\]\. Did you mean 'incomes'"):
        opened(tmp_path, ["x", "income"])
    assert read_rows(tmp_path, ["x"]).shape == (2, 1)


def test_columns_may_stand_in_another_order(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"y": [4], "x": [3]}), tmp_path / "2.parquet")
    assert read_rows(tmp_path).tolist() == [[1, 2], [3, 4]]


def test_where_all_columns_are_read_no_file_may_have_more(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [1], "y": [2], "person": [3]}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2\.parquet' has the columns \['y'\], which '.*1\.parquet' does not have"):
        opened(tmp_path, None, Reader({}, "person", person_needed=False))
    assert read_rows(tmp_path, ["x"]).tolist() == [[1], [1]]
