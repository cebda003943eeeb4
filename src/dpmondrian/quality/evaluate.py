"""All metrics of one clustering, with the rows assigned only once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmondrian.quality.distance import kmeans_distance, matching_distance
from dpmondrian.quality.measures import adjusted_rand, nearest, purity
from dpmondrian.quality.silhouette import silhouette

__all__ = ["evaluate"]


def evaluate(
    rows: NDArray[np.float64],
    classes: NDArray[np.int64] | None,
    centres: NDArray[np.float64],
    references: Sequence[NDArray[np.float64]],
    diameter: float,
    seed: int = 0,
) -> dict[str, float]:
    """Return every metric of a clustering by name.

    Parameters
    ----------
    rows : array (n, d)
        The rows as they are, not clipped.
    classes : array (n,) or None
        The true class of every row; without it "accuracy" and "adjusted_rand" are left out.
    centres : array (k, d)
        What the algorithm returned, k >= 1.
    references : sequence of arrays (k', d)
        Reference clusterings; without any, "kmeans_distance" and "matching_distance" are left out.
    diameter : float
        Of the domain.
    seed : int
        Chooses the subsample of the silhouette.

    Returns
    -------
    dict
        "n_centres", "inertia", "silhouette" and, as above, "accuracy", "adjusted_rand", "kmeans_distance",
        "matching_distance".
    """
    label, distance = nearest(rows, centres)
    result = {
        "n_centres": float(len(centres)),
        "inertia": float((distance**2).sum()),
        "silhouette": silhouette(rows, label, seed=seed),
    }
    if classes is not None:
        result["accuracy"] = purity(classes, label)
        result["adjusted_rand"] = adjusted_rand(classes, label)
    if len(references) > 0:
        result["kmeans_distance"] = kmeans_distance(centres, references, diameter)
        result["matching_distance"] = matching_distance(centres, references, diameter)
    return result
