"""Does DPM without k find the right clusters? ``python -m dpmondrian_lab.benchmarks.found [--runs 20] [--only NAME...] [--quick]``.

Made data sets whose clusters are known, real ones, and curves over epsilon and the number of rows. Run r has the data
seed r and the noise seed 1000 + r, so it repeats. Every run is a line of results/found/rows.jsonl and is not run
again; results/found/README.md and the figure beside it are written from these lines alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans

from dpmondrian import DPM, NotReleasableWarning
from dpmondrian.common.whole_files import write_file
from dpmondrian.quality import adjusted_rand, evaluate
from dpmondrian.show.plots import drawing
from dpmondrian_lab.common.growing_files import append_line
from dpmondrian_lab.datasets import get, shapes
from dpmondrian_lab.exceptions import DatasetNotFoundError
from dpmondrian_lab.experiments.measures import SILHOUETTE_SEED
from dpmondrian_lab.pages.figures.style import plain_log_ticks, save, top_legend
from dpmondrian_lab.pages.summary import number

FOLDER = Path("results") / "found"
ROWS = FOLDER / "rows.jsonl"
CURVE_RUNS = 5
EPSILONS = (0.1, 0.3, 1.0, 3.0)
N_ROWS = (2_000, 10_000, 50_000, 1_000_000)
REAL = ("uci_gas", "mnist_embs", "fashion_embs", "uci_letters", "synth_10d", "synth_100d")
CURVES = (
    ("separated", {"n_clusters": 10, "n_columns": 5}),
    ("separated", {"n_clusters": 30, "n_columns": 10}),
    ("broad", {}),
    ("unequal_sizes", {}),
    ("one_gaussian", {"n_columns": 5}),
)
SHORT = {"n_clusters": "k", "n_columns": "d", "n_rows": "n"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One line of a table: a maker of `shapes` with its parameters, or a real data set."""

    part: str
    name: str
    parameters: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        words = [f"{SHORT.get(name, name)}={value:,}" for name, value in self.parameters.items()]
        return " ".join([*(["curves"] if self.part == "curves" else []), self.name, *words])

    def key(self, run: int) -> str:
        return json.dumps([self.part, self.name, self.parameters, run], sort_keys=True)


def shape_cases() -> list[Case]:
    ones = [(name, {"n_columns": d}) for name in ("one_gaussian", "one_uniform", "one_student") for d in (2, 5, 20)]
    apart = [
        ("separated", {"n_clusters": k, "n_columns": d}) for k in (2, 3, 5, 10, 30, 64, 100) for d in (2, 5, 10, 50)
    ]
    others = ("unequal_sizes", "unequal_spreads", "whole_numbers", "two_moons", "touching", "broad")
    return [Case("shapes", name, parameters) for name, parameters in [*ones, *apart, *((name, {}) for name in others)]]


def curve_case(name: str, parameters: dict[str, float], n_rows: int, epsilon: float) -> Case:
    return Case("curves", name, parameters | {"n_rows": n_rows, "epsilon": epsilon})


def curve_cases() -> list[Case]:
    points = [(50_000, epsilon) for epsilon in EPSILONS] + [(n_rows, 1.0) for n_rows in N_ROWS if n_rows != 50_000]
    return [curve_case(name, parameters, *point) for name, parameters in CURVES for point in points]


def is_quick(case: Case) -> bool:
    """Return whether a case belongs to the quick choice: those that take seconds, not minutes."""
    sizes = case.parameters
    small = sizes.get("n_clusters", 1) <= 10 and sizes.get("n_columns", 1) <= 10 and sizes.get("n_rows", 1) <= 50_000
    return case.name in ("uci_gas", "mnist_embs") if case.part == "real" else small


