"""A small group of rows far from its centre is reached, and is not taken for an empty one."""

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.dpm.steps import _next_reach

RADII = np.full(4, 100)


def next_reach(*means, error=5.0, reach=1.0, norm=2):
    mean = np.array(means)
    return _next_reach(mean, np.full(mean.shape, error), RADII[: len(mean)], np.full(len(mean), reach), norm).tolist()


def test_rows_that_pull_as_far_as_they_may_are_reached_for():
    assert next_reach([90.0, 0.0, 0.0], [0.0, 40.0, 40.0]) == [2.0, 2.0]
    assert next_reach([90.0, 0.0, 0.0], reach=2.0) == [4.0]


def test_rows_around_their_centre_or_near_it_have_the_radius_of_all():
    assert next_reach([0.0, 0.0, 0.0], [30.0, 20.0, 0.0], reach=4.0) == [1.0, 1.0]


def test_noise_does_not_pull():
    assert next_reach([90.0, 0.0, 0.0], error=30.0) == [1.0]
    noise = np.random.default_rng(0).normal(size=(4, 200)) * 20.0
    assert next_reach(*noise, error=20.0) == [1.0] * 4


def test_lengths_are_those_of_the_norm():
    assert next_reach([30.0, 30.0, 30.0], norm=2) == [2.0]
    assert next_reach([20.0, 20.0, 20.0], norm=2) == [1.0]
    assert next_reach([20.0, 20.0, 20.0], norm=1) == [2.0]


@pytest.mark.parametrize(("epsilon", "delta", "few"), [(1.0, 1e-6, 150), (4.0, 0.0, 250)])
def test_small_groups_far_off_get_their_centres(epsilon, delta, few):
    """Three large clusters lie close together, so the radius that suits most rows is short; two small groups lie far beyond it."""
    generator = np.random.default_rng(3)
    middles = np.array([[0.10, 0.12], [0.16, 0.10], [0.12, 0.18], [0.93, 0.90], [0.90, 0.15]])
    cluster = np.repeat(np.arange(5), [4000, 4000, 4000, few, few])
    rows = middles[cluster] + 0.008 * generator.normal(size=(len(cluster), 2))
    missed = []
    for seed in range(12):
        model = DPM(epsilon=epsilon, delta=delta, n_clusters=5, bounds=(0.0, 1.0), random_state=seed)
        away = np.linalg.norm(middles[:, None] - model.fit(rows).cluster_centers_, axis=2).min(axis=1)
        missed.append(away.max())
    assert np.mean(missed) < 0.02
