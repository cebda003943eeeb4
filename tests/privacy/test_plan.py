"""The plan fits the budget, by this package's arithmetic and by that of others, and nothing else can be drawn."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, BudgetError
from dpmondrian.dpm import (
    CATEGORY_PART,
    CLIPPED_SUMS,
    COARSE_PART,
    COARSE_SUMS,
    COUNT,
    COUNT_PART,
    DISTANCES_PART,
    DOMAIN_SUMS,
    FINAL_SHARE,
    LEAF_PART,
    PAPER_SHARES,
    SPLIT,
    n_levels,
    paper_offsets,
    paper_plan,
)
from dpmondrian.dpm.plan import PROFILES_SHARE, SHARES, SHARES_FEW_COLUMNS, SHARES_WITH_K, TOTAL_PART
from dpmondrian.dpm.settings import LEAST_SHARE
from dpmondrian.privacy.accountants.zcdp import (
    bounded_range_rho,
    epsilon_from_rho,
    gaussian_multiplier,
    gaussian_rho,
    rho_from_epsilon,
)
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.ledger import Ledger
from dpmondrian_lab.audit.plans import complete_plan, pure_plan, settings_of, zcdp_plan

BUDGETS = [(0.01, 1e-12), (0.1, 1e-9), (1.0, 1e-7), (1.0, 0.01), (3.0, 1e-5), (20.0, 1e-7), (1e-6, 1e-7), (500.0, 1e-3)]
DEPTHS = (0, 1, 2, 7, 12)
WAYS = {
    "default": zcdp_plan,
    "lines": partial(zcdp_plan, n_columns=5),
    "k": partial(zcdp_plan, n_clusters=3),
    "pure": lambda epsilon, _, depth, **choices: pure_plan(epsilon, depth, **choices),
    "pure lines": lambda epsilon, _, depth, **choices: pure_plan(epsilon, depth, n_columns=5, **choices),
    "pure k": lambda epsilon, _, depth, **choices: pure_plan(epsilon, depth, n_clusters=3, **choices),
    "paper": lambda epsilon, delta, depth, shares=PAPER_SHARES: paper_plan(epsilon, delta, depth, shares),
}
every_way = pytest.mark.parametrize("way", WAYS)
quick = settings(derandomize=True, deadline=None, max_examples=60)


def converted(rho, delta):
    """Return the epsilon of rho-zCDP at delta: the published formula on a fine grid of orders."""
    best = math.sqrt(math.log(1 / delta) / rho)
    excess = best * np.exp(np.linspace(-5, 5, 40_001))
    a = 1.0 + excess
    return max(0.0, float(np.min(a * rho + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / excess)))


@pytest.fixture(scope="module")
def dp():
    import opendp.prelude

    opendp.prelude.enable_features("contrib")
    return opendp.prelude


# --- conversion ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@quick
@given(st.floats(-12, 2), st.floats(-15, -0.5))
def test_conversion_is_the_minimum_of_the_formula(log_rho, log_delta):
    rho, delta = 10**log_rho, 10**log_delta
    assert epsilon_from_rho(rho, delta) == pytest.approx(converted(rho, delta), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("scale", [0.3, 0.7, 3.0, 20.0, 500.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-7, 1e-12])
def test_conversion_agrees_with_opendp(dp, scale, delta):
    gaussian = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
    assert gaussian.map(1) == pytest.approx(gaussian_rho(scale), rel=1e-12)
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1).epsilon(delta)
    assert epsilon_from_rho(gaussian_rho(scale), delta) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("scale", [0.7, 3.0, 20.0])
@pytest.mark.parametrize("n_draws", [1, 10])
def test_a_second_accountant_finds_no_more_than_we_charge(scale, n_draws):
    """Privacy loss distributions are tighter than zCDP; Renyi orders from a list are a little looser."""
    import dp_accounting
    from dp_accounting import pld, rdp

    delta, event = 1e-7, dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(scale), n_draws)
    charged = epsilon_from_rho(n_draws * gaussian_rho(scale), delta)
    tight = pld.PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(delta)
    loose = rdp.RdpAccountant().compose(event).get_epsilon(delta)
    assert 0.8 * charged < tight <= charged * (1 + 1e-3)
    assert charged <= loose * (1 + 1e-9)
    assert loose < 1.1 * charged


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_rho_is_the_largest_that_fits(epsilon, delta):
    rho = rho_from_epsilon(epsilon, delta)
    assert epsilon_from_rho(rho, delta) <= epsilon  # rounded to the private side
    assert epsilon_from_rho(rho * (1 + 1e-9), delta) > epsilon
    assert converted(rho, delta) <= epsilon * (1 + 1e-6)


@quick
@given(st.floats(-4, 2), st.floats(-15, -1))
def test_rho_and_epsilon_are_inverse(log_epsilon, log_delta):
    epsilon, delta = 10**log_epsilon, 10**log_delta
    back = epsilon_from_rho(rho_from_epsilon(epsilon, delta), delta)
    assert epsilon * (1 - 1e-9) < back <= epsilon


def test_no_noise_costs_nothing_and_more_noise_costs_less():
    assert epsilon_from_rho(0.0, 1e-7) == 0.0
    assert gaussian_rho(2.0) == 0.125
    assert gaussian_multiplier(gaussian_rho(3.7)) == pytest.approx(3.7)
    assert bounded_range_rho(2.0) == 0.5
    costs = [epsilon_from_rho(gaussian_rho(z), 1e-7) for z in (0.5, 1.0, 5.0, 50.0)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("scale", [0.4, 1.0, 37.5])
def test_price_of_laplace_noise_is_that_of_opendp(dp, scale):
    laplace = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)
    plan = pure_plan(1.0, 2)
    for sensitivity in (1, 5):
        ours = plan.cost_of("discrete Laplace", scale / sensitivity)
        assert ours == pytest.approx(laplace.map(sensitivity), rel=1e-12)


@pytest.mark.parametrize("multiplier", [0.5, 2.0, 30.0])
def test_price_of_selections_is_that_of_opendp(dp, multiplier):
    """OpenDP draws permute-and-flip for pure privacy and the exponential mechanism for zCDP, at the same prices."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    pure = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=multiplier)
    concentrated = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=multiplier)
    assert pure_plan(1.0, 2).cost_of("permute-and-flip", multiplier) == pytest.approx(pure.map(1))
    ours = zcdp_plan(1.0, 1e-7, 2).cost_of("exponential mechanism", multiplier)
    assert ours == pytest.approx(concentrated.map(1), rel=1e-9)


