"""The paper's metrics of an assignment, one function per quantity. All of them see exact rows: values are sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy", "adjusted_rand", "inertia", "nearest", "purity"]

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
    """Return the sum of squared distances of the rows to their nearest centres."""
    return float((nearest(rows, centres)[1] ** 2).sum())


def accuracy(rows: NDArray[np.float64], classes: NDArray[np.int64], centres: NDArray[np.float64]) -> float:
    """Return the share of rows whose class is the most frequent one among the rows with the same nearest centre."""
    return purity(classes, nearest(rows, centres)[0])


def purity(classes: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the share of rows whose class is the most frequent one of their cluster.

    Which of several equally frequent classes a cluster stands for does not change the value, nor do empty clusters.
    """
    return float(_contingency(classes, label).max(axis=1).sum() / len(classes))


def adjusted_rand(classes: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the adjusted Rand index: 1 for equal partitions, 0 on average for unrelated ones."""
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
