"""Bars on a log axis, grouped by data set: the KMeans distance (figure 1) and the running time (figure 5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpmondrian.show.plots import drawing
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.figures.style import bar_look, save, top_legend
from dpmondrian_lab.pages.names import algorithm_name, data_set_name
from dpmondrian_lab.pages.published import TABLE_DATA_SETS, published
from dpmondrian_lab.pages.summary import Grouped, Summary, grouped, summarise
from dpmondrian_lab.peers.registry import EVALUATED

__all__ = ["figure1", "figure5"]

_FIGURE1_ORDER = ("mnist_embs", "fashion_embs", "synth_100d", "synth_10d")


def figure1(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the mean KMeans distance of the private algorithms, with a 95 % bootstrap interval of the mean."""
    kept = [
        row
        for row in rows
        if row.run.data_set not in TABLE_DATA_SETS["table3"] and EVALUATED[row.run.algorithm].private
    ]
    groups = grouped(kept)
    data_sets = sorted(dict.fromkeys(data_set for data_set, _ in groups), key=_figure1_place)
    with drawing() as plt:
        figure, axes = plt.subplots(figsize=(max(5.0, 2.6 * len(data_sets)), 3.6), layout="constrained")
        handles = _draw_bars(axes, groups, data_sets, "kmeans_distance", mean_with_interval)
        handles.update(_draw_published(axes, groups, data_sets))
        axes.set_ylabel("normalised KMeans distance (log scale)")
        top_legend(figure, list(handles.values()), handles, 4)
        return save(figure, folder, "fig1")


def figure5(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the median time of a fit; whiskers go from the shortest to the longest."""
    groups = grouped(rows)
    data_sets = list(dict.fromkeys(data_set for data_set, _ in groups))
    with drawing() as plt:
        figure, axes = plt.subplots(figsize=(max(5.0, 2.2 * len(data_sets)), 3.8), layout="constrained")
        handles = _draw_bars(axes, groups, data_sets, "seconds", _median_with_extremes)
        axes.set_ylabel("seconds of one fit (log scale)")
        top_legend(figure, list(handles.values()), handles, 4)
        return save(figure, folder, "fig5")


def mean_with_interval(summary: Summary) -> tuple[float, float, float]:
    """Return the mean and a 95 % bootstrap interval of it, always the same for the same values."""
    values = np.array(summary.values)
    if len(values) < 2:
        return summary.mean, summary.mean, summary.mean
    means = np.random.default_rng(0).choice(values, (2000, len(values))).mean(axis=1)
    return summary.mean, float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def _median_with_extremes(summary: Summary) -> tuple[float, float, float]:
    return summary.median, min(summary.values), max(summary.values)


def _draw_bars(
    axes: Any,
    groups: Grouped,
    data_sets: list[str],
    metric: str,
    middle: Callable[[Summary], tuple[float, float, float]],
) -> dict[str, Any]:
    """Draw a bar per data set and algorithm and return one handle per name; an X stands where all runs failed."""
    algorithms = _algorithms(groups)
    handles = {}
    failed = []
    for algorithm in algorithms:
        for place, data_set in enumerate(data_sets):
            summary = summarise(groups.get((data_set, algorithm), []), metric)
            x = _bar_place(place, algorithm, algorithms)
            if summary.values:
                value, low, high = middle(summary)
                bar = axes.bar(x, value, _bar_width(algorithms), **bar_look(algorithm))
                axes.errorbar(x, value, [[max(0.0, value - low)], [max(0.0, high - value)]], color="#333333", lw=0.8)
                handles[algorithm_name(algorithm)] = bar
            elif summary.n_failed:
                failed.append(x)
    axes.set_yscale("log")
    for x in failed:
        axes.text(x, 0.01, "X", transform=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(data_sets)), [data_set_name(key) for key in data_sets])
    axes.tick_params(axis="x", length=0)
    axes.margins(x=0.01)
    axes.grid(axis="y")
    return handles


def _draw_published(axes: Any, groups: Grouped, data_sets: list[str]) -> dict[str, Any]:
    """Mark the paper's means on the bars that repeat them. Means that it prints as 0.00 have no place on a log axis."""
    algorithms = _algorithms(groups)
    points = []
    for place, data_set in enumerate(data_sets):
        for algorithm in algorithms:
            paper = published(data_set, "kmeans_distance", algorithm)
            if paper is not None and paper.mean > 0.0 and (data_set, algorithm) in groups:
                points.append((_bar_place(place, algorithm, algorithms), paper.mean))
    if not points:
        return {}
    handle = axes.scatter(*zip(*points, strict=True), marker="D", s=16, color="black", edgecolor="white", zorder=4)
    return {"the paper's number": handle}


def _algorithms(groups: Grouped) -> list[str]:
    found = {algorithm for _, algorithm in groups}
    return [key for key in EVALUATED if key in found]


def _bar_width(algorithms: list[str]) -> float:
    return 0.84 / max(len(algorithms), 1)


def _bar_place(place: int, algorithm: str, algorithms: list[str]) -> float:
    return place + (algorithms.index(algorithm) - (len(algorithms) - 1) / 2) * _bar_width(algorithms)


def _figure1_place(data_set: str) -> float:
    """Return the place of a data set in the paper's figure; others follow."""
    return _FIGURE1_ORDER.index(data_set) if data_set in _FIGURE1_ORDER else math.inf
