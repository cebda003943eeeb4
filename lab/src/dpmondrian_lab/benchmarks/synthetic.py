"""Synthetic rows of a release beside those of MST and AIM: ``python -m dpmondrian_lab.benchmarks.synthetic``.

Three tasks, all judged on true rows: KMeans (its inertia, relative to KMeans on true rows), distributions (total variation of single columns and
of pairs, in tenths of the true rows), and a classifier of the label, which is one of the columns (accuracy on rows that nobody saw).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from dpmondrian import DPM
from dpmondrian.quality import inertia
from dpmondrian.schema import Category, Column, Schema
from dpmondrian_lab.datasets.files import find_file
from dpmondrian_lab.datasets.folders import folder_data_set
from dpmondrian_lab.datasets.tables import read_columns
from dpmondrian_lab.peers.synthetic import synthetic_rows, why_missing

Floats: TypeAlias = NDArray[np.float64]

TABLES, EPSILONS, DELTA = ("adult", "pendigits"), (0.2, 1.0, 4.0), 1e-7
MAKERS = ("DPM", "MST", "AIM")
_BINS, _TENTHS, _STARTS = 32, 10, 10


class Task:
    """A table with its label as the last column, and what synthetic rows of it are judged by."""

    def __init__(self, name: str, most_rows: int) -> None:
        data_set = folder_data_set(f"real-{name}")
        assert data_set is not None
        assert isinstance(data_set.bounds, Schema)
        schema = data_set.bounds
        rows, label = read_columns(find_file(f"real/{name}.parquet"), "label", _names(name))
        codes = np.unique(np.asarray(label.to_pylist(), dtype=str), return_inverse=True)[1]
        table = np.column_stack([np.clip(rows, schema.lower, schema.upper), codes])
        table = table[np.random.default_rng(0).permutation(len(table))[:most_rows]]
        self.rows, self.unseen = train_test_split(table, test_size=0.2, random_state=0)
        self.schema = Schema((*schema.columns, Column("label", 0, int(codes.max()), whole=True)))
        self.k, self._weights = data_set.n_clusters, schema.weights
        self._edges = [np.unique(np.quantile(column, np.arange(1, _TENTHS) / _TENTHS)) for column in self.rows.T]
        self._best = self._inertia(self.rows)

    def scores(self, rows: Floats) -> tuple[float, float, float, float]:
        """Return the inertia of KMeans relative to that on true rows, total variations of one and of two columns, and accuracy."""
        true, made = self._tenths(self.rows), self._tenths(rows)
        pairs = list(combinations(range(len(self.schema.names)), 2))
        one = np.mean([_variation(true[:, [j]], made[:, [j]]) for j in range(true.shape[1])])
        two = np.mean([_variation(true[:, pair], made[:, pair]) for pair in map(list, pairs)])
        return self._inertia(rows) / self._best, float(one), float(two), self._accuracy(rows)

    def _tenths(self, rows: Floats) -> NDArray[np.int64]:
        return np.column_stack([np.searchsorted(e, c, side="right") for e, c in zip(self._edges, rows.T, strict=True)])

    def _inertia(self, rows: Floats) -> float:
        points, true = rows[:, :-1] * self._weights, self.rows[:, :-1] * self._weights
        found = KMeans(self.k, n_init=_STARTS, random_state=0).fit(points).cluster_centers_
        return float(inertia(true, found))

    def _accuracy(self, rows: Floats) -> float:
        model = HistGradientBoostingClassifier(random_state=0, max_iter=50).fit(rows[:, :-1], rows[:, -1])
        return float(model.score(self.unseen[:, :-1], self.unseen[:, -1]))

    def made(self, maker: str, epsilon: float, seed: int) -> Floats:
        """Return as many synthetic rows as there are true ones."""
        if maker == "DPM":
            return self._of_release(epsilon)
        return synthetic_rows(self.rows, self.schema, maker.lower(), epsilon, DELTA, _BINS, seed)

    def _of_release(self, epsilon: float) -> Floats:
        *numeric, label = self.schema.columns
        assert isinstance(label, Column)
        levels = [str(level) for level in range(int(label.upper) + 1)]
        schema = Schema((*numeric, Category("label", tuple(levels))))
        texts = [levels[int(code)] for code in self.rows[:, -1]]
        table = pa.table([*self.rows[:, :-1].T, texts], names=list(schema.names))
        columns = DPM(epsilon=epsilon, delta=DELTA, bounds=schema).fit(table).release_.sample(len(self.rows))
        label_codes = [levels.index(level) if level in levels else 0 for level in columns["label"]]
        return np.column_stack([*(columns[column.name] for column in numeric), label_codes]).astype(np.float64)


def _names(table: str) -> list[str]:
    """Return the columns of a table that have bounds."""
    entries = json.loads(find_file("real/tables.json").read_text(encoding="utf-8"))
    return next(list(entry["bounds"]) for entry in entries if entry["file"] == f"{table}.parquet")


def _variation(true: NDArray[np.int64], made: NDArray[np.int64]) -> float:
    """Return the total variation distance between two tables of bins."""
    codes = [rows @ (_TENTHS + 1) ** np.arange(rows.shape[1]) for rows in (true, made)]
    shares = [np.bincount(code, minlength=(_TENTHS + 1) ** true.shape[1]) / len(code) for code in codes]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def lines(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the table, one for each table, epsilon and maker: means over the runs."""
    yield "| table | epsilon | rows from | KMeans, ratio | one column | two columns | classifier | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in options.tables:
        task = Task(name, options.rows)
        ratio, one, two, accuracy = task.scores(task.rows)
        yield f"| {name} | | the table itself | {ratio:.2f} | {one:.3f} | {two:.3f} | {accuracy:.3f} | |"
        for epsilon in options.epsilons:
            for maker in options.makers:
                yield _line(task, name, epsilon, maker, options.runs)


def _line(task: Task, name: str, epsilon: float, maker: str, n_runs: int) -> str:
    began = time.process_time() + _children()
    scores: Any = [task.scores(task.made(maker, epsilon, seed)) for seed in range(n_runs)]
    seconds = (time.process_time() + _children() - began) / n_runs
    ratio, one, two, accuracy = np.mean(scores, axis=0)
    cells = f"{ratio:.2f} | {one:.3f} | {two:.3f} | {accuracy:.3f} | {seconds:.0f} |"
    return f"| {name} | {epsilon:g} | {maker} | {cells}"


def _children() -> float:
    """Return the processor seconds of processes that have ended, as the generators' do."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES, help="of the folder real, with a label")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--makers", nargs="+", choices=MAKERS, default=MAKERS)
    parser.add_argument("--rows", type=int, default=20_000, help="at most so many rows of a table")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if why_missing():
        options.makers = ("DPM",)
        print(f"Only DPM. {why_missing()}")
    for line in lines(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
