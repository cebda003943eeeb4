"""What is measured after a fit: of centres, which are kept and can be measured again, or of labels.

========== =============================================================================================
"centres"  the paper's metrics
"inertia"  the inertia, with all columns on a common scale
"labels"   agreement with the classes, and whether clusters that were called certain are real
"twice"    as "labels", and the agreement with a second fit on the same rows
========== =============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.quality import adjusted_rand, evaluate, inertia
from dpmondrian_lab.datasets.references import reference_centres

if TYPE_CHECKING:
    from dpmondrian_lab.datasets.registry import DataSet

__all__ = ["CERTAIN", "SILHOUETTE_SEED", "measure_centres", "measure_labels", "real_clusters"]

SILHOUETTE_SEED = 0
"""All clusterings of a data set are judged on the same rows."""

CERTAIN = 0.95
"""Clusters that a release is at least so sure of must be real in so many cases."""


def measure_centres(data_set: DataSet, centres: NDArray[np.float64], measure: str) -> dict[str, float]:
    """Return metrics of centres on the rows of a data set."""
    rows, classes = data_set.load()
    if measure == "inertia":
        points = data_set.scaled(rows), data_set.scaled(centres)
        return {"inertia": inertia(*points), "n_centres": float(len(centres))}
    return evaluate(rows, classes, centres, reference_centres(data_set), data_set.diameter, SILHOUETTE_SEED)


def measure_labels(data_set: DataSet, model: Any, second: Any = None) -> dict[str, float]:
    """Return metrics of a model's labels, and how far a second model of the same rows agrees."""
    rows, classes = data_set.load()
    labels = _labels(model, rows)
    metrics = {"n_centres": float(len(model.cluster_centers_))}
    if classes is not None:
        judged = classes >= 0
        metrics["adjusted_rand"] = adjusted_rand(classes[judged], labels[judged])
        metrics |= _certain_clusters(model, classes, labels)
    if second is not None:
        metrics["between_runs"] = adjusted_rand(labels, _labels(second, rows))
    return metrics


def _labels(model: Any, rows: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(rows), dtype=np.int64)


def _certain_clusters(model: Any, classes: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, float]:
    """Return how many clusters the release is certain of and how many of these are real.

    Nothing if it does not say, or found one cluster only: then it claims nothing to be apart.
    """
    certainty = getattr(getattr(model, "release_", None), "certainty", None)
    if certainty is None or len(certainty) < 2:
        return {}
    certain = np.flatnonzero(np.asarray(certainty) >= CERTAIN)
    return {"n_certain": float(len(certain)), "n_real": float(np.isin(certain, real_clusters(classes, labels)).sum())}


def real_clusters(classes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the clusters that are real: most of their rows are of one class, and most rows of that class are theirs.

    So two halves of one class are not both real, nor is a cluster of two classes of the same size.
    """
    names, class_of = np.unique(classes, return_inverse=True)
    clusters, cluster_of = np.unique(labels, return_inverse=True)
    together = np.bincount(cluster_of * len(names) + class_of, minlength=len(clusters) * len(names))
    shared = together.reshape(len(clusters), len(names))
    real = (2 * shared > shared.sum(axis=1, keepdims=True)) & (2 * shared > shared.sum(axis=0))
    return np.asarray(clusters[real.any(axis=1)], dtype=np.int64)
