"""The tight audit: close to the claim, never above it, and above it as soon as the noise is a little too small."""

import math

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.dpm.draws import ALL_DRAWS, CLIPPED_SUMS, COARSE_SUMS, COUNT, LINES, SPLIT
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy.accountants import rho_from_epsilon
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.draws import GAUSSIAN
from dpmondrian.privacy.mechanisms import sampler
from dpmondrian.privacy.plan import Plan, PlannedDraw, planned_draw
from dpmondrian_lab.audit import client
from dpmondrian_lab.audit import recording as recordings
from dpmondrian_lab.audit.catalogue import MIXED, SCHEMAS, SUBJECTS, TWO_COLUMNS
from dpmondrian_lab.audit.laws import Laws, choice_laws, divergence_of_noise, laws_of
from dpmondrian_lab.audit.neighbours import invented_rows, table_of
from dpmondrian_lab.audit.plans import complete_plan
from dpmondrian_lab.audit.profile import ComposedLoss
from dpmondrian_lab.audit.recording import Drawn, Query, record
from dpmondrian_lab.audit.tight import attained, claimed_epsilon, composed_epsilon, mean_bound, simulated
from dpmondrian_lab.audit.transcripts import attained_on_tables
from dpmondrian_lab.peers.em_mc import CANDIDATES
from dpmondrian_lab.peers.joint import gaussian_delta, joint_delta
from dpmondrian_lab.peers.lab_plan import MAX_COVER, LabPlan, max_cover_epsilon

OURS = [(key, columns) for key, subject in SUBJECTS.items() if subject.kind == "ours" for columns in subject.schemas]
STAGED = [case for case in OURS if case[0] != "dpm_paper"]
PAPER = ("dpm_paper", TWO_COLUMNS)
ROUNDING = 1 + 1e-9
DELTAS = (1e-2, 1e-4, 1e-6, 1e-9)
every_plan = pytest.mark.parametrize("case", OURS, ids=lambda case: ", ".join(case))


def plan_of(key, columns, **parameters):
    return SUBJECTS[key].plan(columns, **{"max_depth": None, **parameters})


@pytest.fixture(scope="module")
def found():
    return {case: attained(plan_of(*case), steps=10_000) for case in OURS}


# --- what is audited ----------------------------------------------------------------------------------------------


def test_every_kind_of_plan_is_audited():
    """The default one composes privacy losses; `accountant="zcdp"` does not."""
    assert [key for key, columns in OURS if columns == TWO_COLUMNS] == [
        "dpm",
        "dpm_k",
        "dpm_pure",
        "dpm_zcdp",
        "dpm_paper",
    ]
    accountants = {key: plan_of(key, columns).accountant for key, columns in OURS}
    assert accountants == {"dpm": "pld", "dpm_k": "pld", "dpm_pure": "zcdp", "dpm_zcdp": "zcdp", "dpm_paper": "zcdp"}


@pytest.mark.slow
def test_every_draw_of_the_algorithm_is_audited(found):
    assert {draw.draw for case in OURS for draw in found[case].plan.draws} == set(ALL_DRAWS)


def test_the_client_uses_every_passage_of_the_door(found):
    passages = {name for name in vars(recordings._AtTheDoor) if name[0] != "_"} - {"person_key"}
    assert {query.method for case in OURS for query in client.record_client(found[case].plan)[0].queries} == passages


@pytest.mark.parametrize("case", STAGED, ids=lambda case: ", ".join(case))
def test_audited_plans_spend_the_whole_budget_of_a_tree_of_most_levels(found, case):
    plan = found[case].plan
    assert not any(draw.waived for draw in plan.draws)
    assert math.fsum(draw.cost for draw in plan.draws) == pytest.approx(plan.total, rel=1e-12)
    assert plan.steps(SPLIT) == list(range(10))


