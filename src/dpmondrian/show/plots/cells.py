"""The cells as pictures: how much of the variance each number of segments explains, and which groups of cells go together last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.show.plots.drawing import pyplot
from dpmondrian.show.report.palette import LIGHT, look_of
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words

if TYPE_CHECKING:
    from dpmondrian.release import Hierarchy, Qualities


def plot_qualities(qualities: Qualities, ax: Any = None, *, words: Words = ENGLISH) -> Any:
    """Draw the qualities of several k with their standard errors, and return the axes. Only released values are drawn."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6.0, 3.6), layout="constrained")
    ax.errorbar(
        qualities.k,
        100.0 * qualities.quality,
        yerr=100.0 * qualities.error,
        color=LIGHT[0],
        marker="o",
        ms=4,
        capsize=2,
    )
    ax.set(ylim=(0.0, 100.0), xlabel=words("plot.qualities.k"), ylabel=words("plot.qualities.quality"))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


_MIXED = "#8A8A8A"  # of groups in which several clusters meet
_LABELLED = 30  # up to this many groups have their sizes written


def plot_hierarchy(hierarchy: Hierarchy, ax: Any = None, *, most: int = 60, words: Words = ENGLISH) -> Any:
    """Draw the last joins of a hierarchy, and return the axes. Only released values are drawn.

    Groups of cells stand side by side, with their sizes. Two groups are joined at the height of what that adds to the variance within;
    groups of one cluster of the release have its colour, all others are grey.

    Parameters
    ----------
    hierarchy : Hierarchy
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.
    most : int
        Number of groups at the bottom; lower joins are not drawn.
    words : Words
        The language of the labels.
    """
    size, cluster = _groups(hierarchy)
    order = _order(hierarchy, size, first_join=max(0, len(hierarchy.first) + 1 - most))
    if ax is None:
        figure_width = min(4.0 + 0.25 * len(order), 12.0)
        _, ax = pyplot().subplots(figsize=(figure_width, 4.2), layout="constrained")
    _draw(ax, hierarchy, order, cluster)
    n_shown = len(order) if len(order) <= _LABELLED else 0
    ax.set_xticks(range(n_shown), [f"{size[group]:,.0f}" for group in order[:n_shown]], rotation=90, fontsize=7)
    ax.set_xlabel(words("plot.hierarchy.groups", n=len(order), counted=counted_text("rows", words)))
    ax.set_ylabel(words("plot.hierarchy.height"))
    ax.set(xlim=(-0.7, len(order) - 0.3), ylim=(0.0, None))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _groups(hierarchy: Hierarchy) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the size of every group, and the cluster that all of its cells lie in, -1 if there are several."""
    size, cluster = hierarchy.sizes.tolist(), hierarchy.cluster.tolist()
    for first, second in zip(hierarchy.first, hierarchy.second, strict=True):
        size.append(size[first] + size[second])
        cluster.append(cluster[first] if cluster[first] == cluster[second] else -1)
    return np.array(size), np.array(cluster)


def _order(hierarchy: Hierarchy, size: NDArray[np.float64], first_join: int) -> list[int]:
    """Return the groups at the bottom from left to right, larger ones first, so that lines never cross."""
    n_cells, order, waiting = len(hierarchy.sizes), [], [len(size) - 1]
    while waiting:
        group = waiting.pop()
        join = group - n_cells
        if join < first_join:
            order.append(group)
        else:  # the last one is taken next
            waiting += sorted(
                (int(hierarchy.first[join]), int(hierarchy.second[join])), key=lambda side: float(size[side])
            )
    return order


def _draw(ax: Any, hierarchy: Hierarchy, order: list[int], cluster: NDArray[np.int64]) -> None:
    """Draw a bracket for every join of groups that are shown."""
    n_cells, place, height = (
        len(hierarchy.sizes),
        {group: float(x) for x, group in enumerate(order)},
        dict.fromkeys(order, 0.0),
    )
    for join, (first, second) in enumerate(zip(hierarchy.first.tolist(), hierarchy.second.tolist(), strict=True)):
        if first not in place:
            continue
        group, top = n_cells + join, float(hierarchy.height[join])
        place[group], height[group] = (place[first] + place[second]) / 2, top
        for side in (first, second):
            ax.plot([place[side]] * 2, [height[side], top], color=_colour(int(cluster[side])), lw=1.4)
        ax.plot([place[first], place[second]], [top, top], color=_colour(int(cluster[group])), lw=1.4)


def _colour(cluster: int) -> str:
    return _MIXED if cluster < 0 else LIGHT[look_of(cluster)[0]]
