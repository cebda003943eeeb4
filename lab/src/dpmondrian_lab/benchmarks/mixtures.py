"""Overlapping clusters in many columns, without k: ``python -m dpmondrian_lab.benchmarks.mixtures``.

Mixtures of unequal, correlated, heavy-tailed clusters whose centres are drawn at random, so that in most columns several overlap. Epsilon 1,
seeded noise; KMeans, which knows k, beside. The last line has the means, and how many of the clusters that a release is certain of are real.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from dpmondrian import DPM
from dpmondrian.quality import adjusted_rand
from dpmondrian_lab.experiments.measures import CERTAIN, real_clusters

__all__ = ["main", "mixture"]

COLUMNS, CLUSTERS, ROWS = (5, 8, 16, 30), (6, 12, 20), (10_000, 40_000)
BOUND = 12.0
"""Of every column, on both sides."""
_STARTS = 3


def mixture(n_rows: int, n_columns: int, n_clusters: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows and the cluster of each."""
    rng = np.random.default_rng(1000 * n_columns + 10 * n_clusters + seed)
    shares = rng.dirichlet(np.full(n_clusters, 3.0))
    cluster = rng.choice(n_clusters, size=n_rows, p=shares)
    centres = 2.2 * rng.normal(size=(n_clusters, n_columns))
    rows = np.empty((n_rows, n_columns))
    for number in range(n_clusters):
        turn, spreads = (
            rng.normal(size=(n_columns, n_columns)) / np.sqrt(n_columns),
            np.exp(0.3 * rng.normal(size=n_columns)),
        )
        is_own = cluster == number
        tails = rng.standard_t(8, size=(int(is_own.sum()), n_columns))
        rows[is_own] = centres[number] + (tails * spreads) @ (0.6 * np.eye(n_columns) + 0.5 * turn)
    return np.clip(rows, -BOUND, BOUND), cluster


def main() -> None:
    """Print a line for each kind of mixture, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| columns | clusters | rows | found | adjusted Rand: DPM, no k | KMeans, true k |\n|---|---|---|---|---|---|"
    )
    means: list[tuple[float, float]] = []
    n_certain = n_real = 0
    for n_columns, k, n_rows in product(COLUMNS, CLUSTERS, ROWS):
        found, ours, kmeans = [], [], []
        for seed in range(options.runs):
            rows, cluster = mixture(n_rows, n_columns, k, seed)
            model = DPM(epsilon=1.0, delta=n_rows**-1.5, bounds=(-BOUND, BOUND), random_state=seed).fit(rows)
            found.append(int(model.n_clusters_))
            ours.append(adjusted_rand(cluster, model.labels_))
            kmeans.append(adjusted_rand(cluster, KMeans(k, n_init=_STARTS, random_state=seed).fit(rows).labels_))
            if model.n_clusters_ > 1:
                certain = np.flatnonzero(np.asarray(model.certainty_) >= CERTAIN)
                n_certain += len(certain)
                n_real += int(np.isin(certain, real_clusters(cluster, model.labels_)).sum())
        means.append((float(np.mean(ours)), float(np.mean(kmeans))))
        counts = ", ".join(map(str, found))
        print(f"| {n_columns} | {k} | {n_rows:,} | {counts} | {means[-1][0]:.3f} | {means[-1][1]:.3f} |", flush=True)
    mean = np.mean(means, axis=0)
    print(f"| all | | | {n_real} of {n_certain} certain ones are real | {mean[0]:.3f} | {mean[1]:.3f} |")


if __name__ == "__main__":
    main()
