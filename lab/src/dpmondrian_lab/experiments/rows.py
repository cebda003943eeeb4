"""The rows that experiments give, and their CSV files: sorted, with all digits, so the same rows are the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.exceptions import RowsError
from dpmondrian_lab.experiments.spec import Run

__all__ = ["METRICS", "Row", "read_rows", "write_rows"]

METRICS = (
    "inertia",
    "silhouette",
    "accuracy",
    "adjusted_rand",
    "kmeans_distance",
    "matching_distance",
    "n_centres",
    "seconds",
)
"""The order of the columns; others follow by name."""

_OF_RUN = ("data_set", "algorithm", "epsilon", "parameters", "base_seed", "iteration")


@dataclass(frozen=True)
class Row:
    """What came of a run: metrics, or the class and message of the error that ended it."""

    run: Run
    metrics: Mapping[str, float] = field(default_factory=dict)
    error: str = ""

    @property
    def failed(self) -> bool:
        """Whether the run gave no result."""
        return bool(self.error)


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write rows of one experiment to a CSV file, in the order of their keys."""
    ordered = sorted(rows, key=_order)
    found = {name for row in ordered for name in row.metrics}
    metrics = [name for name in METRICS if name in found] + sorted(found.difference(METRICS))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_OF_RUN, "seed", *metrics, "error"])
    for row in ordered:
        values = [repr(row.metrics[name]) if name in row.metrics else "" for name in metrics]
        writer.writerow([*_fields(row.run), *values, row.error])
    write_file(path, text.getvalue(), overwrite=True, make_folder=True)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a CSV file; the experiment is named by the file."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return [_row(path.stem, record) for record in csv.DictReader(file)]
        except (KeyError, ValueError, TypeError) as error:
            raise RowsError(f"The file {path} does not hold rows of an experiment ({error!r}).") from None


def _order(row: Row) -> tuple[str, str, float, str, int]:
    run = row.run
    return run.data_set, run.algorithm, run.epsilon or 0.0, run.parameters, run.iteration


def _fields(run: Run) -> list[str]:
    values = [getattr(run, name) for name in _OF_RUN] + [run.seed]
    return ["" if value is None else str(value) for value in values]


def _row(experiment: str, record: dict[str, str]) -> Row:
    run = Run(
        experiment,
        record["data_set"],
        record["algorithm"],
        int(record["iteration"]),
        float(record["epsilon"]) if record["epsilon"] else None,
        record["parameters"],
        int(record["base_seed"]) if record["base_seed"] else None,
    )
    names = [name for name in record if name not in (*_OF_RUN, "seed", "error")]
    return Row(run, {name: float(record[name]) for name in names if record[name]}, record["error"])
