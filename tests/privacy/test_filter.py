"""A plan made in stages: what is released may decide about draws and costs, and all of them together stay within the budget."""

import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from dpmondrian import BudgetError, Column, Schema
from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.exceptions import CheckpointError
from dpmondrian.privacy import NOT_DRAWN, ROWS, Door, Draw, Kind, staged_plan
from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, gaussian_deltas
from dpmondrian.privacy.accountants.staged import Stages, largest_total
from dpmondrian.privacy.accountants.zcdp import epsilon_from_rho, rho_from_epsilon
from dpmondrian.privacy.plan import MOST_NOISE_DRAWS
from dpmondrian.release.statement import PrivacyStatement, make_statement
from dpmondrian.release.verification.ledger import price_faults
from dpmondrian_lab.audit import compare_runs
from dpmondrian_lab.audit.second_accountant import composed_loss

TOTAL = Draw("total", Kind.NOISE, ROWS)
NOISE = Draw("noise", Kind.NOISE, ROWS)
CHOICE = Draw("choice", Kind.CHOICE, "score steps")
BUDGETS = {"zcdp": (1.0, 1e-6, "zcdp"), "pure": (1.0, 0.0, "auto")}
every_budget = pytest.mark.parametrize("budget", BUDGETS)


def open_door(budget, **keywords):
    """Return a seeded door whose plan holds the noise of a first total."""
    plan = staged_plan(*BUDGETS[budget], first=(TOTAL, None), first_share=0.05, **keywords)
    return Door(plan, seed=0)


def spent(door):
    return math.fsum(entry.cost for entry in door.close())


@every_budget
def test_the_total_is_what_the_budget_allows(budget):
    door = open_door(budget)
    epsilon, delta, _ = BUDGETS[budget]
    allowed = rho_from_epsilon(epsilon, delta) if delta else epsilon
    assert door.plan.total == pytest.approx(allowed, rel=1e-8)
    assert door.plan.total < allowed
    assert door.left == pytest.approx(0.95 * door.plan.total)
    assert door.plan.find(TOTAL).cost == pytest.approx(0.05 * door.plan.total)


@every_budget
def test_draws_are_planned_from_what_is_left_to_the_last_bit(budget):
    door = open_door(budget)
    door.counts(TOTAL, None, [100])
    for step in range(7):
        door.extend([door.plan_draw(NOISE, step, door.left / 3), door.plan_draw(CHOICE, step, door.left / 5)])
        door.counts(NOISE, step, [1, 2, 3])
        door.select(CHOICE, step, [np.arange(4)], [1])
    door.extend([door.plan_draw(NOISE, 7, door.left)])
    assert door.left <= 1e-15 * door.plan.total
    door.counts(NOISE, 7, [1])
    assert spent(door) == pytest.approx(door.plan.total, rel=1e-12)
    assert door.deviation(NOISE, 0) < door.deviation(NOISE, 3)


@every_budget
def test_mechanisms_are_those_of_the_currency(budget):
    door = open_door(budget)
    drawn = [door.plan_draw(draw, None, 0.01) for draw in (NOISE, CHOICE)]
    expected = {
        "zcdp": ["discrete Gaussian", "exponential mechanism"],
        "pure": ["discrete Laplace", "permute-and-flip"],
    }
    assert [planned.mechanism for planned in drawn] == expected[budget]
    assert [door.plan.cost_of(d.mechanism, d.multiplier) for d in drawn] == pytest.approx([0.01, 0.01])


@every_budget
def test_what_exceeds_the_budget_is_refused_and_nothing_changes(budget):
    door = open_door(budget)
    before = door.plan
    for factor in (1.0 + 1e-6, 2.0, 1e9):
        with pytest.raises(BudgetError):
            door.extend([door.plan_draw(NOISE, 0, 0.5 * door.left), door.plan_draw(NOISE, 1, factor * 0.5 * door.left)])
        assert door.plan is before
    with pytest.raises(BudgetError, match="no draw"):
        door.counts(NOISE, 0, [1])
    with pytest.raises(BudgetError, match="nothing left"):
        door.plan_draw(NOISE, 0, 0.0)
    with pytest.raises(BudgetError, match="nothing left"):
        door.plan_draw(NOISE, 0, math.nan)


