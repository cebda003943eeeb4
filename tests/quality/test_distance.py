"""Distances between centres and those of references."""

import numpy as np
import pytest

from dpmondrian.quality import (
    kmeans_distance,
    matching_distance,
)


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
