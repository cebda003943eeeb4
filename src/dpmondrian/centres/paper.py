"""Centres of ``variant="paper"``: noisy sums over the whole domain, divided by the noisy count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.centres.clipped import LeafMeans
from dpmondrian.engines.base import Engine
from dpmondrian.grid import Grid
from dpmondrian.release import Door
from dpmondrian.tree.grower import Node

__all__ = ["domain_means"]


def domain_means(
    engine: Engine, door: Door, grid: Grid, leaves: list[Node], noisy_sizes: NDArray[np.float64]
) -> LeafMeans:
    """Return the leaves' centres; the noise is scaled to half the diagonal of the domain.

    Sums are relative to the middle of the domain, so bounds (0, b) cost no more than (-b/2, b/2).
    """
    numbers = [leaf.number for leaf in leaves]
    sizes = np.maximum(noisy_sizes, 1.0)[:, None]
    middle = np.tile(grid.last_place // 2, (len(leaves), 1))
    half_diagonal = int(np.ceil(np.sqrt(((grid.last_place - grid.last_place // 2).astype(np.float64) ** 2).sum())))
    exact_sums = engine.box_sums(numbers, middle)
    noisy_sums, scales = door.ball_sums("sums", exact_sums, np.full(len(leaves), half_diagonal))
    return LeafMeans(np.clip(middle + noisy_sums / sizes, 0, grid.last_place), scales / sizes)
