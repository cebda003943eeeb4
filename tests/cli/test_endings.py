"""How a run ends before its time: interrupts, signals, output that nobody takes, and what is said about it."""

import os
import signal
import subprocess
import sys

import pytest

from dpmondrian.accounts.budget import Budget
from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.cli import cluster as command
from dpmondrian.cli.main import main

from .conftest import BOUNDS


def interrupt(*_, **__):
    raise KeyboardInterrupt


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".part"))


def test_an_interrupt_before_the_charge(dpm, people, tmp_path, monkeypatch):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    monkeypatch.setattr(command, "check_rows", interrupt)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path)
    assert (done.code, done.err) == (130, "Stopped. Nothing was written.\n")
    assert hidden(tmp_path) == []


def test_an_interrupt_after_the_charge_says_so(dpm, people, tmp_path, monkeypatch):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    monkeypatch.setattr(command, "write_release", interrupt)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path)
    assert done.code == 130
    assert "was charged for this run and remains charged" in done.err
    assert done.err.endswith("Stopped. Nothing was written.\n")
    assert f"saved in {str(tmp_path / 'out.checkpoint')!r}. Run the same command again to resume" in done.err
    assert budget.read().spent_epsilon == 1.0
    assert not (tmp_path / "out").exists()


def test_an_interrupt_while_labels_are_written_keeps_the_release(dpm, people, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "write_labels", interrupt)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--labels")
    assert done.code == 130
    assert "is complete; only the labels are missing" in done.err
    assert done.err.endswith(f"Stopped. Already written: {str(tmp_path / 'out')!r}.\n")
    assert sorted(os.listdir(tmp_path / "out")) == ["centres.csv", "profiles.csv", "release.json", "report.html"]


def test_a_finished_folder_that_cannot_get_its_name_is_kept(dpm, people, tmp_path, monkeypatch):
    def occupy(release, folder):
        written(release, folder)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("x")

    written = command.write_release
    monkeypatch.setattr(command, "write_release", occupy)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    assert done.code == 1
    [kept] = hidden(tmp_path)
    assert kept in done.err
    assert sorted(os.listdir(tmp_path / kept)) == ["centres.csv", "profiles.csv", "release.json", "report.html"]


def test_nearly_nothing_is_loaded_before_interrupts_are_heard():
    """Until then an interrupt ends in a traceback."""
    code = "import sys; before = {*sys.modules}; import dpmondrian.cli.main; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.split() == ["dpmondrian", "dpmondrian.cli", "dpmondrian.cli.main"]


def test_an_interrupt_while_commands_are_loaded(monkeypatch, capsys):
    class Finder:
        def find_spec(self, name, *_):
            if name == "dpmondrian.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "dpmondrian.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 130
    assert capsys.readouterr().err == "Stopped. Nothing was written.\n"


def test_the_way_in_loads_nothing_that_takes_time():
    code = "import sys, dpmondrian.cli.main; print([name for name in ('typer', 'rich', 'numpy', 'typing') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout == "[]\n"


STUCK = """
import signal, sys, time
from dpmondrian.cli import cluster
from dpmondrian.cli.main import main
from dpmondrian.common.interrupts import lasting
from dpmondrian.accounts.spending import Spending

def stick(*_, **__):
    print("stuck", flush=True)
    time.sleep(600)

def stick_within_what_lasts(*_):
    with lasting():
        stick()

def charge_and_stick(spending, name, n_done, n_planned):
    charge(spending, name, n_done, n_planned)
    if n_done == 1:
        stick()

charge = Spending.before_draw
place = sys.argv.pop(1)
if place == "reading":
    cluster.check_rows = stick
if place == "lasting":
    cluster.check_rows = stick_within_what_lasts
if place == "drawing":
    Spending.before_draw = charge_and_stick
if place == "labels":
    cluster.write_labels = stick
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore signals, as nohup does
signal.signal(signal.SIGHUP, signal.SIG_DFL)
main()
"""


