"""The map of cuts: where everything lies, for the template to write as SVG.

The script of the report moves its marks when other columns are chosen; `mondrian_data` is what it needs.
Places are given from 0 to 1 between the bounds, so the script knows nothing of logarithms or digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Column
from dpmondrian.show.report.cards import mean_texts
from dpmondrian.show.report.palette import look_of, shape_path
from dpmondrian.show.report.scales import (
    Axis,
    Ticks,
    axis_of_column,
    axis_of_sizes,
    default_columns,
    leaf_boxes,
    places,
)
from dpmondrian.show.report.selection import Shown

_STEPS = 10_000  # places are given to the script as whole numbers up to this


@dataclass(frozen=True)
class Frame:
    """A drawing's size, the margins around it, and the room between its edges and the bounds, in pixels."""

    width: float = 880.0
    height: float = 560.0
    left: float = 66.0
    right: float = 18.0
    top: float = 14.0
    bottom: float = 52.0
    pad: float = 0.0

    def x(self, place: float) -> float:
        """Return the pixel of a place from left to right."""
        return round(self.left + self.pad + place * (self.width - self.left - self.right - 2 * self.pad), 1)

    def y(self, place: float) -> float:
        """Return the pixel of a place from bottom to top."""
        span = self.height - self.top - self.bottom - 2 * self.pad
        return round(self.height - self.bottom - self.pad - place * span, 1)


@dataclass(frozen=True)
class Box:
    """A leaf, as a rectangle in pixels."""

    cluster: int
    colour: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Dot:
    """A centre in pixels, with its outline around the origin and the lines of its error bars."""

    cluster: int
    colour: int
    shape: int
    x: float
    y: float
    outline: str
    whiskers: str
    labelled: bool


@dataclass(frozen=True)
class Mondrian:
    """Boxes and centres in two columns."""

    frame: Frame
    options: tuple[str, ...]
    x_option: int
    y_option: int
    x_ticks: Ticks
    y_ticks: Ticks
    boxes: tuple[Box, ...]
    dots: tuple[Dot, ...]
    box_opacity: float


def mondrian(shown: Shown) -> Mondrian:
    """Return the drawing of the default columns. The last option is the size, which stands beside a single column."""
    n_columns = len(shown.columns)
    x_column, y_column = default_columns(shown.release)
    x_option = shown.columns.index(x_column)
    y_option = n_columns if y_column is None else shown.columns.index(y_column)
    axes = [axis_of_column(shown.release, x_column), _axis(shown, y_option)]
    spans, frame = _spans(shown), Frame(left=_room_for(axes[1].ticks), pad=18.0)
    return Mondrian(
        frame=frame,
        options=(*(shown.labels[j] for j in shown.columns), shown.words("number_of", counted=shown.counted)),
        x_option=x_option,
        y_option=y_option,
        x_ticks=axes[0].ticks,
        y_ticks=axes[1].ticks,
        boxes=tuple(_box(frame, cluster, span, x_option, y_option) for cluster, span in spans),
        dots=tuple(_dot(frame, cluster, axes, radius) for cluster, radius in enumerate(_radii(shown))),
        box_opacity=_box_opacity(spans, x_option, y_option),
    )


def _room_for(ticks: Ticks) -> float:
    """Return the margin to the left in which ticks and the name of the axis find room; the script does the same."""
    return max(60.0, 36.0 + 7.2 * max((len(text) for _, text in ticks), default=0))


def _axis(shown: Shown, option: int) -> Axis:
    """Return the axis of one of the options."""
    if option == len(shown.columns):
        return axis_of_sizes(shown.release)
    return axis_of_column(shown.release, shown.columns[option])


def _spans(shown: Shown) -> list[tuple[int, dict[int, tuple[float, float]]]]:
    """Return the cluster of every leaf and its places by option, where it is narrower than the bounds."""
    options = {j: option for option, j in enumerate(shown.columns)}
    return [
        (cluster, {options[j]: _places(shown.centre_columns[j], ends) for j, ends in box.items() if j in options})
        for cluster, box in leaf_boxes(shown.release)
        if cluster < shown.n_clusters
    ]


