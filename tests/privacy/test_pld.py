"""The composed privacy loss: its formula against all pairs that a search finds, plans against a second accountant."""

import json
import math
import sys
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from dpmondrian import DPM, BudgetError, ParameterError
from dpmondrian.dpm.draws import COUNT
from dpmondrian.dpm.plan import PAPER_SHARES, SHARES, paper_plan
from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, bounded_range_delta, discreteness
from dpmondrian.privacy.accountants.staged import Stages
from dpmondrian.privacy.accountants.zcdp import epsilon_from_rho
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.plan import MOST_NOISE_DRAWS, Plan, PlannedDraw
from dpmondrian.suggest.draws import bounds_plan
from dpmondrian_lab.audit.plans import complete_plan, pld_plan, pure_plan, zcdp_plan
from dpmondrian_lab.audit.second_accountant import recomputed_epsilon
from dpmondrian_lab.peers import EMMC, DPLloyd, FastLloyd, LSHSplits, PEMeans
from dpmondrian_lab.peers.base import PeerSettings
from dpmondrian_lab.peers.joint import gaussian_delta, joint_delta, least_multiplier

GAUSSIAN = "discrete Gaussian"
MOSTLY_SPLITS = {"splits": 0.8, "counts": 0.02, "cells": 0.03, "clusters": 0.15}
HARDLY_SPLITS = {"splits": 0.02, "counts": 0.18, "cells": 0.3, "clusters": 0.5}


def hockey_stick(p, q, x):
    """Return delta of a pair of laws at x, by its definition."""
    return float(np.maximum(0.0, p - math.exp(x) * q).sum())


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def exponential_pairs(generator, epsilon, n_pairs):
    """Return output laws of the exponential mechanism (scale 1) on neighbours whose scores move within `epsilon`."""
    for _ in range(n_pairs):
        size = generator.integers(2, 9)
        scores = generator.normal(size=size) * generator.choice([0.0, 0.3, 3.0])
        moved = (
            generator.choice([0.0, epsilon], size) if generator.random() < 0.7 else generator.uniform(0, epsilon, size)
        )
        yield softmax(scores), softmax(scores + moved)


# --- selections ---------------------------------------------------------------------------------------------------


