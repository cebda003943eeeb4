"""Means, standard deviations and bests over the runs: the numbers of tables, figures and checks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.names import DIRECTIONS, TABLE_METRICS, data_set_order
from dpmondrian_lab.peers.registry import ALGORITHMS

__all__ = ["Cell", "Grouped", "Summary", "best_algorithms", "grouped", "number", "summaries", "summarise"]


@dataclass(frozen=True)
class Summary:
    """A metric over repeated runs.

    Attributes
    ----------
    values : tuple of float
        Of the runs that gave one.
    n_failed : int
        Runs that ended with an error.
    """

    values: tuple[float, ...]
    n_failed: int = 0

    @property
    def mean(self) -> float:
        """The mean; not a number if no run gave a value."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def deviation(self) -> float:
        """The sample standard deviation (ddof = 1); not a number for fewer than two values."""
        return statistics.stdev(self.values) if len(self.values) > 1 else math.nan

    @property
    def median(self) -> float:
        """The median; not a number if no run gave a value."""
        return statistics.median(self.values) if self.values else math.nan


def summarise(rows: Iterable[Row], metric: str) -> Summary:
    """Return a metric over rows."""
    rows = list(rows)
    values = [row.metrics[metric] for row in rows if metric in row.metrics]
    return Summary(tuple(values), sum(row.failed for row in rows))


ROUNDING = 1e-9
"""Distances below this are rounding errors of zero."""

Grouped = dict[tuple[str, str], list[Row]]


def grouped(rows: Iterable[Row]) -> Grouped:
    """Return rows by data set and algorithm, both in the order of tables."""
    rows = list(rows)
    found: Grouped = {}
    for row in rows:
        found.setdefault((row.run.data_set, row.run.algorithm), []).append(row)
    data_sets = data_set_order({row.run.data_set for row in rows})
    known = list(ALGORITHMS) + sorted({row.run.algorithm for row in rows}.difference(ALGORITHMS))
    return {(d, a): found[d, a] for d in data_sets for a in known if (d, a) in found}


@dataclass(frozen=True)
class Cell:
    """A cell of a table: an algorithm's summary, and whether it is the best private one."""

    summary: Summary
    best: bool


def summaries(groups: Grouped, metrics: Iterable[str] = TABLE_METRICS) -> dict[tuple[str, str, str], Cell]:
    """Return the cells of a table by data set, metric and algorithm; metrics that no run has are left out."""
    cells = {}
    for data_set in dict.fromkeys(data_set for data_set, _ in groups):
        of_data_set = {algorithm: rows for (d, algorithm), rows in groups.items() if d == data_set}
        for metric in metrics:
            line = {algorithm: summarise(rows, metric) for algorithm, rows in of_data_set.items()}
            best = best_algorithms(line, metric)
            if any(summary.values for summary in line.values()) or metric == "inertia":
                cells.update({(data_set, metric, a): Cell(line[a], a in best) for a in line})
    return cells


def best_algorithms(line: Mapping[str, Summary], metric: str) -> set[str]:
    """Return the best of the algorithms that are private, hold their epsilon and did not fail once.

    Means that print alike are equally good.
    """
    if metric not in DIRECTIONS:
        return set()
    competing = {
        algorithm: summary.mean
        for algorithm, summary in line.items()
        if algorithm in ALGORITHMS and ALGORITHMS[algorithm].competes and summary.values and not summary.n_failed
    }
    if not competing:
        return set()
    best = max(competing.values(), key=lambda mean: DIRECTIONS[metric] * mean)
    return {algorithm for algorithm, mean in competing.items() if number(metric, mean) == number(metric, best)}


def number(metric: str, value: float) -> str:
    """Return a value as it is printed: inertia as 1.23e6, distances as 0.0123 or 1.2e-4, shares with three digits."""
    if math.isnan(value):
        return "-"
    if metric == "inertia":
        return _scientific(value, 2)
    if metric in ("kmeans_distance", "matching_distance") and value < 0.01:
        return _scientific(value, 1) if value > ROUNDING else "0"
    if metric == "seconds":
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    digits = {"kmeans_distance": 4, "matching_distance": 4, "n_centres": 1}.get(metric, 3)
    return f"{value:.{digits}f}"


def _scientific(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
