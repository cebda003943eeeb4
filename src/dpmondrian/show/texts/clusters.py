"""Clusters in words: what was found and how surely, segments for any k as a table, and how good each k is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.schema import Indicator, Schema
from dpmondrian.show.texts.facts import counted_text, table_lines
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import number, percent, rough_size, share_text, size_text, value_text

if TYPE_CHECKING:
    from dpmondrian.release import Clusters, Measured, Qualities, Release

_MOST_COLUMNS, _MOST_SEGMENTS = 8, 100
_HUNDREDTHS = 0.003  # with a smaller error than this, both ends of an interval may be the same in hundredths

_VERDICTS = ((0.99, "certain"), (0.95, "very_likely"), (0.8, "likely"), (0.5, "possible"), (0.0, "doubtful"))
"""From which certainty on each verdict holds."""


def certainty_texts(release: Release, words: Words = ENGLISH) -> list[str]:
    """Return how sure it is that each cluster is apart; empty texts where that was not found out, or where there is but one."""
    if release.certainty is None or len(release.sizes) == 1:
        return [""] * len(release.sizes)
    return [_certainty_text(certainty, words) for certainty in release.certainty.tolist()]


def _certainty_text(certainty: float, words: Words) -> str:
    """Return how sure it is that a cluster is apart from the others, such as "very likely (97.2 %)"."""
    verdict = next(name for least, name in _VERDICTS if certainty >= least)
    share = words("certainty.above", percent=percent(0.999)) if certainty > 0.999 else percent(certainty)
    return _breakable(words("certainty", verdict=words(f"certainty.{verdict}"), percent=share))


def one_cluster_text(release: Release, way: str = "python", path: str = "", words: Words = ENGLISH) -> str:
    """Return that nothing could be seen that is apart, and what can be done with the same release where it is read."""
    rows, counted = rough_size(float(release.tree.size[0])), counted_text(release.tree.counted, words)
    return f"{words('found.one', rows=rows, counted=counted)} {words(f'found.one.{way}', path=path)}"


def clusters_text(clusters: Clusters, words: Words = ENGLISH) -> str:
    """Return segments as a title and a table; of very many the first ones, in the first columns."""
    lines = table_lines([segment_head(clusters, words), *segment_rows(clusters)[:_MOST_SEGMENTS]])
    return "\n".join([segment_title(clusters, words), "", *lines])


def segment_title(clusters: Clusters, words: Words = ENGLISH) -> str:
    """Return how many segments there are, of how many rows, and what they explain."""
    tree = clusters.release.tree
    title = words(
        "segments.title",
        n=clusters.n_clusters,
        rows=rough_size(float(tree.size[0])),
        counted=counted_text(tree.counted, words),
        quality=quality_text(clusters.quality, clusters.quality_error),
    )
    return f"{title}. {divided_text(clusters.release, words)}" if clusters.is_divided else title


def divided_text(release: Release, words: Words = ENGLISH) -> str:
    """Return what it means that there are more segments than cells."""
    n_cells = 0 if release.cells is None else len(release.cells)
    return words("segments.divided", n=n_cells, counted=counted_text(release.tree.counted, words))


def numbers_first(schema: Schema) -> list[int]:
    """Return the places of the columns of centres, shares of categories last: a few of them would fill a narrow table."""
    columns = schema.centre_columns
    return sorted(range(len(columns)), key=lambda j: isinstance(columns[j], Indicator))


def segment_head(clusters: Clusters, words: Words = ENGLISH, most_columns: int = _MOST_COLUMNS) -> tuple[str, ...]:
    """Return the heads of the table of segments."""
    schema = clusters.release.schema
    names = (printable(schema.centre_names[j]) for j in numbers_first(schema)[:most_columns])
    counted = counted_text(clusters.release.tree.counted, words)
    return (words("segments.segment"), counted, words("segments.share"), *names)


def segment_rows(clusters: Clusters, most_columns: int = _MOST_COLUMNS) -> list[tuple[str, ...]]:
    """Return the lines of the table of segments: number, size, share and centre, with errors."""
    columns, order = clusters.release.schema.centre_columns, numbers_first(clusters.release.schema)[:most_columns]
    whole, centres, errors = max(float(clusters.sizes.sum()), 1.0), clusters.centres, clusters.centre_errors
    return [
        (
            str(number),
            size_text(float(clusters.sizes[number]), float(clusters.size_errors[number])),
            _breakable(share_text(float(clusters.sizes[number]) / whole, float(clusters.size_errors[number]) / whole)),
            *(_breakable(value_text(columns[j], float(centres[number, j]), float(errors[number, j]))) for j in order),
        )
        for number in range(clusters.n_clusters)
    ]


def quality_text(quality: float, error: float) -> str:
    """Return the share of the variance that is explained, with its standard error: none of a single segment."""
    if not quality:
        return _breakable(percent(0.0, 0))
    return _breakable(f"{share_text(quality, error)} ± {share_text(error, error)}")


def measured_texts(measured: Measured, text: Callable[[float], str], words: Words = ENGLISH) -> tuple[str, str]:
    """Return a private number and its interval."""
    return text(measured.value), words("measured.interval", low=text(measured.low), high=text(measured.high))


def silhouette_texts(measured: Measured, words: Words = ENGLISH) -> tuple[str, str]:
    """Return a silhouette and its interval: two decimals, or three if its error leaves them."""
    return measured_texts(measured, partial(number, decimals=2 if measured.error >= _HUNDREDTHS else 3), words)


def _breakable(text: str) -> str:
    """Return a text with spaces that every terminal shows."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def qualities_text(qualities: Qualities, words: Words = ENGLISH) -> str:
    """Return the quality of every k as a table; the silhouettes of those that were measured."""
    measured = any(one is not None for one in qualities.silhouette)
    heads = ("segments.number", "segments.quality", *(("segments.silhouette",) if measured else ()))
    rows: list[tuple[str, ...]] = [tuple(map(words, heads))]
    for k, quality, error, silhouette in zip(
        qualities.k, qualities.quality, qualities.error, qualities.silhouette, strict=True
    ):
        known = "" if silhouette is None else f"{silhouette.value:.3f} ± {silhouette.error:.3f}"
        rows.append((str(k), quality_text(float(quality), float(error)), *((known,) if measured else ())))
    return "\n".join(table_lines(rows))