# --- plans --------------------------------------------------------------------------------------------------------


def recomputed(plan):
    """Return the epsilon of a plan from its noise multipliers alone, by formulas of this file."""
    spent = 0.0
    for draw in plan.draws:
        gaussian = draw.mechanism == "discrete Gaussian"
        if plan.currency == "rho":
            assert draw.mechanism in ("discrete Gaussian", "exponential mechanism")
            spent += 1 / (2 * draw.multiplier**2) if gaussian else 1 / (8 * draw.multiplier**2)
        elif gaussian:
            spent += converted(1 / (2 * draw.multiplier**2), 0.8 * plan.delta)
        else:
            spent += 1 / draw.multiplier
    return converted(spent, plan.delta) if plan.currency == "rho" else spent


@pytest.mark.slow
@every_way
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_plan_spends_its_budget_and_no_more(way, epsilon, delta, depth):
    plan = WAYS[way](epsilon, delta, depth)
    plan.verify()
    assert epsilon * (1 - 1e-6) < plan.spent() <= epsilon
    assert recomputed(plan) == pytest.approx(epsilon, rel=1e-6)
    assert len({(draw.name, draw.level) for draw in plan.draws}) == len(plan.draws)
    assert {draw.level for draw in plan.draws if draw.name == "count"} == set(range(depth + 1))
    assert {draw.level for draw in plan.draws if draw.name == "split"} == set(range(depth))


