"""The paper's metrics of an assignment, one function per quantity. All of them see exact rows: values are sensitive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmondrian.quality.silhouette import silhouette

_BLOCK = 4096


def nearest(rows: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest centre of every row (lowest number on ties) and its Euclidean distance."""
    label = np.empty(len(rows), dtype=np.int64)
    distance = np.empty(len(rows))
    squares = (centres**2).sum(axis=1)
    for start in range(0, len(rows), _BLOCK):
        block = np.asarray(rows[start : start + _BLOCK], dtype=np.float64)
        best = np.argmin(squares - 2.0 * block @ centres.T, axis=1)
        label[start : start + len(block)] = best
        distance[start : start + len(block)] = np.sqrt(((block - centres[best]) ** 2).sum(axis=1))
    return label, distance


def inertia(rows: NDArray[np.float64], centres: NDArray[np.float64]) -> float:
    """Return the sum of squared distances of the rows to their nearest centres. Sensitive.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    centres : array of shape (n_centres, n_columns)

    Returns
    -------
    inertia : float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import inertia
    >>> inertia(np.array([[0.0], [1.0], [9.0]]), np.array([[0.0], [10.0]]))
    2.0
    """
    return float((nearest(rows, centres)[1] ** 2).sum())


def accuracy(rows: NDArray[np.float64], classes: NDArray[np.int64], centres: NDArray[np.float64]) -> float:
    """Return the share of rows whose class is the most frequent one among the rows with the same nearest centre. Sensitive.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    classes : array of shape (n_rows,)
        The true class of every row.
    centres : array of shape (n_centres, n_columns)

    Returns
    -------
    accuracy : float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import accuracy
    >>> accuracy(np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([7, 7, 8, 8]), np.array([[0.0], [10.0]]))
    0.75
    """
    return purity(classes, nearest(rows, centres)[0])


def purity(classes: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the share of rows whose class is the most frequent one of their cluster.

    Which of several equally frequent classes a cluster stands for does not change the value, nor do empty clusters.
    """
    return float(_contingency(classes, label).max(axis=1).sum() / len(classes))


def adjusted_rand(classes: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the adjusted Rand index: 1 for equal partitions, 0 on average for unrelated ones. Sensitive.

    Parameters
    ----------
    classes, label : arrays of shape (n_rows,)
        The true class and the cluster of every row; what these are called does not matter.

    Returns
    -------
    index : float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import adjusted_rand
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    together = _pairs(_contingency(classes, label))
    in_class, in_cluster = _pairs(np.unique_counts(classes).counts), _pairs(np.unique_counts(label).counts)
    expected = in_class * in_cluster / max(_pairs(np.array([len(classes)])), 1.0)
    best = (in_class + in_cluster) / 2
    # Equal only if both partitions are all rows together or every row alone, and then they are the same.
    return 1.0 if best == expected else (together - expected) / (best - expected)


def _contingency(classes: NDArray[np.int64], label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows each non-empty cluster (line) has of each class (column)."""
    clusters, cluster = np.unique(label, return_inverse=True)
    names, name = np.unique(classes, return_inverse=True)
    counts = np.bincount(cluster * len(names) + name, minlength=len(clusters) * len(names))
    return counts.reshape(len(clusters), len(names))


def _pairs(counts: NDArray[np.int64]) -> float:
    """Return how many pairs of rows can be taken from within groups of these sizes."""
    sizes = counts.astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


def kmeans_distance(centres: NDArray[np.float64], references: Sequence[NDArray[np.float64]], diameter: float) -> float:
    """Return the paper's normalised KMeans distance.

    The mean over the centres of the distance to the nearest reference centre, averaged over the reference
    clusterings, divided by the diameter of the domain. It is one-sided: missing clusters cost nothing.

    Parameters
    ----------
    centres : array of shape (n_centres, n_columns)
    references : list of arrays of shape (n_references, n_columns)
        The centres of reference clusterings, such as several runs of KMeans.
    diameter : float
        Of the domain: the distance between its lower and its upper bounds.

    Returns
    -------
    distance : float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import kmeans_distance
    >>> kmeans_distance(np.array([[1.0], [9.0]]), [np.array([[0.0], [10.0], [50.0]])], diameter=100.0)
    0.01
    """
    return float(np.mean([_mean_gap(centres, reference) for reference in references]) / diameter)


def matching_distance(
    centres: NDArray[np.float64], references: Sequence[NDArray[np.float64]], diameter: float
) -> float:
    """Return the two-sided counterpart of `kmeans_distance`: missing clusters cost as much as invented ones.

    For each reference clustering, half the mean distance from the centres to their nearest reference centre plus half
    the mean distance from the reference centres to their nearest centre; averaged over the references and divided by
    the diameter. It is 0 only if both are the same set of points.
    """
    gaps = [_mean_gap(centres, reference) + _mean_gap(reference, centres) for reference in references]
    return float(np.mean(gaps) / 2 / diameter)


def _mean_gap(origins: NDArray[np.float64], targets: NDArray[np.float64]) -> float:
    return float(nearest(origins, targets)[1].mean())


def evaluate(
    rows: NDArray[np.float64],
    classes: NDArray[np.int64] | None,
    centres: NDArray[np.float64],
    references: Sequence[NDArray[np.float64]],
    diameter: float,
    seed: int = 0,
) -> dict[str, float]:
    """Return every metric of a clustering by name, with the rows, which are not clipped, assigned only once. Sensitive.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    classes : array of shape (n_rows,) or None
        The true class of every row. If None, "accuracy" and "adjusted_rand" are left out.
    centres : array of shape (n_centres, n_columns)
        At least one.
    references : list of arrays of shape (n_references, n_columns)
        Centres of other clusterings. If there are none, "kmeans_distance" and "matching_distance" are left out.
    diameter : float
        Of the domain, for these two.
    seed : int, default=0
        Chooses the subsample of the silhouette.

    Returns
    -------
    metrics : dict of str to float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import evaluate
    >>> rows, centres = np.array([[0.0], [2.0], [9.0], [11.0]]), np.array([[1.0], [10.0]])
    >>> evaluate(rows, None, centres, [], diameter=20.0)["inertia"]
    4.0
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
