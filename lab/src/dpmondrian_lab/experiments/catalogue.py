"""The experiments of the paper, and three of our own, each in full and quick.

A quick experiment is a part of the full one (fewer repetitions, fewer points), so its runs are runs of the full one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType

from dpmondrian_lab.experiments.spec import Experiment, Grid, parameters_text
from dpmondrian_lab.peers.registry import EVALUATED

__all__ = ["EXPERIMENTS", "PAPER_DATA_SETS", "make_experiment"]

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


def share_settings(*names: str) -> tuple[str, ...]:
    """Return all budget shares in steps of 0.1, each at least 0.1, that sum to one: 84 for four names."""
    tenths = (combination for combination in product(range(1, 10), repeat=len(names)) if sum(combination) == 10)
    return tuple(
        parameters_text(budget_shares={name: tenth / 10 for name, tenth in zip(names, combination, strict=True)})
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
    default = _spread(share_settings("splits", "counts", "bridges", "centres"), quick, 10)
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


def make_experiment(name: str, quick: bool = False) -> Experiment:
    """Return the experiment of that name, whole or quick."""
    return EXPERIMENTS[name](quick)