@quick
@given(
    st.sampled_from(sorted(WAYS)),
    st.floats(-3, 1.5),
    st.floats(-12, -2),
    st.integers(0, 12),
    st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4),
)
def test_any_shares_keep_the_budget(way, log_epsilon, log_delta, depth, weights):
    names = ["splits", "counts", "interval", "centres"] if way == "paper" else ["splits", "counts", "cells", "clusters"]
    shares = {name: weight / sum(weights) for name, weight in zip(names, weights, strict=True)}
    assume(min(shares.values()) > LEAST_SHARE and shares.get("clusters", 1.0) > 1.1 * FINAL_SHARE)
    epsilon, delta = 10**log_epsilon, 10**log_delta
    plan = WAYS[way](epsilon, delta, depth, shares=shares)
    plan.verify()
    assert plan.spent() > epsilon * (1 - 1e-6)


@pytest.mark.parametrize("shares", [SHARES, SHARES_FEW_COLUMNS, SHARES_WITH_K, PAPER_SHARES])
def test_shares_are_a_whole(shares):
    assert math.fsum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(shares.values()) > 0


def test_parts_leave_something_for_the_rest():
    assert COARSE_PART + LEAF_PART < 1.0
    assert max(COUNT_PART, DISTANCES_PART, CATEGORY_PART) < 0.5
    for shares in (SHARES, SHARES_FEW_COLUMNS, SHARES_WITH_K):
        assert shares["clusters"] > FINAL_SHARE


def costs_of(plan, name):
    return [draw.cost for draw in plan.draws if draw.name == name]


def split_growth(way):
    return 2**0.5 if way == "paper" else 1.25


@every_way
def test_levels_grow_as_is_stated(way):
    plan = WAYS[way](1.0, 1e-7, 7)
    splits, counts = costs_of(plan, "split"), costs_of(plan, "count")
    assert np.array(splits[1:]) / splits[:-1] == pytest.approx([split_growth(way)] * 6)
    if way == "paper":
        assert np.array(counts[1:]) / counts[:-1] == pytest.approx([2**0.5] * 7)
    else:
        assert counts[1:] == pytest.approx([counts[1]] * 7)
        assert counts[0] == pytest.approx(TOTAL_PART * SHARES["counts"] * plan.total, rel=0.3)


def test_the_growth_of_the_papers_levels_minimises_the_summed_error():
    """Relative errors are 2**i / epsilon_i; the sum of the epsilons is fixed."""

    def summed_error(weights):
        return (2.0 ** np.arange(8) / (np.array(weights) / np.sum(weights))).sum()

    best = [2 ** (i / 2) for i in range(8)]
    for i in range(8):
        for factor in (0.9, 1.1):
            changed = [w * factor if i == j else w for j, w in enumerate(best)]
            assert summed_error(changed) > summed_error(best)


@pytest.mark.parametrize("delta", [1e-7, 0.0])
@pytest.mark.parametrize(
    ("choices", "shares"),
    [({}, SHARES_FEW_COLUMNS), ({"n_columns": 4}, SHARES), ({"n_columns": 4, "n_clusters": 3}, SHARES_WITH_K)],
)
def test_draws_cost_their_shares(choices, shares, delta):
    """Of the tree, of the cells, of what finds clusters or moves k centres, and of the sizes and centres at the end."""
    plan = complete_plan(1.0, delta, 6, accountant="auto", **choices)
    cell_draws = ("coarse sums", "cell count", "distances", "clipped sums")
    parts = {
        "splits": costs_of(plan, "split"),
        "counts": costs_of(plan, "count"),
        "cells": [d.cost for d in plan.draws if d.name in cell_draws and (d.level or 0) <= 2],
    }
    parts["clusters"] = [d.cost for d in plan.draws if d.name in ("grid", "lines", *cell_draws) and (d.level or 0) > 2]
    parts["clusters"] += costs_of(plan, "grid") + costs_of(plan, "lines")
    parts["profiles"] = costs_of(plan, "profiles") + costs_of(plan, "quality")
    expected = {name: (1.0 - PROFILES_SHARE) * share for name, share in shares.items()} | {"profiles": PROFILES_SHARE}
    assert {name: math.fsum(costs) / plan.total for name, costs in parts.items()} == pytest.approx(expected, rel=1e-9)
    if "n_clusters" not in choices:
        final = math.fsum(d.cost for d in plan.draws if d.level == 3 and d.name in cell_draws)
        assert final == pytest.approx(FINAL_SHARE * plan.total)


