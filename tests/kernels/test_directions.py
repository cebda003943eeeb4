"""Directions between groups of points, and what cells expect along them: compiled kernels against plain ones."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import ndtr

from dpmondrian.dpm.merging import ward_joins
from dpmondrian.kernels import directions, reference
from dpmondrian.kernels.cells import expected_counts, promising


def points(n_points, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.normal(0.0, 5.0, (n_points, n_columns)) + 40.0 * rng.integers(0, 3, n_points)[:, None]
    return places, rng.uniform(1.0, 50.0, n_points), rng.uniform(0.0, 4.0, n_points)


def assert_same_lines(found, expected):
    """Assert that two lists hold the same vectors, up to order and sign: a direction and its opposite show the same."""
    assert found.shape == expected.shape

    def ordered(vectors):
        upright = vectors * np.where(vectors[:, :1] < 0.0, -1.0, 1.0)
        return upright[np.lexsort(np.round(upright, 6).T)]

    np.testing.assert_allclose(ordered(found), ordered(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("n_points", "n_columns"), [(2, 1), (3, 2), (5, 4), (20, 3), (60, 10), (9, 30)])
@pytest.mark.parametrize("trusted", [0.0, 2.0])
def test_directions_between_groups(n_points, n_columns, trusted):
    places, sizes, noise = points(n_points, n_columns)
    joins, _ = ward_joins(places, sizes)
    what = (places, sizes, noise, joins, (2, 3, 4, 6, 8, 12), 2.5, trusted, 15, 8)
    found = directions.between_groups(*what)
    assert len(found) > 0 or trusted  # two points may differ by noise alone
    assert_same_lines(found, reference.between_groups(*what))


def test_groups_that_may_be_noise_have_no_directions():
    places, sizes, noise = points(20, 3)
    joins, _ = ward_joins(places, sizes)
    assert len(directions.between_groups(places, sizes, 1e6 * noise, joins, (2, 3), 1.0, 2.0, 15, 8)) == 0


@pytest.mark.parametrize(("n_points", "n_columns"), [(1, 2), (2, 1), (60, 3), (12, 20)])
@pytest.mark.parametrize("most", [5, 128])
def test_directions_across_gaps(n_points, n_columns, most):
    places, _, noise = points(n_points, n_columns, seed=1)
    found = directions.across_gaps(places, noise, 2.0, most)
    assert_same_lines(found, reference.across_gaps(places, noise, 2.0, most))


def test_gaps_are_the_edges_of_the_shortest_tree_of_scipy():
    places, _, noise = points(60, 3)
    found = directions.across_gaps(places, 0.0 * noise, 0.0, 128)
    tree = minimum_spanning_tree(np.sqrt(((places[:, None] - places) ** 2).sum(axis=2)))
    np.testing.assert_allclose(np.sort(np.sqrt((found**2).sum(axis=1))), np.sort(tree.data))


def test_expected_rows_follow_the_normal_law():
    along, sizes, spread, n_bins = np.array([[0.5, 0.0, 9.0]]), np.array([2.0, 1.0, 4.0]), 0.7, 500
    counts, [low], [high] = expected_counts(along, sizes, np.array([spread]), 3.0, n_bins)
    edges = np.linspace(low, high, n_bins + 1)
    below = sizes @ ndtr((edges - along.T) / spread)
    np.testing.assert_allclose(counts[0], np.diff(below), atol=1e-6)


def test_cells_within_one_hump_expect_nothing():
    counts, _, _ = expected_counts(np.array([[0.0, 1.9]]), np.ones(2), np.ones(1), 2.5, 48)
    assert not counts.any()


def test_bins_reach_as_far_beyond_a_cell_as_it_is_from_its_neighbour():
    _, [low], [high] = expected_counts(np.array([[0.0, 10.0, 12.5]]), np.ones(3), np.ones(1), 2.5, 48)
    assert (low, high) == (-10.0, 15.0)


@pytest.mark.parametrize("n_hints", [0, 1, 3])
@pytest.mark.parametrize("n_tried", [0, 2])
@pytest.mark.parametrize("deviation", [0.1, 2.0, 20.0])
def test_promising_directions(n_hints, n_tried, deviation):
    rng, seen = np.random.default_rng(0), set()
    for _ in range(30):
        n_directions, n_columns = int(rng.integers(max(n_hints, 1), 40)), int(rng.integers(2, 6))
        all_directions = rng.normal(size=(n_directions + n_tried, n_columns))
        all_directions[: n_columns // 2] = np.eye(n_columns)[: n_columns // 2][: len(all_directions)]
        all_directions /= np.sqrt((all_directions**2).sum(axis=1, keepdims=True))
        directions, tried = np.split(all_directions, [n_directions])
        expected = rng.uniform(0.0, 40.0, (n_directions, 1)) * (
            1.0 + np.cos(np.linspace(0.0, 12.0, 48) * rng.uniform(0, 1, (n_directions, 1)))
        )
        what = (
            directions,
            expected,
            tried,
            n_hints,
            4,
            np.array([1, 2, 3, 4, 6, 8]),
            deviation,
            0.4,
            0.1,
            0.95,
            0.8,
            1.5,
            6.0,
            1.15,
        )
        (found, is_new, most), (plainly, plainly_new, plainly_most) = promising(*what), reference.promising(*what)
        assert (found, most) == (plainly, plainly_most)
        np.testing.assert_array_equal(is_new, plainly_new)
        seen.add(len(found))
    assert len(seen) > 1 or deviation > 10.0


def test_a_hint_that_promises_nothing_is_looked_along_alone():
    directions, hump = np.eye(2), 1e4 * np.exp(-0.5 * np.linspace(-12.0, 12.0, 48) ** 2)
    expected = np.stack([np.roll(hump, 12) + np.roll(hump, -12), hump])
    for kernel in (promising, reference.promising):
        what = (directions, expected, directions[:1], 1, 4, np.array([1, 2, 3, 4, 6, 8]), 2.0, 0.4, 0.1, 0.95, 0.8, 1.5, 6.0, 1.15)  # fmt: skip
        found, is_new, most = kernel(*what)
        assert (found, is_new.tolist(), most) == ([1], [False, True], 1)