@pytest.fixture
def stopped(dpm_process):
    """Return a function that gives exit code and last words of a command that a signal meets where it is stuck."""

    def run(place, number, arguments, look=lambda: None):
        def act(process):
            look()
            os.kill(process, number)

        done = dpm_process(place, "cluster", *arguments, "--quiet", program=STUCK, act=act)
        assert done.out == "stuck\n"
        return done.code, done.err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_clean_up(stopped, people, tmp_path, number):
    """While rows are read, the hidden folder and its reserve are there; a moment later they are not."""
    seen = []
    code, told = stopped(
        "reading", number, [people, *BOUNDS, "--out", tmp_path / "out"], lambda: seen.extend(hidden(tmp_path))
    )
    assert len(seen) == 1
    assert (code, told) == (128 + number, "Stopped. Nothing was written.\n")
    assert hidden(tmp_path) == []


@pytest.mark.slow
def test_a_signal_after_the_charge(stopped, people, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    arguments = [people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path, "--checkpoint", checkpoint.path]
    code, told = stopped("drawing", signal.SIGTERM, arguments)
    kept, charged, ending = told.splitlines()
    assert kept.startswith(f"Note: the progress of this run is saved in {str(checkpoint.path)!r}.")
    assert charged == f"Note: the budget {str(budget.path)!r} was charged for this run and remains charged."
    assert (code, ending) == (143, "Stopped. Nothing was written.")
    assert len(budget.read().entries) == 1
    assert len(checkpoint.read().draws) == 1
    assert not (tmp_path / "out").exists()
    assert hidden(tmp_path) == []


@pytest.mark.slow
def test_a_signal_while_labels_are_written(stopped, people, tmp_path):
    code, told = stopped("labels", signal.SIGINT, [people, *BOUNDS, "--out", tmp_path / "out", "--labels"])
    assert code == 130
    assert "is complete; only the labels are missing" in told
    assert told.endswith(f"Stopped. Already written: {str(tmp_path / 'out')!r}.\n")
    assert sorted(os.listdir(tmp_path / "out")) == ["centres.csv", "profiles.csv", "release.json", "report.html"]
    assert not (tmp_path / "out-sensitive").exists()


@pytest.mark.slow
def test_a_signal_does_not_wait_for_ever_for_what_lasts(stopped, people, tmp_path):
    code, told = stopped("lasting", signal.SIGTERM, [people, *BOUNDS, "--out", tmp_path / "out"])
    assert code == 143
    assert "a file was being written at that moment" in told
    assert hidden(tmp_path) == []


@pytest.mark.slow
def test_characters_that_the_output_lacks(dpm_process, people, tmp_path):
    people.write_text(people.read_text().replace("age", "höhe€", 1))
    bounds = ["--bounds", "höhe€=0:120", "--bounds", "bmi=10:60"]
    arguments = ["cluster", people, *bounds, "--out", tmp_path / "out"]
    done = dpm_process(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0, done.err
    assert "h?he?" in done.out


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="The system has no /dev/full.")
def test_results_are_told_when_they_cannot_be_printed(dpm_process, people, tmp_path):
    arguments = ["cluster", people, *BOUNDS, "--person-id", "person", "--out", tmp_path / "out"]
    with open("/dev/full", "wb") as full:
        done = dpm_process(*arguments, out=full.fileno())
    assert done.code == 1
    assert done.err == f"Printing failed (ENOSPC). The results were written to {tmp_path / 'out'}.\n"
    assert (tmp_path / "out" / "release.json").exists()


@pytest.mark.slow
def test_a_reader_that_went_away_is_no_failure(dpm_process, people, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["cluster", people, *BOUNDS, "--person-id", "person", "--json", "--out", tmp_path / "out"]
    done = dpm_process(*arguments, out=writing)
    os.close(writing)
    assert done.code == 0
    assert done.err == f"Printing failed (EPIPE). The results were written to {tmp_path / 'out'}.\n"


def test_a_path_with_spaces_is_quoted(dpm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--budget 'b c.json'" in dpm("budget", "new", "b c.json", "--epsilon", "1").out
    assert "dpm budget new 'c d.json'" in dpm("budget", "show", "c d.json").err


def test_a_budget_that_cannot_be_noted_is_a_warning(dpm, people, tmp_path, monkeypatch):
    from dpmondrian.exceptions import BudgetError

    def fail(*_):
        raise BudgetError("The disk is gone.")

    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    monkeypatch.setattr(Budget, "finish", fail)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path)
    assert done.code == 0
    assert "Warning: " in done.err
    assert "The disk is gone." in done.err
    assert (tmp_path / "out" / "release.json").exists()
