"""Figures beyond the paper: inertia over that of KMeans, the suite set by set, and data without structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpmondrian.show.plots import drawing
from dpmondrian_lab.experiments.catalogue import ENLARGED
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.beyond import REFERENCE, null_shares, ratios, suite_index
from dpmondrian_lab.pages.figures.style import save, top_legend
from dpmondrian_lab.pages.names import algorithm_name, style
from dpmondrian_lab.peers.registry import ALGORITHMS

__all__ = ["nulls_figure", "ratio_figure", "suite_figure"]


ENOUGH = 0.95
"""Share of runs with one cluster that must be reached."""


def ratio_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw every cell as a dot, a panel per epsilon and a line per algorithm, with a bar at the median."""
    cells = ratios(rows)
    epsilons = sorted({epsilon for _, epsilon in cells})
    found = {algorithm for cell in cells.values() for algorithm in cell}
    algorithms = [key for key in ALGORITHMS if key in found]
    if not cells:
        return []
    with drawing() as plt:
        size = (max(4.6, 2.6 * len(epsilons) + 1.4), 0.34 * len(algorithms) + 1.1)
        figure, panels = plt.subplots(1, len(epsilons), figsize=size, layout="constrained", sharey=True, squeeze=False)
        for axes, epsilon in zip(panels[0], epsilons, strict=True):
            for height, algorithm in enumerate(reversed(algorithms)):
                values = [c[algorithm] for (_, e), c in cells.items() if e == epsilon and algorithm in c]
                _draw_dots(axes, height, values, style(algorithm).colour)
            axes.axvline(1.0, color="#8A8A8A", linestyle="--", zorder=1)
            axes.set_xscale("log")
            _ratio_ticks(axes)
            axes.set_title(f"epsilon = {epsilon:g}")
            axes.grid(axis="x")
        panels[0][0].set_yticks(range(len(algorithms)), [algorithm_name(key) for key in reversed(algorithms)])
        figure.supxlabel("inertia / best of 10 KMeans", fontsize=10)
        return save(figure, folder, "real_k")


def _draw_dots(axes: Any, height: int, values: list[float], colour: str) -> None:
    if values:
        jitter = 0.5 * (np.random.default_rng(0).random(len(values)) - 0.5)
        axes.scatter(values, height + jitter, s=7, color=colour, alpha=0.55, linewidth=0)
        axes.plot([np.median(values)] * 2, [height - 0.38, height + 0.38], color=colour, linewidth=2.2)


def _ratio_ticks(axes: Any) -> None:
    """Label the axis with ratios that lie within it and do not crowd."""
    low, high = np.log(axes.get_xlim())
    ticks: list[float] = []
    for tick in (1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 300):
        if low <= np.log(tick) <= high and (not ticks or np.log(tick / ticks[-1]) > 0.09 * (high - low)):
            ticks.append(tick)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)


SUITE_COLUMNS = (
    (REFERENCE, None, False, "KMeans, true k", "#8A8A8A", "|"),
    ("dpm_k", 1.0, False, "DPM, true k", "#D55E00", "*"),
    ("dpm", 1.0, False, "DPM, own rows", "#0072B2", "o"),
    ("dpm", 1.0, True, f"DPM, {ENLARGED:,} rows", "#56B4E9", "s"),
)


def suite_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the adjusted Rand index of every set at epsilon 1, sets in the order of that of KMeans."""
    index = suite_index(rows)
    names = {row.run.data_set.removesuffix(f"-n{ENLARGED}") for row in rows}
    ordered = sorted(names, key=lambda name: (index(name, REFERENCE, None, False), name))
    with drawing() as plt:
        figure, axes = plt.subplots(figsize=(7.2, 0.22 * len(ordered) + 0.9), layout="constrained")
        handles = {}
        for *column, label, colour, marker in SUITE_COLUMNS:
            values = [index(name, *column) for name in ordered]
            handles[label] = axes.scatter(values, range(len(ordered)), s=42, marker=marker, color=colour, linewidth=0.9)
        axes.set_yticks(range(len(ordered)), [name.removeprefix("suite-") for name in ordered])
        axes.set_xlabel("adjusted Rand index with the truth, epsilon = 1")
        axes.grid(axis="both")
        top_legend(figure, list(handles.values()), handles, 4)
        return save(figure, folder, "suite")


def nulls_figure(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the share of runs with one cluster: shapes and columns downwards, rows and epsilon across."""
    shares = null_shares(rows)
    if not shares:
        return []
    parts = {cell: cell[0].rpartition("-")[::2] for cell in shares}  # such as "one_uniform", "5000x2"
    sizes = {cell: tuple(map(int, size.split("x"))) for cell, (_, size) in parts.items()}
    lines = list(
        dict.fromkeys(
            (parts[cell][0], sizes[cell][1]) for cell in sorted(shares, key=lambda c: (parts[c][0], sizes[c][1]))
        )
    )
    columns = sorted({(sizes[cell][0], cell[1]) for cell in shares})
    grid = np.full((len(lines), len(columns)), np.nan)
    for cell, share in shares.items():
        grid[lines.index((parts[cell][0], sizes[cell][1])), columns.index((sizes[cell][0], cell[1]))] = share
    with drawing() as plt:
        size = (0.5 * len(columns) + 2.6, 0.27 * len(lines) + 1.3)
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        # Blue is what must be, the rest goes from yellow to red.
        axes.imshow(np.where(grid >= ENOUGH, 0.75, 0.5 * grid), cmap="RdYlBu", vmin=0.0, vmax=1.0, aspect="auto")
        for (line, column), share in np.ndenumerate(grid):
            if not np.isnan(share):
                colour = "white" if share < 0.2 else "black"
                axes.text(column, line, f"{100 * share:.0f}", ha="center", va="center", fontsize=7, color=colour)
        axes.set_yticks(range(len(lines)), [f"{name.removeprefix('one_')}, d = {d}" for name, d in lines])
        axes.set_xticks(range(len(columns)), [f"{n:,}, {epsilon:g}" for n, epsilon in columns], rotation=60, ha="right")
        axes.set_xlabel("rows, epsilon")
        axes.set_title(f"runs with one cluster, %; blue from {100 * ENOUGH:.0f} % on")
        return save(figure, folder, "nulls")
