"""Joint composition: published values, limits, a second accountant, and discrete noise that is near enough to continuous."""

import math
from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dpmondrian import BudgetError
from dpmondrian.dpm.draws import CELL_COUNT, COUNT, DOMAIN_SUMS, SPLIT
from dpmondrian.privacy.accountants.pld import discreteness
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.draws import EXPONENTIAL, GAUSSIAN, LAPLACE
from dpmondrian.privacy.plan import PlannedDraw
from dpmondrian_lab.audit.plans import pure_plan, zcdp_plan
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, gaussian_delta, joint_delta, joint_epsilon, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, LabPlan
from dpmondrian_lab.peers.lsh_splits import leaf_noise, mean_noise

quick = settings(derandomize=True, deadline=None, max_examples=100)

# --- published values ---------------------------------------------------------------------------------------------

REFERENCE = [  # n, part of the budget, multiplier with 21 counts, parameter of the counts, multiplier without counts
    (100_000, 1.0, 5.018812, 0.009963, 4.893136),
    (100_000, 0.9, 5.566221, 0.008983, 5.426832),
    (60_000, 1.0, 4.873348, 0.010260, 4.751251),
    (60_000, 0.9, 5.404360, 0.009252, 5.268955),
    (36_733, 1.0, 4.730292, 0.010570, 4.611722),
    (36_733, 0.9, 5.245172, 0.009533, 5.113691),
    (18_720, 1.0, 4.528035, 0.011042, 4.414458),
    (18_720, 0.9, 5.020091, 0.009960, 4.894167),
]


@pytest.mark.parametrize(("n", "part", "multiplier", "count_parameter", "alone"), REFERENCE)
def test_least_multipliers(n, part, multiplier, count_parameter, alone):
    epsilon, delta = part, part * n**-1.5
    ours = least_multiplier(epsilon, delta, 21, 20.0)
    assert ours == pytest.approx(multiplier, abs=1e-6)
    assert 1 / (20 * ours) == pytest.approx(count_parameter, abs=1e-6)
    assert least_multiplier(epsilon, delta) == pytest.approx(alone, abs=1e-6)
    if part == 0.9:
        assert leaf_noise(1.0, n**-1.5) == pytest.approx(multiplier, abs=1e-6)


@pytest.mark.parametrize(("n", "expected"), [(100_000, 59.597), (60_000, 57.786), (36_733, 56.004), (18_720, 53.481)])
def test_noise_of_the_private_mean(n, expected):
    assert mean_noise(1.0, n**-1.5) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-40])
@pytest.mark.parametrize("n_laplace", [0, 1, 21])
def test_the_least_multiplier_fits_and_a_smaller_one_does_not(epsilon, delta, n_laplace):
    z = least_multiplier(epsilon, delta, n_laplace, 20.0)
    for factor, fits in ((1.0, True), (1 - 1e-6, False)):
        spent = joint_delta(epsilon, [1 / (20 * z * factor)] * n_laplace, 1 / (z * factor))
        assert (spent <= delta) is fits


# --- limits -------------------------------------------------------------------------------------------------------


def exact_gaussian_delta(epsilon, mu):
    with mpmath.workdps(60):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [-1000.0, -3.0, -1e-6, 0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1e4, 1e6])
@pytest.mark.parametrize("delta", [0.1, 1e-7, 1e-30, 1e-300])
def test_rounding_is_within_what_is_kept_back_for_it(epsilon, delta):
    mu = 1 / least_multiplier(abs(epsilon) or 0.1, delta)
    exact = exact_gaussian_delta(epsilon, mu)
    assert abs(gaussian_delta(epsilon, mu) - exact) <= 0.4 * GAUSSIAN_SLACK * exact


def test_free_laplace_draws_leave_the_gaussian_one():
    for epsilon, mu in product((0.1, 1.0, 5.0), (0.05, 0.3, 2.0)):
        assert joint_delta(epsilon, [1e-12] * 21, mu) == pytest.approx(gaussian_delta(epsilon, mu), rel=1e-8)
        assert joint_delta(epsilon, [], mu) == gaussian_delta(epsilon, mu)


