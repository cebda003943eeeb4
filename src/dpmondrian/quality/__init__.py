"""How good a clustering is, measured on the true rows: sensitive, for the holder of the data and for benchmarks."""

from dpmondrian.quality.distance import kmeans_distance, matching_distance
from dpmondrian.quality.evaluate import evaluate
from dpmondrian.quality.measures import accuracy, adjusted_rand, inertia, nearest, purity
from dpmondrian.quality.silhouette import silhouette

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