@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_levels_without_open_nodes_give_back_what_they_may(accountant):
    """All of it goes to the cells; selections stay charged where privacy losses are composed."""
    whole, ended = (complete_plan(1.0, 1e-7, 6, accountant=accountant, used=used) for used in (6, 2))
    assert ended.total == whole.total
    given_back = [draw for draw in ended.draws if draw.waived]
    assert {(draw.name, draw.level) for draw in given_back} == {
        (name, level + later) for level in range(2, 6) for name, later in (("split", 0), ("count", 1))
    }
    back = math.fsum(draw.cost for draw in given_back if accountant == "zcdp" or draw.name == "count")
    gained = ended.find(COARSE_SUMS).cost - whole.find(COARSE_SUMS).cost
    assert gained == pytest.approx(COARSE_PART * back)
    assert ended.find(CLIPPED_SUMS, 3).cost == pytest.approx(whole.find(CLIPPED_SUMS, 3).cost)
    charged = [draw for draw in ended.draws if not draw.waived or (accountant == "pld" and draw.name == "split")]
    assert math.fsum(draw.cost for draw in charged) == pytest.approx(ended.total)


def test_a_tree_has_as_many_levels_as_rows_carry():
    plain, many = (settings_of(1.0, 1e-7, 10, "auto", k, 4, None) for k in (None, 60))
    levels = [n_levels(plain, signal, 4) for signal in (-50.0, 0.0, 6 * 2.0**3, 6 * 2.0**5, 6 * 2.0**30)]
    assert levels == [2, 2, 3, 5, 10]
    assert n_levels(many, 0.0, 4) == round(math.log2(8 * 60))
    assert n_levels(replace(many, max_depth=0), 1e9, 4) == 0


def test_with_k_many_columns_have_fewer_leaves():
    plain, two = (settings_of(1.0, 1e-7, 10, "auto", k, 64, None) for k in (None, 2))
    assert [n_levels(two, 6 * 2.0**8, n_columns) for n_columns in (1, 16, 32, 64)] == [8, 8, 7, 6]
    assert n_levels(two, 6 * 2.0**8, 10_000) == round(math.log2(8 * 2))
    assert n_levels(plain, 6 * 2.0**8, 64) == 8


def test_the_papers_shares():
    plan = paper_plan(1.0, 1e-7, 7, PAPER_SHARES)
    sums = {name: math.fsum(costs_of(plan, name)) for name in ("interval size", "count", "split", "sums")}
    assert list(sums.values()) == pytest.approx([0.04, 0.18, 0.18, 0.60], rel=1e-6)
    assert plan.find(DOMAIN_SUMS).delta == pytest.approx(0.8e-7)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(100_000, {0: 4077, 3: 1441, 5: 721, 6: 510}), (18_720, {0: 3571, 5: 631, 6: 446}), (5000, {0: 3173, 6: 397})],
)
def test_the_papers_offsets(n, expected):
    """The published formula at epsilon = 1, delta = 1 / (n sqrt n) and depth 7."""
    offsets = paper_offsets(paper_plan(1.0, n**-1.5, 7, PAPER_SHARES), 7)
    assert {level: round(offsets[level]) for level in expected} == expected
    assert min(offsets) > 0  # so they only ever add noise


