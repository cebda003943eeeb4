"""Measures of a clustering, beside those of scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from dpmondrian.quality import (
    accuracy,
    adjusted_rand,
    inertia,
    nearest,
    purity,
)


def test_nearest_is_the_smallest_of_all_distances(rows):
    centres = rows[:7]
    label, distance = nearest(rows, centres)
    every = np.sqrt(((rows[:, None, :] - centres) ** 2).sum(axis=2))
    np.testing.assert_array_equal(label, every.argmin(axis=1))
    np.testing.assert_allclose(distance, every.min(axis=1), atol=1e-12)


def test_nearest_takes_the_lowest_number_on_ties():
    label, _ = nearest(np.array([[1.0], [2.0]]), np.array([[2.0], [0.0], [2.0]]))
    assert label.tolist() == [0, 0]


def test_inertia_is_that_of_kmeans(rows):
    model = KMeans(n_clusters=5, n_init=1, random_state=0).fit(rows)
    assert inertia(rows, model.cluster_centers_) == pytest.approx(model.inertia_)


def test_accuracy_counts_the_most_frequent_class_of_each_cluster():
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    assert accuracy(rows, np.array([0, 0, 1, 1, 2]), np.array([[0.0], [5.0], [99.0]])) == pytest.approx(3 / 5)


def test_purity_takes_any_numbers_for_classes_and_clusters():
    assert purity(np.array([-1, -1, 7, 7, 10**12]), np.array([3, 3, 3, -5, -5])) == pytest.approx(3 / 5)


@pytest.mark.parametrize("clusters", [1, 2, 30, 400])
def test_adjusted_rand_is_that_of_scikit_learn(clusters):
    generator = np.random.default_rng(clusters)
    classes, label = generator.integers(-2, 4, size=400), generator.integers(clusters, size=400)
    label[:150] = classes[:150] % clusters
    assert adjusted_rand(classes, label) == pytest.approx(adjusted_rand_score(classes, label), abs=1e-12)


@pytest.mark.parametrize("label", [[0, 0, 0], [0, 1, 2], [5, 5, 1]])
def test_adjusted_rand_of_equal_partitions_is_one(label):
    assert adjusted_rand(np.array(label), 9 - np.array(label)) == 1.0
