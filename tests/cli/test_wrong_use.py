"""Every wrong use: one clear sentence, exit code 1 or 2, no value of the data, nothing spent, no half-written file."""

import gzip
import os
import shutil
import sys

import pyarrow.csv
import pyarrow.parquet
import pytest
from filelock import FileLock

from dpmondrian.accounts.budget import Budget

from .conftest import BOUNDS, CANARY, HEADER, MAIN, people_lines, written


def rows_with(**values):
    """Return the text of a CSV file in which some values of a row are replaced."""
    row = {"person": "P1", "age": CANARY, "bmi": "25", "plan": "ZXCANARY"} | values
    return "\n".join([HEADER, *people_lines(50), ",".join(row.values())]) + "\n"


def test_missing_bounds(refused, people):
    refused(2, "dpm init FILE", "cluster", people)
    refused(2, "exactly one of", "cluster", people, "--bounds", "age=0:120", "--schema", "schema.toml")
    (people.parent / "schema.toml").write_text("[columns.age]\nlower = 0\n[columns.bmi]\n")
    refused(2, "upper", "cluster", people, "--schema", "schema.toml")


@pytest.mark.parametrize(
    ("bounds", "fragment"),
    [
        ("age=120:0", "lower < upper"),
        ("age=0", "LOW:HIGH"),
        ("age=zero:120", "numbers"),
        ("age", "NAME=LOW:HIGH"),
        ("age=0:120:whole", "one of"),
        ("age=0:inf", "finite"),
        ("age=0:120:log", "positive"),
    ],
)
def test_wrong_bounds(refused, people, bounds, fragment):
    done = refused(2, fragment, "cluster", people, "--bounds", bounds)
    assert "'--bounds' option" in done.err or "third part" in done.err


def test_unknown_columns(refused, people):
    refused(1, "'ages'", "cluster", people, "--bounds", "ages=0:120")
    refused(1, "Did you mean 'age'", "cluster", people, "--bounds", "bmi=10:60", "--bounds", "ages=0:120")
    refused(2, "Did you mean 'age'", "cluster", people, *BOUNDS, "--columns", "ages")
    refused(1, "'person'", "cluster", people, *BOUNDS, "--person-id", "persons")
    refused(2, "not used for clustering", "cluster", people, *BOUNDS, "--person-id", "age")


def test_wrong_parameters(refused, people):
    refused(2, "epsilon", "cluster", people, *BOUNDS, "--epsilon", "-1")
    refused(2, "delta", "cluster", people, *BOUNDS, "--delta", "1")
    refused(2, "--on-missing", "cluster", people, *BOUNDS, "--on-missing", "ignore")
    refused(2, "--k", "cluster", people, *BOUNDS, "--k", "0")
    refused(2, "No such option", "cluster", people, *BOUNDS, "--epsilonn", "1")


def test_files_that_cannot_be_read(refused, tmp_path, people):
    refused(1, "'nothing.csv'", "cluster", "nothing.csv", *BOUNDS)
    (tmp_path / "folder.csv").mkdir()
    refused(1, "folder", "cluster", "folder.csv", *BOUNDS)
    (tmp_path / "people.xyz").write_text("a,b\n")
    refused(1, ".xyz", "cluster", "people.xyz", *BOUNDS)
    (tmp_path / "empty.csv").write_text("")
    refused(1, "empty", "cluster", "empty.csv", *BOUNDS)
    (tmp_path / "unknown.toml").write_text("= 3")
    refused(2, "unknown.toml", "cluster", people, "--schema", "unknown.toml")
    refused(2, "nothing.toml", "cluster", people, "--schema", "nothing.toml")