# --- refusals -----------------------------------------------------------------------------------------------------


@every_way
def test_a_plan_with_less_noise_is_refused(way):
    plan = WAYS[way](1.0, 1e-7, 2)
    for i, draw in enumerate(plan.draws):
        lowered = replace(draw, multiplier=0.99 * draw.multiplier)
        tampered = replace(plan, draws=(*plan.draws[:i], lowered, *plan.draws[i + 1 :]))
        with pytest.raises(BudgetError):
            tampered.verify()
        with pytest.raises(BudgetError):
            Door(tampered)


@every_way
def test_a_plan_that_declares_less_than_it_costs_is_refused(way):
    """Also when the whole stays within the budget because another draw was given more noise."""
    plan = WAYS[way](1.0, 1e-7, 2)
    first, second = plan.draws[:2]
    quieter = replace(first, multiplier=0.99 * first.multiplier)
    louder = replace(second, multiplier=10 * second.multiplier)
    with pytest.raises(BudgetError, match="declares less"):
        replace(plan, draws=(quieter, louder, *plan.draws[2:])).verify()


def test_a_plan_for_another_budget_is_refused():
    plan = zcdp_plan(1.0, 1e-7, 3)
    for tampered in (replace(plan, epsilon=0.999), replace(plan, delta=0.9e-7)):
        with pytest.raises(BudgetError, match="more than the budget"):
            tampered.verify()


def entry(draw, cost=None):
    return {"sensitivity": 1.0, "scale": 1.0, "cost": draw.cost if cost is None else cost, "n_draws": 1}


def test_the_ledger_refuses_what_is_not_planned_dearer_or_repeated():
    plan = zcdp_plan(1.0, 1e-7, 3)
    ledger, draw = Ledger(plan), plan.draws[0]
    with pytest.raises(BudgetError, match="cost more"):
        ledger.write(draw, **entry(draw, cost=1.001 * draw.cost))
    with pytest.raises(BudgetError, match="no draw"):
        ledger.write(replace(draw, draw=DOMAIN_SUMS), **entry(draw))
    with pytest.raises(BudgetError, match="not open"):
        ledger.write(replace(draw, cost=2 * draw.cost), **entry(draw))
    ledger.write(draw, **entry(draw))
    with pytest.raises(BudgetError, match="not open"):
        ledger.write(draw, **entry(draw))


