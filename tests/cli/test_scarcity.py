"""Too little memory, or too few threads, is told as what it is, with a way out; nothing is charged for a run that cannot begin."""

import errno
import subprocess
import sys
import threading

import pytest

from dpmondrian.accounts.budget import Budget
from dpmondrian.cli import cluster as command

from .conftest import BOUNDS

resource = pytest.importorskip("resource", reason="The system has no limits of this kind.")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "ran out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ran out of memory"),
        (ImportError("libscipy.so: failed to map segment from shared object"), "ran out of memory"),
        (OSError("Could not find/load shared object file 'libopendp.so'"), "a library could not be loaded"),
        (RuntimeError("can't start new thread"), "cannot start more threads"),
        (SystemError("error return without exception set"), "too little memory"),
        (SystemError("<built-in method f> returned NULL without setting an exception"), "too little memory"),
    ],
)
def test_what_is_scarce_is_told(dpm, people, tmp_path, monkeypatch, error, words):
    def fail(*_):
        raise error

    monkeypatch.setattr(command, "check_rows", fail)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    assert done.code == 1
    assert words in done.err
    assert "ulimit" in done.err
    assert "defect of dpm" not in done.err


def test_another_error_of_the_system_is_a_defect(dpm, people, tmp_path, monkeypatch):
    def fail(*_):
        raise SystemError("f returned a result with an exception set")

    monkeypatch.setattr(command, "check_rows", fail)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    assert done.code == 1
    assert "SystemError. This is a bug in dpm" in done.err


def test_a_command_does_without_threads(dpm, people, tmp_path, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--labels")
    assert done.code == 0, done.err


LIMITED = """
import resource, sys
import dpmondrian.estimator, dpmondrian.tables.files, dpmondrian.show.report, pyarrow.csv, pyarrow.parquet
import dpmondrian.cli.cluster, dpmondrian.accounts.checkpoint, dpmondrian.tables
from dpmondrian.cli.main import main
pages = int(open("/proc/self/statm").read().split()[0])
assert "opendp" not in sys.modules
room = pages * resource.getpagesize() + int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_AS, (room, room))
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The system does not tell the size of a process.")
def test_a_library_that_does_not_fit_into_memory(people, tmp_path):
    """OpenDP's library has 275 MB, and is loaded last; or what is loaded before leaves too little for itself."""
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    arguments = ["cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path, "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(150 * 2**20), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    assert "could not be loaded" in done.stderr or "ran out of memory" in done.stderr
    assert "ulimit -v" in done.stderr
    assert "defect" not in done.stderr
    assert budget.read().entries == ()
    assert not (tmp_path / "out").exists()
