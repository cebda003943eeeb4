"""Small versions of the benchmark: quality close to KMeans, with default parameters and fixed seeds."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from dpmondrian import DPM
from dpmondrian.quality import accuracy, inertia
from dpmondrian.samples.examples import homes
from dpmondrian_lab.datasets import DATA_SETS
from dpmondrian_lab.datasets.blobs import blobs


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 16}])
@pytest.mark.parametrize("seed", range(3))
def test_separated_clusters_are_found_without_k(parameters, seed):
    rows, truth = blobs(25_000, 10, n_clusters=16, seed=seed)
    model = DPM(epsilon=1.0, delta=1e-7, bounds=(-100, 100), random_state=seed, **parameters).fit(rows)
    best = np.array([rows[truth == c].mean(axis=0) for c in range(16)])
    assert model.n_clusters_ == 16
    assert inertia(rows, model.cluster_centers_) < 1.02 * inertia(rows, best)
    assert accuracy(rows, truth, model.cluster_centers_) > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_towns_are_found_and_their_sizes_are_right(seed):
    rows, town = homes()
    model = DPM(epsilon=1.0, delta=1e-7, bounds=(0, 100), random_state=seed).fit(rows)
    assert model.n_clusters_ == 9
    true_sizes = np.sort(np.bincount(town[town >= 0]))
    np.testing.assert_allclose(np.sort(model.cluster_sizes_), true_sizes, atol=200)


def test_pure_epsilon_finds_them_too():
    rows, truth = blobs(25_000, 10, n_clusters=16, seed=0)
    model = DPM(epsilon=2.0, delta=0.0, bounds=(-100, 100), random_state=0).fit(rows)
    assert model.n_clusters_ == 16
    assert accuracy(rows, truth, model.cluster_centers_) > 0.999


def test_the_papers_variant_is_worse_but_right():
    rows, truth = blobs(100_000, 10)
    model = DPM(epsilon=1.0, delta=1e5**-1.5, bounds=(-100, 100), variant="paper", random_state=0).fit(rows)
    assert 58 <= model.n_clusters_ <= 68
    assert accuracy(rows, truth, model.cluster_centers_) > 0.93


@pytest.mark.slow
def test_letters_with_k_come_close_to_kmeans():
    letters = DATA_SETS["uci_letters"]
    if not letters.is_available():
        pytest.skip(f"The data file {letters.file} is not on this machine; set DPMONDRIAN_DATA to its folder.")
    reals, _ = letters.load()
    rows = reals.astype(np.uint8)
    model = DPM(epsilon=1.0, delta=len(rows) ** -1.5, bounds=(0, 15), n_clusters=26, random_state=0).fit(rows)
    kmeans = KMeans(n_clusters=26, n_init=1, random_state=0).fit(reals)
    assert inertia(reals, model.cluster_centers_) < 1.2 * kmeans.inertia_
