"""What is to be run, as frozen values: an experiment is made of grids, a grid of runs.

A run knows its key, which names it in the store, and its seed, which follows from the key. So a run gives the same
result alone, among others, and after an interruption.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.peers.registry import ALGORITHMS, Algorithm

__all__ = ["Experiment", "Grid", "Measure", "Run", "Selection", "parameters_text"]

NO_PARAMETERS = "{}"


def parameters_text(**parameters: Any) -> str:
    """Return parameters of an estimator as text: JSON, sorted, the same for the same parameters."""
    return json.dumps(parameters, sort_keys=True)


@dataclass(frozen=True)
class Run:
    """One fit of one algorithm on one data set.

    Attributes
    ----------
    experiment, data_set, algorithm : str
        Keys.
    iteration : int
        Number of the repetition, from 0.
    epsilon : float or None
        None for algorithms that are not private.
    parameters : str
        Further parameters of the estimator, see `parameters_text`.
    base_seed : int or None
        From which the seed of the run is derived; None for secure noise, which cannot be repeated.
    """

    experiment: str
    data_set: str
    algorithm: str
    iteration: int
    epsilon: float | None = 1.0
    parameters: str = NO_PARAMETERS
    base_seed: int | None = 0

    @property
    def options(self) -> dict[str, Any]:
        """The further parameters, as a mapping."""
        return dict(json.loads(self.parameters))

    @cached_property
    def key(self) -> str:
        """The name of the run; no two runs share one."""
        return json.dumps(
            [
                self.experiment,
                self.data_set,
                self.algorithm,
                self.epsilon,
                self.parameters,
                self.base_seed,
                self.iteration,
            ]
        )

    @property
    def digest(self) -> str:
        """A name for files: a hash of the key."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:24]

    @property
    def seed(self) -> int | None:
        """The seed of the noise, 32 bits since scikit-learn takes no more; so two runs hardly ever share one."""
        return None if self.base_seed is None else int(self.digest[:8], 16)


@dataclass(frozen=True)
class Selection:
    """What a user asks for instead of the whole experiment; empty means all."""

    data_sets: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """All combinations of data sets, algorithms, epsilons and parameters, repeated.

    Attributes
    ----------
    data_sets, algorithms : tuple of str
    repetitions : int
    slow_repetitions : int or None
        For slow algorithms; None: as many as for the others.
    epsilons : tuple of float
    settings : tuple of str
        Parameters of the estimator, each as `parameters_text`.
    closed : bool
        A selection takes part of it, but brings nothing else in.
    """

    data_sets: tuple[str, ...]
    algorithms: tuple[str, ...]
    repetitions: int
    slow_repetitions: int | None = None
    epsilons: tuple[float, ...] = (1.0,)
    settings: tuple[str, ...] = (NO_PARAMETERS,)
    closed: bool = False

    def chosen_algorithms(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Return the algorithms to run: parameters are made for certain algorithms; without them any will do."""
        if not wanted:
            return self.algorithms
        if self.settings == (NO_PARAMETERS,) and not self.closed:
            return tuple(key for key in ALGORITHMS if key in wanted)
        return tuple(key for key in self.algorithms if key in wanted)

    def chosen_data_sets(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Return the data sets to run on: those wanted, if there are any."""
        return tuple(key for key in wanted if not self.closed or key in self.data_sets) if wanted else self.data_sets

    def repetitions_of(self, algorithm: str) -> int:
        """Return how often each combination with this algorithm is run."""
        if self.slow_repetitions is not None and ALGORITHMS[algorithm].slow:
            return self.slow_repetitions
        return self.repetitions

    def runs(self, experiment: str, base_seed: int | None, selection: Selection) -> Iterator[Run]:
        """Yield the runs: by data set, then repetition, so that algorithms take turns."""
        keys = self.chosen_algorithms(selection.algorithms)
        algorithms = [ALGORITHMS[key] for key in keys if not ALGORITHMS[key].why_missing()]
        for data_set in self.chosen_data_sets(selection.data_sets):
            for iteration, setting, algorithm in product(range(self.repetitions), self.settings, algorithms):
                if iteration < self.repetitions_of(algorithm.key) and _can_run(algorithm, data_set):
                    for epsilon in self.epsilons if algorithm.private else (None,):
                        yield Run(experiment, data_set, algorithm.key, iteration, epsilon, setting, base_seed)


def _can_run(algorithm: Algorithm, data_set: str) -> bool:
    """Return whether an algorithm is made for the columns of a data set, and takes no age on it."""
    columns_fit = algorithm.most_columns is None or get(data_set).n_columns <= algorithm.most_columns
    return columns_fit and data_set not in algorithm.left_out_on


Measure = Literal["centres", "inertia", "labels", "twice"]
"""What is measured after a fit, see `measures`; "centres" are the paper's metrics."""


@dataclass(frozen=True)
class Experiment:
    """An experiment by name.

    Attributes
    ----------
    name : str
        Names its files.
    title : str
        One line for people.
    grids : tuple of Grid
    timed : bool
        Only the time of the fit is measured: one process, one run after the other, secure noise.
    measure : str
        See `Measure`.
    """

    name: str
    title: str
    grids: tuple[Grid, ...]
    timed: bool = False
    measure: Measure = "centres"

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms of all grids, also those that cannot run here."""
        return tuple(dict.fromkeys(key for grid in self.grids for key in grid.algorithms))

    def runs(self, base_seed: int = 0, selection: Selection | None = None) -> list[Run]:
        """Return all runs, each once."""
        seed = None if self.timed else base_seed
        runs = (run for grid in self.grids for run in grid.runs(self.name, seed, selection or Selection()))
        return list(dict.fromkeys(runs))
