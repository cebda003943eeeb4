"""The picture of a forecast: errors over epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import LARGEST_EPSILON, SMALLEST_EPSILON
from dpmondrian.show.plots.drawing import pyplot
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words

if TYPE_CHECKING:
    from dpmondrian.planning import CentreError, Design, Forecast

_TIMES = np.geomspace(0.1, 10.0, 9)  # epsilons that are drawn, times the one that was asked for

_SAME = 0.1  # columns whose errors differ by no more than this share have one line together

_NAMES_IN_LEGEND = 3
_MOST_PER_CENT = 100.0
_SIZE_COLOUR, _TEXT, _QUIET = "#333333", "#333333", "#9A9A9A"


def plot_forecast(forecast: Forecast, ax: Any = None, *, words: Words = ENGLISH) -> Any:
    """Draw the 95 % errors of centres and sizes of a forecast over epsilon, and return the axes.

    Solid lines are for the rows that were asked for, dashed ones for twice as many; dots mark the epsilon asked for.
    """
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    epsilons = np.clip(forecast.design.settings.epsilon * _TIMES, SMALLEST_EPSILON, LARGEST_EPSILON)
    colours = plt.get_cmap("tab10")
    groups = _groups(forecast.outlook.centres)
    looks = [(colours(number % 10), _label(forecast, group, words)) for number, group in enumerate(groups)]
    looks.append((_SIZE_COLOUR, words("plot.forecast.size")))
    for rows, line in ((1.0, "-"), (2.0, "--")):
        curves = _curves(forecast, epsilons, rows, groups)
        for curve, (colour, label) in zip(curves, looks, strict=True):
            ax.plot(epsilons, curve, line, color=colour, lw=1.6, label=label if rows == 1.0 else None)
            if rows == 1.0:
                at = float(np.exp(np.interp(0.0, np.log(_TIMES), np.log(curve))))
                ax.plot([forecast.design.settings.epsilon], [at], "o", color=colour, ms=6, zorder=3)
    _finish(ax, forecast, words)
    return ax


def _groups(centres: tuple[CentreError, ...]) -> list[list[int]]:
    """Return the columns in groups whose errors, in per cent of the range, are nearly the same."""
    groups: list[list[int]] = []
    for j, error in enumerate(centres):
        for group in groups:
            first = centres[group[0]]
            near = abs(error.percent_of_range - first.percent_of_range) <= _SAME * first.percent_of_range
            if near and (error.scale == "share") == (first.scale == "share"):
                group.append(j)
                break
        else:
            groups.append([j])
    return groups


def _label(forecast: Forecast, group: list[int], words: Words) -> str:
    names = [forecast.outlook.centres[j].name for j in group]
    listed, more = ", ".join(names[:_NAMES_IN_LEGEND]), len(names) - _NAMES_IN_LEGEND
    shares = forecast.outlook.centres[group[0]].scale == "share"
    columns = words("and_more", listed=listed, n=more) if more > 0 else listed
    return words("plot.forecast.shares" if shares else "plot.forecast.centres", columns=columns)


def _curves(
    forecast: Forecast, epsilons: NDArray[np.float64], rows: float, groups: list[list[int]]
) -> NDArray[np.float64]:
    """Return the half widths of 95 % intervals in per cent, one line per group of columns and then that of sizes."""
    from dpmondrian.planning import centre_errors, interval_factor, size_error

    def at(design: Design) -> list[float]:
        errors, factor = centre_errors(design, spread=forecast.spread), interval_factor(design)
        size = 100.0 * size_error(design).half_width / design.cluster_rows
        return [factor * errors[group[0]].percent_of_range for group in groups] + [size]

    asked = forecast.design.settings.epsilon
    return np.array([at(forecast.design.times(float(epsilon) / asked, rows)) for epsilon in epsilons]).T


def _finish(ax: Any, forecast: Forecast, words: Words) -> None:
    """Label the axes, mark the epsilon that was asked for, and say what the lines are."""
    design = forecast.design
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(top=min(ax.get_ylim()[1], _MOST_PER_CENT))
    ticks = [design.settings.epsilon * times for times in (0.1, 0.3, 1.0, 3.0, 10.0)]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    ax.axvline(design.settings.epsilon, color=_QUIET, lw=0.8, ls=":", zorder=0)
    ax.set_xlabel(words("plot.forecast.epsilon"))
    ax.set_ylabel(words("plot.forecast.errors"))
    rows, twice = f"{design.cluster_rows:,.0f}", f"{2 * design.cluster_rows:,.0f}"
    title = words("plot.forecast.title", rows=rows, twice=twice, counted=counted_text(design.counted, words))
    ax.set_title(title, fontsize=10, color=_TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14))  # lines fill the axes
