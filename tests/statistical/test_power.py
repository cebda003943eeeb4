"""Every law that the door draws has the scale that its price asks for: 5 % less or 5 % more is found out.

A statistic whose mean moves most with the scale is averaged over so many draws that both errors are all but impossible: by the
normal approximation the right scale is rejected with a probability below 1e-10, a scale that is 5 % off passes with one below
1e-7. The expected scales are worked out here from the *cost* of each entry of the ledger, as the proofs do it, and not
from the multipliers of the plan. The wrong scales are drawn by a door whose sampler is tampered with. Shapes of the laws are the
matter of `test_noise_laws` and of ``tests/privacy/test_selection_law.py``.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from dpmondrian.dpm.draws import CLIPPED_SUMS, COARSE_SUMS, COUNT, SPLIT
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.mechanisms import sampler as sampler_module
from dpmondrian.privacy.mechanisms.sampler import OPENDP_MAX_DRAWS, Sampler
from dpmondrian_lab.audit.plans import pure_plan, zcdp_plan
from dpmondrian_lab.peers import FastLloyd
from dpmondrian_lab.peers.fast_lloyd import CELL_COUNT
from dpmondrian_lab.peers.lab_door import LabDoor

OFF = (0.95, 1.05)
LIMIT = norm.isf(0.5e-10)
"""Deviations from the expected mean, in standard errors, beyond which a scale is rejected."""
WANTED_POWER = 1.0 - 1e-7
DEMANDED_POWER = 0.999

PLANS = {
    "discrete Gaussian": zcdp_plan(1.0, 1e-6, 7),
    "discrete Laplace": pure_plan(1.0, 7),
}
every_noise = pytest.mark.parametrize("noise", PLANS)
every_factor = pytest.mark.parametrize("factor", [1.0, *OFF])


@dataclass(frozen=True)
class Moments:
    """Mean and variance of a statistic of one draw."""

    mean: float
    variance: float


def deviation(values, expected):
    """Return how many standard errors the mean of a statistic is away from where it should be."""
    return (values.mean() - expected.mean) / math.sqrt(expected.variance / values.size)


def power(n_draws, right, wrong):
    """Return the probability that draws with the wrong moments are rejected."""
    shift, error = wrong.mean - right.mean, math.sqrt(wrong.variance / n_draws)
    limit = LIMIT * math.sqrt(right.variance / n_draws)
    return norm.sf((limit - shift) / error) + norm.cdf((-limit - shift) / error)


def draws_needed(right, wrongs):
    """Return how many draws reject each of the wrong moments with the wanted power."""
    beyond = norm.ppf(WANTED_POWER)
    n_draws = max(
        math.ceil(
            ((LIMIT * math.sqrt(right.variance) + beyond * math.sqrt(wrong.variance)) / (wrong.mean - right.mean)) ** 2
        )
        for wrong in wrongs
    )
    assert all(power(n_draws, right, wrong) >= DEMANDED_POWER for wrong in wrongs)
    return n_draws


def assert_found_out(values, right, factor):
    """The right scale passes, any other one is rejected, and in the direction in which it is wrong."""
    found = deviation(values, right)
    if factor == 1.0:
        assert abs(found) < LIMIT
    else:
        assert abs(found) > LIMIT
        assert (found > 0) == (factor > 1)


class TamperedSampler(Sampler):
    """Draws at other scales than it is told to."""

    def __init__(self, honest, factor):
        super().__init__(honest._bits)
        self._factor = factor

    def noise(self, mechanism, scales, *purpose):
        return super().noise(mechanism, scales * self._factor, *purpose)

    def select(self, mechanism, scores, scale, *purpose):
        return super().select(mechanism, scores, scale * self._factor, *purpose)


def open_door(plan, factor, kind=Door, **keywords):
    """Return a secure door; with a factor other than 1 one that draws at the wrong scale."""
    door = kind(plan, **keywords)
    if factor != 1.0:
        door._sampler = TamperedSampler(door._sampler, factor)
    return door


def test_the_power_is_what_a_simulation_finds():
    """At a sample size that misses one wrong scale in about four, the calculated power is the simulated one."""
    right, wrong = moments("discrete Gaussian", 30.0), moments("discrete Gaussian", 30.0, 1.05)
    n_draws = draws_needed(right, [wrong]) // 3
    generator = np.random.default_rng(0)
    rejected = [abs(deviation((1.05 * generator.standard_normal(n_draws)) ** 2, right)) > LIMIT for _ in range(1000)]
    assert 0.5 < power(n_draws, right, wrong) < 0.95
    assert abs(np.mean(rejected) - power(n_draws, right, wrong)) < 0.06


# Noise


def statistic(noise, values, scale):
    """Return the sufficient statistic of the scale, per draw."""
    return (values / scale) ** 2 if noise == "discrete Gaussian" else np.abs(values) / scale


def moments(noise, scale, factor=1.0):
    """Return the moments of the statistic when noise is drawn at `factor` times the scale."""
    if noise == "discrete Gaussian":
        # Those of the continuous law, up to exp(-2 pi**2 scale**2).
        return Moments(factor**2, 2.0 * factor**4)
    ratio = math.exp(-1.0 / (factor * scale))
    mean, square = 2.0 * ratio / (1.0 - ratio**2), 2.0 * ratio / (1.0 - ratio) ** 2
    return Moments(mean / scale, (square - mean**2) / scale**2)


def scale_of(noise, cost):
    """Return the scale per unit of sensitivity that this cost pays for: rho = 1 / (2 z**2), epsilon = 1 / z."""
    return math.sqrt(0.5 / cost) if noise == "discrete Gaussian" else 1.0 / cost


def noise_draws_needed(noise, scale):
    return draws_needed(moments(noise, scale), [moments(noise, scale, factor) for factor in OFF])


@pytest.mark.slow
@every_noise
def test_counts_drawn_by_opendp(noise, monkeypatch):
    """Short vectors, one level after the other, through as many doors as it takes.

    These draws are slow, so the same ones are held against the right scales and against claims that are 5 % off.
    """
    plan, vectors, rows_per_person = PLANS[noise], [], 2
    monkeypatch.setattr(sampler_module, "_EXACT", {})  # nothing else can draw
    levels = {level: rows_per_person * scale_of(noise, plan.find(COUNT, level).cost) for level in plan.steps(COUNT)}
    n_doors = math.ceil(noise_draws_needed(noise, max(levels.values())) / (len(levels) * OPENDP_MAX_DRAWS))
    exact = np.array([0, 5, 10**6, -3])
    for _ in range(n_doors):
        door = Door(plan, rows_per_person=rows_per_person)
        vectors += [(door.counts(COUNT, level, exact) - exact) / scale for level, scale in levels.items()]
    for factor in (1.0, *OFF):
        claimed = statistic(noise, np.concatenate(vectors), 1.0 / factor)
        assert_found_out(claimed, moments(noise, max(levels.values())), factor)


@every_factor
@every_noise
def test_counts_drawn_by_the_exact_sampler(noise, factor):
    """Long vectors: every level by itself, so that a wrong one cannot hide among right ones."""
    plan = PLANS[noise]
    for level in (0, 7):
        scale = scale_of(noise, plan.find(COUNT, level).cost)
        exact = np.arange(noise_draws_needed(noise, scale))
        found = open_door(plan, factor).counts(COUNT, level, exact) - exact
        assert_found_out(statistic(noise, found, scale), moments(noise, scale), factor)


@every_factor
def test_fine_counts(factor):
    """Noise in parts of a row; in this currency a cost is one over the scale."""
    peer = FastLloyd(4, 1.0, 1e-6, bounds=(0, 1))
    plan = peer._plan(peer._settings(), 2)
    scale = 1.0 / plan.find(CELL_COUNT, 0).cost
    exact = np.arange(noise_draws_needed("discrete Gaussian", scale))
    found = open_door(plan, factor, LabDoor).fine_counts(CELL_COUNT, 0, exact) - exact
    assert np.any(found != np.rint(found))
    assert_found_out(statistic("discrete Gaussian", found, scale), moments("discrete Gaussian", scale), factor)


def deviation_of_one(noise):
    """Return the standard deviation of noise of scale 1."""
    return 1.0 if noise == "discrete Gaussian" else math.sqrt(2.0)


WIDTHS = np.array([40.0, 7.0, 300.0])


def box_scales(noise, cost):
    """Return the scales of least total variance at a cost, by Lagrange's multipliers.

    Gaussian: least ``sum(s**2)`` at ``sum(h**2 / s**2) = 2 rho``; Laplace: at ``sum(h / s) = epsilon``.
    """
    if noise == "discrete Gaussian":
        shape = np.sqrt(WIDTHS)
        return shape * math.sqrt(((WIDTHS / shape) ** 2).sum() / (2.0 * cost))
    shape = np.cbrt(WIDTHS)
    return shape * (WIDTHS / shape).sum() / cost


@every_factor
@every_noise
def test_box_sums(noise, factor):
    """Every column has a scale of its own, and each is tested by itself."""
    plan = PLANS[noise]
    scales = box_scales(noise, plan.find(COARSE_SUMS).cost)
    n_groups = noise_draws_needed(noise, scales.min())
    exact = np.arange(n_groups * len(WIDTHS)).reshape(n_groups, -1)
    widths = np.tile(WIDTHS.astype(np.int64), (n_groups, 1))
    noisy, told = open_door(plan, factor).box_sums(COARSE_SUMS, None, exact, widths)
    for column, scale in enumerate(scales):
        found = (noisy - exact)[:, column]
        assert_found_out(statistic(noise, found, scale), moments(noise, scale), factor)
        np.testing.assert_allclose(told[:, column], scale * deviation_of_one(noise))


@every_factor
@every_noise
def test_ball_sums(noise, factor):
    """The noise of a group grows with its radius; each radius is tested by itself."""
    plan, radii = PLANS[noise], np.array([3, 50, 2000])
    multiplier = scale_of(noise, plan.find(CLIPPED_SUMS, 1).cost)
    n_groups = noise_draws_needed(noise, multiplier * radii.min()) // 2 + 1
    exact = np.arange(2 * 3 * n_groups).reshape(-1, 2)
    noisy, _ = open_door(plan, factor).ball_sums(CLIPPED_SUMS, 1, exact, np.tile(radii, n_groups))
    for place, radius in enumerate(radii):
        found, scale = (noisy - exact)[place::3].ravel(), multiplier * radius
        assert_found_out(statistic(noise, found, scale), moments(noise, scale), factor)


@every_factor
@every_noise
def test_weighted_ball_sums(noise, factor):
    """A column that is weighted w times has a w-th of the noise; each column is tested by itself."""
    plan, weights, radius = PLANS[noise], np.array([1, 4, 30]), 3000
    multiplier = scale_of(noise, plan.find(CLIPPED_SUMS, 1).cost)
    n_groups = noise_draws_needed(noise, multiplier * radius / weights.max())
    exact = np.arange(3 * n_groups).reshape(-1, 3)
    noisy, told = open_door(plan, factor).ball_sums(CLIPPED_SUMS, 1, exact, np.full(n_groups, radius), weights)
    for column, weight in enumerate(weights):
        found, scale = (noisy - exact)[:, column], multiplier * radius / weight
        assert_found_out(statistic(noise, found, scale), moments(noise, scale), factor)
        np.testing.assert_allclose(told[:, column], scale * deviation_of_one(noise))


@pytest.mark.slow
@every_factor
@every_noise
def test_histograms(noise, factor):
    """The noise of a group grows with what one row changes in all its histograms; each group is tested by itself."""
    plan, n_histograms, parts_per_row = PLANS[noise], [1, 3, 20], 256
    multiplier = scale_of(noise, plan.find(COUNT, 1).cost)
    n_bins = noise_draws_needed(noise, multiplier * parts_per_row)
    exact = [np.arange(number * n_bins).reshape(number, -1) for number in n_histograms]
    noisy, told = open_door(plan, factor).histograms(COUNT, 1, exact, n_histograms, parts_per_row)
    for group, number in enumerate(n_histograms):
        length = parts_per_row * (math.sqrt(number) if noise == "discrete Gaussian" else number)
        found, scale = (noisy[group] - exact[group]).ravel(), multiplier * length
        assert_found_out(statistic(noise, found, scale), moments(noise, scale), factor)
        assert told[group] == pytest.approx(scale * deviation_of_one(noise))


# Selections

SCORE_WIDTH = 1000


def candidates(scale, n_steps):
    """Return scores in steps of one scale below the best, more and more of them: so that how deep a choice goes varies."""
    below = np.repeat(np.arange(n_steps), (np.arange(n_steps) + 1) ** 2)
    return -np.rint(scale * below).astype(np.int64)


def exponential_law(scores, scale):
    weights = np.exp(scores / scale)
    return weights / weights.sum()


def permute_and_flip_law(scores, scale):
    """Return ``p_i E[1 / (1 + N)]``: i shows heads and is the first in random order of all that do, N others."""
    heads = np.exp((scores - scores.max()) / scale)
    chances, members = np.unique(heads, return_inverse=True)
    law_of_chance = []
    for chance in chances:
        others = np.delete(heads, np.flatnonzero(heads == chance)[0])
        law_of_n = np.ones(1)
        for other in others:
            law_of_n = np.convolve(law_of_n, [1.0 - other, other])
        law_of_chance.append(chance * (law_of_n / np.arange(1, law_of_n.size + 1)).sum())
    return np.array(law_of_chance)[members]


LAWS = {
    "exponential mechanism": (PLANS["discrete Gaussian"], exponential_law, 12),
    "permute-and-flip": (PLANS["discrete Laplace"], permute_and_flip_law, 7),
}


def selection_scale(mechanism, cost, rows_per_person):
    """Return the scale of scores that a cost pays for: rho = (w / s)**2 / 8, epsilon = w / s."""
    sensitivity = SCORE_WIDTH * rows_per_person
    return sensitivity / (math.sqrt(8.0 * cost) if mechanism == "exponential mechanism" else cost)


def moments_of(law, values):
    mean = law @ values
    return Moments(mean, law @ (values - mean) ** 2)


@pytest.mark.slow
@every_factor
@pytest.mark.parametrize("mechanism", LAWS)
def test_selections(mechanism, factor):
    (plan, law, n_steps), rows_per_person = LAWS[mechanism], 2
    scale = selection_scale(mechanism, plan.find(SPLIT, 2).cost, rows_per_person)
    scores = candidates(scale, n_steps)
    assert abs(law(scores, scale).sum() - 1.0) < 1e-9
    slope = np.log(law(scores, 1.01 * scale) / law(scores, 0.99 * scale))  # what a choice says about the scale
    right = moments_of(law(scores, scale), slope)
    n_groups = draws_needed(right, [moments_of(law(scores, wrong * scale), slope) for wrong in OFF])
    door = open_door(plan, factor, rows_per_person=rows_per_person)
    chosen = door.select(SPLIT, 2, [scores] * n_groups, [SCORE_WIDTH] * n_groups)
    assert_found_out(slope[chosen], right, factor)
