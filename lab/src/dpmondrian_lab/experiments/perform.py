"""One run from beginning to end: load, fit, keep the centres, measure."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmondrian.exceptions import NotReleasableWarning
from dpmondrian_lab.experiments.measures import measure_centres, measure_labels
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Measure, Run
from dpmondrian_lab.peers.registry import ALGORITHMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpmondrian_lab.datasets.registry import DataSet
    from dpmondrian_lab.experiments.store import Store

__all__ = ["describe", "fit_and_measure", "make_estimator", "measure_again", "prepare", "timed_fit"]


def prepare(data_set_key: str) -> None:
    """Load a data set and compute its reference centres, which are kept on disk from then on."""
    from dpmondrian_lab.datasets.references import reference_centres
    from dpmondrian_lab.datasets.registry import get

    data_set = get(data_set_key)
    data_set.load()
    reference_centres(data_set)


def fit_and_measure(run: Run, store: Store, measure: Measure = "centres") -> Row:
    """Return the row of a run; an error of the algorithm becomes a row as well."""
    from dpmondrian_lab.datasets.registry import get

    data_set = get(run.data_set)
    # The second fit, for those that are compared with themselves, has noise of its own.
    runs = [run, replace(run, iteration=-1 - run.iteration)] if measure == "twice" else [run]
    try:
        models = [_fitted(make_estimator(one, data_set), data_set) for one in runs]
    except Exception as error:
        return Row(run, error=describe(error))
    # What fails from here on is no fault of the algorithm: it ends the work, and the run can be taken up again.
    if measure in ("labels", "twice"):
        return Row(run, measure_labels(data_set, *models))
    centres = np.asarray(models[0].cluster_centers_, dtype=np.float64)
    store.save_centres(run, centres)
    return Row(run, measure_centres(data_set, centres, measure))


def measure_again(run: Run, store: Store, measure: Measure = "centres") -> Row:
    """Return the row of a run from its stored centres: for new or repaired metrics."""
    from dpmondrian_lab.datasets.registry import get

    return Row(run, measure_centres(get(run.data_set), store.load_centres(run), measure))


def timed_fit(run: Run, data_set: DataSet, rows: NDArray[np.float64]) -> Row:
    """Return a row with the time of the fit alone: making the estimator, loading and measuring are left out."""
    try:
        estimator = make_estimator(run, data_set)
        with _research():
            start = time.perf_counter()
            estimator.fit(rows)
            seconds = time.perf_counter() - start
        return Row(run, {"seconds": seconds})
    except Exception as error:
        return Row(run, error=describe(error))


def make_estimator(run: Run, data_set: DataSet) -> Any:
    """Return the estimator of a run, not fitted."""
    facts = {
        "epsilon": 1.0 if run.epsilon is None else run.epsilon,
        "delta": data_set.delta,
        "bounds": data_set.bounds,
        "n_clusters": data_set.n_clusters,
        "expected_rows": data_set.n_rows,
        "random_state": run.seed,
    }
    return ALGORITHMS[run.algorithm].make(facts, run.options)


def describe(error: BaseException) -> str:
    """Return the class and message of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _fitted(estimator: Any, data_set: DataSet) -> Any:
    with _research():
        return estimator.fit(data_set.load()[0])


@contextmanager
def _research() -> Iterator[None]:
    """Silence the warning of seeded runs that they must not be released: here nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotReleasableWarning)
        yield
