"""Round clusters, which the paper's evaluation made itself; the same seed gives the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["blobs"]


def blobs(
    n_rows: int, n_columns: int, n_clusters: int = 64, seed: int = 42
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return round Gaussian clusters of standard deviation 1 with centres in [-100, 100], and their labels.

    With 100,000 rows, 64 clusters and seed 42 these are the paper's Synth-10d and Synth-100d, which were made with
    scikit-learn's ``make_blobs(..., center_box=(-100, 100), cluster_std=1, random_state=42)``.
    """
    generator = np.random.RandomState(seed)
    centres = generator.uniform(-100, 100, size=(n_clusters, n_columns))
    sizes = np.full(n_clusters, n_rows // n_clusters)
    sizes[: n_rows % n_clusters] += 1
    rows = np.concatenate(
        [generator.normal(centre, 1.0, (size, n_columns)) for centre, size in zip(centres, sizes, strict=True)]
    )
    order = np.arange(n_rows)
    generator.shuffle(order)
    return rows[order], np.repeat(np.arange(n_clusters), sizes)[order]
