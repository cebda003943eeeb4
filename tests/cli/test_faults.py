"""Files that fail while they are read, or disks that are full: one sentence, nothing spent, nothing left behind."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian.accounts.budget import Budget
from dpmondrian.cli.progress import FitBars
from dpmondrian.tables.formats import arrow_files

from .conftest import BOUNDS, CANARY, MAIN, written


def write_people(path, n_rows=1000):
    generator = np.random.default_rng(0)
    table = pa.table({"age": generator.normal(50, 5, n_rows), "bmi": np.full(n_rows, float(CANARY))})
    pq.write_table(table, path, row_group_size=100, compression="none", use_dictionary=False)


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Return a folder with two files, which are read in small pieces."""
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 0)
    folder = tmp_path / "visits"
    folder.mkdir()
    for name in ("1.parquet", "2.parquet"):
        write_people(folder / name)
    return folder


@pytest.fixture
def fails(refused, tmp_path):
    """Return a function that clusters what cannot be read: one line, nothing spent, nothing left behind."""
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)

    def run(fragment, *arguments):
        options = [*BOUNDS, "--budget", "budget.json", "--labels"]
        done = refused(1, fragment, "cluster", *arguments, *options)
        assert done.err.startswith("Error: ")
        assert done.err.count("\n") == 1
        assert budget.read().entries == ()

    return run


def when_read(monkeypatch, share, action):
    """Let something happen as soon as a share of the files is read."""
    happened = []

    def read(_, done, total):
        if done >= share * total and not happened:
            happened.append(True)
            action()

    monkeypatch.setattr(FitBars, "read", read)


@pytest.mark.parametrize("n_bytes", [3, 1000, -1])
@pytest.mark.parametrize("name", ["1.parquet", "2.parquet"])
def test_a_file_that_is_cut_off(fails, visits, name, n_bytes):
    (visits / name).write_bytes((visits / name).read_bytes()[:n_bytes])
    fails(f"{name}' ", "visits")


def test_damage_in_the_middle(fails, visits):
    path = visits / "2.parquet"
    content = bytearray(path.read_bytes())
    header = pq.ParquetFile(path).metadata.row_group(7).column(1).data_page_offset
    content[header : header + 30] = b"\xff" * 30
    path.write_bytes(content)
    fails("2.parquet' is damaged or truncated", "visits")


@pytest.mark.parametrize("options", [[], ["--person-id", "who"]], ids=["rows", "persons"])
def test_a_missing_value_in_the_end(fails, visits, options):
    table = pa.table({"age": [1.0, None], "bmi": [1.0, 1.0], "who": [1, 2]})
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(table if name == "2.parquet" else table.slice(0, 1), visits / name)
    fails("--on-missing", "visits", *options)


