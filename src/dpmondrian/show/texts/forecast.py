"""A forecast as plain text: warnings, three sentences, and a table that sets three runs side by side. "±" is a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.planning import CentreError, SizeError, doubts_of, was_findable
from dpmondrian.show.doubts import FAILURES, doubt_text
from dpmondrian.show.texts.facts import counted_text, table_lines
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import rough_size, rounded

if TYPE_CHECKING:
    from dpmondrian.planning import Forecast, Outlook
    from dpmondrian.release import Release

_COLUMNS_IN_WORDS, _COLUMNS_IN_TABLE = (
    3,
    20,
)  # a table of a hundred columns has a forecast for each, which `to_dict` holds

_MEANS = {"number": "forecast.mean", "log": "forecast.geometric_mean", "share": "forecast.share"}


def forecast_text(forecast: Forecast, words: Words = ENGLISH) -> str:
    """Return warnings and the three sentences."""
    warnings = [words("forecast.warning", sentence=sentence) for sentence in warnings_of(forecast, words)]
    return "\n".join([*warnings, *sentences(forecast, words)])


def details_text(forecast: Forecast, words: Words = ENGLISH) -> str:
    """Return the table, what "±" means, and where the budget goes, as plain text."""
    table = table_lines([headings(forecast, words), *table_rows(forecast, words)])
    return "\n".join([*table, "", *notes(forecast, words)])


def findable_text(release: Release, words: Words = ENGLISH) -> str | None:
    """Return which clusters could have been found in the run of a release; None where k was given."""
    found, counted = was_findable(release), counted_text(release.tree.counted, words)
    if found is None:
        return None
    if math.isinf(found.rows):
        return words("found.no_limits", rows=rough_size(release.tree.size[0]), counted=counted)
    return words("found.limits", counted=counted, **_limits(found.rows, found.share, found.gap))


def warnings_of(forecast: Forecast, words: Words = ENGLISH) -> tuple[str, ...]:
    """Return sentences about what will not work, the worst first."""
    found = []
    for doubt in doubts_of(forecast):
        sentence = doubt_text(doubt, forecast.design.counted, words)
        found.append(words("doubt.fails", sentence=sentence) if doubt.key in FAILURES else sentence)
    return tuple(found)


def sentences(forecast: Forecast, words: Words = ENGLISH) -> list[str]:
    """Return what will be found, how exactly, and what to change: a sentence each."""
    outlook, counted = forecast.outlook, counted_text(forecast.design.counted, words)
    *known, last = _known_of_cluster(forecast, words)
    known_of_cluster = words("forecast.and", listed=", ".join(known), last=last) if known else last
    return [
        _what(forecast, counted, words),
        words("forecast.exact", rows=rounded(outlook.cluster_rows), counted=counted, known=known_of_cluster),
        _change(forecast, counted, words),
    ]


def _what(forecast: Forecast, counted: str, words: Words) -> str:
    """Return what will be found, or with k how large clusters should be."""
    outlook = forecast.outlook
    if math.isinf(outlook.smallest):
        return words("forecast.finds_nothing", rows=rounded(outlook.n_rows), counted=counted)
    limits = _limits(outlook.smallest, outlook.smallest / outlook.n_rows, outlook.least_gap)
    key = "forecast.makes" if outlook.least_gap is None else "forecast.finds"
    return words(key, counted=counted, n=forecast.design.expected_clusters, **limits)


def _limits(rows: float, share: float, gap: float | None) -> dict[str, str]:
    return {"rows": rough_size(rows, 2), "share": f"{100.0 * share:.1f} %", "gap": "" if gap is None else f"{gap:.1f}"}


def _change(forecast: Forecast, counted: str, words: Words) -> str:
    """Return what to change, if this is too little, or for more."""
    outlook = forecast.outlook
    if not outlook.works:
        return _enough(forecast, counted, words)
    epsilon, rows = forecast.twice_epsilon, forecast.twice_rows
    return words(
        "forecast.better",
        counted=counted,
        seen=words("forecast.better.made" if outlook.least_gap is None else "forecast.better.found"),
        epsilon_times=_times(outlook, epsilon),
        epsilon_rows=rough_size(epsilon.smallest, 2),
        epsilon_share=_share(epsilon),
        rows_times=_times(outlook, rows),
        rows_rows=rough_size(rows.smallest, 2),
        rows_share=_share(rows),
    )


def _share(outlook: Outlook) -> str:
    """Return the share of all rows that the smallest cluster holds."""
    return f"{100.0 * outlook.smallest / outlook.n_rows:.1f} %"


def _times(outlook: Outlook, other: Outlook) -> str:
    """Return how many times as exact centres are in another run."""
    return f"{outlook.centres[0].standard_error / other.centres[0].standard_error:.1f}"


def _enough(forecast: Forecast, counted: str, words: Words) -> str:
    ways = []
    if forecast.enough_epsilon is not None:
        ways.append(words("forecast.enough.epsilon", epsilon=f"{forecast.enough_epsilon:g}"))
    if forecast.enough_rows is not None:
        ways.append(words("forecast.enough.rows", rows=f"{forecast.enough_rows:,}", counted=counted))
    if not ways:
        return words("forecast.not_enough", counted=counted)
    way = ways[0] if len(ways) == 1 else words("forecast.enough.or", one=ways[0], other=ways[1])
    return words("forecast.enough", n=forecast.design.expected_clusters, way=way)


def _known_of_cluster(forecast: Forecast, words: Words) -> Iterator[str]:
    """Yield how well size, means and profiles of a cluster will be known; profiles tell shares of categories better than means do."""
    outlook, profile = forecast.outlook, forecast.outlook.profile
    centres = [error for error in outlook.centres if profile is None or error.scale != "share"]
    yield words("forecast.size", error=rounded(outlook.cluster.half_width))
    means = [
        words(
            "forecast.centre",
            centre=_of_column(error, words),
            error=_known_to(error, words, "forecast.percentage_points"),
        )
        for error in centres[:_COLUMNS_IN_WORDS]
    ]
    if len(centres) > _COLUMNS_IN_WORDS:
        means[-1] = words("forecast.more_columns", listed=means[-1], n=len(centres) - _COLUMNS_IN_WORDS)
    yield from means
    if profile is not None and centres:
        yield words("forecast.median", rank=rounded(100.0 * profile.rank))
    if profile is not None and len(centres) < len(outlook.centres):
        yield words("forecast.category", share=rounded(100.0 * profile.share))


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
    gaps = [line(words("forecast.row.gap"), lambda run: rounded(run.least_gap or 0.0))]
    return [
        line(words("forecast.row.epsilon"), lambda run: f"{run.epsilon:g}"),
        line(words("number_of", counted=counted), lambda run: _size(run.n_rows, run.all_rows)),
        line(words("forecast.row.smallest"), lambda run: rough_size(run.smallest, 2)),
        *([] if runs[0].least_gap is None else gaps),
        line(of_cluster, lambda run: _size(run.cluster_rows, run.cluster)),
        *(centre_line(j) for j in range(n_shown)),
        *_profile_lines(runs, words),
        line(words("forecast.row.levels"), lambda run: str(run.levels)),
        line(words("forecast.row.cells"), lambda run: rounded(run.n_cells)),
        line(words("forecast.row.cell"), lambda run: _size(run.n_rows / run.n_cells, run.cell)),
    ]


def _profile_lines(runs: Sequence[Outlook], words: Words) -> Iterator[tuple[str, ...]]:
    """Yield the lines on quartiles and shares, where there will be profiles."""
    known = [run.profile for run in runs if run.profile is not None]
    if known:
        yield (words("forecast.row.quartile"), *(f"± {rounded(100.0 * one.rank)}" for one in known))
        yield (
            words("forecast.row.share"),
            *(words("forecast.points", error=rounded(100.0 * one.share)) for one in known),
        )


def notes(forecast: Forecast, words: Words = ENGLISH) -> list[str]:
    """Return what "±" means, and where the budget goes."""
    shares = {name: f"{100.0 * share:.0f} %" for name, share in forecast.design.settings.chosen_shares.items()}
    key = "forecast.shares.profiles" if "profiles" in shares else "forecast.shares"
    return [words("forecast.interval"), words(key, **shares)]


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
