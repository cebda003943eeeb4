"""Everything that can be expected of a run at once, and what twice the epsilon or twice the rows would bring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dpmondrian.planning.design import Design, make_design
from dpmondrian.planning.errors import (
    SPREAD,
    CentreError,
    ProfileError,
    SizeError,
    Spread,
    centre_errors,
    clear_size,
    profile_error,
    size_error,
)
from dpmondrian.planning.finding import findable
from dpmondrian.schema import Schema

_MOST_TIMES = 2**10
_LARGEST_EPSILON = 10.0
"""No larger epsilon is suggested: it would promise next to nothing."""


@dataclass(frozen=True)
class Outlook:
    """What to expect of one run; sizes are in rows.

    Attributes
    ----------
    n_rows, epsilon, delta
        The run.
    levels : int
        Levels of the tree of cuts.
    n_cells : float
        Cells of the coreset: up to so many clusters can be made of it later.
    cluster_rows : float
        Size of the cluster that `cluster` and `centres` are about.
    all_rows, cell, cluster : SizeError
        How well sizes will be known.
    centres : tuple of CentreError
        How well its centre will be known, by column.
    profile : ProfileError or None
        How well quartiles and shares of its columns will be known; None without profiles.
    smallest : float
        Rows of the smallest cluster that is found, or with `n_clusters` known; infinite if that takes more than half of all.
    least_gap : float or None
        Least distance of two equal clusters that are found to be apart, in standard deviations of a cluster; None with `n_clusters`.
    """

    n_rows: int
    epsilon: float
    delta: float
    levels: int
    n_cells: float
    cluster_rows: float
    all_rows: SizeError
    cell: SizeError
    cluster: SizeError
    centres: tuple[CentreError, ...]
    profile: ProfileError | None
    smallest: float
    least_gap: float | None

    @property
    def blurred(self) -> tuple[str, ...]:
        """Columns in which the centre of a cluster will be known less well than a single row tells."""
        return tuple(error.name for error in self.centres if error.standard_error > error.spread > 0.0)

    @property
    def works(self) -> bool:
        """Whether clusters of the expected size will be found or known."""
        return self.smallest <= self.cluster_rows and not self.blurred


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run, created by `forecast`. Prints as three sentences; `details` has the rest.

    Attributes
    ----------
    design : Design
        The run.
    spread : float or mapping
        The expected spread of clusters.
    outlook, twice_epsilon, twice_rows : Outlook
        The run as specified, with twice the epsilon, and with twice the rows.
    enough_epsilon : float or None
        An epsilon with which clusters of the expected size would be found, where they will not be; None if there is none up to 10.
    enough_rows : int or None
        The same for the number of rows.
    """

    design: Design
    spread: Spread
    outlook: Outlook
    twice_epsilon: Outlook
    twice_rows: Outlook
    enough_epsilon: float | None
    enough_rows: int | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about expected problems; empty if there are none."""
        from dpmondrian.show.texts import warnings_of

        return warnings_of(self)

    @property
    def details(self) -> str:
        """A table of all that is expected, for this run and for those with twice the epsilon or the rows."""
        from dpmondrian.show.texts import details_text

        return details_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as plain JSON values; what is infinite is None."""
        settings, spread = self.design.settings, self.spread
        values = {
            "n_rows": self.design.n_rows,
            "epsilon": settings.epsilon,
            "delta": settings.delta,
            "n_clusters": settings.n_clusters,
            "rows_per_person": settings.rows_per_person,
            "expected_clusters": self.design.expected_clusters,
            "spread": dict(spread) if isinstance(spread, Mapping) else spread,
            "columns": self.design.schema.to_dict(),
            "budget_shares": dict(settings.chosen_shares),
            "outlook": asdict(self.outlook),
            "twice_epsilon": asdict(self.twice_epsilon),
            "twice_rows": asdict(self.twice_rows),
            "enough_epsilon": self.enough_epsilon,
            "enough_rows": self.enough_rows,
            "warnings": list(self.warnings),
        }
        plain: dict[str, Any] = _plain(values)
        return plain

    def __str__(self) -> str:
        from dpmondrian.show.texts import forecast_text

        return forecast_text(self)

    def plot(self, ax: Any = None) -> Any:
        """Plot the expected errors of centres and sizes as a function of epsilon, for this number of rows and twice as many.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        ax : matplotlib Axes
        """
        from dpmondrian.show.plots import plot_forecast

        return plot_forecast(self, ax)


