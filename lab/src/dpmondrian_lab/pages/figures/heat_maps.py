"""Figure 4: quality over t and q, the shape of centreness, one heat map per metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpmondrian.show.plots import drawing
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.figures.style import save
from dpmondrian_lab.pages.names import DIRECTIONS, METRIC_NAMES, PAPER_METRICS, algorithm_name, data_set_name
from dpmondrian_lab.pages.summary import grouped, number, summarise

__all__ = ["figure4"]

Means = dict[tuple[float, float], float]
"""From t and q to a mean."""

_SCALES = {"accuracy": (0.0, 1.0), "silhouette": (-1.0, 1.0)}
"""As in the paper; the others begin at 0."""


def figure4(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the mean of every metric for each pair of t (upwards) and q, for each algorithm."""
    paths = []
    groups = grouped(rows)
    for data_set in dict.fromkeys(data_set for data_set, _ in groups):
        of_algorithm = {algorithm: group for (d, algorithm), group in groups.items() if d == data_set}
        name = "fig4" if data_set == "synth_10d" else f"fig4-{data_set}"
        paths += _draw_data_set(data_set, of_algorithm, folder, name)
    return paths


def _draw_data_set(data_set: str, of_algorithm: dict[str, list[Row]], folder: Path, name: str) -> list[Path]:
    with drawing() as plt:
        figure, panels = plt.subplots(
            len(of_algorithm),
            len(PAPER_METRICS),
            figsize=(11.5, 3.4 * len(of_algorithm)),
            layout="constrained",
            squeeze=False,
        )
        maps = {(a, metric): _means(rows, metric) for a, rows in of_algorithm.items() for metric in PAPER_METRICS}
        scales = {metric: _scale(metric, [maps[a, metric] for a in of_algorithm]) for metric in PAPER_METRICS}
        for line, algorithm in zip(panels, of_algorithm, strict=True):
            for axes, metric in zip(line, PAPER_METRICS, strict=True):
                _draw_map(figure, axes, maps[algorithm, metric], metric, scales[metric])
            line[0].set_ylabel(f"{algorithm_name(algorithm)}\n\nt", fontsize=10)
        figure.suptitle(f"{data_set_name(data_set)}: mean over runs for each t and q")
        return save(figure, folder, name)


def _means(rows: list[Row], metric: str) -> Means:
    """Return the mean of a metric for each pair of t and q."""
    pairs: dict[tuple[float, float], list[Row]] = {}
    for row in rows:
        options = row.run.options
        pairs.setdefault((options["t"], options["q"]), []).append(row)
    return {pair: summarise(group, metric).mean for pair, group in pairs.items()}


def _scale(metric: str, maps: list[Means]) -> tuple[float, float]:
    """Return the ends of a scale that all maps of a metric share, so that they can be compared."""
    found = [mean for means in maps for mean in means.values() if not np.isnan(mean)]
    return _SCALES.get(metric, (0.0, max(found, default=1.0)))


def _draw_map(figure: Any, axes: Any, means: Means, metric: str, scale: tuple[float, float]) -> None:
    """Draw one metric of one algorithm. Bright is good in every map."""
    ts, qs = sorted({t for t, _ in means}), sorted({q for _, q in means})
    cells = np.full((len(ts), len(qs)), np.nan)
    for (t, q), mean in means.items():
        cells[ts.index(t), qs.index(q)] = mean
    bright_is_high = DIRECTIONS[metric] > 0
    colours = "cividis" if bright_is_high else "cividis_r"
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap=colours, vmin=scale[0], vmax=scale[1])
    for (i, j), value in np.ndenumerate(cells):
        if not np.isnan(value):
            dark = (value < sum(scale) / 2) == bright_is_high
            axes.text(j, i, number(metric, value), ha="center", va="center", color="white" if dark else "black", size=7)
    axes.set(xticks=range(len(qs)), xticklabels=qs, yticks=range(len(ts)), yticklabels=ts, xlabel="q")
    axes.spines[:].set_visible(False)
    axes.set_title(METRIC_NAMES[metric])
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
