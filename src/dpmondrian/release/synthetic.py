"""Synthetic rows from a release: post-processing, which reads no rows and spends nothing.

A row belongs to a cluster, drawn by size, and to a cell in it, near whose centre it lies. Then the rows of the cluster are moved, column by
column and in the order that they have there, until every bin of the column's profile holds as many as it says. So columns are
distributed as their profiles say, and go together as the cells do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm import MADE_BY_NOISE
from dpmondrian.exceptions import ParameterError, WayOut
from dpmondrian.release.histograms import ColumnProfile
from dpmondrian.release.profiles import Profile
from dpmondrian.schema import Category, Column, Coordinates

if TYPE_CHECKING:
    from dpmondrian.release.release import Release

_LEAST_INSIDE = 0.25
"""Least spread of rows around their cell, as a part of the spread of the cluster: cells are never so fine that there is none."""
_ROUNDS = 8
"""In which the shares of categories in cells are fitted to those of the cluster."""


def synthetic_rows(release: Release, n_rows: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return synthetic rows, column by column, as the table writes them, within the bounds, none missing."""
    if release.cells is None:
        raise ParameterError(
            "This release has no cells to draw synthetic rows from: the paper's variant releases none.",
            WayOut.RELEASE_CELLS,
        )
    maker = _Maker(release, generator)
    sizes = generator.multinomial(n_rows, maker.shares)
    parts = [maker.rows_of(cluster, int(size)) for cluster, size in enumerate(sizes)]
    order = generator.permutation(n_rows)
    return {name: np.concatenate([part[name] for part in parts])[order] for name in release.schema.names}


class _Maker:
    """What rows are drawn from: the cells, on the scales of the columns, and the profiles."""

    def __init__(self, release: Release, generator: np.random.Generator) -> None:
        assert release.cells is not None
        self._release, self._generator, self._cells = release, generator, release.cells
        self._coordinates = Coordinates(release.schema)
        self._centres = self._coordinates.of_centres(self._cells.centres)
        self._cluster = release.rule.clusters(np.rint(release.grid.places_of(self._centres)).astype(np.int64))
        self._hold_rows = self._cells.sizes > MADE_BY_NOISE * self._cells.size_error
        sizes = np.maximum(release.sizes, 0.0)
        self.shares = sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1.0 / len(sizes))

    def rows_of(self, cluster: int, n_rows: int) -> dict[str, NDArray[Any]]:
        """Return rows of one cluster, column by column."""
        own = np.flatnonzero((self._cluster == cluster) & self._hold_rows)
        centres, weight = self._centres[own], self._cells.sizes[own]
        if not len(own):  # smaller than any cell that surely holds rows
            centres, weight = self._coordinates.of_centres(self._release.centres[[cluster]]), np.ones(1)
        weight = weight / weight.sum()
        cell = self._generator.choice(len(weight), n_rows, p=weight)
        rows: dict[str, NDArray[Any]] = {}
        for column in self._release.schema.columns:
            of_cells = centres[:, self._release.schema.places[column.name]]
            if isinstance(column, Category):
                rows[column.name] = self._categories(column, cluster, of_cells, weight, cell)
            else:
                rows[column.name] = self._numbers(column, cluster, of_cells[:, 0], weight, cell)
        return rows

    def _profile(self, cluster: int, name: str) -> ColumnProfile | None:
        """Return the profile of a column in a cluster, if there is one."""
        profiles = self._release.profiles
        own = Profile(()) if profiles is None else profiles.clusters[cluster]
        return own.get(name)

    def _numbers(
        self,
        column: Column,
        cluster: int,
        of_cells: NDArray[np.float64],
        weight: NDArray[np.float64],
        cell: NDArray[np.int64],
    ) -> NDArray[Any]:
        """Return values of a numeric column for rows of these cells."""
        profile = self._profile(cluster, column.name)
        whole = None if profile is None else profile.sd.value
        around = float(weight @ (of_cells - weight @ of_cells) ** 2)
        inside = self._cells.spread * column.range
        if whole is not None:
            inside = min(inside, max(max(whole**2 - around, 0.0) ** 0.5, _LEAST_INSIDE * whole))
        near = of_cells[cell] + inside * self._generator.standard_normal(len(cell))
        if profile is not None and len(near):
            near = profile.fitted(near, self._generator)
        return _in_units(column, near)

    def _categories(
        self,
        column: Category,
        cluster: int,
        of_cells: NDArray[np.float64],
        weight: NDArray[np.float64],
        cell: NDArray[np.int64],
    ) -> NDArray[Any]:
        """Return categories for rows of these cells: as frequent in each as it says, fitted to the shares of the cluster."""
        shares = np.maximum(of_cells, 0.0) + 1e-9
        shares /= shares.sum(axis=1, keepdims=True)
        profile = self._profile(cluster, column.name)
        if profile is not None:
            wanted = np.array([share.value for share in profile.shares])
            for _ in range(_ROUNDS):
                shares *= wanted / np.maximum(weight @ shares, 1e-12)
                shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
        drawn = self._generator.random(len(cell))[:, None] > np.cumsum(shares, axis=1)[cell, :-1]
        categories: NDArray[Any] = np.array(column.levels, dtype=object)[drawn.sum(axis=1)]
        return categories


def _in_units(column: Column, values: NDArray[np.float64]) -> NDArray[Any]:
    """Return values of the scale of a column in its units, whole where it is whole, within its bounds."""
    values = np.exp(values) if column.log else np.rint(values) if column.whole else values
    lower, upper = (np.ceil(column.lower), np.floor(column.upper)) if column.whole else (column.lower, column.upper)
    within: NDArray[Any] = np.clip(values, lower, upper)
    within = within.astype(np.int64) if column.whole else within
    if column.notation is None:
        return within
    written = [column.notation.written(value) for value in within.tolist()]
    return np.array(written, dtype=object if isinstance(next(iter(written), 0), str) else within.dtype)