def forecast(
    n_rows: int,
    schema: Schema,
    epsilon: float = 1.0,
    delta: float = 1e-7,
    *,
    n_clusters: int | None = None,
    rows_per_person: int = 1,
    expected_clusters: int | None = None,
    spread: Spread = SPREAD,
    **parameters: Any,
) -> Forecast:
    """Forecast a run of `DPM` with these parameters, before any row is read.

    This does not touch any data, so it costs no budget, provided that `n_rows` is a guess from public knowledge.

    Parameters
    ----------
    n_rows : int
        Approximate number of rows.
    schema : Schema
    epsilon, delta, n_clusters, rows_per_person
        As in `DPM`.
    expected_clusters : int, optional
        Expected number of clusters. If None, `n_clusters` if that is given, otherwise 10. Errors are for one of this many
        clusters of equal size.
    spread : float or mapping from column name to float, default=0.05
        Expected standard deviation of a cluster in a column, as a fraction of its range.
    **parameters
        Other parameters of `DPM`, such as `max_depth`.

    Returns
    -------
    forecast : Forecast
        Prints as text; can be plotted.

    Examples
    --------
    >>> from dpmondrian import Column, forecast, Schema
    >>> expected = forecast(20_000, Schema((Column("age", 0, 120, unit="years"), Column("bmi", 10, 60))))
    >>> round(expected.outlook.cluster.half_width)
    66
    """
    design = make_design(
        n_rows,
        schema,
        epsilon,
        delta,
        n_clusters=n_clusters,
        rows_per_person=rows_per_person,
        expected_clusters=expected_clusters,
        **parameters,
    )
    outlook = expect(design, spread)
    return Forecast(
        design=design,
        spread=spread,
        outlook=outlook,
        twice_epsilon=expect(design.times(epsilon=2.0), spread),
        twice_rows=expect(design.times(rows=2.0), spread),
        enough_epsilon=None if outlook.works else _enough_epsilon(design, spread),
        enough_rows=None if outlook.works else _enough_rows(design, spread),
    )


def expect(design: Design, spread: Spread = SPREAD) -> Outlook:
    """Return what to expect of one run."""
    finds_k = design.settings.finds_k
    found = findable(design, spread) if finds_k else None
    return Outlook(
        n_rows=design.n_rows,
        epsilon=design.settings.epsilon,
        delta=design.settings.delta,
        levels=design.levels,
        n_cells=design.n_cells,
        cluster_rows=design.cluster_rows,
        all_rows=size_error(design, "all"),
        cell=size_error(design, "cell"),
        cluster=size_error(design),
        centres=centre_errors(design, spread=spread),
        profile=profile_error(design),
        smallest=clear_size(design) if found is None else found.rows,
        least_gap=None if found is None else found.gap,
    )


def _enough_epsilon(design: Design, spread: Spread) -> float | None:
    """Return an epsilon with which it works: the least of those twice, four times, ... as large."""
    times = 2.0
    while times * design.settings.epsilon <= _LARGEST_EPSILON:
        if expect(design.times(epsilon=times), spread).works:
            return times * design.settings.epsilon
        times *= 2.0
    return None


def _enough_rows(design: Design, spread: Spread) -> int | None:
    """Return a number of rows with which it works, likewise, for as many clusters."""
    times = 2
    while times <= _MOST_TIMES:
        more = design.times(rows=times)
        if expect(more, spread).works:
            return more.n_rows
        times *= 2
    return None


def _plain(value: Any) -> Any:
    """Return nested values with lists for tuples and None for what is infinite."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
