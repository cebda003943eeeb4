"""``dpm cluster --checkpoint``: after a kill the same command continues, spends nothing twice, and says so."""

import json
import os
import signal

import pytest

from dpmondrian import Budget
from dpmondrian.accounts.checkpoint import Checkpoint, RunJournal
from dpmondrian.cli import cluster as command
from dpmondrian.cli.continuing import facts_of_command
from dpmondrian.tables.files import Source

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
from dpmondrian.accounts.checkpoint import RunJournal
real, kept = RunJournal.keep, []
def keep(self, *draw):
    real(self, *draw)
    kept.append(draw)
    if len(kept) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
RunJournal.keep = keep
main()
"""


@pytest.mark.slow
def test_the_same_command_continues_after_a_kill(dpm, dpm_process, arguments, tmp_path, monkeypatch):
    assert dpm_process(*arguments, program=KILLED).code == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    before = Checkpoint(tmp_path / "run.ckpt").read()
    kept, real = [], Checkpoint.remove
    monkeypatch.setattr(Checkpoint, "remove", lambda self: (kept.append(self.read()), real(self)))
    done = dpm(*arguments)
    assert done.code == 0, done.err
    [after] = kept
    told = f"run.ckpt': {len(before.draws)} draws are done."
    assert "Resuming" in done.err
    assert told in done.err
    assert not (tmp_path / "run.ckpt").exists()
    assert [draw.released.tolist() for draw in after.draws[: len(before.draws)]] == [
        draw.released.tolist() for draw in before.draws
    ]
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")


@pytest.mark.slow
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
    assert "all draws are done; only the results are missing" in done.err
    assert (tmp_path / "out" / "release.json").read_text() == f"{release}\n"
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")
    assert not (tmp_path / "run.ckpt").exists()


def test_a_run_that_the_budget_refuses_leaves_nothing_in_the_way_of_a_cheaper_one(dpm, people, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 1.0, 1e-6)
    arguments = ["cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path, "--quiet"]
    for checkpoint in ([], ["--checkpoint", tmp_path / "out.own"]):
        done = dpm(*arguments, *checkpoint, "--epsilon", 2)
        assert done.code == 1
        assert "does not allow this" in done.err
        assert not list(tmp_path.glob("out*"))
    budget.path.chmod(0o444)
    assert dpm(*arguments).code == 1
    assert not list(tmp_path.glob("out*"))
    budget.path.chmod(0o644)
    assert dpm(*arguments).code == 0
    assert [path.name for path in tmp_path.glob("out*")] == ["out"]


KILLED_BEFORE_WRITING = """
import os, signal
from dpmondrian.cli import cluster, main
cluster.write_release = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main.main()
"""


@pytest.mark.slow
def test_what_a_budget_paid_for_is_kept_although_nobody_asked_for_a_checkpoint(dpm, dpm_process, people, tmp_path):
    """Killed when the account says that the release is out, and no file has it."""
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    arguments = ["cluster", people, *BOUNDS, "--out", tmp_path / "out", "--budget", budget.path]
    assert dpm_process(*arguments, program=KILLED_BEFORE_WRITING).code == -signal.SIGKILL
    [killed] = budget.read().entries
    assert killed.state == "released"
    assert not (tmp_path / "out").exists()
    done = dpm(*arguments)
    assert done.code == 0, done.err
    assert "all draws are done; only the results are missing" in done.err
    assert budget.read().entries == (killed,)
    verdict = dpm("verify", tmp_path / "out" / "release.json", "--budget", budget.path)
    assert verdict.code == 0, verdict.out
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize(
    ("options", "name"), [([], None), (["--budget", "b.json"], "out.checkpoint"), (["--checkpoint", "own"], "own")]
)
def test_a_run_has_a_checkpoint_if_it_asks_for_one_or_is_charged(dpm, people, tmp_path, monkeypatch, options, name):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Budget.create("b.json", 3.0, 1e-6)
    monkeypatch.setattr(command, "write_release", interrupt)
    before = {*tmp_path.iterdir()}
    assert dpm("cluster", people, *BOUNDS, "--out", "out", *options).code == 130
    left = {path.name for path in {*tmp_path.iterdir()} - before}
    assert left - {name} <= {"b.json.lock", f".{name}.lock", f"{name}.lock", "b.json"}
    assert name is None or name in left


@pytest.fixture(params=["finished", "begun"])
def stopped(dpm, arguments, tmp_path, stop_after_every, request):
    """Return a function that runs a command, which must refuse the checkpoint of a run that was stopped, at no cost."""
    if request.param == "begun":
        stop_after_every(3)
        assert dpm(*arguments).code == 130
    else:
        request.getfixturevalue("unwritten")
    checkpoint, spent = tmp_path / "run.ckpt", Budget(tmp_path / "budget.json").read()
    content = checkpoint.read_bytes()
    stop_after_every(1000)

    def refused(words, *arguments):
        done = dpm(*arguments)
        assert done.code == 1
        assert words in done.err
        assert "Nothing was drawn or spent." in done.err
        assert "delete the checkpoint" in done.err
        assert checkpoint.read_bytes() == content
        assert not (tmp_path / "out").exists()
        assert Budget(tmp_path / "budget.json").read() == spent
        return done

    return refused


OTHER_ROWS = "belongs to a run on different rows"


@pytest.mark.slow
def test_a_run_is_not_continued_on_a_file_that_was_changed_after_it(dpm, arguments, people, tmp_path, stopped):
    before = people.stat().st_mtime_ns
    people.write_text("\n".join([HEADER, *people_lines(seed=9)]) + "\n")
    for later in (before + 1, before - 10**9, before + 10**15):
        os.utime(people, ns=(later, later))
        os.utime(tmp_path / "run.ckpt")
        stopped(OTHER_ROWS, *arguments)


def test_a_run_is_not_continued_on_another_file(dpm, arguments, people, tmp_path, stopped):
    """That of February, which is older than the checkpoint of January's run, or than a copy of it."""
    other = people.with_name("february.csv")
    other.write_text("\n".join([HEADER, *people_lines(seed=9)]) + "\n")
    os.utime(other, ns=(people.stat().st_mtime_ns,) * 2)
    os.utime(tmp_path / "run.ckpt")
    stopped(OTHER_ROWS, *[other if word == people else word for word in arguments])
    stopped(OTHER_ROWS, arguments[0], other, *arguments[1:])


