"""Clusters for every k from the cells of a release, and how the cells go together step by step. Post-processing: it reads no rows, spends nothing, and gives the same each time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_integer
from dpmondrian.dpm import (
    FEW_GROUPS,
    MOST_CLUSTERS,
    Cuts,
    Divided,
    Figures,
    Nearest,
    Part,
    divided,
    groups_for,
    variance_within,
    ward_joins,
)
from dpmondrian.engines import PLACES
from dpmondrian.exceptions import ParameterError, WayOut
from dpmondrian.release.csv_text import csv_text
from dpmondrian.release.labelling import Labeller
from dpmondrian.release.measured import Measured, Quality
from dpmondrian.schema import Coordinates

if TYPE_CHECKING:
    from dpmondrian.release.release import Release


@dataclass(frozen=True)
class Hierarchy:
    """Joins of groups of cells, lowest first. Groups are numbered: first the cells, then the joins in their order.

    Attributes
    ----------
    first, second : int64 array of shape (n_cells - 1,)
        The two groups of every join.
    height : float64 array of shape (n_cells - 1,)
        Never falling. The square is what the join adds to the variance within groups, as a share of the variance between all cells.
    sizes : float64 array of shape (n_cells,)
    cluster : int64 array of shape (n_cells,)
        The cluster of the release that each cell lies in.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    height: NDArray[np.float64]
    sizes: NDArray[np.float64]
    cluster: NDArray[np.int64]

    @property
    def linkage(self) -> NDArray[np.float64]:
        """The joins as SciPy's hierarchy functions take them, shape (n_cells - 1, 4)."""
        n_cells = len(self.sizes)
        members = np.ones(n_cells + len(self.first))
        for join, (first, second) in enumerate(zip(self.first, self.second, strict=True), start=n_cells):
            members[join] = members[first] + members[second]
        return np.column_stack([self.first, self.second, self.height, members[n_cells:]])

    def plot(self, ax: Any = None, *, most: int = 60) -> Any:
        """Plot the last joins on matplotlib axes or a new figure, and return the axes. Uses only released values.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.
        most : int, default=60
            Number of groups at the bottom of the plot; lower joins are not drawn.
        """
        from dpmondrian.show.plots import plot_hierarchy

        return plot_hierarchy(self, ax, most=most)


def ward(places: NDArray[np.float64], sizes: NDArray[np.float64], cluster: NDArray[np.int64]) -> Hierarchy:
    """Return the hierarchy in which the two groups are joined first whose union adds least to the variance within."""
    joins, growth = ward_joins(places, sizes)
    height = np.sqrt(growth / max(float(growth.sum()), np.finfo(np.float64).tiny))
    return Hierarchy(joins[:, 0], joins[:, 1], height, sizes, cluster)


MOST_K = FEW_GROUPS
"""Up to which k qualities are computed where nothing else is asked for and none was measured."""

_SPREAD_ERROR = 0.3
"""Relative standard error of the variance within cells: noise hides the few rows that are farthest, which count most."""

_FAR_ROWS = 0.04
"""Relative standard error of the measured variance within clusters, which counts the few rows that are farthest as if they were nearer: what that
takes off on 16 real tables is up to twice as much (`dpmondrian_lab.benchmarks.described`)."""