def test_without_gaussian_draws_it_is_randomised_response():
    for epsilon, a in product((-1.0, 0.0, 0.2, 0.7), (0.01, 0.5, 3.0)):
        expected = (
            1 - math.exp(epsilon) if epsilon <= -a else max(0.0, math.exp(a) - math.exp(epsilon)) / (1 + math.exp(a))
        )
        assert joint_delta(epsilon, [a], 0.0) == pytest.approx(expected, abs=1e-15)
    assert joint_epsilon(0.0, [0.3, 0.4], 0.0) == pytest.approx(0.7, rel=1e-9)
    assert joint_delta(0.7 * (1 + 1e-12), [0.3, 0.4], 0.0) == 0.0


def test_without_delta_no_epsilon_holds():
    assert joint_epsilon(0.0, [], 0.1) == math.inf
    assert joint_epsilon(-1e-9, [0.1], 0.1) == math.inf


budgets = st.tuples(st.floats(-3, 2), st.floats(-2, 1), st.floats(-2, 1), st.integers(0, 5))


@quick
@given(budgets)
def test_more_of_anything_is_not_cheaper(values):
    epsilon, mu, a, times = 10 ** values[0], 10 ** values[1], 10 ** values[2], values[3]
    delta = joint_delta(epsilon, [a] * times, mu)
    tolerance = 1e-12
    assert joint_delta(epsilon * 1.1, [a] * times, mu) <= delta + tolerance
    assert joint_delta(epsilon, [a] * times, mu * 1.1) >= delta - tolerance
    assert joint_delta(epsilon, [a * 1.1] * times, mu) >= delta - tolerance
    assert joint_delta(epsilon, [a] * (times + 1), mu) >= delta - tolerance
    assert joint_delta(epsilon, [a] * times, 0.0) <= delta + tolerance


@quick
@given(budgets, st.floats(-12, -1))
def test_epsilon_is_rounded_to_the_private_side(values, log_delta):
    mu, a, times, delta = 10 ** values[1], 10 ** values[2], values[3], 10**log_delta
    epsilon = joint_epsilon(delta, [a] * times, mu)
    assert joint_delta(epsilon, [a] * times, mu) <= delta
    assert epsilon < 1e-9 or joint_delta(epsilon * (1 - 1e-6), [a] * times, mu) > delta


# --- other ways to compute it -------------------------------------------------------------------------------------


def laplace_pmf(a, reach):
    return np.tanh(a / 2) * np.exp(-a * np.abs(np.arange(-reach, reach + 1)))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.2])
def test_the_formula_is_the_sum_over_all_outcomes(epsilon):
    """Two counts with real discrete Laplace noise, each changed by one row, and a Gaussian value on a fine grid."""
    (a, b), mu = (0.3, 0.45), 0.6
    first, second, gaussian = laplace_pair(a), laplace_pair(b), gaussian_pair(np.linspace(-9, 9.6, 1001), mu)
    p = np.multiply.outer(first[0], second[0]).ravel()
    q = np.multiply.outer(first[1], second[1]).ravel()
    delta = 0.0
    for density, other in zip(*gaussian, strict=True):
        delta += np.maximum(0.0, p * density - math.exp(epsilon) * q * other).sum()
    assert delta == pytest.approx(joint_delta(epsilon, [a, b], mu), rel=1e-4)


def laplace_pair(a):
    p = laplace_pmf(a, 60)
    return p[1:], p[:-1]  # the same outcomes, seen from tables with one row more and less


def gaussian_pair(y, mu):
    weight = (y[1] - y[0]) / math.sqrt(2 * math.pi)
    return weight * np.exp(-(y**2) / 2), weight * np.exp(-((y - mu) ** 2) / 2)


@pytest.mark.parametrize(("epsilon", "n_laplace", "factor"), [(0.3, 3, 2.0), (1.0, 21, 20.0), (4.0, 5, 1.0)])
def test_a_second_accountant_agrees(epsilon, n_laplace, factor):
    from dp_accounting.pld import privacy_loss_distribution as pld

    delta = 1e-6
    z = least_multiplier(epsilon, delta, n_laplace, factor)
    laplace = pld.from_discrete_laplace_mechanism(1 / (factor * z), value_discretization_interval=1e-4)
    gaussian = pld.from_gaussian_mechanism(z, value_discretization_interval=1e-4)
    composed = laplace.self_compose(n_laplace).compose(gaussian)
    theirs = composed.get_delta_for_epsilon(epsilon)
    assert delta * (1 - 1e-6) <= theirs <= 1.05 * delta  # they round losses up
    assert composed.get_epsilon_for_delta(delta) == pytest.approx(epsilon, rel=2e-3)


