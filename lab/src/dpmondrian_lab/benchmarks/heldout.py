"""The k mode on data that no default was chosen on: ``python -m dpmondrian_lab.benchmarks.heldout``. Seeded, so it repeats.

MNIST and Fashion-MNIST pixels averaged to 7 x 7, and five sets of blobs; `alpha` as shipped and 5 beside it.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from dpmondrian import DPM
from dpmondrian.quality import accuracy, inertia
from dpmondrian_lab.datasets.idx import read_idx
from dpmondrian_lab.exceptions import DatasetNotFoundError

RUNS = 6
BLOBS = (
    (20_000, 2, 12, 4, 21),
    (50_000, 5, 20, 6, 22),
    (50_000, 20, 10, 15, 23),
    (10_000, 8, 6, 5, 24),
    (5_000, 4, 5, 6, 25),
)


def data_sets():
    """Yield name, rows, classes, bounds and k."""
    for folder in ("mnist", "fashion_mnist"):
        try:
            images = read_idx(f"{folder}/train-images-idx3-ubyte.gz")
            classes = read_idx(f"{folder}/train-labels-idx1-ubyte.gz").astype(np.int64)
        except DatasetNotFoundError as error:
            print(f"Left out: {folder}. {error}", file=sys.stderr)
            continue
        yield f"{folder} 7 x 7", images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49), classes, (0, 255), 10
    for n_rows, n_columns, k, deviation, seed in BLOBS:
        rows, classes = make_blobs(
            n_rows, n_columns, centers=k, random_state=seed, center_box=(-80, 80), cluster_std=deviation
        )
        yield f"blobs {n_rows:,} x {n_columns}, k = {k}", rows, classes, (-100, 100), k


def main() -> None:
    warnings.simplefilter("ignore")
    print("| data | inertia / KMeans | accuracy | with alpha = 5 | accuracy of KMeans |\n|---|---|---|---|---|")
    for name, rows, classes, bounds, k in data_sets():
        best = [KMeans(k, n_init=1, random_state=seed).fit(rows).cluster_centers_ for seed in range(3)]
        base = np.mean([inertia(rows, centres) for centres in best])
        cells = []
        for alpha in (None, 5.0):
            models = (
                DPM(
                    epsilon=1.0,
                    delta=len(rows) ** -1.5,
                    bounds=bounds,
                    n_clusters=k,
                    alpha=alpha,
                    random_state=900 + run,
                ).fit(rows)
                for run in range(RUNS)
            )
            found = [model.cluster_centers_ for model in models]
            ratio = np.array([inertia(rows, centres) for centres in found]) / base
            cells.append(f"{ratio.mean():.3f} ± {ratio.std():.3f}")
            if alpha is None:
                cells.append(f"{np.mean([accuracy(rows, classes, centres) for centres in found]):.3f}")
        known = np.mean([accuracy(rows, classes, centres) for centres in best])
        print(f"| {name} | {' | '.join(cells)} | {known:.3f} |", flush=True)


if __name__ == "__main__":
    main()
