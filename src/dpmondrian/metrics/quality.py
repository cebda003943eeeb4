"""The paper's metrics, one function per quantity. All of them see exact rows, so their values are sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy", "inertia", "kmeans_distance", "nearest"]

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


def accuracy(rows: NDArray[np.float64], truth: NDArray[np.int64], centres: NDArray[np.float64]) -> float:
    """Return the share of rows whose class is the most frequent one of their cluster."""
    label, _ = nearest(rows, centres)
    counts = np.zeros((len(centres), int(truth.max()) + 1), dtype=np.int64)
    np.add.at(counts, (label, truth), 1)
    return float(counts.max(axis=1).sum() / len(truth))


def kmeans_distance(centres: NDArray[np.float64], references: list[NDArray[np.float64]], diameter: float) -> float:
    """Return the paper's normalised KMeans distance.

    The mean over the centres of the distance to the nearest reference centre, averaged over the reference
    clusterings, divided by the diameter of the domain. It is one-sided: missing clusters cost nothing.
    """
    return float(np.mean([nearest(centres, reference)[1].mean() for reference in references]) / diameter)
