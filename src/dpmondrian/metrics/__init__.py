"""How good a clustering is, measured on the true rows: sensitive, for the holder of the data and for benchmarks."""

from dpmondrian.metrics.distance import kmeans_distance, matching_distance
from dpmondrian.metrics.evaluate import evaluate
from dpmondrian.metrics.quality import accuracy, adjusted_rand, inertia, nearest, purity
from dpmondrian.metrics.silhouette import silhouette

__all__ = [
    "accuracy",
    "adjusted_rand",
    "evaluate",
    "inertia",
    "kmeans_distance",
    "matching_distance",
    "nearest",
    "purity",
    "silhouette",
]
