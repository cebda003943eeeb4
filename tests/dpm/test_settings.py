"""Settings: one place for the rules and the defaults of all parameters."""

from __future__ import annotations

import inspect

import pytest

from dpmondrian import DPM, ParameterError
from dpmondrian.dpm.settings import DEFAULTS, checked_settings
from dpmondrian.planning import make_design
from dpmondrian.schema.columns import Column, Schema

SCHEMA = Schema((Column("age", 0, 120), Column("bmi", 10, 60)))


def test_the_defaults_are_those_of_the_estimator():
    given = {name: parameter.default for name, parameter in inspect.signature(DPM).parameters.items()}
    assert dict(DEFAULTS) == {name: value for name, value in given.items() if name not in ("bounds", "random_state")}


@pytest.mark.parametrize(
    "parameters", [{}, {"n_clusters": 5}, {"delta": 0.0, "max_depth": 3}, {"windows": 64}], ids=str
)
def test_estimator_and_planner_have_the_same_settings(parameters):
    settings = checked_settings(bounds=SCHEMA, **{**DEFAULTS, **parameters})
    assert DPM(bounds=SCHEMA, **parameters)._settings() == settings
    assert make_design(1_000, SCHEMA, **parameters).settings == settings.for_columns(2)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"windows": 1}, {"alpha": -2.0}, {"budget_shares": {}}], ids=str)
def test_estimator_and_planner_refuse_in_the_same_words(wrong):
    with pytest.raises(ParameterError) as of_estimator:
        DPM(bounds=SCHEMA, **wrong).check_parameters()
    with pytest.raises(ParameterError) as of_planner:
        make_design(1_000, SCHEMA, **wrong)
    assert vars(of_planner.value) == vars(of_estimator.value)
