"""Where values lie between the bounds of their column, and the ticks of its axis: from 0 at the lower bound to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release import Release, Tree
from dpmondrian.schema import Bands, Column, Indicator
from dpmondrian.show.words.numbers import clean, number

Ticks = tuple[tuple[float, str], ...]

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """One axis: its ticks, and the places of the centres with the ends of one standard error to either side."""

    ticks: Ticks
    centre: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def places(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where values lie between the bounds, on the column's own scale; those beyond at the edge."""
    lower, upper = column.lower, column.upper
    values = np.clip(values, lower, upper)
    if column.log:
        lower, upper, values = math.log(lower), math.log(upper), np.log(values)
    with np.errstate(over="ignore"):
        place: NDArray[np.float64] = np.clip((values - lower) / (upper - lower), 0.0, 1.0)
    return place


def axis_of_column(release: Release, j: int) -> Axis:
    """Return the axis of one of the columns of centres."""
    column, values, errors = release.schema.centre_columns[j], release.centres[:, j], release.centre_errors[:, j]
    return Axis(
        ticks=_ticks(column),
        centre=places(column, values),
        low=places(column, values - errors),
        high=places(column, values + errors),
    )


def axis_of_sizes(release: Release) -> Axis:
    """Return the axis of the sizes of the clusters, from 0."""
    top = float(max((release.sizes + release.size_errors).max(), 1.0)) * 1.05
    column = Column("size", 0.0, top)
    return Axis(
        ticks=_ticks(column),
        centre=places(column, release.sizes),
        low=places(column, release.sizes - release.size_errors),
        high=places(column, release.sizes + release.size_errors),
    )


def _ticks(column: Column) -> Ticks:
    if isinstance(column, Indicator):
        return tuple((share / 100, f"{share} %") for share in (0, 25, 50, 75, 100))
    if isinstance(column.notation, Bands):
        shown = np.unique(np.linspace(0, column.upper, min(_MOST_TICKS, len(column.notation.bands))).round())
        return _labelled(column, shown, [clean(column.notation.text(place), 12) for place in shown.tolist()])
    return _log_ticks(column) if column.log else _even_ticks(column)


def _even_ticks(column: Column) -> Ticks:
    """Return round values within the bounds, at most seven."""
    rough = (column.upper - column.lower) / (_MOST_TICKS - 1)
    power = math.floor(math.log10(rough))
    step = next(10.0**power * s for s in _STEPS if 10.0**power * s >= rough * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if f"{step:e}".startswith("2.5") else 0))
    first, last = math.ceil(column.lower / step - 1e-9), math.floor(column.upper / step + 1e-9)
    if last - first > 4 * _MOST_TICKS:  # bounds so close together that their quotients are rounded
        return ()
    values = [k * step for k in range(first, last + 1)]
    written = [None if column.notation is None else column.notation.text(value) for value in values]
    texts = [text or number(value, decimals) for text, value in zip(written, values, strict=True)]
    return _labelled(column, np.array(values), texts)


def _log_ticks(column: Column) -> Ticks:
    """Return powers of ten within the bounds, with their doubles and fivefolds where there are few."""
    low, high = math.floor(math.log10(column.lower)), math.ceil(math.log10(column.upper))
    for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        values = [f * 10.0**k for k in range(low, high + 1) for f in factors]
        values = [
            value for value in values if column.lower <= value * (1 + 1e-12) and value <= column.upper * (1 + 1e-12)
        ]
        if len(values) <= _MOST_TICKS + 2:
            break
    values = values[:: math.ceil(len(values) / _MOST_TICKS)] if len(values) > _MOST_TICKS + 2 else values
    if len(values) < 2:
        return _even_ticks(column)
    return _labelled(
        column, np.array(values), [f"{value:,.0f}" if 1 <= value < 1e7 else f"{value:g}" for value in values]
    )


def _labelled(column: Column, values: NDArray[np.float64], texts: list[str]) -> Ticks:
    return tuple(zip(places(column, values).round(6).tolist(), texts, strict=True))


def columns_by_cuts(release: Release) -> list[int]:
    """Return the columns of centres by how much they are cut: a cut counts half as much on each level further down.

    Cuts between clusters count, or all cuts where there is but one cluster.
    """
    tree, n_columns = _tree_with_cuts(release), len(release.schema.centre_columns)
    is_cut = tree.column >= 0
    weight = np.bincount(tree.column[is_cut], 0.5 ** tree.depths[is_cut], n_columns)
    is_share = [isinstance(column, Indicator) for column in release.schema.centre_columns]
    return sorted(range(n_columns), key=lambda j: (-weight[j], is_share[j], j))


def default_columns(release: Release) -> tuple[int, int | None]:
    """Return the two columns of centres that are cut most, in the order of the table; None where there is but one.

    Numeric columns that are cut come before shares of categories, which lie at the edges of a map.
    """
    cut, columns = set(_tree_with_cuts(release).column.tolist()), release.schema.centre_columns
    by_cuts = columns_by_cuts(release)
    by_cuts.sort(
        key=lambda j: (j not in cut, isinstance(columns[j], Indicator))
    )  # stable: else by how much they are cut
    first, *others = by_cuts[:2]
    return (min(first, others[0]), max(first, others[0])) if others else (first, None)


def _tree_with_cuts(release: Release) -> Tree:
    """Return the tree of the clusters, or the whole tree if that has no cuts."""
    pruned = release.tree.pruned
    return pruned if pruned.n_leaves > 1 else release.tree


def leaf_boxes(release: Release) -> list[tuple[int, dict[int, tuple[float, float]]]]:
    """Return the cluster of every part and its interval in those columns of centres in which it is cut, by cluster.

    Between whole numbers the edge is drawn midway, and so it is between being in a category and not, so that no box is
    without width.
    """
    tree, columns = release.tree.pruned, release.schema.centre_columns
    boxes: dict[int, dict[int, tuple[float, float]]] = {0: {}}
    leaves = []
    for node, j in enumerate(tree.column.tolist()):
        box = boxes.pop(node)
        if j < 0:
            leaves.append((int(tree.cluster[node]), box))
            continue
        low, high = box.get(j, (columns[j].lower, columns[j].upper))
        edge = min(max(_edge(columns[j], float(tree.threshold[node])), low), high)
        boxes[int(tree.left[node])] = {**box, j: (low, edge)}
        boxes[int(tree.right[node])] = {**box, j: (edge, high)}
    return sorted(leaves, key=lambda leaf: leaf[0])  # stable, so the leaves of a cluster are in the order of its rules


def _edge(column: Column, threshold: float) -> float:
    """Return where the edge of a cut is drawn."""
    return math.floor(threshold) + 0.5 if column.whole else threshold