@every_budget
def test_a_draw_is_planned_once_even_if_it_was_waived(budget):
    door = open_door(budget)
    door.extend([door.plan_draw(NOISE, 0, 0.1 * door.left)])
    with pytest.raises(BudgetError, match="twice"):
        door.extend([door.plan_draw(NOISE, 0, 0.1 * door.left)])
    door.waive(NOISE, 0)
    with pytest.raises(BudgetError, match="twice"):
        door.extend([door.plan_draw(NOISE, 0, 0.1 * door.left)])


@every_budget
def test_what_is_waived_is_left_again_and_stands_in_the_ledger(budget):
    door = open_door(budget)
    door.counts(TOTAL, None, [100])
    door.extend([door.plan_draw(NOISE, 0, 0.5 * door.left), door.plan_draw(CHOICE, 0, 0.5 * door.left)])
    assert door.left == pytest.approx(0.0, abs=1e-15)
    door.waive(NOISE, 0)
    door.waive(CHOICE, 0)
    assert door.left == pytest.approx(0.95 * door.plan.total)
    with pytest.raises(BudgetError, match="no draw"):
        door.counts(NOISE, 0, [1])
    door.extend([door.plan_draw(NOISE, 1, 0.6 * door.plan.total)])
    door.counts(NOISE, 1, [1])
    entries = {(entry.name, entry.level): entry for entry in door.close()}
    assert list(entries) == [("total", None), ("noise", 0), ("choice", 0), ("noise", 1)]
    for waived in (entries["noise", 0], entries["choice", 0]):
        assert (waived.unit, waived.n_draws, waived.cost) == (NOT_DRAWN, 0, 0.0)
    assert spent(door) == pytest.approx(0.65 * door.plan.total)


@every_budget
def test_what_was_drawn_cannot_be_waived(budget):
    door = open_door(budget)
    door.counts(TOTAL, None, [100])
    with pytest.raises(BudgetError, match="was made"):
        door.waive(TOTAL)
    with pytest.raises(BudgetError, match="no draw"):
        door.waive(NOISE, 3)


@every_budget
def test_what_was_planned_must_be_made_or_waived(budget):
    door = open_door(budget)
    door.counts(TOTAL, None, [100])
    door.extend([door.plan_draw(NOISE, 0, 0.5 * door.left)])
    with pytest.raises(BudgetError, match="was not made"):
        door.close()


@every_budget
def test_an_extension_that_declares_less_than_its_noise_costs_is_refused(budget):
    door = open_door(budget)
    draw = door.plan_draw(NOISE, 0, 0.1 * door.left)
    for wrong in ({"cost": 0.05 * door.left}, {"cost": math.nan}, {"multiplier": math.nan}):
        with pytest.raises(BudgetError, match="declares less"):
            door.extend([replace(draw, **wrong)])


def test_progress_counts_the_draws_that_are_planned_so_far():
    told = []
    plan = staged_plan(1.0, 1e-6, "zcdp", first=(TOTAL, None), first_share=0.05)
    door = Door(plan, seed=0, before_draw=lambda *progress: told.append(progress))
    door.counts(TOTAL, None, [100])
    door.extend([door.plan_draw(NOISE, step, 0.1 * door.left) for step in range(3)])
    door.counts(NOISE, 0, [1])
    door.waive(NOISE, 1)
    door.counts(NOISE, 2, [1])
    assert told == [("total", 0, 1), ("noise", 1, 4), ("noise", 2, 3)]


def test_the_statement_of_a_staged_plan_is_that_of_its_total():
    door = open_door("zcdp")
    assert door.plan.rho == door.plan.total
    assert epsilon_from_rho(door.plan.rho, 1e-6) <= 1.0


def test_a_plan_that_was_made_at_once_is_not_changed():
    door = Door(replace(open_door("zcdp").plan, is_staged=False), seed=0)
    with pytest.raises(BudgetError, match="all at once"):
        door.extend([door.plan_draw(NOISE, 0, 0.1 * door.left)])
    with pytest.raises(BudgetError, match="all at once"):
        door.waive(TOTAL)


