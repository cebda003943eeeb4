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
N_RUNS = 2 * 2 * 20


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
    run_experiments(["kopt"], Orders(selection=SELECTION, **orders), Store(folder), listener)
    return listener


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert len(run_kopt(folder, jobs=2).rows) == N_RUNS
    return folder


def started(folder: Path) -> subprocess.Popen:
    arguments = ["reproduce", "table2", "--jobs", "1", "--out", str(folder)]
    arguments += ["--data-sets", ",".join(SELECTION.data_sets), "--algorithms", ",".join(SELECTION.algorithms)]
    return subprocess.Popen(
        [sys.executable, "-m", "dpmondrian", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for_lines(path: Path, process: subprocess.Popen, n_lines: int) -> None:
    for _ in range(3000):
        if path.exists() and path.read_bytes().count(b"\n") >= n_lines:
            return
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("no rows were written")


def children(process: subprocess.Popen) -> list[int]:
    """Return the processes that any thread of a process has started."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for listed in threads for number in listed.read_text().split()]


def is_running(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_an_interruption_leaves_nothing_behind_and_after_it_the_bytes_are_the_same(tmp_path, uninterrupted, ending):
    process = started(tmp_path)
    store = Store(tmp_path)
    wait_for_lines(store.lines_path("kopt"), process, 3)
    workers = children(process)
    os.kill(process.pid, ending)
    assert process.wait(60) == (-signal.SIGKILL if ending == signal.SIGKILL else 130)
    for _ in range(500):
        if not any(is_running(pid) for pid in workers):
            break
        time.sleep(0.02)
    assert not any(is_running(pid) for pid in workers)
    done = len(store.finished("kopt"))
    assert 3 <= done < N_RUNS
    assert len(run_kopt(tmp_path, jobs=1).rows) == N_RUNS - done
    assert store.rows_path("kopt").read_bytes() == Store(uninterrupted).rows_path("kopt").read_bytes()


def test_what_is_finished_is_not_run_again_and_can_be_measured_again(uninterrupted):
    store = Store(uninterrupted)
    before = store.rows_path("kopt").read_bytes()
    assert run_kopt(uninterrupted).rows == []
    assert len(run_kopt(uninterrupted, recompute=True).rows) == N_RUNS
    assert store.rows_path("kopt").read_bytes() == before


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