@dataclass(frozen=True)
class Clusters:
    """Clusters made of the cells of a release, largest first. Prints as a table.

    Every row belongs to the cluster of its nearest cell: that is what sizes, centres and their errors are about, and how `predict`
    labels rows. Near the edge of a cluster, the centre of another one may be nearer.

    With more clusters than cells, cells are divided (`is_divided`). How rows lie within a cell is not known: the sizes and centres of its
    parts are guesses, with errors as large as that.

    Attributes
    ----------
    centres, centre_errors : float64 array of shape (k, n_centre_columns)
        Centres and the standard errors of the noise in them, over `Schema.centre_columns`.
    sizes, size_errors : float64 array of shape (k,)
        Noisy numbers of rows and the standard errors of that noise.
    quality, quality_error : float
        Share of the variance that the clusters explain, from 0 (one cluster) towards 1, estimated from released values, and its
        standard error. What parts of cells explain beyond the cells is not known: only the error grows.
    cluster_of_cell : int64 array of shape (n_cells,)
        -1 for cells that are divided.
    silhouette : Measured or None
        Mean centre-based silhouette, with every row in the cluster of its nearest centre: see `Quality`. None where it was not measured: of one
        cluster, of more than 64, of more than there are cells, and without profiles. Of more than 20 its error is larger.
    release : Release
        Of which they are made.
    cuts : Cuts or None
        How cells are divided, if there are fewer than clusters.
    """

    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    quality: float
    quality_error: float
    cluster_of_cell: NDArray[np.int64]
    silhouette: Measured | None
    release: Release = field(repr=False, compare=False)
    cuts: Cuts | None = field(default=None, repr=False, compare=False)

    @property
    def is_divided(self) -> bool:
        """Whether there are more clusters than cells, so that some are parts of a cell."""
        return self.cuts is not None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)

    @property
    def rule(self) -> Nearest | Divided:
        """Which cell, or which part of one, a row belongs to: a public rule on the places of the release's grid."""
        assert self.release.cells is not None
        nearest = self.release.nearest(self.release.cells.centres)
        return nearest if self.cuts is None else Divided(nearest, self.cuts)

    @property
    def cluster_of_part(self) -> NDArray[np.int64]:
        """The cluster of every part that the rule names: those of the cells, or of their parts."""
        return self.cluster_of_cell if self.cuts is None else np.arange(self.n_clusters)

    def predict(self, X: Any) -> Any:
        """Return the cluster of every row; see `DPM.predict`. The result is sensitive and must not be published."""
        return Labeller.of(self.release, clusters=self).predict(X)

    def to_csv(self) -> str:
        """Return sizes and centres with their standard errors as CSV text, as `Release.to_csv` does."""
        names = self.release.schema.centre_names
        return csv_text(names, self.sizes, self.size_errors, self.centres, self.centre_errors)

    def to_dict(self) -> dict[str, Any]:
        """Return the clusters as plain JSON values, centres by the names of columns."""
        names = self.release.schema.centre_names
        arrays = (self.sizes, self.size_errors, self.centres, self.centre_errors)
        return {
            "n_clusters": self.n_clusters,
            "divided": self.is_divided,
            "quality": self.quality,
            "quality_error": self.quality_error,
            "silhouette": None if self.silhouette is None else self.silhouette._asdict(),
            "clusters": [
                {
                    "size": size,
                    "size_error": size_error,
                    "centre": dict(zip(names, centre, strict=True)),
                    "centre_error": dict(zip(names, error, strict=True)),
                }
                for size, size_error, centre, error in zip(*(array.tolist() for array in arrays), strict=True)
            ],
        }

    def __str__(self) -> str:
        from dpmondrian.show.texts import clusters_text

        return clusters_text(self)