def costs_from(decided_by):
    """Return a run whose costs and number of draws are decided by what was released, or by the rows themselves."""

    def run(rows):
        door = Door(staged_plan(1.0, 1e-6, "auto", first=(TOTAL, None), first_share=0.05, selection_shares=WAYS))
        [released] = door.counts(TOTAL, None, [len(rows)]).tolist()
        seen = released if decided_by == "released values" else len(rows)
        door.extend(selections(door, WAYS[1 + seen % 3]))
        found = [door.select(CHOICE, level, [np.bincount(rows, minlength=4)], [1]) for level in range(1 + seen % 3)]
        door.extend([door.plan_draw(NOISE, 0, (0.5 if seen % 2 else 0.25) * door.left)])
        return released, found, door.counts(NOISE, 0, np.bincount(rows, minlength=4)).tolist(), door.close()

    return run


@pytest.mark.parametrize("decided_by", ["released values", "rows"])
def test_an_audit_sees_what_the_plan_was_decided_by(decided_by):
    rows = np.arange(50) % 4
    for seed in range(3):
        findings = compare_runs(costs_from(decided_by), rows, np.append(rows, 2), seed=seed)
        assert findings.ok == (decided_by == "released values"), findings


class Killed(BaseException):
    """Ends a life of a run."""


def staged_run(path, n_draws=None, share=0.3):
    """Make up to `n_draws` draws of a run whose costs depend on its first value; return what it released and its ledger."""
    with Checkpoint(path).journal({}) as journal:
        plan = staged_plan(1.0, 1e-6, "auto", first=(TOTAL, None), first_share=0.05, selection_shares=WAYS)

        def before_draw(_name, n_done, _n_planned):
            if n_done == n_draws:
                raise Killed

        door = Door(plan, seed=3, journal=journal, before_draw=before_draw)
        [released] = door.counts(TOTAL, None, [100]).tolist()
        door.extend(selections(door, WAYS[released % 4]))
        chosen = [door.select(CHOICE, level, [np.arange(4)], [1]) for level in range(len(WAYS[released % 4]))]
        sizes = []
        for step in range(3):
            door.extend([door.plan_draw(NOISE, step, (share + 0.1 * (released % 3)) * door.left)])
            sizes += door.counts(NOISE, step, [released, 5]).tolist()
        return released, chosen, sizes, door.close()


def test_a_run_that_was_killed_makes_the_same_plan_again(tmp_path):
    whole = staged_run(tmp_path / "whole.ckpt")
    for n_draws in range(1, len(whole[-1])):
        path = tmp_path / f"{n_draws}.ckpt"
        with pytest.raises(Killed):
            staged_run(path, n_draws)
        assert staged_run(path) == whole


def test_a_life_that_plans_another_cost_for_a_draw_that_was_made_is_refused(tmp_path):
    n_made = len(staged_run(tmp_path / "whole.ckpt")[-1])
    with pytest.raises(Killed):
        staged_run(tmp_path / "run.ckpt", n_made - 1)
    with pytest.raises(CheckpointError, match="different draws"):
        staged_run(tmp_path / "run.ckpt", share=0.31)


# --- composed privacy losses: what may be planned -----------------------------------------------------------------


WAYS = ((), (0.2,), (0.06, 0.1), (0.03, 0.05, 0.07))
"""Shares of the total that the selections of every way have."""


def composed_door(epsilon=1.0, delta=1e-6, accountant="pld", ways=WAYS, first_share=0.05):
    plan = staged_plan(epsilon, delta, accountant, first=(TOTAL, None), first_share=first_share, selection_shares=ways)
    return Door(plan, seed=0)


def selections(door, shares):
    return [door.plan_draw(CHOICE, level, share * door.plan.total) for level, share in enumerate(shares)]


