"""KMeans without privacy: scikit-learn's result, and a statement that says what it is."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn import cluster
from sklearn.base import clone

from dpmondrian_lab.peers.kmeans import KMeans, ScaledKMeans
from dpmondrian_lab.peers.statements import UnsoundStatement


def test_it_is_scikit_learns_kmeans_with_one_start(blobs):
    ours = KMeans(4, random_state=3).fit(blobs)
    theirs = cluster.KMeans(4, n_init=1, random_state=3).fit(blobs)
    assert ours.cluster_centers_.tolist() == theirs.cluster_centers_.tolist()
    assert ours.predict(blobs).tolist() == theirs.labels_.tolist()
    assert ours.cluster_sizes_.tolist() == np.bincount(theirs.labels_).tolist()
    assert ours.n_clusters_ == 4


def test_its_statement_promises_nothing(blobs):
    statement = KMeans(4, random_state=0).fit(blobs).privacy_
    assert isinstance(statement, UnsoundStatement)
    assert statement.epsilon == math.inf
    assert not statement.releasable
    assert statement.claimed_epsilon is None
    assert "NOT RELEASABLE" in str(statement)
    assert "nothing here is private" in str(statement)
    assert "Claimed" not in str(statement)
    assert json.loads(statement.to_json())["epsilon"] is None


def test_scikit_learn_can_copy_it(blobs):
    model = KMeans(3, n_init=2, max_iter=50, random_state=1)
    assert clone(model).get_params() == {"n_clusters": 3, "n_init": 2, "max_iter": 50, "random_state": 1}
    assert clone(model).fit(blobs).cluster_centers_.tolist() == model.fit(blobs).cluster_centers_.tolist()


def test_private_peers_do_not_beat_it_by_much(blobs, middles):
    centres = KMeans(4, n_init=10, random_state=0).fit(blobs).cluster_centers_
    distance = np.sqrt(((centres[:, None, :] - middles) ** 2).sum(axis=2)).min(axis=0)
    assert distance == pytest.approx(np.zeros(4), abs=0.5)


def test_the_scaled_one_does_not_depend_on_units(blobs):
    units = np.array([1.0, 1e-3])
    plain = ScaledKMeans(4, [(-100, 100), (-100, 100)], random_state=0).fit(blobs)
    other = ScaledKMeans(4, [(-100, 100), (-0.1, 0.1)], random_state=0).fit(blobs * units)
    assert other.labels_.tolist() == plain.labels_.tolist()
    np.testing.assert_allclose(other.cluster_centers_, plain.cluster_centers_ * units, rtol=1e-6)
