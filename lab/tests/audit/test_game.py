"""The membership game: known answers, its guarantee, and what it finds in published algorithms and not in ours."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.exceptions import ParameterError
from dpmondrian_lab.audit.catalogue import EPSILON, SUBJECTS, game_pairs
from dpmondrian_lab.audit.game import (
    ReleaseFeatures,
    added_row,
    epsilon_lower_bound,
    fit_with_seed,
    membership_game,
    rate_bounds,
)
from dpmondrian_lab.audit.published import PublishedDPM, averaged_gaps_pair
from dpmondrian_lab.audit.replay import audit_replay

TABLE, NEIGHBOUR = [1], [1, 2]
PAIRS = {game.name: game for game in game_pairs()}


def noisy_count(scale, law="laplace"):
    return lambda rows, seed: len(rows) + getattr(np.random.default_rng(seed), law)(scale=scale)


def only(released):
    return [released]


def play(run, n_runs=3000, features=only, **options):
    return membership_game(run, TABLE, NEIGHBOUR, n_runs=n_runs, features=features, **options)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_of_laplace_noise_a_good_part_of_epsilon_is_found_and_no_more(epsilon):
    found = play(noisy_count(1.0 / epsilon)).epsilon_lower
    assert 0.6 * epsilon < found <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_half_of_the_noise_refutes_the_claim(epsilon):
    assert play(noisy_count(0.5 / epsilon)).refutes(epsilon)


def test_gaussian_noise_is_judged_at_its_delta():
    """sigma = 3.73 is (1, 1e-5)-private; the variance used as scale, or half of the noise for epsilon = 0.5, is not."""
    assert not play(noisy_count(3.7304, "normal"), delta=1e-5).refutes(1.0)
    assert play(noisy_count(0.5, "normal"), delta=1e-5).refutes(1.0)


def test_a_large_delta_explains_what_a_small_one_does_not():
    def leaks(rows, seed):
        return float(len(rows) == 2 and np.random.default_rng(seed).uniform() < 0.1)

    assert play(leaks, n_runs=1000, delta=0.0).epsilon_lower > 1.0
    assert play(leaks, n_runs=1000, delta=0.1).epsilon_lower == 0.0


def test_the_bound_holds_as_often_as_it_says():
    """Of 200 bounds on an epsilon that is fully used, 5 % may be too large: 22 or more have a probability below 1e-3."""
    noise = np.random.default_rng(0)
    too_large = 0
    for seed in range(200):
        found = play(lambda rows, _: len(rows) + noise.laplace(), n_runs=200, seed=seed)
        too_large += found.refutes(1.0)
    assert too_large < 22


def test_a_constant_release_says_nothing():
    found = play(lambda rows, seed: 7.0, n_runs=100)
    assert found.epsilon_lower == 0.0


def test_a_perfect_distinguisher_is_limited_by_the_number_of_runs():
    few, many = (play(lambda rows, seed: float(len(rows)), n_runs=n).epsilon_lower for n in (100, 1000))
    assert 2.0 < few < many
    assert many == pytest.approx(epsilon_lower_bound(500, 500, 0, 500))


def test_training_on_noise_finds_nothing():
    """Forty features without any information: whoever looked at the tested releases would find something in them."""
    found = play(lambda rows, seed: np.random.default_rng(seed).normal(size=40), n_runs=400, features=list)
    assert found.epsilon_lower < 0.5


def test_the_same_seed_gives_the_same_result_and_another_another():
    one, again, other = (play(noisy_count(1.0), n_runs=400, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_runs_of_both_tables_have_different_seeds():
    seeds = []
    play(lambda rows, seed: seeds.append(seed) or 0.0, n_runs=100)
    assert len(set(seeds)) == 200


def test_clopper_pearson_bounds():
    low, high = rate_bounds([0, 5, 10], 10, 0.025)
    assert low == pytest.approx([0.0, 0.18709, 0.69150], abs=1e-5)
    assert high == pytest.approx([0.30850, 0.81291, 1.0], abs=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_runs": 3}, "n_runs"),
        ({"delta": -0.1}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"confidence": 0.0}, "confidence"),
    ],
)
def test_wrong_parameters_are_told(options, words):
    with pytest.raises(ParameterError, match=words):
        play(noisy_count(1.0), **options)


def test_the_added_row_is_found_wherever_it_is():
    rows = np.arange(6.0).reshape(3, 2)
    for place in range(4):
        assert added_row(rows, np.insert(rows, place, [9.0, 8.0], axis=0)).tolist() == [9.0, 8.0]
        assert added_row(np.insert(rows, place, [9.0, 8.0], axis=0), rows).tolist() == [9.0, 8.0]
    assert added_row(np.empty((0, 2)), [[1.0, 2.0]]).tolist() == [1.0, 2.0]
    with pytest.raises(ParameterError, match="one row more"):
        added_row(rows, rows)


@pytest.mark.slow
@pytest.mark.parametrize("key", SUBJECTS)
def test_every_subject_has_as_many_features_as_names(key):
    features = ReleaseFeatures([0.5, 0.5])
    run = fit_with_seed(lambda seed: SUBJECTS[key].estimator((0.0, 1.0), random_state=seed))
    for rows in (np.empty((0, 2)), PAIRS["a row between two crowds"].pair.table):
        assert len(features(run(rows, 0))) == len(features.names)


def game_of(key, name, n_runs):
    subject, game = SUBJECTS[key], PAIRS[name]
    return membership_game(
        fit_with_seed(lambda seed: subject.estimator(game.bounds, n_clusters=game.n_clusters, random_state=seed)),
        game.pair.table,
        game.pair.neighbour,
        n_runs=n_runs,
        features=ReleaseFeatures(added_row(game.pair.table, game.pair.neighbour)),
        delta=subject.delta,
    )


REFUTING = ("alternating gaps", "no row and one row", "a row beyond the bounds")
"""The tables on which published algorithms are found out; `make audit` plays all games."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "name"),
    [
        *(("dpm_published", name) for name in REFUTING),
        ("dp_lloyd_published", "no row and one row"),
        ("em_mc_published", "a row beyond the bounds"),
    ],
)
def test_published_algorithms_are_refuted(key, name):
    assert game_of(key, name, 60).refutes(EPSILON)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "name"),
    [
        *((key, name) for key in ("dpm_paper", "dp_lloyd") for name in REFUTING),
        ("dpm", "no row and one row"),
        ("dpm_k", "a row beyond the bounds"),
        ("dpm_pure", "no row and one row"),
    ],
)
def test_ours_are_not_refuted_on_the_same_tables(key, name):
    assert not game_of(key, name, 60).refutes(EPSILON)