def worst_excess(epsilon, claimed, seed=0):
    """Return by how much, at most, random pairs exceed the formula for a claimed epsilon."""
    generator = np.random.default_rng(seed)
    worst = -1.0
    for p, q in exponential_pairs(generator, epsilon, 400):
        for x in generator.uniform(-1.1 * epsilon, 1.1 * epsilon, 12):
            limit = bounded_range_delta(x, claimed)
            worst = max(worst, hockey_stick(p, q, x) - limit, hockey_stick(q, p, x) - limit)
    return worst


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_no_selection_exceeds_the_formula_and_a_smaller_one_would_be_exceeded(epsilon):
    assert worst_excess(epsilon, epsilon) < 1e-14
    assert worst_excess(epsilon, 0.95 * epsilon) > 1e-4 * epsilon


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_the_formula_is_attained_by_two_points(epsilon):
    for x in np.linspace(-epsilon, epsilon, 21)[1:-1]:
        t = (x + epsilon) / 2
        p = math.expm1(t - epsilon) / math.expm1(-epsilon)
        law, other = np.array([p, 1 - p]), np.array([p * math.exp(-t), (1 - p) * math.exp(epsilon - t)])
        assert other.sum() == pytest.approx(1.0)
        assert hockey_stick(law, other, x) == pytest.approx(bounded_range_delta(x, epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_the_formula_belongs_to_the_stated_density(epsilon):
    def density(x):
        return math.exp((x - epsilon) / 2) / 2 / -math.expm1(-epsilon)

    assert quad(density, -epsilon, epsilon)[0] == pytest.approx(1.0)
    assert quad(lambda x: math.exp(-x) * density(x), -epsilon, epsilon)[0] == pytest.approx(1.0)
    for x in np.linspace(-epsilon, epsilon, 9):
        delta = quad(lambda y, x=x: -math.expm1(x - y) * density(y), x, epsilon)[0]
        assert delta == pytest.approx(bounded_range_delta(x, epsilon), abs=1e-12)


def test_groups_of_one_draw_share_its_range():
    """A person with rows in several groups: independent selections whose ranges add up to epsilon."""
    generator, epsilon = np.random.default_rng(1), 1.2
    for _ in range(300):
        parts = generator.dirichlet(np.ones(3)) * epsilon
        pairs = [next(exponential_pairs(generator, part, 1)) for part in parts]
        p, q = pairs[0]
        for law, other in pairs[1:]:
            p, q = np.multiply.outer(p, law).ravel(), np.multiply.outer(q, other).ravel()
        for x in generator.uniform(-epsilon, epsilon, 8):
            assert hockey_stick(p, q, x) <= bounded_range_delta(x, epsilon) + 1e-14


def permute_and_flip(scores):
    """Return the output law (scale 1), by integration of its formula."""
    v, weights = np.polynomial.legendre.leggauss(60)
    v, weights = (v + 1) / 2, weights / 2
    heads = np.exp(scores - scores.max())
    factors = 1 - np.multiply.outer(v, heads)
    return np.array([p * (weights * np.delete(factors, r, axis=1).prod(axis=1)).sum() for r, p in enumerate(heads)])


@pytest.mark.slow
def test_permute_and_flip_exceeds_the_formula_but_not_randomised_response():
    generator, exceeded, nearest = np.random.default_rng(2), 0.0, 0.0
    for _ in range(300):
        epsilon = generator.choice([0.1, 1.0, 3.0])
        scores = generator.normal(size=generator.integers(2, 6)) * generator.choice([0.0, 1.0])
        p, q = permute_and_flip(scores), permute_and_flip(scores + generator.choice([0.0, epsilon], scores.size))
        assert p.sum() == pytest.approx(1.0)
        for x in generator.uniform(-epsilon, epsilon, 8):
            delta, most = hockey_stick(p, q, x), joint_delta(x, [epsilon], 0.0)
            assert delta <= most + 1e-12
            exceeded = max(exceeded, delta - bounded_range_delta(x, epsilon))
            nearest = max(nearest, delta / most if x > 0 else 0.0)
    assert exceeded > 0.01
    assert nearest > 0.9  # so there is hardly a better pair


# --- composition --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 2.0, 30.0, 500.0])
def test_one_selection_costs_its_formula_rounded_up(epsilon):
    composition = Composition(ranges=(epsilon,))
    for x in np.linspace(-1.2 * epsilon, 1.2 * epsilon, 57):
        excess = composition.delta(float(x)) - bounded_range_delta(float(x), epsilon)
        assert -1e-15 <= excess <= 1e-5 * min(1.0, epsilon) + 1e-3 * (epsilon > 100)


def test_what_is_known_in_closed_form():
    for x, mu in product((-4.0, -0.1, 0.0, 0.01, 1.0, 30.0), (1e-3, 0.2, 1.0, 6.0)):
        assert Composition(mu=mu).delta(x) == pytest.approx(gaussian_delta(x, mu), rel=1e-12, abs=1e-300)
    for x, pure in product((-1.0, 0.05, 0.4, 1.0), ((0.3,), (0.2, 0.2, 0.5))):
        for mu in (0.0, 0.4):
            delta = Composition(pure=pure, mu=mu).delta(x)
            assert -1e-12 <= delta - joint_delta(x, pure, mu) <= 1e-6
    assert Composition(pure=(0.3, 0.4), ranges=(0.1,)).epsilon(0.0) == pytest.approx(0.8)
    assert Composition(mu=0.1).epsilon(0.0) == math.inf
    assert Composition(pure=(0.5,), failure=1e-6).epsilon(1e-7) == math.inf
    assert Composition(failure=0.25).delta(3.0) == 0.25


def test_small_deltas_are_as_exact_as_large_ones():
    """At the far end only the largest losses count: two selections, by integration."""
    a, b, x = 0.5, 0.8, 1.2999
    composition = Composition(ranges=(a, b)).delta(x)

    def inner(y):
        return math.exp((y - a) / 2) / 2 / -math.expm1(-a) * bounded_range_delta(x - y, b)

    exact = quad(inner, x - b, a, epsabs=0)[0]
    assert exact < 1e-10
    assert exact <= composition < 1e3 * exact


def test_adaptive_selections_do_not_exceed_the_composition():
    """The second selection depends on the outcome of the first: exact enumeration, worst of a search."""
    generator, first, second = np.random.default_rng(3), 0.7, 0.4
    composition, nearest = Composition(ranges=(first, second)), 0.0
    for _ in range(150):
        p, q = next(exponential_pairs(generator, first, 1))
        seconds = list(exponential_pairs(generator, second, len(p)))
        joint = np.concatenate([mass * law for mass, (law, _) in zip(p, seconds, strict=True)])
        other = np.concatenate([mass * law for mass, (_, law) in zip(q, seconds, strict=True)])
        for x in generator.uniform(-1.0, 1.0, 8):
            delta, most = hockey_stick(joint, other, x), composition.delta(float(x))
            assert delta <= most + 1e-14
            nearest = max(nearest, delta / most if 0 < x < 0.3 else 0.0)
    assert nearest > 0.6


def test_selections_and_discrete_gaussian_noise_together():
    """A fine discrete Gaussian, drawn after a selection that decides which way it moves: summed over all outcomes."""
    scale, epsilon = 60.0, 0.5
    k = np.arange(-900, 901)
    noise = np.exp(-(k**2) / (2 * scale**2))
    noise /= noise.sum()
    composition = Composition(ranges=(epsilon,), mu=30 / scale)
    more = discreteness(scale, 1, 30 / scale, math.log(1e-12))
    generator = np.random.default_rng(4)
    for p, q in exponential_pairs(generator, epsilon, 20):
        shifts = generator.choice([-30, 30, 0], len(p))
        joint = np.concatenate([mass * noise for mass in p])
        other = np.concatenate([mass * np.roll(noise, shift) for mass, shift in zip(q, shifts, strict=True)])
        for x in (0.0, 0.3, 0.8, 1.5):
            assert hockey_stick(joint, other, x + more) <= composition.delta(x) * 1.0001 + 1e-12


def test_deltas_of_zcdp_are_those_of_the_conversion():
    for rho, delta in product((1e-6, 0.02, 0.5, 20.0), (1e-12, 1e-7, 1e-3)):
        epsilon = epsilon_from_rho(rho, delta)
        assert Composition(rho=rho).delta(epsilon) == pytest.approx(min(delta, math.sqrt(rho / 2)), rel=1e-3)
        assert Composition(rho=rho).delta(epsilon) >= gaussian_delta(epsilon, math.sqrt(2 * rho))
    for x in (-2.0, -0.1, 0.0, 0.1):
        assert Composition(rho=0.1).delta(x) >= gaussian_delta(x, math.sqrt(0.2))
    assert Composition(rho=0.02).delta(0.0) <= 0.1


# --- plans, priced again ------------------------------------------------------------------------------------------


PLANS = {
    "zcdp": zcdp_plan,
    "zcdp k": partial(zcdp_plan, n_clusters=3),
    "zcdp lines": partial(zcdp_plan, n_columns=5),
    "mostly splits": partial(zcdp_plan, shares=MOSTLY_SPLITS),
    "hardly splits": partial(zcdp_plan, shares=HARDLY_SPLITS),
    "paper": lambda e, d, depth: paper_plan(e, d, depth, PAPER_SHARES),
    "pure": lambda e, _, depth: pure_plan(e, depth),
    "bounds": lambda e, _, depth: bounds_plan(e, depth + 1),
}


@pytest.mark.parametrize("way", PLANS)
def test_losses_are_those_of_the_noise_that_is_planned(way):
    plan = PLANS[way](1.0, 1e-7, 5)
    composition = Composition.of(plan.draws, plan.currency, fine=True)
    inverse = {
        kind: [1 / draw.multiplier for draw in plan.draws if draw.mechanism in kind]
        for kind in (("exponential mechanism",), ("discrete Laplace", "permute-and-flip"), (GAUSSIAN,))
    }
    ranges, pure, gaussian = inverse.values()
    assert composition.ranges == pytest.approx(ranges)
    assert composition.pure == pytest.approx(pure)
    assert composition.mu == pytest.approx(math.hypot(*gaussian), rel=1e-8)
    coarse = Composition.of(plan.draws, plan.currency, fine=False)
    assert (coarse.mu, coarse.failure) == (0.0, 0.0)
    assert coarse.rho == pytest.approx(composition.mu**2 / 2)


@pytest.mark.slow
@pytest.mark.parametrize("way", PLANS)
def test_every_plan_costs_no_more_by_its_composed_loss(way):
    savings = []
    for epsilon, delta, depth in product((0.05, 1.0, 10.0), (1e-12, 1e-6, 1e-3), (0, 12)):
        plan = PLANS[way](epsilon, delta, depth)
        spent = Composition.of(plan.draws, plan.currency, fine=True).epsilon(plan.delta)
        assert spent <= plan.epsilon * (1 + 1e-9)
        savings.append(1 - spent / epsilon)
    assert max(savings) > 0.02 or way in ("pure", "bounds")  # pure plans use all they have


@pytest.mark.slow
@pytest.mark.parametrize("way", PLANS)
def test_a_second_accountant_agrees_or_is_tighter(way):
    for epsilon, delta, depth in ((0.05, 1e-9, 3), (1.0, 1e-7, 12), (10.0, 1e-3, 7), (1.0, 1e-11, 0)):
        plan = PLANS[way](epsilon, delta, depth)
        theirs = recomputed_epsilon(plan)
        ours = Composition.of(plan.draws, plan.currency, fine=True).epsilon(plan.delta)
        rounding = len(plan.draws) * 1e-4 * epsilon  # they round every draw up to their grid
        assert theirs <= plan.epsilon + rounding
        assert theirs == pytest.approx(ours, abs=rounding, rel=1e-4)


def peers_plans():
    for epsilon, delta in ((0.3, 1e-9), (1.0, 1e-6), (5.0, 1e-4)):
        settings = PeerSettings(5, epsilon, delta, "default", 10_000)
        for peer in (EMMC, FastLloyd, LSHSplits, PEMeans):
            yield peer(5, epsilon, delta, bounds=(0, 1), expected_rows=10_000)._plan(settings, 4)
        yield DPLloyd(5, epsilon, bounds=(0, 1))._plan(replace(settings, delta=0.0), 4)


@pytest.mark.slow
def test_plans_of_peers_cost_no_more():
    for plan in peers_plans():
        assert not plan.defects
        ours = plan.composition().epsilon(plan.delta)
        rounding = len(plan.draws) * 1e-4 * plan.epsilon
        assert ours <= plan.epsilon * (1 + 1e-6)
        assert recomputed_epsilon(plan) == pytest.approx(ours, abs=rounding)


def test_a_plan_that_costs_more_is_noticed():
    plan = zcdp_plan(1.0, 1e-7, 12)
    quieter = replace(plan, draws=tuple(replace(draw, cost=1.2 * draw.cost) for draw in plan.draws))
    assert recomputed_epsilon(quieter) > 1.04


def test_without_the_second_accountant_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    with pytest.raises(ParameterError, match=r"pip install 'dpmondrian-lab\[accounting\]'"):
        recomputed_epsilon(zcdp_plan(1.0, 1e-7, 1))


# --- accountant="pld" ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("shares", [SHARES, MOSTLY_SPLITS, HARDLY_SPLITS])
def test_a_pld_plan_has_less_noise_and_spends_the_budget(shares):
    for epsilon, delta, depth in zip(
        (0.05, 0.05, 1.0, 10.0, 10.0), (1e-12, 1e-3, 1e-7, 1e-12, 1e-3), (12, 0, 12, 3, 12), strict=True
    ):
        plan, before = (make(epsilon, delta, depth, shares=shares) for make in (pld_plan, zcdp_plan))
        plan.verify()
        assert (1 - 2e-6) * epsilon <= plan.spent() <= (1 + 1e-9) * epsilon  # rounded up
        factors = [new.multiplier / old.multiplier for new, old in zip(plan.draws, before.draws, strict=True)]
        assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-12)
        assert 0.6 < factors[0] < 0.995
        assert plan.currency == "rho"
        assert plan.rho == pytest.approx(before.rho / factors[0] ** 2)
        assert plan.draws == pld_plan(epsilon, delta, depth, shares=dict(shares)).draws


@pytest.mark.slow
def test_the_second_accountant_confirms_pld_plans():
    for epsilon, delta, depth in ((0.05, 1e-9, 12), (1.0, 1e-7, 12), (10.0, 1e-4, 5)):
        plan = pld_plan(epsilon, delta, depth)
        theirs = recomputed_epsilon(plan, step=2e-5 * epsilon)
        assert 0.998 * epsilon <= theirs <= epsilon


def test_a_pld_plan_with_less_noise_is_refused():
    plan = pld_plan(1.0, 1e-7, 2)
    for i, draw in enumerate(plan.draws):
        lowered = replace(draw, multiplier=0.98 * draw.multiplier)
        tampered = replace(plan, draws=(*plan.draws[:i], lowered, *plan.draws[i + 1 :]))
        with pytest.raises(BudgetError):
            Door(tampered)
    for other in (replace(plan, epsilon=0.999), replace(plan, delta=0.9e-7), replace(plan, stages=None)):
        with pytest.raises(BudgetError, match="more than the budget"):
            other.verify()


def gaussian_plan(n_draws, epsilon, delta):
    """Return a plan of counts alone that uses the whole budget."""
    z = least_multiplier(epsilon * (1 - PLD_SLACK), delta * (1 - PLD_SLACK)) * math.sqrt(n_draws) * (1 + 1e-9)
    draws = [PlannedDraw(COUNT, level, GAUSSIAN, z, 1 / (2 * z * z)) for level in range(n_draws)]
    return Plan(epsilon, delta, "rho", tuple(draws), Stages(n_draws / (2 * z * z), 0.0, ((),)))


def least_fine_scale(plan, n_changed):
    scale = 0.1
    while not plan.is_fine(plan.draws[0], scale, n_changed):
        scale *= 1.01
    return scale


def test_what_is_kept_back_covers_discrete_noise():
    for epsilon, delta in ((1e-3, 1e-6), (1.0, 1e-12), (30.0, 1e-9), (300.0, 0.1)):
        for n_draws, n_values in ((1, 1), (25, 1), (25, 100)):
            plan = gaussian_plan(n_draws, epsilon, delta)
            plan.verify()
            scale, tail = least_fine_scale(plan, n_values), 0.25 * PLD_SLACK * delta / MOST_NOISE_DRAWS
            more = MOST_NOISE_DRAWS * discreteness(scale, n_values, 1 / plan.draws[0].multiplier, math.log(tail))
            assert 0.4 * PLD_SLACK * min(epsilon, 20) < more <= 0.5 * PLD_SLACK * epsilon
            factor = math.exp(MOST_NOISE_DRAWS * n_values / (24 * scale**2))
            assert factor * (1 - PLD_SLACK) * delta + MOST_NOISE_DRAWS * tail <= (1 - 0.3 * PLD_SLACK) * delta


def test_discrete_noise_of_a_pld_plan_keeps_the_promise_exactly():
    """One count with the noise that the door would draw, summed over all outcomes; too coarse noise would not."""
    for epsilon, delta in ((1.0, 1e-6), (5.0, 1e-4), (8.0, 1e-9)):
        plan = gaussian_plan(1, epsilon, delta)
        z = plan.draws[0].multiplier
        parts = 1
        while not plan.is_fine(plan.draws[0], z * parts, 1):
            parts *= 2
        assert parts > 8
        assert exact_discrete_delta(epsilon, z * parts, parts) <= delta


def exact_discrete_delta(epsilon, scale, shift):
    k = np.arange(-math.ceil(14 * scale), math.ceil(14 * scale) + 1)
    p = np.exp(-(k**2) / (2 * scale**2))
    losses = ((k - shift) ** 2 - k**2) / (2 * scale**2)
    return float((p / p.sum() * np.maximum(0.0, -np.expm1(epsilon - losses))).sum())


ROWS = np.vstack([np.full((400, 2), 20.0), np.full((400, 2), 80.0)])


def planned_for(privacy, accountant, delta, depth):
    """Return the plan of a run in which every level that its tree was given was used as its ledger says."""
    splits = [entry for entry in privacy.entries if entry.name == "split"]
    used = len([entry for entry in splits if entry.n_draws])
    return complete_plan(1.0, delta, depth, accountant=accountant, levels=len(splits), used=used)


def charged(privacy):
    return [entry.cost for entry in privacy.entries if entry.cost]


def test_a_fit_says_how_its_epsilon_was_computed(tmp_path):
    model = DPM(epsilon=1.0, delta=1e-6, bounds=(0, 100), accountant="pld", max_depth=4).fit(ROWS)
    privacy = model.privacy_
    assert (privacy.accountant, privacy.currency, privacy.epsilon) == ("pld", "rho", 1.0)
    plan = planned_for(privacy, "pld", 1e-6, 4)
    assert charged(privacy) == pytest.approx([draw.cost for draw in plan._charged()])
    assert privacy.rho == plan.rho == pytest.approx(math.fsum(charged(privacy)))
    assert epsilon_from_rho(privacy.rho, 1e-6) > 1.0
    assert "composed privacy loss" in str(privacy)
    model.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    assert loaded.accountant == "pld"
    assert loaded.privacy_ == privacy


def test_unknown_accountants_are_refused(tmp_path):
    model = DPM(epsilon=1.0, delta=1e-6, bounds=(0, 100), max_depth=2, accountant="zcdp").fit(ROWS)
    values, path = model.release_.to_dict(), tmp_path / "release.json"
    assert "composed privacy loss" not in str(model.privacy_)
    for wrong in ("rdp", 3):
        values["privacy"]["accountant"] = wrong
        path.write_text(json.dumps(values))
        with pytest.raises(ValueError, match="accountant"):
            DPM.load(path)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"delta": 0.0}, "delta=0"),
        ({"variant": "paper"}, "variant='paper'"),
        ({"accountant": "rdp"}, r"one of \['auto', 'zcdp', 'pld'\]"),
    ],
)
def test_where_it_is_not_proven_it_is_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        DPM(**({"bounds": (0, 1), "accountant": "pld"} | wrong)).check_parameters()


