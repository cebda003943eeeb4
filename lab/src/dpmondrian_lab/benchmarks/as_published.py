"""Why the paper's variant differs from the paper: ``python -m dpmondrian_lab.benchmarks.as_published [--data-set uci_letters] [--runs 60]``.

Follows the paper's reference code step by step on public data, with floating-point noise and without the door: nothing here is
private. Four of its choices can be replaced by those of ``DPM(variant="paper")``; every line of the table replaces one more, the
last one is `DPM` itself. Seeded, so it repeats.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from dpmondrian import DPM
from dpmondrian.dpm import standard_gap
from dpmondrian.exceptions import NotReleasableWarning
from dpmondrian.quality import evaluate
from dpmondrian_lab.datasets import DataSet, get, reference_centres
from dpmondrian_lab.pages.published import published

LEVELS, T, Q, ALPHA, PERCENTILE = 7, 0.3, 1 / 12, 5.0, 0.65
INTERVAL, COUNTS, SPLITS, AVERAGES = 0.04, 0.18, 0.18, 0.6
"""Shares of epsilon = 1."""
SIGMAS = np.arange(0.5, 30.0, 0.5)
METRICS = {"silhouette": ".3f", "accuracy": ".3f", "inertia": ".2e", "kmeans_distance": ".3f", "n_centres": ".1f"}
"""The columns of the table with their number formats."""


@dataclass(frozen=True)
class Choices:
    """What `DPM` does differently from the reference code; by default nothing.

    Attributes
    ----------
    pooled : bool
        The gaps of all columns in one list, instead of averaged over the columns rank by rank. Only this one is needed for privacy.
    from_middle : bool
        Sums relative to the middle of the bounds, with noise for half the diagonal, instead of relative to 0 with noise for the
        largest norm.
    fractions : bool
        The candidates for sigma are fractions of the range, instead of 0.5 to 29.5 in the units of the data.
    listed : bool
        The exponential mechanism chooses one of the listed sigmas, instead of a gap on the whole range, to which the nearest
        sigma is looked up.
    """

    pooled: bool = False
    from_middle: bool = False
    fractions: bool = False
    listed: bool = False


LINES = (
    ("reference code", Choices()),
    ("+ gaps pooled", Choices(pooled=True)),
    ("+ sums from the middle", Choices(pooled=True, from_middle=True)),
    ("+ sigmas as fractions of the range", Choices(pooled=True, from_middle=True, fractions=True)),
    ("+ sigmas chosen from the list", Choices(pooled=True, from_middle=True, fractions=True, listed=True)),
)


@dataclass(frozen=True)
class Node:
    """Rows by number, the level of the node, and its noisy count."""

    rows: np.ndarray = field(repr=False)
    level: int
    count: float


@dataclass
class ReferenceDPM:
    """One run of the reference code: `centres` returns its result, `n_cuts` is the number of cuts per column."""

    table: np.ndarray
    low: float
    high: float
    choices: Choices
    generator: np.random.Generator

    def __post_init__(self) -> None:
        self.delta = len(self.table) ** -1.5
        self.count_epsilons = COUNTS * over_levels(LEVELS + 1)
        self.split_epsilons = SPLITS * over_levels(LEVELS)
        self.offsets = -np.log(2 * 0.2 * self.delta / (LEVELS + 1)) / self.count_epsilons
        self.total = self.noisy_count(len(self.table), 0)
        width = self.interval_size()
        self.n_cuts = max(1, int((self.high - self.low) / width))
        self.cuts = self.low + (np.arange(self.n_cuts) + 0.5) * width

    def noisy_count(self, n_rows: int, level: int) -> float:
        return n_rows + self.generator.laplace(scale=1 / self.count_epsilons[level])

    def interval_size(self) -> float:
        """Return half of the sigma whose gaps are like those of the rows."""
        gaps = np.diff(np.sort(self.table, axis=0), axis=0)
        n_columns = gaps.shape[1]
        ranks = (2 - PERCENTILE) * n_columns if self.choices.pooled else 2.0
        gaps = np.sort(gaps.ravel() if self.choices.pooled else gaps.mean(axis=1))
        sigmas = SIGMAS * (self.high - self.low) / 200 if self.choices.fractions else SIGMAS
        gap_of_sigma = sigmas * standard_gap() / int(self.total)
        if self.choices.listed:
            within = np.searchsorted(gaps, gap_of_sigma, side="right")
            chosen = self.select(-np.abs(within - PERCENTILE * len(gaps)), INTERVAL, ranks)
        else:
            chosen = np.argmin(np.abs(gap_of_sigma - self.percentile(gaps, ranks)))
        return sigmas[chosen] / 2

    def percentile(self, gaps: np.ndarray, ranks: float) -> float:
        """Return the 65th percentile of sorted gaps: one of the intervals between them, weighted by length, and a place in it."""
        edges = np.concatenate([[0.0], gaps, [self.high - self.low]])
        with np.errstate(divide="ignore"):
            lengths = np.log(np.diff(edges))
        place = self.select(-np.abs(np.arange(len(gaps) + 1) - PERCENTILE * len(gaps)), INTERVAL, ranks, lengths)
        return self.generator.uniform(edges[place], edges[place + 1])

    def select(self, scores: np.ndarray, epsilon: float, change: float, log_weights: np.ndarray | float = 0.0) -> int:
        """Return a candidate of the exponential mechanism with the usual factor 2."""
        exponents = epsilon * scores / (2 * change) + log_weights
        return int(np.argmax(exponents + self.generator.gumbel(size=exponents.shape)))

    def centres(self) -> np.ndarray:
        """Return the noisy means of the leaves."""
        n_columns = self.table.shape[1]
        origin = (self.low + self.high) / 2 if self.choices.from_middle else 0.0
        norm_of_row = max(self.high - origin, origin - self.low) * np.sqrt(n_columns)
        scale = norm_of_row * gaussian_multiplier(AVERAGES, 0.8 * self.delta)
        leaves = self.leaves()
        sums = np.array([(self.table[leaf.rows] - origin).sum(axis=0) for leaf in leaves])
        sizes = np.array([leaf.count for leaf in leaves])[:, None]
        return origin + (sums + self.generator.normal(scale=scale, size=sums.shape)) / sizes

    def leaves(self) -> list[Node]:
        """Return the nodes that are not cut: those of the last level, and those with a side that is too small."""
        leaves, open_nodes = [], [Node(np.arange(len(self.table)), 0, self.total)]
        while open_nodes:
            node = open_nodes.pop()
            sides = self.sides(node) if node.level < LEVELS else []
            cut = bool(sides) and min(side.count for side in sides) > self.total / 2**LEVELS
            (open_nodes if cut else leaves).extend(sides if cut else [node])
        return leaves

    def sides(self, node: Node) -> list[Node]:
        """Return both sides of the cut that is chosen for a node."""
        shifted = max(node.count - self.offsets[node.level], 1.0)
        pick = self.select(self.scores(node), self.split_epsilons[node.level], (T / Q + ALPHA) / shifted)
        column, cut = divmod(pick, self.n_cuts)
        below = self.table[node.rows, column] <= self.cuts[cut]
        level = node.level + 1
        return [Node(rows, level, self.noisy_count(len(rows), level)) for rows in (node.rows[below], node.rows[~below])]

    def scores(self, node: Node) -> np.ndarray:
        """Return the scores of all cuts, column by column."""
        if node.count <= 0:
            return np.zeros(self.table.shape[1] * self.n_cuts)
        of_columns = [self.scores_of_column(np.sort(column), node.count) for column in self.table[node.rows].T]
        return np.concatenate(of_columns)

    def scores_of_column(self, values: np.ndarray, count: float) -> np.ndarray:
        """Return centreness plus weighted emptiness of the cuts through sorted values; the histogram leaves out the upper bound."""
        windows = np.linspace(self.low, self.high, self.n_cuts + 1)
        emptiness = np.clip(1 - np.diff(np.searchsorted(values, windows)) / count, 0, 1)
        side = (count / 2 - np.abs(np.searchsorted(values, self.cuts) - count / 2)) / count
        inner = (T - 2 * Q) / (1 - 2 * Q) + side * (1 - T) / (0.5 - Q)
        return np.where(side <= Q, side * T / Q, inner) + ALPHA * emptiness


def over_levels(n_levels: int) -> np.ndarray:
    """Return shares of the levels that grow like the square root of 2**level."""
    weights = np.sqrt(2.0 ** np.arange(n_levels))
    return weights / weights.sum()


def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return the least standard deviation of Gaussian noise, per unit of sensitivity, that is (epsilon, delta)-private."""

    def excess(scale: float) -> float:
        half = 1 / (2 * scale)
        return norm.cdf(half - epsilon * scale) - np.exp(epsilon) * norm.cdf(-half - epsilon * scale) - delta

    return float(brentq(excess, 1e-3, 1e6))


