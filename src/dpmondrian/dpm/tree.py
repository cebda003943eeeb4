"""Growing the tree level by level (paper, algorithm 1): one pass over the rows answers a whole level; and counts that add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.draws import COUNT, SPLIT
from dpmondrian.dpm.scores import NodeCuts
from dpmondrian.engines import Engine, Grid, Splits
from dpmondrian.privacy import Door

__all__ = ["GrownTree", "Node", "NodeHistograms", "ScoreCuts", "SplitRule", "consistent_counts", "grow"]

ScoreCuts: TypeAlias = Callable[
    [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], list[NodeCuts]
]

_LARGEST_COUNT = 2**40
"""Released counts above this (huge noise) are scored as this, so that scores cannot overflow."""

_TABLE_CELLS = 2**22
"""Most histogram cells asked for in one pass, 32 MiB; deeper levels of wide tables take several passes."""


@dataclass
class Node:
    """A node of the growing tree: only released values and public facts.

    `low` and `high` are the node's box in codes, ``low <= code < high``, shape (n_columns,). `rejected` lists the rejected
    cuts: the level whose counts were drawn for the two sides, and their noisy sum, which is paid for and says more
    about the node's size.
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
    rejected: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.children is None


@dataclass(frozen=True)
class SplitRule:
    """Everything public that decides about cuts.

    Attributes
    ----------
    score_cuts : callable
        From a level to what scores its cuts: from the exact histograms of nodes, their noisy counts and boxes (low, high) to the cuts
        that each may take.
    max_depth : int
        Number of levels (the paper's tau_r).
    size_limit : callable
        From the noisy number of all rows and a level to the least noisy count of each side (tau_e).
    selection_range : callable
        From a node's noisy count and level to the range that its selection pays for.
    within_box : bool
        Whether only cuts inside the node's box are candidates.
    attempts : int
        How often a node may try: after a rejected cut it may choose again on the next level, whose budget its rows have
        not spent.
    """

    score_cuts: Callable[[int], ScoreCuts]
    max_depth: int
    size_limit: Callable[[int, int], float]
    selection_range: Callable[[int, int], int]
    within_box: bool = True
    attempts: int = 1


