"""A forecast in words: sentences, warnings, and a table that sets three runs side by side. "±" is a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.forecast.centres import CentreError
from dpmondrian.forecast.counts import SizeError
from dpmondrian.privacy.promise import promise_doubts
from dpmondrian.show.doubts import promise_sentence

if TYPE_CHECKING:
    from dpmondrian.forecast.outlook import Forecast, Outlook

__all__ = [
    "EXPLANATION",
    "as_text",
    "headings",
    "rounded",
    "rows_doubts",
    "sentences",
    "table_rows",
    "warnings_of",
]

EXPLANATION = "± is a 95 % interval: how far noise takes a released number from the exact one."

_COLUMNS_IN_WORDS, _COLUMNS_IN_TABLE = 6, 20
"""So many columns are named; a table of a hundred columns has a forecast for each, which `to_dict` holds."""


def rounded(value: float) -> str:
    """Return a number >= 0 with two digits that count, or without decimals if it is large; a dash if it is infinite."""
    if not math.isfinite(value):
        return "-"
    if value >= 100.0:
        return f"{round(value):,}"
    if value == 0.0:
        return "0"
    decimals = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}" if decimals <= 6 else f"{value:.2g}"


def sentences(forecast: Forecast) -> list[str]:
    """Return what to expect of the run as it was asked for, a sentence each."""
    outlook, design = forecast.outlook, forecast.design
    people = design.counted
    found = f"about {rounded(outlook.smallest.rows)} {people}, if it is well apart from the others (an estimate)"
    cluster = [f"its size to ± {rounded(outlook.cluster.half_width)}"]
    named = outlook.centres[:_COLUMNS_IN_WORDS]
    cluster += [f"{_of_column(error)} to {_known_to(error, 'percentage points')}" for error in named]
    more = len(outlook.centres) - _COLUMNS_IN_WORDS
    cluster += [f"and {more} more column{'' if more == 1 else 's'} likewise"] if more > 0 else []
    return [
        f"Number of {people}: known to about ± {rounded(outlook.all_rows.half_width)}.",
        f"A cluster of {rounded(outlook.cluster_rows)} {people}: {', '.join(cluster)}.",
        f"Smallest cluster that will be found: {found if design.has_cuts else 'nothing is cut'}.",
        *_guarantee_sentences(outlook, people),
    ]


def _guarantee_sentences(outlook: Outlook, people: str) -> list[str]:
    bounds = outlook.guarantees
    sure = f"Guaranteed with {100 * (1 - bounds.beta):g} % probability"
    lines = [f"{sure}: the first count of all {people} is off by at most {rounded(bounds.count)}."]
    if not math.isfinite(bounds.cut):
        return lines
    lines.append(
        f"{sure}: the cut that is chosen first scores at most {rounded(bounds.cut)} {people} less than the best one."
    )
    assumed = (
        f"If clusters are as wide as assumed, and an empty gap of a sixteenth of a column's range lies beside one of "
        f"{rounded(outlook.cluster_rows)} {people}: the cut that is chosen first"
    )
    if bounds.central_cut >= 1.0:
        lines.append(
            f"{assumed} has at least {rounded(bounds.central_cut)} {people} on its smaller side, with "
            f"{100 * (1 - bounds.beta):g} % probability."
        )
    else:
        lines.append(f"{assumed} may still lie elsewhere. Later ones may find the gap.")
    return lines


def warnings_of(forecast: Forecast) -> tuple[str, ...]:
    """Return sentences about what will not work, the worst first."""
    outlook, design = forecast.outlook, forecast.design
    people, smallest = design.counted, outlook.smallest.rows
    found = []
    if not design.has_cuts:
        found.append("No cut will be made ('max_depth' is 0, or no column may be cut): all rows are one cluster.")
    else:
        found += [f"This will not work: {sentence}" for sentence in rows_doubts(outlook.n_rows, smallest, people)]
        if not found and smallest > outlook.cluster_rows:
            found.append(
                f"Clusters of {rounded(outlook.cluster_rows)} {people} are too small to be found reliably: about "
                f"{rounded(smallest)} are needed. Expect fewer and larger clusters, or raise epsilon."
            )
    blurred = [printable(error.name) for error in outlook.centres if error.standard_error > error.spread > 0.0]
    if blurred:
        named = ", ".join(blurred[:_COLUMNS_IN_WORDS]) + (" ..." if len(blurred) > _COLUMNS_IN_WORDS else "")
        found.append(
            f"This will not work: centres will be off by more than the clusters are wide ({named}). Raise epsilon, leave out "
            f"columns, or get more {people}."
        )
    found += map(promise_sentence, promise_doubts(outlook.epsilon, outlook.delta, outlook.n_rows))
    return tuple(found)


def rows_doubts(n_rows: int, smallest: float, people: str) -> list[str]:
    """Return the rest of a sentence if a cluster needs more than half of all rows to be found."""
    if smallest <= n_rows / 2:
        return []
    return [
        f"a cluster needs about {rounded(smallest)} {people} to be found, more than half of all "
        f"{n_rows:,}. Raise epsilon, or get more {people}."
    ]


def table_rows(forecast: Forecast) -> list[tuple[str, ...]]:
    """Return the lines of the table that sets three runs side by side, after the one of headings."""
    design, people = forecast.design, forecast.design.counted
    runs = (forecast.outlook, forecast.twice_epsilon, forecast.twice_rows)
    n_shown = min(len(forecast.outlook.centres), _COLUMNS_IN_TABLE)

    def line(name: str, text: Callable[[Outlook], str]) -> tuple[str, ...]:
        return (name, *(text(run) for run in runs))

    def centre_line(j: int) -> tuple[str, ...]:
        return line(_of_column(runs[0].centres[j]), lambda run: _known_to(run.centres[j]))

    return [
        line("epsilon", lambda run: f"{run.epsilon:g}"),
        line(f"number of {people}", lambda run: _size(run.n_rows, run.all_rows)),
        line(f"size of one of {design.expected_clusters:,} clusters", lambda run: _size(run.cluster_rows, run.cluster)),
        line("size of a leaf of the tree", lambda run: f"± {rounded(run.leaf.half_width)}"),
        *(centre_line(j) for j in range(n_shown)),
        line("smallest cluster found, about", lambda run: rounded(run.smallest.rows)),
        line("sure: first count off by at most", lambda run: rounded(run.guarantees.count)),
        line("sure: first chosen cut behind by at most", lambda run: rounded(run.guarantees.cut)),
        line("if as assumed: its smaller side at least", lambda run: rounded(run.guarantees.central_cut)),
    ]


def headings(forecast: Forecast) -> tuple[str, ...]:
    """Return the headings of the table."""
    return ("", "as asked", "twice the epsilon", f"twice the {forecast.design.counted}")


def as_text(forecast: Forecast) -> str:
    """Return sentences, warnings and the table as plain text."""
    rows = [headings(forecast), *table_rows(forecast)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    warnings = [f"Warning: {sentence}" for sentence in forecast.warnings]
    return "\n".join([*warnings, *sentences(forecast), "", *table, "", EXPLANATION])


def _size(rows: float, error: SizeError) -> str:
    """Return a size with its interval."""
    return f"{rounded(rows)} ± {rounded(error.half_width)}"


def _known_to(error: CentreError, points: str = "points") -> str:
    """Return the interval of a centre with its unit; that of a share is in percentage points."""
    if error.scale == "log":
        return f"± {rounded(100.0 * error.half_width)} %"
    if error.scale == "share":
        return f"± {rounded(100.0 * error.half_width)} {points}"
    return f"± {rounded(error.half_width)}" + (f" {printable(error.unit)}" if error.unit else "")


def _of_column(error: CentreError) -> str:
    """Return what is known of a column, such as "its mean age"."""
    words = {"number": "its mean", "log": "its geometric mean", "share": "its share of"}
    return f"{words[error.scale]} {printable(error.name)}"
