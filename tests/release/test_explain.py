"""What epsilon means: bounds on the best attacker against closed forms, against riskcal, and in words."""

import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpmondrian import DPM, BudgetError, Schema
from dpmondrian.cli.main import main
from dpmondrian.privacy.accountants.pld import Composition
from dpmondrian.privacy.ledger import Entry
from dpmondrian.release.statement import ADD_OR_REMOVE, SECURE, PrivacyStatement, Unit, unit_of
from dpmondrian.schema.columns import Estimate
from dpmondrian.show.words.numbers import of_hundred
from dpmondrian_lab.audit.second_accountant import composed_loss
from dpmondrian_lab.peers.lab_plan import JOINT
from dpmondrian_lab.peers.statements import JointStatement, no_privacy

ALPHAS = (0.01, 0.05, 0.1)
ROWS = np.vstack([np.full((300, 2), 20.0), np.full((300, 2), 80.0)])
VARIANTS = {
    "default": {},
    "pld": {"accountant": "pld"},
    "k": {"n_clusters": 2},
    "pure": {"delta": 0.0},
    "paper": {"variant": "paper"},
    "large": {"epsilon": 8.0},
    "small": {"epsilon": 0.05, "accountant": "pld"},
}


def entry(mechanism, cost, delta=0.0):
    return Entry("count", 0, mechanism, "rows", 1.0, 1.0, cost, 1, delta)


def statement(epsilon, delta, currency, *entries, **more):
    fields = {
        "rho": None, "releasable": True, "unit": Unit(), "neighbours": ADD_OR_REMOVE, "rows_per_person": 1,
        "variant": "default", "bounds": (), "randomness": SECURE, "version": "0",
    }  # fmt: skip
    kind = JointStatement if currency == JOINT else PrivacyStatement
    return kind(epsilon=epsilon, delta=delta, currency=currency, entries=entries, **(fields | more))


