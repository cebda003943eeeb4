"""How well sizes and centres will be known: the steps of a fit, with noise alone.

Each step clips rows to a radius around the centre known so far, so its noise follows from the radius, and the radius from how far rows
lie from their centre, of which the caller has a public guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_choice, is_number, nearest_names
from dpmondrian.dpm import (
    CATEGORY_PART,
    CLEAR_SIZE,
    COUNT,
    COUNT_PART,
    DISTANCES_PART,
    PROFILES,
    best_radius,
    candidate_radii,
    denoised_shares,
)
from dpmondrian.engines import Grid
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning.design import Design
from dpmondrian.schema import Column, Indicator, YesNo

Spread: TypeAlias = "float | Mapping[str, float]"

SPREAD = 0.05
"""Standard deviation of a cluster within a column, as a fraction of the column's range, unless something better is known."""

_BINS = 15
"""Bins of a column in a cluster: of fits with 8 columns and 20,000 rows."""
_LEAST_SPREAD, _MOST_SPREAD = 1e-5, 0.5
_GAUSSIAN_95, _LAPLACE_95 = 1.959964, math.log(20.0) / math.sqrt(2.0)


@dataclass(frozen=True)
class SizeError:
    """How far a released size will be from the exact one, in rows: standard error, and half of the width of the 95 % interval."""

    standard_error: float
    half_width: float


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
    scale : {"number", "log", "share"}
        What is released: a mean, a geometric mean, or the share of a category or of yes.
    """

    name: str
    unit: str
    standard_error: float
    half_width: float
    percent_of_range: float
    spread: float
    scale: str = "number"


def interval_factor(design: Design) -> float:
    """Return the half width of a 95 % interval per standard error: 1.96 for Gaussian, 2.12 for Laplace noise."""
    return _GAUSSIAN_95 if design.is_gaussian else _LAPLACE_95


def size_error(design: Design, of: str = "cluster") -> SizeError:
    """Return the expected error of a released size.

    Parameters
    ----------
    design : Design
    of : {"all", "cell", "cluster"}, default="cluster"
        The number of all rows, the size of a cell, or that of a final cluster.

    Notes
    -----
    Exact for the law of the noise. The number of all rows is known from its own count and from those of the tree below: where counts of
    all levels have one variance, the fit to all of them adds as much as one more count. Sizes of clusters are counted in the last step and
    by every profile, and corrected to add up to it.
    """
    variances = {"all": _total_variance, "cell": _cell_variance, "cluster": _cluster_variance}
    error = math.sqrt(variances[check_choice("of", of, tuple(variances))](design))
    return SizeError(error, interval_factor(design) * error)


@dataclass(frozen=True)
class ProfileError:
    """How well the profile of a cluster will be known: half of the widths of 95 % intervals.

    Attributes
    ----------
    rank : float
        Of the median of a column, as a share of the cluster's rows.
    share : float
        Of the share of a category.
    """

    rank: float
    share: float


def profile_error(design: Design) -> ProfileError | None:
    """Return the expected errors of the profile of a cluster, or None without profiles. Exact for the law of the noise.

    Up to the median half of the bins are counted, so half of their number times the noise of one is its error.
    """
    if not design.settings.profiles:
        return None
    error = interval_factor(design) * _bin_deviation(design) / design.cluster_rows
    return ProfileError(min(error * math.sqrt(_BINS) / 2.0, 1.0), min(error, 1.0))


def _bin_deviation(design: Design) -> float:
    """Return the standard deviation of the noise in every bin of a profile."""
    n_columns = _n_profiles(design)
    return design.door.deviation(PROFILES) * (math.sqrt(n_columns) if design.is_gaussian else float(n_columns))


def _n_profiles(design: Design) -> int:
    return len(design.settings.profile_names or design.schema.columns)


def clear_size(design: Design) -> float:
    """Return the rows that a cluster needs for its size to be clear of noise; of smaller ones a fit states that they may be none."""
    return CLEAR_SIZE * math.sqrt(_added_up(design, _step_variance(design)))


def _total_variance(design: Design) -> float:
    levels = [0] if design.n_cells == 1.0 else [0, 1]
    return 1.0 / math.fsum(design.door.deviation(COUNT, level) ** -2 for level in levels)


def _cell_variance(design: Design) -> float:
    return design.door.deviation_at(COUNT_PART * design.cell_step_cost) ** 2


def _step_variance(design: Design) -> float:
    """Return the variance of the size of a cluster as the last step counts it."""
    return design.door.deviation_at(COUNT_PART * design.cluster_step_costs[-1]) ** 2


def _cluster_variance(design: Design) -> float:
    own = _step_variance(design)
    if design.settings.profiles:  # every histogram counts the rows again
        again = _bin_deviation(design) ** 2 * _BINS / _n_profiles(design)
        own = own * again / (own + again)
    return _added_up(design, own)


def _added_up(design: Design, variance: float) -> float:
    """Return the variance of the size of a cluster once the sizes of all add up to the number of all rows."""
    n_clusters = design.expected_clusters
    return variance * (1.0 - 1.0 / n_clusters) + _total_variance(design) / n_clusters**2


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
    An approximation for round clusters that are apart from each other. It is how far centres will be off. The error that a release
    states beside each centre is that of the last step alone; in many columns it is up to twice as large, because a step that is
    mostly noise is shortened.
    """
    steps = _Steps(design, tuple(column_spreads(design, spread)))
    errors = steps.errors(_checked_share(design, share) * design.n_rows)
    factor = interval_factor(design)
    columns = zip(design.schema.centre_columns, (steps.grid.step * errors).tolist(), steps.spreads, strict=True)
    return tuple(
        CentreError(
            name=column.name,
            unit=column.unit,
            standard_error=error,
            half_width=factor * error,
            percent_of_range=100.0 * error / _width(column),
            spread=deviation * _width(column),
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
    if isinstance(column, Indicator) or isinstance(column.notation, YesNo):
        return "share"
    return "log" if column.log else "number"


def _width(column: Column) -> float:
    """Return the width of the bounds, of logarithms on a log scale; 1 for the share of a category."""
    return column.range if column.log else column.upper - column.lower


@dataclass(frozen=True)
class _Steps:
    """The steps from cells to the centre of a cluster; errors are standard errors per column, in places."""

    design: Design
    spreads: tuple[float, ...]

    @cached_property
    def grid(self) -> Grid:
        return self.design.grid

    def errors(self, rows: float) -> NDArray[np.float64]:
        """Return the errors of the centre of a cluster with so many rows after the last step."""
        numeric, errors = ~self.grid.one_hot, np.empty(self.grid.n_columns)
        rows = max(rows, size_error(self.design).standard_error, 1.0)
        if numeric.any():
            errors[numeric] = self._of_numbers(rows)
        if not numeric.all():
            errors[~numeric] = self._of_shares(rows)
        return errors

    def _of_numbers(self, rows: float) -> float:
        """Return the error in every numeric column: noise is the same in all of them."""
        cells = max(1.0, self.design.n_cells * rows / self.design.n_rows)
        n_columns, n_clusters = int((~self.grid.one_hot).sum()), self.design.expected_clusters
        of_cells = self._deviations * cells ** (-1.0 / n_columns)  # cells divide a cluster evenly
        noise = self._noise(self.design.cell_step_cost, of_cells, self.design.n_cells, rows / cells)
        error = noise / math.sqrt(cells)
        for cost in self.design.cluster_step_costs:
            noise = self._noise(cost, np.hypot(self._deviations, error), n_clusters, rows)
            error = _shortened(error, noise, noise * math.sqrt(n_clusters) * rows / self.design.n_rows)
        return min(error, float(self.grid.last_place.max()))

    @cached_property
    def _deviations(self) -> NDArray[np.float64]:
        """Standard deviation of a cluster in each numeric column, in places; at least one."""
        columns = self.design.schema.centre_columns
        widths = np.array([spread * _width(column) for spread, column in zip(self.spreads, columns, strict=True)])
        return np.maximum(widths / self.grid.step, 1.0)[~self.grid.one_hot]

    def _noise(self, cost: float, deviations: NDArray[np.float64], n_groups: float, rows: float) -> float:
        """Return the noise of a step that moves so many groups, for one of `rows` rows with these deviations around its centre."""
        norm = 2 if self.design.is_gaussian else 1
        for_shares = CATEGORY_PART if self.grid.one_hot.any() else 0.0
        cost *= (1.0 - COUNT_PART) * (1.0 - for_shares)
        radii = candidate_radii(self.grid.last_place[~self.grid.one_hot], norm)
        counts = self.design.n_rows * np.diff(_share_within(radii, deviations, norm), prepend=0.0)
        shares = denoised_shares(counts, self.design.door.deviation_at(DISTANCES_PART * cost), norm)
        deviation = self.design.door.deviation_at((1.0 - DISTANCES_PART) * cost)
        per_radius = deviation * n_groups / self.design.n_rows
        radius, slope = best_radius(radii, shares, len(deviations), round(n_groups), per_radius)
        return deviation * radius / (slope * rows)

    def _of_shares(self, rows: float) -> NDArray[np.float64]:
        """Return the errors of the indicators: every category is counted with the noise of as many histograms as there are columns of them."""
        cost = (1.0 - COUNT_PART) * self.design.cluster_step_costs[-1]
        deviation = self.design.door.deviation_at(cost if self.grid.one_hot.all() else CATEGORY_PART * cost)
        n_columns = float(self.grid.one_hot[self.grid.block_begins].sum())
        of_a_count = deviation * (math.sqrt(n_columns) if self.design.is_gaussian else n_columns)
        return self.grid.last_place[self.grid.one_hot].astype(np.float64) * (of_a_count / rows)


def _shortened(error: float, noise: float, common: float) -> float:
    """Return the error after a step of which as much is believed as it is more than noise (`dpmondrian.dpm.steps`).

    The part of the noise that all centres have in common stays.
    """
    own = max(noise**2 - common**2, 0.0)
    return math.sqrt(common**2 + own * error**2 / (error**2 + noise**2))


def _share_within(radii: NDArray[np.float64], deviations: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Return the share of Gaussian rows within each distance of their centre.

    A distance is a sum over columns, of squares or of absolute values; its law is taken as the gamma law with the same mean and
    variance.
    """
    from scipy.special import gammainc

    squares = deviations**2
    if norm == 2:
        mean, variance, sums = squares.sum(), 2.0 * (squares**2).sum(), radii**2
    else:
        mean, variance = math.sqrt(2.0 / math.pi) * deviations.sum(), (1.0 - 2.0 / math.pi) * squares.sum()
        sums = radii
    share: NDArray[np.float64] = gammainc(mean**2 / variance, sums * mean / variance)
    return share