def _places(column: Column, ends: tuple[float, float]) -> tuple[float, float]:
    low, high = places(column, np.array(ends)).tolist()
    return low, max(low, high)


def _box(frame: Frame, cluster: int, span: dict[int, tuple[float, float]], x_option: int, y_option: int) -> Box:
    (x0, x1), (y0, y1) = span.get(x_option, (0.0, 1.0)), span.get(y_option, (0.0, 1.0))
    left, top = frame.x(x0), frame.y(y1)
    return Box(cluster, look_of(cluster)[0], left, top, round(frame.x(x1) - left, 1), round(frame.y(y0) - top, 1))


def _box_opacity(spans: list[tuple[int, dict[int, tuple[float, float]]]], x_option: int, y_option: int) -> float:
    """Return how opaque boxes are: the more lie upon each other, the less; the script does the same."""
    whole = (0.0, 1.0)
    widths = [[high - low for low, high in (span.get(x_option, whole), span.get(y_option, whole))] for _, span in spans]
    layers: float = max(1.0, math.fsum(width * height for width, height in widths))
    return round(min(0.18, max(0.015, 0.18 * math.pow(layers, -0.85))), 3)


def _radii(shown: Shown) -> list[float]:
    """Return the radius of every dot: areas are in proportion to sizes, but for the smallest."""
    sizes = np.maximum(shown.release.sizes[: shown.n_clusters], 0.0)
    largest = 24.0 if len(sizes) <= 30 else 16.0 if len(sizes) <= 150 else 9.0
    smallest = 9.0 if len(sizes) <= 30 else 4.0
    scaled: NDArray[np.float64] = largest * np.sqrt(sizes / max(float(sizes.max()), 1.0))
    return np.maximum(scaled, smallest).round(1).tolist()  # type: ignore[no-any-return]


def _dot(frame: Frame, cluster: int, axes: list[Axis], radius: float) -> Dot:
    horizontal, vertical = axes
    x, y = frame.x(float(horizontal.centre[cluster])), frame.y(float(vertical.centre[cluster]))
    x0, x1 = (frame.x(float(end[cluster])) for end in (horizontal.low, horizontal.high))
    y0, y1 = (frame.y(float(end[cluster])) for end in (vertical.low, vertical.high))
    colour, shape = look_of(cluster)
    whiskers = f"M{x0:g} {y:g}H{x1:g}M{x:g} {y0:g}V{y1:g}"
    return Dot(cluster, colour, shape, x, y, shape_path(shape, radius), whiskers, radius >= 8.0)


def mondrian_data(shown: Shown) -> dict[str, Any]:
    """Return what the script needs to show other columns: per option ticks and places, per leaf its box."""
    axes = [_axis(shown, option) for option in range(len(shown.columns) + 1)]
    texts = [
        [shown.words("report.map.value", value=value, error=error) for value, error in means]
        for means in ([mean_texts(shown, cluster, j) for j in shown.columns] for cluster in range(shown.n_clusters))
    ]
    return {
        "ticks": [[[_step(place), text] for place, text in axis.ticks] for axis in axes],
        "centres": [
            [[_step(float(part[cluster])) for part in (axis.centre, axis.low, axis.high)] for axis in axes]
            for cluster in range(shown.n_clusters)
        ],
        "texts": texts,
        "boxes": [
            {str(option): [_step(low), _step(high)] for option, (low, high) in span.items()}
            for _, span in _spans(shown)
        ],
        "words": {
            key: shown.words(f"report.{key}", n="{n}", cluster="{cluster}")
            for key in ("cluster", "dark", "light", "more_rules")
        },
    }


def _step(place: float) -> int:
    return round(place * _STEPS)
