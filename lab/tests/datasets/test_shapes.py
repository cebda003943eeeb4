from functools import partial

import numpy as np
import pytest

from dpmondrian_lab.datasets import shapes
from dpmondrian_lab.exceptions import DatasetError

MAKERS = {
    "one_gaussian": partial(shapes.one_gaussian, 5),
    "one_uniform": partial(shapes.one_uniform, 5),
    "one_student": partial(shapes.one_student, 5),
    "one_exponential": partial(shapes.one_exponential, 5),
    "one_flat": partial(shapes.one_flat, 5),
    "separated": partial(shapes.separated, 10, 5),
    "unequal_sizes": shapes.unequal_sizes,
    "unequal_spreads": shapes.unequal_spreads,
    "whole_numbers": shapes.whole_numbers,
    "two_moons": shapes.two_moons,
    "touching": shapes.touching,
    "diagonal": shapes.diagonal,
    "broad": shapes.broad,
}


def middles(shape):
    """Return the mean of every cluster."""
    return np.array([shape.rows[shape.truth == c].mean(axis=0) for c in range(shape.n_clusters)])


def spreads(shape):
    """Return the standard deviation within every cluster, over all columns."""
    return np.array([shape.rows[shape.truth == c].std(axis=0).mean() for c in range(shape.n_clusters)])


def gaps(shape):
    """Return the distances of all pairs of clusters, and the sums of their standard deviations."""
    first, second = np.triu_indices(shape.n_clusters, 1)
    centres, deviations = middles(shape), spreads(shape)
    return np.linalg.norm(centres[first] - centres[second], axis=1), deviations[first] + deviations[second]


def test_every_shape_is_tested():
    assert set(shapes.__all__) == {"Shape", *MAKERS}


@pytest.mark.parametrize("name", MAKERS)
def test_a_shape_has_rows_truth_and_bounds(name):
    shape = MAKERS[name]()
    assert shape.rows.ndim == 2
    assert len(shape.rows) == len(shape.truth) == 50_000
    assert shape.rows.dtype == (np.int64 if name in ("whole_numbers", "one_flat") else np.float64)
    assert shape.truth.dtype == np.int64
    assert set(shape.truth) == set(range(shape.n_clusters))
    low, high = shape.bounds
    assert np.mean((shape.rows >= low) & (shape.rows <= high)) > 0.99


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_chooses_the_rows(name):
    shape, again, other = (MAKERS[name](n_rows=500, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(shape.rows, again.rows)
    np.testing.assert_array_equal(shape.truth, again.truth)
    assert not np.array_equal(shape.rows, other.rows)


@pytest.mark.parametrize(
    ("make", "deviation"),
    [(shapes.one_gaussian, 10.0), (shapes.one_uniform, 80 / 12**0.5), (shapes.one_student, 5 * (5 / 3) ** 0.5)],
)
def test_one_cluster_lies_in_the_middle_and_is_as_wide_as_said(make, deviation):
    shape = make(3)
    assert shape.n_clusters == 1
    np.testing.assert_allclose(middles(shape), 50.0, atol=0.5)
    np.testing.assert_allclose(spreads(shape), deviation, rtol=0.03)


def test_the_uniform_cluster_keeps_to_its_box():
    rows = shapes.one_uniform(2).rows
    assert np.all((rows >= 10) & (rows <= 90))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_clusters", "n_columns"), [(2, 2), (100, 2), (30, 10)])
def test_separated_clusters_are_narrow_and_far_apart(n_clusters, n_columns, seed):
    shape = shapes.separated(n_clusters, n_columns, seed=seed)
    assert shape.rows.shape == (50_000, n_columns)
    np.testing.assert_allclose(spreads(shape), 0.5, rtol=0.1)
    assert gaps(shape)[0].min() > 10 * 0.5 - 0.1  # the mean of a cluster is not quite its centre
    np.testing.assert_allclose(np.bincount(shape.truth), 50_000 / n_clusters, rtol=0.25)


def test_too_many_separated_clusters_are_an_error():
    with pytest.raises(DatasetError, match="no room for 30 clusters"):
        shapes.separated(30, 1)


def test_unequal_sizes_have_their_shares_and_are_apart():
    shape = shapes.unequal_sizes()
    shares = np.bincount(shape.truth) / len(shape.truth)
    np.testing.assert_allclose(shares, [0.5, 0.2, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01], atol=0.006)
    np.testing.assert_allclose(spreads(shape), 3.0, rtol=0.1)
    assert gaps(shape)[0].min() > 24 - 0.5


@pytest.mark.parametrize("seed", range(3))
def test_unequal_spreads_are_as_said_and_apart(seed):
    shape = shapes.unequal_spreads(seed=seed)
    np.testing.assert_allclose(spreads(shape), [1, 1, 2, 2, 3, 4, 5, 6], rtol=0.05)
    distances, sums = gaps(shape)
    assert np.all(distances > 3.9 * sums)
    np.testing.assert_allclose(np.bincount(shape.truth), 50_000 / 8, rtol=0.1)


def test_whole_numbers_are_counts_and_apart():
    shape = shapes.whole_numbers()
    assert shape.rows.shape == (50_000, 4)
    assert shape.n_clusters == 6
    assert np.all((shape.rows >= 0) & (shape.rows <= 60))
    assert gaps(shape)[0].min() > 19


@pytest.mark.parametrize("gap", [3.0, 4.0])
def test_touching_clusters_are_as_far_apart_as_said(gap):
    shape = shapes.touching(gap)
    np.testing.assert_allclose(spreads(shape), 6.0, rtol=0.05)
    np.testing.assert_allclose(gaps(shape)[0], 6.0 * gap, rtol=0.02)


def test_broad_clusters_overlap_in_every_column():
    shape = shapes.broad()
    centres, deviations = middles(shape), spreads(shape)
    assert shape.rows.shape == (50_000, 10)
    assert shape.n_clusters == 20
    np.testing.assert_allclose(deviations, 8.0, rtol=0.05)
    steps = np.diff(np.sort(centres, axis=0), axis=0)
    assert np.all(np.median(steps, axis=0) < 8.0)