def test_the_door_draws_nothing_that_is_not_planned_or_a_second_time():
    door = Door(zcdp_plan(1.0, 1e-7, 2), seed=0)
    sums, widths = np.zeros((1, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64)
    passages = [
        lambda: door.counts(COUNT, 1, [5, 6]),
        lambda: door.select(SPLIT, 0, [np.arange(4)], [1]),
        lambda: door.box_sums(COARSE_SUMS, None, sums, widths),
        lambda: door.ball_sums(CLIPPED_SUMS, 1, sums, widths[:, 0]),
    ]
    for passage in passages:
        passage()
        with pytest.raises(BudgetError, match="not open"):
            passage()
    for unplanned in (
        lambda: door.counts(COUNT, 9, [5]),
        lambda: door.select(SPLIT, 2, [np.arange(4)], [1]),
        lambda: door.box_sums(DOMAIN_SUMS, None, sums, widths),
        lambda: door.ball_sums(CLIPPED_SUMS, 9, sums, widths[:, 0]),
    ):
        with pytest.raises(BudgetError, match="no draw"):
            unplanned()


@pytest.mark.parametrize("delta", [1e-7, 0.0])
def test_the_door_prices_sums_by_the_scales_it_uses(delta):
    """Unequal columns: the spread noise costs the planned amount in every group, and the ledger would see it if not."""
    plan = zcdp_plan(1.0, delta, 2) if delta else pure_plan(1.0, 2)
    widths = np.array([[1, 10, 30_000], [7, 7, 7], [1, 1, 65_535]])
    _, deviations = Door(plan, rows_per_person=2, seed=0).box_sums(COARSE_SUMS, None, np.zeros_like(widths), widths)
    ratio = 2 * widths / (deviations if delta else deviations / np.sqrt(2))  # a Laplace scale b deviates by sqrt(2) b
    spent = (ratio**2).sum(axis=1) / 2 if delta else ratio.sum(axis=1)
    assert spent == pytest.approx([plan.find(COARSE_SUMS).cost] * 3, rel=1e-9)


# --- ledgers of whole runs ----------------------------------------------------------------------------------------


FITS = {
    "default": [{}, {"rows_per_person": 3}, {"max_depth": 0}],
    "k": [{"n_clusters": 3}, {"n_clusters": 50, "max_depth": 2}],
    "lines": [{}, {"max_depth": 5}],
    "pure": [{"delta": 0.0}],
    "pure lines": [{"delta": 0.0}],
    "pure k": [{"delta": 0.0, "n_clusters": 2}],
    "paper": [{"variant": "paper"}, {"variant": "paper", "n_clusters": 2}, {"variant": "paper", "max_depth": 0}],
}


@pytest.mark.parametrize(("way", "parameters"), [(way, case) for way, cases in FITS.items() for case in cases])
def test_the_ledger_of_a_fit_is_its_plan(way, parameters):
    rows = np.repeat([[10.0, 10.0], [90.0, 20.0], [50.0, 80.0]], 200, axis=0)
    rows = np.tile(rows, 2) if way.endswith("lines") else rows
    parameters = {"epsilon": 2.0, "delta": 1e-6, "max_depth": 3, "accountant": "zcdp", **parameters}
    statement = DPM(bounds=(0, 100), random_state=0, **parameters).fit(rows).privacy_
    plan = planned_for(way, statement, parameters)
    written = [(e.name, e.level, e.mechanism, e.cost) for e in statement.entries]
    expected = [(d.name, d.level, d.mechanism, 0.0 if d.waived else pytest.approx(d.cost)) for d in plan.draws]
    known = [d.name for d in plan.draws].index("lines") if way.endswith("lines") else len(expected)
    assert written[:known] == expected[:known]  # how many rounds there are along lines is decided by what they find
    for made, planned in zip(statement.entries[:known], plan.draws, strict=False):
        if made.n_draws:
            assert made.scale / made.sensitivity == pytest.approx(planned.multiplier)
    assert statement.currency == plan.currency
    total = math.fsum(e.cost for e in statement.entries)
    spent = epsilon_from_rho(total, plan.delta) if plan.currency == "rho" else total
    assert 2.0 * (1 - 1e-6) < spent <= 2.0
    assert all(e.n_draws > 0 for e in statement.entries if e.name not in ("split", "count"))


def planned_for(way, statement, parameters):
    """Return the plan of a run whose ledger tells how many levels its tree had, and at how many of them a node was open."""
    splits = [entry for entry in statement.entries if entry.name == "split"]
    if way == "paper":
        return WAYS[way](2.0, parameters["delta"], parameters["max_depth"])
    tree = {"levels": len(splits), "used": len([entry for entry in splits if entry.n_draws])}
    return WAYS[way](2.0, parameters["delta"], parameters["max_depth"], **tree)


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_secure_noise_writes_the_same_ledger_as_seeded_noise(delta):
    rows = np.repeat([[10.0, 10.0], [90.0, 20.0]], 300, axis=0)
    secure, seeded = (
        DPM(epsilon=5.0, delta=delta, bounds=(0, 100), max_depth=1, random_state=seed).fit(rows).privacy_
        for seed in (None, 0)
    )
    assert secure.releasable
    assert not seeded.releasable
    assert [(e.name, e.level, e.cost) for e in secure.entries] == [(e.name, e.level, e.cost) for e in seeded.entries]
