"""What must hold of the results beyond the paper, decided from rows; limits are those that were asked for before anything ran."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

import numpy as np

from dpmondrian_lab.experiments.catalogue import ENLARGED
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.beyond import (
    OURS,
    Ratios,
    collected,
    fallen_sets,
    lost_cells,
    mean_of_sets,
    null_shares,
    ratios,
)
from dpmondrian_lab.pages.checks import Check

__all__ = ["check_beyond"]

_QUANTILES = {"median": 0.5, "ninetieth percentile": 0.9, "worst": 1.0}
_POWER = (
    ("touching-20000x", "-3.5", 0.8),
    ("touching-20000x", "-4", 0.95),
    ("touching-20000x", "-5", 0.99),
    ("diagonal-20000x", "-6", 0.95),
)
"""Beginning and end of the names of pairs, and the share of runs in which they must be found, whatever the number of columns."""


def check_beyond(rows: Mapping[str, list[Row]]) -> list[Check]:
    """Return what must hold, from the rows of all experiments by name."""
    return [
        *_of_ratios(ratios(rows["real_k"])),
        *_of_tables([row for row in rows["real_found"] if row.run.algorithm == "dpm" and row.run.epsilon == 1.0]),
        *_of_suite(rows["suite"]),
        *_of_shapes(rows["nulls"]),
        _of_certainty(rows["nulls"]),
    ]


def _at_most(statement: str, limits: Mapping[str, tuple[float, float]]) -> Check:
    """Check values against limits: such as {"median": (value, limit)}. What is not a number was not measured."""
    if any(math.isnan(value) for value, _ in limits.values()):
        return Check(statement, None)
    reason = ", ".join(f"{name} {value:.3f} (at most {limit:.3g})" for name, (value, limit) in limits.items())
    return Check(statement, all(value <= limit for value, limit in limits.values()), reason)


def _at_least(statement: str, value: float, limit: float) -> Check:
    if math.isnan(value):
        return Check(statement, None)
    return Check(statement, value >= limit, f"{value:.3f} (at least {limit:g})")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _of_ratios(cells: Ratios) -> list[Check]:
    def ours(epsilon: float, *limits: float) -> Check:
        values = [cell[OURS] for (_, e), cell in cells.items() if e == epsilon and OURS in cell] or [math.nan]
        found = ((name, float(np.quantile(values, q))) for name, q in _QUANTILES.items())
        named = {name: (value, limit) for (name, value), limit in zip(found, limits, strict=False)}
        return _at_most(f"k given, epsilon {epsilon:g}: inertia / KMeans", named)

    releases = [
        cell["dpm_release"] / cell[OURS]
        for (_, epsilon), cell in cells.items()
        if epsilon == 1.0 and {"dpm_release", OURS} <= set(cell)
    ]
    median = statistics.median(releases or [math.nan])
    return [
        ours(1.0, 1.01, 1.05, 1.15),
        ours(0.2, 1.05, 1.25),
        _at_most("cells in which a rival is better by more than 0.01", {"share": (_share(*lost_cells(cells)), 0.03)}),
        _at_most("one release / k given, epsilon 1", {"median": (median, 1.03)}),
    ]


def _of_tables(ours: list[Row]) -> list[Check]:
    asked = {"between runs": ("between_runs", 0.8), "with the label": ("adjusted_rand", 0.6)}
    return [
        _at_least(f"real tables without k, epsilon 1: adjusted Rand {name}", mean_of_sets(ours, metric), limit)
        for name, (metric, limit) in asked.items()
    ]


def _of_suite(rows: list[Row]) -> list[Check]:
    def mean(algorithm: str, ending: str) -> float:
        """Return the mean over the sets whose key ends so; without an ending over those with their own rows."""
        own = (row for row in rows if row.run.algorithm == algorithm and row.run.epsilon == 1.0)
        return mean_of_sets((row for row in own if _ends(row.run.data_set, ending)), "adjusted_rand")

    fallen, n_sets = fallen_sets(rows)
    return [
        _at_least("suite, true k given: mean adjusted Rand", mean("dpm_k", ""), 0.59),
        _at_least("unbalance, true k given", mean("dpm_k", "-unbalance"), 0.98),
        _at_least("birch2, true k given", mean("dpm_k", "-birch2"), 0.97),
        _at_least("suite without k: mean adjusted Rand", mean("dpm", ""), 0.45),
        _at_least(f"suite without k, enlarged to {ENLARGED:,} rows", mean("dpm", f"-n{ENLARGED}"), 0.6),
        _at_most(
            "sets that more epsilon makes worse by more than 0.1", {"share": (_share(len(fallen), n_sets), 1.0 / 29.0)}
        ),
    ]


def _ends(key: str, ending: str) -> bool:
    return key.endswith(ending) if ending else not key.endswith(f"-n{ENLARGED}")


def _of_shapes(rows: list[Row]) -> list[Check]:
    shares = null_shares(rows)
    worst = min(shares, key=lambda cell: shares[cell], default=("", math.nan))
    named = f", worst {worst[0]}, epsilon {worst[1]:g}" if shares else ""
    one = _at_least(f"one cluster where there is one, share of runs{named}", shares.get(worst, math.nan), 0.95)
    return [one, *(_power(rows, *pair) for pair in _POWER)]


def _power(rows: list[Row], start: str, end: str, limit: float) -> Check:
    """Check that two clusters are found as two, at every number of columns."""
    shapes = collected(rows, lambda row: row.run.data_set.rpartition("-")[0])
    shares = [
        statistics.fmean(row.metrics.get("n_centres") == 2.0 for row in group)
        for shape, group in shapes.items()
        if shape.startswith(start) and shape.endswith(end)
    ]
    return _at_least(
        f"two clusters where there are two, {start}d{end}, least share", min(shares, default=math.nan), limit
    )


def _of_certainty(rows: list[Row]) -> Check:
    real, certain = (sum(row.metrics.get(name, 0.0) for row in rows) for name in ("n_real", "n_certain"))
    return _at_least(
        "clusters that the release is at least 95 % sure of, share that is real", _share(real, certain), 0.93
    )
