"""Figure 6: which divisions of the budget are good and which are bad, as parallel coordinates."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np

from dpmondrian.show.plots import drawing
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.figures.style import save, top_legend
from dpmondrian_lab.pages.names import (
    DIRECTIONS,
    METRIC_NAMES,
    PAPER_METRICS,
    SHARE_NAMES,
    algorithm_name,
    data_set_name,
)
from dpmondrian_lab.pages.summary import grouped, summarise

__all__ = ["best_and_worst", "figure6"]

Shares = dict[str, float]

_BEST = {"color": "#0072B2", "linestyle": "-"}
_WORST = {"color": "#D55E00", "linestyle": "--"}


def figure6(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the best and the worst fifth of the budget shares by the mean of every metric, for each algorithm."""
    paths = []
    groups = grouped(rows)
    for data_set in dict.fromkeys(data_set for data_set, _ in groups):
        of_algorithm = {algorithm: group for (d, algorithm), group in groups.items() if d == data_set}
        name = "fig6" if data_set == "mnist_embs" else f"fig6-{data_set}"
        paths += _draw_data_set(data_set, of_algorithm, folder, name)
    return paths


def best_and_worst(rows: list[Row], metric: str) -> tuple[list[Shares], list[Shares]]:
    """Return the best and the worst fifth (rounded down) of the shares; ties go by the shares themselves."""
    settings: dict[str, list[Row]] = {}
    for row in rows:
        settings.setdefault(row.run.parameters, []).append(row)
    means = {setting: summarise(group, metric).mean for setting, group in sorted(settings.items())}
    ranked = sorted((s for s in means if not np.isnan(means[s])), key=lambda s: -DIRECTIONS[metric] * means[s])
    shares = [settings[setting][0].run.options["budget_shares"] for setting in ranked]
    fifth = len(shares) // 5
    return shares[:fifth], shares[len(shares) - fifth :]


def _draw_data_set(data_set: str, of_algorithm: dict[str, list[Row]], folder: Path, name: str) -> list[Path]:
    with drawing() as plt:
        figure, panels = plt.subplots(
            len(of_algorithm),
            len(PAPER_METRICS),
            figsize=(12.5, 2.8 * len(of_algorithm)),
            layout="constrained",
            squeeze=False,
            sharey=True,
        )
        handles: dict[str, Any] = {}
        for line, (algorithm, rows) in zip(panels, of_algorithm.items(), strict=True):
            for axes, metric in zip(line, PAPER_METRICS, strict=True):
                handles.update(_draw_panel(axes, rows, metric))
            line[0].set_ylabel(f"{algorithm_name(algorithm)}\n\nshare of the budget")
        figure.suptitle(f"{data_set_name(data_set)}: divisions of the budget, by the mean over runs")
        top_legend(figure, list(handles.values()), handles, 2)
        return save(figure, folder, name)


def _draw_panel(axes: Any, rows: list[Row], metric: str) -> dict[str, Any]:
    best, worst = best_and_worst(rows, metric)
    names = [name for name in SHARE_NAMES if any(name in row.run.options["budget_shares"] for row in rows)]
    handles = {}
    for label, group, look, side in (("worst 20 %", worst, _WORST, 1), ("best 20 %", best, _BEST, -1)):
        for place, shares in enumerate(group):
            # Shares are multiples of 0.1, so that many lines would lie on each other: each is moved a little.
            shift = side * 0.03 * (place + 1) / (len(group) + 1)
            axes.plot([shares[name] + shift for name in names], alpha=0.5, linewidth=0.8, **look)
        if group:
            means = [statistics.fmean(shares[name] for shares in group) for name in names]
            handles[label] = axes.plot(means, linewidth=3.0, **look)[0]
    axes.set_xticks(range(len(names)), [SHARE_NAMES[name] for name in names])
    axes.set_ylim(0.0, 0.9)
    axes.grid(axis="x", color="#AAAAAA")
    axes.set_title(f"{METRIC_NAMES[metric]} ({len(best)} of each)")
    return dict(reversed(handles.items()))