@pytest.mark.slow
def test_a_run_is_not_continued_on_a_file_that_took_the_place_of_its_own(dpm, arguments, people, tmp_path, stopped):
    status = people.stat()
    other = people.with_name("february.csv")
    other.write_text(people.read_text())
    os.utime(other, ns=(status.st_mtime_ns,) * 2)
    other.replace(people)
    done = stopped("has been created, renamed or given different permissions since then", *arguments)
    assert f"touch {tmp_path / 'run.ckpt'}" in done.err
    os.utime(tmp_path / "run.ckpt")
    assert dpm(*arguments).code == 0


def test_a_query_tells_the_table_too(dpm, tmp_path, monkeypatch):
    """And the log of a database, in which its latest rows are."""
    (tmp_path / "t.db").write_bytes(b"")
    sources = [Source(tmp_path / "t.db", query) for query in ("SELECT 1", "SELECT 2")]
    first, second = (facts_of_command(tmp_path / "out", [source])["table"] for source in sources)
    (tmp_path / "t.db-wal").write_bytes(b"")
    third = facts_of_command(tmp_path / "out", sources[:1])["table"]
    assert len({first, second, third}) == 3


def test_a_digest_of_the_table_says_nothing_of_its_rows(people, tmp_path):
    time = people.stat().st_mtime_ns
    before = facts_of_command(tmp_path / "out", [Source(people)])
    people.write_text(HEADER + "\n")
    os.utime(people, ns=(time, time))
    assert facts_of_command(tmp_path / "out", [Source(people)]) == before


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
import json, os, shutil, signal, sys
os.chdir(sys.argv[1])
from dpmondrian.cli import cluster, main
import dpmondrian.show.report
os.fsync = lambda handle: None  # a kill takes nothing that the system has been told
dpmondrian.show.report.render_report = lambda release: "drawn quickly"
changing = ["link", "replace", "rename", "unlink", "mkdir", "rmdir"]