@dataclass(frozen=True)
class GrownTree:
    """The nodes in the order they were made; node 0 is the root."""

    nodes: list[Node]

    @property
    def leaves(self) -> list[Node]:
        """Nodes without children, in order."""
        return [node for node in self.nodes if node.is_leaf]

    @property
    def leaf_numbers(self) -> list[int]:
        """Numbers of the nodes without children, in order."""
        return [leaf.number for leaf in self.leaves]

    def by_node(self, of_leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what belongs to each leaf by the number of its node, -1 at inner nodes."""
        of_node = np.full(len(self.nodes), -1, dtype=np.int64)
        of_node[self.leaf_numbers] = of_leaf
        return of_node


def grow(engine: Engine, door: Door, grid: Grid, rule: SplitRule, noisy_total: int) -> GrownTree:
    """Return the tree of private cuts.

    Every level: ask for the histograms of all open nodes, choose one cut per node at the door, count the
    two sides at the door, and keep the cut if both noisy counts reach the size limit. A node whose cut was
    rejected stays open for as long as it has attempts left.
    """
    root = Node(0, -1, 0, np.zeros(grid.n_columns, dtype=np.int64), grid.n_codes.copy(), noisy_total)
    nodes, open_nodes = [root], [root]
    histograms = NodeHistograms(engine, _TABLE_CELLS // (grid.n_columns * grid.most_codes))
    for level in range(rule.max_depth):
        limit = rule.size_limit(noisy_total, level + 1)
        open_nodes = [node for node in open_nodes if node.noisy_count >= 2 * limit]
        cuts = _cuts(histograms, nodes, grid, rule, level, open_nodes)
        open_nodes = [node for node, node_cuts in zip(open_nodes, cuts, strict=True) if node_cuts.exact_scores.size]
        cuts = [node_cuts for node_cuts in cuts if node_cuts.exact_scores.size]  # public: a box of one code has no cut
        if not open_nodes:
            break
        choices, exact_sides = _choose(door, rule, level, open_nodes, cuts)
        noisy_sides = door.counts(COUNT, level + 1, exact_sides.ravel()).reshape(-1, 2).tolist()
        splits = Splits(len(nodes) + 2 * len(open_nodes))
        grown: list[Node] = []
        waiting: list[Node] = []
        for node, choice, sides in zip(open_nodes, choices, noisy_sides, strict=True):
            if min(sides) < limit or not _inside(node, *choice):
                node.rejected.append((level + 1, sides[0] + sides[1]))
                if len(node.rejected) < rule.attempts:
                    waiting.append(node)
                continue
            children = _split(node, *choice, level + 1, sides, len(nodes), grid)
            splits.add(node.number, node.column, node.cut, children[0].number, children[1].number)
            nodes += children
            grown += children
        if grown:
            engine.route(splits)
        open_nodes = waiting + grown
    return GrownTree(nodes)


def _cuts(
    histograms: NodeHistograms, nodes: list[Node], grid: Grid, rule: SplitRule, level: int, open_nodes: list[Node]
) -> list[NodeCuts]:
    """Return the cuts of each node with their exact scores."""
    cuts: list[NodeCuts] = []
    score_cuts = rule.score_cuts(level)
    for batch, exact_histograms in histograms.of(nodes, open_nodes):
        low, high = np.array([node.low for node in batch]), np.array([node.high for node in batch])
        if not rule.within_box:
            low, high = np.zeros_like(low), np.tile(grid.n_codes, (len(batch), 1))
        counts = np.minimum([node.noisy_count for node in batch], _LARGEST_COUNT)
        cuts += score_cuts(exact_histograms, counts, low, high)
    return cuts


def _choose(
    door: Door, rule: SplitRule, level: int, open_nodes: list[Node], cuts: list[NodeCuts]
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Return the chosen (column, cut) of each node and the exact numbers of rows on its two sides."""
    ranges = [rule.selection_range(min(node.noisy_count, _LARGEST_COUNT), level) for node in open_nodes]
    picks = door.select(SPLIT, level, [node_cuts.exact_scores for node_cuts in cuts], ranges)
    choices = [node_cuts.position(pick) for node_cuts, pick in zip(cuts, picks, strict=True)]
    exact_sides = [node_cuts.exact_sides(*choice) for node_cuts, choice in zip(cuts, choices, strict=True)]
    return choices, np.array(exact_sides, dtype=np.int64)


def _inside(node: Node, column: int, cut: int) -> bool:
    """Return whether a cut lies within the node's box; only the paper's candidates may lie outside (public)."""
    return bool(node.low[column] < cut < node.high[column])


def _split(node: Node, column: int, cut: int, level: int, sides: list[int], next_number: int, grid: Grid) -> list[Node]:
    """Turn a leaf into an inner node and return its two children, whose counts were drawn for `level`."""
    node.column, node.cut = column, cut
    node.children = (next_number, next_number + 1)
    below_high, above_low = node.high.copy(), node.low.copy()
    below_high[column], above_low[column] = grid.sides(column, cut)
    return [
        Node(next_number, node.number, level, node.low, below_high, sides[0]),
        Node(next_number + 1, node.number, level, above_low, node.high, sides[1]),
    ]


class NodeHistograms:
    """The histograms of open nodes, with as few passes over as few rows as possible.

    Those of a node that waits for another attempt are remembered. Of two new siblings the one with the smaller noisy count
    is counted, and the other is the difference from their parent: the same integers, from half of the rows or less.
    """

    def __init__(self, engine: Engine, most_nodes: int) -> None:
        self._engine = engine
        self._most_nodes = max(1, most_nodes)
        self._known: dict[int, NDArray[np.int64]] = {}

    def of(self, nodes: list[Node], open_nodes: list[Node]) -> Iterator[tuple[list[Node], NDArray[np.int64]]]:
        """Yield batches of the open nodes with their histograms; `nodes` are all nodes of the tree by number."""
        known, self._known = self._known, {}
        for start in range(0, len(open_nodes), self._most_nodes):
            batch = open_nodes[start : start + self._most_nodes]
            found = self._histograms_of(nodes, batch, known)
            if len(open_nodes) <= self._most_nodes:  # more would take too much memory to be remembered
                self._known = dict(zip((node.number for node in batch), found, strict=True))
            yield batch, found

    def _histograms_of(
        self, nodes: list[Node], batch: list[Node], known: dict[int, NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return the histograms of nodes from those of the level before and as few new ones as possible."""
        counted = {node.number: _to_count(node, nodes, known) for node in batch if node.number not in known}
        wanted = sorted(set(counted.values()))
        fresh = dict(zip(wanted, self._engine.histograms(wanted), strict=True)) if wanted else {}
        shape = next(iter((fresh or known).values())).shape
        found = np.empty((len(batch), *shape), dtype=np.int64)
        for node, counts in zip(batch, found, strict=True):
            other = counted.get(node.number)
            if other is None:
                counts[:] = known[node.number]
            elif other == node.number:
                counts[:] = fresh[other]
            else:
                np.subtract(known[node.parent], fresh[other], out=counts)
        return found


def _to_count(node: Node, nodes: list[Node], known: dict[int, NDArray[np.int64]]) -> int:
    """Return the node whose rows to count for the histogram of a new node: itself, or a smaller sibling."""
    if node.parent not in known:
        return node.number
    siblings = nodes[node.parent].children
    assert siblings is not None
    return min(siblings, key=lambda number: (nodes[number].noisy_count, number))


def consistent_counts(
    tree: GrownTree, variance: Callable[[int], float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts that add up, one for every node, and their standard errors: the least-squares fit of all noisy counts.

    Post-processing, free. Hay, Rastogi, Miklau and Suciu (2010), with a variance of its own for every level. A rejected cut has
    left two counts behind; their sum is another look at the node.

    Parameters
    ----------
    tree : GrownTree
    variance : callable
        Noise variance of the counts of a level (public).

    Notes
    -----
    Upwards, each node's own count is averaged with those of its rejected cuts and with the sum of its children, by
    inverse variance.
    Downwards, what the children lack to their parent's fit is shared between them by variance. The standard
    error is that of the upward average: the downward step can only improve it.
    """
    variance = cache(variance)
    upward = [0.0] * len(tree.nodes)
    spread = [0.0] * len(tree.nodes)
    for node in reversed(tree.nodes):
        looks = [(float(node.noisy_count), variance(node.level))]
        looks += [(float(total), 2.0 * variance(level)) for level, total in node.rejected]
        if node.children is not None:
            left, right = node.children
            looks.append((upward[left] + upward[right], spread[left] + spread[right]))
        weight = math.fsum(1.0 / look_variance for _, look_variance in looks)
        upward[node.number] = math.fsum(count / look_variance for count, look_variance in looks) / weight
        spread[node.number] = 1.0 / weight
    fitted = list(upward)
    for node in tree.nodes:
        if node.children is not None:
            left, right = node.children
            lack = fitted[node.number] - fitted[left] - fitted[right]
            part = spread[left] / (spread[left] + spread[right])
            fitted[left] += lack * part
            fitted[right] += lack * (1.0 - part)
    return np.array(fitted), np.sqrt(spread)
