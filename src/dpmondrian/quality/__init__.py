"""How good a clustering is, measured on the true rows: sensitive, for the holder of the data and for benchmarks."""

from __future__ import annotations

from dpmondrian.quality.comparison import Comparison, compare_with_kmeans
from dpmondrian.quality.measures import (
    accuracy,
    adjusted_rand,
    evaluate,
    inertia,
    kmeans_distance,
    matching_distance,
    nearest,
    purity,
)
from dpmondrian.quality.silhouette import silhouette

__all__ = [
    "Comparison",
    "accuracy",
    "adjusted_rand",
    "compare_with_kmeans",
    "evaluate",
    "inertia",
    "kmeans_distance",
    "matching_distance",
    "nearest",
    "purity",
    "silhouette",
]
