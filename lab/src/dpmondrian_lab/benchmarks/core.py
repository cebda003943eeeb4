"""What must hold on data that no default was chosen on: ``python -m dpmondrian_lab.benchmarks.core nulls suite --runs 2``.

The experiments of ``dpm reproduce real`` (`dpmondrian_lab.experiments.catalogue.BEYOND`) with fewer repetitions, DPM and KMeans only, in
this process and with seeded noise, so that a change to the algorithm is judged within minutes. Runs are kept in ``output/core`` beside this
file and not repeated; ``--again`` repeats those of DPM. The last lines say what holds.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from dpmondrian_lab.datasets import get
from dpmondrian_lab.experiments.catalogue import BEYOND, make_experiment
from dpmondrian_lab.experiments.perform import fit_and_measure
from dpmondrian_lab.experiments.spec import Run, Selection
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.beyond_checks import check_beyond

FOLDER = Path(__file__).parent / "output" / "core"
ALGORITHMS = ("kmeans_10", "dpm", "dpm_k", "dpm_release")


def wanted(name: str, options: argparse.Namespace) -> Iterator[Run]:
    """Yield the runs of an experiment that are asked for, those with few rows first."""
    runs = make_experiment(name).runs(0, Selection(algorithms=ALGORITHMS))
    for run in sorted(runs, key=lambda run: get(run.data_set).n_rows):
        seed = re.search(r"x\d.*-s(\d+)$", run.data_set)
        if max(run.iteration, int(seed[1]) if seed else 0) >= options.runs or get(run.data_set).n_rows > options.rows:
            continue
        if run.epsilon is not None and options.epsilons and run.epsilon not in options.epsilons:
            continue
        if re.search(options.only, run.data_set) and run.algorithm in options.algorithms:
            yield run


def perform(name: str, options: argparse.Namespace, store: Store) -> None:
    finished = store.finished(name)
    for run in wanted(name, options):
        if run.key in finished and not (options.again and run.algorithm != "kmeans_10"):
            continue
        row = fit_and_measure(run, store, make_experiment(name).measure)
        store.append(row)
        figures = row.error or ", ".join(f"{key} {value:.3f}" for key, value in row.metrics.items())
        print(run.data_set, run.algorithm, run.epsilon, run.iteration, figures, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name in BEYOND if name != "real_times"]
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(names)}; by default all")
    parser.add_argument("--runs", type=int, default=2, help="repetitions; of made data as many seeds")
    parser.add_argument("--rows", type=float, default=1e5, help="leave larger data sets out")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--only", default="", help="regular expression for the names of data sets")
    parser.add_argument("--again", action="store_true", help="repeat the runs of DPM, after a change to it")
    options = parser.parse_args()
    store = Store(FOLDER)
    for name in options.experiments or names:
        perform(name, options, store)
    rows = {name: list(store.finished(name).values()) for name in names}
    for check in check_beyond(rows):
        print(check)


if __name__ == "__main__":
    main()