RUNS = {
    "k": ("dpm_k", TWO_COLUMNS, {"n_clusters": 3}),
    "k, categories": ("dpm_k", MIXED, {"n_clusters": 3}),
    "found in grids": ("dpm_zcdp", TWO_COLUMNS, {}),
    "found along lines": ("dpm_pure", MIXED, {}),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_plan_and_ask_what_is_audited(name):
    """Draw by draw: a run's plan is the complete one of as many levels, and the client passes the door as the run does."""
    key, columns, choices = RUNS[name]
    schema = SCHEMAS[columns]
    estimator = SUBJECTS[key].estimator(schema, epsilon=20.0, max_depth=3, **choices)
    run = record(lambda: estimator.fit(table_of(schema, invented_rows(schema, 300))))
    plan = run.doors[0].plan
    splits = [draw for draw in plan.draws if draw.draw == SPLIT]
    expected = complete_plan(
        20.0,
        plan.delta,
        3,
        accountant="zcdp" if key == "dpm_zcdp" else "auto",
        levels=len(splits),
        used=len([draw for draw in splits if not draw.waived]),
        n_columns=len(schema.centre_columns),
        categories=bool(schema.categories),
        n_clusters=choices.get("n_clusters"),
    )
    shown = [(draw.name, draw.level, draw.mechanism, draw.waived, pytest.approx(draw.cost)) for draw in expected.draws]
    planned = [(draw.name, draw.level, draw.mechanism, draw.waived, draw.cost) for draw in plan.draws]
    if (
        name == "found along lines"
    ):  # how many rounds there are, and whether cells are moved again, is decided on the way
        assert {draw.name for draw in plan.draws} == {draw.name for draw in expected.draws}
        first = [draw.draw for draw in expected.draws].index(LINES)
        planned, shown = planned[:first], shown[:first]
    assert planned == shown
    asked, _ = client.record_client(expected)
    assert {(query.name, query.method) for query in run.queries} <= {(q.name, q.method) for q in asked.queries}


# --- close to the claim and never above ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", STAGED, ids=lambda case: ", ".join(case))
def test_nine_tenths_of_the_stated_epsilon_are_attained(found, case):
    assert 0.9 * found[case].claimed <= found[case].epsilon <= found[case].claimed * ROUNDING
    assert found[case].claimed == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("levels", [0, 1, 4])
@pytest.mark.parametrize("accountant", ["auto", "zcdp"])
def test_every_way_to_go_on_stays_within_the_same_claim(levels, accountant):
    """How many levels there are is decided by what was released; levels that nobody used go to other draws."""
    for used in {levels, min(levels, 1)}:
        way = attained(complete_plan(1.0, 1e-6, 10, accountant=accountant, levels=levels, used=used), steps=5_000)
        assert not way.refutes
        assert 0.9 * way.claimed <= way.epsilon <= way.claimed


def test_added_epsilons_of_the_paper_cannot_be_attained_at_its_delta(found):
    """No pair attains more than the composed loss, which is far below the sum; of that nearly everything is attained."""
    plan = found[PAPER].plan
    limit = composed_epsilon(plan, plan.delta)
    assert limit < 0.7 * found[PAPER].claimed
    assert 0.97 * limit <= found[PAPER].epsilon <= limit * ROUNDING


def test_at_a_tiny_delta_even_added_epsilons_are_attained():
    tiny = attained(plan_of(*PAPER), delta=1e-60, steps=10_000, reach=20.0)
    assert 0.9 * tiny.claimed <= tiny.epsilon <= tiny.claimed


@pytest.mark.slow
@every_plan
@pytest.mark.parametrize("delta", DELTAS)
def test_no_statement_of_either_accountant_is_exceeded_at_any_delta(found, case, delta):
    plan = found[case].plan
    epsilon = found[case].loss.epsilon(delta)
    assert epsilon <= claimed_epsilon(plan, delta) * ROUNDING
    assert epsilon <= composed_epsilon(plan, delta) * ROUNDING
    if epsilon > 0.0:
        assert found[case].loss.delta(epsilon) == pytest.approx(delta, rel=1e-6)


@every_plan
def test_every_draw_and_all_together_attain_what_their_costs_allow(found, case):
    assert not found[case].refutes
    assert 0.99 <= found[case].divergence / found[case].claimed_divergence <= ROUNDING
    assert set(found[case].used) == {draw.name for draw in found[case].plan.draws}
    for share in found[case].used.values():
        assert 0.98 <= share <= ROUNDING


@pytest.mark.parametrize("key", ["dpm", "dpm_pure"])
def test_several_rows_per_person_change_nothing(key):
    plan = plan_of(key, MIXED, max_depth=1)
    one, three = (attained(plan, rows_per_person=rows, steps=5_000) for rows in (1, 3))
    assert not three.refutes
    assert three.epsilon == pytest.approx(one.epsilon, rel=1e-3)
    # A change by three steps of Laplace noise has a little less divergence than one by a single step.
    assert three.divergence == pytest.approx(one.divergence, rel=5e-2)


def test_plans_with_other_draws_are_refused():
    cover = PlannedDraw(CANDIDATES, None, MAX_COVER, 100.0, max_cover_epsilon(0.01, 1e-7), 1e-7)
    plan = LabPlan(1.0, 1e-6, "epsilon", (cover,))
    with pytest.raises(ParameterError, match="must be a plan of DPM"):
        attained(plan)


# --- noise that is too small --------------------------------------------------------------------------------------


class LessNoise:
    """A sampler that draws 5 % less than it is asked for."""

    def __init__(self, sampler, only):
        self._sampler, self._only = sampler, only

    def __getattr__(self, name):
        return getattr(self._sampler, name)

    def _factor(self, name):
        return 0.95 if self._only in (None, name) else 1.0

    def noise(self, mechanism, scales, *purpose):
        return self._sampler.noise(mechanism, self._factor(purpose[0]) * np.asarray(scales), *purpose)

    def select(self, mechanism, scores, scale, *purpose):
        return self._sampler.select(mechanism, scores, self._factor(purpose[0]) * scale, *purpose)


def door_with_less_noise(only=None):
    class LeakyDoor(Door):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self._sampler = LessNoise(self._sampler, only)

    return LeakyDoor


@pytest.mark.slow
@every_plan
def test_noise_five_percent_too_small_is_refuted(monkeypatch, case):
    plan = plan_of(*case)
    monkeypatch.setattr(client, "Door", door_with_less_noise())
    broken = attained(plan, steps=2_000)
    assert broken.refutes
    assert broken.divergence > 1.09 * broken.claimed_divergence
    assert min(broken.used.values()) > 1.05


@pytest.mark.slow
@pytest.mark.parametrize("name", [draw.name for draw in ALL_DRAWS])
def test_one_draw_with_five_percent_less_noise_is_refuted(monkeypatch, name):
    monkeypatch.setattr(client, "Door", door_with_less_noise(name))
    plan = next(plan for plan in (plan_of(*case) for case in OURS) if name in {draw.name for draw in plan.draws})
    broken = attained(plan, steps=2_000)
    assert broken.refutes
    assert {draw for draw, share in broken.used.items() if share > ROUNDING} == {name}


@pytest.mark.parametrize("key", ["dpm", "dpm_k"])
def test_less_noise_exceeds_the_epsilon_of_composed_losses_itself(monkeypatch, key):
    """Whose slack is 1.5 to 2.6 %."""
    plan = plan_of(key, TWO_COLUMNS)
    monkeypatch.setattr(client, "Door", door_with_less_noise())
    assert attained(plan, steps=10_000).epsilon > 1.02


def test_pure_noise_five_percent_too_small_exceeds_the_epsilon_itself(monkeypatch):
    plan = plan_of("dpm_pure", TWO_COLUMNS)
    monkeypatch.setattr(client, "Door", door_with_less_noise())
    assert attained(plan, steps=2_000).epsilon == pytest.approx(1 / 0.95, rel=1e-6)


# --- transcripts that the sampler drew ----------------------------------------------------------------------------

TOTAL = rho_from_epsilon(4.0, 1e-6) * (1.0 - 1e-9)
NOISE_ONLY = Plan(
    4.0,
    1e-6,
    "rho",
    tuple(
        planned_draw("rho", draw, level, GAUSSIAN, share * TOTAL)
        for draw, level, share in ((COUNT, 0, 0.5), (COARSE_SUMS, None, 0.25), (CLIPPED_SUMS, 1, 0.25))
    ),
)
"""Of noise alone, of which many transcripts cost little time."""


def test_simulated_transcripts_come_near_the_claim_and_not_above():
    sampled = simulated(NOISE_ONLY, 200_000, seed=1)
    assert 0.9 < sampled.divergence() / sampled.claimed_divergence < 1.0


def test_a_sampler_whose_own_noise_is_five_percent_too_small_is_refuted(monkeypatch):
    """Which only transcripts can tell: the sampler is asked for the right scale."""
    sound = dict(sampler._EXACT)
    gaussian = sound["discrete Gaussian"]
    monkeypatch.setitem(sampler._EXACT, "discrete Gaussian", lambda scales, bits: gaussian(0.95 * scales, bits))
    assert not attained(NOISE_ONLY, steps=2_000).refutes
    sampled = simulated(NOISE_ONLY, 200_000, seed=1)
    assert sampled.divergence() > 1.02 * sampled.claimed_divergence


@pytest.mark.slow
@every_plan
def test_transcripts_of_all_plans_have_the_divergence_of_their_exact_laws(case):
    plan = plan_of(*case, epsilon=4.0, max_depth=1)
    sampled, exact = simulated(plan, 2_000, seed=3), attained(plan, steps=2_000)
    error = sampled.without.std() / math.sqrt(len(sampled.without))
    assert abs(sampled.without.mean() - exact.divergence) < 5 * error
    assert sampled.divergence() < exact.divergence


def test_bounds_of_means_are_below_the_mean_as_often_as_promised():
    generator = np.random.default_rng(0)
    bounds = [mean_bound(generator.binomial(1, 0.3, 400).astype(float), 0.0, 1.0, 0.05) for _ in range(500)]
    assert np.mean(np.array(bounds) <= 0.3) > 0.95
    assert np.mean(bounds) > 0.2


# --- laws and their composition -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["discrete Gaussian", "discrete Laplace"])
@pytest.mark.parametrize("shift", [-5, 1, 3])
@pytest.mark.parametrize("scale", [0.7, 4.0, 60.0])
def test_laws_of_noise_are_laws_and_have_the_divergence_in_closed_form(mechanism, shift, scale):
    def query(value):
        draw = Drawn(mechanism, (scale,), np.zeros(1))
        exact = (np.array([value]),)
        return Query("counts", COUNT, 0, 0, ((1,),), (1,), (), 1, (draw,), exact, np.zeros(1), True)

    [laws] = laws_of(query(10), query(10 + shift))
    assert laws.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert (laws.probabilities * np.exp(-laws.losses)).sum() == pytest.approx(1.0, abs=1e-6)
    assert laws.divergence == pytest.approx(divergence_of_noise(mechanism, shift, scale), rel=1e-9)


def test_composed_gaussian_noise_has_the_profile_of_continuous_noise():
    grid = np.linspace(-9, 9, 20_001)
    density = np.exp(-(grid**2) / 2)
    part = Laws(density / density.sum(), 0.125 - 0.5 * grid)  # mu = 1/2, four times: mu = 1
    composed = ComposedLoss([part] * 4, 4.0, 1e-4)
    for epsilon in (0.5, 2.0, 5.0):
        assert 0.998 * gaussian_delta(epsilon, 1.0) < composed.delta(epsilon) <= gaussian_delta(epsilon, 1.0)


def test_composed_laplace_noise_has_its_exact_profile():
    part = choice_laws(
        "exponential mechanism", [0, 1], [2, 1], 2 / 0.4
    )  # loss +-0.2 at even odds of randomised response
    composed = ComposedLoss([part] * 10, 1.5, 1e-5)
    for epsilon in (0.0, 0.9, 1.7):
        exact = joint_delta(epsilon, [0.2] * 10, 0.0)
        assert 0.99 * exact < composed.delta(epsilon) <= exact * ROUNDING
    assert composed.epsilon(0.0) == pytest.approx(2.0)


# --- real tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_row_in_the_corner_attains_all_of_the_draws_it_moves_most(delta):
    rows = np.full((200, 1), 0.5)
    found = attained_on_tables(
        lambda: DPM(epsilon=1.0, delta=delta, bounds=(0.0, 1.0), max_depth=0),
        rows,
        np.vstack([rows, [[1.0]]]),
        n_runs=3,
    )
    assert 0.5 < found.part <= 1.0
    assert found.n_runs == 3
    drawn = {"count", "coarse sums", "distances", "clipped sums", "cell count", "grid", "profiles", "quality"}
    assert set(found.used) == drawn
    assert max(found.used.values()) <= ROUNDING
    assert found.used["count"] == pytest.approx(1.0)
    if delta > 0.0:
        assert found.used["coarse sums"] == pytest.approx(1.0, rel=1e-3)


def test_a_row_that_changes_little_attains_little():
    rows = np.full((200, 2), 0.5)
    found = attained_on_tables(
        lambda: DPM(epsilon=1.0, delta=1e-6, bounds=(0.0, 1.0), max_depth=0),
        rows,
        np.vstack([rows, rows[:1]]),
        n_runs=2,
    )
    assert found.used["coarse sums"] < 0.01
