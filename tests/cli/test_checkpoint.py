"""``dpm cluster --checkpoint``: after a kill the same command continues, spends nothing twice, and says so."""

import json
import os
import signal
import subprocess
import sys

import pytest

from dpmondrian import Budget
from dpmondrian.cli import cluster as command
from dpmondrian.files.checkpoint import Checkpoint, RunJournal

from .conftest import BOUNDS, HEADER, people_lines


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


def test_the_same_command_continues_after_a_kill(dpm, arguments, tmp_path, monkeypatch):
    killed = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    before = Checkpoint(tmp_path / "run.ckpt").read()
    kept, real = [], Checkpoint.remove
    monkeypatch.setattr(Checkpoint, "remove", lambda self: (kept.append(self.read()), real(self)))
    done = dpm(*arguments)
    assert done.code == 0, done.err
    [after] = kept
    told = f"run.ckpt': {len(before.draws)} of {before.n_planned} draws were made before."
    assert "Continuing" in done.err
    assert told in done.err
    assert not (tmp_path / "run.ckpt").exists()
    assert [draw.released.tolist() for draw in after.draws[: len(before.draws)]] == [
        draw.released.tolist() for draw in before.draws
    ]
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")


def test_the_checkpoint_of_a_command_that_is_done_is_deleted(dpm, arguments, tmp_path):
    """So next month's command is a new run, on the rows that are there then."""
    assert dpm(*arguments).code == 0
    assert not (tmp_path / "run.ckpt").exists()
    (tmp_path / "out").rename(tmp_path / "first")
    assert dpm(*arguments).code == 0
    assert (tmp_path / "out" / "release.json").read_bytes() != (tmp_path / "first" / "release.json").read_bytes()
    assert Budget(tmp_path / "budget.json").read().spent_epsilon == 2.0


@pytest.fixture
def unwritten(dpm, arguments, tmp_path, monkeypatch):
    """Return the bytes of a checkpoint whose run is finished, and whose results were not written."""

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(command, "write_release", interrupt)
        assert dpm(*arguments).code == 130
    assert not (tmp_path / "out").exists()
    return (tmp_path / "run.ckpt").read_bytes()


def test_results_that_were_not_written_are_written_for_nothing(dpm, arguments, tmp_path, unwritten):
    release = Checkpoint(tmp_path / "run.ckpt").read().release
    done = dpm(*arguments)
    assert done.code == 0, done.err
    assert "all draws were made before; only results are missing" in done.err
    assert (tmp_path / "out" / "release.json").read_text() == f"{release}\n"
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")
    assert not (tmp_path / "run.ckpt").exists()


@pytest.mark.parametrize("stage", ["finished", "begun"])
def test_a_run_is_not_continued_on_a_file_that_was_changed_after_it(
    dpm, arguments, people, tmp_path, stage, stop_after_every, request
):
    if stage == "begun":
        stop_after_every(3)
        assert dpm(*arguments).code == 130
    else:
        request.getfixturevalue("unwritten")
    checkpoint, spent = tmp_path / "run.ckpt", Budget(tmp_path / "budget.json").read()
    content, later = checkpoint.read_bytes(), checkpoint.stat().st_mtime_ns + 1
    people.write_text("\n".join([HEADER, *people_lines(seed=9)]) + "\n")
    os.utime(people, ns=(later, later))
    done = dpm(*arguments)
    assert done.code == 1
    assert f"{str(people)!r} was changed after it. Nothing was drawn or spent." in done.err
    assert "delete the checkpoint" in done.err
    assert f"touch {checkpoint}" in done.err
    assert checkpoint.read_bytes() == content
    assert not (tmp_path / "out").exists()
    assert Budget(tmp_path / "budget.json").read() == spent
    os.utime(checkpoint, ns=(later, later))
    stop_after_every(1000)
    assert dpm(*arguments).code == 0


