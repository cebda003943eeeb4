"""Merging weighted points into exactly k clusters by scikit-learn's k-means: peers on released centres and sizes. Post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["merge_leaves"]


def merge_leaves(
    places: NDArray[np.float64], sizes: NDArray[np.float64], n_clusters: int, n_starts: int = 20, seed: int = 0
) -> NDArray[np.int64]:
    """Return the cluster of every leaf, numbered from 0; every number below k occurs.

    Parameters
    ----------
    places : float64 array of shape (n_leaves, n_columns)
        Centres in places of the grid, in which all columns have about the same range.
    sizes : float64 array of shape (n_leaves,)
        Positive.
    n_clusters : int
        Clusters wanted; with no more leaves than that, every leaf is a cluster.
    n_starts, seed : int
        Starts of k-means. The seed may be fixed: this step sees released values only, so its randomness protects
        nothing.
    """
    if len(places) <= n_clusters:
        return np.arange(len(places))
    from sklearn.cluster import KMeans  # takes a second to import and is needed only here

    kmeans = KMeans(n_clusters=n_clusters, n_init=n_starts, random_state=seed)
    kmeans.fit(places, sample_weight=sizes)
    return np.unique(kmeans.labels_, return_inverse=True)[1]
