"""The ``dpm`` command: help, wrong use, exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from dpmondrian._version import __version__
from dpmondrian.cli.commands import app

COMMANDS = typer.main.get_group(app).list_commands(None)


def dpm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpmondrian", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_the_version():
    done = dpm("--version")
    assert (done.returncode, done.stdout) == (0, f"dpm {__version__}\n")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_help_has_an_example(dpm_process, command):
    done = dpm_process(*command, "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert "  dpm " in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nsys.argv = ['dpm', 'reproduce', '--help']\nfrom dpmondrian.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ['numpy', 'sklearn', 'opendp', 'matplotlib', 'scipy', 'pandas']\n"
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
