"""The noisy grid: its size, its cells, what it believes, how near it comes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian import DataError
from dpmondrian_lab.peers import NoisyGrid
from dpmondrian_lab.peers.base import PeerSettings
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.noisy_grid import GRID_COUNT, _believed, cells_per_side

BOX = (-100, 100)


def chosen(epsilon=1.0, k=4):
    return PeerSettings(k, epsilon, 0.0, "default", 100_000)


@pytest.mark.parametrize(
    ("total", "epsilon", "n_columns", "cells"),
    [
        (100_000, 1.0, 2, 100),  # n epsilon / 10 cells in two columns
        (100_000, 0.1, 2, 32),
        (100_000, 1.0, 1, math.ceil(10_000 ** (2 / 3))),
        (100_000, 1.0, 3, math.ceil(10_000**0.4)),
        (-50.0, 1.0, 2, 2),  # noise may say anything
        (1e12, 100.0, 1, 2**20),
        (1e12, 100.0, 2, 2**10),
        (1e12, 100.0, 3, 102),
    ],
)
def test_the_grid_follows_the_authors_rule(total, epsilon, n_columns, cells):
    assert cells_per_side(total, chosen(epsilon), n_columns) == cells


def test_there_are_as_many_cells_as_clusters(blobs):
    assert cells_per_side(1.0, chosen(k=30), 2) == 6
    assert NoisyGrid(30, 0.1, BOX, random_state=0).fit(blobs[:9]).n_clusters_ == 30


def test_only_counts_above_the_noise_are_believed():
    noise = np.random.default_rng(0).laplace(0.0, 2.0, 10_000)
    assert len(_believed(noise, chosen(0.5, k=3))) < 12
    noise[[17, 4, 99]] = 500.0, 400.0, 300.0
    assert _believed(noise, chosen(0.5, k=3))[:3].tolist() == [17, 4, 99]
    assert len(_believed(noise, chosen(0.5, k=50))) == 50


def test_more_columns_are_refused_before_anything_is_drawn():
    with pytest.raises(DataError, match="at most 3 columns"):
        NoisyGrid(2, 1.0, BOX).fit(np.zeros((10, 4)))


def test_the_two_draws_cost_epsilon(blobs):
    entries = NoisyGrid(4, 0.7, BOX).fit(blobs).privacy_.entries
    assert [entry.name for entry in entries] == ["row count", "grid count"]
    assert math.fsum(entry.sensitivity / entry.scale for entry in entries) == pytest.approx(0.7, rel=1e-6)
    assert entries[0].cost == pytest.approx(0.02 * 0.7, rel=1e-6)


def test_without_noise_a_centre_is_off_by_less_than_a_cell(blobs, middles, no_noise):
    model = NoisyGrid(4, 1.0, BOX, random_state=0).fit(blobs)
    distance = np.linalg.norm(middles[:, None] - model.cluster_centers_, axis=2).min(axis=1)
    assert distance.max() < 200 / cells_per_side(6000, chosen(), 2)
    np.testing.assert_allclose(np.sort(model.cluster_sizes_), [800, 1200, 1500, 2500], rtol=0.2)


def test_noise_has_the_scale_that_is_stated():
    """Cells without rows hold noise alone; 5 % too little or too much of it would be seen."""
    peer, n_cells, scale = NoisyGrid(4, 1.0, BOX), 200_000, 1.0 / 0.98
    door = LabDoor(peer._plan(peer._settings(), 2), seed=0)
    found = np.abs(door.fine_counts(GRID_COUNT, 0, np.zeros(n_cells, dtype=np.int64))).mean()
    expected = 1.0 / math.sinh(1.0 / scale)  # of discrete Laplace noise
    deviation = scale / math.sqrt(n_cells)
    assert abs(found - expected) < 6 * deviation
    assert all(abs(wrong * found - expected) > 6 * deviation for wrong in (0.95, 1.05))
