"""Points in a ball around zero, from public randomness: packed, or moved within it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn_into_ball", "packed_in_ball"]

_MOST_REJECTIONS = 100
_BATCH = 256


def packed_in_ball(n_points: int, n_columns: int, radius: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return points that are at least ``2 s`` apart and ``s`` from the sphere, for s = 1/2, 1/4, ... of the radius.

    The largest s is taken at which all points fit before a point was rejected a hundred times in a row.
    """
    gap = 0.5
    while True:
        points = _try_packing(n_points, n_columns, gap, generator)
        if len(points) == n_points:
            return radius * points
        gap /= 2.0


def _try_packing(n_points: int, n_columns: int, gap: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return as many points of the packing of the unit ball as fit; a batch of trials is measured at once."""
    points = np.empty((n_points, n_columns))
    n_accepted = n_rejected = 0
    while n_accepted < n_points and n_rejected < _MOST_REJECTIONS:
        trials = (1.0 - gap) * _uniform(_BATCH, n_columns, generator)
        free = _least_squares(trials, points[:n_accepted]) >= 4.0 * gap**2
        first = n_accepted
        for trial, is_free in zip(trials, free.tolist(), strict=True):
            if n_accepted == n_points or n_rejected == _MOST_REJECTIONS:
                break
            if is_free and np.all(((points[first:n_accepted] - trial) ** 2).sum(axis=1) >= 4.0 * gap**2):
                points[n_accepted] = trial
                n_accepted, n_rejected = n_accepted + 1, 0
            else:
                n_rejected += 1
    return points[:n_accepted]


def _uniform(n_points: int, n_columns: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return points that are uniform in the unit ball."""
    direction = generator.normal(size=(n_points, n_columns))
    direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
    return direction * generator.random((n_points, 1)) ** (1.0 / n_columns)


def _least_squares(points: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of every point from the nearest of the others, infinity if there are none."""
    products = points @ (-2.0 * others.T)
    products += (others**2).sum(axis=1)
    squares: NDArray[np.float64] = (points**2).sum(axis=1) + np.min(products, axis=1, initial=np.inf)
    return squares


def drawn_into_ball(points: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the points, those outside the ball moved straight to its sphere."""
    length = np.sqrt((points**2).sum(axis=1, keepdims=True))
    drawn: NDArray[np.float64] = points * (radius / np.maximum(length, radius))
    return drawn
