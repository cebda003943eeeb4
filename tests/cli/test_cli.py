"""The ``dpm`` command: help, wrong use, exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from dpmondrian._version import __version__
from dpmondrian.cli.commands import app

COMMANDS = sorted(typer.main.get_group(app).commands)


def dpm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpmondrian", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_the_version():
    done = dpm("--version")
    assert (done.returncode, done.stdout) == (0, f"dpm {__version__}\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_help_has_an_example(command):
    done = dpm(*command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert "  dpm " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nsys.argv = ['dpm', 'reproduce', '--help']\nfrom dpmondrian.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ['numpy', 'sklearn', 'numba', 'opendp', 'matplotlib', 'scipy', 'pandas']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_without_arguments_shows_the_help():
    done = dpm()
    assert "Usage: dpm" in done.stdout + done.stderr
    assert done.returncode == 2


def test_an_unknown_command_is_wrong_use():
    done = dpm("repoduce")
    assert done.returncode == 2
    assert "reproduce" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_fetch_lists_the_data_sets_and_refuses_unknown_ones():
    listed = dpm("fetch")
    assert listed.returncode == 0
    assert "uci_letters" in listed.stdout
    unknown = dpm("fetch", "uci_leters")
    assert unknown.returncode == 2
    assert "Did you mean uci_letters" in " ".join(unknown.stderr.split())
    assert "Traceback" not in unknown.stderr


def test_an_output_that_is_a_file_is_noticed_before_anything_runs(tmp_path):
    (tmp_path / "out").write_text("in the way")
    done = dpm(
        "reproduce", "table2", "--data-sets", "blobs-2000x5-4", "--algorithms", "dpm", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 1
    assert "cannot be written to" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_line_of_the_store_that_is_no_run_is_told(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "kopt.jsonl").write_text("{}\n")
    done = dpm("reproduce", "table2", "--data-sets", "blobs-2000x5-4", "--algorithms", "dpm", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "holds a line that is no run" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
