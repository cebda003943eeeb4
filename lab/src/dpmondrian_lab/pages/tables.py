"""Tables: Markdown for people, CSV and records for programs. Rows are data set x metric, columns are algorithms."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.names import METRIC_NAMES, algorithm_name, data_set_name
from dpmondrian_lab.pages.published import Published, published
from dpmondrian_lab.pages.summary import Cell, Summary, grouped, number, summaries

__all__ = ["Table", "csv_table", "make_table", "markdown_table", "records", "text_of", "timing_markdown"]

Table = Mapping[tuple[str, str, str], Cell]
"""From data set, metric and algorithm to the cell."""


def make_table(rows: Iterable[Row]) -> Table:
    """Return the cells of a table with all data sets and algorithms of the rows."""
    return summaries(grouped(rows))


def text_of(metric: str, summary: Summary) -> str:
    """Return mean (standard deviation), and how many runs failed."""
    parts = []
    if summary.values:
        parts.append(number(metric, summary.mean))
        if not math.isnan(summary.deviation):
            parts.append(f"({number(metric, summary.deviation)})")
    if summary.n_failed:
        parts.append(f"{summary.n_failed} failed")
    return " ".join(parts) or "-"


def markdown_table(table: Table) -> str:
    """Return the table with our number above the paper's in every cell, the best private one in bold."""
    algorithms = _algorithms(table)
    lines = ["| data | metric | " + " | ".join(algorithm_name(key) for key in algorithms) + " |"]
    lines.append("|---" * (len(algorithms) + 2) + "|")
    for data_set, metric in _lines(table):
        cells = [_markdown_cell(table, data_set, metric, algorithm) for algorithm in algorithms]
        lines.append(f"| {data_set_name(data_set)} | {METRIC_NAMES[metric]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def csv_table(table: Table) -> str:
    """Return the table with all digits: for each algorithm mean, standard deviation, runs, failed runs, best, paper."""
    algorithms = _algorithms(table)
    fields = ("mean", "deviation", "runs", "failed", "best", "paper_mean", "paper_deviation")
    by_cell = {(record["data_set"], record["metric"], record["algorithm"]): record for record in records(table)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["data_set", "metric", *(f"{algorithm}_{name}" for algorithm in algorithms for name in fields)])
    for data_set, metric in _lines(table):
        line = [by_cell.get((data_set, metric, algorithm), {}) for algorithm in algorithms]
        values = [record.get(name) for record in line for name in fields]
        writer.writerow([data_set, metric, *("" if value is None else value for value in values)])
    return text.getvalue()


def records(table: Table) -> list[dict[str, Any]]:
    """Return the cells as plain values, for JSON; what is not known is None."""
    result = []
    for (data_set, metric, algorithm), cell in table.items():
        paper = published(data_set, metric, algorithm)
        result.append(
            {
                "data_set": data_set,
                "metric": metric,
                "algorithm": algorithm,
                "mean": _known(cell.summary.mean),
                "deviation": _known(cell.summary.deviation),
                "runs": len(cell.summary.values),
                "failed": cell.summary.n_failed,
                "best": cell.best,
                "paper_mean": paper and paper.mean,
                "paper_deviation": paper and paper.deviation,
            }
        )
    return result


def timing_markdown(rows: Iterable[Row]) -> str:
    """Return the median time of a fit, rows are data sets, columns algorithms."""
    groups = grouped(rows)
    algorithms = list(dict.fromkeys(algorithm for _, algorithm in groups))
    table = summaries(groups, ("seconds",))
    lines = ["| data | " + " | ".join(algorithm_name(key) for key in algorithms) + " |"]
    lines.append("|---" * (len(algorithms) + 1) + "|")
    for data_set in dict.fromkeys(data_set for data_set, _ in groups):
        cells = [_seconds(table.get((data_set, "seconds", algorithm))) for algorithm in algorithms]
        lines.append(f"| {data_set_name(data_set)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _seconds(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    parts = [number("seconds", cell.summary.median)] if cell.summary.values else []
    parts += [f"{cell.summary.n_failed} failed"] if cell.summary.n_failed else []
    return " ".join(parts)


def _markdown_cell(table: Table, data_set: str, metric: str, algorithm: str) -> str:
    cell = table.get((data_set, metric, algorithm))
    if cell is None:
        return "-"
    ours = text_of(metric, cell.summary)
    paper = published(data_set, metric, algorithm)
    return (f"**{ours}**" if cell.best else ours) + (f"<br>paper {_paper_text(paper)}" if paper else "")


def _paper_text(paper: Published) -> str:
    return f"**{paper.text}**" if paper.bold else paper.text


def _algorithms(table: Table) -> list[str]:
    """Return the algorithms in the order of `grouped`, also those that not every data set has."""
    from dpmondrian_lab.peers.registry import ALGORITHMS

    found = dict.fromkeys(algorithm for _, _, algorithm in table)
    return [key for key in ALGORITHMS if key in found] + [key for key in found if key not in ALGORITHMS]


def _lines(table: Table) -> list[tuple[str, str]]:
    return list(dict.fromkeys((data_set, metric) for data_set, metric, _ in table))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
