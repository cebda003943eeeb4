"""Which files are behind a path, a glob, a folder or a list, and in which order their rows come."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian.exceptions import DataError, ParameterError
from dpmondrian.tables.files import Source
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.opening import open_stream

from .helpers import opened, read_rows


@pytest.fixture
def folder(tmp_path):
    """Return a folder with some tables in it, as Spark or Hive leave them; each has its number as its only value."""
    names = ["10.parquet", "2.parquet", "year=2023/b.parquet", "year=2023/a.parquet", "year=2024/month=1/c.parquet"]
    for number, name in enumerate(names):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [number]}), path)
    for name in ("_SUCCESS", ".10.parquet.crc", "_temporary/0/d.parquet", ".hidden/e.parquet", "year=2023/_metadata"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return tmp_path / "data"


def numbers(X):
    return read_rows(X)[:, 0].tolist()


def test_a_folder_is_searched_to_the_bottom_in_sorted_order(folder):
    assert numbers(folder) == numbers(str(folder)) == [0, 1, 3, 2, 4]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.parquet", [0, 1]),
        ("[12]*.parquet", [0, 1]),
        ("?.parquet", [1]),
        ("year=2023/*", [3, 2]),
        ("year=*", [3, 2, 4]),
        ("year=*/*", [3, 2, 4]),
        ("**/*.parquet", [0, 1, 3, 2, 4]),
        ("**", [0, 1, 3, 2, 4]),
        ("*", [0, 1, 3, 2, 4]),
    ],
)
def test_globs(folder, pattern, expected):
    assert numbers(folder / pattern) == expected
    assert numbers(f"{folder}/{pattern}") == expected


def test_a_list_is_read_in_its_own_order(folder):
    assert numbers([folder / "year=2024", f"{folder}/2.parquet", str(folder / "year=2023" / "*")]) == [4, 1, 3, 2]
    assert numbers((folder / "2.parquet",)) == [1]


def test_hidden_files_are_read_when_they_are_named(folder):
    pq.write_table(pa.table({"x": [7]}), folder / "_part.parquet")
    assert numbers(folder / "_part.parquet") == [7]
    assert numbers(folder / "_p*.parquet") == [7]


def test_a_name_with_signs_of_a_pattern_is_a_name_if_it_is_there(folder):
    pq.write_table(pa.table({"x": [8]}), folder / "[12].parquet")
    assert numbers(folder / "[12].parquet") == [8]
    (folder / "a*b").mkdir()
    pq.write_table(pa.table({"x": [9]}), folder / "a*b" / "x.parquet")
    assert numbers(folder / "a*b") == [9]


def test_the_home_folder_has_its_sign(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert numbers("~/2.parquet") == [1]


def test_names_of_folders_are_no_columns(folder):
    with pytest.raises(DataError, match=r"lacks the columns \['year'\]"):
        opened(folder, ["x", "year"])


def test_sources_are_read_as_they_say(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1.5;2\n")
    (tmp_path / "y.csv").write_text("a;b\n3;4\n")
    x, y = Source(tmp_path / "x.csv", delimiter=";"), Source(tmp_path / "y.csv", delimiter=";")
    assert read_rows(x).tolist() == [[1.5, 2.0]]
    assert read_rows([x, y]).tolist() == [[1.5, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("X", [[], (), [[1.0, 2.0]], np.zeros((2, 2)), pa.table({"x": [1.0]}), None, 3, b"x.parquet"])
def test_other_things_are_no_streams(X):
    assert open_stream(X, None, Reader()) is None


def test_a_folder_without_tables(tmp_path):
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "sub").mkdir()
    with pytest.raises(DataError, match="contains no files"):
        opened(tmp_path)


def test_a_pattern_that_matches_nothing(tmp_path):
    with pytest.raises(DataError, match=r"'.*/\*\.parquet' matches no readable file"):
        opened(tmp_path / "*.parquet")


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(DataError, match=r"none\.parquet' does not exist"):
        opened(tmp_path / "none.parquet")
    os.symlink(tmp_path / "none.parquet", tmp_path / "link.parquet")
    with pytest.raises(DataError, match=r"link\.parquet' does not exist"):
        opened(tmp_path)


def test_an_address_is_told_a_way_out():
    with pytest.raises(DataError, match=r"'s3://bucket/x\.parquet' is a URL.*pyarrow\.dataset"):
        opened("s3://bucket/x.parquet")


def test_one_format_at_a_time(folder):
    (folder / "x.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"must have the same format.*\*\.parquet"):
        opened(folder)
    (folder / "x.csv").rename(folder / "README.md")
    with pytest.raises(DataError, match=r"README\.md' has an unknown extension"):
        opened(folder)


@pytest.mark.parametrize("name", ["people.db", "people.sqlite", "people.duckdb"])
def test_databases_need_a_query(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=r"is a database and needs a query.*DuckDB relation"):
        opened(tmp_path / name)
    with pytest.raises(ParameterError, match="'query'"):
        Source(tmp_path / name)


@pytest.mark.parametrize("kind", ["list", "glob", "link", "hard link"])
def test_a_file_that_is_there_twice_would_count_twice(folder, kind):
    X = [folder / "2.parquet", folder / "10.parquet"]
    if kind == "list":
        X.append(folder / "year=2023" / ".." / "2.parquet")
    elif kind == "glob":
        X.append(folder / "?.parquet")
    else:
        (os.symlink if kind == "link" else os.link)(X[0], folder / "3.parquet")
        X = folder
    with pytest.raises(DataError, match=r"is included twice, also as .*2\.parquet'"):
        opened(X)


def test_links_to_folders_are_followed_once(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    pq.write_table(pa.table({"x": [5]}), tmp_path / "elsewhere" / "x.parquet")
    os.symlink(tmp_path / "elsewhere", folder / "3")
    assert numbers(folder) == [0, 1, 5, 3, 2, 4]
    os.symlink(folder, folder / "4")
    with pytest.raises(DataError, match="reached in two ways"):
        opened(folder)


FORBIDDEN = """
import os, sys
from dpmondrian.exceptions import DataError
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.opening import open_stream
import pyarrow.parquet

os.chdir(sys.argv[1])
if os.geteuid() == 0:  # root may do everything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in sys.argv[2:]:
    try:
        open_stream(path, None, Reader())
    except DataError as error:
        print(error)
"""


def test_paths_without_rights(folder):
    (folder / "2.parquet").chmod(0)
    (folder / "year=2024" / "month=1").chmod(0)
    (folder / "year=2023").chmod(0)
    paths = ["2.parquet", "?.parquet", "year=2024", "year=2023/a.parquet", "year=2023/*.parquet"]
    command = [sys.executable, "-c", FORBIDDEN, str(folder), *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o700)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths)
    assert all("cannot be read: permission denied" in line for line in lines[:4])
    assert "matches no readable file" in lines[4]
    assert "The folder 'year=2024/month=1'" in lines[2]


def test_paths_of_other_programs_are_taken():
    class Elsewhere:
        def __fspath__(self):
            return "none.parquet"

    with pytest.raises(DataError, match=r"'none\.parquet' does not exist"):
        opened(Elsewhere())
    with pytest.raises(DataError, match=r"'none\.parquet' does not exist"):
        opened(Path("none.parquet"))
