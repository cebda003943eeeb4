"""One release, many k: `DPM` without k, and k clusters of what it released."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from dpmondrian import DPM
from dpmondrian.schema import Bounds

__all__ = ["OneRelease", "why_missing"]


def why_missing() -> str:
    """Return why no release can be divided into other numbers of clusters, as a sentence; empty if it can."""
    return "" if hasattr(DPM, "clusters") else "This DPM has no clusters(k), so one release does not answer every k."


class OneRelease(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A release that was made without knowing k, divided into k clusters afterwards, which costs nothing.

    Parameters
    ----------
    n_clusters : int, default=8
    epsilon, delta, bounds, random_state
        As in `DPM`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features_in_)
    n_clusters_ : int
    """

    def __init__(
        self,
        n_clusters: int = 8,
        epsilon: float = 1.0,
        delta: float = 1e-7,
        bounds: Bounds = None,
        *,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release once, without k, and divide the release into `n_clusters` clusters."""
        given = {name: value for name, value in self.get_params().items() if name != "n_clusters"}
        model: Any = DPM(**given).fit(X)
        self.cluster_centers_ = np.asarray(model.clusters(self.n_clusters).centres, dtype=np.float64)
        self.n_clusters_ = len(self.cluster_centers_)
        return self
