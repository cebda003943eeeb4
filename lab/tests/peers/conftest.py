"""Rows that the peers cluster, and helpers of several files."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian_lab.peers import pe_means


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Keep the threads of k-means, which wait for each other longer than they work, out of the way."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def few_starts(monkeypatch):
    """Let k-means on the noisy votes of PE-means begin three times: most of the time of a fit, and nothing that is asserted."""
    monkeypatch.setattr(pe_means, "_KMEANS_STARTS", 3)


@pytest.fixture(scope="session")
def middles() -> np.ndarray:
    """Return the middles of the groups of `blobs`."""
    return np.array([[-60.0, -40.0], [0.0, 50.0], [60.0, -20.0], [-50.0, 60.0]])


@pytest.fixture(scope="session")
def blobs(middles: np.ndarray) -> np.ndarray:
    """Return 6000 rows in four well separated groups, within [-100, 100]; not writable."""
    rng = np.random.default_rng(7)
    sizes = (2500, 1500, 1200, 800)
    rows = np.vstack([rng.normal(middle, 4.0, (n, 2)) for middle, n in zip(middles, sizes, strict=True)])
    rng.shuffle(rows)
    rows.setflags(write=False)
    return rows


@pytest.fixture
def no_noise(monkeypatch):
    """Make every draw exact: what remains is the algorithm."""
    monkeypatch.setattr(
        Sampler, "noise", lambda self, mechanism, scales, *purpose: np.zeros(np.size(scales), dtype=np.int64)
    )
