"""The lemmas of ``docs/paper/utility.md``, each against exact laws where they can be computed, else against seeded draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian.dpm.draws import COUNT, SPLIT
from dpmondrian.dpm.scores import STEPS
from dpmondrian.planning import GoodCut, central_cut, count_bound, cut_bound, make_design
from dpmondrian.privacy.door import Door
from dpmondrian.schema.columns import Schema

T, Q, ALPHA = 0.3, 1.0 / 12.0, 5.0
SCHEMA = Schema.from_bounds((0, 100), ["x", "y", "z"], [False] * 3)


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


@pytest.mark.parametrize("beta", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 30.0])
def test_lemma_1_our_counts(epsilon, beta):
    gaussian, laplace = (make_design(10_000, SCHEMA, epsilon, delta) for delta in (1e-6, 0.0))
    for level in (0, 5):
        scale = gaussian.plan.find(COUNT, level).multiplier
        bound = count_bound(gaussian, level, beta)
        assert gaussian_tail(scale, bound) <= beta
        assert gaussian_tail(scale, 0.45 * bound) > beta
        scale, bound = laplace.plan.find(COUNT, level).multiplier, count_bound(laplace, level, beta)
        ratio = math.exp(-1.0 / scale)
        assert 2 * ratio ** (bound + 1) / (1 + ratio) <= beta
        assert bound == 0 or 2 * ratio**bound / (1 + ratio) > beta, "the least whole number"


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


# Lemmas 6 and 7: our scores


def picks(design, exact_scores: np.ndarray, n_draws: int) -> np.ndarray:
    width = design.rule.selection_range(design.n_rows, 0)
    door = Door(design.plan, design.settings.rows_per_person, seed=0)
    return np.array(door.select(SPLIT, 0, [exact_scores] * n_draws, [width] * n_draws))


@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 4}, {"delta": 0.0, "epsilon": 3.0}])
def test_lemma_6_the_chosen_cut_is_central(parameters):
    """Two humps, and a good cut between them in the first of three columns; the other columns have one hump each."""
    n_small, n_rows, beta = 4_000, 40_000, 0.1
    generator = np.random.default_rng(5)
    values = generator.normal(0.5, 0.08, (3, n_rows))
    values[0] = np.concatenate([generator.normal(0.25, 0.04, n_rows - n_small), generator.normal(0.8, 0.04, n_small)])
    codes = np.clip(values * 256, 0, 255).astype(int)
    histogram = np.array([np.bincount(own, minlength=256) for own in codes])
    design = make_design(n_rows, SCHEMA, **parameters)
    box = np.zeros((1, 3), dtype=np.int64), design.grid.n_codes[None, :].copy()
    [cuts] = design.rule.score_cuts(histogram[None], np.array([n_rows]), *box)
    peak = max(int(histogram[0, start : start + 16].sum()) for start in range(160, 241, 8))
    least = central_cut(design, GoodCut(peak, n_small), 0, beta, n_rows)
    chosen = picks(design, cuts.exact_scores, 400)
    sides = np.array([min(cuts.exact_sides(*cuts.position(pick))) for pick in chosen])
    behind = (cuts.exact_scores.max() - cuts.exact_scores[chosen]) / STEPS
    assert 100 <= least <= n_small, "the bound says something"
    assert np.mean(sides < least) <= beta
    assert np.mean(behind > cut_bound(design, 0, beta)) <= beta


@pytest.mark.parametrize(("parameters", "most"), [({}, math.exp(-4.5)), ({"n_clusters": 4}, math.exp(-8.0))])
def test_lemma_7_an_empty_side_is_seldom_kept(parameters, most):
    design = make_design(2_000, SCHEMA, 0.5, **parameters)
    for level in (1, 4, 7):
        scale = design.plan.find(COUNT, level).multiplier
        limit = design.size_limit(level)
        assert limit >= math.sqrt(-2 * math.log(most)) * scale * (1 - 1e-9)
        assert gaussian_tail(scale, limit - 1e-9) / 2 <= most
    door = Door(design.plan, seed=1)
    noisy = door.counts(COUNT, 7, np.zeros(4_000, dtype=np.int64))
    assert np.mean(noisy >= design.size_limit(7)) <= most


def test_lemma_7_an_empty_side_is_seldom_kept_without_delta():
    design = make_design(2_000, SCHEMA, 0.5, delta=0.0)
    for level in (1, 7):
        scale = design.plan.find(COUNT, level).multiplier
        ratio = math.exp(-1.0 / scale)
        limit = math.ceil(design.size_limit(level))
        assert ratio**limit / (1 + ratio) <= math.exp(-3 * math.sqrt(2)) / (1 + ratio) < 0.0145
