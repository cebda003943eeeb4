"""A fit that is killed and continued: the same release, nothing drawn twice, the budget charged once."""

import json
import pickle
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM, Budget, BudgetError, CheckpointError, DataError, FinishedRunError, suggest_bounds
from dpmondrian.accounts.checkpoint import Checkpoint, RunJournal
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian_lab.audit.recording import record

GENERATOR = np.random.default_rng(5)
ROWS = np.vstack([GENERATOR.normal(20, 3, (1500, 2)), GENERATOR.normal(80, 3, (1500, 2))])
FRAME = pd.DataFrame(ROWS, columns=["x", "y"]).assign(
    plan=np.where(ROWS[:, 0] < 50, "basic", "premium"), who=np.arange(len(ROWS)) // 3
)
NUMBERS = {"x": (0, 100), "y": (0, 100)}

SETTINGS = {
    "default": {"bounds": NUMBERS},
    "pure": {"bounds": NUMBERS, "delta": 0.0},
    "pld": {"bounds": NUMBERS, "accountant": "pld"},
    "paper": {"bounds": NUMBERS, "variant": "paper"},
    "k": {"bounds": NUMBERS, "n_clusters": 3},
    "categories": {"bounds": {**NUMBERS, "plan": ["basic", "premium"]}},
    "persons": {"bounds": NUMBERS, "person_id": "who", "rows_per_person": 2},
}


class Killed(BaseException):
    pass


def model_of(name="default", **others):
    return DPM(epsilon=2.0, max_depth=2, **{**SETTINGS[name], **others})


def table_of(model, frame=FRAME):
    return frame[[*model.bounds, *([model.person_id] if model.person_id else [])]]


