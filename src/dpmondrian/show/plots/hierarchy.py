"""The hierarchy of a tree as a picture: how its leaves go together to clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.joining import FLAT_STRENGTH
from dpmondrian.exceptions import ParameterError
from dpmondrian.show.plots.drawing import pyplot
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words

if TYPE_CHECKING:
    from dpmondrian.release import Tree

__all__ = ["plot_hierarchy"]

_UNDONE, _TEXT, _QUIET = "#8A8A8A", "#333333", "#9A9A9A"
_BARS, _BASE = (-0.36, -0.08), -0.06
"""Heights between which the bars of sizes stand, and where the leaves' lines end."""

_STEP, _MOST_ABOVE = 0.09, 0.6
"""Distance of the joins that are stacked above 1, and the most height that they take."""

_FEW = 12
"""Up to this many leaves, those that share a cluster have their sizes on their bars."""

_ROOM, _ROOM_TURNED = 42.0, 10.0
"""Points that a label below the leaves takes, level or turned."""


@dataclass(frozen=True)
class _Layout:
    """Where everything is drawn. Groups are numbered as in `Joins`: first the leaves, then the joins in their order.

    Attributes
    ----------
    order : int64 array of shape (n_leaves,)
        Leaves from left to right.
    place : float64 array of shape (n_groups,)
    height : float64 array of shape (n_groups,)
        Of joins: their strength, but no higher than the join above; those of strength 1 are stacked above 1.
    cluster : int64 array of shape (n_groups,)
        The cluster that all leaves of a group belong to, -1 if there are several.
    """

    order: NDArray[np.int64]
    place: NDArray[np.float64]
    height: NDArray[np.float64]
    cluster: NDArray[np.int64]


def plot_hierarchy(
    tree: Tree, ax: Any = None, *, threshold: float | None = FLAT_STRENGTH, words: Words = ENGLISH
) -> Any:
    """Draw how the leaves of a tree go together to clusters, and return the axes. Only released values are drawn.

    Leaves stand side by side, with their sizes as bars. Two groups are joined at the height of the strength with which
    they are apart, with its standard error. Joins within a cluster have its colour, those between clusters are grey.
    Joins of strength 1 are stacked above the others, in the order in which ``Tree.cut(k)`` undoes them. A join is
    undone after the one above it only, so it is drawn no higher than that.

    Parameters
    ----------
    tree : Tree
        Of a fit without `n_clusters`; also that of a `Cut`, whose clusters then have the colours.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.
    threshold : float or None
        Height of the dashed line, by default what cuts through a single cloud seldom exceed; None for no line.
    words : Words
        The language of the labels.
    """
    if tree.leaf_centres is None:
        raise ParameterError(
            "This tree has no hierarchy to draw: it was made with n_clusters or in the paper's variant.",
            "Fit without n_clusters.",
        )
    plt = pyplot()
    colours = plt.get_cmap("tab10")
    if ax is None:
        _, ax = plt.subplots(figsize=(min(4.2 + 0.3 * tree.n_leaves, 12.0), 4.2), layout="constrained")
    layout = _layout(tree)
    _draw_joins(ax, tree, layout, colours, words)
    _draw_sizes(ax, tree, layout, colours)
    _draw_axes(ax, layout, threshold, words)
    _label_clusters(ax, tree, layout, colours, words)
    return ax