@dataclass(frozen=True)
class Qualities:
    """How much of the variance clusters explain, and their silhouettes, for several k. Prints as a table.

    Attributes
    ----------
    k : int64 array
    quality, error : float64 array
        As `Clusters.quality` and `Clusters.quality_error`.
    silhouette : tuple of Measured or None
        As `Clusters.silhouette`.
    """

    k: NDArray[np.int64]
    quality: NDArray[np.float64]
    error: NDArray[np.float64]
    silhouette: tuple[Measured | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the qualities as plain JSON values."""
        arrays: dict[str, Any] = {name: getattr(self, name).tolist() for name in ("k", "quality", "error")}
        return arrays | {"silhouette": [one and one._asdict() for one in self.silhouette]}

    def plot(self, ax: Any = None) -> Any:
        """Plot the qualities on matplotlib axes or a new figure, and return the axes. Uses only released values."""
        from dpmondrian.show.plots import plot_qualities

        return plot_qualities(self, ax)

    def __str__(self) -> str:
        from dpmondrian.show.texts import qualities_text

        return qualities_text(self)


class EveryK:
    """The cells of a release in places of its grid, where distances are taken, and what follows from them."""

    def __init__(self, release: Release) -> None:
        if release.cells is None:
            raise ParameterError(
                "This release has no cells to make other clusters from: the paper's variant releases none.",
                WayOut.RELEASE_CELLS,
            )
        self._release, self._cells, self._grid = release, release.cells, release.grid
        self._coordinates = Coordinates(release.schema)
        self._places = self._grid.places_of(self._coordinates.of_centres(self._cells.centres))
        errors = self._coordinates.of_errors(self._cells.centre_errors, self._cells.centres)
        self._variances = (errors / self._grid.step) ** 2
        self._made: dict[int, Clusters] = {}

    def clusters(self, k: int) -> Clusters:
        """Return k clusters; see `Release.clusters`."""
        k = _checked(k)
        if k not in self._made:
            self._made[k] = self._merged(self._groups(k)) if k <= len(self._cells) else self._divided(k)
        return self._made[k]

    def qualities(self, ks: Iterable[int] | None = None) -> Qualities:
        """Return the quality of several k; see `Release.qualities`."""
        ks = range(1, self._most_measured + 1) if ks is None else [_checked(k) for k in ks]
        made = [self.clusters(k) for k in ks]
        quality, error = ([getattr(one, name) for one in made] for name in ("quality", "quality_error"))
        silhouettes = tuple(one.silhouette for one in made)
        return Qualities(np.array(list(ks), dtype=np.int64), np.array(quality), np.array(error), silhouettes)

    @property
    def _most_measured(self) -> int:
        """Up to which k qualities are computed where nothing else is asked for: every k that was measured, and no fewer than 20."""
        figures = self._release.figures
        return max([MOST_K, *(() if figures is None else figures.numbers)])

    def hierarchy(self) -> Hierarchy:
        """Return how the cells go together; see `Release.hierarchy`."""
        cluster = self._release.rule.clusters(np.rint(self._places).astype(np.int64))
        return ward(self._places, self._cells.sizes, cluster)

    def _merged(self, group: NDArray[np.int64]) -> Clusters:
        """Return the clusters that groups of cells make, largest first."""
        sizes, size_errors = self._sizes(group)
        order = np.argsort(-sizes, kind="stable")
        group, sizes, size_errors = np.argsort(order)[group], sizes[order], size_errors[order]
        part = np.eye(len(sizes))[group].T * self._cells.sizes
        part /= part.sum(axis=1, keepdims=True)
        places = part @ self._places
        shift = (self._places - places[group]) ** 2 * (self._cells.size_error / self._cells.sizes[:, None]) ** 2
        variances = part**2 @ (self._variances + shift)
        quality, quality_error = self._quality(group, part @ self._places, part**2 @ self._variances)
        centres = self._coordinates.values(self._grid.values(places))
        errors = self._coordinates.errors(self._grid.step * np.sqrt(variances), centres)
        silhouette = self._silhouette(len(sizes))
        return Clusters(centres, errors, sizes, size_errors, quality, quality_error, group, silhouette, self._release)

    def _divided(self, k: int) -> Clusters:
        """Return more clusters than there are cells, largest first."""
        whole = self.clusters(len(self._cells))
        cells = self._as_parts()
        parts, cuts = divided(cells, self._grid, k)
        order = np.argsort([-part.size for part in parts], kind="stable")
        parts, cuts = [parts[number] for number in order], cuts.renumbered(np.argsort(order))
        places, variances = np.array([part.place for part in parts]), np.array([part.variance for part in parts])
        centres = self._coordinates.values(self._grid.values(places))
        unknown = 1.0 - variance_within(parts, self._grid) / max(variance_within(cells, self._grid), 1e-300)
        return Clusters(
            centres=centres,
            centre_errors=self._coordinates.errors(self._grid.step * np.sqrt(variances), centres),
            sizes=np.array([part.size for part in parts]),
            size_errors=np.array([part.size_error for part in parts]),
            quality=whole.quality,
            quality_error=float(np.hypot(whole.quality_error, (1.0 - whole.quality) * unknown)),
            cluster_of_cell=cuts.cluster_of_part[: len(cells)],
            silhouette=None,
            release=self._release,
            cuts=cuts,
        )

    def _as_parts(self) -> list[Part]:
        """Return the cells as what can be divided."""
        sizes, size_errors = self._sizes(np.arange(len(self._cells)))
        spread = np.full(self._grid.n_columns, self._cells.spread * PLACES)
        each = zip(self._places, self._variances, sizes.tolist(), size_errors.tolist(), strict=True)
        return [Part(place, variance, spread, size, error) for place, variance, size, error in each]

    def _groups(self, k: int) -> NDArray[np.int64]:
        """Return the group of every cell: the one that was measured, if any."""
        figures = self._release.figures
        if figures is None or k not in figures.numbers:
            return groups_for(self._places, self._cells.sizes, [k])[0]
        return figures.groups[figures.numbers.index(k)]

    def _silhouette(self, k: int) -> Measured | None:
        """Return the silhouette of k clusters, if it was measured."""
        figures = self._release.figures
        if figures is None or k not in figures.numbers:
            return None
        number = figures.numbers.index(k)
        value, error = float(figures.silhouettes[number]), float(figures.errors[number])
        return Measured.around(value, error, 0.0, 1.0)

    def own_quality(self) -> Quality:
        """Return the quality of the release's own clusters."""
        figures, alone = self._figures, len(self._release.sizes) == 1
        silhouette = None if alone else Measured.around(figures.silhouette, figures.silhouette_error, -1.0, 1.0)
        between, noise = self._own_between
        total = between + figures.within
        if alone or total <= 0.0:
            return Quality(
                silhouette, Measured(0.0, 0.0, 0.0 if alone else 1.0)
            )  # where rows do not vary, anything explains it
        error = np.hypot(figures.within * noise, between * self._within_error) / total**2
        return Quality(silhouette, Measured.around(between / total, float(error), 0.0, 1.0))

    @property
    def _figures(self) -> Figures:
        assert self._release.figures is not None
        return self._release.figures

    @property
    def _within_error(self) -> float:
        """Standard error of the measured distance from the own centre: its noise, and rows that are farther than it counts."""
        return math.hypot(self._figures.within_error, _FAR_ROWS * self._figures.within)

    @cached_property
    def _own_between(self) -> tuple[float, float]:
        """The variance that the release's own clusters explain, and its standard error, in squared ranges."""
        release, sizes = self._release, np.maximum(self._release.sizes, 1.0)
        places = self._grid.places_of(self._coordinates.of_centres(release.centres))
        errors = self._coordinates.of_errors(release.centre_errors, release.centres) / self._grid.step
        weight, size_errors = sizes / sizes.sum(), release.size_errors / sizes.sum()
        between, far, noise = _scatter(weight, places, errors**2)
        noise += float((size_errors**2 * (far - weight @ far) ** 2).sum())
        return between / PLACES**2, float(np.sqrt(noise)) / PLACES**2

    def _sizes(self, group: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sizes of groups with their errors; they add up to the number of all rows, as known from the tree.

        What the cells lack together is shared out evenly among them, since all have the same error.
        """
        tree, error = self._release.tree, self._cells.size_error
        share = np.bincount(group) / len(group)
        sizes = np.bincount(group, self._cells.sizes) + (tree.size[0] - self._cells.sizes.sum()) * share
        variances = error**2 * len(group) * share * (1.0 - share) + tree.size_error[0] ** 2 * share**2
        return np.maximum(sizes, 0.0), np.sqrt(variances)

    def _quality(
        self, group: NDArray[np.int64], places: NDArray[np.float64], variances: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return the share of the variance that lies between groups of cells with these centres, and its standard error.

        The error is that of the centres, of the sizes and of the variance within cells, each to first order.
        """
        weight, size_error = (
            self._cells.sizes / self._cells.sizes.sum(),
            self._cells.size_error / self._cells.sizes.sum(),
        )
        between, _, noise = _scatter(np.bincount(group, weight).astype(np.float64), places, variances)
        shift = (self._places - places[group]) ** 2
        influence = ((self._places - weight @ self._places) ** 2 - shift).sum(axis=1)  # of the size of a cell
        noise += size_error**2 * ((influence - between) ** 2).sum()
        if self._release.figures is not None:
            return self._measured_quality(between, noise)
        every, _, _ = _scatter(weight, self._places, self._variances)
        within = self._within_cells(weight)
        rest = max(every - between, 0.0) + within
        noise_of_rest = 4.0 * (weight[:, None] ** 2 * shift * self._variances).sum() + (_SPREAD_ERROR * within) ** 2
        total = max(between + rest, np.finfo(np.float64).tiny)
        error = np.sqrt((rest / total) ** 2 * noise + (between / total) ** 2 * noise_of_rest) / total
        return between / total, float(error)

    def _measured_quality(self, between: float, noise: float) -> tuple[float, float]:
        """Return the share of the whole variance, as measured with the release's own clusters, and its standard error."""
        own, own_error = self._own_between
        total = max(own + self._figures.within, np.finfo(np.float64).tiny)
        share = min(between / PLACES**2 / total, 1.0)
        total_error = np.hypot(own_error, self._within_error)
        return share, float(np.hypot(np.sqrt(noise) / PLACES**2, share * total_error) / total)

    def _within_cells(self, weight: NDArray[np.float64]) -> float:
        """Return the variance of rows around the centres of their cells: as measured, and of categories as their shares imply."""
        one_hot, last = self._grid.one_hot, self._grid.last_place
        shares = self._places[:, one_hot] / last[one_hot]
        of_categories = float(weight @ (shares * (1.0 - shares) * last[one_hot] ** 2).sum(axis=1))
        return float((~one_hot).sum() * (self._cells.spread * PLACES) ** 2) + of_categories


def _checked(k: Any) -> int:
    return check_integer("k", k, 1, MOST_CLUSTERS, "Pass the number of segments.")


def _scatter(
    weight: NDArray[np.float64], places: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], float]:
    """Return the variance that weighted centres explain, their squared distances from the mean, and the variance of the former by noise.

    Noise moves centres apart, which adds to the variance between them, and away from their rows, which explains less: both are taken off.
    """
    shift = (places - weight @ places) ** 2
    far = shift.sum(axis=1)
    added = (weight * (2.0 - weight)) @ variances.sum(axis=1)
    noise = 4.0 * (weight[:, None] ** 2 * shift * variances).sum()
    return max(float(weight @ far - added), 0.0), far, float(noise)
