"""Growing the tree level by level (paper, algorithm 1): one pass over the rows answers a whole level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.base import Engine, Splits
from dpmondrian.grid import Grid
from dpmondrian.release import Door
from dpmondrian.scoring.combine import Score

__all__ = ["GrownTree", "Node", "SplitRule", "grow"]

_TABLE_CELLS = 2**24
"""Most histogram cells asked for in one pass; deeper levels of wide tables take several passes."""


@dataclass
class Node:
    """A node of the growing tree: only released values and public facts.

    `low` and `high` are the node's box in codes, ``low <= code < high``, shape (n_columns,). A node
    whose cut was rejected keeps the noisy counts of the two sides: they are paid for and say more
    about its size.
    """

    number: int
    parent: int
    level: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    noisy_count: int
    column: int = -1
    cut: int = -1
    children: tuple[int, int] | None = None
    rejected_counts: tuple[int, int] | None = None

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.children is None


@dataclass(frozen=True)
class SplitRule:
    """Everything public that decides about cuts.

    Attributes
    ----------
    score : Score
    max_depth : int
        The paper's tau_r.
    size_limit : callable
        From the noisy number of all rows and a level to the least noisy count of each side (tau_e).
    selection_range : callable
        From a node's noisy count and level to the range that its selection pays for.
    within_box : bool
        Whether only cuts inside the node's box are candidates.
    """

    score: Score
    max_depth: int
    size_limit: Callable[[int, int], float]
    selection_range: Callable[[int, int], int]
    within_box: bool = True


@dataclass(frozen=True)
class GrownTree:
    """The nodes in the order they were made; node 0 is the root."""

    nodes: list[Node]

    @property
    def leaves(self) -> list[Node]:
        """Nodes without children, in order."""
        return [node for node in self.nodes if node.is_leaf]


def grow(engine: Engine, door: Door, grid: Grid, rule: SplitRule, noisy_total: int) -> GrownTree:
    """Return the tree of private cuts.

    Every level: ask for the histograms of all open nodes, choose one cut per node at the door, count the
    two sides at the door, and keep the cut if both noisy counts reach the size limit.
    """
    root = Node(0, -1, 0, np.zeros(grid.n_columns, dtype=np.int64), grid.n_codes.copy(), noisy_total)
    nodes, open_nodes = [root], [root]
    cuts = grid.cuts()
    for level in range(rule.max_depth):
        limit = rule.size_limit(noisy_total, level + 1)
        candidates = [(node, _candidates(node, cuts, rule.within_box)) for node in open_nodes]
        candidates = [(node, where) for node, where in candidates if node.noisy_count >= 2 * limit and len(where)]
        if not candidates:
            break
        open_nodes = [node for node, _ in candidates]
        choices, exact_sides = _choose(engine, door, rule, level, candidates, grid)
        noisy_sides = door.counts(level + 1, exact_sides.ravel()).reshape(-1, 2)
        splits = Splits(len(nodes) + 2 * len(open_nodes))
        grown: list[Node] = []
        for node, choice, sides in zip(open_nodes, choices, noisy_sides, strict=True):
            if min(sides) < limit:
                node.rejected_counts = (int(sides[0]), int(sides[1]))
                continue
            children = _split(node, *divmod(choice, grid.most_codes), sides, len(nodes))
            splits.add(node.number, node.column, node.cut, *node.children)  # type: ignore[misc]
            nodes += children
            grown += children
        if grown:
            engine.route(splits)
        open_nodes = grown
    return GrownTree(nodes)


def _candidates(node: Node, cuts: NDArray[np.bool_], within_box: bool) -> NDArray[np.int64]:
    """Return the flat indices ``column * most_codes + cut`` of the cuts that a node may take."""
    if not within_box:
        return np.flatnonzero(cuts)
    cut = np.arange(cuts.shape[1])
    return np.flatnonzero(cuts & (cut > node.low[:, None]) & (cut < node.high[:, None]))


def _choose(
    engine: Engine,
    door: Door,
    rule: SplitRule,
    level: int,
    candidates: list[tuple[Node, NDArray[np.int64]]],
    grid: Grid,
) -> tuple[list[int], NDArray[np.int64]]:
    """Return the chosen cut of each node (flat index) and the exact numbers of rows on its two sides."""
    per_pass = max(1, _TABLE_CELLS // (grid.n_columns * grid.most_codes))
    exact_scores, exact_below, exact_totals = [], [], []
    for start in range(0, len(candidates), per_pass):
        batch = candidates[start : start + per_pass]
        histograms = engine.histograms([node.number for node, _ in batch])
        for (node, where), histogram in zip(batch, histograms, strict=True):
            below = np.zeros_like(histogram)
            np.cumsum(histogram[:, :-1], axis=1, out=below[:, 1:])
            exact_scores.append(rule.score.of_histogram(histogram, node.noisy_count).ravel()[where])
            exact_below.append(below.ravel()[where])
            exact_totals.append(histogram[0].sum())
    ranges = [rule.selection_range(node.noisy_count, level) for node, _ in candidates]
    picks = door.select("split", level, exact_scores, ranges)
    left = np.array([below[pick] for below, pick in zip(exact_below, picks, strict=True)])
    sides = np.column_stack([left, np.array(exact_totals) - left])
    return [int(where[pick]) for (_, where), pick in zip(candidates, picks, strict=True)], sides


def _split(node: Node, column: int, cut: int, sides: NDArray[np.int64], next_number: int) -> list[Node]:
    """Turn a leaf into an inner node and return its two children."""
    node.column, node.cut = column, cut
    node.children = (next_number, next_number + 1)
    below_high, above_low = node.high.copy(), node.low.copy()
    below_high[column] = above_low[column] = cut
    if node.high[column] < cut or node.low[column] > cut:  # only without `within_box`: a side outside the box
        below_high[column], above_low[column] = node.high[column], node.low[column]
    return [
        Node(next_number, node.number, node.level + 1, node.low, below_high, int(sides[0])),
        Node(next_number + 1, node.number, node.level + 1, above_low, node.high, int(sides[1])),
    ]