def perform(case: Case, run: int, kmeans: dict[str, float] | None) -> Row:
    """Return the row of one run; the clustering of KMeans is made only where it is wanted and not known yet."""
    parameters = dict(case.parameters)
    epsilon = parameters.pop("epsilon", 1.0)
    data = get(case.name) if case.part == "real" else getattr(shapes, case.name)(**parameters, seed=run)
    rows, truth = data.load() if case.part == "real" else (data.rows, data.truth)

    def measured(model: Any) -> dict[str, float]:
        if case.part == "real":
            return evaluate(rows, truth, model.cluster_centers_, (), data.diameter, SILHOUETTE_SEED)
        return {"n_centres": len(model.cluster_centers_), "adjusted_rand": adjusted_rand(truth, model.labels_)}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotReleasableWarning)
        delta = data.delta if case.part == "real" else 1e-7
        found = measured(DPM(epsilon=epsilon, delta=delta, bounds=data.bounds, random_state=1000 + run).fit(rows))
    k = data.n_clusters
    if kmeans is None and k > 1 and case.part != "curves":
        kmeans = measured(KMeans(k, n_init=10 if k <= 10 else 3, random_state=run).fit(rows))
    named = {"part": case.part, "name": case.name, "parameters": case.parameters, "run": run}
    return named | {"n_clusters": k, "dpm": found, "kmeans": kmeans}


def read_rows() -> dict[str, Row]:
    """Return the runs by key; of a run that was repeated the last counts. A line that a kill tore is skipped."""
    rows = {}
    for text in ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []:
        with suppress(json.JSONDecodeError):
            row = json.loads(text)
            rows[Case(row["part"], row["name"], row["parameters"]).key(row["run"])] = row
    return rows


def run_case(case: Case, runs: int, rows: dict[str, Row], again: bool) -> None:
    """Run what is missing. KMeans has no noise: per data seed, of which real data have one, it is run once and kept."""
    for run in range(runs):
        key = case.key(run)
        if again or key not in rows:
            known = rows.get(case.key(0) if case.part == "real" else key, {})
            rows[key] = perform(case, run, known.get("kmeans"))
            append_line(ROWS, json.dumps(rows[key]))


# What must hold, and what was found


def rows_of(case: Case, rows: dict[str, Row]) -> list[Row]:
    return [
        row
        for row in rows.values()
        if (row["part"], row["name"]) == (case.part, case.name) and row["parameters"] == case.parameters
    ]


def mean(rows: list[Row], metric: str, algorithm: str = "dpm") -> float:
    """Return the mean over the runs; not a number if KMeans was not run, or the data have no classes."""
    values = [row[algorithm][metric] for row in rows if row[algorithm] is not None and metric in row[algorithm]]
    return statistics.fmean(values) if values else float("nan")


def median_found(rows: list[Row]) -> float:
    return statistics.median(row["dpm"]["n_centres"] for row in rows)


def share_exact(rows: list[Row]) -> float:
    return statistics.fmean(row["dpm"]["n_centres"] == row["n_clusters"] for row in rows)


def as_good_as_kmeans(rows: list[Row]) -> bool:
    """Compare at the digits shown: where both are right, the last digits are chance."""
    return round(mean(rows, "adjusted_rand"), 3) >= round(mean(rows, "adjusted_rand", "kmeans"), 3)


def gas_holds(rows: list[Row]) -> bool:
    return mean(rows, "inertia") <= 3.0e7 and mean(rows, "silhouette") >= 0.25


def embeddings_hold(rows: list[Row]) -> bool:
    return (
        8 <= mean(rows, "n_centres") <= 14
        and mean(rows, "silhouette") >= mean(rows, "silhouette", "kmeans") - 0.05
        and mean(rows, "accuracy") >= mean(rows, "accuracy", "kmeans") - 0.01
    )


Rule = tuple[str, Callable[[list[Row]], bool]]
EXACT: Rule = ("exact k in at least 90 % of the runs", lambda rows: share_exact(rows) >= 0.9)
AS_KMEANS: Rule = ("ARI at least that of KMeans", as_good_as_kmeans)
EMBEDDINGS: Rule = ("8 to 14 centres, silhouette ≥ KMeans - 0.05, accuracy ≥ KMeans - 0.01", embeddings_hold)
RULES: dict[str, Rule] = {
    **dict.fromkeys(("one_gaussian", "one_uniform", "one_student", "separated"), EXACT),
    **dict.fromkeys(("unequal_sizes", "unequal_spreads", "whole_numbers"), AS_KMEANS),
    **dict.fromkeys(("mnist_embs", "fashion_embs"), EMBEDDINGS),
    "uci_gas": ("inertia ≤ 3.0e7, silhouette ≥ 0.25", gas_holds),
}


