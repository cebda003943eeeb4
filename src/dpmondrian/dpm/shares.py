"""Shares of categories in cells, as what is known of their clusters says. Post-processing.

Noise makes some shares of small cells negative. These are put to none, and the others less, which adds up over many cells: categories that
nobody has seem to be there, and common ones rarer. And rows have moved to other cells since shares were measured. The shares of clusters and of
all rows are known better. So the cells of a cluster are moved, all alike, until together they have its shares, and then all cells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.profiles import Histograms, table_columns
from dpmondrian.dpm.steps import Centres
from dpmondrian.engines import Grid
from dpmondrian.schema import nearest_shares

__all__ = ["agreeing_cells"]

_Floats: TypeAlias = NDArray[np.float64]

_MOST_ROUNDS, _AGREED = 20, 1e-3
"""In which shares of cells are brought to those of their cluster, and how near."""


def agreeing_cells(
    cells: Cells, cluster: NDArray[np.int64], centres: Centres, histograms: Histograms | None, grid: Grid
) -> Cells:
    """Return cells, whose clusters are given, with shares of categories that come to those of the clusters and of all rows."""
    places = cells.places.copy()
    for name, columns in table_columns(grid).items():
        if len(columns) > 1:
            one = float(grid.last_place[columns[0]])
            shares = nearest_shares(places[:, columns] / one)
            own, errors = centres.places[:, columns] / one, centres.errors[:, columns] / one
            if histograms is None or name not in histograms.names:
                shares = _agreeing(shares, cells.sizes, cluster, nearest_shares(own))
            else:
                counts = np.array(histograms.of_column(name), dtype=np.float64)
                sizes = np.maximum(histograms.sizes[0], 1.0)
                shares = _agreeing(
                    shares, cells.sizes, cluster, _both(own, errors, counts, sizes, histograms.deviation)
                )
                weight, every = sizes[None] / sizes.sum(), np.zeros_like(cluster)
                noise = histograms.deviation * np.sqrt(len(sizes))
                of_all = weight @ own, np.sqrt(weight**2 @ errors**2), counts.sum(axis=0, keepdims=True)
                shares = _agreeing(shares, cells.sizes, every, _both(*of_all, sizes.sum(keepdims=True), noise))
            places[:, columns] = one * shares
    return replace(cells, places=places)


def _both(own: _Floats, errors: _Floats, counts: _Floats, sizes: _Floats, deviation: float) -> _Floats:
    """Return the means of two shares of the same groups, those of their centres and those that are counted, weighted by their variances."""
    variances = (deviation / sizes[:, None]) ** 2
    part = variances / (variances + errors**2)
    return nearest_shares(part * own + (1.0 - part) * counts / sizes[:, None])


def _agreeing(shares: _Floats, sizes: _Floats, group: NDArray[np.int64], wanted: _Floats) -> _Floats:
    """Return shares of parts that were moved, all of a group alike, until the parts of a group together have those that are wanted."""
    member = np.eye(len(wanted))[group].T * sizes
    weight = member / np.maximum(member.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    has_parts = np.bincount(group, minlength=len(wanted)) > 0
    shift, moved = np.zeros_like(wanted), shares
    for _ in range(_MOST_ROUNDS):
        lack = np.where(has_parts[:, None], wanted - weight @ moved, 0.0)
        if np.abs(lack).max() < _AGREED:
            break
        shift += lack
        moved = nearest_shares(shares + shift[group])
    return moved
