"""The store of an output folder: one append-only file of JSON lines per experiment, and the raw centres of every run.

::

    <out>/store/<experiment>.jsonl             a line per finished run; the last line of a key counts
    <out>/store/centres/<experiment>/*.npy     centres, written before the line
    <out>/rows/<experiment>.csv                the rows for publication, see `rows`

A line that a kill tore cannot be read as JSON; it is skipped, so its run counts as not finished.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.whole_files import put_bytes
from dpmondrian_lab.common.growing_files import append_line
from dpmondrian_lab.exceptions import RowsError
from dpmondrian_lab.experiments.rows import Row, read_rows, write_rows
from dpmondrian_lab.experiments.spec import Run

__all__ = ["Store"]


class Store:
    """Finished runs in a folder. It holds nothing in memory, so several processes may use the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> None:
        """Make the folder, so that one that cannot be written is noticed before anything is run."""
        try:
            put_bytes(self.folder / "store" / "writable", b"", overwrite=True, make_folder=True)
        except OSError:
            raise RowsError(f"The folder {self.folder} cannot be written to. Choose another one with --out.") from None
        (self.folder / "store" / "writable").unlink()

    def lines_path(self, experiment: str) -> Path:
        """Return the file of JSON lines of an experiment."""
        return self.folder / "store" / f"{experiment}.jsonl"

    def rows_path(self, experiment: str) -> Path:
        """Return the CSV file of an experiment."""
        return self.folder / "rows" / f"{experiment}.csv"

    def centres_path(self, run: Run) -> Path:
        """Return the file of the centres of a run."""
        return self.folder / "store" / "centres" / run.experiment / f"{run.digest}.npy"

    def append(self, row: Row) -> None:
        """Add a finished run."""
        record = {"run": asdict(row.run), "metrics": dict(row.metrics), "error": row.error}
        append_line(self.lines_path(row.run.experiment), json.dumps(record))

    def finished(self, experiment: str) -> dict[str, Row]:
        """Return the finished runs of an experiment by key."""
        path = self.lines_path(experiment)
        if not path.exists():
            return {}
        rows = (_parsed(line, path) for line in path.read_bytes().splitlines())
        return {row.run.key: row for row in rows if row is not None}

    def save_centres(self, run: Run, centres: NDArray[np.float64]) -> None:
        """Write the centres of a run."""
        content = io.BytesIO()
        np.save(content, centres, allow_pickle=False)
        put_bytes(self.centres_path(run), content.getvalue(), overwrite=True, make_folder=True)

    def load_centres(self, run: Run) -> NDArray[np.float64]:
        """Return the centres of a run."""
        return np.asarray(np.load(self.centres_path(run), allow_pickle=False), dtype=np.float64)

    def publish(self, experiment: str, runs: list[Run]) -> None:
        """Write the CSV file of an experiment: those of the runs that are finished, here or where the file came from."""
        finished = {row.run.key: row for row in self.published(experiment)} | self.finished(experiment)
        write_rows((finished[run.key] for run in runs if run.key in finished), self.rows_path(experiment))

    def published(self, experiment: str) -> list[Row]:
        """Return the rows of the CSV file; none if there is no file."""
        path = self.rows_path(experiment)
        return read_rows(path) if path.exists() else []


def _parsed(line: bytes, path: Path) -> Row | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    try:
        return Row(Run(**record["run"]), record["metrics"], record["error"])
    except (KeyError, TypeError):
        raise RowsError(
            f"The file {path} holds a line that is no run. Delete the file, and its runs are run again."
        ) from None
