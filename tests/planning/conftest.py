from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from dpmondrian.estimator import DPM
from dpmondrian.schema.columns import Schema

CORNERS = np.array([[20.0, 20, 20, 40], [20, 80, 70, 60], [80, 20, 50, 20], [80, 80, 30, 80]])
DEVIATION = 4.0
N_RUNS = 10


@dataclass(frozen=True)
class Runs:
    """How far what real fits of four equal, separate Gaussians released is from the truth; all are arrays over runs."""

    total_misses: np.ndarray
    n_cells: np.ndarray
    cell_size_errors: np.ndarray
    size_misses: np.ndarray
    centre_misses: np.ndarray


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema.from_bounds((0, 100), list("wxyz"), [False] * 4)


@lru_cache
def _runs(n_rows: int, parameters: tuple[tuple[str, object], ...]) -> Runs:
    found: dict[str, list] = {name: [] for name in Runs.__annotations__}
    truth = np.repeat(np.arange(4), n_rows // 4)
    for seed in range(N_RUNS):
        rows = CORNERS[truth] + DEVIATION * np.random.default_rng(seed).normal(size=(n_rows, 4))
        rows = np.clip(rows, 0.0, 100.0)
        model = DPM(bounds=(0, 100), random_state=seed, **dict(parameters)).fit(rows)
        if model.n_clusters_ != 4:
            continue
        means = np.array([rows[truth == j].mean(axis=0) for j in range(4)])
        own = np.linalg.norm(model.cluster_centers_[None] - means[:, None], axis=2).argmin(axis=1)
        found["total_misses"].append(model.tree_.size[0] - n_rows)
        found["n_cells"].append(len(model.release_.cells.sizes))
        found["cell_size_errors"].append(model.release_.cells.size_error)
        found["size_misses"].append(model.cluster_sizes_[own] - n_rows / 4)
        found["centre_misses"].append(model.cluster_centers_[own] - means)
    return Runs(**{name: np.array(values) for name, values in found.items()})


@pytest.fixture(scope="session")
def runs():
    """Return a function that gives the runs with these parameters of `DPM`; each set is fitted once per session."""

    def make(n_rows: int, **parameters: object) -> Runs:
        made = _runs(n_rows, tuple(sorted(parameters.items())))
        assert len(made.n_cells) >= 0.8 * N_RUNS, "the four clusters are not found, so nothing can be compared"
        return made

    return make
