"""Numbers of the page of results beyond the paper, from rows: who wins where, how stable, how true."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from dpmondrian_lab.experiments.catalogue import ENLARGED, NULLS
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.summary import summarise
from dpmondrian_lab.peers.registry import ALGORITHMS

__all__ = [
    "OURS",
    "REFERENCE",
    "Ratios",
    "Win",
    "collected",
    "fallen_sets",
    "lost_cells",
    "mean_of",
    "mean_of_sets",
    "null_shares",
    "ratios",
    "suite_index",
    "wins",
]

OURS, REFERENCE = "dpm_k", "kmeans_10"
MARGIN = 0.01
"""A rival wins a cell if its ratio is lower than ours by more than this."""
WORSE = 0.1
"""More epsilon makes a set worse if its adjusted Rand index falls by more than this."""

Key = TypeVar("Key", bound=Hashable)
Ratios = dict[tuple[str, float], dict[str, float]]
"""By data set and epsilon: the inertia of every algorithm, as a multiple of that of KMeans."""


def collected(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Return rows by a key, in the order in which the keys occur."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def mean_of(rows: Iterable[Row], metric: str) -> float:
    """Return the mean of a metric over rows; not a number if none has it."""
    return summarise(rows, metric).mean


def mean_of_sets(rows: Iterable[Row], metric: str) -> float:
    """Return the mean over data sets of the mean over runs; not a number if no row has the metric."""
    means = [mean_of(group, metric) for group in collected(rows, lambda row: row.run.data_set).values()]
    known = [mean for mean in means if not math.isnan(mean)]
    return statistics.fmean(known) if known else math.nan


def ratios(rows: Iterable[Row]) -> Ratios:
    """Return the mean inertia of the runs of every cell over that of the best KMeans; cells without KMeans are left out."""
    groups = collected(
        (row for row in rows if not row.failed), lambda row: (row.run.data_set, row.run.epsilon, row.run.algorithm)
    )
    best = {
        data_set: min(row.metrics["inertia"] for row in group)
        for (data_set, _, algorithm), group in groups.items()
        if algorithm == REFERENCE
    }
    cells: Ratios = {}
    for (data_set, epsilon, algorithm), group in groups.items():
        if epsilon is not None and data_set in best:
            ratio = mean_of(group, "inertia") / best[data_set]
            cells.setdefault((data_set, epsilon), {})[algorithm] = ratio
    return cells


@dataclass(frozen=True)
class Win:
    """A cell in which a rival is better than DPM with k given."""

    rival: str
    data_set: str
    epsilon: float
    theirs: float
    ours: float


def wins(cells: Ratios) -> list[Win]:
    """Return all cells that a sound rival wins by more than the margin, the clearest first."""
    found = [
        Win(rival, data_set, epsilon, theirs, cell[OURS])
        for (data_set, epsilon), cell in cells.items()
        for rival, theirs in cell.items()
        if OURS in cell
        and ALGORITHMS[rival].competes
        and ALGORITHMS[rival].kind != "ours"
        and theirs < cell[OURS] - MARGIN
    ]
    return sorted(found, key=lambda win: win.theirs - win.ours)


def lost_cells(cells: Ratios) -> tuple[int, int]:
    """Return how many cells some rival wins, and how many there are."""
    return len({(win.data_set, win.epsilon) for win in wins(cells)}), sum(OURS in cell for cell in cells.values())


def null_shares(rows: Iterable[Row]) -> dict[tuple[str, float], float]:
    """Return the share of runs with one cluster, by shape (without its seed) and epsilon."""
    nulls = (row for row in rows if row.run.data_set.startswith(NULLS) and not row.failed)
    groups = collected(nulls, lambda row: (row.run.data_set.rpartition("-")[0], float(row.run.epsilon or 0.0)))
    return {cell: statistics.fmean(row.metrics["n_centres"] == 1.0 for row in group) for cell, group in groups.items()}


def suite_index(rows: Iterable[Row]) -> Callable[[str, str, float | None, bool], float]:
    """Return a function from set, algorithm, epsilon and whether it is enlarged to the mean adjusted Rand index."""
    groups = collected(rows, lambda row: (row.run.data_set, row.run.algorithm, row.run.epsilon))

    def index(name: str, algorithm: str, epsilon: float | None, large: bool) -> float:
        return mean_of(groups.get((f"{name}-n{ENLARGED}" if large else name, algorithm, epsilon), []), "adjusted_rand")

    return index


def fallen_sets(rows: Iterable[Row]) -> tuple[list[str], int]:
    """Return the sets of the suite, own rows and no k, of which the index falls with a larger epsilon, and how many there are."""
    own = [row for row in rows if row.run.algorithm == "dpm" and not row.run.data_set.endswith(f"-n{ENLARGED}")]
    fallen, sets = [], collected(own, lambda row: row.run.data_set)
    for data_set, group in sets.items():
        index = {e: mean_of(part, "adjusted_rand") for e, part in collected(group, lambda row: row.run.epsilon).items()}
        if 1.0 in index and any(value < index[1.0] - WORSE for value in index.values()):
            fallen.append(data_set)
    return fallen, len(sets)
