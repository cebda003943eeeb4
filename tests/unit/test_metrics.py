import numpy as np
import pytest
from sklearn.cluster import KMeans

from dpmondrian.metrics import accuracy, inertia, kmeans_distance, nearest


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(9000, 4))


def test_nearest_is_the_smallest_of_all_distances(rows):
    centres = rows[:7]
    label, distance = nearest(rows, centres)
    every = np.sqrt(((rows[:, None, :] - centres) ** 2).sum(axis=2))
    np.testing.assert_array_equal(label, every.argmin(axis=1))
    np.testing.assert_allclose(distance, every.min(axis=1), atol=1e-12)


def test_inertia_is_that_of_kmeans(rows):
    model = KMeans(n_clusters=5, n_init=1, random_state=0).fit(rows)
    assert inertia(rows, model.cluster_centers_) == pytest.approx(model.inertia_)


def test_accuracy_counts_the_most_frequent_class_of_each_cluster():
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    assert accuracy(rows, np.array([0, 0, 1, 1, 2]), np.array([[0.0], [5.0], [99.0]])) == pytest.approx(3 / 5)


def test_kmeans_distance_averages_over_centres_and_references():
    centres = np.array([[0.0, 0.0], [3.0, 4.0]])
    references = [np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])]
    assert kmeans_distance(centres, references, diameter=10.0) == pytest.approx(0.25)
