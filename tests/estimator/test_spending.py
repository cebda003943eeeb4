"""The budget of a data set is charged before the first draw of a fit, once, and progress tells public things only."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from dpmondrian import (
    DPM,
    BoundsError,
    Budget,
    BudgetError,
    Category,
    Column,
    DataError,
    ParameterError,
    RandomnessError,
    Schema,
    suggest_bounds,
)
from dpmondrian.privacy.mechanisms import bits, sampler
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian.release.release import Release
from dpmondrian.schema.columns import Estimate

ROWS = np.vstack([np.full((2000, 2), 20.0), np.full((2000, 2), 80.0)])


@pytest.fixture
def budget(tmp_path):
    return Budget.create(tmp_path / "budget.json", 2.5, 1e-6, "rows")


@pytest.fixture
def drawn(monkeypatch):
    """Return the list of what the sampler was asked for."""
    asked = []

    def noting(real):
        def note(self, *arguments):
            asked.append(arguments)
            return real(self, *arguments)

        return note

    for name in ("noise", "select"):
        monkeypatch.setattr(Sampler, name, noting(getattr(Sampler, name)))
    return asked


def test_every_fit_is_charged_once(budget):
    model = DPM(epsilon=1.0, bounds=(0, 100))
    model.fit(ROWS, budget=budget)
    model.fit(ROWS, budget=str(budget.path))
    state = budget.read()
    assert [(entry.epsilon, entry.delta, entry.state) for entry in state.entries] == [(1.0, 1e-7, "released")] * 2
    assert state.entries[-1].release == model.release_.digest()


def test_nothing_is_drawn_that_the_budget_refuses(budget, drawn):
    model = DPM(epsilon=3.0, bounds=(0, 100))
    with pytest.raises(BudgetError):
        model.fit(ROWS, budget=budget)
    assert drawn == []
    assert not hasattr(model, "release_")
    assert budget.read().entries == ()


def test_the_charge_is_on_disk_before_the_first_draw(budget, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    monkeypatch.setattr(Sampler, "noise", killed)
    with pytest.raises(Killed):
        DPM(epsilon=1.0, bounds=(0, 100)).fit(ROWS, budget=budget)
    [entry] = budget.read().entries
    assert (entry.epsilon, entry.state) == (1.0, "charged")


def test_a_table_that_cannot_be_used_costs_nothing(budget):
    with pytest.raises(DataError):
        DPM(bounds=(0, 100)).fit(np.array([[np.nan, 1.0]]), budget=budget)
    assert budget.read().entries == ()


def test_progress_tells_the_draws_of_the_plan_and_no_more():
    def told(rows):
        calls = []
        model = DPM(epsilon=1.0, bounds=(0, 100), random_state=0).fit(rows, progress=lambda *call: calls.append(call))
        return model, calls

    model, calls = told(ROWS)
    made = [entry for entry in model.privacy_.entries if entry.n_draws]
    assert [done for _, done, _ in calls] == list(range(len(made)))
    planned = [total for _, _, total in calls]  # so far: draws are planned on the way
    assert planned[-1] == len(made)
    assert all(done < total for _, done, total in calls)
    assert sorted(name for name, _, _ in calls) == sorted(entry.name for entry in made)
    assert told(ROWS[:-1])[1] == calls


def test_notebooks_show_released_values():
    canary = np.vstack([ROWS, [[12.34567891, 98.7654321]]])
    model = DPM(epsilon=1.0, bounds=(0, 100), random_state=0)
    assert "DPM" in model._repr_html_()
    model.fit(canary)
    shown = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"] == shown
    numbers = np.array([float(number) for number in re.findall(r"\d+\.\d+", shown)])
    assert np.abs(numbers - model.cluster_centers_[0, 0]).min() < 0.01
    for text in (shown, model.privacy_._repr_html_()):
        assert "epsilon" in text.lower() or "ε" in text
        assert "4001" not in text
        assert "4,001" not in text
        assert "12.345" not in text
        assert "<script" not in text


def test_estimated_bounds_are_paid_for_once(tmp_path, budget):
    """By the estimate, or, if that was not charged to this budget, together with the release."""
    suggested = suggest_bounds(ROWS, 0.5, budget=budget)
    model = DPM(epsilon=1.0, bounds=suggested.schema()).fit(ROWS, budget=budget)
    assert budget.read().spent_epsilon == 1.5
    assert model.privacy_.bounds_epsilon == 0.5
    other = Budget.create(tmp_path / "other.json", 5, 1e-6)
    DPM(epsilon=1.0, bounds=suggested.schema()).fit(ROWS, budget=other)
    assert other.read().spent_epsilon == 1.5


def test_estimated_bounds_cost_more_for_people_with_more_rows():
    schema = suggest_bounds(ROWS, 0.5, rows_per_person=2).schema()
    model = DPM(epsilon=1.0, bounds=schema, rows_per_person=5).fit(ROWS)
    assert model.privacy_.bounds_epsilon == 1.5
    frame = pd.DataFrame(ROWS, columns=["x0", "x1"]).assign(who=range(len(ROWS)))
    with pytest.raises(BoundsError, match="people in column"):
        DPM(epsilon=1.0, bounds=schema, person_id="who").fit(frame)


def test_bounds_from_a_seeded_estimate_are_not_for_release():
    schema = suggest_bounds(ROWS, 0.5, random_state=0).schema()
    assert not DPM(bounds=schema).fit(ROWS).privacy_.releasable


def test_a_loaded_model_knows_what_its_bounds_cost(tmp_path):
    schema = suggest_bounds(ROWS, 0.5).schema()
    DPM(bounds=schema).fit(ROWS).save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    assert loaded.fit(ROWS).privacy_.bounds_epsilon == 0.5


def test_a_budget_that_disappears_does_not_take_the_release_with_it(budget):
    def remove(_name, done, _total):
        if done == 3:
            budget.path.unlink()

    with pytest.warns(UserWarning, match="paid for"):
        model = DPM(bounds=(0, 100)).fit(ROWS, budget=budget, progress=remove)
    assert model.n_clusters_ == len(model.release_.centres)
    assert len(model.labels_) == len(ROWS)


def test_numbers_of_numpy_in_a_schema_do_not_break_a_release_that_is_paid_for(budget):
    columns = (Column("x0", np.float32(0), np.int64(100), whole=np.False_), Column("x1", 0, 100))
    model = DPM(bounds=Schema(columns, Estimate(np.float32(0.5)))).fit(ROWS, budget=budget)
    assert json.loads(model.release_.to_json())["privacy"]["bounds_epsilon"] == 0.5
    frame = pd.DataFrame({"x": ROWS[:, 0], "c": "a"})
    bounds = {"x": (0, 100), "c": Category("c", ("a",), weight=np.float32(0.5))}
    assert json.loads(DPM(bounds=bounds).fit(frame).release_.to_json())


def test_an_entry_pays_for_an_estimate_only_as_far_as_it_goes(budget):
    entry = budget.charge(0.01, 0.0, "something else")
    columns = (Column("x0", 0, 100), Column("x1", 0, 100))
    DPM(epsilon=1.0, bounds=Schema(columns, Estimate(0.5, entry=entry))).fit(ROWS, budget=budget)
    assert budget.read().spent_epsilon == pytest.approx(0.01 + 1.0 + 0.49)
    for wrong in ({"rows_per_person": -1}, {"rows_per_person": 0.5}, {"person_id": 3}, {"releasable": 1}, {"entry": 1}):
        with pytest.raises(BoundsError):
            Estimate(0.5, **wrong)


def test_categories_in_a_list_are_refused_before_anything_is_spent(budget):
    frame = pd.DataFrame({"x": ROWS[:, 0], "c": 1})
    with pytest.raises(ParameterError, match="mapping by column name"):
        DPM(bounds=[(0, 100), Category("c", ("1", "2"))]).fit(frame, budget=budget)
    assert budget.read().entries == ()


def test_opendp_that_cannot_be_loaded_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.mod", None)  # every import of it fails
    monkeypatch.setattr(bits, "_tested_process", None)
    sampler._opendp_measurement.cache_clear()
    budget = Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    with pytest.raises(
        RandomnessError, match=r"OpenDP, which draws the noise, could not be loaded .* If memory is scarce"
    ):
        DPM(bounds=(0, 100)).fit(np.full((100, 2), 50.0), budget=budget)
    assert budget.read().entries == ()


def test_a_fit_without_budget_or_checkpoint_is_not_turned_into_text(monkeypatch):
    """Only the files of an account need the text of a release, or its digest."""

    def refused(release):
        raise AssertionError

    for name in ("to_json", "to_dict", "digest"):
        monkeypatch.setattr(Release, name, refused)
    assert DPM(bounds=(0, 1)).fit(np.full((500, 2), 0.5)).release_.privacy.releasable
