from importlib import import_module

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_samples, silhouette_score

from dpmondrian.quality import (
    accuracy,
    adjusted_rand,
    evaluate,
    inertia,
    kmeans_distance,
    matching_distance,
    nearest,
    purity,
    silhouette,
)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(9000, 4))


@pytest.fixture
def clustered():
    """Rows of five clusters of different sizes, one of a single row, far from the origin."""
    generator = np.random.default_rng(1)
    label = generator.permutation(np.repeat(np.arange(5), [1, 40, 200, 700, 559]))
    return generator.normal(size=(1500, 7)) + 2.0 * label[:, None] + 50.0, label


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


def test_silhouette_of_a_subsample_is_that_of_scikit_learn(clustered):
    rows, label = clustered
    for seed, sample_size in ((0, 900), (1, 300), (2, 5000)):
        expected = silhouette_score(rows, label, sample_size=sample_size, random_state=seed)
        assert silhouette(rows, label, sample_size, seed) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cells", [1, 5000, 1 << 20])
def test_silhouette_of_all_rows_is_the_same_in_blocks_of_any_size(clustered, cells, monkeypatch):
    monkeypatch.setattr(import_module("dpmondrian.quality.silhouette"), "_BLOCK_CELLS", cells)
    rows, label = clustered
    assert silhouette(rows, label, sample_size=None) == pytest.approx(silhouette_score(rows, label), abs=1e-9)


def test_silhouette_of_one_cluster_is_minus_one(rows):
    assert silhouette(rows, np.full(len(rows), 3)) == -1.0


@pytest.mark.slow
def test_silhouette_of_a_subsample_with_one_cluster_is_minus_one(rows):
    label = np.zeros(len(rows), dtype=np.int64)
    drawn = np.random.RandomState(0).permutation(len(rows))[:100]
    label[np.setdiff1d(np.arange(len(rows)), drawn)[:50]] = 1
    assert silhouette(rows, label, sample_size=100) == -1.0
    assert silhouette(rows, label, sample_size=None) > -1.0


def test_silhouette_of_equal_and_of_single_rows_is_zero():
    assert silhouette(np.ones((6, 2)), np.array([0, 0, 0, 1, 1, 1])) == 0.0
    assert silhouette(np.arange(6.0)[:, None], np.arange(6)) == 0.0


def test_silhouette_of_duplicates_beside_other_rows():
    rows = np.repeat(np.random.default_rng(3).normal(size=(20, 3)), 5, axis=0)
    label = np.arange(100) % 3
    expected = silhouette_samples(np.linalg.norm(rows[:, None] - rows, axis=2), label, metric="precomputed").mean()
    assert silhouette(rows, label) == pytest.approx(expected, abs=1e-6)


def test_kmeans_distance_averages_over_centres_and_references():
    centres = np.array([[0.0, 0.0], [3.0, 4.0]])
    references = [np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])]
    assert kmeans_distance(centres, references, diameter=10.0) == pytest.approx(0.25)


def test_matching_distance_sees_missing_clusters():
    found, truth = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    assert kmeans_distance(found, [truth], diameter=10.0) == 0.0
    assert matching_distance(found, [truth], diameter=10.0) == pytest.approx(2.5 / 2 / 10)
    assert matching_distance(truth, [found], diameter=10.0) == matching_distance(found, [truth], diameter=10.0)
    assert matching_distance(truth, [truth, truth[::-1]], diameter=10.0) == 0.0


def test_evaluate_gives_what_the_single_functions_give(clustered):
    rows, classes = clustered
    centres = rows[[0, 5, 9]]
    references = [rows[:4], rows[4:6]]
    label, _ = nearest(rows, centres)
    assert evaluate(rows, classes, centres, references, 30.0, seed=4) == {
        "n_centres": 3.0,
        "inertia": inertia(rows, centres),
        "silhouette": silhouette(rows, label, seed=4),
        "accuracy": accuracy(rows, classes, centres),
        "adjusted_rand": adjusted_rand(classes, label),
        "kmeans_distance": kmeans_distance(centres, references, 30.0),
        "matching_distance": matching_distance(centres, references, 30.0),
    }


@pytest.mark.slow
def test_evaluate_leaves_out_what_cannot_be_known(clustered):
    rows, _ = clustered
    assert set(evaluate(rows, None, rows[:2], [], 30.0)) == {"n_centres", "inertia", "silhouette"}
    assert evaluate(rows, None, rows[:1], [], 30.0)["silhouette"] == -1.0