# --- discrete noise -----------------------------------------------------------------------------------------------

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def gaussian_pmf(scale):
    reach = math.ceil(40 * scale) + 10
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * scale**2))
    return k, weights / weights.sum()


@pytest.mark.parametrize("scale", [1.0, 1.7, 5.3, 40.0, 1000.0])
def test_rounded_noise_is_discrete_noise_up_to_little(scale):
    """The lemma, for every whole number within twelve scales."""
    k = np.arange(-math.floor(12 * scale), math.floor(12 * scale) + 1)
    u = NODES / 2
    integral = (WEIGHTS / 2 * np.exp(-(2 * np.multiply.outer(k, u) + u**2) / (2 * scale**2))).sum(axis=1)
    j = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    factor = np.exp(-(j**2) / (2 * scale**2)).sum() / (scale * math.sqrt(2 * math.pi))
    log_ratio = np.log(factor * integral)
    assert np.all(log_ratio >= -1 / (24 * scale**2) - 1e-12)
    assert np.all(log_ratio <= k**2 / (24 * scale**4) + 1 / (24 * scale**2) + 1e-12)
    # and it is not much more than it need be
    assert log_ratio.max() > 0.5 * 144 / (24 * scale**2) * min(1.0, scale / 5)


def discrete_delta(epsilon, scale, shift):
    """Return the least delta of discrete Gaussian noise on values that change by `shift`, one or two of them."""
    k, p = gaussian_pmf(scale)
    losses = [((k - change) ** 2 - k**2) / (2 * scale**2) for change in shift]
    joint, probability = losses[0], p
    for loss in losses[1:]:
        joint = np.add.outer(joint, loss).ravel()
        probability = np.multiply.outer(probability, p).ravel()
    return float((probability * np.maximum(0.0, -np.expm1(epsilon - joint))).sum())


CASES = [
    (scale, shift, factor * math.hypot(*shift) / scale)
    for scale, shifts in (
        (1.0, [(1,), (3,), (1, 1)]),
        (3.3, [(1,), (9,), (2, 5)]),
        (10.0, [(1,), (5,), (70,), (7, 30)]),
        (1000.0, [(1,), (500,), (3000,)]),
    )
    for shift in shifts
    for factor in (0.0, 0.1, 1.0, 3.0)
]


@pytest.mark.parametrize(("scale", "shift", "epsilon"), CASES)
def test_discrete_noise_costs_no_more_than_is_allowed_for(scale, shift, epsilon):
    mu, n, tail = math.hypot(*shift) / scale, len(shift), 1e-9
    more = discreteness(scale, n, mu, math.log(tail))
    allowed = math.exp(n / (24 * scale**2)) * gaussian_delta(epsilon, mu) + tail
    assert discrete_delta(epsilon + more, scale, shift) <= allowed * (1 + 1e-9)


def test_discrete_noise_does_cost_more_than_continuous_noise():
    """So something must be kept back, and coarse noise must be refused."""
    excess = [discrete_delta(e, s, d) / gaussian_delta(e, math.hypot(*d) / s) for s, d, e in CASES if len(d) == 1]
    assert max(excess) > 1.02
    assert discrete_delta(0.003, 1000.0, (1,)) > gaussian_delta(0.003, 0.001) * (1 + 1e-7)


# --- plans and the door -------------------------------------------------------------------------------------------


def plan_of(*multipliers, epsilon=1.0, delta=1e-6):
    draws = tuple(PlannedDraw(COUNT, level, GAUSSIAN, z, 1 / z) for level, z in enumerate(multipliers))
    return LabPlan(epsilon, delta, JOINT, draws)


def enough(*parts, epsilon=1.0, delta=1e-6):
    """Return a plan of Gaussian draws that divide the budget in the given parts."""
    z = least_multiplier(epsilon * (1 - 2 * GAUSSIAN_SLACK), delta * (1 - 2 * GAUSSIAN_SLACK))
    return plan_of(*(z * math.sqrt(sum(parts) / part) for part in parts), epsilon=epsilon, delta=delta)