def test_the_pair_of_alternating_gaps_moves_the_averages_and_not_the_pooled_gaps():
    pair = averaged_gaps_pair(600)
    published = audit_replay(lambda: PublishedDPM(1.0, 1e-6, (0, 1), max_depth=1), pair.table, pair.neighbour)
    [broken] = [finding for finding in published.findings if finding.kind == "sensitivity"]
    assert broken.query == "interval size"
    assert broken.measured > 20.0
    corrected = audit_replay(lambda: SUBJECTS["dpm_paper"].estimator((0.0, 1.0)), pair.table, pair.neighbour)
    assert corrected.ok
    assert corrected.used["interval size"] < 1.0


def test_the_published_dpm_finds_clusters_and_says_that_it_is_not_private():
    generator = np.random.default_rng(0)
    rows = np.concatenate([generator.normal(middle, 0.02, (3000, 2)) for middle in (0.2, 0.8)])
    model = PublishedDPM(5.0, 1e-6, (0, 1), random_state=0, max_depth=1).fit(rows)
    assert sorted(model.cluster_centers_[:, 0].round(1).tolist()) == [0.2, 0.8]
    assert "NOT RELEASABLE" in str(model.privacy_)
    assert not model.privacy_.releasable
    assert model.privacy_.epsilon == np.inf
