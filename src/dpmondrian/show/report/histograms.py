"""Small histograms: one column of a cluster before that of all rows, both with the same area."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.digits import decimals_of
from dpmondrian.release import ColumnProfile, Measured
from dpmondrian.schema import Column
from dpmondrian.show.texts.profiles import share_texts
from dpmondrian.show.words.numbers import bound_text, clean, written

WIDTH, HEIGHT = 240.0, 40.0
"""Of the picture, in its own units; it is stretched to its place."""
_MOST_BARS, _MOST_CATEGORIES = 30, 4
_EVERYONE, _OWN = 0.02, 0.1
"""Shares of all rows and of the cluster's that may lie beyond either end: far rows are few, and as many may be noise."""


@dataclass(frozen=True)
class Bars:
    """A numeric column: outlines of both histograms as SVG paths, and the values at the ends."""

    own: str
    every: str
    low: str
    high: str


@dataclass(frozen=True)
class Share:
    """A category: its share in the cluster as text, and both shares as lengths."""

    name: str
    text: str
    own: float
    every: float


def bars(own: ColumnProfile, every: ColumnProfile) -> Bars:
    """Return the histograms of a numeric column on common bins."""
    column = own.column
    assert isinstance(column, Column)
    edges = _bar_edges(column, *_window(own, every))
    heights = [np.diff(_cumulated(profile, edges)) for profile in (own, every)]
    highest = max(float(np.max(heights)), 1e-9)
    paths = [_outline(HEIGHT * height / highest) for height in heights]
    ends = edges[[0, -1]] + [1.0 if column.whole else 0.0, 0.0]
    return Bars(*paths, *_end_texts(column, *(np.exp(ends) if column.log else ends).tolist()))


def shares(own: ColumnProfile, every: ColumnProfile, first: str | None = None) -> tuple[Share, ...]:
    """Return the most frequent categories, the one that sets the cluster apart first; of a column of yes and no, yes."""
    if own.categories is None:
        return (_share(own, every, first or "", own.shares[-1], every.shares[-1]),)
    mine, all_rows = own.share_of, every.share_of
    order = sorted(own.categories, key=lambda level: (level != first, -max(mine[level].value, all_rows[level].value)))
    return tuple(_share(own, every, level, mine[level], all_rows[level]) for level in order[:_MOST_CATEGORIES])


def _share(own: ColumnProfile, every: ColumnProfile, level: str, mine: Measured, all_rows: Measured) -> Share:
    text, _ = share_texts([own, every], level)
    return Share(clean(level, 32), text, _length(mine.value), _length(all_rows.value))


def _length(share: float) -> float:
    return round(WIDTH * min(max(share, 0.0), 1.0), 1)


def _scale_edges(profile: ColumnProfile) -> NDArray[np.float64]:
    assert profile.edges is not None
    return np.log(profile.edges) if isinstance(profile.column, Column) and profile.column.log else profile.edges


def _cumulated(profile: ColumnProfile, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of rows up to points on the scale of the column."""
    rising = np.append(0.0, np.cumsum(profile.counts)) / max(float(profile.counts.sum()), 1.0)
    return np.interp(points, _scale_edges(profile), rising)


def _window(own: ColumnProfile, every: ColumnProfile) -> tuple[float, float]:
    """Return between which places nearly all rows lie, of the cluster and of the table."""
    ends = []
    for profile, beyond in ((own, _OWN), (every, _EVERYONE)):
        rising = np.append(0.0, np.cumsum(profile.counts)) / max(float(profile.counts.sum()), 1.0)
        ends.append(np.interp([beyond, 1.0 - beyond], rising + 1e-12 * np.arange(len(rising)), _scale_edges(profile)))
    return float(min(end[0] for end in ends)), float(max(end[1] for end in ends))


def _bar_edges(column: Column, low: float, high: float) -> NDArray[np.float64]:
    """Return the edges of bars: evenly on the scale, between whole numbers where the column has them."""
    if not column.whole:
        least = 1e-9 * column.range
        return np.linspace(low, max(high, low + least), _MOST_BARS + 1)
    first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    step = math.ceil((last - first) / _MOST_BARS)
    return np.arange(first, last + step, step, dtype=np.float64)


def _outline(heights: NDArray[np.float64]) -> str:
    """Return the outline of bars that stand on the lower edge of the picture, as steps."""
    width, up = WIDTH / len(heights), np.round(HEIGHT - heights, 1)
    steps = "".join(f"V{top:g}H{(bar + 1) * width:.4g}" for bar, top in enumerate(up.tolist()))
    return f"M0 {HEIGHT:g}{steps}V{HEIGHT:g}Z"


def _end_texts(column: Column, low: float, high: float) -> Iterator[str]:
    """Give the values at both ends with two digits of the width between them; on a log scale, of each end."""
    for end in (low, high):
        decimals = decimals_of(abs(end) if column.log else high - low)
        yield written(column, end, decimals) if column.notation else bound_text(round(end, decimals))
