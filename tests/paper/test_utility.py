"""The lemmas of ``docs/paper/utility.md``, each against exact laws where they can be computed, else against seeded draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

T, Q, ALPHA = 0.3, 1.0 / 12.0, 5.0


def law(exponents: np.ndarray) -> np.ndarray:
    weights = np.exp(exponents - exponents.max())
    return weights / weights.sum()


def gaussian_tail(scale: float, beyond: float) -> float:
    """Return P(|Z| > beyond) of the discrete Gaussian, summed."""
    k = np.arange(-int(40 * scale) - 2, int(40 * scale) + 3)
    weights = np.exp(-0.5 * (k / scale) ** 2)
    return float(weights[np.abs(k) > beyond].sum() / weights.sum())


# Lemma 1: counts


@pytest.mark.parametrize("kappa_beyond_offset", [0.0, 3.0, 20.0])
def test_lemma_1_the_published_shifted_count(kappa_beyond_offset):
    epsilon, delta = 0.2, 1e-3
    offset = -math.log(2 * delta) / epsilon
    kappa = offset + kappa_beyond_offset
    exact = 0.5 * math.exp(-(kappa + offset) * epsilon) + 0.5 * math.exp(-(kappa - offset) * epsilon)
    assert exact <= 0.5 * math.exp(-kappa * epsilon) / delta, "the printed bound holds, for the least offset"
    noise = np.random.default_rng(0).laplace(0.0, 1.0 / epsilon, 200_000)
    assert np.mean(np.abs(noise - offset) > kappa) == pytest.approx(exact, abs=0.004)


def test_lemma_1_needs_the_least_offset():
    """For a larger offset, which the lemma allows, the printed bound fails: the count is then far off nearly always."""
    epsilon, delta = 0.2, 1e-3
    offset = 2 * -math.log(2 * delta) / epsilon
    kappa = 0.8 * offset
    off = 0.5 * math.exp(-(kappa + offset) * epsilon) + 1.0 - 0.5 * math.exp(-(offset - kappa) * epsilon)
    assert off > 0.95
    assert 0.5 * math.exp(-kappa * epsilon) / delta < 0.03


# Theorem 2: the chosen score is nearly the best


def random_scores(seed: int) -> tuple[np.ndarray, float]:
    generator = np.random.default_rng(seed)
    kind, size = seed % 3, int(generator.integers(2, 200))
    if kind == 0:
        return generator.normal(0, 3, size), float(generator.uniform(0.2, 3))
    if kind == 1:
        return np.where(np.arange(size) == 0, generator.uniform(0, 9), 0.0), 1.0
    return generator.choice([0.0, 1.0, 5.0, 5.3], size), float(generator.uniform(0.2, 3))


@pytest.mark.parametrize("seed", range(30))
def test_theorem_2_exponential_mechanism(seed):
    scores, scale = random_scores(seed)
    probability, best = law(scores / scale), scores.max()
    for omega in (0.0, 0.3, 2.0):
        near = (scores >= best - omega).sum()
        for kappa in (0.1, 1.0, 4.0):
            limit = best - omega - scale * (math.log(len(scores) / near) + kappa)
            assert probability[scores <= limit].sum() <= math.exp(-kappa)


def test_theorem_2_is_nearly_attained():
    n, kappa = 10_000, 3.0
    scores = np.zeros(n)
    scores[0] = math.log(n) + kappa
    missed = 1 - law(scores)[0]
    assert 0.9 * math.exp(-kappa) < missed <= math.exp(-kappa)


def permute_and_flip_law(scores: np.ndarray, scale: float) -> np.ndarray:
    """Return p_r * integral of the product of (1 - v p_j) over the others, by polynomials in v."""
    heads = np.exp((scores - scores.max()) / scale)
    probability = []
    for r, own in enumerate(heads):
        product = np.poly1d([1.0])
        for other in np.delete(heads, r):
            product *= np.poly1d([-other, 1.0])
        probability.append(own * product.integ()(1.0))
    return np.array(probability)


@pytest.mark.parametrize("seed", range(12))
def test_theorem_2_permute_and_flip(seed):
    scores, scale = random_scores(seed)
    scores = scores[:9]
    probability = permute_and_flip_law(scores, scale)
    assert probability.sum() == pytest.approx(1.0)
    for kappa in (0.1, 1.0, 3.0):
        limit = scores.max() - scale * (math.log(len(scores)) + kappa)
        assert probability[scores <= limit].sum() <= math.exp(-kappa)


# Lemmas 3 to 5: cuts of given emptiness and centreness


def random_cuts(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the emptiness and centreness of cuts, and the sharpness of the selection."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(3, 60))
    emptiness = 1 - generator.uniform(0, [0.2, 1.0][seed % 2], size) ** 2
    return emptiness, generator.uniform(0, 1, size), float(generator.uniform(0.2, 8))


@pytest.mark.parametrize("seed", range(40))
def test_lemma_3_a_central_cut_that_is_chosen_is_empty(seed):
    emptiness, centreness, sharpness = random_cuts(seed)
    scores = centreness + ALPHA * emptiness
    best, probability = int(np.argmax(scores)), law(sharpness * scores)
    for level in (0.0, 0.3, float(centreness[best])):
        central = centreness >= level
        if not central[best]:
            continue
        for omega in (0.0, 0.4):
            near = (central & (scores >= scores[best] - omega)).sum()
            for kappa in (0.2, 1.0, 3.0):
                behind = (math.log(central.sum() / near) + kappa) / (ALPHA * sharpness) + (omega + 1 - level) / ALPHA
                missed = central & (emptiness[best] - emptiness >= behind)
                assert probability[missed].sum() / probability[central].sum() <= math.exp(-kappa)


@pytest.mark.parametrize("seed", range(40))
def test_lemma_4_the_probability_of_a_central_cut(seed):
    emptiness, centreness, sharpness = random_cuts(seed)
    scores, least = centreness + ALPHA * emptiness, emptiness.min()
    probability = law(sharpness * scores)
    for level in (0.1, 0.3, 0.8):
        central = centreness >= level
        if not central.any():
            continue
        weights = np.exp(sharpness * (scores - ALPHA * least - level))
        ratio = weights[~central].sum() / weights[central].sum()
        chance = probability[central].sum()
        assert chance == pytest.approx(1 / (ratio + 1))
        for omega in (0.0, 0.4):
            threshold = scores.max() - omega
            near, lift = scores >= threshold, math.exp(sharpness * (threshold - ALPHA * least - level))
            above = lift * ((~central & ~near).sum() + (~central & near).sum() * math.exp(sharpness * omega))
            below = (central & ~near).sum() + (central & near).sum() * lift
            assert chance >= 1 / (above / below + 1) - 1e-12, "the paper's bound, with its weights corrected"
        simple = (~central).sum() / central.sum() * math.exp(sharpness * ALPHA * (1 - least))
        assert chance >= 1 / (simple + 1) - 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_lemma_5_the_probability_of_an_outer_cut(seed):
    emptiness, centreness, sharpness = random_cuts(seed)
    probability = law(sharpness * (centreness + ALPHA * emptiness))
    for level in (0.1, 0.3, 0.8):
        outer = centreness < level
        if outer.all() or not outer.any():
            continue
        share = outer.sum() / (~outer).sum()
        eta = share * math.exp(-sharpness * (1 + ALPHA * (1 - emptiness.min())))
        sharper = share * math.exp(sharpness * (ALPHA * (emptiness[outer].min() - emptiness[~outer].max()) - 1))
        assert probability[outer].sum() >= 1 - 1 / (sharper + 1) - 1e-12
        assert sharper >= eta * (1 - 1e-12)


def test_lemma_5_where_an_outer_cut_ends_a_branch():
    """At the root a cut must be far more than outer: centreness 0.028, not t = 0.3; three or four levels deeper it is t."""
    limits = [T / Q * 2**level / 2**7 for level in range(6)]
    assert limits[0] == pytest.approx(0.028, abs=1e-3)
    assert limits[3] < T < limits[4]


# Lemma 6: an empty side is seldom kept


def test_lemma_6_an_empty_side_is_seldom_kept():
    scale = 37.0
    assert gaussian_tail(scale, 2 * scale - 1e-9) / 2 <= math.exp(-2.0)
    ratio = math.exp(-1.0 / scale)
    assert ratio ** math.ceil(2 * math.sqrt(2) * scale) / (1 + ratio) <= math.exp(-2 * math.sqrt(2))