def holds(case: Case, rows: list[Row]) -> str:
    """Return yes, no, or a dash where nothing is asked for: curves only show."""
    asked = case.part != "curves" and case.name in RULES and rows
    return "-" if not asked else "yes" if RULES[case.name][1](rows) else "**no**"


def both(rows: list[Row], metric: str) -> str:
    return " / ".join(number(metric, mean(rows, metric, algorithm)) for algorithm in ("dpm", "kmeans"))


Columns = dict[str, Callable[[list[Row]], str]]
SHAPE_COLUMNS: Columns = {
    "k": lambda rows: f"{rows[0]['n_clusters']}",
    "exact k": lambda rows: f"{100 * share_exact(rows):.0f} %",
    "k found": lambda rows: f"{median_found(rows):g}",
    "ARI": lambda rows: both(rows, "adjusted_rand"),
}
REAL_COLUMNS: Columns = {
    "k": SHAPE_COLUMNS["k"],
    "k found": SHAPE_COLUMNS["k found"],
    "silhouette": lambda rows: both(rows, "silhouette"),
    "inertia": lambda rows: both(rows, "inertia"),
    "accuracy": lambda rows: both(rows, "accuracy"),
}


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(cases: list[Case], rows: dict[str, Row], columns: Columns) -> list[str]:
    """Return the lines of a table; a case without a run has a line without numbers."""
    titles = ["data", "must hold", "runs", *columns, "holds"]
    lines = [line(titles), "|---" * len(titles) + "|"]
    for case in cases:
        of_case = rows_of(case, rows)
        cells = [cell(of_case) if of_case else "-" for cell in columns.values()]
        rule = RULES[case.name][0] if case.name in RULES else "stated only"
        lines.append(line([case.label, rule, f"{len(of_case)}", *cells, holds(case, of_case)]))
    return lines


def curve_table(rows: dict[str, Row], title: str, points: dict[str, tuple[int, float]]) -> list[str]:
    """Return the lines of a table with a column per point: the median number of clusters and the mean ARI."""
    lines = [line([title, "k", *points]), "|---" * (len(points) + 2) + "|"]
    for name, parameters in CURVES:
        found = [rows_of(curve_case(name, parameters, *point), rows) for point in points.values()]
        k = next((f"{of_point[0]['n_clusters']}" for of_point in found if of_point), "-")
        cells = [
            f"{median_found(of_point):g} ({mean(of_point, 'adjusted_rand'):.3f})" if of_point else "-"
            for of_point in found
        ]
        lines.append(line([Case("shapes", name, parameters).label, k, *cells]))
    return lines


def draw(rows: dict[str, Row]) -> None:
    """Draw the clusters found as a share of the truth: the median of the runs, in a band from the least to the most."""
    panels = (
        ("epsilon (50,000 rows)", {epsilon: (50_000, epsilon) for epsilon in EPSILONS}),
        ("rows (epsilon = 1)", {n_rows: (n_rows, 1.0) for n_rows in N_ROWS}),
    )
    with drawing() as plt:
        figure, both_axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
        handles: dict[str, Any] = {}
        for axes, (title, points) in zip(both_axes, panels, strict=True):
            for name, parameters in CURVES:
                ratios = {
                    x: sorted(row["dpm"]["n_centres"] / row["n_clusters"] for row in of_point)
                    for x, point in points.items()
                    if (of_point := rows_of(curve_case(name, parameters, *point), rows))
                }
                label = Case("shapes", name, parameters).label
                medians = [statistics.median(values) for values in ratios.values()]
                (handles[label],) = axes.plot(list(ratios), medians, marker="o", markersize=4, linewidth=1.3)
                ends = ([values[0] for values in ratios.values()], [values[-1] for values in ratios.values()])
                axes.fill_between(list(ratios), *ends, color=handles[label].get_color(), alpha=0.15, lw=0)
            axes.axhline(1.0, color="#8A8A8A", linestyle="--", zorder=1)
            axes.set_xscale("log")
            axes.set_yscale("log")
            plain_log_ticks(axes.xaxis, points)
            axes.set_xlabel(title)
            axes.grid(axis="y")
        low, high = both_axes[0].get_ylim()
        both_axes[0].set_ylim(min(low, 0.1), max(high, 10.0))
        both_axes[0].set_ylabel("clusters found / true clusters")
        top_legend(figure, list(handles.values()), handles, 3)
        save(figure, FOLDER, "curves")


