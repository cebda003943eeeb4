"""How well the centre of a cluster will be known: the steps of `centres.clipped` and `centres.lloyd`, with noise alone.

Each step clips rows to a radius around the centre known so far, so its noise follows from the radius and from the error
of the step before. The radius follows from how far rows lie from their centre, of which the caller has a public guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import is_number, nearest_names
from dpmondrian.dpm import CATEGORY_SUMS, CELL_COUNT, CLIPPED_SUMS, COARSE_SUMS, RADIUS, WIDENING
from dpmondrian.dpm.centres import SMALLEST_CELL, candidate_radii, expected_distance, radius_prior, vector_lengths
from dpmondrian.engines import Grid
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning.counts import interval_factor
from dpmondrian.planning.design import Design
from dpmondrian.schema import Column, Indicator

__all__ = ["SPREAD", "CentreError", "Spread", "centre_errors", "column_spreads"]

Spread: TypeAlias = "float | Mapping[str, float]"

SPREAD = 0.05
"""Standard deviation of a cluster within a column, as a fraction of the column's range, unless something better is known."""

_LEAST_SPREAD, _MOST_SPREAD = 1e-5, 0.5


@dataclass(frozen=True)
class CentreError:
    """How far a released centre will be from the exact mean of its rows, in one column.

    Attributes
    ----------
    name, unit : str
        Of the column; "plan=basic" for the share of a category.
    standard_error : float
        In the column's unit. On a log scale as a share of the (geometric) mean.
    half_width : float
        Of the 95 % interval, likewise.
    percent_of_range : float
        The standard error in per cent of the column's range, on its own scale; of a category: percentage points.
    spread : float
        The guessed standard deviation of the rows themselves, in the unit of `standard_error`.
    sampling_error : float
        How far the exact mean of so many rows is from that of a large population: no privacy can take that away.
    scale : {"number", "log", "share"}
        What is released: a mean, a geometric mean, or the share of a category.
    """

    name: str
    unit: str
    standard_error: float
    half_width: float
    percent_of_range: float
    spread: float
    sampling_error: float
    scale: str = "number"


def centre_errors(design: Design, share: float | None = None, spread: Spread = SPREAD) -> tuple[CentreError, ...]:
    """Return the expected error of a cluster's centre, one for each column of centres.

    Parameters
    ----------
    design : Design
    share : float, optional
        Share of all rows that the cluster holds; None: one of `expected_clusters` that are equal.
    spread : float or mapping from column name to float, default=0.05
        Standard deviation of the rows of a cluster as a fraction of the column's range (on a log scale: of its logarithms).
        A column that a mapping leaves out has the default. Categories are taken to be spread evenly, the least certain case,
        or, where cuts may be made between them, to be one category per cluster.

    Notes
    -----
    An approximation for round clusters that are apart from each other; the size of the noise is that of the planned draws.
    It is the error that the release will state beside each centre (``Release.centre_errors``). The true one is usually a
    little smaller, because steps that are mostly noise are shortened. The radius is the one that the private choice takes
    on average for Gaussian rows. Rows per cluster are taken as known: clusters near the noise of sizes fare worse.
    """
    model = _Model(design, tuple(column_spreads(design, spread)))
    rows = _checked_share(design, share) * design.n_rows
    errors = model.errors(rows)
    factor = interval_factor(design)
    columns = zip(design.schema.centre_columns, (model.grid.step * errors).tolist(), model.spreads, strict=True)
    return tuple(
        CentreError(
            name=column.name,
            unit=column.unit,
            standard_error=error,
            half_width=factor * error,
            percent_of_range=100.0 * error / _width(column),
            spread=deviation * _width(column),
            sampling_error=deviation * _width(column) / math.sqrt(max(rows, 1.0)),
            scale=_scale(column),
        )
        for column, error, deviation in columns
    )