def test_a_plan_is_composed_from_all_its_draws():
    mixed = LabPlan(
        9.0,
        1e-6,
        JOINT,
        (
            PlannedDraw(COUNT, 0, LAPLACE, 4.0, 0.25),
            PlannedDraw(CELL_COUNT, 0, GAUSSIAN, 5.0, 0.2),
            PlannedDraw(CELL_COUNT, 1, GAUSSIAN, 2.5, 0.4),
            PlannedDraw(SPLIT, 0, EXPONENTIAL, 8.0, 0.125, delta=1e-7),
        ),
    )
    tight = 0.125 + joint_epsilon(9e-7, [0.25], math.hypot(0.2, 0.4))
    assert tight + 9e-6 < mixed.spent() < tight + 1.1e-5
    assert mixed.composed(mixed.draws) == mixed.spent()
    mixed.verify()
    with pytest.raises(BudgetError, match="more than the budget"):
        replace(mixed, epsilon=0.99 * tight).verify()
    with pytest.raises(BudgetError):
        replace(mixed, delta=1e-7).verify()
    with pytest.raises(BudgetError):
        replace(mixed, delta=0.5e-7).verify()


@pytest.mark.parametrize("parts", [(1.0,), (1.0, 3.0), (1.0,) * 14])
def test_a_plan_with_less_noise_is_refused(parts):
    plan = enough(*parts)
    plan.verify()
    assert plan.spent() > 1 - 1e-5
    quieter = tuple(replace(d, multiplier=0.999 * d.multiplier, cost=d.cost / 0.999) for d in plan.draws)
    with pytest.raises(BudgetError):
        replace(plan, draws=quieter).verify()


def least_fine_scale(plan, n_changed=1):
    """Return the least scale, as a power of 1.01, that is fine enough for the first draw."""
    scale = 1.0
    while not plan.is_fine(plan.draws[0], scale, n_changed):
        scale *= 1.01
    return scale


def test_what_is_kept_back_covers_discrete_noise():
    """The theorem with the numbers of the plan: many draws, several values, many sizes of budget."""
    for epsilon, delta in ((1e-3, 1e-6), (1.0, 1e-6), (1.0, 1e-30), (30.0, 1e-9), (3000.0, 1e-3)):
        for n_draws, n_values in ((1, 1), (14, 1), (14, 100)):
            plan = enough(*[1.0] * n_draws, epsilon=epsilon, delta=delta)
            scale = least_fine_scale(plan, n_values)
            tail = 0.25 * GAUSSIAN_SLACK * delta / n_draws
            more = n_draws * discreteness(scale, n_values, 1 / plan.draws[0].multiplier, math.log(tail))
            assert more <= 0.5 * GAUSSIAN_SLACK * epsilon
            factor = math.exp(n_draws * n_values / (24 * scale**2))
            assert factor * (1 - GAUSSIAN_SLACK) * delta + n_draws * tail <= (1 - 0.4 * GAUSSIAN_SLACK) * delta


def test_noise_must_be_finer_for_more_draws_values_people_and_smaller_budgets():
    base = least_fine_scale(enough(1.0))
    assert least_fine_scale(enough(*[1.0] * 14)) > 3 * base
    assert least_fine_scale(enough(1.0), n_changed=16) > 3.9 * base
    assert least_fine_scale(enough(1.0, delta=1e-60)) > 1.5 * base
    assert least_fine_scale(enough(1.0, epsilon=0.01)) > 5 * base
    assert not enough(1.0).is_fine(enough(1.0).draws[0], 5.0, 1)


def test_noise_of_less_than_one_unit_is_never_fine():
    """The lemma is about scales of at least 1; the plan asks for far more even where the budget is largest."""
    assert math.isfinite(discreteness(1.0, 1, 1e-9, math.log(0.5)))
    for scale in (0.999999, 0.5, 1e-300):
        assert discreteness(scale, 1, 1e-9, math.log(0.5)) == math.inf
    generous = enough(1.0, epsilon=3000.0, delta=0.1)
    assert not generous.is_fine(generous.draws[0], 0.5, 1)
    assert not generous.is_fine(generous.draws[0], 350.0, 1)


