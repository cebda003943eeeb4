"""Where invented patients live; the same seed gives the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["HOME_BOUNDS", "homes"]

HOME_BOUNDS = {"east_km": (0.0, 100.0), "north_km": (0.0, 100.0)}
"""Public bounds of `homes`: the edges of the map, known without looking at a row."""


def homes(n_rows: int = 20_000, n_towns: int = 9, seed: int = 5) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return where invented patients live on a map of 100 by 100 km, and the town of each (-1: in the country).

    Towns differ in size and width; one patient in fifty lives somewhere in between.
    """
    generator = np.random.default_rng(seed)
    towns = generator.uniform(8, 92, size=(n_towns, 2))
    shares = generator.dirichlet(np.full(n_towns, 6.0))
    label = generator.choice(n_towns, size=n_rows, p=shares)
    width = generator.uniform(0.5, 1.1, size=n_towns)
    rows = towns[label] + generator.normal(size=(n_rows, 2)) * width[label, None]
    scattered = generator.random(n_rows) < 0.02
    rows[scattered] = generator.uniform(0, 100, size=(int(scattered.sum()), 2))
    label[scattered] = -1
    return rows, label
