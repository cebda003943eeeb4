"""Silhouettes: those of scikit-learn, of all rows and of some."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples, silhouette_score

from dpmondrian.quality import (
    silhouette,
)


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
