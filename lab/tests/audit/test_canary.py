"""The canary audit: the bound of the paper, known answers, and its guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpmondrian.exceptions import ParameterError
from dpmondrian_lab.audit.canary import NearCanaries, canary_audit, canary_crowds, one_run_epsilon, one_run_p_value
from dpmondrian_lab.audit.catalogue import EPSILON, SUBJECTS
from dpmondrian_lab.audit.game import fit_with_seed

NOTHING = np.empty((0, 1))


def noisy_counts(scale, n_canaries, law="laplace"):
    def run(rows, seed):
        counts = np.bincount(rows[:, 0].astype(int), minlength=n_canaries)
        return counts + getattr(np.random.default_rng(seed), law)(0.0, scale, n_canaries)

    return run


def audit(scale, n_canaries=2000, law="laplace", **options):
    canaries = np.arange(n_canaries)[:, None]
    return canary_audit(noisy_counts(scale, n_canaries, law), NOTHING, canaries, lambda seen: seen, **options)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_one_run_finds_a_good_part_of_epsilon_and_no_more(epsilon):
    assert 0.45 * epsilon < audit(1.0 / epsilon).epsilon_lower <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_half_of_the_noise_refutes_the_claim(epsilon):
    assert audit(0.5 / epsilon).refutes(epsilon)


def test_gaussian_noise_is_judged_at_its_delta():
    assert not audit(3.7304, law="normal", delta=1e-5).refutes(1.0)
    assert audit(0.5, law="normal", delta=1e-5).refutes(1.0)


@pytest.mark.slow
def test_the_bound_holds_as_often_as_it_says():
    """Of 200 bounds on an epsilon that is fully used, 5 % may be too large: 22 or more have a probability below 1e-3."""
    assert sum(audit(1.0, 400, seed=seed).refutes(1.0) for seed in range(200)) < 22


def test_several_runs_count_together():
    one, many = audit(1.0, 40, seed=3), audit(1.0, 40, n_runs=50, seed=3)
    assert many.n_canaries == 50 * one.n_canaries == 2000
    assert 0.4 < many.epsilon_lower <= 1.0


def test_a_release_without_canaries_says_nothing():
    found = canary_audit(
        lambda rows, seed: seed,
        NOTHING,
        np.zeros((1000, 1)),
        lambda seed: np.random.default_rng(seed).normal(size=1000),
    )
    assert found.epsilon_lower == 0.0


def test_whoever_always_guesses_wrongly_proves_nothing():
    canaries = np.arange(500)[:, None]
    found = canary_audit(noisy_counts(0.1, 500), NOTHING, canaries, lambda seen: -seen)
    assert found.n_right < 5
    assert found.epsilon_lower == 0.0


@pytest.mark.parametrize(
    ("n_guesses", "n_right", "epsilon"), [(100, 70, 0.3), (50, 50, 2.0), (20, 3, 1.0), (7, 0, 0.5)]
)
def test_without_delta_the_p_value_is_a_binomial_tail(n_guesses, n_right, epsilon):
    right = np.exp(epsilon) / (1.0 + np.exp(epsilon))
    tail = binom.pmf(np.arange(n_right, n_guesses + 1), n_guesses, right).sum()
    assert one_run_p_value(1000, n_guesses, n_right, epsilon) == pytest.approx(tail)


def published_p_value(m, r, v, eps, delta):
    """Appendix D of Steinke, Nasr and Jagielski, as it is printed there."""
    q = 1.0 / (1.0 + np.exp(-eps))
    beta = binom.sf(v - 1, r, q)
    alpha, total = 0.0, 0.0
    for i in range(1, v + 1):
        total += binom.pmf(v - i, r, q)
        alpha = max(alpha, total / i)
    return min(1.0, beta + alpha * delta * 2 * m)


@pytest.mark.parametrize(("m", "r", "v"), [(1000, 200, 150), (500, 500, 300), (100, 10, 10)])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_with_delta_it_is_that_of_the_paper(m, r, v, delta):
    for epsilon in (0.1, 1.0, 2.0):
        assert one_run_p_value(m, r, v, epsilon, delta) == pytest.approx(published_p_value(m, r, v, epsilon, delta))


def test_delta_weakens_the_bound():
    bounds = [one_run_epsilon(2000, 200, 180, delta) for delta in (0.0, 1e-5, 1e-4, 1e-3)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


@pytest.mark.parametrize("share", [0.0, 1.5, -1.0])
def test_wrong_parameters_are_told(share):
    with pytest.raises(ParameterError, match="guess_share"):
        audit(1.0, guess_share=share)
    with pytest.raises(ParameterError, match="n_right"):
        one_run_p_value(10, 5, 6, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["dpm", "dpm_k", "dpm_paper", "fast_lloyd"])
def test_ours_are_not_refuted(key):
    subject = SUBJECTS[key]
    table, middles, canaries = canary_crowds(3, 100)
    run = fit_with_seed(lambda seed: subject.estimator((0.0, 1.0), n_clusters=9, max_depth=5, random_state=seed))
    found = canary_audit(run, table, canaries, NearCanaries(middles, canaries), n_runs=15, delta=subject.delta)
    assert not found.refutes(EPSILON)


def test_exact_clusters_give_their_canaries_away():
    """Without noise the same guesser is nearly always right: it looks at the right places."""
    from sklearn.cluster import KMeans

    table, middles, canaries = canary_crowds(3, 100)

    class Exact:
        def __init__(self, rows):
            fitted = KMeans(9, init=middles, n_init=1).fit(rows)
            self.cluster_centers_, self.cluster_sizes_ = fitted.cluster_centers_, np.bincount(fitted.labels_)

    scores = NearCanaries(middles, canaries)
    found = canary_audit(lambda rows, seed: Exact(rows), table, canaries, scores, n_runs=30)
    assert found.refutes(2.0)
