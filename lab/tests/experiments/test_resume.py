"""The same bytes with one job and with two, at once and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.runner import Orders, run_experiments
from dpmondrian_lab.experiments.spec import Run, Selection
from dpmondrian_lab.experiments.store import Store

SELECTION = Selection(("blobs-1500x2-3", "blobs-2000x5-4"), ("kmeans", "dpm"))
N_RUNS = 2 * 2 * 2
N_BEFORE = 3
PAUSED = f"""
import signal, time
from dpmondrian.cli.main import main
from dpmondrian.common.interrupts import check
from dpmondrian_lab.experiments.store import Store

signal.signal(signal.SIGINT, signal.default_int_handler)  # even if whoever runs the tests ignores it, as nohup does
append = Store.append
written = []

def append_some(store, row):
    while len(written) == {N_BEFORE}:
        check()
        time.sleep(0.01)
    append(store, row)
    written.append(row)
    if len(written) == {N_BEFORE}:
        print("paused", flush=True)

Store.append = append_some
main()
"""
"""The command, which writes some rows and then waits until it is ended."""


class Silent:
    """Listens, and counts."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def start(self, title: str, total: int, done: int) -> None:
        pass

    def advance(self, row: Row | None = None) -> None:
        if row is not None:
            self.rows.append(row)


def run_kopt(folder: Path, **orders) -> Silent:
    listener = Silent()
    run_experiments(["kopt"], Orders(quick=True, selection=SELECTION, **orders), Store(folder), listener)
    return listener


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert len(run_kopt(folder, jobs=2).rows) == N_RUNS
    return folder


def started(folder: Path) -> subprocess.Popen:
    arguments = ["reproduce", "table2", "--quick", "--jobs", "1", "--out", str(folder)]
    arguments += ["--data-sets", ",".join(SELECTION.data_sets), "--algorithms", ",".join(SELECTION.algorithms)]
    command = [sys.executable, "-c", PAUSED, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert "paused\n" in iter(process.stdout.readline, "")
    return process


def children(process: subprocess.Popen) -> list[int]:
    """Return the processes that any thread of a process has started."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for listed in threads for number in listed.read_text().split()]


def is_running(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_interruptions_leave_nothing_behind_and_after_them_the_bytes_are_the_same(tmp_path, uninterrupted):
    store, n_done = Store(tmp_path), 0
    for ending in (signal.SIGINT, signal.SIGKILL):
        process = started(tmp_path)
        workers = children(process)
        assert workers
        os.kill(process.pid, ending)
        process.communicate()
        assert process.returncode == (-signal.SIGKILL if ending == signal.SIGKILL else 130)
        while any(is_running(pid) for pid in workers):  # if it never ends, whoever runs the tests does
            time.sleep(0.02)
        n_done += N_BEFORE
        assert len(store.finished("kopt")) == n_done
    assert len(run_kopt(tmp_path, jobs=1).rows) == N_RUNS - n_done
    assert store.rows_path("kopt").read_bytes() == Store(uninterrupted).rows_path("kopt").read_bytes()


@pytest.mark.slow
def test_what_is_finished_is_not_run_again_and_can_be_measured_again(uninterrupted):
    store = Store(uninterrupted)
    before = store.rows_path("kopt").read_bytes()
    assert run_kopt(uninterrupted).rows == []
    assert len(run_kopt(uninterrupted, recompute=True).rows) == N_RUNS
    assert store.rows_path("kopt").read_bytes() == before


@pytest.mark.slow
def test_a_part_takes_nothing_away_and_a_failure_is_kept_until_it_is_run_again(tmp_path):
    store = Store(tmp_path)
    failing = Run("kopt", "blobs-2000x5-4", "dpm", 1)
    other = Run("kopt", "synth_10d", "em_mc", 3)
    store.append(Row(failing, error="MemoryError: too much"))
    store.append(Row(other, {"inertia": 1.0}))
    selection = Selection(("blobs-2000x5-4",), ("dpm",))
    for retry in (False, True):
        run_experiments(["kopt"], Orders(quick=True, selection=selection, retry=retry), store, Silent())
        rows = {row.run: row for row in store.published("kopt")}
        assert len(rows) == 3
        assert other in rows
        assert rows[failing].failed is not retry
