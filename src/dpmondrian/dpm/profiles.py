"""Private histograms of every cluster and column, once the clusters are final: one draw.

Bins are chosen by released values alone. Around the centre of a cluster they double in width, from as fine as its centre and spread are
known up to the bounds, so that narrow and wide clusters both show. The two bounds have bins of their own, because values are
clipped to them and amounts are often none. Few whole numbers, and categories, have a bin each.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import PROFILES
from dpmondrian.dpm.steps import Centres
from dpmondrian.engines import CLUSTER_STEP, BinCounts, Engine, Grid
from dpmondrian.privacy import Door
from dpmondrian.schema import Indicator

__all__ = ["MOST_HALVINGS", "Histograms", "bin_limits", "draw_histograms", "table_columns"]

MOST_HALVINGS, _LEAST_HALVINGS = 8, 3
"""How often the range of a column is halved, at most and at least, to come to the width of the finest bins."""
_MOST_VALUES = 20
"""Up to so many whole numbers have a bin each."""
_OF_SPREAD = 8.0
"""Bins are not finer than this part of the spread of cells: that shows the shape of a cluster that is as narrow as a cell, and each
further bin would add noise to what rows are counted up from several."""


@dataclass(frozen=True)
class Histograms:
    """Released histograms, by cluster and column.

    Attributes
    ----------
    names : tuple of str
        The columns of the table.
    columns : tuple of int64 arrays
        The columns of the grid that each of these stands for: one, or the indicators of its categories.
    limits : list of lists of int64 arrays
        Of every cluster and column: the last place of every bin, or the numbers of the categories.
    counts : list of lists of int64 arrays
        Noisy numbers of rows.
    deviation : float
        Standard deviation of the noise in every count.
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[np.int64], ...]
    limits: list[list[NDArray[np.int64]]]
    counts: list[list[NDArray[np.int64]]]
    deviation: float

    @property
    def sizes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The rows of every cluster, which each of its histograms counts, and the variances of their means."""
        n_columns = len(self.names)
        totals = np.array([np.concatenate(own).sum() for own in self.counts]) / n_columns
        return totals, self.deviation**2 * np.array([len(np.concatenate(own)) for own in self.counts]) / n_columns**2

    def of_column(self, name: str) -> list[NDArray[np.int64]]:
        """Return the counts of a column of the table in every cluster."""
        number = self.names.index(name)
        return [own[number] for own in self.counts]

    def ordered(self, order: NDArray[np.int64]) -> Histograms:
        """Return the same with clusters in another order."""
        limits, counts = ([values[c] for c in order.tolist()] for values in (self.limits, self.counts))
        return Histograms(self.names, self.columns, limits, counts, self.deviation)


def draw_histograms(
    engine: Engine, door: Door, grid: Grid, centres: Centres, spread: float, chosen: tuple[str, ...] | None
) -> Histograms:
    """Return histograms of the rows of every cluster in the columns that were chosen; None: all of them.

    The engine's rows are in the nodes numbered like their clusters.

    Privacy
    -------
    Released: rows per cluster and bin. A row is in one cluster, and there in one bin of each of M columns. Argument:
    ``docs/privacy/profiles.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
    """
    blocks = {name: columns for name, columns in table_columns(grid).items() if chosen is None or name in chosen}
    n_clusters, columns = len(centres.places), list(blocks.values())
    limits = [_limits(grid, own, centres, spread) for own in columns]
    sizes = np.array([[len(own) for own in of_column] for of_column in limits])
    clusters = np.tile(np.arange(n_clusters), len(columns)).repeat(sizes.ravel())
    ends = np.concatenate([own for of_column in limits for own in of_column])
    keys = _pieces(clusters * CLUSTER_STEP + ends, sizes.sum(axis=1))
    by_cluster = np.argsort(clusters, kind="stable")  # one column after the other, from one cluster after the other
    exact_counts = engine.bin_counts(BinCounts(columns, keys))[by_cluster]
    exact = _pieces(exact_counts, sizes.sum(axis=0))
    noisy, deviations = door.histograms(PROFILES, None, exact, np.full(n_clusters, len(columns)))
    counts = [_pieces(values, sizes[:, c]) for c, values in enumerate(noisy)]
    return Histograms(
        tuple(blocks), tuple(columns), list(map(list, zip(*limits, strict=True))), counts, float(deviations[0])
    )


def _pieces(values: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return pieces of these sizes, one after the other."""
    return [values[begin:end] for begin, end in pairwise([0, *np.cumsum(sizes).tolist()])]


def table_columns(grid: Grid) -> dict[str, NDArray[np.int64]]:
    """Return the columns of the grid that stand for each column of the table, by its name."""
    found: dict[str, list[int]] = {}
    for j, column in enumerate(grid.schema.columns):
        found.setdefault(column.of if isinstance(column, Indicator) else column.name, []).append(j)
    return {name: np.array(columns, dtype=np.int64) for name, columns in found.items()}


def _limits(grid: Grid, columns: NDArray[np.int64], centres: Centres, spread: float) -> list[NDArray[np.int64]]:
    """Return the last values of the bins of one column in every cluster: places, or numbers of categories."""
    if len(columns) > 1:
        return [np.arange(len(columns))] * len(centres.places)
    [j] = columns.tolist()
    return bin_limits(grid, j, centres.places[:, j], np.maximum(centres.errors[:, j], spread / _OF_SPREAD))


def bin_limits(
    grid: Grid, column: int, centres: NDArray[np.float64], finest: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return the last place of every bin of a column, around each of several centres; public and released values only."""
    last, on_value = int(grid.last_place[column]), bool(grid.on_value[column])
    unit = _places_per_value(grid, column)
    if on_value and last // unit < _MOST_VALUES:
        return [np.arange(0, last + 1, unit)] * len(centres)
    reach = (last + 1) / 2.0 ** np.arange(1, MOST_HALVINGS + 1)
    used = (reach >= finest[:, None]) | (np.arange(MOST_HALVINGS) < _LEAST_HALVINGS)
    first = 0 if on_value else unit - 1
    around = np.hstack([centres[:, None] - reach, (centres[:, None] + reach)[:, ::-1]])
    inner = np.floor(around / unit).astype(np.int64) * unit + first
    kept = np.hstack([used, used[:, ::-1]]) & (inner > first) & (inner <= last - 2 * unit)
    return _with_ends(np.where(kept, inner, first), first, [last - unit, last])


def _with_ends(inner: NDArray[np.int64], first: int, ends: list[int]) -> list[NDArray[np.int64]]:
    """Return the first limit, ascending ones, and then the ends, of every cluster; inner ones that are no further than one before are none."""
    n_clusters, n_inner = inner.shape
    limits = np.empty((n_clusters, 1 + n_inner + len(ends)), dtype=np.int64)
    limits[:, 0], limits[:, 1 + n_inner :] = first, ends
    np.maximum.accumulate(inner, axis=1, out=limits[:, 1 : 1 + n_inner])
    is_new = np.ones(limits.shape, dtype=np.bool_)
    is_new[:, 1:] = limits[:, 1:] > limits[:, :-1]
    return _pieces(limits[is_new], is_new.sum(axis=1))


def _places_per_value(grid: Grid, column: int) -> int:
    """Return how many places a whole number takes, or 1 in other columns: bins end between whole numbers."""
    if grid.on_value[column]:
        return int(grid.inverse_step[column])
    whole = grid.schema.centre_columns[column].whole
    return max(1, int(np.ceil(grid.inverse_step[column]))) if whole else 1
