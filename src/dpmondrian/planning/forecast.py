"""Everything that can be expected of a run at once, and what twice the epsilon or twice the rows would bring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dpmondrian.planning.bounds import BETA, GoodCut, central_cut, count_bound, cut_bound
from dpmondrian.planning.centres import SPREAD, CentreError, Spread, centre_errors
from dpmondrian.planning.counts import SizeError, count_error
from dpmondrian.planning.design import Design, make_design
from dpmondrian.planning.finding import SmallestCluster, peak_share, smallest_cluster
from dpmondrian.schema import Schema

__all__ = ["Forecast", "Guarantees", "Outlook", "expect", "forecast"]


@dataclass(frozen=True)
class Guarantees:
    """Bounds that hold with probability 1 - beta each, in rows; see `dpmondrian.planning.bounds`.

    The first two hold for all data. The third one is for data as they are guessed.

    Attributes
    ----------
    count : float
        The number of all rows, as first drawn, is off by no more than this.
    cut : float
        The cut that is chosen first is no more than this behind the best one; infinite where there is nothing to cut. The
        first cut that is *made* may be one of a later choice.
    central_cut : float
        Rows on the smaller side of the cut that is chosen first, if clusters are Gaussian and as wide as guessed, and beside one
        of usual size there is an empty gap as wide as the widest window, a sixteenth of the range of the same column; 0 if
        nothing follows.
    beta : float
    """

    count: float
    cut: float
    central_cut: float
    beta: float


@dataclass(frozen=True)
class Outlook:
    """What to expect of one run; sizes are in rows.

    Attributes
    ----------
    n_rows, epsilon, delta
        The run.
    cluster_rows : float
        Size of the cluster that `cluster` and `centres` are about.
    all_rows, leaf, cluster : SizeError
        How well sizes will be known.
    centres : tuple of CentreError
        How well its centre will be known, by column.
    smallest : SmallestCluster
    guarantees : Guarantees
    """

    n_rows: int
    epsilon: float
    delta: float
    cluster_rows: float
    all_rows: SizeError
    leaf: SizeError
    cluster: SizeError
    centres: tuple[CentreError, ...]
    smallest: SmallestCluster
    guarantees: Guarantees


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run, created by `forecast`. Prints as sentences and a table.

    Attributes
    ----------
    design : Design
        The run.
    spread : float or mapping
        The expected spread of clusters.
    outlook, twice_epsilon, twice_rows : Outlook
        The run as specified, with twice the epsilon, and with twice the rows.
    """

    design: Design
    spread: Spread
    outlook: Outlook
    twice_epsilon: Outlook
    twice_rows: Outlook

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about expected problems; empty if there are none."""
        from dpmondrian.show.texts import warnings_of

        return warnings_of(self)

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
            "outlook": asdict(self.outlook),
            "twice_epsilon": asdict(self.twice_epsilon),
            "twice_rows": asdict(self.twice_rows),
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
        Other parameters of `DPM`, such as `max_depth` or `directions`.

    Examples
    --------
    >>> from dpmondrian import Column, Schema
    >>> expected = forecast(20_000, Schema((Column("age", 0, 120, unit="years"), Column("bmi", 10, 60))))
    >>> round(expected.outlook.cluster.half_width)
    51
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
    return Forecast(
        design=design,
        spread=spread,
        outlook=expect(design, spread),
        twice_epsilon=expect(design.times(epsilon=2.0), spread),
        twice_rows=expect(design.times(rows=2.0), spread),
    )


def expect(design: Design, spread: Spread = SPREAD) -> Outlook:
    """Return what to expect of one run."""
    return Outlook(
        n_rows=design.n_rows,
        epsilon=design.settings.epsilon,
        delta=design.settings.delta,
        cluster_rows=design.cluster_rows,
        all_rows=count_error(design, "all"),
        leaf=count_error(design, "leaf"),
        cluster=count_error(design, "cluster"),
        centres=centre_errors(design, spread=spread),
        smallest=smallest_cluster(design, spread),
        guarantees=_guarantees(design, spread),
    )


def _guarantees(design: Design, spread: Spread) -> Guarantees:
    if not design.has_cuts:
        return Guarantees(count_bound(design), math.inf, 0.0, BETA)
    rows = min(design.cluster_rows, design.n_rows / 2)
    gap = GoodCut(peak=peak_share(design, spread) * rows, smaller_side=rows)
    return Guarantees(count_bound(design), cut_bound(design), central_cut(design, gap), BETA)


def _plain(value: Any) -> Any:
    """Return nested values with lists for tuples and None for what is infinite."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