def test_noise_that_would_be_too_coarse_is_refused_before_anything_is_drawn():
    drawn = []
    rows, bounds = np.zeros((50, 3), dtype=int), [(0, 1, "int")] * 3
    with pytest.raises(BudgetError, match="nothing was drawn"):
        DPM(epsilon=1e6, bounds=bounds, accountant="pld").fit(rows, progress=lambda *told: drawn.append(told))
    assert drawn == []
    assert DPM(epsilon=1e6, bounds=bounds).fit(rows).privacy_.accountant == "zcdp"
    assert DPM(epsilon=3000.0, bounds=bounds, accountant="pld").fit(rows).privacy_.accountant == "pld"


@pytest.mark.parametrize(
    ("parameters", "expected"), [({}, "pld"), ({"delta": 0.0}, "zcdp"), ({"variant": "paper"}, "zcdp")]
)
def test_by_default_the_accountant_with_less_noise_is_used(parameters, expected):
    model = DPM(bounds=(0, 100), **parameters).fit(ROWS)
    assert model.accountant == "auto"
    assert model.privacy_.accountant == expected
    if not parameters:
        plan = planned_for(model.privacy_, "auto", 1e-7, 10)
        assert charged(model.privacy_) == pytest.approx([draw.cost for draw in plan._charged()])


def test_errors_of_centres_and_sizes_are_smaller():
    """The same draws with about 2.5 % less noise, for the same promise. With profiles the errors of sizes also say how far counts are apart."""
    errors, parameters = {}, {"epsilon": 1.0, "delta": 1e-7, "bounds": (0, 100), "n_clusters": 2, "profiles": False}
    for accountant in ("zcdp", "pld"):
        release = DPM(**parameters, accountant=accountant, random_state=0).fit(ROWS).release_
        errors[accountant] = release.size_errors.mean()
    assert 0.95 < errors["pld"] / errors["zcdp"] < 0.985