def test_composed_losses_allow_more_than_zcdp_and_auto_takes_the_larger_total():
    by_loss, by_rho, auto = (composed_door(accountant=accountant).plan for accountant in ("pld", "zcdp", "auto"))
    assert (by_loss.accountant, by_rho.accountant, auto.accountant) == ("pld", "zcdp", "pld")
    assert by_loss.total == auto.total > 1.02 * by_rho.total
    mostly_selections = ((0.023,) * 40,)
    plans = {
        accountant: composed_door(accountant=accountant, ways=mostly_selections).plan for accountant in ("pld", "auto")
    }
    assert plans["pld"].total < plans["auto"].total
    assert plans["auto"].accountant == "zcdp"


def test_without_selections_it_is_the_formula_of_gaussian_noise():
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3)):
        plan = composed_door(epsilon, delta, ways=((),)).plan
        target = delta * (1 - PLD_SLACK)
        found = gaussian_deltas(np.array([epsilon * (1 - PLD_SLACK)]), math.sqrt(2 * plan.total))[0]
        assert target * (1 - 1e-4) < found <= target


@pytest.mark.parametrize("way", WAYS)
def test_every_way_may_be_taken_to_the_end(way):
    door = composed_door()
    door.counts(TOTAL, None, [100])
    door.extend([*reversed(selections(door, way)), door.plan_draw(NOISE, 0, 0.1 * door.plan.total)])
    for level in range(len(way)):
        door.select(CHOICE, level, [np.arange(4)], [1])
    door.counts(NOISE, 0, [1])
    door.extend([door.plan_draw(NOISE, 1, door.left)])
    door.counts(NOISE, 1, [1])
    assert spent(door) == pytest.approx(door.plan.total, rel=1e-12)


def test_other_selections_than_those_of_a_way_are_refused():
    for shares in ((0.21,), (0.19,), (0.06,), (0.06, 0.1, 0.01), (0.03, 0.05, 0.07, 0.07), (0.2, 0.2)):
        door = composed_door()
        with pytest.raises(BudgetError, match="ways"):
            door.extend(selections(door, shares))


def test_selections_are_planned_directly_after_the_first_noise():
    door = composed_door()
    door.extend([door.plan_draw(NOISE, 0, 0.01 * door.left)])
    with pytest.raises(BudgetError, match="directly after"):
        door.extend(selections(door, WAYS[1]))
    door = composed_door()
    door.extend(selections(door, WAYS[1]))
    with pytest.raises(BudgetError, match="directly after"):
        door.extend([door.plan_draw(CHOICE, 7, 0.1 * door.left)])


def test_a_waived_selection_is_not_handed_on_but_waived_noise_is():
    door = composed_door()
    door.extend([*selections(door, WAYS[2]), door.plan_draw(NOISE, 0, 0.2 * door.plan.total)])
    before = door.left
    door.waive(CHOICE, 0)
    assert door.left == before
    door.waive(NOISE, 0)
    assert door.left == pytest.approx(before + 0.2 * door.plan.total)
    entries = {(entry.name, entry.level): entry for entry in door.plan.draws}
    assert entries["choice", 0].waived
    with pytest.raises(BudgetError):
        door.extend([door.plan_draw(NOISE, 1, door.left + 0.01 * door.plan.total)])


def test_the_number_of_noise_draws_is_limited_by_what_is_kept_back():
    door = composed_door()
    noise = [door.plan_draw(NOISE, step, 0.01 * door.left) for step in range(MOST_NOISE_DRAWS)]
    with pytest.raises(BudgetError, match="at most 64"):
        door.extend(noise)
    door.extend(noise[:-1])


def test_a_plan_with_a_larger_total_is_refused():
    plan = composed_door().plan
    with pytest.raises(BudgetError, match="more than the budget"):
        replace(plan, stages=plan.stages.scaled(1.0001 * plan.total)).verify()
    for other in (replace(plan, epsilon=0.9999), replace(plan, delta=0.999e-6)):
        with pytest.raises(BudgetError, match="more than the budget"):
            other.verify()


@pytest.mark.slow
def test_the_total_is_found_from_below_and_found_again():
    for epsilon, delta in ((1e-6, 1e-7), (0.05, 1e-12), (1.0, 1e-300), (3.0, 0.01), (200.0, 1e-9)):
        shares = Stages(1.0, 0.02, WAYS)
        total = largest_total(shares, epsilon, delta)
        assert shares.scaled(total).delta(epsilon) <= delta
        assert shares.scaled(total * (1 + 1e-5)).delta(epsilon) > delta
        other_start = largest_total(shares.scaled(7.0), epsilon, delta)
        assert other_start == pytest.approx(total, rel=2e-6)


