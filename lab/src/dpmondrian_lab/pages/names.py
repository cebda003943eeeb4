"""The only map from keys to what people read: names of algorithms, data sets and metrics, colours and markers.

Colours are those of Okabe and Ito (and one of Tol's), which colour-blind people can tell apart. A variant as published has the colour of
its algorithm, with stripes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpmondrian_lab.datasets.registry import DATA_SETS, get
from dpmondrian_lab.peers.registry import ALGORITHMS

__all__ = [
    "DAGGER",
    "DIRECTIONS",
    "METRIC_NAMES",
    "PAPER_METRICS",
    "TABLE_METRICS",
    "Style",
    "algorithm_name",
    "data_set_name",
    "data_set_order",
    "style",
]

PAPER_METRICS = ("silhouette", "accuracy", "inertia", "kmeans_distance")
TABLE_METRICS = (*PAPER_METRICS, "adjusted_rand", "matching_distance", "n_centres")

METRIC_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "silhouette": "silhouette",
        "accuracy": "accuracy",
        "inertia": "inertia",
        "kmeans_distance": "KMeans dist.",
        "adjusted_rand": "adjusted Rand",
        "matching_distance": "matching dist.",
        "n_centres": "centres",
        "seconds": "seconds",
    }
)

DIRECTIONS: Mapping[str, int] = MappingProxyType(
    {
        "silhouette": 1,
        "accuracy": 1,
        "adjusted_rand": 1,
        "inertia": -1,
        "kmeans_distance": -1,
        "matching_distance": -1,
        "seconds": -1,
    }
)
"""1: more is better, -1: less is better; what is not here has no best."""

DAGGER = "†"
"""Marks algorithms that do not hold the epsilon they are given."""

SHARE_NAMES = MappingProxyType(
    {
        "interval": "interval size",
        "splits": "splits",
        "counts": "counts",
        "cells": "cells",
        "clusters": "clusters",
        "centres": "centres",
    }
)


@dataclass(frozen=True)
class Style:
    """How an algorithm is drawn."""

    colour: str
    marker: str = "o"
    stripes: str = ""
    line: str = "-"


_STRIPES = "////"
_STYLES = {
    "kmeans": Style("#8A8A8A", "", line="--"),
    "dp_lloyd": Style("#E69F00", "s"),
    "dp_lloyd_published": Style("#E69F00", "s", _STRIPES, ":"),
    "em_mc": Style("#56B4E9", "v"),
    "em_mc_published": Style("#56B4E9", "v", _STRIPES, ":"),
    "lsh_splits": Style("#009E73", "^"),
    "lsh_splits_published": Style("#009E73", "^", _STRIPES, ":"),
    "fast_lloyd": Style("#882255", "D"),
    "pe_means": Style("#CC79A7", "P"),
    "kmeans_10": Style("#8A8A8A", "", line="--"),
    "noisy_grid": Style("#F0E442", "h"),
    "mst": Style("#999933", "<"),
    "aim": Style("#117733", ">"),
    "dpm_release": Style("#332288", "p"),
    "dpm_paper": Style("#0072B2", "X", "....", "-."),
    "dpm": Style("#0072B2", "o"),
    "dpm_k": Style("#D55E00", "*"),
}


def algorithm_name(key: str) -> str:
    """Return the name of an algorithm, with a dagger if it does not hold its epsilon."""
    if key not in ALGORITHMS:
        return key
    algorithm = ALGORITHMS[key]
    return algorithm.name + (DAGGER if algorithm.private and not algorithm.sound else "")


def data_set_name(key: str) -> str:
    """Return the name of a data set."""
    return get(key).name


def data_set_order(keys: set[str]) -> list[str]:
    """Return data sets in the order of the paper, then others by rows, clusters and key."""
    known = [key for key in DATA_SETS if key in keys]
    others = [get(key) for key in keys.difference(known)]
    return known + [item.key for item in sorted(others, key=lambda item: (item.n_rows, item.n_clusters, item.key))]


def style(key: str) -> Style:
    """Return how an algorithm is drawn; one that has no colour of its own is black."""
    return _STYLES.get(key, Style("#000000"))
