"""How often a file is opened: once for names and types, and once in every pass over its rows.

The numbers below are those of an interpreter's audit hook, which sees every `open` of Python.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

COUNTING = """
import json, os, sys
opened = []
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        opened.append(os.path.basename(os.fsdecode(arguments[0])))
sys.addaudithook(note)
def tell(name):
    print(json.dumps(opened.count(name)))
"""

DPM = """
name, sys.argv = sys.argv[1], ["dpm", *sys.argv[2:]]
from dpmondrian.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
tell(name)
"""

FIT = """
import warnings
from dpmondrian import DPM
DPM(bounds={"age": (0, 120), "bmi": (10, 60)}, random_state=0).fit(sys.argv[1])
tell(os.path.basename(sys.argv[1]))
"""

BOUNDS = ("--bounds", "age=0:120", "--bounds", "bmi=10:60", "--quiet")


@pytest.fixture
def people(tmp_path):
    """Return the path of a CSV file with 1500 people, two rows each."""
    rows = np.random.default_rng(0).uniform(10, 60, (3000, 2)).round(1)
    lines = [f"P{number // 2},{age},{bmi}" for number, (age, bmi) in enumerate(rows.tolist())]
    (tmp_path / "people.csv").write_text("\n".join(["person,age,bmi", *lines]) + "\n")
    return tmp_path / "people.csv"


def opens(code, *arguments, folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COUNTING + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param((), 1 + 1, id="header, and the pass that codes the rows"),
        pytest.param(("--labels",), 1 + 2, id="labels take another pass, after the release is written"),
        pytest.param(("--person-id", "person"), 1 + 2, id="whose rows are kept is known after a pass"),
        pytest.param(("--person-id", "person", "--labels"), 1 + 3, id="both"),
    ],
)
def test_dpm_cluster(people, tmp_path, options, expected):
    assert opens(DPM, people.name, "cluster", people, *BOUNDS, "--out", "out", *options, folder=tmp_path) == expected


def test_quotes_are_checked_by_a_reader_of_their_own(people, tmp_path):
    """Arrow loses rows behind a quote that is not closed; so a file with quotes is read once more in every pass."""
    people.write_text(people.read_text().replace("person,age", '"person",age', 1))
    assert opens(DPM, people.name, "cluster", people, *BOUNDS, "--out", "out", folder=tmp_path) == 1 + 2


def test_values_that_are_not_written_as_numbers_take_a_second_reading(people, tmp_path):
    """Numbers are read as numbers, which is quick; a truth value among them is found on the way, and all is read as texts."""
    people.write_text(people.read_text() + "P9,true,20\n")
    assert opens(DPM, people.name, "cluster", people, *BOUNDS, "--out", "out", folder=tmp_path) == 1 + 2


def test_fit_on_a_path(people, tmp_path):
    assert opens(FIT, people, folder=tmp_path) == 1 + 1


def test_dpm_schema_reads_the_header_alone(people, tmp_path):
    assert opens(DPM, people.name, "schema", people, folder=tmp_path) == 1


def test_dpm_schema_with_estimated_bounds_reads_the_rows_once(people, tmp_path):
    options = ("--suggest-bounds", "--epsilon", "1", "--columns", "age,bmi")
    assert opens(DPM, people.name, "schema", people, *options, folder=tmp_path) == 1 + 1


def test_dpm_predict_and_compare(people, tmp_path):
    opens(DPM, people.name, "cluster", people, *BOUNDS, "--out", "out", folder=tmp_path)
    predicted = ("predict", "out/release.json", people, "--out", "labels.csv", "--quiet")
    assert opens(DPM, people.name, *predicted, folder=tmp_path) == 1 + 1
    assert opens(DPM, people.name, "compare", "out/release.json", people, folder=tmp_path) == 1 + 1


def test_every_file_of_a_folder_is_opened_as_often_as_one(people, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("1.csv", "2.csv", "3.csv"):
        (folder / name).write_text(people.read_text())
    for name in ("1.csv", "3.csv"):
        assert opens(DPM, name, "cluster", folder, *BOUNDS, "--out", f"out-{name}", folder=tmp_path) == 1 + 1
