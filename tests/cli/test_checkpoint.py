"""``dpm cluster --checkpoint``: after a kill the same command continues, spends nothing twice, and says so."""

import json
import signal
import subprocess
import sys

import pytest

from dpmondrian import Budget
from dpmondrian.cli import cluster as command
from dpmondrian.files.checkpoint import Checkpoint, RunJournal

from .conftest import BOUNDS


@pytest.fixture
def arguments(people, tmp_path):
    Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    paths = ["--out", tmp_path / "out", "--budget", tmp_path / "budget.json", "--checkpoint", tmp_path / "run.ckpt"]
    return ["cluster", people, *BOUNDS, *paths]


@pytest.fixture
def stop_after_every(monkeypatch):
    """Return a function that lets an interrupt come whenever so many more draws are kept."""
    real = RunJournal.keep

    def after(n_draws):
        kept = []

        def keep(self, *draw):
            real(self, *draw)
            kept.append(draw)
            if len(kept) % n_draws == 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(RunJournal, "keep", keep)

    return after


KILLED = """
import os, signal, sys
from dpmondrian.cli.main import main
from dpmondrian.files.checkpoint import RunJournal
real = RunJournal.keep
def keep(self, name, level, released):
    real(self, name, level, released)
    if name == "radius":
        os.kill(os.getpid(), signal.SIGKILL)
RunJournal.keep = keep
sys.argv[0] = "dpm"
main()
"""


def test_the_same_command_continues_after_a_kill(dpm, arguments, tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    before = Checkpoint(tmp_path / "run.ckpt").read()
    done = dpm(*arguments)
    assert done.code == 0, done.err
    told = f"run.ckpt': {len(before.draws)} of {before.n_planned} draws were made before."
    assert "Continuing" in done.err
    assert told in done.err
    after = Checkpoint(tmp_path / "run.ckpt").read()
    assert [draw.released.tolist() for draw in after.draws[: len(before.draws)]] == [
        draw.released.tolist() for draw in before.draws
    ]
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")


def test_a_finished_run_is_written_again_with_a_warning(dpm, arguments, tmp_path):
    assert dpm(*arguments).code == 0
    (tmp_path / "out").rename(tmp_path / "first")
    done = dpm(*arguments)
    assert done.code == 0
    assert "Continuing" not in done.err
    assert "Warning: The run in the checkpoint" in done.err
    assert "nothing was drawn or spent. Delete the file for a new run." in done.err
    assert (tmp_path / "out" / "release.json").read_bytes() == (tmp_path / "first" / "release.json").read_bytes()
    assert Budget(tmp_path / "budget.json").read().spent_epsilon == 1.0


def test_an_interrupt_says_how_to_continue(dpm, arguments, tmp_path, stop_after_every):
    stop_after_every(3)
    done = dpm(*arguments)
    assert done.code == 130
    assert f"what was drawn is kept in {str(tmp_path / 'run.ckpt')!r}. The same command continues" in done.err
    assert "was charged for this run, and stays charged" in done.err
    again = dpm(*arguments, "--quiet")
    assert again.code == 130, "three more draws"
    assert "Continuing" not in again.err
    assert "The same command continues" in again.err


def test_an_interrupt_before_anything_is_drawn_says_nothing_about_it(dpm, arguments, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "check_rows", interrupt)
    done = dpm(*arguments)
    assert (done.code, done.err) == (130, "Stopped. Nothing was written.\n")
    assert not (tmp_path / "run.ckpt").exists()


def test_other_options_are_refused(dpm, arguments, tmp_path, stop_after_every):
    stop_after_every(3)
    dpm(*arguments)
    content = (tmp_path / "run.ckpt").read_bytes()
    done = dpm(*arguments, "--epsilon", "2")
    assert done.code == 1
    assert "belongs to another run: epsilon, plan differ." in done.err
    assert (tmp_path / "run.ckpt").read_bytes() == content
    assert not (tmp_path / "out").exists()


def test_other_files_and_runs_of_others_are_refused(dpm, arguments, people, tmp_path):
    with Checkpoint(tmp_path / "run.ckpt").held({}, 1):
        done = dpm(*arguments)
        assert done.code == 1
    (tmp_path / "run.ckpt").write_text("a note")
    refused = dpm(*arguments)
    assert refused.code == 1
    assert "is damaged or no checkpoint" in refused.err
    assert (tmp_path / "run.ckpt").read_text() == "a note"
    assert Budget(tmp_path / "budget.json").read().entries == ()


def test_seeded_runs_are_the_same_whether_interrupted_or_not(dpm, people, tmp_path, stop_after_every):
    options = ["cluster", people, *BOUNDS, "--seed", "3", "--checkpoint", tmp_path / "run.ckpt"]
    whole = ["cluster", people, *BOUNDS, "--seed", "3", "--out", tmp_path / "whole"]
    assert dpm(*whole).code == 0
    stop_after_every(5)
    n_stops = 0
    while dpm(*options, "--out", tmp_path / "stopped").code == 130:
        n_stops += 1
    assert n_stops >= 2
    releases = [json.loads((tmp_path / name / "release.json").read_text()) for name in ("whole", "stopped")]
    assert releases[0] == releases[1]
