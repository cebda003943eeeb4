"""The experiments of the paper with three of our own, and those on tables and shapes beyond the paper, each in full and quick.

A quick experiment is a part of the full one (fewer repetitions, fewer points), so its runs are runs of the full one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

from dpmondrian_lab.datasets.folders import real_keys, suite_keys
from dpmondrian_lab.datasets.registry import get, shape_key
from dpmondrian_lab.experiments.spec import Experiment, Grid, parameters_text
from dpmondrian_lab.peers.registry import EVALUATED

__all__ = [
    "BEYOND",
    "ENLARGED",
    "EXPERIMENTS",
    "NULLS",
    "PAPER_DATA_SETS",
    "RIVALS",
    "SLOW_RIVALS",
    "make_experiment",
]

PAPER_DATA_SETS = ("mnist_embs", "fashion_embs", "synth_10d", "synth_100d", "uci_letters", "uci_gas")
"""In the order of the paper's tables."""

FAST_ALGORITHMS = ("kmeans", "dp_lloyd", "lsh_splits", "fast_lloyd", "dpm", "dpm_k")
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
ROW_COUNTS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLUSTER_COUNTS = (2, 4, 8, 16, 32, 64, 100)

CENTRENESS_PAIRS = tuple(
    (tenths_t / 10, tenths_q / 10)
    for tenths_q, least in ((1, 3), (2, 5), (3, 7), (4, 9))
    for tenths_t in range(least, 10)
)
"""The paper's pairs of t and q, 2q < t."""


def share_settings(*names: str, **parameters: Any) -> tuple[str, ...]:
    """Return all budget shares in steps of 0.1, each at least 0.1, that sum to one: 84 for four names; with these other parameters."""
    tenths = (combination for combination in product(range(1, 10), repeat=len(names)) if sum(combination) == 10)
    return tuple(
        parameters_text(
            budget_shares={name: tenth / 10 for name, tenth in zip(names, combination, strict=True)}, **parameters
        )
        for combination in tenths
    )


