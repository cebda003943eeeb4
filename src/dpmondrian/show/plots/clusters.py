"""The map of cuts as a picture: boxes between the cuts and centres by size, in two columns.

Only released values are drawn, so the picture may be published.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import nearest_names
from dpmondrian.exceptions import ParameterError
from dpmondrian.release import Release
from dpmondrian.schema import Indicator, Notation
from dpmondrian.show.plots.drawing import pyplot
from dpmondrian.show.report.palette import LIGHT, look_of
from dpmondrian.show.report.scales import default_columns, leaf_boxes, places
from dpmondrian.show.texts.facts import column_label, counted_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import number, plain_number, short_names

_SHAPES = ("o", "s", "D", "^")
_WRITTEN_TICKS = 4  # at most so many dates fit below an axis
_TEXT, _EDGE = "#1b2530", "#55616e"
_LARGEST, _FEW, _MANY = 1500.0, 12, 150
"""Area of the largest mark in square points; up to so many clusters have their sizes, or at least their numbers, written."""


def plot_clusters(
    release: Release, x: str | None = None, y: str | None = None, ax: Any = None, *, words: Words = ENGLISH
) -> Any:
    """Draw the clusters of a release in two columns, and return matplotlib's axes.

    The parts between the cuts are boxes in the colour of their cluster; centres are marks whose area shows the size of the
    cluster, with error bars of one standard error. With a single column, sizes stand upwards.

    Parameters
    ----------
    release : Release
    x, y : str, optional
        Names of columns of centres (``release.schema.centre_names``): columns of the table, or shares such as "plan=basic".
        By default the two that are cut most.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.
    words : Words
        The language of the labels.

    Examples
    --------
    >>> plot_clusters(model.release_, "age", "bmi").figure.savefig("clusters.png")  # doctest: +SKIP
    """
    across, upwards = _chosen(release, x, y)
    axes = pyplot().subplots(figsize=(6.4, 5.6), layout="constrained")[1] if ax is None else ax
    _set_up(axes, release, across, upwards, words)
    _draw_boxes(axes, release, across, upwards)
    _draw_centres(axes, release, across, upwards, words)
    return axes


def _chosen(release: Release, x: str | None, y: str | None) -> tuple[int, int | None]:
    """Return the two columns to draw; None upwards stands for the size."""
    first, second = default_columns(release)
    across = None if x is None else _index(release, "x", x)
    upwards = None if y is None else _index(release, "y", y)
    if across is None:
        across = first if upwards != first or second is None else second
    if upwards is None and second is not None:
        upwards = second if across != second else first
    return across, upwards


def _index(release: Release, parameter: str, name: str) -> int:
    names = release.schema.centre_names
    if name not in names:
        shown = ", ".join(repr(known) for known in names[:12]) + (", ..." if len(names) > 12 else "")
        raise ParameterError(
            parameter=parameter,
            of="plot_clusters",
            rule="must be the name of a column of centres",
            value=name,
            hint=f"{nearest_names([name], names)} Columns of centres: {shown}.",
        )
    return names.index(name)


def _set_up(axes: Any, release: Release, across: int, upwards: int | None, words: Words) -> None:
    """Set scales, bounds, names and title."""
    names = short_names(release.schema.centre_names, 40)
    for axis, j in (("x", across), ("y", upwards)):
        if j is None:
            top = float(max((release.sizes + release.size_errors).max(), 1.0))
            counted = counted_text(release.tree.counted, words)
            axes.set(ylim=(0.0, 1.12 * top), ylabel=words("number_of", counted=counted))
            continue
        column = release.schema.centre_columns[j]
        scale = "log" if column.log else "linear"
        axes.set(**{f"{axis}scale": scale, f"{axis}lim": (column.lower, column.upper)})
        axes.set(**{f"{axis}label": _plain(column_label(column, names[j], words))})
        if column.notation is not None and column.notation.text(column.lower) is not None:  # dates, times, bands
            getattr(axes, f"{axis}axis").set_major_formatter(partial(_written, column.notation))
            axes.locator_params(axis=axis, nbins=_WRITTEN_TICKS)
        if isinstance(column, Indicator):
            axes.set(
                **{
                    f"{axis}ticks": (0, 0.25, 0.5, 0.75, 1),
                    f"{axis}ticklabels": ("0 %", "25 %", "50 %", "75 %", "100 %"),
                }
            )
    privacy = release.privacy
    epsilon = plain_number(privacy.total_epsilon)
    title = words("plot.title", n=len(release.sizes), epsilon=epsilon, delta=plain_number(privacy.delta))
    title = title if privacy.releasable else words("plot.not_releasable", title=title)
    axes.set_title(title, fontsize=10, color=_TEXT)
    axes.spines[["top", "right"]].set_visible(False)


def _written(notation: Notation, value: float, _: int) -> str:
    return notation.text(value) or ""


def _plain(text: str) -> str:
    """Return a text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def _draw_boxes(axes: Any, release: Release, across: int, upwards: int | None) -> None:
    from matplotlib.patches import Rectangle

    columns = release.schema.centre_columns
    x_whole = (columns[across].lower, columns[across].upper)
    y_whole = axes.get_ylim() if upwards is None else (columns[upwards].lower, columns[upwards].upper)
    spans = [
        (cluster, box.get(across, x_whole), y_whole if upwards is None else box.get(upwards, y_whole))
        for cluster, box in leaf_boxes(release)
    ]
    alpha = _opacity(release, spans, across, upwards)
    for cluster, (x0, x1), (y0, y1) in spans:
        colour = LIGHT[look_of(cluster)[0]]
        width, height = max(x1 - x0, 0.0), max(y1 - y0, 0.0)
        axes.add_patch(Rectangle((x0, y0), width, height, facecolor=colour, alpha=alpha, lw=0, gid=f"box {cluster}"))
        axes.add_patch(Rectangle((x0, y0), width, height, fill=False, edgecolor=_EDGE, lw=0.7))


