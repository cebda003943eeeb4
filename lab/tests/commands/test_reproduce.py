"""``dpm reproduce``: wrong use, a small run from beginning to end, failures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dpmondrian.cli.inputs import split_names
from dpmondrian.cli.main import main
from dpmondrian_lab.commands.reproduce import reproduce
from dpmondrian_lab.experiments.rows import Row, read_rows, write_rows
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.targets import GROUPS, TARGETS

SMALL = ("--data-sets", "blobs-2000x5-4", "--algorithms", "kmeans,dpm")


@pytest.fixture
def dpm_reproduce(monkeypatch, capsys):
    """Return a function that runs ``dpm reproduce`` in this process."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["dpm", "reproduce", *arguments])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        told = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, code, told.out, told.err)

    return run


def test_the_help_names_every_target(dpm_reproduce):
    shown = dpm_reproduce("--help").stdout
    assert all(name in shown for name in [*TARGETS, *GROUPS])
    assert reproduce.__doc__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tabel2",), "There is no target 'tabel2'. Did you mean 'table2'"),
        (("xyz",), "There are table2, table3"),
        (("table2", "--algorithms", "dmp"), "Did you mean 'dpm' instead of 'dmp'?"),
        (("table2", "--data-sets", "synth10d"), "synth_10d"),
        (("table3", "--data-sets", "synth_10d"), "The target table3 does not show synth_10d."),
        (("fig4", "--algorithms", "kmeans"), "The target fig4 takes only dpm_paper, dpm."),
        (("nulls", "--data-sets", "synth_10d"), "The target nulls takes only dpm on its own data sets."),
        (("table2", "--jobs", "0"), "--jobs"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(arguments, message, dpm_reproduce):
    done = dpm_reproduce(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_missing_data_set_is_a_failure_with_a_way_out(tmp_path, dpm_reproduce):
    done = dpm_reproduce(
        "table3",
        "--algorithms",
        "dpm",
        "--out",
        str(tmp_path / "out"),
        DPMONDRIAN_DATA="",
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert done.returncode == 1
    assert "DPMONDRIAN_DATA" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_small_table_from_beginning_to_end(tmp_path, dpm_reproduce):
    done = dpm_reproduce("table2", *SMALL, "--quick", "--out", str(tmp_path), "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert {record["algorithm"] for record in document["tables"]["table2"]} == {"kmeans", "dpm"}
    assert document["failed"] == 0
    assert len(read_rows(tmp_path / "rows" / "kopt.csv")) == 4
    assert "| Blobs 2,000 x 5, 4 clusters | inertia |" in (tmp_path / "tables" / "table2.md").read_text()
    before = (tmp_path / "tables" / "table2.csv").read_bytes()
    again = dpm_reproduce("table2", *SMALL, "--quick", "--out", str(tmp_path))
    assert again.returncode == 0
    assert "DPM" in again.stdout
    assert (tmp_path / "tables" / "table2.csv").read_bytes() == before


def test_failed_runs_are_shown_and_give_exit_code_1(tmp_path, dpm_reproduce):
    rows = [
        Row(Run("kopt", "synth_10d", "dpm", 0), {"inertia": 1e6}),
        Row(Run("kopt", "synth_10d", "em_mc", 0), error="MemoryError: too much"),
    ]
    write_rows(rows, Store(tmp_path).rows_path("kopt"))
    done = dpm_reproduce("table2", "--draw-only", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "1 failed" in (tmp_path / "tables" / "table2.md").read_text()
    assert "--retry" in done.stderr


def test_nothing_to_draw_is_a_failure(tmp_path, dpm_reproduce):
    done = dpm_reproduce("table2", "--draw-only", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "Nothing to show in table2" in done.stderr


def test_folders_that_are_missing_are_told_with_a_way_out(tmp_path, dpm_reproduce):
    done = dpm_reproduce("suite", "--out", str(tmp_path / "out"), DPMONDRIAN_DATA="", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "DPMONDRIAN_DATA" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_part_beyond_the_paper_from_beginning_to_end(tmp_path, dpm_reproduce):
    chosen = "one_uniform-5000x2-s0,touching-20000x2-5-s0"
    done = dpm_reproduce("nulls", "--quick", "--data-sets", chosen, "--out", str(tmp_path))
    assert done.returncode == 0
    assert len(read_rows(tmp_path / "rows" / "nulls.csv")) == 2
    page = (tmp_path / "README.md").read_text()
    assert "| touching-20000x2-5 |" in page
    assert "## k given" not in page
    assert (tmp_path / "figures" / "nulls.png").exists()


def test_names_are_split_at_commas():
    assert split_names(" a, b,,a ") == ("a", "b")


def test_an_output_that_is_a_file_is_noticed_before_anything_runs(tmp_path, dpm_reproduce):
    (tmp_path / "out").write_text("in the way")
    done = dpm_reproduce(
        "table2", "--data-sets", "blobs-2000x5-4", "--algorithms", "dpm", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 1
    assert "cannot be written to" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_line_of_the_store_that_is_no_run_is_told(tmp_path, dpm_reproduce):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "kopt.jsonl").write_text("{}\n")
    done = dpm_reproduce("table2", "--data-sets", "blobs-2000x5-4", "--algorithms", "dpm", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "holds a line that is no run" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