def _layout(tree: Tree) -> _Layout:
    """Return the places of leaves and joins: larger groups to the left, so that lines never cross."""
    n_leaves = tree.n_leaves
    leaves = np.flatnonzero(tree.column < 0)
    n_groups = 2 * n_leaves - 1
    size, cluster = np.empty(n_groups), np.empty(n_groups, dtype=np.int64)
    size[:n_leaves], cluster[:n_leaves] = tree.size[leaves], tree.cluster[leaves]
    pairs = [] if tree.joins is None else list(zip(tree.joins.first.tolist(), tree.joins.second.tolist(), strict=True))
    for group, (first, second) in enumerate(pairs, start=n_leaves):
        size[group] = size[first] + size[second]
        cluster[group] = cluster[first] if cluster[first] == cluster[second] else -1
    order: list[int] = []
    waiting = [n_groups - 1]
    while waiting:
        group = waiting.pop()
        if group < n_leaves:
            order.append(group)
        else:  # the last one is taken next
            waiting += sorted(pairs[group - n_leaves], key=lambda side: float(size[side]))
    place = np.empty(n_groups)
    place[order] = np.arange(n_leaves)
    for group, (first, second) in enumerate(pairs, start=n_leaves):
        place[group] = (place[first] + place[second]) / 2
    return _Layout(np.array(order), place, _heights(tree, pairs), cluster)