# --- statements of runs that were planned in stages ---------------------------------------------------------------


def stated(budget):
    """Return the statement of a run that waived two draws and left something, and the plan with which it began."""
    door = composed_door() if budget == "pld" else open_door(budget)
    began, way = door.plan, WAYS[2]
    door.counts(TOTAL, None, [100])
    noise = [door.plan_draw(NOISE, step, 0.1 * door.plan.total) for step in range(2)]
    door.extend([*selections(door, way), *noise])
    door.waive(CHOICE, 0)
    door.waive(NOISE, 0)
    door.select(CHOICE, 1, [np.arange(4)], [1])
    door.counts(NOISE, 1, [1])
    door.extend([door.plan_draw(NOISE, 2, 0.5 * door.left)])
    door.counts(NOISE, 2, [1])
    return make_statement(door.plan, door.close(), Schema((Column("x", 0, 1),)), 1, "default", True), began


every_accountant = pytest.mark.parametrize("budget", [*BUDGETS, "pld"])


@every_accountant
def test_a_statement_tells_what_was_not_spent(budget):
    privacy, _ = stated(budget)
    assert privacy.staged
    assert privacy.rho == (None if budget == "pure" else pytest.approx(privacy.rho))
    waived = [entry for entry in privacy.entries if entry.cost == 0.0]
    assert [(entry.name, entry.n_draws, entry.unit) for entry in waived] == [
        ("choice", 0, NOT_DRAWN),
        ("noise", 0, NOT_DRAWN),
    ]
    left = 1 - 0.05 - 0.1 - 0.1 - (0.06 if budget == "pld" else 0.0)
    assert privacy.unspent == pytest.approx(1 - 0.25 - 0.5 * left, abs=1e-6)
    assert f"{100 * privacy.unspent:.1f} %" in str(privacy)
    assert PrivacyStatement.from_dict(privacy.to_dict()) == privacy


@every_accountant
def test_a_statement_is_explained_by_its_total(budget):
    """What an attacker can learn is bounded by what the run might have cost, not by what it happened to cost."""
    privacy, began = stated(budget)
    cheaper = replace(privacy, entries=privacy.entries[:1])
    assert privacy.explain() == cheaper.explain()
    promised = privacy.explain().advantage
    if budget == "pure":
        assert promised == pytest.approx(math.tanh(0.5))
    else:
        assert promised >= gaussian_deltas(np.zeros(1), math.sqrt(2 * began.total * 0.9))[0]


@every_accountant
def test_the_price_of_a_statement_is_checked_again(budget):
    privacy, began = stated(budget)
    assert list(price_faults(privacy, began)) == []

    def faults(number=None, **other):
        entries = list(privacy.entries)
        if number is not None:
            entries[number] = replace(entries[number], **other)
            other = {}
        return list(price_faults(replace(privacy, **{"entries": tuple(entries)} | other), began))

    last = privacy.entries[-1]
    power = 1.0 if budget == "pure" else 2.0
    much = (1.2 * began.total / last.cost) ** (1.0 / power)
    assert faults(-1, cost=0.9 * last.cost)
    assert faults(-1, scale=0.9 * last.scale)
    assert faults(-1, scale=last.scale / much, cost=last.cost * much**power)  # consistent, but more than the total
    assert faults(1, cost=1e-9)
    assert faults(-1, scale=0.0)
    assert faults(epsilon=0.5)
    if budget != "pure":
        assert faults(rho=0.99 * privacy.rho)
        assert faults(rho=1.01 * privacy.rho)
        assert faults(rho=None)
    if budget == "pld":
        fewer = replace(privacy, entries=(*privacy.entries[:1], *privacy.entries[2:]))
        assert "ways" in next(price_faults(fewer, began))


# --- composed privacy losses: the bound ---------------------------------------------------------------------------


