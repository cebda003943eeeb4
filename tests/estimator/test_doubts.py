"""Whoever promises little or has few rows is told so by a fit, once, as on the command line, and from public things only."""

import json
import pickle
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian import (
    DPM,
    Budget,
    Column,
    FewRowsWarning,
    MisfitWarning,
    NotReleasableWarning,
    ParameterError,
    Release,
    Schema,
    WeakPromiseWarning,
)
from dpmondrian.planning import forecast

MANY = np.repeat([[20.0], [80.0]], 5000, axis=0)


def told(rows, **parameters):
    """Return the categories and sentences of all warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPM(**{"bounds": (0, 100), "max_depth": 2} | parameters).fit(rows)
    assert {warning.filename for warning in caught} <= {__file__}
    return [(warning.category, str(warning.message)) for warning in caught]


def test_a_usual_fit_is_silent():
    assert told(MANY) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 50.0}, "epsilon = 50 gives almost no protection"),
        ({"delta": 0.01}, "delta = 0.01 is large"),
        ({"delta": 9e-4}, r"delta = 0.0009 is more than 1 /"),
    ],
    ids=str,
)
def test_weak_promises_are_told_once_in_the_words_of_the_planner(parameters, words):
    [(category, sentence)] = told(MANY, **parameters)
    assert category is WeakPromiseWarning
    assert words in sentence
    planned = forecast(10_000, DPM(bounds=(0, 100)).fit(MANY).release_.schema, **parameters).warnings
    assert any(sentence.split(":")[0].split(" is ")[0] in warning for warning in planned)


def test_few_rows_are_told_by_their_released_number():
    model = DPM(bounds=(0, 100), max_depth=2)
    with pytest.warns(FewRowsWarning) as caught:
        model.fit(MANY[:30])
    [warning] = [warning for warning in caught if warning.category is FewRowsWarning]
    assert f"with {max(1, round(model.tree_.size[0])):,} rows and this epsilon" in str(warning.message)


def test_more_clusters_than_rows_are_told_by_the_number_that_was_asked_for():
    rows = np.linspace(0.0, 100.0, 3000)[:, None]
    [(category, sentence)] = told(rows, n_clusters=4000, max_depth=None)
    assert category is FewRowsWarning
    assert sentence.startswith("4,000 clusters are more than there are rows (about ")


@pytest.mark.slow
def test_more_clusters_than_rows_and_budget_can_tell_apart():
    """The fit and the planner say so alike, and with as many as they advise both are silent."""
    rows = np.linspace(0.0, 100.0, 20_000)[:, None]
    [(category, sentence)] = told(rows, n_clusters=2000, max_depth=None)
    assert category is FewRowsWarning
    assert sentence.startswith("2,000 clusters have about 10 rows each")
    most = int(re.search(r"at most (\d+) clusters", sentence)[1])
    [planned] = forecast(20_000, Schema((Column("a", 0, 100),)), n_clusters=2000).warnings
    assert planned.startswith("2,000 clusters have about 10 rows each")
    assert told(rows, n_clusters=most - 1, max_depth=None) == []
    assert forecast(20_000, Schema((Column("a", 0, 100),)), n_clusters=most - 1).warnings == ()


def test_seeded_runs_are_told_what_matters_more():
    [(category, _)] = told(MANY[:30], epsilon=50.0, random_state=0)
    assert category is NotReleasableWarning


def test_a_weak_promise_is_told_before_anything_is_spent(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 100, 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromiseWarning)
        with pytest.raises(WeakPromiseWarning):
            DPM(epsilon=50.0, bounds=(0, 100)).fit(MANY, budget=budget)
    assert budget.read().entries == ()


# Fits add up


def test_fits_without_a_budget_are_counted_and_said(tmp_path):
    model = DPM(bounds=(0, 100), max_depth=1)
    assert "add to the ones above" not in str(model.fit(MANY).privacy_)
    model.fit(MANY[:-1])
    assert model.privacy_.earlier_fits == 1
    assert "ran one earlier fit without charging a budget" in str(model.privacy_)
    model.save(tmp_path / "release.json")
    again = pickle.loads(pickle.dumps(model))
    assert DPM.load(tmp_path / "release.json").privacy_ == again.privacy_ == model.privacy_
    assert json.loads(model.privacy_.to_json())["earlier_fits"] == 1
    assert Release.load(tmp_path / "release.json").privacy.earlier_fits == 1


def test_charged_and_seeded_fits_do_not_count(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 10, 1e-5)
    model = DPM(bounds=(0, 100), max_depth=1)
    for _ in range(2):
        assert model.fit(MANY, budget=budget).privacy_.earlier_fits == 0
    seeded = DPM(bounds=(0, 100), max_depth=1, random_state=0)
    assert seeded.fit(MANY).release_.to_json() == seeded.fit(MANY).release_.to_json()
    assert model.fit(MANY).privacy_.earlier_fits == 0
    assert model.fit(MANY, budget=budget).privacy_.earlier_fits == 1  # which the account does not hold
    assert seeded.fit(MANY).privacy_.earlier_fits == 0


def test_fits_that_draw_nothing_do_not_count():
    with pytest.raises(ValueError, match="missing"):
        DPM(bounds=(0, 100)).fit(np.array([[np.nan]]))
    assert DPM(bounds=(0, 100), max_depth=1).fit(MANY).privacy_.earlier_fits == 0


def test_a_continued_run_is_one_fit_and_keeps_its_day(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(_name, done, _planned):
        if done == 3:
            raise Killed

    model, path = DPM(bounds=(0, 100), max_depth=1), tmp_path / "run.ckpt"
    with pytest.raises(Killed):
        model.fit(MANY, checkpoint=path, progress=kill)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777777777")
    assert model.fit(MANY, checkpoint=path).privacy_.earlier_fits == 0
    assert model.release_.origin.date == "2026-01-01"
    assert model.fit(MANY).privacy_.earlier_fits == 1
    assert model.release_.origin.date == "2026-05-03"


# Day and name


def test_the_name_of_the_data_set_is_that_of_the_budget_or_given(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 10, 1e-5, "patients")
    model = DPM(bounds=(0, 100), max_depth=1)
    assert model.fit(MANY, budget=budget).release_.origin.data_set == "patients"
    assert model.fit(MANY, data_set="others").release_.origin.data_set == "others"
    assert model.fit(MANY).release_.origin.data_set == ""
    for wrong in ("others", "two\nlines", "\x1b[2J", 3, "x" * 1001):
        with pytest.raises(ParameterError, match="'data_set' parameter"):
            model.fit(MANY, budget=budget, data_set=wrong)
    assert len(budget.read().entries) == 1


@pytest.mark.parametrize("seconds", ["", "soon", "1e9", "9" * 30])
def test_a_day_that_is_none_is_refused_before_anything_is_drawn(seconds, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(ParameterError, match="SOURCE_DATE_EPOCH"):
        DPM(bounds=(0, 100), max_depth=1).fit(MANY)


def misfits_of(table, bounds):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPM(epsilon=5.0, bounds=bounds).fit(table)
    return [str(warning.message) for warning in caught if warning.category is MisfitWarning]


@pytest.mark.slow
def test_bounds_and_categories_that_fit_nothing_are_told_by_what_was_released():
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.uniform(20, 90, 20_000),
            "metres": rng.normal(1.7, 0.1, 20_000),
            "plan": ["Basic", "Premium"] * 10_000,
        }
    )
    good = {"age": (0, 120), "metres": (1.0, 2.5), "plan": ["Basic", "Premium"]}
    assert misfits_of(table, good) == []
    (centimetres,) = misfits_of(table, {**good, "metres": (100, 250)})
    assert centimetres.startswith("Nearly all values of column metres lie at or below its lower bound")
    (small,) = misfits_of(table, {**good, "plan": ["basic", "premium"]})
    assert small.startswith("Hardly any value of column plan is one of its declared categories")
    (high,) = misfits_of(table, {**good, "age": (0, 5)})
    assert "at or above its upper bound" in high


def test_bounds_that_clip_most_rows_at_both_ends_are_told_by_the_profiles():
    rng = np.random.default_rng(0)
    table = {
        "age": rng.uniform(18, 90, 20_000),
        "paid": rng.exponential(500, 20_000) * (rng.random(20_000) < 0.3),
        "ill": rng.integers(0, 2, 20_000),
    }
    good = {"age": (0, 120), "paid": (0, 2000), "ill": (0, 1, "int")}
    assert misfits_of(pa.table(table), good) == []
    (narrow,) = misfits_of(pa.table(table), {**good, "age": (30, 45)})
    [share] = re.findall(r"About (\d+) % of the values of column age lie at or beyond its bounds", narrow)
    assert abs(int(share) - 79) <= 2  # 57 of 72 years
