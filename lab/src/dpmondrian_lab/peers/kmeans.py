"""Lloyd's algorithm without privacy (scikit-learn): the quality that a private algorithm could reach."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import cluster
from sklearn.base import BaseEstimator, ClusterMixin

from dpmondrian.schema import Bounds, Schema
from dpmondrian_lab.peers.statements import no_privacy

__all__ = ["KMeans", "ScaledKMeans"]


class KMeans(cluster.KMeans):  # type: ignore[misc]
    """scikit-learn's KMeans with one start, as the paper ran it, and a statement that says it is not private.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=1
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None
    """

    def __init__(self, n_clusters: int = 8, *, n_init: int = 1, max_iter: int = 300, random_state: Any = None) -> None:
        super().__init__(n_clusters, n_init=n_init, max_iter=max_iter, random_state=random_state)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of `X`, exactly as they are."""
        super().fit(X, y, sample_weight)
        self.n_clusters_ = len(self.cluster_centers_)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters_).astype(np.float64)
        self.privacy_ = no_privacy()
        return self


class ScaledKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's KMeans, the best of ten starts, with all columns on the common scale of the private algorithms.

    Parameters
    ----------
    n_clusters : int, default=8
    bounds : as in `DPM`
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features_in_)
    labels_ : ndarray of shape (n_samples,)
    """

    def __init__(self, n_clusters: int = 8, bounds: Bounds = None, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of the array `X`, exactly as they are."""
        names = [f"x{number}" for number in range(X.shape[1])]
        weights = Schema.from_bounds(self.bounds, names, [False] * len(names)).weights
        kmeans = cluster.KMeans(self.n_clusters, n_init=10, random_state=self.random_state).fit(X * weights)
        self.cluster_centers_, self.labels_ = kmeans.cluster_centers_ / weights, kmeans.labels_
        return self