def test_truncated_files(refused, tmp_path, people):
    table = pyarrow.csv.read_csv(people)
    pyarrow.parquet.write_table(table, tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for share in (0.1, 0.5, 0.99):
        (tmp_path / "part.parquet").write_bytes(whole[: int(share * len(whole))])
        refused(1, "part.parquet", "cluster", "part.parquet", *BOUNDS)
    packed = gzip.compress(people.read_bytes())
    (tmp_path / "part.csv.gz").write_bytes(packed[: len(packed) // 2])
    refused(1, "part.csv.gz", "cluster", "part.csv.gz", *BOUNDS)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (rows_with().replace(",", ";"), "--delimiter"),
        (rows_with().replace("bmi", "age", 1), "same name"),
        (rows_with(age="ZXCANARY"), "'age'"),
        (rows_with(age=f"{CANARY},1"), "different length"),
        (rows_with(age=""), "--on-missing"),
        (rows_with(age="nan"), "--on-missing"),
        (HEADER + "\n", "no rows"),
    ],
    ids=["delimiter", "duplicate names", "text", "ragged", "missing", "nan", "0 rows"],
)
def test_contents(refused, tmp_path, text, fragment):
    (tmp_path / "data.csv").write_text(text)
    refused(1, fragment, "cluster", "data.csv", *BOUNDS)


def test_not_utf_8(refused, tmp_path):
    lines = [HEADER, *people_lines(20), "P1,30,20,caf\u00e9-ZXCANARY"]
    (tmp_path / "data.csv").write_bytes("\n".join(lines).encode("latin-1"))
    refused(1, "UTF-8", "cluster", "data.csv", *BOUNDS, "--bounds", "plan=basic|premium")


def test_output_that_exists_is_left_alone(refused, people, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    refused(1, "exists", "cluster", people, *BOUNDS, "--out", "out")
    refused(1, "no/where", "cluster", people, *BOUNDS, "--out", "no/where/out")


SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files.")
def test_a_full_disk_is_found_before_anything_is_spent(dpm_process, people, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    before = written(tmp_path)
    paths = ["--out", tmp_path / "out", "--budget", tmp_path / "budget.json"]
    done = dpm_process("cluster", people, *BOUNDS, *paths, program=SMALL_FILES + MAIN)
    assert done.code == 1
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert written(tmp_path) == before
    assert budget.read().spent_epsilon == 0


def test_a_budget_that_is_used_up(refused, dpm, people, tmp_path):
    Budget.create(tmp_path / "budget.json", 1.5, 1e-6)
    assert dpm("cluster", people, *BOUNDS, "--out", tmp_path / "one", "--budget", tmp_path / "budget.json").code == 0
    refused(1, "1.5", "cluster", people, *BOUNDS, "--out", "two", "--budget", "budget.json")
    assert Budget(tmp_path / "budget.json").read().spent_epsilon == 1.0


def test_a_budget_that_is_locked_missing_or_damaged(refused, people, tmp_path, monkeypatch):
    Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    monkeypatch.setattr(Budget.__init__, "__defaults__", (0.2,))
    with FileLock(str(tmp_path / "budget.json.lock")):
        refused(1, "locked", "cluster", people, *BOUNDS, "--budget", "budget.json")
    refused(1, "dpm budget new", "cluster", people, *BOUNDS, "--budget", "other.json")
    (tmp_path / "damaged.json").write_text('{"format": "dpmondrian budget"')
    refused(1, "damaged.json", "cluster", people, *BOUNDS, "--budget", "damaged.json")
    refused(1, "exists", "budget", "new", "budget.json", "--epsilon", "1")
    refused(2, "epsilon", "budget", "new", "new.json", "--epsilon", "-1")


def test_nothing_is_spent_where_nothing_is_released(refused, tmp_path):
    """The budget is charged right before the first draw, not before the data turned out to be unusable."""
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    (tmp_path / "data.csv").write_text(rows_with(age=""))
    refused(1, "--on-missing", "cluster", "data.csv", *BOUNDS, "--budget", "budget.json")
    assert budget.read().entries == ()


@pytest.mark.parametrize("command", ["predict", "report", "compare"])
def test_releases_that_are_none(refused, people, tmp_path, command):
    arguments = {"predict": [people, "--out", "labels.csv"], "report": [], "compare": [people]}[command]
    refused(1, "The file 'nothing.json' does not exist.", command, "nothing.json", *arguments)
    (tmp_path / "other.json").write_text("{}")
    refused(1, "not a saved release", command, "other.json", *arguments)
    shutil.copy(sys.executable, tmp_path / "binary.json")
    refused(1, "not a saved release", command, "binary.json", *arguments)


def test_an_unknown_column_of_profiles_is_told_as_an_option(refused, people):
    refused(2, "The '--profiles' option must name columns", "cluster", people, *BOUNDS, "--profiles", "size")


def test_predict_and_report_do_not_overwrite(refused, dpm, people, tmp_path):
    assert dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out").code == 0
    (tmp_path / "labels.csv").write_text("mine")
    release = tmp_path / "out" / "release.json"
    refused(1, "exists", "predict", release, people, "--out", "labels.csv")
    refused(2, ".parquet or .csv", "predict", release, people, "--out", "labels.xlsx")
    refused(1, "Overwrite it with --force", "report", release)
    assert dpm("report", release, "--force").code == 0


def test_nothing_of_a_first_row_is_told(refused, tmp_path):
    """Without a header the names would be somebody's values."""
    (tmp_path / "data.csv").write_text("ZXCANARY,basic\n" * 3)
    for options in (["--person-id", "patient"], ["--suggest-bounds", "--epsilon", "1", "--columns", "ZXCANARI"]):
        done = refused(2, "first line must contain", "schema", "data.csv", *options)
        assert "basic" not in done.err
    (tmp_path / "raw.csv").write_text("2020-01-05,ZXCANARY,34.5kg\n" * 3)
    refused(1, "in its first line", "schema", "raw.csv")


def test_an_open_quote(refused, tmp_path):
    lines = [HEADER, *people_lines(50), 'P1,30,20,"ZXCANARY', *people_lines(50)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    refused(1, "quote", "cluster", "data.csv", *BOUNDS)


def test_texts_that_are_not_utf_8(refused, people):
    broken = "a\udcff"
    refused(2, "UTF-8", "cluster", people, "--bounds", f"{broken}=0:1")
    refused(2, "UTF-8", "cluster", people, *BOUNDS, "--columns", broken)
    refused(2, "UTF-8", "cluster", people, *BOUNDS, "--person-id", broken)


def test_messages_speak_of_options(refused, people, dpm, tmp_path):
    refused(2, "The '--epsilon' option must be", "cluster", people, *BOUNDS, "--epsilon", "-1")
    done = refused(2, "The '--k' option must be", "cluster", people, *BOUNDS, "--k", "1000000")
    assert "Omit it to let DPM choose." in done.err
    assert "None" not in done.err


def test_databases(refused, tmp_path):
    (tmp_path / "people.db").write_bytes(b"SQLite format 3\x00")
    refused(2, "--query", "cluster", "people.db", *BOUNDS)
    refused(1, "people.db", "cluster", "people.db", *BOUNDS, "--query", "select 1")


def test_a_defect_tells_its_kind_only(dpm, people, monkeypatch, tmp_path):
    """Whatever goes wrong inside, no value gets out with it; unless somebody asks for it."""
    from dpmondrian.cli import cluster as command

    def broken(*_):
        raise ZeroDivisionError(f"value {CANARY}")

    monkeypatch.setattr(command, "check_rows", broken)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    assert done.code == 1
    assert "ZeroDivisionError" in done.err
    assert CANARY not in done.err
    assert not (tmp_path / "out").exists()
    monkeypatch.setitem(os.environ, "DPMONDRIAN_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
