"""Segments for every k: the tables that the slider of the report goes through, and the curve of how much they explain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpmondrian.release import MOST_K, Clusters, Measured, Release
from dpmondrian.show.report.comparison import Everyone
from dpmondrian.show.report.drawings import Frame
from dpmondrian.show.report.overview import Overview, overview
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.texts.clusters import divided_text, quality_text, silhouette_texts
from dpmondrian.show.words import Words
from dpmondrian.show.words.numbers import share_text

_MOST_COLUMNS = 24  # of the tables, which hold 210 segments together
_WITHOUT_SCRIPT = (2, 3, 5, 8)  # numbers of segments that are shown where no script runs
_USUAL_K = 5


@dataclass(frozen=True)
class Point:
    """One number of segments: how much it explains, as text and in pixels with the ends of the whisker, and its table."""

    k: int
    quality: str
    error: str
    silhouette: str  # empty where it was not measured
    divided: str  # what it means that there are fewer cells; empty if there are not
    x: float
    y: float
    low: float
    high: float
    table: Overview
    without_script: bool


@dataclass(frozen=True)
class More:
    """How good more segments are than the slider shows."""

    k: int
    quality: str
    silhouette: str


@dataclass(frozen=True)
class Segments:
    """What the section of segments shows."""

    points: tuple[Point, ...]
    first: int  # the k that is shown first
    n_cells: int
    frame: Frame
    more: tuple[More, ...]  # of as many as were measured beyond the slider

    @property
    def path(self) -> str:
        """The curve as an SVG path."""
        return "M" + "L".join(f"{point.x:g} {point.y:g}" for point in self.points)


def segments(shown: Shown, every: Everyone) -> Segments | None:
    """Return what to show of the segments of a release; None if it has no cells."""
    cells, release = shown.release.cells, shown.release
    if cells is None:
        return None
    n_found = len(release.sizes)
    frame = Frame(width=640.0, height=220.0, left=64.0, pad=8.0)
    return Segments(
        points=tuple(_point(shown, every, frame, release.clusters(k)) for k in range(1, MOST_K + 1)),
        first=n_found if 1 < n_found <= MOST_K else _USUAL_K,
        n_cells=len(cells),
        frame=frame,
        more=tuple(_more(release, shown.words)),
    )


def _more(release: Release, words: Words) -> Iterator[More]:
    qualities = release.qualities()
    for k, quality, error, silhouette in zip(
        qualities.k.tolist(), qualities.quality, qualities.error, qualities.silhouette, strict=True
    ):
        if k > MOST_K and silhouette is not None:
            value, interval = silhouette_texts(silhouette, words)
            yield More(k, quality_text(float(quality), float(error)), f"{value} ({interval})")


def _point(shown: Shown, every: Everyone, frame: Frame, clusters: Clusters) -> Point:
    k, quality, error = clusters.n_clusters, clusters.quality, clusters.quality_error
    y, low, high = (frame.y(min(max(value, 0.0), 1.0)) for value in (quality, quality - error, quality + error))
    return Point(
        k=k,
        quality=share_text(quality, error),
        error=share_text(error, error),
        silhouette="" if clusters.silhouette is None else _silhouette(clusters.silhouette, shown.words),
        divided=divided_text(shown.release, shown.words) if clusters.is_divided else "",
        x=frame.x((k - 1) / (MOST_K - 1)),
        y=y,
        low=low,
        high=high,
        table=overview(shown, every, clusters, _MOST_COLUMNS),
        without_script=k in _WITHOUT_SCRIPT,
    )


def _silhouette(measured: Measured, words: Words) -> str:
    text, interval = silhouette_texts(measured, words)
    return words("report.segments.silhouette", silhouette=text, interval=interval)