@dataclass(frozen=True)
class Judge:
    """Measures centres on a data set, and knows the paper's numbers there."""

    data_set: DataSet

    def line(self, name: str, centres_of: Callable[[int], np.ndarray], runs: int) -> str:
        """Return a line of the table: mean and deviation of every metric, bold where the mean is not the paper's."""
        results = [self.measure(centres_of(seed)) for seed in range(runs)]
        values = {metric: np.array([result.get(metric, np.nan) for result in results]) for metric in METRICS}
        alone = np.mean(values["n_centres"] == 1)
        return f"| {name} | {' | '.join(self.cell(metric, values[metric]) for metric in METRICS)} | {alone:.0%} |"

    def measure(self, centres: np.ndarray) -> dict[str, float]:
        """Return all metrics; a single centre has no silhouette, for which the paper takes -1: such runs are counted instead."""
        rows, classes = self.data_set.load()
        metrics = evaluate(rows, classes, centres, reference_centres(self.data_set), self.data_set.diameter)
        return metrics if len(centres) > 1 else metrics | {"silhouette": np.nan}

    def cell(self, metric: str, values: np.ndarray) -> str:
        if np.isnan(values).all():
            return "-"
        digits, paper = METRICS[metric], published(self.data_set.key, metric, "dpm_paper")
        mean = np.nanmean(values)
        text = f"{mean:{digits}} ({np.nanstd(values, ddof=1):{digits}})"
        differs = paper is not None and abs(mean - paper.mean) > 2 * paper.deviation + paper.rounding
        return f"**{text}**" if differs else text

    def paper_line(self) -> str:
        cells = [published(self.data_set.key, metric, "dpm_paper") for metric in METRICS]
        return f"| the paper | {' | '.join(cell.text if cell else '-' for cell in cells)} | - |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-set", default="uci_letters", help="key of a data set (default uci_letters)")
    parser.add_argument("--runs", type=int, default=60, help="runs per line (default 60)")
    options = parser.parse_args()
    data_set = get(options.data_set)
    judge, (rows, _) = Judge(data_set), data_set.load()

    def reference(choices: Choices, seed: int) -> np.ndarray:
        return ReferenceDPM(rows, *data_set.bounds, choices, np.random.default_rng(seed)).centres()

    def ours(seed: int) -> np.ndarray:
        model = DPM(delta=data_set.delta, bounds=data_set.bounds, variant="paper", random_state=seed)
        return model.fit(rows).cluster_centers_

    warnings.simplefilter("ignore", NotReleasableWarning)
    print(f"| {data_set.name} | {' | '.join(METRICS)} | one centre |", "|---" * (len(METRICS) + 2) + "|", sep="\n")
    print(judge.paper_line(), flush=True)
    for name, choices in LINES:
        print(judge.line(name, partial(reference, choices), options.runs), flush=True)
    print(judge.line('`DPM(variant="paper")`', ours, options.runs))


if __name__ == "__main__":
    main()
