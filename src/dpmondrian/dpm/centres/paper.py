"""Centres of ``variant="paper"``: noisy sums over the whole domain, divided by the noisy count."""

from __future__ import annotations

import numpy as np

from dpmondrian.dpm.centres.clipped import Groups, Means
from dpmondrian.dpm.draws import DOMAIN_SUMS
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = ["domain_means"]


def domain_means(engine: Engine, door: Door, grid: Grid, leaves: Groups) -> Means:
    """Return the leaves' centres; the noise is scaled to half the diagonal of the domain.

    Sums are relative to the middle of the domain, so bounds (0, b) cost no more than (-b/2, b/2).
    """
    n_leaves = len(leaves.numbers)
    middle = np.tile(grid.last_place // 2, (n_leaves, 1))
    half_diagonal = int(np.ceil(np.sqrt(((grid.last_place - grid.last_place // 2).astype(np.float64) ** 2).sum())))
    exact_sums = engine.box_sums(leaves.numbers, middle)
    noisy_sums, deviations = door.ball_sums(DOMAIN_SUMS, None, exact_sums, np.full(n_leaves, half_diagonal))
    return Means(np.clip(middle + noisy_sums / leaves.sizes, 0, grid.last_place), deviations / leaves.sizes)
