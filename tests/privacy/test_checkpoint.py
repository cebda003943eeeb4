"""A run that is killed anywhere and continued makes each draw once: no value that somebody saw is drawn again."""

import ast
import inspect
import itertools
import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.dpm.draws import CLIPPED_SUMS, COARSE_SUMS, COUNT, SPLIT
from dpmondrian.exceptions import CheckpointError
from dpmondrian.privacy import Door
from dpmondrian.privacy import door as release
from dpmondrian.privacy.draws import PERMUTE_AND_FLIP
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian.privacy.plan import Plan, PlannedDraw

FACTS = {"plan": "of this test"}
NOISE = "discrete Laplace"
DRAWS = (
    PlannedDraw(COUNT, 0, NOISE, 5.0, 0.2),
    PlannedDraw(SPLIT, 0, PERMUTE_AND_FLIP, 5.0, 0.2),
    PlannedDraw(COUNT, 1, NOISE, 5.0, 0.2),
    PlannedDraw(COARSE_SUMS, None, NOISE, 5.0, 0.2),
    PlannedDraw(CLIPPED_SUMS, 1, NOISE, 5.0, 0.2),
)


def released_by(door, n_rows=4000):
    """Yield what a small run releases, draw by draw; its later questions depend on what was released before."""
    yield door.counts(COUNT, 0, [n_rows])
    chosen = door.select(SPLIT, 0, [np.array([90, 100, 95]), np.array([5, 5, 6, 4])], [10, 10])
    yield np.array(chosen)
    n_groups = 2 + chosen[0]
    counts = door.counts(COUNT, 1, n_rows // n_groups + np.arange(n_groups))
    yield counts
    half_widths = np.full((n_groups, 3), 50 + int(counts[0]) % 7)
    yield door.box_sums(COARSE_SUMS, None, np.arange(3 * n_groups).reshape(n_groups, 3), half_widths)[0]
    yield door.ball_sums(CLIPPED_SUMS, 1, np.full((n_groups, 3), 17), np.full(n_groups, 20 + int(counts[1]) % 5))[0]


def make_door(journal, seed=None, before_draw=lambda *_: None):
    def begin_before(*told):
        if journal is not None:
            journal.begin()
        before_draw(*told)

    return Door(Plan(1.0, 0.0, "epsilon", DRAWS), seed=seed, before_draw=begin_before, journal=journal)


def run(path, seed=None, n_rows=4000):
    """Return what a whole run releases, new or continued."""
    with Checkpoint(path).journal(FACTS) as journal:
        return [values.tolist() for values in released_by(make_door(journal, seed), n_rows)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.fixture
def n_drawn(monkeypatch):
    """Return a function that tells how many values were asked of the sampler since it was asked last."""
    asked = []
    for name in ("noise", "select"):
        real_draw = getattr(Sampler, name)

        def noting(self, *arguments, real=real_draw):
            asked.append(arguments)
            return real(self, *arguments)

        monkeypatch.setattr(Sampler, name, noting)

    def count():
        number = len(asked)
        asked.clear()
        return number

    return count


def test_a_journal_changes_no_value(path):
    without = [values.tolist() for values in released_by(make_door(None, seed=3))]
    assert run(path, seed=3) == without
    kept = [draw.released.tolist() for draw in Checkpoint(path).read().draws]
    assert kept == without


@pytest.mark.parametrize("n_before", range(len(DRAWS) + 1))
@pytest.mark.parametrize("seed", [None, 3])
def test_a_run_continues_where_it_stopped(path, n_before, seed, n_drawn):
    with Checkpoint(path).journal(FACTS) as journal:
        before = [values.tolist() for values in itertools.islice(released_by(make_door(journal, seed)), n_before)]
    n_drawn()
    whole = run(path, seed)
    assert whole[: len(before)] == before
    n_selected_twice = 1 if n_before < 2 else 0  # of two groups in one draw
    assert n_drawn() == len(DRAWS) - n_before + n_selected_twice
    assert [draw.released.tolist() for draw in Checkpoint(path).read().draws] == whole
    if seed is not None:
        assert whole == [values.tolist() for values in released_by(make_door(None, seed))]


def test_a_whole_run_is_repeated_without_a_draw(path, n_drawn):
    whole = run(path)
    n_drawn()
    assert run(path) == whole
    assert n_drawn() == 0


def test_the_ledger_is_the_same_whether_values_are_drawn_or_recalled(path):
    entries = []
    for _ in range(2):
        told = []
        with Checkpoint(path).journal(FACTS) as journal:
            door = make_door(journal, before_draw=lambda *what, told=told: told.append(what))
            list(released_by(door))
        entries.append((door.close(), told))
    assert entries[0] == entries[1]
    assert [entry.cost for entry in entries[0][0]] == [draw.cost for draw in DRAWS]


def test_on_another_table_each_draw_is_still_made_once(path):
    """The promise needs each planned draw to be made once, on one table; not that all are made on the same one."""
    with Checkpoint(path).journal(FACTS) as journal:
        first = next(released_by(make_door(journal))).tolist()
    whole = run(path, n_rows=10**6)
    assert whole[0] == first
    assert abs(whole[0][0] - 4000) < 1000
    assert min(whole[2]) > 10**5


def test_a_value_that_cannot_be_kept_is_not_handed_over(path):
    class FullDisk:
        def begin(self):
            pass

        def recall(self, *_):
            return None

        def keep(self, *_):
            raise CheckpointError("full")

    with pytest.raises(CheckpointError):
        next(released_by(make_door(FullDisk())))


def test_values_are_drawn_after_the_ledger_and_kept_before_they_are_handed_over():
    order = []

    class Noting:
        def begin(self):
            order.append("before draw")

        def recall(self, name, level, cost, shape):
            order.append(("recall", name, level, shape))

        def keep(self, name, level, cost, released):
            order.append(("keep", name, level, released.tolist()))

    value = next(released_by(make_door(Noting()))).tolist()
    assert order == ["before draw", ("recall", "count", 0, (1,)), ("keep", "count", 0, value)]


def test_what_is_handed_over_is_not_the_journals_own(path):
    """Whoever changes an array that was recalled does not change what is recalled by others."""
    run(path)
    with Checkpoint(path).journal(FACTS) as journal:
        before = journal.state.draws[0].released.copy()
        journal.recall("count", 0, journal.state.draws[0].cost, (1,))[:] = 0
        np.testing.assert_array_equal(journal.state.draws[0].released, before)


# --- no way around


def uses_of_the_sampler(method):
    """Return the uses of the sampler in a method of the door: outside of functions, and in those that `_once` calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    drawing = ("noise", "select", "cover")

    def uses(node):
        return [
            n
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute) and n.attr in drawing and "_sampler" in ast.dump(n)
        ]

    inner = [n for n in ast.walk(tree.body[0]) if isinstance(n, ast.FunctionDef) and n is not tree.body[0]]
    passed = {
        argument.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "_once"
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
    within = [use for function in inner if function.name in passed for use in uses(function)]
    return len(uses(tree)) - len(within), len(within)


def passages(door):
    """Return which methods of a class draw without the journal, and which draw through it."""
    methods = {name: method for name, method in vars(door).items() if inspect.isfunction(method)}
    found = {name: uses_of_the_sampler(method) for name, method in methods.items()}
    past = {name: outside for name, (outside, _) in found.items() if outside}
    return past, {name for name, (_, within) in found.items() if within}


def test_every_draw_goes_through_the_journal():
    """But one of the laboratory, whose variants are not for release."""
    from dpmondrian_lab.peers.lab_door import (
        LabDoor,
    )  # not above: the process with the kills forks faster without its libraries

    assert passages(Door) == ({}, {"_noisy", "select"})
    assert passages(LabDoor) == ({"cover": 1}, {"cover", "means", "bounded_sums"})
    assert inspect.getsource(release).count(".keep(") == 1


# --- kills

KILLED = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_checkpoint import DRAWS, FACTS, Checkpoint, make_door, released_by, run
os.fsync = lambda handle: None  # a kill takes nothing that the system has been told
folder = sys.argv[1]
watched = ["open", "close", "write", "fsync", "link", "listdir", "urandom", "fstat", "unlink", "ftruncate"]
real = {name: getattr(os, name) for name in watched}

def deadly(name, left):
    def call(*arguments, **keywords):
        if left[0] == 0:
            if name == "write":
                real["write"](arguments[0], bytes(arguments[1][: len(arguments[1]) // 2]))
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real[name](*arguments, **keywords)
    return call

def killed_run(path, seed, moment, log):
    child = os.fork()
    if child == 0:
        left = [moment]
        for name in watched:
            setattr(os, name, deadly(name, left))
        with Checkpoint(path).journal(FACTS) as journal:
            for number, values in enumerate(released_by(make_door(journal, seed))):
                real["write"](log, (json.dumps([number, values.tolist()]) + "\\n").encode())
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

def runs(seed):
    run(os.path.join(folder, f"warm-{seed}"), seed)
    results = []
    for again in (False, True):
        for moment in range(200):
            path = os.path.join(folder, f"{moment}-{again}-{seed}.ckpt")
            log = os.open(f"{path}.log", os.O_RDWR | os.O_CREAT, 0o600)
            killed = killed_run(path, seed, moment, log)
            if again:
                killed_run(path, seed, moment, log)
            seen = [json.loads(line) for line in open(f"{path}.log")]
            whole = run(path, seed)
            kept = [[draw.name, draw.level, draw.released.tolist()] for draw in Checkpoint(path).read().draws]
            results.append([killed, seen, whole, kept])
            os.close(log)
            if not killed:
                break
    return results

print(json.dumps([runs(None), runs(3), [name for name in os.listdir(folder) if name.endswith(".part")]]))
"""


@pytest.mark.slow
def test_a_kill_before_any_call_of_the_system_loses_and_repeats_nothing(tmp_path):
    """Also in the middle of a write, and several times in a row; with secure noise and with a seed, in one process that loads once."""
    arguments = [str(tmp_path), __file__.rpartition("/")[0]]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    secure, seeded, leftovers = json.loads(done.stdout)
    for results in (secure, seeded):
        assert len(results) > 2 * 20
        assert [killed for killed, *_ in results].count(False) == 2, "the last moment of each round lies after the run"
        assert max(len(seen) for _, seen, *_ in results) >= len(DRAWS)
        for _, seen, whole, kept in results:
            assert all(whole[number] == values for number, values in seen), (
                "what somebody saw is what is released in the end"
            )
            assert [(name, level) for name, level, _ in kept] == [(draw.name, draw.level) for draw in DRAWS]
            assert [values for _, _, values in kept] == whole
    assert {json.dumps(whole) for _, _, whole, _ in seeded} == {json.dumps(seeded[0][2])}
    assert leftovers == []