def fitted(**parameters):
    return DPM(**({"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 100), "max_depth": 4} | parameters)).fit(ROWS)


# --- closed forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.01, 0.2, 1.0, 3.0])
def test_one_gaussian_draw(mu):
    found = statement(50.0, 1e-9, JOINT, entry("discrete Gaussian", mu)).explain()
    expected = [norm.cdf(norm.ppf(alpha) + mu) for alpha in ALPHAS]
    rates = [rate.true_positives for rate in found.rates]
    assert rates == pytest.approx(expected, rel=2e-4)
    assert all(rate >= exact for rate, exact in zip(rates, expected, strict=True))
    assert 2 * norm.cdf(mu / 2) - 1 <= found.advantage <= (2 * norm.cdf(mu / 2) - 1) * 1.0002 + 1e-4
    assert found.basis == "privacy loss"


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_one_pure_draw_is_what_epsilon_alone_says(epsilon):
    found = statement(epsilon, 0.0, "epsilon", entry("discrete Laplace", epsilon)).explain()
    expected = [min(math.exp(epsilon) * a, 1 - math.exp(-epsilon) * (1 - a)) for a in ALPHAS]
    assert [rate.true_positives for rate in found.rates] == pytest.approx(expected, rel=1e-9)
    assert [rate.by_epsilon_alone for rate in found.rates] == pytest.approx(expected, rel=1e-9)
    assert found.advantage == pytest.approx(math.expm1(epsilon) / (math.exp(epsilon) + 1), rel=1e-9)


def test_two_pure_draws():
    """The attacker sees both, one, or none point to the person: the likelihood-ratio test, by hand."""
    found = statement(2.0, 0.0, "epsilon", *[entry("permute-and-flip", 1.0)] * 2).explain()
    p = 1 / (1 + math.exp(-1.0))
    both, both_of_others = p * p, (1 - p) ** 2
    expected = both + (0.1 - both_of_others) / (2 * p * (1 - p)) * 2 * p * (1 - p)
    assert both_of_others < 0.1
    assert found.rates[2].true_positives == pytest.approx(expected, rel=1e-5)
    assert found.advantage == pytest.approx(both - both_of_others, rel=1e-5)


def test_one_selection():
    epsilon = 1.5
    found = statement(epsilon, 0.0, "epsilon", entry("exponential mechanism", epsilon)).explain()
    assert found.advantage == pytest.approx(math.tanh(epsilon / 4), rel=1e-5)


def test_noise_in_whole_steps_is_explained_by_its_zcdp_cost():
    """Above what continuous noise would give, and not far above."""
    for rho in (1e-4, 0.02, 0.3):
        mu = math.sqrt(2 * rho)
        found = statement(50.0, 1e-9, "rho", entry("discrete Gaussian", rho), rho=rho).explain()
        assert found.basis == "zCDP"
        for rate in found.rates:
            gain = norm.cdf(norm.ppf(rate.false_positives) + mu) - rate.false_positives
            assert gain <= rate.true_positives - rate.false_positives <= 1.5 * gain
        assert 2 * norm.cdf(mu / 2) - 1 <= found.advantage <= math.sqrt(rho / 2)


def test_probabilities_set_aside_count():
    without = statement(3.0, 1e-3, JOINT, entry("discrete Gaussian", 0.2)).explain()
    found = statement(3.0, 1e-3, JOINT, entry("discrete Gaussian", 0.2), entry("max cover", 0.0, 5e-4)).explain()
    assert found.advantage == pytest.approx(without.advantage + 5e-4, rel=1e-5)


# --- other people's code ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_riskcal_agrees(epsilon):
    """On dp-accounting's distribution of the actual entries; if they had been decided on the way, there would be less to say."""
    from riskcal.analysis import get_advantage_from_pld, get_beta_from_pld

    staged = fitted(epsilon=epsilon, accountant="pld").privacy_
    privacy = replace(staged, staged=False)
    found = privacy.explain()
    loss = composed_loss(Composition.of(privacy.entries, "rho", fine=True), 1e-4 * epsilon)
    theirs = [1 - get_beta_from_pld(loss, alpha) for alpha in ALPHAS]
    assert [rate.true_positives for rate in found.rates] == pytest.approx(theirs, rel=1e-3)
    assert found.advantage == pytest.approx(get_advantage_from_pld(loss), rel=2e-3)
    assert found.advantage < staged.explain().advantage


def test_a_pure_plan_made_in_stages_is_one_pure_draw():
    """What its draws cost was decided on the way, so only their sum is known."""
    found = fitted(delta=0.0).privacy_.explain()
    assert found.rates[0].true_positives == pytest.approx(0.01 * math.e)
    assert found.advantage == pytest.approx(math.tanh(0.5))


def test_what_epsilon_alone_allows_is_what_riskcal_says():
    from riskcal.analysis import get_advantage_from_adp, get_beta_from_adp

    for epsilon, delta in ((0.1, 1e-7), (1.0, 1e-3), (6.0, 0.01)):
        found = statement(epsilon, delta, "epsilon", entry("discrete Laplace", epsilon)).explain()
        theirs = [1 - get_beta_from_adp(epsilon, delta, alpha) for alpha in ALPHAS]
        assert [rate.by_epsilon_alone for rate in found.rates] == pytest.approx(theirs, rel=1e-9)
        assert found.advantage_by_epsilon_alone == pytest.approx(get_advantage_from_adp(epsilon, delta), rel=1e-9)


# --- fits ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "pure"])
def test_it_says_more_than_epsilon_and_delta(variant):
    """But without delta: how many draws share epsilon was decided on the way, and one that has all of it is not better."""
    found = fitted(**VARIANTS[variant]).privacy_.explain()
    if variant == "pure":
        assert found.advantage == pytest.approx(found.advantage_by_epsilon_alone)
        assert all(rate.true_positives == pytest.approx(rate.by_epsilon_alone) for rate in found.rates)
        return
    assert 0 < found.advantage < 0.9 * found.advantage_by_epsilon_alone
    for rate in found.rates:
        assert rate.false_positives < rate.true_positives < 0.995 * rate.by_epsilon_alone


@pytest.mark.parametrize("variant", ["default", "k", "pure", "small", "large"])
def test_what_is_planned_on_the_way_is_explained_by_its_total(variant):
    """That is never less than what the draws that were made amount to, and not much more."""
    privacy = fitted(**VARIANTS[variant]).privacy_
    by_total, by_draws = privacy.explain(), replace(privacy, staged=False).explain()
    assert by_draws.advantage <= by_total.advantage <= 1.6 * by_draws.advantage or variant == "pure"
    for total, draws in zip(by_total.rates, by_draws.rates, strict=True):
        assert draws.true_positives <= total.true_positives


def test_a_composed_loss_says_more_than_zcdp():
    """Of less noise, for the same epsilon, where all draws are known before."""
    by_zcdp, by_loss = (
        replace(fitted(accountant=accountant).privacy_, staged=False).explain() for accountant in ("zcdp", "pld")
    )
    assert by_loss.advantage < by_zcdp.advantage
    assert by_loss.rates[0].true_positives < by_zcdp.rates[0].true_positives


def test_several_rows_of_a_person_are_one_unit():
    """Noise grows with the rows of a person, so the bounds for the person stay."""
    one, three = fitted().privacy_.explain(), fitted(rows_per_person=3).privacy_.explain()
    assert three.unit == unit_of(3, None)
    assert "one person with up to 3 rows" in str(three)
    assert (three.advantage, three.rates) == (pytest.approx(one.advantage), one.rates)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "pld", "paper"])
def test_bounds_estimated_before_are_taken_into_account(variant):
    privacy = fitted(**VARIANTS[variant]).privacy_
    before, found = privacy.explain(), replace(privacy, bounds_epsilon=0.5).explain()
    assert found.epsilon == before.epsilon + 0.5
    assert found.rates[0].true_positives > 1.1 * before.rates[0].true_positives
    if variant != "pure":  # of two pure draws the larger one decides about the advantage
        assert found.advantage > before.advantage + 0.02
    assert found.advantage_by_epsilon_alone > before.advantage_by_epsilon_alone
    only_bounds = statement(0.5, 0.0, "epsilon", entry("discrete Laplace", 0.5)).explain()
    assert only_bounds.advantage < found.advantage < only_bounds.advantage + before.advantage
    assert all(new.true_positives > old.true_positives for new, old in zip(found.rates, before.rates, strict=True))


def test_what_a_schema_cost_reaches_the_explanation():
    schema = Schema.from_bounds((0, 100), ("x0", "x1"), (False, False))
    schema = replace(schema, estimate=Estimate(0.5))
    assert fitted(bounds=schema).privacy_.explain().epsilon == 1.5


def test_seeded_runs_say_that_nothing_holds():
    found = fitted(random_state=0).privacy_.explain()
    assert not found.releasable
    assert str(found).startswith("NOT RELEASABLE")


def test_what_promises_nothing_is_not_explained():
    with pytest.raises(BudgetError, match="No finite epsilon"):
        no_privacy().explain()


@pytest.mark.slow
@pytest.mark.parametrize("currency", ["rho", "epsilon", JOINT])
def test_strange_costs_give_true_bounds(currency):
    """As a damaged or hostile file may hold them: no warning, no endless work, never better than guessing."""
    for cost, epsilon in ((0.0, 1e-6), (5e-324, 1e300), (1e3, 1.0), (1e15, 1e300)):
        for mechanism in ("discrete Gaussian", "exponential mechanism"):
            entries = [entry(mechanism, cost, 1e-9), entry("exponential mechanism", 0.1)]
            found = statement(epsilon, 1e-9, currency, *entries, bounds_epsilon=cost).explain()
            assert 0 <= found.advantage <= 1
            assert all(rate.false_positives <= rate.true_positives <= 1 for rate in found.rates)


@pytest.mark.parametrize("wrong", [{"cost": -1.0}, {"cost": 1e200}, {"delta": 2.0}, {"mechanism": "magic"}])
def test_a_ledger_that_cannot_be_is_refused(wrong):
    privacy = replace(fitted().privacy_, staged=False)
    damaged = replace(privacy, entries=(replace(privacy.entries[0], **wrong), *privacy.entries[1:]))
    with pytest.raises(BudgetError):
        damaged.explain()


# --- words --------------------------------------------------------------------------------------------------------


def test_words_and_numbers():
    found = fitted(accountant="pld").privacy_.explain()
    words = str(found)
    for rate in found.rates:
        told = f"who wrongly accuses {100 * rate.false_positives:g} in 100 non-members identifies at most "
        number = float(re.search(re.escape(told) + r"([\d.]+) in 100 members", words).group(1))
        assert 0 <= number / 100 - rate.true_positives < 0.01 * rate.true_positives
    right = float(re.search(r"right in at most ([\d.]+) of 100", words).group(1))
    assert 0 <= right / 100 - (0.5 + found.advantage / 2) < 0.002
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict()))
    assert set(found.to_dict()) == {
        "epsilon", "delta", "unit", "releasable", "basis", "advantage", "advantage_by_epsilon_alone", "rates",
    }  # fmt: skip


@pytest.mark.parametrize(("share", "text"), [(0.0, "0"), (0.015, "1.5"), (0.0150001, "1.51"), (0.5, "50"), (1.0, "100"), (0.99999, "100"), (1e-9, "1e-07")])  # fmt: skip
def test_numbers_are_rounded_up(share, text):
    assert of_hundred(share) == text


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    model, path = fitted(), tmp_path / "release.json"
    model.save(path)
    assert DPM.load(path).privacy_.explain() == model.privacy_.explain()
    for option, expected in (([], str(model.privacy_.explain())), (["--json"], model.privacy_.explain().to_json())):
        monkeypatch.setattr(sys, "argv", ["dpm", "explain", str(path), *option])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert not leaving.value.code
        assert capsys.readouterr().out == expected + "\n"
    path.write_text("{}")
    monkeypatch.setattr(sys, "argv", ["dpm", "explain", str(path)])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 1
    assert "not a saved release" in capsys.readouterr().err
