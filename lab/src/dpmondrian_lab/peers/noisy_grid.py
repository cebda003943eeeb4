"""A noisy grid (uniform griding, Su, Cao, Li, Bertino, Jin 2016): what one would do by hand with few columns.

The box is divided into equal cells, every cell gets a noisy count, and weighted k-means runs on the middles of the cells whose
count is more than noise. Pure epsilon. ``docs/privacy/peers.md`` has the argument.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import DataError
from dpmondrian.privacy import BELOW_BUDGET, LAPLACE, ROWS, Draw, Kind, PlannedDraw
from dpmondrian_lab.peers.base import Centres, PeerSettings
from dpmondrian_lab.peers.dp_lloyd import PurePeer
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import LabPlan
from dpmondrian_lab.peers.pe_means import weighted_means
from dpmondrian_lab.peers.rows import FixedPointRows, middle_place

__all__ = ["GRID_COUNT", "MOST_COLUMNS", "ROW_COUNT", "NoisyGrid"]

ROW_COUNT = Draw("row count", Kind.NOISE, ROWS)
"""All rows."""
GRID_COUNT = Draw("grid count", Kind.NOISE, ROWS)
"""Rows in every cell of the grid, also empty ones."""

MOST_COLUMNS = 3
"""With more columns nearly every cell is empty."""
_ROWS_PER_CELL = 10.0
"""The constant of the authors: how many rows a cell should have times epsilon, in two columns."""
_COUNT_SHARE = 0.02
"""Part of epsilon for the number of rows, by which the grid is chosen."""
_MOST_CELLS = 2**20
_KMEANS_STARTS = 10


class NoisyGrid(PurePeer):
    """Noisy counts of a grid, then weighted k-means on its cells. Pure epsilon, for up to three columns.

    Parameters
    ----------
    n_clusters, epsilon, bounds, expected_rows, random_state
        As in `Peer`; there is one variant, and `expected_rows` is not used: the grid follows a noisy number of rows.

    Examples
    --------
    >>> rows = np.vstack([np.full((500, 2), 20.0), np.full((500, 2), 80.0)])
    >>> NoisyGrid(2, 5.0, bounds=(0, 100)).fit(rows).cluster_centers_.shape
    (2, 2)
    """

    _variants = ("default",)

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        if n_columns > MOST_COLUMNS:
            raise DataError(
                f"NoisyGrid takes at most {MOST_COLUMNS} columns, but the table has {n_columns}: nearly all of its cells would be "
                "empty. Leave columns out, or use another algorithm."
            )
        budget = BELOW_BUDGET * settings.epsilon
        costs = ((ROW_COUNT, _COUNT_SHARE * budget), (GRID_COUNT, (1.0 - _COUNT_SHARE) * budget))
        draws = (PlannedDraw(draw, 0, LAPLACE, 1.0 / cost, cost) for draw, cost in costs)
        return LabPlan(settings.epsilon, 0.0, "epsilon", tuple(draws))

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        [noisy_total] = door.fine_counts(ROW_COUNT, 0, np.array([len(rows.displacement)]))
        shape = (cells_per_side(noisy_total, settings, rows.grid.n_columns),) * rows.grid.n_columns
        noisy_counts = door.fine_counts(GRID_COUNT, 0, _exact_counts(rows, shape))
        kept = _believed(noisy_counts, settings)
        code = np.stack(np.unravel_index(kept, shape), axis=1)
        middles = (code + 0.5) * _n_places(rows) / shape - middle_place(rows.grid)
        seed = int(door.public_randomness("k-means").integers(2**31))
        weights = np.maximum(noisy_counts[kept], 1.0)
        return Centres(*weighted_means(middles, weights, settings.n_clusters, _KMEANS_STARTS, seed))


def cells_per_side(noisy_total: float, settings: PeerSettings, n_columns: int) -> int:
    """Return m = (n * epsilon / 10) ** (2 / (2 + d)), rounded up: the authors' rule, from the noisy number of rows.

    There are at least as many cells as clusters, and at most 2**20.
    """
    wanted = (max(noisy_total, 1.0) * settings.epsilon / _ROWS_PER_CELL) ** (2.0 / (2.0 + n_columns))
    least, most = settings.n_clusters ** (1.0 / n_columns), _MOST_CELLS ** (1.0 / n_columns)
    return int(min(math.ceil(max(wanted, least)), round(most)))


def _exact_counts(rows: FixedPointRows, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the number of rows in every cell; in whole numbers, so that the cell of a row depends on that row alone."""
    places = rows.displacement.astype(np.int64) + middle_place(rows.grid)
    cell = np.ravel_multi_index(tuple((places * shape // _n_places(rows)).T), shape)
    return np.bincount(cell, minlength=math.prod(shape)).astype(np.int64)


def _n_places(rows: FixedPointRows) -> NDArray[np.int64]:
    return rows.grid.last_place + 1


def _believed(noisy_counts: NDArray[np.float64], settings: PeerSettings) -> NDArray[np.int64]:
    """Return the cells above ln(M / 2) / epsilon, where the largest of M noises lies; at least k cells, the largest ones."""
    order = np.argsort(-noisy_counts, kind="stable")
    n_clear = int((noisy_counts > math.log(len(noisy_counts) / 2.0) / settings.epsilon).sum())
    return order[: max(n_clear, settings.n_clusters)]
