"""Running experiments: what is finished is not run again, what fails is kept, an interrupt loses only what is running."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.experiments.catalogue import make_experiment
from dpmondrian_lab.experiments.perform import describe, fit_and_measure, measure_again, prepare
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Measure, Run, Selection
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.experiments.timing import machine, measure_times
from dpmondrian_lab.peers.registry import ALGORITHMS
from dpmondrian_lab.workers import Task, Workers

__all__ = ["Listener", "Orders", "run_experiments"]


class Listener(Protocol):
    """Somebody who wants to know how far the work is."""

    def start(self, title: str, total: int, done: int) -> None:
        """Take note that work begins, of which some may be done already."""

    def advance(self, row: Row | None = None) -> None:
        """Take note of the end of one piece of work."""


@dataclass(frozen=True)
class Orders:
    """How experiments are to be run.

    Attributes
    ----------
    quick : bool
    jobs : int
        Processes.
    base_seed : int
    selection : Selection
    recompute : bool
        Measure stored centres again.
    again : bool
        Run everything again, also what is finished.
    retry : bool
        Run again what failed.
    """

    quick: bool = False
    jobs: int = 1
    base_seed: int = 0
    selection: Selection = field(default_factory=Selection)
    recompute: bool = False
    again: bool = False
    retry: bool = False


def run_experiments(names: list[str], orders: Orders, store: Store, listener: Listener) -> None:
    """Run what is missing of the experiments and write their CSV files, each when it is finished.

    A data set that is missing ends the work before anything has been run.
    """
    runs = {name: make_experiment(name, orders.quick).runs(orders.base_seed, orders.selection) for name in names}
    _check_data_sets(list(dict.fromkeys(run.data_set for name in names for run in runs[name])))
    store.open()
    with Workers(orders.jobs) as workers:
        for name in names:
            _run_experiment(name, runs[name], orders, store, workers, listener)


def _check_data_sets(keys: list[str]) -> None:
    from dpmondrian_lab.datasets.registry import get

    for key in keys:
        if not get(key).is_available():
            get(key).load()  # raises with the way out


def _run_experiment(
    name: str, runs: list[Run], orders: Orders, store: Store, workers: Workers, listener: Listener
) -> None:
    """Run what is missing of one experiment and write its CSV file.

    The file holds all finished runs of the full experiment, so a run of a part of it takes nothing away.
    """
    experiment = make_experiment(name, orders.quick)
    to_measure, to_run = _outstanding(name, runs, orders, store)
    if experiment.timed:
        rows = _timed(to_run, store)
    else:
        if experiment.measure == "centres":
            _prepare(to_measure + to_run, workers, listener)
        rows = _in_parallel(to_measure, to_run, experiment.measure, store, workers)
    listener.start(experiment.title, len(runs), len(runs) - len(to_measure) - len(to_run))
    with closing(rows):
        for row in rows:
            store.append(row)
            listener.advance(row)
    whole = make_experiment(name).runs(orders.base_seed)
    store.publish(name, list(dict.fromkeys([*whole, *runs])))


def _outstanding(name: str, runs: list[Run], orders: Orders, store: Store) -> tuple[list[Run], list[Run]]:
    """Return the runs whose centres are to be measured again, and those that are to be run."""
    if orders.again:
        return [], runs
    finished = store.finished(name)
    to_measure, to_run = [], []
    for run in runs:
        row = finished.get(run.key)
        if row is None or (row.failed and orders.retry):
            to_run.append(run)
        elif orders.recompute and store.centres_path(run).exists():
            to_measure.append(run)
    return to_measure, to_run


def _prepare(runs: list[Run], workers: Workers, listener: Listener) -> None:
    """Compute reference centres once per data set, before several workers would do it at the same time."""
    keys = list(dict.fromkeys(run.data_set for run in runs))
    listener.start("Reference centres (minutes if new)", len(keys), 0)
    with closing(workers.work_through(Task(key, prepare, (key,)) for key in keys)) as prepared:
        for _, outcome in prepared:
            if isinstance(outcome, BaseException):
                raise outcome
            listener.advance()


def _in_parallel(
    to_measure: list[Run], to_run: list[Run], measure: Measure, store: Store, workers: Workers
) -> Generator[Row, None, None]:
    # Slow runs first, so that they do not stand alone at the end.
    ordered = sorted(to_run, key=lambda run: not ALGORITHMS[run.algorithm].slow)
    tasks = [Task(run.data_set, measure_again, (run, store, measure)) for run in to_measure]
    tasks += [Task(run.data_set, fit_and_measure, (run, store, measure)) for run in ordered]
    with closing(workers.work_through(tasks)) as outcomes:
        for task, outcome in outcomes:
            run = task.arguments[0]
            yield Row(run, error=describe(outcome)) if isinstance(outcome, BaseException) else outcome


def _timed(runs: list[Run], store: Store) -> Generator[Row, None, None]:
    """Yield rows with times, after a note of the machine that they were taken on."""
    if runs:
        write_file(
            store.folder / "rows" / "machine.json",
            json.dumps(machine(), indent=2) + "\n",
            overwrite=True,
            make_folder=True,
        )
    yield from measure_times(runs)
