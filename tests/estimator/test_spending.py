"""The budget of a data set is charged before the first draw of a fit, once, and progress tells public things only."""

import re

import numpy as np
import pytest

from dpmondrian import DPM, Budget, BudgetError, DataError
from dpmondrian.mechanisms.sampler import Sampler

ROWS = np.vstack([np.full((2000, 2), 20.0), np.full((2000, 2), 80.0)])


@pytest.fixture
def budget(tmp_path):
    return Budget.create(tmp_path / "budget.json", 2.5, 1e-6, "rows")


@pytest.fixture
def drawn(monkeypatch):
    """Return the list of what the sampler was asked for."""
    asked = []
    for name in ("noise", "select"):

        def note(self, *arguments, real=getattr(Sampler, name)):
            asked.append(arguments)
            return real(self, *arguments)

        monkeypatch.setattr(Sampler, name, note)
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
    assert {total for _, _, total in calls} == {len(model.privacy_.entries)}
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
