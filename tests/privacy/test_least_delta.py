"""Deltas so small that floats cannot tell their tails from nothing are refused everywhere; above them nothing is lost."""

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from dpmondrian import DPM, Budget, BudgetError, Column, ParameterError, PrivacyStatement, Schema
from dpmondrian.common.checks import LEAST_DELTA
from dpmondrian.planning import forecast
from dpmondrian.privacy.accountants.pld import _finite_losses
from dpmondrian.privacy.accountants.zcdp import rho_from_epsilon
from dpmondrian.privacy.door import Door
from dpmondrian_lab.audit.plans import pld_plan, zcdp_plan
from dpmondrian_lab.peers import LSHSplits

TOO_SMALL = [5e-324, 1e-310, LEAST_DELTA * 0.99]
ONE_COLUMN = Schema((Column("x", 0, 1),))


@pytest.mark.parametrize("delta", TOO_SMALL)
def test_a_delta_below_the_least_is_refused_wherever_it_can_be_given(delta, tmp_path):
    for accountant in ("pld", "zcdp"):
        with pytest.raises(ParameterError, match=r"'delta' parameter must be .* at least 1e-300"):
            DPM(delta=delta, bounds=(0, 1), accountant=accountant).check_parameters()
    with pytest.raises(ParameterError, match="1e-300"):
        forecast(1000, ONE_COLUMN, 1.0, delta)
    with pytest.raises(ParameterError, match="1e-300"):
        LSHSplits(delta=delta, bounds=(0, 1)).fit(np.zeros((3, 1)))
    with pytest.raises(ParameterError, match="1e-300"):
        Budget.create(tmp_path / "budget.json", 1.0, delta)
    for make in (pld_plan, zcdp_plan):
        with pytest.raises(BudgetError, match="Nothing was drawn"):
            Door(make(1.0, delta, 3))


@pytest.mark.parametrize("delta", TOO_SMALL)
def test_a_statement_with_a_delta_below_the_least_is_not_read(delta):
    statement = json.loads(DPM(bounds=(0, 1), max_depth=1).fit(np.zeros((9, 1))).privacy_.to_json())
    with pytest.raises(ValueError, match="out of range"):
        PrivacyStatement.from_dict(statement | {"delta": delta})


@pytest.mark.parametrize("delta", [0.0, LEAST_DELTA, 1e-100])
def test_zero_and_the_least_delta_are_allowed(delta):
    DPM(delta=delta, bounds=(0, 1)).check_parameters()
    Door(zcdp_plan(1.0, delta or LEAST_DELTA, 3))


def lost_share(plan):
    """Return which share of its delta the composed loss of a plan lost, against the same sum with 60 digits."""
    composition = plan.composition()
    with mpmath.workdps(60):
        exact = sum(
            mpmath.mpf(float(p)) * gaussian_delta(mpmath.mpf(1 - float(loss)), mpmath.mpf(composition.mu))
            for loss, p in zip(*_finite_losses(composition.ranges, composition.pure), strict=True)
            if loss > -1.0  # beyond, even less is left of the least delta than of its smallest term
        )
        return float(1 - mpmath.mpf(composition.delta(1.0)) / exact)


def gaussian_delta(epsilon, mu):
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.slow
def test_nothing_is_lost_at_the_least_delta_and_much_far_below_it():
    assert lost_share(pld_plan(1.0, LEAST_DELTA, 12)) < 1e-6
    assert lost_share(with_smaller_delta(zcdp_plan(1.0, LEAST_DELTA, 12), 5e-324)) > 0.01


def with_smaller_delta(plan, delta):
    """Return the plan with the costs that a delta would allow if it were not refused."""
    factor = rho_from_epsilon(plan.epsilon, delta) / rho_from_epsilon(plan.epsilon, plan.delta)
    return replace(plan, delta=delta, draws=tuple(replace(draw, cost=factor * draw.cost) for draw in plan.draws))