def _heights(tree: Tree, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the height at which each group is drawn."""
    n_leaves = tree.n_leaves
    height = np.full(2 * n_leaves - 1, _BASE)
    if tree.joins is None:
        return height
    height[n_leaves:] = tree.joins.strength
    for group in range(len(height) - 1, n_leaves - 1, -1):
        for side in pairs[group - n_leaves]:
            height[side] = min(height[side], height[group])
    full = np.flatnonzero(height >= 1.0)
    height[full] += np.arange(len(full)) * min(_STEP, _MOST_ABOVE / max(len(full), 1))
    return height


def _draw_joins(ax: Any, tree: Tree, layout: _Layout, colours: Any, words: Words) -> None:
    """Draw a bracket per join, with its standard error."""
    if tree.joins is None:
        ax.plot([0.0, 0.0], [_BASE, 0.0], color=colours(int(layout.cluster[0]) % 10), lw=1.6)
        ax.text(0.0, 0.5, words("plot.hierarchy.one_leaf"), ha="center", va="center", color=_QUIET, fontsize=9)
        return
    width = 1.6 if tree.n_leaves <= 3 * _FEW else 1.1
    joins = tree.joins
    for join in range(len(joins.first)):
        group, sides = tree.n_leaves + join, [int(joins.first[join]), int(joins.second[join])]
        height, (left, right) = float(layout.height[group]), sorted(float(layout.place[side]) for side in sides)
        for side in sides:
            colour = _colour(layout.cluster[side], colours)
            x = float(layout.place[side])
            ax.plot([x, x], [layout.height[side], height], color=colour, lw=width, solid_capstyle="butt", zorder=2)
        colour = _colour(layout.cluster[group], colours)
        ax.plot([left, right], [height, height], color=colour, lw=width, solid_capstyle="projecting", zorder=3)
        error = float(joins.strength_error[join])
        low, high = max(height - error, min(height, 0.0)), min(height + error, max(height, 1.0))
        x = left + 0.25 * (right - left)  # beside the line that goes up from the middle
        ax.plot([x, x], [low, high], color=_TEXT, lw=0.7 * width, alpha=0.7, zorder=4, gid="error")


def _colour(cluster: np.int64, colours: Any) -> Any:
    return _UNDONE if cluster < 0 else colours(int(cluster) % 10)


def _draw_axes(ax: Any, layout: _Layout, threshold: float | None, words: Words) -> None:
    """Draw the scale of strengths, the part above it where joins of strength 1 are stacked, and the threshold."""
    from matplotlib.transforms import offset_copy

    low, high, n_leaves = _BARS[0], max(1.0, float(layout.height.max())) + 0.06, len(layout.order)
    pad = 0.7 if n_leaves > 1 else 1.2
    ax.set(xlim=(-pad, n_leaves - 1 + pad), ylim=(low, high), yticks=np.linspace(0.0, 1.0, 6))
    ax.set_ylabel(words("plot.hierarchy.strength"))
    beside = offset_copy(ax.transAxes, ax.figure, x=-34, units="points")
    ax.yaxis.set_label_coords(0.0, (0.5 - low) / (high - low), transform=beside)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_bounds(0.0, 1.0)
    at_edge = {"textcoords": "offset points", "va": "center", "fontsize": 7.5}
    if threshold is not None:
        ax.axhline(threshold, color=_TEXT, lw=0.8, ls=(0, (4, 3)), zorder=1)
        edge = (1.0, threshold), (4, 0), ("axes fraction", "data")
        ax.annotate(words("plot.hierarchy.threshold", threshold=f"{threshold:g}"), *edge, color=_TEXT, **at_edge)
    if high > 1.06:
        ax.axhspan(1.0, high, color="#F3F3F3", lw=0, zorder=0)
    if high > 1.06 + 2 * _STEP:
        edge = (0.0, (1.0 + high) / 2), (-4, 0), ("axes fraction", "data")
        ax.annotate(words("plot.hierarchy.above"), *edge, ha="right", color=_QUIET, **at_edge)


def _draw_sizes(ax: Any, tree: Tree, layout: _Layout, colours: Any) -> None:
    """Draw a bar per leaf, hanging down, as long as its size."""
    sizes, clusters = np.maximum(tree.size[tree.column < 0], 0.0)[layout.order], layout.cluster[layout.order]
    lengths = (_BARS[1] - _BARS[0]) * sizes / max(float(sizes.max()), 1.0)
    look = [colours(int(cluster) % 10) for cluster in clusters]
    ax.bar(np.arange(len(sizes)), -lengths, 0.8, bottom=_BARS[1], color=look, alpha=0.45, lw=0)
    for x, (size, cluster) in enumerate(zip(sizes, clusters, strict=True)):
        if len(sizes) <= _FEW and np.sum(clusters == cluster) > 1:
            ax.text(x, _BARS[1] - 0.02, f"{size:,.0f}", ha="center", va="top", fontsize=7, color=_TEXT)


def _label_clusters(ax: Any, tree: Tree, layout: _Layout, colours: Any, words: Words) -> None:
    """Label clusters with number and size below the middle of their leaves; where room is short, the largest ones."""
    clusters = layout.cluster[layout.order]
    sizes = tree.size[tree.column < 0][layout.order]
    found = {
        int(cluster): (float(np.flatnonzero(clusters == cluster).mean()), float(sizes[clusters == cluster].sum()))
        for cluster in np.unique(clusters)
    }
    box = ax.get_window_extent()
    room = 72.0 * box.width / ax.figure.dpi / tree.n_leaves  # points per leaf
    upright = min(_gaps(place for place, _ in found.values()), default=np.inf) * room >= _ROOM
    labelled: dict[int, float] = {}
    for cluster, (place, _) in sorted(found.items(), key=lambda item: -item[1][1]):
        if all(abs(place - other) * room >= (_ROOM if upright else _ROOM_TURNED) for other in labelled.values()):
            labelled[cluster] = place
    texts = [f"{c}\n{found[c][1]:,.0f}" if upright else f"{c}: {found[c][1]:,.0f}" for c in labelled]
    ax.set_xticks(list(labelled.values()), texts, rotation=0 if upright else 90, fontsize=8)
    for text, cluster in zip(ax.get_xticklabels(), labelled, strict=True):
        text.set_color(_darker(colours(cluster % 10)))
    ax.tick_params(axis="x", length=0)
    key = "plot.hierarchy.clusters" if len(labelled) == len(found) else "plot.hierarchy.some_clusters"
    ax.set_xlabel(words(key, counted=counted_text(tree.counted, words), labelled=len(labelled), n=len(found)))


def _gaps(places: Iterable[float]) -> NDArray[np.float64]:
    return np.diff(np.sort(np.array(list(places))))


def _darker(colour: Any) -> tuple[float, float, float]:
    red, green, blue = (0.7 * float(part) for part in colour[:3])
    return red, green, blue
