"""FastLloyd: its budget, its radius, its steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian_lab.peers import fast_lloyd
from dpmondrian_lab.peers.base import PeerSettings
from dpmondrian_lab.peers.fast_lloyd import FastLloyd, _folded, _Steps
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.packing import packed_points


def steps(epsilon=1.0, delta=1e-7, k=5, n=100_000, d=4):
    return _Steps.of(PeerSettings(k, epsilon, delta, "default", n), d)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("d", [1, 10, 100])
def test_all_steps_together_are_one_gaussian_draw(epsilon, d):
    one = steps(epsilon, d=d)
    spent = one.n_steps * (1 / one.count_noise**2 + 1 / one.sum_noise**2)
    budget = 1 - 2 * GAUSSIAN_SLACK
    assert 1 / math.sqrt(spent) == pytest.approx(least_multiplier(epsilon * budget, 1e-7 * budget))
    assert one.count_noise / one.sum_noise == pytest.approx((4 * d) ** 0.25)


def test_more_budget_or_rows_make_more_steps():
    assert steps(0.01, n=100).n_steps == 2
    assert steps(50.0).n_steps == 7
    taken = [steps(epsilon, n=3000).n_steps for epsilon in (0.1, 1.0, 1.3, 1.6, 2.0, 3.0)]
    assert taken == sorted(taken)
    assert set(taken) <= set(range(2, 8))
    assert len(set(taken)) > 2


def test_the_radius_is_that_of_the_authors():
    assert steps(k=1, d=1).radius == pytest.approx(0.8)
    assert steps(k=16, d=4).radius == pytest.approx(0.8 * 2 / 2)
    assert steps(k=64, d=10).radius == pytest.approx(math.sqrt(10) * 0.8 / 64**0.1)


def plain(rows, centres, radius, n_steps):
    """The method without noise: means of the rows within the radius of their nearest centre."""
    for _ in range(n_steps):
        distance = np.sqrt(((rows[:, None, :] - centres) ** 2).sum(axis=2))
        label = np.where(distance.min(axis=1) <= radius, distance.argmin(axis=1), -1)
        centres = np.array(
            [rows[label == c].mean(axis=0) if np.any(label == c) else centres[c] for c in range(len(centres))]
        )
    return centres, np.array([np.sum(label == c) for c in range(len(centres))])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_noise_it_is_lloyds_algorithm_within_the_radius(blobs, no_noise, seed):
    model = FastLloyd(6, 100.0, 1e-6, (-100, 100), random_state=seed).fit(blobs)
    start = packed_points(6, 2, LabDoor(model._plan(model._settings(), 2), seed=seed).public_randomness("start"))
    chosen = steps(100.0, 1e-6, 6, d=2)
    centres, sizes = plain(blobs, 100 * start, 100 * chosen.radius, chosen.n_steps)
    assert model.cluster_centers_ == pytest.approx(centres, abs=0.2)
    assert np.abs(model.cluster_sizes_ - sizes).max() <= 5


def test_rows_out_of_reach_do_not_count(no_noise):
    """A far group of rows does not draw the only near centre towards it."""
    near, far = np.full((100, 2), -80.0), np.full((50, 2), 95.0)
    one = FastLloyd(1, 10.0, 1e-6, (-100, 100), random_state=0).fit(np.vstack([near, np.full((9, 2), -20.0)]))
    assert one.cluster_centers_[0] == pytest.approx([-75.0, -75.0], abs=0.1)
    two = FastLloyd(1, 10.0, 1e-6, (-100, 100), random_state=0).fit(np.vstack([near, np.full((9, 2), -20.0), far]))
    assert two.cluster_sizes_[0] == pytest.approx(109)
    assert two.cluster_centers_[0] == pytest.approx([-75.0, -75.0], abs=0.1)


def test_the_radius_is_a_closed_ball():
    rows = type("Rows", (), {"displacement": np.array([[3.0, 4.0], [3.0, 5.0], [0.0, 0.0]])})
    label = fast_lloyd._near_enough(rows, np.zeros((1, 2)), 5)
    assert label.tolist() == [0, -1, 0]


def test_points_outside_are_folded_back():
    half = np.array([10, 10])
    points = np.array([[0.0, 9.0], [12.0, -11.0], [31.0, -29.0], [10.0, -10.0], [40.0, 50.0]])
    expected = [[0.0, 9.0], [8.0, -9.0], [-9.0, 9.0], [10.0, -10.0], [0.0, 10.0]]
    assert _folded(points, half).tolist() == expected


def test_centres_stay_in_the_box_whatever_the_noise():
    for seed in range(10):
        model = FastLloyd(7, 0.001, 1e-6, (50, 60), random_state=seed).fit(np.full((5, 3), 55.0))
        assert model.cluster_centers_.min() >= 50
        assert model.cluster_centers_.max() <= 60
        assert model.cluster_sizes_.min() >= 0


def test_all_cells_get_noise_in_every_step(blobs):
    model = FastLloyd(9, 2.0, 1e-6, (-100, 100), random_state=0).fit(blobs[:2])
    n_steps = steps(2.0, 1e-6, 9, d=2).n_steps
    assert [(e.name, e.level, e.n_draws) for e in model.privacy_.entries] == [
        draw for step in range(n_steps) for draw in (("cell count", step, 9), ("relative sums", step, 18))
    ]


def test_a_high_epsilon_is_accounted_for_in_finer_parts(blobs):
    """Noise of a few places would be too coarse for its accounting: the door draws it in parts of places."""
    for epsilon in (100.0, 5000.0):
        model = FastLloyd(4, epsilon, 1e-6, (-100, 100), random_state=0).fit(blobs)
        assert model.privacy_.epsilon == epsilon
