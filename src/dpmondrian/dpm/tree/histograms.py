"""Histograms of the nodes of a growing tree, with as little counting as possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.base import Engine

if TYPE_CHECKING:
    from dpmondrian.dpm.tree.grower import Node

__all__ = ["NodeHistograms"]


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
            found = self._found(nodes, batch, known)
            if len(open_nodes) <= self._most_nodes:  # more would take too much memory to be remembered
                self._known = dict(zip((node.number for node in batch), found, strict=True))
            yield batch, found

    def _found(self, nodes: list[Node], batch: list[Node], known: dict[int, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the histograms of nodes from those of the level before and as few new ones as possible."""
        counted = {node.number: _to_count(node, nodes, known) for node in batch if node.number not in known}
        wanted = sorted(set(counted.values()))
        fresh = dict(zip(wanted, self._engine.histograms(wanted), strict=True)) if wanted else {}

        def histogram(node: Node) -> NDArray[np.int64]:
            if node.number in known:
                return known[node.number]
            other = counted[node.number]
            counts: NDArray[np.int64] = fresh[other] if other == node.number else known[node.parent] - fresh[other]
            return counts

        return np.array([histogram(node) for node in batch])


def _to_count(node: Node, nodes: list[Node], known: dict[int, NDArray[np.int64]]) -> int:
    """Return the node whose rows to count for the histogram of a new node: itself, or a smaller sibling."""
    if node.parent not in known:
        return node.number
    siblings = nodes[node.parent].children
    assert siblings is not None
    return min(siblings, key=lambda number: (nodes[number].noisy_count, number))
