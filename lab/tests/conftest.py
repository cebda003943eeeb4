"""Made-up rows: all runs of an experiment with plausible metrics, without running anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpmondrian_lab.experiments.catalogue import make_experiment
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.peers.registry import EVALUATED

QUALITY = {"dpm": 0.001, "dpm_k": 0.0005, "kmeans": 1e-17}


def made_metrics(run: Run) -> dict[str, float]:
    """Return metrics that depend on the run alone."""
    generator = np.random.default_rng(run.seed)
    distance = QUALITY.get(run.algorithm, 0.02 * list(EVALUATED).index(run.algorithm)) * generator.uniform(0.8, 1.2)
    distance /= run.epsilon or 1.0
    metrics = {
        "inertia": 1e6 * (1.0 + 100.0 * distance),
        "silhouette": max(-1.0, 0.97 - distance),
        "kmeans_distance": distance,
        "matching_distance": 1.1 * distance,
        "n_centres": 64.0,
    }
    if run.data_set != "uci_gas":
        metrics |= {"accuracy": max(0.0, 1.0 - distance), "adjusted_rand": max(0.0, 1.0 - 2 * distance)}
    return metrics


def made_row(run: Run) -> Row:
    """Return a row of a run that was never made."""
    if run.experiment == "timing":
        place = list(EVALUATED).index(run.algorithm)
        return Row(run, {"seconds": 0.02 * (12 - place) ** 2 * (1.0 + 0.1 * run.iteration)})
    return Row(run, made_metrics(run))


@pytest.fixture(scope="session")
def made_rows() -> Callable[[str], list[Row]]:
    """Return a function from the name of an experiment to made-up rows of all its runs."""
    return lambda name: [made_row(run) for run in make_experiment(name).runs()]