def test_a_file_that_disappears(fails, visits, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "3.parquet"
    write_people(elsewhere)
    when_read(monkeypatch, 0.3, elsewhere.unlink)
    fails("3.parquet' no longer exists. Restore it", "visits", elsewhere)
    fails("3.parquet' does not exist", "visits", elsewhere)


def test_a_file_that_is_changed(fails, visits, monkeypatch):
    when_read(monkeypatch, 0.3, lambda: os.utime(visits / "2.parquet", ns=(1, 1)))
    fails("2.parquet' was modified during the run", "visits")


def test_columns_that_differ(fails, visits):
    pq.write_table(pa.table({"age": ["old"], "bmi": [20.0]}), visits / "2.parquet")
    fails("2.parquet' has a column 'age' of type text", "visits")
    pq.write_table(pa.table({"bmi": [20.0]}), visits / "2.parquet")
    fails("2.parquet' lacks the columns ['age']", "visits")


def test_nothing_there(fails, visits, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_SUCCESS").touch()
    fails("The folder 'empty' contains no files", "empty")
    fails("The pattern 'visits/*.csv' matches no readable file", "visits/*.csv")
    fails("The pattern 'none/*' matches no readable file", "visits", "none/*")


def test_several_formats(fails, visits):
    (visits / "notes.csv").write_text("age,bmi\n1,2\n")
    fails("must have the same format", "visits")


FORBIDDEN = """
import contextlib, io, os, sys
from dpmondrian.cli.main import main

def dpm(*arguments):
    sys.argv = ["dpm", *arguments, *sys.argv[2:]]
    try:
        main()
    except SystemExit as leaving:
        return leaving.code
    finally:
        sys.argv = kept

kept = list(sys.argv)
os.chdir(sys.argv[1])
with contextlib.redirect_stdout(io.StringIO()):  # loads what may not be read later
    assert dpm("cluster", "1.parquet", "--out", "out", "--quiet") in (0, None)
if os.geteuid() == 0:  # root may do everything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in ("2.parquet", "?.parquet", "locked", "locked/1.parquet"):
    print(dpm("cluster", path, "--out", "other"), flush=True)
"""


@pytest.mark.slow
def test_files_without_rights(dpm_process):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "locked").mkdir()
        for path in ("1.parquet", "2.parquet", "locked/1.parquet"):
            write_people(folder / path)
        for path in ("2.parquet", "locked"):
            (folder / path).chmod(0)
        done = dpm_process(name, *BOUNDS, program=FORBIDDEN)
        (folder / "locked").chmod(0o700)
        assert sorted(path.name for path in folder.iterdir()) == ["1.parquet", "2.parquet", "locked", "out"]
    assert done.out == "1\n" * 4
    told = [line for line in done.err.splitlines() if not line.startswith(("Note: ", "Warning: "))]
    assert len(told) == 4
    assert all(line.startswith("Error: ") and "cannot be read: permission denied" in line for line in told)


SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**21, 2**21))\n"
LITTLE_RESERVED = """
from dpmondrian.common.whole_files import new_folder
new_folder.__wrapped__.__defaults__ = (10_000,)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files.")
@pytest.mark.parametrize("options", [[], ["--person-id", "who"]], ids=["rows", "persons"])
def test_a_full_folder_for_temporary_files(dpm_process, tmp_path, options):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    (tmp_path / "tmp").mkdir()
    column = pa.array(np.arange(200_000, dtype=np.int32) % 50)
    names = [f"x{number}" for number in range(8)]
    pq.write_table(pa.table({**dict.fromkeys(names, column), "who": column}), tmp_path / "rows.parquet")
    bounds = [word for name in names for word in ("--bounds", f"{name}=0:100:float")]
    before = written(tmp_path)
    done = dpm_process(
        "cluster", tmp_path / "rows.parquet", *bounds, *options, "--memory", "1MB",
        "--out", tmp_path / "out", "--budget", tmp_path / "budget.json",
        program=SMALL_FILES + LITTLE_RESERVED + MAIN, environment={"TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip
    assert done.code == 1
    assert done.err.startswith("Error: The encoded rows could not be written to a temporary file: ")
    assert "Use a folder with more space (TMPDIR), or increase --memory." in done.err
    assert done.err.count("\n") == 1
    assert written(tmp_path) == before
    assert budget.read().entries == ()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files.")
def test_a_full_disk_while_labels_are_written(dpm, dpm_process, visits, tmp_path):
    release = tmp_path / "out" / "release.json"
    assert dpm("cluster", visits, *BOUNDS, "--out", release.parent, "--labels").code == 0
    values = pa.array(np.arange(1_200_000, dtype=np.int32) % 50)
    pq.write_table(pa.table({"age": values, "bmi": values}), tmp_path / "rows.parquet")
    before = written(tmp_path)
    predict = ["predict", release, tmp_path / "rows.parquet", "--out", tmp_path / "labels.csv"]
    done = dpm_process(*predict, program=SMALL_FILES + MAIN)
    assert done.code == 1
    assert done.err.startswith(
        f"Error: '{tmp_path / 'labels.csv'}' cannot be written: the file would exceed the size limit"
    )
    assert done.err.count("\n") == 1
    assert written(tmp_path) == before