def composition(stages, way):
    """Return what follows the first noise, if a way is taken."""
    rho = stages.total - stages.first - math.fsum(way)
    return Composition(ranges=tuple(math.sqrt(8 * cost) for cost in way), mu=math.sqrt(2 * rho))


def nodes(mu, n=400):
    """Return losses of Gaussian noise and their probabilities, cell by cell: not by the grid of the accountant."""
    edges = np.linspace(-9, 9, n + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    weights = np.array([0.5 * (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) for a, b in pairwise(edges)])
    return mu * middles + 0.5 * mu * mu, weights


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-5), (1.0, 1e-6), (4.0, 1e-4)])
@pytest.mark.parametrize("ways", [((), (0.1,) * 3), tuple((0.25 / n,) * n for n in range(1, 13)), WAYS], ids=len)
def test_a_second_accountant_finds_the_same_delta(epsilon, delta, ways):
    """Every way by dp-accounting, the worst one for each loss of the first noise, averaged by midpoints."""
    stages = composed_door(epsilon, delta, ways=ways, first_share=0.03).plan.stages
    losses, weights = nodes(math.sqrt(2 * stages.first))
    theirs = [composed_loss(composition(stages, way), 2e-4 * epsilon) for way in stages.ways]
    for x in (0.5 * epsilon, epsilon):
        worst = np.max([loss.get_delta_for_epsilon((x - losses)[::-1])[::-1] for loss in theirs], axis=0)
        assert stages.delta(x) == pytest.approx(float(weights @ worst), rel=0.03)


@lru_cache
def best_response(epsilons, ranges, mu):
    """Return the exact delta of an adversary at all points of a grid of epsilons.

    Before each selection it looks at the loss so far and takes the pair of that range that serves it best: a
    log-ratio of t or t - width. Gaussian noise comes last.
    """
    grid = np.array(epsilons)
    value = gaussian_deltas(grid, mu)
    for width in ranges:
        tried = []
        for t in np.linspace(0, width, 21):
            p = math.expm1(t - width) / math.expm1(-width)
            reached = [np.interp(grid - loss, grid, value, left=1.0) for loss in (t, t - width)]
            tried.append(p * reached[0] + (1 - p) * reached[1])
        value = np.max(tried, axis=0)
    return value


def attained(stages, epsilon, noise=1.0):
    """Return the exact delta of an adversary who sees the loss of the first noise, takes the worst way, and goes on like that.

    All noise is `noise` times what is planned.
    """
    actual = stages.scaled(stages.total / noise**2)
    losses, weights = nodes(math.sqrt(2 * actual.first))
    reach = 14 * math.sqrt(2 * actual.total) + 3 * epsilon
    grid = tuple(np.linspace(-reach, reach, 6001).tolist())
    of_ways = []
    for way in actual.ways:
        rest = composition(actual, way)
        of_ways.append(np.interp(epsilon - losses, grid, best_response(grid, rest.ranges, rest.mu)))
    return float(weights @ np.max(of_ways, axis=0))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-5), (1.0, 1e-6), (4.0, 1e-3)])
def test_the_worst_adversary_stays_within_the_budget_and_exceeds_it_with_less_noise(epsilon, delta):
    ways = ((), (0.03,), (0.02, 0.03))
    stages = composed_door(epsilon, delta, ways=ways).plan.stages
    assert 0.5 * delta < attained(stages, epsilon) <= delta
    assert attained(stages, epsilon, noise=0.95) > 1.05 * delta


def best_spending(total, epsilon, noise=1.0):
    """Return the exact delta of an adversary who divides Gaussian noise into steps and looks at the loss before each of them.

    In each of three steps it spends nothing, a part, or all that is left; `noise` is the part of the planned scales that is drawn.
    """
    grid = np.linspace(epsilon - 16 * math.sqrt(2 * total) / noise, epsilon + 16 * math.sqrt(2 * total) / noise, 3001)
    units = 4
    value = [gaussian_deltas(grid, math.sqrt(2 * total * left / units) / noise) for left in range(units + 1)]
    for _ in range(2):
        after = []
        for left in range(units + 1):
            tried = [value[left]]
            for cost in range(1, left + 1):
                losses, weights = nodes(math.sqrt(2 * total * cost / units) / noise, 500)
                tried.append(
                    sum(w * np.interp(grid - y, grid, value[left - cost]) for y, w in zip(losses, weights, strict=True))
                )
            after.append(np.max(tried, axis=0))
        value = after
    return float(np.interp(epsilon, grid, value[units]))


