"""How good a clustering is, measured on the true rows: sensitive, for the holder of the data and for benchmarks."""

from dpmondrian.metrics.quality import accuracy, inertia, kmeans_distance, nearest

__all__ = ["accuracy", "inertia", "kmeans_distance", "nearest"]