def write_page(rows: dict[str, Row]) -> None:
    made, real = shape_cases(), [Case("real", name) for name in REAL]
    verdicts = [holds(case, rows_of(case, rows)) for case in made + real]
    lines = [
        "# Are the right clusters found?",
        "",
        "DPM without k, beside KMeans with the true k, which sees the rows without noise. `python -m dpmondrian_lab.benchmarks.found` writes",
        "this page from [rows.jsonl](rows.jsonl), one line per run. Numbers are means over the runs, but k is a median; ARI is",
        "the adjusted Rand index against the truth. Of two numbers in a cell the first is DPM's and the second KMeans'. Their ARI is",
        "compared at the digits shown.",
        "",
        f"What must hold holds in {verdicts.count('yes')} of the {len(verdicts) - verdicts.count('-')} lines that ask for something and have runs.",
        "",
        "## Made data sets",
        "",
        "50,000 rows, epsilon = 1, delta = 1e-7. `dpmondrian_lab.datasets.shapes` says what they are; each run has its own rows.",
        "",
        *table(made, rows, SHAPE_COLUMNS),
        "",
        "## Real data sets",
        "",
        "And the paper's Synth sets. epsilon = 1, delta = n^-1.5. KMeans is run once, with the k of the data set.",
        "",
        *table(real, rows, REAL_COLUMNS),
        "",
        "## Curves",
        "",
        "Clusters found, and the ARI in brackets.",
        "",
        *curve_table(rows, "over epsilon, 50,000 rows", {f"{e:g}": (50_000, e) for e in EPSILONS}),
        "",
        *curve_table(rows, "over rows, epsilon = 1", {f"{n:,}": (n, 1.0) for n in N_ROWS}),
        "",
        "![Clusters found over epsilon and over the number of rows](curves.png)",
    ]  # fmt: skip
    write_file(FOLDER / "README.md", "\n".join(lines) + "\n", overwrite=True, make_folder=True)
    draw(rows)


def chosen_cases(only: list[str], quick: bool) -> list[Case]:
    cases = [*shape_cases(), *(Case("real", name) for name in REAL), *curve_cases()]
    unknown = [start for start in only if not any(case.label.startswith(start) for case in cases)]
    if unknown:
        raise SystemExit(f"No line begins with {', '.join(unknown)}. There are:\n" + "\n".join(c.label for c in cases))
    return [
        case for case in cases if (not only or case.label.startswith(tuple(only))) and (not quick or is_quick(case))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help=f"runs per line (default 20, quick 3); curves at most {CURVE_RUNS}")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help='such as "separated k=10", uci_gas, curves'
    )
    parser.add_argument("--quick", action="store_true", help="small lines only")
    parser.add_argument("--again", action="store_true", help="also what is there; KMeans is kept")
    wanted = parser.parse_args()
    runs = wanted.runs or (3 if wanted.quick else 20)
    rows = read_rows()
    for case in chosen_cases(wanted.only, wanted.quick):
        started = time.perf_counter()
        try:
            run_case(case, min(runs, CURVE_RUNS) if case.part == "curves" else runs, rows, wanted.again)
        except DatasetNotFoundError as error:
            print(f"Left out: {case.label}. {error}", file=sys.stderr)
            continue
        found = rows_of(case, rows)
        columns = REAL_COLUMNS if case.part == "real" else SHAPE_COLUMNS
        cells = "; ".join(f"{title} {cell(found)}" for title, cell in columns.items())
        seconds = time.perf_counter() - started
        print(f"{case.label}: {cells}; holds: {holds(case, found)} ({seconds:.0f} s)", flush=True)
    write_page(read_rows())


if __name__ == "__main__":
    main()