def _spread(settings: tuple[str, ...], quick: bool, n_quick: int) -> tuple[str, ...]:
    """Return all settings, or for a quick run some, evenly spread over the list."""
    if not quick:
        return settings
    return tuple(settings[i * (len(settings) - 1) // (n_quick - 1)] for i in range(n_quick))


def _kopt(quick: bool) -> Experiment:
    grid = Grid(PAPER_DATA_SETS, tuple(EVALUATED), 2 if quick else 20, 1 if quick else 2)
    return Experiment("kopt", "All algorithms on all data sets", (grid,))


def _timing(quick: bool) -> Experiment:
    data_sets = ("synth_10d", "uci_letters") if quick else PAPER_DATA_SETS
    grid = Grid(data_sets, tuple(EVALUATED), 2 if quick else 10, 1)
    return Experiment("timing", "Running time of one fit", (grid,), timed=True)


def _centreness(quick: bool) -> Experiment:
    settings = _spread(tuple(parameters_text(t=t, q=q) for t, q in CENTRENESS_PAIRS), quick, 7)
    grid = Grid(("synth_10d",), ("dpm_paper", "dpm"), 1 if quick else 10, settings=settings)
    return Experiment("centreness", "Shape of centreness, t and q", (grid,))


def _budget(quick: bool) -> Experiment:
    paper = _spread(share_settings("interval", "splits", "counts", "centres"), quick, 10)
    default = _spread(share_settings("splits", "counts", "cells", "clusters", profiles=False), quick, 10)
    grids = tuple(
        Grid(("mnist_embs",), (algorithm,), 1 if quick else 5, settings=settings)
        for algorithm, settings in (("dpm_paper", paper), ("dpm", default))
    )
    return Experiment("budget", "How the budget is divided", grids)


def _epsilon(quick: bool) -> Experiment:
    data_sets = ("synth_10d", "uci_letters") if quick else PAPER_DATA_SETS
    grid = Grid(data_sets, FAST_ALGORITHMS, 1 if quick else 3, epsilons=(0.1, 1.0, 4.0) if quick else EPSILONS)
    return Experiment("epsilon", "Quality over epsilon", (grid,))


def _rows(quick: bool) -> Experiment:
    counts = (1_000, 10_000, 100_000) if quick else ROW_COUNTS
    data_sets = tuple(f"blobs-{n_rows}x10-64" for n_rows in counts)
    return Experiment("rows", "Quality over the number of rows", (Grid(data_sets, FAST_ALGORITHMS, 1 if quick else 5),))


def _clusters(quick: bool) -> Experiment:
    counts = (2, 8, 32, 100) if quick else CLUSTER_COUNTS
    data_sets = tuple(f"blobs-100000x10-{n_clusters}" for n_clusters in counts)
    return Experiment("clusters", "Clusters found", (Grid(data_sets, ("dpm_paper", "dpm"), 2 if quick else 10),))


EXPERIMENTS: Mapping[str, Callable[[bool], Experiment]] = MappingProxyType(
    {
        "kopt": _kopt,
        "timing": _timing,
        "centreness": _centreness,
        "budget": _budget,
        "epsilon": _epsilon,
        "rows": _rows,
        "clusters": _clusters,
    }
)


# Beyond the paper: tables that are used, a clustering suite, and shapes of which the truth is known

RIVALS = ("dp_lloyd", "lsh_splits", "fast_lloyd", "noisy_grid")
SLOW_RIVALS = ("em_mc", "pe_means", "mst", "aim")
"""Up to five minutes for a fit: one repetition."""
ENLARGED = 50_000
NULLS = ("one_uniform", "one_gaussian", "one_student", "one_exponential", "one_flat")


def _smallest(keys: tuple[str, ...], quick: bool, n_quick: int) -> tuple[str, ...]:
    """Return all data sets, or for a quick run those with the fewest columns, of these the smallest."""
    by_size = sorted(keys, key=lambda key: (get(key).n_columns, get(key).n_rows))
    return tuple(by_size[:n_quick]) if quick else keys


def _real_k(quick: bool) -> Experiment:
    tables = _smallest(real_keys(), quick, 2)
    data_sets = tables if quick else tuple(f"{key}{k}" for key in tables for k in ("-k3", "", "-k20"))
    epsilons = (1.0,) if quick else (0.1, 0.2, 1.0, 4.0)
    grids = (
        Grid(data_sets, ("kmeans_10",), 1, closed=True),
        Grid(data_sets, (*RIVALS, "dpm_release", "dpm_k"), 1 if quick else 5, epsilons=epsilons, closed=True),
        Grid(data_sets[:1] if quick else data_sets, SLOW_RIVALS, 1, epsilons=epsilons, closed=True),
    )
    return Experiment("real_k", "Real tables, k given", grids, measure="inertia")


def _real_times(quick: bool) -> Experiment:
    tables = _smallest(real_keys(), quick, 1)
    fast = Grid(tables, ("kmeans_10", *RIVALS, "dpm_release", "dpm_k", "dpm"), 1 if quick else 5, closed=True)
    slow = Grid(tables, SLOW_RIVALS, 1, closed=True)
    return Experiment("real_times", "Real tables, running time", (fast, slow), timed=True)


def _real_found(quick: bool) -> Experiment:
    tables = _smallest(real_keys(), quick, 3)
    epsilons = (1.0,) if quick else (0.1, 0.2, 1.0, 4.0)
    grid = Grid(tables, ("kmeans_10", "dpm"), 2 if quick else 10, epsilons=epsilons, closed=True)
    return Experiment("real_found", "Real tables, without k", (grid,), measure="twice")


def _suite(quick: bool) -> Experiment:
    own = _smallest(suite_keys(), quick, 3)
    data_sets = own + tuple(f"{key}-n{ENLARGED}" for key in own)
    algorithms = ("kmeans_10", "dpm", "dpm_k")
    epsilons = (1.0, 4.0) if quick else (1.0, 4.0, 100.0)
    grid = Grid(data_sets, algorithms, 1 if quick else 5, epsilons=epsilons, closed=True)
    return Experiment("suite", "Clustering suite", (grid,), measure="labels")


def _nulls(quick: bool) -> Experiment:
    """Every run has rows of its own: the seed is part of the data set's key."""
    seeds = range(1 if quick else 20)
    columns, n_rows = ((2,), (5_000,)) if quick else ((1, 2, 3, 5, 20), (500, 5_000, 50_000, 1_000_000))
    ones = tuple(shape_key(name, n, d, seed=seed) for name, d, n, seed in product(NULLS, columns, n_rows, seeds))
    cells: list[tuple[str, int, int, float | None]] = [
        *(("touching", 20_000, d, gap) for gap in (3.5, 4.0, 5.0) for d in (2, 10)),
        *(("diagonal", 20_000, d, 6.0) for d in (8, 32, 128)),
        *(("separated", 50_000, d, k) for k in (2, 5, 10, 30, 64, 100) for d in (2, 10)),
        *(("unequal_sizes", n, 5, None) for n in (20_000, 50_000)),
    ]
    more = tuple(shape_key(*cell, seed=seed) for cell in cells[:: 4 if quick else 1] for seed in seeds)
    epsilons = (1.0,) if quick else (0.1, 1.0, 10.0, 100.0)
    grids = (Grid(ones, ("dpm",), 1, epsilons=epsilons, closed=True), Grid(more, ("dpm",), 1, closed=True))
    return Experiment("nulls", "Nothing to find, and much", grids, measure="labels")


BEYOND: Mapping[str, Callable[[bool], Experiment]] = MappingProxyType(
    {
        "real_k": _real_k,
        "real_found": _real_found,
        "real_times": _real_times,
        "suite": _suite,
        "nulls": _nulls,
    }
)
"""Those beyond the paper. But for the last they need the folders of `folders`."""


def make_experiment(name: str, quick: bool = False) -> Experiment:
    """Return the experiment of that name, whole or quick."""
    return (EXPERIMENTS if name in EXPERIMENTS else BEYOND)[name](quick)