def fit(model, path, frame=FRAME, **others):
    """Return the fitted model, without the warnings of research runs and of finished ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table_of(model, frame), checkpoint=path, **others)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


@pytest.fixture
def budget(tmp_path):
    return Budget.create(tmp_path / "budget.json", 10.0, 1e-6)


@pytest.fixture
def die_after(monkeypatch):
    """Return a function that lets the fit die when so many more draws are kept, in the draw that follows; None: never."""
    left = [None]
    real_keep = RunJournal.keep

    def keep(self, *arguments):
        real_keep(self, *arguments)
        if left[0] is not None:
            left[0] -= 1

    monkeypatch.setattr(RunJournal, "keep", keep)
    for name in ("noise", "select"):
        real_draw = getattr(Sampler, name)

        def deadly(self, *arguments, real=real_draw):
            if left[0] == 0:
                raise Killed
            return real(self, *arguments)

        monkeypatch.setattr(Sampler, name, deadly)

    def after(n_draws):
        left[0] = n_draws

    return after


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fit_that_dies_in_any_draw_gives_the_same_release(name, path, die_after):
    """Every draw is drawn once and the process dies in the next one, until there is none left."""
    expected = fit(model_of(name, random_state=1), None).release_.to_json()
    n_lives = 0
    while True:
        die_after(1)
        try:
            model = fit(model_of(name, random_state=1), path)
        except Killed:
            n_lives += 1
            assert len(Checkpoint(path).read().draws) == n_lives
        else:
            break
    state = Checkpoint(path).read()
    assert n_lives + 1 == len(state.draws) > 5
    assert model.release_.to_json() == expected
    assert state.release == model.release_.to_json()
    names = [(draw.name, draw.level) for draw in state.draws]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("n_before", [0, 1, 5])
def test_secure_values_that_were_drawn_are_in_the_release(path, budget, die_after, n_before):
    die_after(n_before)
    with pytest.raises(Killed):
        fit(model_of(), path, budget=budget)
    before = Checkpoint(path).read()
    assert len(before.draws) == n_before
    die_after(None)
    model = fit(model_of(), path, budget=budget)
    after = Checkpoint(path).read()
    assert after.run == before.run
    for one, other in zip(before.draws, after.draws, strict=False):
        assert (one.name, one.level, one.released.tolist()) == (other.name, other.level, other.released.tolist())
    [entry] = budget.read().entries
    assert (entry.id, entry.epsilon, entry.release) == (before.run, 2.0, model.release_.digest())
    assert {(e.name, e.level) for e in model.privacy_.entries if e.n_draws} == {(d.name, d.level) for d in after.draws}


@pytest.mark.parametrize("rows", [FRAME, FRAME[:1000]], ids=["the same rows", "other rows"])
def test_a_finished_run_is_refused_and_the_error_has_its_release(path, budget, monkeypatch, rows):
    """A job that is done every month with the same file would publish the first table for ever."""
    model = fit(model_of(), path, budget=budget)
    content = path.read_bytes()

    def no_draw(*_):
        pytest.fail("nothing may be drawn")

    monkeypatch.setattr(Sampler, "noise", no_draw)
    monkeypatch.setattr(Sampler, "select", no_draw)
    again = model_of()
    with pytest.raises(FinishedRunError, match=r"is finished, possibly on different rows.*delete the file") as caught:
        again.fit(table_of(again, rows), budget=budget, checkpoint=path)
    assert not hasattr(again, "release_")
    assert caught.value.release.to_json() == model.release_.to_json()
    assert pickle.loads(pickle.dumps(caught.value)).release.to_json() == model.release_.to_json()
    assert path.read_bytes() == content
    [entry] = budget.read().entries
    assert entry.release == model.release_.digest()


def test_a_file_whose_last_line_is_torn_anywhere_is_continued(path):
    """It holds the release, in which there are braces, quotes and hashes."""
    model = fit(model_of(random_state=1), path)
    content = path.read_bytes()
    begin = content.rindex(b"\n") + 1
    for cut in range(begin, len(content), 997):
        path.write_bytes(content[:cut])
        state = Checkpoint(path).read()
        assert (state.release, len(state.draws)) == (None, content.count(b'"draw"'))
    assert fit(model_of(random_state=1), path).release_.to_json() == model.release_.to_json()
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 1.0}, "epsilon"),
        ({"delta": 1e-8}, "delta"),
        ({"bounds": {"x": (0, 100), "y": (0, 101)}}, "bounds"),
        ({"bounds": {"x": (0, 100), "y": (0, 100, "int")}}, "bounds"),
        ({"n_clusters": 2}, "n_clusters"),
        ({"max_depth": 3}, "max_depth"),
        ({"windows": 64}, "windows"),
        ({"t": 0.4}, "t"),
        ({"rows_per_person": 2}, "rows_per_person"),
        ({"on_missing": "drop"}, "on_missing"),
        ({"accountant": "pld"}, "accountant"),
        ({"random_state": 0}, "random_state"),
        ({"min_cluster_size": 5}, "min_cluster_size"),
        (
            {"budget_shares": {"splits": 0.2, "counts": 0.2, "cells": 0.2, "clusters": 0.3, "profiles": 0.1}},
            "budget_shares",
        ),
    ],
)
def test_another_call_is_refused_and_says_what_differs(path, die_after, changes, words):
    die_after(2)
    with pytest.raises(Killed):
        fit(model_of(), path)
    content = path.read_bytes()
    with pytest.raises(CheckpointError, match=rf"another run: .*\b{words}\b.* differ"):
        fit(model_of().set_params(**changes), path)
    assert path.read_bytes() == content


def test_the_facts_hold_every_parameter(path):
    fit(model_of(), path)
    facts = Checkpoint(path).read().facts
    assert set(DPM().get_params()) <= set(facts)
    assert facts["bounds"] == [
        {"name": "x", "lower": 0.0, "upper": 100.0, "whole": False},
        {"name": "y", "lower": 0.0, "upper": 100.0, "whole": False},
    ]


def test_a_run_continues_on_another_engine(path, tmp_path, die_after):
    """It is begun on a table in memory and continued on files; the engines give the same integers."""
    FRAME[["x", "y"]].to_parquet(tmp_path / "rows.parquet")
    expected = fit(model_of(random_state=1), None).release_.to_json()
    die_after(4)
    with pytest.raises(Killed):
        fit(model_of(random_state=1), path)
    die_after(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_of(random_state=1).fit(str(tmp_path / "rows.parquet"), checkpoint=path)
    assert model.release_.to_json() == expected


def test_another_budget_is_refused(path, tmp_path, budget, die_after):
    die_after(2)
    with pytest.raises(Killed):
        fit(model_of(), path, budget=budget)
    die_after(None)
    other = Budget.create(tmp_path / "other.json", 10.0, 1e-6)
    with pytest.raises(BudgetError, match="was not charged for the run"):
        fit(model_of(), path, budget=other)
    assert other.read().entries == ()
    with pytest.raises(CheckpointError, match="budget differs"):
        fit(model_of(), path)
    fit(model_of(), path, budget=str(budget.path))
    assert len(budget.read().entries) == 1


def test_a_budget_that_is_used_up_meanwhile_does_not_stop_a_run_that_is_paid_for(path, budget, die_after):
    die_after(2)
    with pytest.raises(Killed):
        fit(model_of(), path, budget=budget)
    budget.charge(8.0, 0.0, "all the rest")
    die_after(None)
    fit(model_of(), path, budget=budget)
    assert budget.read().spent_epsilon == 10.0


def test_a_run_that_the_budget_refuses_draws_nothing(path, budget):
    budget.charge(9.0, 0.0, "nearly all")
    with pytest.raises(BudgetError, match="does not allow"):
        fit(model_of(), path, budget=budget)
    assert not path.exists()


def test_a_copy_that_was_left_behind_is_refused(path, tmp_path, budget, die_after):
    """With a budget it is noticed that the run was finished from another copy."""
    die_after(2)
    with pytest.raises(Killed):
        fit(model_of(), path, budget=budget)
    shutil.copy(path, tmp_path / "copy.ckpt")
    die_after(None)
    fit(model_of(), path, budget=budget)
    with pytest.raises(BudgetError, match="an older copy"):
        fit(model_of(), tmp_path / "copy.ckpt", budget=budget)
    assert len(Checkpoint(tmp_path / "copy.ckpt").read().draws) == 2


def test_estimated_bounds_are_charged_once_too(path, tmp_path, budget, die_after):
    model = DPM(epsilon=1.0, bounds=suggest_bounds(ROWS, 0.5).schema(), max_depth=2)
    die_after(2)
    with pytest.raises(Killed):
        model.fit(ROWS, budget=budget, checkpoint=path)
    die_after(None)
    model.fit(ROWS, budget=budget, checkpoint=path)
    assert [entry.epsilon for entry in budget.read().entries] == [1.5]


def test_a_table_that_cannot_be_used_leaves_no_checkpoint(path, budget):
    holes = FRAME.copy()
    holes.loc[3, "x"] = np.nan
    with pytest.raises(DataError):
        fit(model_of(), path, frame=holes, budget=budget)
    assert not path.exists()
    assert budget.read().entries == ()
    fit(model_of(on_missing="drop"), path, frame=holes, budget=budget)


def test_a_run_continues_on_another_table(path, die_after):
    die_after(1)
    with pytest.raises(Killed):
        fit(model_of(accountant="zcdp"), path)  # whose values are kept in whole rows
    [before] = Checkpoint(path).read().draws
    die_after(None)
    fit(model_of(accountant="zcdp"), path, frame=FRAME[:1000])
    after = Checkpoint(path).read().draws
    assert after[0].released.tolist() == before.released.tolist()
    assert abs(after[0].released[0] - len(FRAME)) < 500
    [*_, sizes] = [draw.released for draw in after if draw.name == "cell count"]
    assert abs(sizes.sum() - 1000) < 500


def test_progress_counts_what_was_drawn_before(path, die_after):
    die_after(4)
    with pytest.raises(Killed):
        fit(model_of(random_state=0), path)
    die_after(None)
    told, expected = [], []
    fit(model_of(random_state=0), path, progress=lambda *what: told.append(what))
    fit(model_of(random_state=0), None, progress=lambda *what: expected.append(what))
    assert told == expected


def test_an_audit_takes_no_checkpoint(path):
    recording = record(lambda: fit(model_of(), path))
    assert recording.failure == "ParameterError"
    assert not path.exists()


def test_fit_predict_takes_a_checkpoint(path):
    labels = model_of().fit_predict(table_of(model_of()), checkpoint=path)
    assert len(labels) == len(FRAME)
    assert Checkpoint(path).read().release


KILLED = """
import json, os, signal, sys, warnings
import numpy as np
from dpmondrian import DPM, Budget, FinishedRunError
from dpmondrian.accounts.checkpoint import Checkpoint
warnings.simplefilter("ignore")
os.fsync = lambda handle: None  # a kill takes nothing that the system has been told
folder = sys.argv[1]
rows = np.vstack([np.full((300, 1), 20.0), np.full((300, 1), 80.0)])
watched = ["open", "close", "write", "fsync", "link", "replace", "listdir", "fstat", "unlink", "ftruncate"]
real = {name: getattr(os, name) for name in watched}

