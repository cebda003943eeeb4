"""Errors of sizes and centres, against how far those of real fits are off."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.estimator import DPM
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning import centre_errors, clear_size, make_design, size_error
from dpmondrian.schema.columns import Category, Column, Schema

pandas = pytest.importorskip("pandas")

KINDS = [
    {},
    {"n_clusters": 4},
    {"delta": 0.0, "epsilon": 4.0, "n_clusters": 4},
    {"rows_per_person": 2, "epsilon": 2.0},
]


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def design_of(schema, parameters):
    return make_design(8_000, schema, expected_clusters=4, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_sizes_of_real_fits_are_as_far_off(schema, runs, parameters):
    real, design = runs(8_000, **parameters), design_of(schema, parameters)
    assert 0.7 < size_error(design).standard_error / rms(real.size_misses) < 1.4
    assert 0.5 < size_error(design, "all").standard_error / rms(real.total_misses) < 2.0, "ten values, so wide limits"


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_centres_of_real_fits_are_as_far_off(schema, runs, parameters):
    real = runs(8_000, **parameters)
    [error, *_] = centre_errors(design_of(schema, parameters), spread=0.04)
    assert 0.7 < error.standard_error / rms(real.centre_misses) < 1.4
    assert np.mean(np.abs(real.centre_misses) <= error.half_width) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_there_are_as_many_cells(schema, runs, parameters):
    real, design = runs(8_000, **parameters), design_of(schema, parameters)
    assert 0.7 < design.n_cells / real.n_cells.mean() < 1.4
    assert real.cell_size_errors == pytest.approx(size_error(design, "cell").standard_error, rel=0.2)


@pytest.mark.slow
def test_small_clusters_beside_large_ones():
    """A cluster of a twentieth of the rows: its own size sets its error, the others set the radius."""
    centres = np.array([[20.0, 20, 20], [20, 80, 70], [80, 20, 50], [80, 80, 30]])
    truth = np.repeat(np.arange(4), (9_000, 5_000, 5_000, 1_000))
    misses = []
    for seed in range(10):
        rows = centres[truth] + 4.0 * np.random.default_rng(seed).normal(size=(20_000, 3))
        model = DPM(bounds=(0, 100), n_clusters=4, random_state=seed).fit(rows)
        distance = np.linalg.norm(model.cluster_centers_ - centres[3], axis=1)
        if distance.min() < 8.0:
            misses.append(model.cluster_centers_[distance.argmin()] - rows[truth == 3].mean(axis=0))
    assert len(misses) >= 8
    schema = Schema.from_bounds((0, 100), list("xyz"), [False] * 3)
    [error, *_] = centre_errors(make_design(20_000, schema, n_clusters=4), share=0.05, spread=0.04)
    assert 0.7 < error.standard_error / rms(np.array(misses)) < 1.4


def people(seed: int, n_rows: int):
    """Return a table of four clusters in numbers, logarithms, whole numbers and categories."""
    generator = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), n_rows // 4)
    age = np.array([30, 30, 90, 90])[truth] + 6.0 * generator.normal(size=n_rows)
    income = np.exp(np.log([1e3, 1e5, 1e3, 1e5])[truth] + 0.3 * generator.normal(size=n_rows))
    visits = np.clip(np.rint(np.array([12, 48, 48, 12])[truth] + 2.5 * generator.normal(size=n_rows)), 0, 60)
    plan = generator.choice(["basic", "premium", "none"], n_rows)
    return pandas.DataFrame({"age": age, "income": income, "visits": visits.astype(int), "plan": plan})


PEOPLE = Schema(
    (
        Column("age", 0, 120, unit="years"),
        Column("income", 100, 1e6, log=True),
        Column("visits", 0, 60, whole=True),
        Category("plan", ("basic", "premium")),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-7, 0.0])
def test_columns_of_every_kind(delta):
    """Against what a release states: it is the error of the last step, which is a little more."""
    epsilon = 1.0 if delta else 4.0
    design = make_design(20_000, PEOPLE, epsilon, delta, n_clusters=4)
    spread = {"age": 6 / 120, "income": 0.3 / np.log(1e4), "visits": 2.5 / 60}
    expected = centre_errors(design, spread=spread)
    assert [error.name for error in expected] == list(PEOPLE.centre_names)
    assert [error.scale for error in expected] == ["number", "log", "number", "share", "share", "share"]
    stated = []
    for seed in range(4):
        model = DPM(epsilon=epsilon, delta=delta, n_clusters=4, bounds=PEOPLE, random_state=seed)
        release = model.fit(people(seed, 20_000)).release_
        errors = release.centre_errors.copy()
        errors[:, 1] /= release.centres[:, 1]  # a log scale states it in units; the forecast is a share of the centre
        stated.append(errors)
    for j, error in enumerate(expected):
        assert 0.7 < error.standard_error / np.mean(np.array(stated)[:, :, j]) < 1.2


def test_an_error_is_given_in_its_units():
    design = make_design(20_000, PEOPLE)
    age, income, _, basic, *_ = centre_errors(design)
    assert (age.unit, age.spread) == ("years", pytest.approx(6.0))
    assert age.percent_of_range == pytest.approx(100 * age.standard_error / 120)
    assert income.percent_of_range == pytest.approx(100 * income.standard_error / np.log(1e4))
    assert basic.spread == pytest.approx(np.sqrt(2) / 3)


@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 10}])
def test_more_of_everything_helps(schema, parameters):
    def error(design, **arguments):
        return centre_errors(design, **arguments)[0].standard_error

    usual = make_design(20_000, schema, **parameters)
    assert error(usual.times(epsilon=2)) < 0.7 * error(usual)
    assert error(usual.times(rows=2)) < 0.7 * error(usual)
    assert error(usual, share=0.5) < 0.6 * error(usual)  # small ones gain more from what all have in common
    assert error(usual, spread=0.1) > 1.5 * error(usual)
    assert error(make_design(20_000, schema, rows_per_person=3, **parameters)) > 2.0 * error(usual)
    assert size_error(usual.times(epsilon=2)).standard_error < 0.6 * size_error(usual).standard_error
    assert clear_size(usual.times(epsilon=2)) < 0.6 * clear_size(usual)


def test_a_changed_constant_changes_the_forecast(schema, monkeypatch):
    before = make_design(20_000, schema, n_clusters=4)
    monkeypatch.setattr(
        "dpmondrian.dpm.plan.SHARES_WITH_K", {"splits": 0.16, "counts": 0.07, "cells": 0.67, "clusters": 0.10}
    )
    after = make_design(20_000, schema, n_clusters=4)
    assert after.cluster_step_costs[-1] == pytest.approx(before.cluster_step_costs[-1] / 4, rel=0.1)


def test_the_steps_cost_what_is_planned(schema):
    """With k all of the budget is spent: by the count of all rows, the tree, the cells and the clusters."""
    for parameters in ({"n_clusters": 4}, {"n_clusters": 4, "delta": 0.0}):
        design = make_design(20_000, schema, **parameters)
        rest = design.door.left - sum(design.cluster_step_costs)
        assert 0.0 < 2 * design.cell_step_cost < rest < design.door.plan.total


@pytest.mark.parametrize("spread", [0.0, -0.1, 0.6, "wide", {"v": 0.05}, {"x": 2.0}])
def test_a_wrong_spread_is_refused(schema, spread):
    with pytest.raises(ParameterError, match="'spread'"):
        centre_errors(make_design(1_000, schema), spread=spread)


def test_categories_have_no_spread_to_give():
    with pytest.raises(ParameterError, match="numeric"):
        centre_errors(make_design(1_000, PEOPLE), spread={"plan": 0.1})


@pytest.mark.parametrize("share", [0.0, 1.5, "half"])
def test_a_wrong_share_is_refused(schema, share):
    with pytest.raises(ParameterError, match="'share'"):
        centre_errors(make_design(1_000, schema), share=share)


def test_an_unknown_size_is_refused(schema):
    with pytest.raises(ParameterError, match="'of'"):
        size_error(make_design(1_000, schema), "leaf")
