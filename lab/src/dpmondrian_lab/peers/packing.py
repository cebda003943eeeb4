"""A start for Lloyd's algorithm that looks at no row: points packed as far apart as random trials allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed_points"]

_MOST_REJECTIONS = 100


def packed_points(n_points: int, n_columns: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return points in [-1, 1]^d, pairwise at least ``2 s`` apart and ``s`` from the faces, for s = 1, 1/2, 1/4, ...

    The largest s is taken at which all points fit before a point was rejected a hundred times in a row.
    """
    radius = 1.0
    while True:
        points = _try_packing(n_points, n_columns, radius, generator)
        if len(points) == n_points:
            return points
        radius /= 2.0


def _try_packing(n_points: int, n_columns: int, radius: float, generator: np.random.Generator) -> NDArray[np.float64]:
    points = np.empty((n_points, n_columns))
    n_accepted = n_rejected = 0
    while n_accepted < n_points and n_rejected < _MOST_REJECTIONS:
        candidate = generator.uniform(radius - 1.0, 1.0 - radius, n_columns)
        squares = ((points[:n_accepted] - candidate) ** 2).sum(axis=1)
        if np.all(squares >= 4.0 * radius * radius):
            points[n_accepted] = candidate
            n_accepted, n_rejected = n_accepted + 1, 0
        else:
            n_rejected += 1
    return points[:n_accepted]