@pytest.mark.slow
def test_gaussian_noise_whose_costs_are_chosen_on_the_way_costs_what_one_draw_costs():
    for epsilon, delta in ((0.5, 1e-3), (2.0, 1e-4)):
        total = composed_door(epsilon, delta, ways=((),)).plan.total
        assert best_spending(total, epsilon) == pytest.approx(delta, rel=0.002)
        assert best_spending(total, epsilon, noise=0.95) > 1.1 * delta


# --- pure and zCDP: adversaries who look at what was released -----------------------------------------------------


def adaptive_draws(budget, first_released):
    """Return the noise of a run whose costs depend on its first value: the planned draws, in order."""
    door = open_door(budget)
    greedy = first_released > 0
    door.extend([door.plan_draw(NOISE, 0, (0.7 if greedy else 0.2) * door.left)])
    door.extend([door.plan_draw(NOISE, 1, (0.5 if greedy else 1.0) * door.left)])
    if greedy:
        door.waive(NOISE, 0)
        door.extend([door.plan_draw(NOISE, 2, door.left)])
    return [draw for draw in door.plan.draws if not draw.waived]


REACH = 150


def log_law(draw, noise, shift=0):
    """Return logarithms of the law of a count with noise, on whole numbers from -REACH to REACH."""
    scale = noise * draw.multiplier
    k, wide = np.arange(-REACH, REACH + 1) - shift, np.arange(-10 * REACH, 10 * REACH + 1)
    exponent = (
        (lambda x: x**2 / (2 * scale**2)) if draw.mechanism == "discrete Gaussian" else (lambda x: np.abs(x) / scale)
    )
    return -exponent(k) - math.log(np.exp(-exponent(wide)).sum())


def largest_ratio(noise):
    """Return the largest log-ratio of any transcript of the pure adversary, between a person who is there and who is not."""
    largest = []
    for first_released in (-REACH, REACH):
        draws = adaptive_draws("pure", first_released)
        ratios = [np.abs(log_law(draw, noise) - log_law(draw, noise, 1)).max() for draw in draws]
        largest.append(math.fsum(ratios))
    return max(largest)


def test_no_transcript_of_pure_draws_exceeds_epsilon():
    assert 1.0 - 1e-6 < largest_ratio(1.0) <= 1.0 + 1e-9
    assert largest_ratio(0.95) > 1.05


def transcript_delta(epsilon, noise):
    """Return delta, at epsilon, of the Gaussian adversary: summed over all transcripts of discrete noise."""
    total = 0.0
    for greedy in (False, True):
        draws = adaptive_draws("zcdp", 1.0 if greedy else -1.0)
        p, q = (np.array([log_law(draw, noise, shift) for draw in draws]) for shift in (0, 1))
        where = (np.arange(-REACH, REACH + 1) > 0) == greedy
        losses, masses = (p - q)[0][where], np.exp(p[0][where])
        for step in range(1, len(draws)):
            losses = np.add.outer(losses, (p - q)[step]).ravel()
            masses = np.multiply.outer(masses, np.exp(p[step])).ravel()
            losses, masses = binned(losses, masses)
        total += float((masses * np.maximum(0.0, -np.expm1(epsilon - losses))).sum())
    return total


def binned(losses, masses, width=1e-3):
    """Return losses rounded to a fine grid, with their masses added up."""
    keys, inverse = np.unique(np.rint(losses / width), return_inverse=True)
    return keys * width, np.bincount(inverse, weights=masses)


@pytest.mark.slow
def test_transcripts_of_gaussian_draws_keep_what_zcdp_promises():
    """The noise that the door would draw, on whole numbers. zCDP leaves room, which noise that is too small uses up."""
    delta = BUDGETS["zcdp"][1]
    assert 0.2 * delta < transcript_delta(1.0, 1.0) <= delta
    assert transcript_delta(1.0, 0.9) > delta