def column_spreads(design: Design, spread: Spread) -> list[float]:
    """Return the standard deviation of a cluster in each column of centres, as a fraction of the column's range."""
    given = spread if isinstance(spread, Mapping) else {}
    numeric = [column.name for column in design.schema.columns if isinstance(column, Column)]
    unknown = [name for name in given if name not in numeric]
    if unknown:
        raise ParameterError(
            parameter="spread",
            rule="must name numeric columns of the schema",
            value=unknown,
            hint=f"{nearest_names(unknown, numeric)} Available columns: {numeric!r}.",
        )
    default = SPREAD if isinstance(spread, Mapping) else spread
    categories = design.schema.categories
    return [
        _indicator_deviation(len(categories[column.of].levels), column.cut)
        if isinstance(column, Indicator)
        else _checked_spread(given.get(column.name, default))
        for column in design.schema.centre_columns
    ]


def _indicator_deviation(n_levels: int, one_per_cluster: bool) -> float:
    """Return the standard deviation of the indicator of one of so many equally frequent categories."""
    return 0.0 if one_per_cluster else math.sqrt(n_levels - 1.0) / n_levels


def _checked_spread(spread: Any) -> float:
    if not is_number(spread) or not _LEAST_SPREAD <= spread <= _MOST_SPREAD:
        raise ParameterError(
            parameter="spread",
            rule=f"must be a number from {_LEAST_SPREAD:g} to {_MOST_SPREAD:g}, a fraction of the column's range",
            value=spread,
            way_out=f"The default is {SPREAD:g}.",
        )
    return float(spread)


def _checked_share(design: Design, share: float | None) -> float:
    if share is None:
        return 1.0 / design.expected_clusters
    if not is_number(share) or not 0.0 < share <= 1.0:
        raise ParameterError(
            parameter="share",
            rule="must be a number above 0 and at most 1",
            value=share,
            way_out="Omit it for one of several equal clusters.",
        )
    return float(share)


def _scale(column: Column) -> str:
    if isinstance(column, Indicator):
        return "share"
    return "log" if column.log else "number"


def _width(column: Column) -> float:
    """Return the width of the bounds, of logarithms on a log scale; 1 for the share of a category."""
    return column.range if column.log else column.upper - column.lower


