"""A forecast as plain text: warnings, sentences, and a table that sets three runs side by side. "±" is a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.planning import CentreError, SizeError, doubts_of
from dpmondrian.show.doubts import doubt_text
from dpmondrian.show.texts.facts import counted_text, table_lines
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import rounded

if TYPE_CHECKING:
    from dpmondrian.planning import Forecast, Outlook

__all__ = ["forecast_text", "headings", "sentences", "table_rows", "warnings_of"]

_COLUMNS_IN_WORDS, _COLUMNS_IN_TABLE = 6, 20
"""So many columns are named; a table of a hundred columns has a forecast for each, which `to_dict` holds."""

_FAILURES = ("few_rows", "blurred_centres")
"""Doubts that make a run useless."""

_MEANS = {"number": "forecast.mean", "log": "forecast.geometric_mean", "share": "forecast.share"}


def forecast_text(forecast: Forecast, words: Words = ENGLISH) -> str:
    """Return warnings, sentences and the table as plain text."""
    table = table_lines([headings(forecast, words), *table_rows(forecast, words)])
    warnings = [words("forecast.warning", sentence=sentence) for sentence in warnings_of(forecast, words)]
    return "\n".join([*warnings, *sentences(forecast, words), "", *table, "", words("forecast.interval")])


def warnings_of(forecast: Forecast, words: Words = ENGLISH) -> tuple[str, ...]:
    """Return sentences about what will not work, the worst first."""
    found = []
    for doubt in doubts_of(forecast):
        sentence = doubt_text(doubt, forecast.design.counted, words)
        found.append(words("doubt.fails", sentence=sentence) if doubt.key in _FAILURES else sentence)
    return tuple(found)


def sentences(forecast: Forecast, words: Words = ENGLISH) -> list[str]:
    """Return what to expect of the run as it was asked for, a sentence each."""
    outlook, counted = forecast.outlook, counted_text(forecast.design.counted, words)
    rows, smallest = rounded(outlook.cluster_rows), rounded(outlook.smallest.rows)
    found = "forecast.smallest" if forecast.design.has_cuts else "forecast.nothing_cut"
    return [
        words("forecast.all", counted=counted, error=rounded(outlook.all_rows.half_width)),
        words("forecast.cluster", rows=rows, counted=counted, known=", ".join(_known_of_cluster(outlook, words))),
        words(found, rows=smallest, counted=counted),
        *_guarantees(outlook, counted, words),
    ]


def _known_of_cluster(outlook: Outlook, words: Words) -> Iterator[str]:
    """Yield how well size and centre of a cluster will be known."""
    yield words("forecast.size", error=rounded(outlook.cluster.half_width))
    for error in outlook.centres[:_COLUMNS_IN_WORDS]:
        known = _known_to(error, words, "forecast.percentage_points")
        yield words("forecast.centre", centre=_of_column(error, words), error=known)
    more = len(outlook.centres) - _COLUMNS_IN_WORDS
    if more > 0:
        yield words("forecast.more_columns", n=more)


def _guarantees(outlook: Outlook, counted: str, words: Words) -> Iterator[str]:
    bounds = outlook.guarantees
    fields = {"counted": counted, "probability": f"{100 * (1 - bounds.beta):g}"}
    yield words("forecast.sure_count", error=rounded(bounds.count), **fields)
    if not math.isfinite(bounds.cut):
        return
    yield words("forecast.sure_cut", error=rounded(bounds.cut), **fields)
    key = "forecast.central_cut" if bounds.central_cut >= 1.0 else "forecast.no_central_cut"
    yield words(key, rows=rounded(outlook.cluster_rows), side=rounded(bounds.central_cut), **fields)


def headings(forecast: Forecast, words: Words = ENGLISH) -> tuple[str, ...]:
    """Return the headings of the table."""
    counted = counted_text(forecast.design.counted, words)
    keys = ("asked", "twice_epsilon", "twice_rows")
    return ("", *(words(f"forecast.head.{key}", counted=counted) for key in keys))


def table_rows(forecast: Forecast, words: Words = ENGLISH) -> list[tuple[str, ...]]:
    """Return the lines of the table that sets three runs side by side, after the one of headings."""
    runs = (forecast.outlook, forecast.twice_epsilon, forecast.twice_rows)
    n_shown = min(len(forecast.outlook.centres), _COLUMNS_IN_TABLE)
    counted = counted_text(forecast.design.counted, words)

    def line(name: str, text: Callable[[Outlook], str]) -> tuple[str, ...]:
        return (name, *(text(run) for run in runs))

    def centre_line(j: int) -> tuple[str, ...]:
        return line(_of_column(runs[0].centres[j], words), lambda run: _known_to(run.centres[j], words))

    of_cluster = words("forecast.row.cluster", n=forecast.design.expected_clusters)
    return [
        line(words("forecast.row.epsilon"), lambda run: f"{run.epsilon:g}"),
        line(words("number_of", counted=counted), lambda run: _size(run.n_rows, run.all_rows)),
        line(of_cluster, lambda run: _size(run.cluster_rows, run.cluster)),
        line(words("forecast.row.leaf"), lambda run: f"± {rounded(run.leaf.half_width)}"),
        *(centre_line(j) for j in range(n_shown)),
        line(words("forecast.row.smallest"), lambda run: rounded(run.smallest.rows)),
        line(words("forecast.row.sure_count"), lambda run: rounded(run.guarantees.count)),
        line(words("forecast.row.sure_cut"), lambda run: rounded(run.guarantees.cut)),
        line(words("forecast.row.central_cut"), lambda run: rounded(run.guarantees.central_cut)),
    ]


def _size(rows: float, error: SizeError) -> str:
    """Return a size with its interval."""
    return f"{rounded(rows)} ± {rounded(error.half_width)}"


def _known_to(error: CentreError, words: Words, points: str = "forecast.points") -> str:
    """Return the interval of a centre with its unit; that of a share is in percentage points."""
    if error.scale == "log":
        return words("forecast.percent", error=rounded(100.0 * error.half_width))
    if error.scale == "share":
        return words(points, error=rounded(100.0 * error.half_width))
    return f"± {rounded(error.half_width)}" + (f" {printable(error.unit)}" if error.unit else "")


def _of_column(error: CentreError, words: Words) -> str:
    """Return what is known of a column, such as "its mean age"."""
    return words(_MEANS[error.scale], name=printable(error.name))
