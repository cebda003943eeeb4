"""Quality of DPM with default parameters, beside non-private KMeans: ``python -m dpmondrian_lab.benchmarks.quality [--runs 10]``.

epsilon and delta are those of the paper's evaluation (delta = n**-1.5 of the benchmark, where n is public). Every run
draws secure noise. Prints a table, writes it to lab/src/dpmondrian_lab/benchmarks/output/quality.md, and exits 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from dpmondrian import DPM
from dpmondrian.common.whole_files import write_file
from dpmondrian.quality import accuracy, inertia, kmeans_distance
from dpmondrian_lab.datasets import DATA_SETS
from dpmondrian_lab.datasets.blobs import blobs
from dpmondrian_lab.exceptions import DatasetNotFoundError

OUTPUT = Path(__file__).parent / "output"


@dataclass
class Case:
    """One row of the table: data, parameters, and what must hold of the means over the runs."""

    name: str
    rows: np.ndarray
    truth: np.ndarray | None
    bounds: tuple[float, float]
    k: int
    targets: dict[str, float]
    epsilon: float = 1.0
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def delta(self) -> float:
        return len(self.rows) ** -1.5


def cases() -> list[Case]:
    """Return the cases of the table; data that is not on this machine is left out with a note."""
    paper = {"variant": "paper"}
    rows10, truth10 = blobs(100_000, 10)
    rows100, truth100 = blobs(100_000, 100)
    box = (-100.0, 100.0)
    table = [
        Case(
            "Synth-10d", rows10, truth10, box, 64, {"inertia / KMeans": 1.02, "KMeans distance": 0.0005, "clusters": 64}
        ),
        Case("Synth-10d, epsilon 0.2", rows10, truth10, box, 64, {"inertia": 8e6}, epsilon=0.2),
        Case("Synth-100d", rows100, truth100, box, 64, {"inertia / KMeans": 1.35, "KMeans distance": 0.003}),
        # The paper's means plus two of its standard deviations.
        Case("Synth-10d, paper", rows10, truth10, box, 64, {"inertia": 1.8e7 + 2 * 2.7e7}, parameters=paper),
        Case("Synth-100d, paper", rows100, truth100, box, 64, {"inertia": 5.4e8 + 2 * 3.4e8}, parameters=paper),
    ]
    try:
        reals, letter = DATA_SETS["uci_letters"].load()
        whole = reals.astype(np.uint8)
        for name, rows in (("UCI Letters, k = 26", reals), ("UCI Letters, k = 26, whole numbers", whole)):
            targets = {"inertia": 7.7e5, "accuracy": 0.26}
            table.append(Case(name, rows, letter, (0, 15), 26, targets, parameters={"n_clusters": 26}))
        gas, _ = DATA_SETS["uci_gas"].load()
        table.append(Case("UCI Gas, one range", gas, None, (-6.23, 1100.9), 2, {"inertia": 3.7e7}))
    except DatasetNotFoundError as error:
        print(f"Left out: UCI Letters and UCI Gas. {error}", file=sys.stderr)
    return table


def measure(case: Case, rows: np.ndarray, centres: np.ndarray) -> dict[str, float]:
    """Return the metrics of one clustering."""
    result = {"inertia": inertia(rows, centres), "clusters": float(len(centres))}
    if case.truth is not None:
        result["accuracy"] = accuracy(rows, case.truth, centres)
    if case.name.startswith("Synth"):
        # All reference clusterings of the synthetic data equal the means of the true clusters.
        reference = np.array([rows[case.truth == c].mean(axis=0) for c in range(case.k)])
        diameter = (case.bounds[1] - case.bounds[0]) * np.sqrt(rows.shape[1])
        result["KMeans distance"] = kmeans_distance(centres, [reference], diameter)
    return result


def fit(case: Case) -> np.ndarray:
    return (
        DPM(epsilon=case.epsilon, delta=case.delta, bounds=case.bounds, **case.parameters)
        .fit(case.rows)
        .cluster_centers_
    )


def fit_kmeans(case: Case) -> np.ndarray:
    return KMeans(n_clusters=case.k, n_init=1).fit(case.rows).cluster_centers_


def repeated(case: Case, fit: Callable[[Case], np.ndarray], runs: int, label: str) -> dict[str, np.ndarray]:
    rows = case.rows.astype(np.float64)
    results = []
    for run in range(runs):
        print(f"\r{case.name}: {label} {run + 1}/{runs}   ", end="", file=sys.stderr, flush=True)
        results.append(measure(case, rows, fit(case)))
    return {name: np.array([result[name] for result in results]) for name in results[0]}


def verdicts(case: Case, ours: dict[str, np.ndarray], kmeans: dict[str, np.ndarray]) -> list[tuple[str, bool]]:
    """Return each target with whether it is met. The number of clusters must be right in every run."""
    result = []
    for name, limit in case.targets.items():
        if name == "inertia / KMeans":
            value = ours["inertia"].mean() / kmeans["inertia"].mean()
            result.append((f"inertia / KMeans {value:.3f} <= {limit:g}", value <= limit))
        elif name == "clusters":
            result.append((f"{limit:g} clusters in every run", bool(np.all(ours["clusters"] == limit))))
        elif name == "accuracy":
            result.append((f"accuracy {ours[name].mean():.3f} >= {limit:g}", ours[name].mean() >= limit))
        else:
            value = ours[name].mean()
            result.append((f"{name} {value:.3g} <= {limit:.3g}", value <= limit))
    return result


def cell(results: dict[str, np.ndarray], name: str) -> str:
    if name not in results:
        return "-"
    values = results[name]
    digits = (
        ".3e" if name == "inertia" else ".1f" if name == "clusters" else ".5f" if name == "KMeans distance" else ".3f"
    )
    return f"{values.mean():{digits}} ± {values.std(ddof=1):.1{'e' if name == 'inertia' else 'g'}}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="runs per case (default 10)")
    runs = parser.parse_args().runs
    metrics = ("inertia", "accuracy", "KMeans distance", "clusters")
    lines = [
        f"Mean ± standard deviation of {runs} runs, default parameters; inertia of KMeans from {min(runs, 3)} runs.",
        "",
        "| data | " + " | ".join(metrics) + " | KMeans inertia / accuracy | must hold | |",
        "|---" * (len(metrics) + 4) + "|",
    ]
    met = True
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases():
            ours, kmeans = repeated(case, fit, runs, "DPM"), repeated(case, fit_kmeans, min(runs, 3), "KMeans")
            checks = verdicts(case, ours, kmeans)
            met &= all(ok for _, ok in checks)
            base = f"{kmeans['inertia'].mean():.3e}"
            base += f" / {kmeans['accuracy'].mean():.3f}" if "accuracy" in kmeans else ""
            cells = [cell(ours, name) for name in metrics]
            wanted = "; ".join(text for text, _ in checks)
            lines.append(
                f"| {case.name} | {' | '.join(cells)} | {base} | {wanted} | {'yes' if all(ok for _, ok in checks) else 'NO'} |"
            )
    print(f"\r{time.perf_counter() - started:.0f} s".ljust(60), file=sys.stderr)
    print("\n".join(lines))
    OUTPUT.mkdir(exist_ok=True)
    write_file(OUTPUT / "quality.md", "\n".join(lines) + "\n", overwrite=True, make_folder=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