def test_a_run_is_not_continued_by_a_command_for_another_folder(dpm, arguments, people, tmp_path, unwritten):
    """Two jobs that share a checkpoint by mistake."""
    other = [tmp_path / "other" if word == tmp_path / "out" else word for word in arguments]
    done = dpm(*other)
    assert done.code == 1
    assert "belongs to another run: out differs" in done.err
    assert not (tmp_path / "other").exists()
    assert (tmp_path / "run.ckpt").read_bytes() == unwritten


def test_other_options_do_not_get_results_that_were_not_written(dpm, arguments, tmp_path, unwritten):
    done = dpm(*arguments, "--epsilon", "2")
    assert done.code == 1
    assert "belongs to another run: epsilon, plan differ" in done.err
    assert not (tmp_path / "out").exists()


KILLED_AFTERWARDS = """
import json, os, signal, sys
folder, moments = sys.argv[1], range(*map(int, sys.argv[2:4]))
os.chdir(folder)
from dpmondrian import Budget
from dpmondrian.cli import main
from dpmondrian.files.checkpoint import RunJournal
import dpmondrian.estimator, dpmondrian.kernels.compiled, dpmondrian.cli.cluster, dpmondrian.report, pyarrow.csv, pyarrow.parquet
os.fsync = lambda handle: None  # a kill takes nothing that the system has been told
watched = ["open", "close", "fsync", "link", "replace", "rename", "listdir", "fstat", "unlink", "mkdir", "rmdir"]
real = {name: getattr(os, name) for name in watched}

def deadly(name, left):
    def call(*arguments, **keywords):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real[name](*arguments, **keywords)
    return call

def child(moment):
    \"\"\"Run the command in a process of its own, which dies at a moment after all draws are made; None: never.\"\"\"
    process = os.fork()
    if process == 0:
        finish = RunJournal.finish
        def armed(*arguments):
            left = [moment]
            for name in watched if moment is not None else []:
                setattr(os, name, deadly(name, left))
            finish(*arguments)
        RunJournal.finish = armed
        sys.stdout = sys.stderr = open("told", "w")
        sys.argv = ["dpm", *sys.argv[4:]]
        code = 0
        try:
            main.main()
        except SystemExit as leaving:
            code = leaving.code or 0
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

results = []
for moment in moments:
    Budget.create("budget.json", 1.0, 1e-6)
    codes = [child(moment)]
    states = [os.path.exists("out"), os.path.exists("out-sensitive/labels.parquet"), os.path.exists("run.ckpt")]
    if codes[0] and states[2]:
        codes.append(child(None))
    [entry] = Budget("budget.json").read().entries
    found = sorted(os.listdir("out")) + sorted(os.listdir("out-sensitive")), os.path.exists("run.ckpt"), entry.state
    results.append([codes, states, found, open("told").read()])
    import shutil
    for name in ("out", "out-sensitive"):
        shutil.rmtree(name)
    os.unlink("budget.json")
    if codes[0] == 0:
        break
print(json.dumps(results))
"""


def test_a_kill_while_results_and_labels_are_written_can_be_continued(people, tmp_path):
    """Before any call of the system: results, labels and the charge are there once in the end, and nothing hinders the next run."""
    options = ["--budget", "budget.json", "--checkpoint", "run.ckpt", "--out", "out", "--labels", "--quiet"]
    words = [KILLED_AFTERWARDS, str(tmp_path), "0", "200", "cluster", str(people), *BOUNDS, *options]
    done = subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results[-1][0] == [0], "in the end a command is not killed"
    for codes, _, (names, kept, state), told in results[:-1]:
        assert codes in ([-signal.SIGKILL, 0], [-signal.SIGKILL]), told
        assert names == ["centres.csv", "release.json", "report.html", "README.txt", "labels.parquet"]
        assert (kept, state) == (False, "released")
    assert {tuple(states) for _, states, *_ in results} >= {
        (False, False, True),
        (True, False, True),
        (True, True, True),
        (True, True, False),
    }


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
