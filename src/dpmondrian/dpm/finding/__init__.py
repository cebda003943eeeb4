"""What is apart: clusters that are there, and only those."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.finding.hills import DEPTH, hills_of_grid, region_deviation, windows_of_hills
from dpmondrian.dpm.finding.lines import cut_along_lines, round_costs
from dpmondrian.dpm.finding.proposals import N_BINS
from dpmondrian.dpm.finding.valleys import clearest, threshold
from dpmondrian.dpm.partition import Partition
from dpmondrian.dpm.plan import FEW_COLUMNS
from dpmondrian.engines import Engine, Grid
from dpmondrian.privacy import Door

__all__ = [
    "DEPTH",
    "LEAST_SHARE",
    "N_BINS",
    "Found",
    "clearest",
    "find_clusters",
    "has_grid",
    "region_deviation",
    "round_costs",
    "threshold",
    "windows_of_hills",
]

LEAST_SHARE = 0.005
"""A cluster that is found holds at least this share of all rows."""


@dataclass(frozen=True)
class Found:
    """The clusters that are apart: which rows belong to each, and how sure each of them is."""

    partition: Partition
    certainty: NDArray[np.float64]


def find_clusters(
    engine: Engine, door: Door, grid: Grid, cells: Cells, noisy_total: float, reserve: float, least_rows: float
) -> Found:
    """Return the clusters that are apart, at the cost of what is left but for `reserve`: from grids in few columns, else along lines.

    Each holds at least `least_rows` rows, as far as released numbers say.
    """
    if has_grid(grid):
        return Found(*hills_of_grid(engine, door, grid, noisy_total, door.left - reserve, least_rows))
    return Found(*cut_along_lines(engine, door, grid, cells, noisy_total, reserve, least_rows))


def has_grid(grid: Grid) -> bool:
    """Return whether clusters are hills of a grid; else they are cut along lines."""
    return grid.n_columns <= FEW_COLUMNS and not grid.one_hot.any()
