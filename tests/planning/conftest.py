from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from dpmondrian.estimator import DPM
from dpmondrian.schema.columns import Schema

CORNERS = np.array([[20.0, 20.0, 20.0], [20.0, 80.0, 70.0], [80.0, 20.0, 50.0], [80.0, 80.0, 30.0]])
DEVIATION = 4.0
N_RUNS = 30


@dataclass(frozen=True)
class Runs:
    """What many real fits of four equal, separate Gaussians released, beside the truth; all are arrays over runs."""

    n_rows: int
    totals: np.ndarray
    total_errors: np.ndarray
    leaf_errors: np.ndarray
    sizes: np.ndarray
    size_errors: np.ndarray
    centre_misses: np.ndarray
    centre_errors: np.ndarray


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema.from_bounds((0, 100), ["x", "y", "z"], [False] * 3)


@lru_cache
def _runs(n_rows: int, parameters: tuple[tuple[str, object], ...]) -> Runs:
    found: dict[str, list] = {name: [] for name in Runs.__annotations__ if name != "n_rows"}
    truth = np.repeat(np.arange(4), n_rows // 4)
    for seed in range(N_RUNS):
        rows = CORNERS[truth] + DEVIATION * np.random.default_rng(seed).normal(size=(n_rows, 3))
        rows = np.clip(rows, 0.0, 100.0)
        model = DPM(bounds=(0, 100), random_state=seed, **dict(parameters)).fit(rows)
        if model.n_clusters_ != 4:
            continue
        means = np.array([rows[truth == j].mean(axis=0) for j in range(4)])
        own = nearest(model.cluster_centers_, means)
        found["totals"].append(model.tree_.size[0])
        found["total_errors"].append(model.tree_.size_error[0])
        found["leaf_errors"] += model.tree_.size_error[model.tree_.column < 0].tolist()
        found["sizes"].append(model.cluster_sizes_[own])
        found["size_errors"].append(model.release_.size_errors[own])
        found["centre_misses"].append(model.cluster_centers_[own] - means)
        found["centre_errors"].append(model.release_.centre_errors[own])
    return Runs(n_rows, **{name: np.array(values) for name, values in found.items()})


def nearest(centres: np.ndarray, means: np.ndarray) -> np.ndarray:
    return np.linalg.norm(centres[None, :, :] - means[:, None, :], axis=2).argmin(axis=1)


@pytest.fixture(scope="session")
def runs():
    """Return a function that gives the runs with these parameters of `DPM`; each set is fitted once per session."""

    def make(n_rows: int, **parameters: object) -> Runs:
        made = _runs(n_rows, tuple(sorted(parameters.items())))
        assert len(made.totals) >= 0.9 * N_RUNS, "the four clusters are not found, so nothing can be compared"
        return made

    return make


@pytest.fixture(scope="session")
def rms():
    """Return a function for the root mean square of numbers."""

    def root_mean_square(values: Sequence[float] | np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.square(values))))

    return root_mean_square
