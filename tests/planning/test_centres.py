"""Errors of centres, against what real fits release and against how far their centres are off."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.dpm.draws import CLIPPED_SUMS
from dpmondrian.dpm.plan import CENTRE_PARTS
from dpmondrian.estimator import DPM
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning import centre_errors, make_design
from dpmondrian.schema.columns import Category, Column, Schema

pandas = pytest.importorskip("pandas")

KINDS = [
    {},
    {"n_clusters": 4},
    {"delta": 0.0, "epsilon": 2.0},
    {"delta": 0.0, "epsilon": 2.0, "n_clusters": 4},
    {"rows_per_person": 2, "epsilon": 2.0},
]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_real_fits_state_the_error_that_was_forecast(schema, runs, rms, parameters):
    real = runs(8_000, **parameters)
    design = make_design(8_000, schema, expected_clusters=4, **parameters)
    expected = centre_errors(design, spread=0.04)
    for j in range(3):
        assert rms(real.centre_errors[:, :, j]) == pytest.approx(expected[j].standard_error, rel=0.2)


@pytest.mark.parametrize("parameters", KINDS)
def test_centres_of_real_fits_are_about_as_far_off(schema, runs, rms, parameters):
    real = runs(8_000, **parameters)
    [x, *_] = centre_errors(make_design(8_000, schema, expected_clusters=4, **parameters), spread=0.04)
    assert 0.5 * x.standard_error < rms(real.centre_misses) < 1.25 * x.standard_error
    assert np.mean(np.abs(real.centre_misses) <= x.half_width) > 0.92


def test_small_clusters_beside_large_ones(schema, rms):
    """A cluster of a twentieth of the rows: its own size sets its error, the others set the radius."""
    centres = np.array([[20.0, 20, 20], [20, 80, 70], [80, 20, 50], [80, 80, 30]])
    truth = np.repeat(np.arange(4), (9_000, 5_000, 5_000, 1_000))
    stated = []
    for seed in range(12):
        rows = centres[truth] + 4.0 * np.random.default_rng(seed).normal(size=(20_000, 3))
        model = DPM(bounds=(0, 100), random_state=seed).fit(rows)
        distance = np.linalg.norm(model.cluster_centers_ - centres[3], axis=1)
        if distance.min() < 8.0:
            stated.append(model.release_.centre_errors[distance.argmin(), 0])
    assert len(stated) >= 10
    design = make_design(20_000, schema, expected_clusters=4)
    assert rms(stated) == pytest.approx(centre_errors(design, share=0.05, spread=0.04)[0].standard_error, rel=0.25)


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


@pytest.mark.parametrize("delta", [1e-7, 0.0])
def test_columns_of_every_kind(delta):
    epsilon = 1.0 if delta else 3.0
    design = make_design(20_000, PEOPLE, epsilon, delta, expected_clusters=4)
    spread = {"age": 6 / 120, "income": 0.3 / np.log(1e4), "visits": 2.5 / 60}
    expected = centre_errors(design, spread=spread)
    assert [error.name for error in expected] == list(PEOPLE.centre_names)
    assert [error.scale for error in expected] == ["number", "log", "number", "share", "share", "share"]
    stated = []
    for seed in range(6):
        release = DPM(epsilon=epsilon, delta=delta, bounds=PEOPLE, random_state=seed).fit(people(seed, 20_000)).release_
        assert len(release.centres) == 4
        errors = release.centre_errors.copy()
        errors[:, 1] /= release.centres[:, 1]  # a log scale states it in units; the forecast is a share of the centre
        stated.append(errors)
    for j, error in enumerate(expected):
        assert np.mean(np.array(stated)[:, :, j]) == pytest.approx(error.standard_error, rel=0.2)


def test_an_error_is_given_in_its_units():
    design = make_design(20_000, PEOPLE)
    age, income, _, basic, *_ = centre_errors(design)
    assert (age.unit, age.spread) == ("years", pytest.approx(6.0))
    assert age.percent_of_range == pytest.approx(100 * age.standard_error / 120)
    assert income.percent_of_range == pytest.approx(100 * income.standard_error / np.log(1e4))
    assert basic.spread == pytest.approx(np.sqrt(2) / 3)
    assert age.sampling_error == pytest.approx(6.0 / np.sqrt(2_000))


def test_more_of_everything_helps(schema):
    def error(design, **arguments):
        return centre_errors(design, **arguments)[0].standard_error

    usual = make_design(20_000, schema)
    assert error(usual.times(epsilon=2)) < 0.6 * error(usual)
    assert error(usual.times(rows=2)) < 0.6 * error(usual)
    assert error(usual, share=0.5) < 0.3 * error(usual)
    assert error(usual, spread=0.1) > 1.5 * error(usual)
    assert error(make_design(20_000, schema, rows_per_person=3)) > 2.5 * error(usual)


def test_a_changed_constant_changes_the_forecast(schema, monkeypatch):
    before = centre_errors(make_design(20_000, schema))[0].standard_error
    less = {part: share / (4.0 if part == (CLIPPED_SUMS, 4) else 1.0) for part, share in CENTRE_PARTS.items()}
    monkeypatch.setattr("dpmondrian.dpm.plan.CENTRE_PARTS", less)
    assert centre_errors(make_design(20_000, schema))[0].standard_error == pytest.approx(2.0 * before)


@pytest.mark.parametrize("spread", [0.0, -0.1, 0.6, "wide", {"w": 0.05}, {"x": 2.0}])
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
