"""How far centres lie from reference centres, as a share of the diameter of the domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmondrian.quality.measures import nearest

__all__ = ["kmeans_distance", "matching_distance"]


def kmeans_distance(centres: NDArray[np.float64], references: Sequence[NDArray[np.float64]], diameter: float) -> float:
    """Return the paper's normalised KMeans distance.

    The mean over the centres of the distance to the nearest reference centre, averaged over the reference
    clusterings, divided by the diameter of the domain. It is one-sided: missing clusters cost nothing.
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
