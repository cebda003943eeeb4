"""Centres of the default variant: a coarse mean in the leaf's box, a private radius, a clipped mean.

The noise of the last step is proportional to how far rows lie from their centre instead of the size of
the box, which in many columns is nearly the whole domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.base import Engine
from dpmondrian.grid import Grid
from dpmondrian.release import Door
from dpmondrian.tree.grower import Node

__all__ = ["LeafMeans", "clipped_means", "leaf_boxes", "radius_prior"]

_RADII_PER_DOUBLING = 4
_N_RADII = 48
_PRIOR_PER_RADIUS = 0.01


@dataclass(frozen=True)
class LeafMeans:
    """Released centres in places with the standard errors of their noise, both (n_leaves, n_columns)."""

    places: NDArray[np.float64]
    errors: NDArray[np.float64]


def leaf_boxes(leaves: list[Node], grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last place of every leaf's box, each of shape (n_leaves, n_columns)."""
    low = np.array([leaf.low for leaf in leaves]) * grid.places_per_code
    high = np.array([leaf.high for leaf in leaves]) * grid.places_per_code - 1
    return low, np.minimum(high, grid.last_place)


def radius_prior(noisy_total: int) -> NDArray[np.int64]:
    """Return the price of each radius, in rows: a larger one must take in 1 % more of them per step.

    Without a prior all radii that hold every row would tie, and the largest costs the most noise.
    """
    return np.rint(_PRIOR_PER_RADIUS * max(noisy_total, 1) * np.arange(_N_RADII)).astype(np.int64)


def clipped_means(
    engine: Engine, door: Door, grid: Grid, leaves: list[Node], noisy_sizes: NDArray[np.float64], noisy_total: int, norm: int
) -> LeafMeans:
    """Return the leaves' centres from three releases: coarse sums, one pooled radius, clipped sums.

    Parameters
    ----------
    noisy_sizes : float64 array of shape (n_leaves,)
        Released sizes.
    norm : int
        2 with Gaussian noise, 1 with Laplace noise.
    """
    numbers = [leaf.number for leaf in leaves]
    sizes = np.maximum(noisy_sizes, 1.0)[:, None]
    low, high = leaf_boxes(leaves, grid)
    coarse, coarse_scales = _coarse_means(engine, door, numbers, low, high, sizes)
    farthest = np.ceil(_length(np.maximum(coarse - low, high - coarse).astype(np.float64), norm))
    error = np.minimum(_length(coarse_scales / sizes, norm), farthest)
    radius = _pooled_radius(engine, door, numbers, coarse, error, noisy_total, grid, norm)
    reach = np.maximum(1, np.minimum(_add(radius, error, norm), farthest)).astype(np.int64)
    exact_sums = engine.clipped_sums(numbers, coarse, reach, norm)
    noisy_sums, scales = door.ball_sums("clipped sums", exact_sums, reach)
    return LeafMeans(np.clip(coarse + noisy_sums / sizes, low, high), scales / sizes)


def _coarse_means(
    engine: Engine, door: Door, numbers: list[int], low: NDArray[np.int64], high: NDArray[np.int64], sizes: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rough centres on whole places, from sums relative to the middle of each box."""
    middle = (low + high) // 2
    half_widths = np.maximum(1, high - middle)
    exact_sums = engine.box_sums(numbers, middle)
    noisy_sums, scales = door.box_sums("coarse sums", exact_sums, half_widths)
    means = np.rint(middle + noisy_sums / sizes).astype(np.int64)
    return np.clip(means, low, high), scales


def _pooled_radius(
    engine: Engine,
    door: Door,
    numbers: list[int],
    coarse: NDArray[np.int64],
    error: NDArray[np.float64],
    noisy_total: int,
    grid: Grid,
    norm: int,
) -> float:
    """Return one radius for all leaves: how far rows lie from the coarse centre beyond its own error.

    A radius is scored by the rows that it holds, over all leaves, less `radius_prior`.

    Privacy
    -------
    One row raises the score of some radii by 1 and leaves the others: range 1. Argument:
    ``docs/privacy/radius.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
    """
    widest = float(_length(grid.last_place[None, :] + 1.0, norm)[0])
    radii = widest * 2.0 ** (np.arange(1 - _N_RADII, 1) / _RADII_PER_DOUBLING)
    limits = _add(radii[None, :], error[:, None], norm)
    thresholds = np.floor(limits * limits if norm == 2 else limits).astype(np.int64)
    exact_within = np.cumsum(engine.radius_counts(numbers, coarse, thresholds, norm)[:-1])
    [chosen] = door.select("radius", None, [exact_within - radius_prior(noisy_total)], [1], "rows")
    return float(radii[chosen])


def _length(vectors: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Return the L2 or L1 length of each row."""
    return np.sqrt((vectors**2).sum(axis=1)) if norm == 2 else np.abs(vectors).sum(axis=1)


def _add(spread: NDArray[np.float64] | float, error: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Return the distance at which a row is expected that lies `spread` from a centre known up to `error`."""
    return np.sqrt(spread * spread + error * error) if norm == 2 else spread + error