@dataclass(frozen=True)
class _Model:
    """The steps from a leaf's box to a cluster's centre; errors are standard errors per column, in places."""

    design: Design
    spreads: tuple[float, ...]

    @cached_property
    def grid(self) -> Grid:
        return self.design.grid.measured

    @property
    def norm(self) -> int:
        return 2 if self.design.is_gaussian else 1

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of a cluster per column, in places."""
        columns = self.design.schema.centre_columns
        return np.array([s * _width(c) for s, c in zip(self.spreads, columns, strict=True)]) / self.grid.step

    @cached_property
    def leaves_per_cluster(self) -> float:
        """With k, leaves are smaller than clusters and merged."""
        n_leaves = 2.0**self.design.leaf_level
        return 1.0 if self.design.settings.finds_k else max(1.0, n_leaves / self.design.expected_clusters)

    @cached_property
    def radii(self) -> tuple[float, float]:
        """The two radii that are chosen for all clusters together: of the leaves and of the Lloyd steps.

        They follow from the errors of a cluster of usual size.
        """
        first = self._radius(self._coarse(self.design.cluster_rows), 1)
        merged = self._merged(self.design.cluster_rows, first)
        return first, self._radius(merged, self._lloyd_steps[0])

    def errors(self, rows: float) -> NDArray[np.float64]:
        """Return the errors of the centre of a cluster with so many rows after the last step."""
        first, radius = self.radii
        errors, steps = self._merged(rows, first), self._lloyd_steps
        for step in steps:
            widening = WIDENING if step == steps[0] and self.design.settings.finds_k else 1.0
            noisiest = SMALLEST_CELL * self.design.deviation(CELL_COUNT, step)
            errors = self._clipped(step, errors, radius * widening, max(rows, noisiest), self._corner)
        return errors

    @property
    def _lloyd_steps(self) -> list[int]:
        return self.design.plan.steps(CELL_COUNT)

    @cached_property
    def _corner(self) -> NDArray[np.float64]:
        """How far the bounds are from the middle, in places."""
        return np.asarray(0.5 * (self.grid.last_place + 1.0), dtype=np.float64)

    @cached_property
    def _leaf_corner(self) -> NDArray[np.float64]:
        """The same in a leaf: every level of an even tree halves one column."""
        return self._corner * float(2.0 ** (-self.design.leaf_level / self.grid.n_columns))

    def _coarse(self, rows: float) -> NDArray[np.float64]:
        """Return the errors of the first, rough centre of a leaf."""
        half_widths = self._leaf_corner
        shape: NDArray[np.float64]
        if self.norm == 2:
            shape = np.sqrt(half_widths * half_widths.sum())
        else:
            shape = np.cbrt(half_widths) * np.cbrt(half_widths**2).sum()
        return shape * (self.design.deviation(COARSE_SUMS, None) * self.leaves_per_cluster / max(rows, 1.0))

    def _merged(self, rows: float, radius: float) -> NDArray[np.float64]:
        """Return the errors of the first centre of a cluster: the mean of its leaves' centres."""
        leaf_rows = rows / self.leaves_per_cluster
        errors = self._clipped(1, self._coarse(rows), radius, leaf_rows, self._leaf_corner)
        return errors / math.sqrt(self.leaves_per_cluster)

    def _clipped(
        self, step: int, errors: NDArray[np.float64], radius: float, rows: float, corner: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the errors after a step that clips to this radius, beyond the error so far; categories are not clipped."""
        numeric, after = self._numeric, np.empty(len(corner))
        if numeric.any():
            farthest = vector_lengths(corner[None, numeric], self.norm)
            so_far = np.minimum(vector_lengths(errors[None, numeric], self.norm), farthest)
            reach = np.minimum(expected_distance(radius, so_far, self.norm), farthest)
            after[numeric] = self.design.deviation(CLIPPED_SUMS, step) * float(reach[0]) / max(rows, 1.0)
        if not numeric.all():
            after[~numeric] = self.design.deviation(CATEGORY_SUMS, step) * self._category_shape / max(rows, 1.0)
        return after

    @cached_property
    def _numeric(self) -> NDArray[np.bool_]:
        return ~self.grid.one_hot

    @cached_property
    def _category_shape(self) -> NDArray[np.float64]:
        """How the noise is spread over the indicators, as in `Door.box_sums`."""
        begins = self.grid.block_begins[self.grid.one_hot[self.grid.block_begins]]
        sizes = self.grid.block_sizes[self.grid.one_hot[self.grid.block_begins]]
        lengths = self.grid.last_place[begins].astype(np.float64)
        shape: NDArray[np.float64]
        if self.norm == 2:
            shape = np.sqrt(lengths / np.sqrt(sizes) * (lengths * np.sqrt(sizes)).sum())
        else:
            shape = np.cbrt(lengths / sizes) * np.cbrt(lengths**2 * sizes).sum()
        return np.repeat(shape, sizes)

    def _radius(self, errors: NDArray[np.float64], step: int) -> float:
        """Return the radius that is chosen on average, root mean square, if rows are Gaussian around their centre."""
        numeric = self._numeric
        if not numeric.any():
            return 1.0
        errors = errors[numeric]
        n_rows = self.design.n_rows
        prior = radius_prior(n_rows)
        radii = candidate_radii(self.grid.last_place[numeric], self.norm)
        error = vector_lengths(errors[None, :], self.norm)
        spread = np.maximum(
            np.hypot(self.deviations[numeric], errors), 1.0
        )  # rows of one category have none; a place is very little
        inside = self._share_within(expected_distance(radii, error, self.norm), spread)
        scale = self.design.plan.find(RADIUS, step).multiplier * self.design.settings.rows_per_person
        scores = (n_rows * inside - prior) / scale
        weights = np.exp(scores - scores.max())
        return math.sqrt(float((weights * radii**2).sum() / weights.sum()))

    def _share_within(self, limits: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of rows whose distance from the centre is within each limit.

        A distance is a sum over columns, of squares or of absolute values; its law is taken as the gamma law
        with the same mean and variance.
        """
        from scipy.special import gammainc

        squares = deviations**2
        if self.norm == 2:
            mean, variance, sums = squares.sum(), 2.0 * (squares**2).sum(), limits**2
        else:
            mean, variance = math.sqrt(2.0 / math.pi) * deviations.sum(), (1.0 - 2.0 / math.pi) * squares.sum()
            sums = limits
        share: NDArray[np.float64] = gammainc(mean**2 / variance, sums * mean / variance)
        return share