def fit(path, budget, seed):
    model = DPM(epsilon=1.0, bounds=(0, 100), variant="paper", max_depth=1, random_state=seed)  # the fewest draws
    return model.fit(rows, budget=budget, checkpoint=path)

def deadly(name, left):
    def call(*arguments, **keywords):
        if left[0] == 0:
            if name == "write":
                real["write"](arguments[0], bytes(arguments[1][: len(arguments[1]) // 2]))
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real[name](*arguments, **keywords)
    return call

def killed_fit(path, budget, seed, moment):
    child = os.fork()
    if child == 0:
        left = [moment]
        for name in watched:
            setattr(os, name, deadly(name, left))
        fit(path, budget, seed)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

def draws(path):
    state = Checkpoint(path).read()
    return [] if state is None else [[draw.name, draw.level, draw.released.tolist()] for draw in state.draws]

def fits(seed, every):
    fit(None, Budget.create(os.path.join(folder, f"warm-{seed}.json"), 1.0, 1e-6), seed)
    results = []
    for moment in range(0, 300, every):
        path = os.path.join(folder, f"{moment}-{seed}.ckpt")
        budget = Budget.create(os.path.join(folder, f"{moment}-{seed}.json"), 1.0, 1e-6)
        killed = killed_fit(path, budget, seed, moment)
        before, charged = draws(path), len(budget.read().entries)
        try:
            release = fit(path, budget, seed).release_
        except FinishedRunError as finished:
            release = finished.release
        entries = [[entry.epsilon, entry.state, entry.release == release.digest()] for entry in budget.read().entries]
        results.append([killed, before, draws(path), charged, entries, release.to_json()])
        if not killed:
            break
    return results

print(json.dumps([fits(3, 1), fits(None, 4)]))
"""


@pytest.mark.slow
def test_a_kill_before_any_call_of_the_system_spends_nothing_twice(tmp_path):
    """Of the checkpoint and of the budget, also in the middle of a write; with a seed before each call, with secure noise before every fourth."""
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    seeded, secure = json.loads(done.stdout)
    for results, least in ((seeded, 40), (secure, 10)):
        assert [killed for killed, *_ in results] == [True] * (len(results) - 1) + [False]
        assert len(results) > least
        for _, before, after, charged, entries, _ in results:
            assert after[: len(before)] == before
            assert len({(name, level) for name, level, _ in after}) == len(after)
            assert charged or not before, "nothing is drawn that is not paid for"
            assert entries == [[1.0, "released", True]]
    assert {len(before) for _, before, *_ in seeded} == set(range(len(seeded[0][2]) + 1))
    assert len({release for *_, release in seeded}) == 1