def _opacity(
    release: Release,
    spans: list[tuple[int, tuple[float, float], tuple[float, float]]],
    across: int,
    upwards: int | None,
) -> float:
    """Return how opaque boxes are: the more lie upon each other, the less."""
    columns = release.schema.centre_columns
    layers = 0.0
    for _, x_span, y_span in spans:
        width = float(np.diff(places(columns[across], np.array(x_span)))[0])
        height = 1.0 if upwards is None else float(np.diff(places(columns[upwards], np.array(y_span)))[0])
        layers += max(width, 0.0) * max(height, 0.0)
    return min(0.16, max(0.015, 0.16 * math.pow(max(1.0, layers), -0.85)))


def _draw_centres(axes: Any, release: Release, across: int, upwards: int | None, words: Words) -> None:
    """Draw the smallest clusters last, on top of the others."""
    xs, x_errors = _values(release, across)
    ys, y_errors = _values(release, upwards)
    n_clusters = len(release.sizes)
    largest = _LARGEST if n_clusters <= _FEW else 480.0 if n_clusters <= _MANY else 90.0
    areas = np.maximum(largest * np.maximum(release.sizes, 0.0) / max(float(release.sizes.max()), 1.0), 0.06 * largest)
    for cluster in range(n_clusters):
        colour, shape = look_of(cluster)
        x, y = float(xs[cluster]), float(ys[cluster])
        axes.errorbar(
            x, y, xerr=x_errors[:, [cluster]], yerr=y_errors[:, [cluster]], fmt="none", ecolor=_TEXT, elinewidth=1.0,
            capsize=0, zorder=3,
        )  # fmt: skip
        axes.scatter(
            x, y, s=float(areas[cluster]), marker=_SHAPES[shape], facecolor=_tint(LIGHT[colour]), edgecolor=LIGHT[colour],
            linewidth=1.8, zorder=4, label=words("plot.cluster", cluster=cluster), gid=f"centre {cluster}", clip_on=False,
        )  # fmt: skip
        if n_clusters <= _MANY:
            _label(axes, release, cluster, (x, y), math.sqrt(float(areas[cluster]) / math.pi))


def _label(axes: Any, release: Release, cluster: int, place: tuple[float, float], radius: float) -> None:
    """Write the number of a cluster on its mark, and its size below where there are few."""
    look: dict[str, Any] = {"ha": "center", "color": _TEXT, "zorder": 5, "textcoords": "offset points"}
    fontsize = 8.5 if len(release.sizes) <= _FEW else 7
    axes.annotate(str(cluster), place, (0, 0), va="center_baseline", fontsize=fontsize, weight="bold", **look)
    if len(release.sizes) <= _FEW:
        axes.annotate(number(float(release.sizes[cluster]), 0), place, (0, -radius - 3), va="top", fontsize=7.5, **look)


def _values(release: Release, j: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres, or sizes, with the lengths of their error bars below and above, which stay within the bounds."""
    if j is None:
        values, errors, lower, upper = release.sizes, release.size_errors, 0.0, math.inf
    else:
        column = release.schema.centre_columns[j]
        values, errors, lower, upper = release.centres[:, j], release.centre_errors[:, j], column.lower, column.upper
    values = np.clip(values, lower, upper)
    return values, np.array([values - np.maximum(values - errors, lower), np.minimum(values + errors, upper) - values])


def _tint(colour: str) -> tuple[float, float, float]:
    """Return a colour mixed with much white, on which dark text can be read."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.7 + 0.3 * red, 0.7 + 0.3 * green, 0.7 + 0.3 * blue
