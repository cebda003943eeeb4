"""Curves over epsilon, over the number of rows, and the clusters found against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpmondrian.show.plots import drawing
from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.figures.bars import mean_with_interval
from dpmondrian_lab.pages.figures.style import line_look, plain_log_ticks, save, top_legend
from dpmondrian_lab.pages.names import METRIC_NAMES, PAPER_METRICS, algorithm_name, data_set_name, data_set_order, style
from dpmondrian_lab.pages.summary import ROUNDING, Summary, summarise
from dpmondrian_lab.peers.registry import EVALUATED

__all__ = ["clusters_figure", "epsilon_figure", "rows_figure"]

_LOG_METRICS = ("inertia", "kmeans_distance")


def epsilon_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw every metric over epsilon, a column of panels per data set; KMeans is a line across."""
    data_sets = data_set_order({row.run.data_set for row in rows})
    with drawing() as plt:
        figure, panels = plt.subplots(
            len(PAPER_METRICS),
            len(data_sets),
            figsize=(max(4.0, 2.35 * len(data_sets)), 1.9 * len(PAPER_METRICS)),
            layout="constrained",
            squeeze=False,
        )
        handles: dict[str, Any] = {}
        ticks = sorted({row.run.epsilon for row in rows if row.run.epsilon is not None})
        for column, data_set in enumerate(data_sets):
            of_data_set = [row for row in rows if row.run.data_set == data_set]
            for line, metric in zip(panels, PAPER_METRICS, strict=True):
                handles.update(_draw_curves(line[column], of_data_set, metric, lambda row: row.run.epsilon, ticks))
            panels[0][column].set_title(data_set_name(data_set))
            panels[-1][column].set_xlabel("epsilon")
        for line, metric in zip(panels, PAPER_METRICS, strict=True):
            line[0].set_ylabel(METRIC_NAMES[metric])
        top_legend(figure, list(handles.values()), handles, 6 if len(data_sets) > 3 else 3)
        return save(figure, folder, "epsilon")


def rows_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw every metric over the number of rows of the same blobs."""
    with drawing() as plt:
        figure, panels = plt.subplots(1, len(PAPER_METRICS), figsize=(13, 3.2), layout="constrained")
        per_row = [_with_inertia_per_row(row) for row in rows]
        handles: dict[str, Any] = {}
        for axes, metric in zip(panels, PAPER_METRICS, strict=True):
            handles.update(_draw_curves(axes, per_row, metric, lambda row: get(row.run.data_set).n_rows))
            axes.set_xlabel("rows")
            axes.set_title("inertia per row" if metric == "inertia" else METRIC_NAMES[metric])
        top_legend(figure, list(handles.values()), handles, 6)
        return save(figure, folder, "rows")


def clusters_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the number of clusters found, and the adjusted Rand index, over the true number of clusters."""
    with drawing() as plt:
        figure, (found, agreement) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
        truths = sorted({get(row.run.data_set).n_clusters for row in rows})
        (truth,) = found.plot(truths, truths, color="#8A8A8A", linestyle="--", zorder=1)
        handles = {"truth": truth}
        for axes, metric in ((found, "n_centres"), (agreement, "adjusted_rand")):
            handles.update(_draw_curves(axes, rows, metric, lambda row: get(row.run.data_set).n_clusters, truths))
            axes.set_xlabel("true number of clusters")
        found.set_yscale("log", base=2)
        plain_log_ticks(found.yaxis, truths)
        found.set_title("clusters found")
        agreement.set_title("adjusted Rand index")
        top_legend(figure, list(handles.values()), handles, 3)
        return save(figure, folder, "clusters")


def _draw_curves(
    axes: Any, rows: list[Row], metric: str, place: Callable[[Row], float | None], ticks: Sequence[float] = ()
) -> dict[str, Any]:
    """Draw a metric over the place of the rows, a line per algorithm, with intervals of the mean; return handles."""
    handles = {}
    for algorithm in (key for key in EVALUATED if any(row.run.algorithm == key for row in rows)):
        points = _points([row for row in rows if row.run.algorithm == algorithm], metric, place)
        if not points:
            continue
        if None in points:
            value = points[None].mean
            handles[algorithm_name(algorithm)] = axes.axhline(value, color=style(algorithm).colour, linestyle="--")
            continue
        handles[algorithm_name(algorithm)] = _draw_line(axes, algorithm, points)
    if not handles:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "not defined", ha="center", va="center", color="#8A8A8A", transform=axes.transAxes)
        return {}
    axes.set_xscale("log")
    if ticks:
        plain_log_ticks(axes.xaxis, ticks)
    if metric in _LOG_METRICS:
        axes.set_yscale("log")
    axes.grid(axis="y")
    return handles


def _with_inertia_per_row(row: Row) -> Row:
    """Return the row with its inertia divided by the number of rows, so that sizes can be compared."""
    if "inertia" not in row.metrics:
        return row
    return replace(row, metrics={**row.metrics, "inertia": row.metrics["inertia"] / get(row.run.data_set).n_rows})


def _points(rows: list[Row], metric: str, place: Callable[[Row], float | None]) -> dict[Any, Summary]:
    """Return the metric by place, without places where no run gave one."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(place(row), []).append(row)
    summaries = {x: summarise(found[x], metric) for x in sorted(found, key=lambda x: x or 0.0)}
    # Zero but for rounding, as KMeans on blobs, has no place on a log axis.
    least = ROUNDING if metric in _LOG_METRICS else -math.inf
    return {x: summary for x, summary in summaries.items() if summary.values and summary.mean > least}


def _draw_line(axes: Any, algorithm: str, points: dict[float, Summary]) -> Any:
    middles = [mean_with_interval(summary) for summary in points.values()]
    means = [mean for mean, _, _ in middles]
    look = line_look(algorithm)
    axes.fill_between(
        list(points),
        [low for _, low, _ in middles],
        [high for _, _, high in middles],
        color=look["color"],
        alpha=0.18,
        lw=0,
    )
    return axes.plot(list(points), means, linewidth=1.3, markersize=4.5, **look)[0]
