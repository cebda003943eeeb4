"""How often a file is opened: once for names and types, and once in every pass over its rows.

The numbers below are those of an interpreter's audit hook, which sees every `open` of Python.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.cli.main import main

OPENED: list[str] | None = None
"""Names of the files that are opened, while somebody counts."""


def note(event, arguments):
    if OPENED is not None and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        OPENED.append(os.path.basename(os.fsdecode(arguments[0])))


@pytest.fixture(scope="module")
def heard():
    """Hear of every file that is opened. A hook stays for as long as its process, so it is set only where it is asked for."""
    sys.addaudithook(note)


@pytest.fixture
def opens(heard, tmp_path, monkeypatch):
    """Return a function that counts how often a file is opened while another one is called."""
    monkeypatch.chdir(tmp_path)

    def count(name, function, *arguments):
        monkeypatch.setattr(sys.modules[__name__], "OPENED", [])
        function(*arguments)
        n_times = OPENED.count(name)
        monkeypatch.setattr(sys.modules[__name__], "OPENED", None)
        return n_times

    return count


@pytest.fixture
def opens_of_dpm(opens, monkeypatch):
    """Return a function that counts how often ``dpm`` opens a file."""

    def run():
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code

    def count(name, *arguments):
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        return opens(name, run)

    return count


BOUNDS = ("--bounds", "age=0:120", "--bounds", "bmi=10:60", "--quiet")


@pytest.fixture
def people(tmp_path):
    """Return the path of a CSV file with 1500 people, two rows each."""
    rows = np.random.default_rng(0).uniform(10, 60, (3000, 2)).round(1)
    lines = [f"P{number // 2},{age},{bmi}" for number, (age, bmi) in enumerate(rows.tolist())]
    (tmp_path / "people.csv").write_text("\n".join(["person,age,bmi", *lines]) + "\n")
    return tmp_path / "people.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param((), 1 + 1, id="header, and the pass that codes the rows"),
        pytest.param(("--labels",), 1 + 2, id="labels take another pass, after the release is written"),
        pytest.param(("--person-id", "person"), 1 + 2, id="whose rows are kept is known after a pass"),
        pytest.param(("--person-id", "person", "--labels"), 1 + 3, id="both"),
    ],
)
def test_dpm_cluster(people, opens_of_dpm, options, expected):
    assert opens_of_dpm(people.name, "cluster", people, *BOUNDS, "--out", "out", *options) == expected


def test_quotes_are_checked_by_a_reader_of_their_own(people, opens_of_dpm):
    """Arrow loses rows behind a quote that is not closed; so a file with quotes is read once more in every pass."""
    people.write_text(people.read_text().replace("person,age", '"person",age', 1))
    assert opens_of_dpm(people.name, "cluster", people, *BOUNDS, "--out", "out") == 1 + 2


def test_values_that_are_not_written_as_numbers_take_a_second_reading(people, opens_of_dpm):
    """Numbers are read as numbers, which is quick; a truth value among them is found on the way, and all is read as texts."""
    people.write_text(people.read_text() + "P9,true,20\n")
    assert opens_of_dpm(people.name, "cluster", people, *BOUNDS, "--out", "out") == 1 + 2


def test_fit_on_a_path(people, opens):
    model = DPM(bounds={"age": (0, 120), "bmi": (10, 60)}, random_state=0)
    assert opens(people.name, model.fit, str(people)) == 1 + 1


def test_dpm_schema_reads_the_header_alone(people, opens_of_dpm):
    assert opens_of_dpm(people.name, "schema", people) == 1


def test_dpm_schema_with_estimated_bounds_reads_the_rows_once(people, opens_of_dpm):
    options = ("--suggest-bounds", "--epsilon", "1", "--columns", "age,bmi")
    assert opens_of_dpm(people.name, "schema", people, *options) == 1 + 1


def test_dpm_predict_and_compare(people, opens_of_dpm):
    opens_of_dpm(people.name, "cluster", people, *BOUNDS, "--out", "out")
    predicted = ("predict", "out/release.json", people, "--out", "labels.csv", "--quiet")
    assert opens_of_dpm(people.name, *predicted) == 1 + 1
    assert opens_of_dpm(people.name, "compare", "out/release.json", people) == 1 + 1


@pytest.mark.slow
def test_every_file_of_a_folder_is_opened_as_often_as_one(people, opens_of_dpm, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("1.csv", "2.csv", "3.csv"):
        (folder / name).write_text(people.read_text())
    for name in ("1.csv", "3.csv"):
        assert opens_of_dpm(name, "cluster", folder, *BOUNDS, "--out", f"out-{name}") == 1 + 1