def deadly(real, left):
    def call(*arguments, **keywords):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real(*arguments, **keywords)
    return call

def command(arguments):
    sys.argv = ["dpm", *arguments]
    try:
        main.main()
    except SystemExit as leaving:
        return leaving.code or 0
    return 0

def life(moment):
    process = os.fork()
    if process == 0:
        left = [moment]
        for name in changing:
            setattr(os, name, deadly(getattr(os, name), left))
        sys.stdout = sys.stderr = open("told", "w")
        code = command(sys.argv[3:])
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def state():
    return [os.path.exists(name) for name in ("out", "out-sensitive/labels.parquet", "run.ckpt")]

own = list(sys.argv)
assert command(json.loads(sys.argv[2])) == 0  # loads what each life would load
sys.argv = own
results = []
for moment in range(60):
    for name in ("out", "out-sensitive"):
        shutil.rmtree(name, ignore_errors=True)
    shutil.copy("finished.ckpt", "run.ckpt")
    killed, states = life(moment), state()
    code = life(-1) if killed and states[2] else 0
    results.append([killed, states, code, open("told").read(), state(), sorted(os.listdir("out-sensitive"))])
    if not killed:
        break
print(json.dumps(results))
"""


@pytest.mark.slow
def test_a_kill_while_results_and_labels_are_written_can_be_continued(
    dpm_process, people, arguments, tmp_path, unwritten
):
    """Before any call of the system that changes a name: in the end all is there once, and nothing hinders the next run."""
    (tmp_path / "finished.ckpt").write_bytes(unwritten)
    options = ["--labels", "--quiet"]
    first = json.dumps(list(map(str, ["cluster", people, *BOUNDS, "--out", tmp_path / "first", *options])))
    done = dpm_process(tmp_path, first, *arguments, *options, program=KILLED_AFTERWARDS)
    assert done.code == 0, done.err
    results = json.loads(done.out)
    assert [killed for killed, *_ in results] == [-signal.SIGKILL] * (len(results) - 1) + [0]
    for _, _, code, told, after, names in results:
        assert code == 0, told
        assert after == [True, True, False]
        assert names == ["README.txt", "labels.parquet"]
    found = {tuple(states) for _, states, *_ in results}
    assert found == {(False, False, True), (True, False, True), (True, True, True), (True, True, False)}
    [entry] = Budget(tmp_path / "budget.json").read().entries
    assert (entry.epsilon, entry.state) == (1.0, "released")


def test_an_interrupt_says_how_to_continue(dpm, arguments, tmp_path, stop_after_every):
    stop_after_every(3)
    done = dpm(*arguments)
    assert done.code == 130
    assert (
        f"the progress of this run is saved in {str(tmp_path / 'run.ckpt')!r}. Run the same command again to resume"
        in done.err
    )
    assert "was charged for this run and remains charged" in done.err
    again = dpm(*arguments, "--quiet")
    assert again.code == 130, "three more draws"
    assert "Resuming" not in again.err
    assert "Run the same command again to resume" in again.err


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
    with Checkpoint(tmp_path / "run.ckpt").journal({}):
        done = dpm(*arguments)
        assert done.code == 1
    (tmp_path / "run.ckpt").write_text("a note")
    refused = dpm(*arguments)
    assert refused.code == 1
    assert "is damaged or not a checkpoint" in refused.err
    assert (tmp_path / "run.ckpt").read_text() == "a note"
    assert Budget(tmp_path / "budget.json").read().entries == ()


@pytest.mark.slow
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