class SpySampler:
    """Returns zeros and notes the scales it was asked for."""

    def __init__(self):
        self.scales = []

    def noise(self, mechanism, scales, *purpose):
        self.scales.append(np.unique(scales).tolist())
        return np.zeros(np.size(scales), dtype=np.int64)


def spied(door):
    door._sampler = SpySampler()
    return door


def test_the_door_divides_units_until_noise_is_fine_enough():
    plan = enough(1.0, 1.0)
    door = spied(LabDoor(plan, seed=0))
    counts = np.array([0, 7, 123_456_789])
    assert door.counts(COUNT, 0, counts).tolist() == counts.tolist()
    assert door.fine_counts(COUNT, 1, counts).tolist() == counts.tolist()
    for [scale] in door._sampler.scales:
        parts = scale / plan.draws[0].multiplier
        assert parts == 2 ** round(math.log2(parts))
        assert plan.is_fine(plan.draws[0], scale, 1)
        assert not plan.is_fine(plan.draws[0], scale / 2, 1)


@pytest.mark.parametrize("rows_per_person", [1, 7])
def test_sums_of_many_columns_are_divided_further(rows_per_person):
    plan = replace(enough(1.0), draws=(replace(enough(1.0).draws[0], draw=DOMAIN_SUMS, level=None),))
    sums, radius = np.array([[5, -6] * 200]), np.array([3])
    door = spied(LabDoor(plan, rows_per_person, seed=0))
    assert door.ball_sums(DOMAIN_SUMS, None, sums, radius)[0].tolist() == sums.tolist()
    [[scale]] = door._sampler.scales
    assert plan.is_fine(plan.draws[0], scale, 400 * rows_per_person)
    assert not plan.is_fine(plan.draws[0], scale / 2, 400 * rows_per_person)


def test_sums_of_groups_of_different_size_go_by_the_least_scale():
    plan = replace(enough(1.0), draws=(replace(enough(1.0).draws[0], draw=DOMAIN_SUMS, level=None),))
    door = spied(LabDoor(plan, seed=0))
    door.ball_sums(DOMAIN_SUMS, None, np.zeros((2, 3), dtype=np.int64), np.array([10**6, 3]))
    [[smaller, larger]] = door._sampler.scales
    assert larger / smaller == pytest.approx(10**6 / 3)
    assert plan.is_fine(plan.draws[0], smaller, 3)


def test_noise_that_stays_too_coarse_is_refused():
    plan = enough(1.0, epsilon=1e9)
    door = spied(LabDoor(plan, seed=0))
    with pytest.raises(BudgetError, match="too coarse"):
        door.counts(COUNT, 0, [5])
    assert door._sampler.scales == []


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_other_plans_divide_nothing(delta):
    plan = zcdp_plan(300.0, delta, 2) if delta else pure_plan(300.0, 2)
    door = spied(Door(plan, seed=0))
    door.counts(COUNT, 0, [5])
    assert door._sampler.scales == [[plan.find(COUNT, 0).multiplier]]


def spread_p_value(noise, scale):
    """Return the two-sided p-value of the summed squares of Gaussian noise of this scale."""
    quantile = chi2.cdf((noise**2).sum() / scale**2, noise.size)
    return 2 * min(quantile, 1 - quantile)


@pytest.mark.parametrize("seed", [0, None])
def test_noise_in_parts_has_the_planned_scale(seed):
    plan = enough(1.0, 1.0, epsilon=8.0)
    door, scale = LabDoor(plan, seed=seed), plan.draws[0].multiplier
    counts = np.full(20_000, 17)
    fine = door.fine_counts(COUNT, 0, counts) - counts
    assert np.any(fine != np.rint(fine))
    assert spread_p_value(fine, scale) > 1e-9
    for wrong in (0.9, 1.1):
        assert spread_p_value(fine, wrong * scale) < 1e-9
    whole = door.counts(COUNT, 1, counts) - counts
    assert whole.dtype == np.int64
    assert spread_p_value(whole, math.hypot(scale, math.sqrt(1 / 12))) > 1e-9
