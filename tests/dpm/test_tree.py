"""The histograms of open nodes are those that counting every node would give, from fewer rows."""

import numpy as np
import pytest

from dpmondrian.dpm.tree import Node, NodeHistograms
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.local import LocalEngine
from dpmondrian.engines.questions import Splits
from dpmondrian.schema.columns import Column, Schema
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table

SCHEMA = Schema((Column("x", 0.0, 1.0), Column("y", 0.0, 1.0)))


class Asked(LocalEngine):
    """Notes which nodes are counted."""

    def __init__(self, rows):
        super().__init__(read_table(rows), Coordinates(SCHEMA), "error")
        self.asked = []

    def histograms(self, nodes):
        self.asked.append(list(nodes))
        return super().histograms(nodes)


@pytest.mark.parametrize("most_nodes", [1, 2, 3, 100])
@pytest.mark.parametrize("seed", range(5))
def test_every_histogram_is_that_of_its_rows(most_nodes, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((500, 2))
    with Asked(rows) as engine:
        engine.encode(Grid.with_windows(SCHEMA, 16))
        box = np.zeros(2, dtype=np.int64), np.full(2, 32)
        nodes = [Node(0, -1, 0, *box, 500)]
        open_nodes, found = [nodes[0]], NodeHistograms(engine, most_nodes)
        for level in range(5):
            batches = list(found.of(nodes, open_nodes))
            assert [node.number for batch, _ in batches for node in batch] == [node.number for node in open_nodes]
            for batch, histograms in batches:
                assert np.array_equal(histograms, LocalEngine.histograms(engine, [node.number for node in batch]))
            waiting = [node for node in open_nodes if rng.random() < 0.3]
            grown, splits = [], Splits(2**10)
            for node in open_nodes:
                if node in waiting:
                    continue
                column, cut = int(rng.integers(2)), int(rng.integers(1, 32))
                node.children = len(nodes), len(nodes) + 1
                sides = [Node(number, node.number, level + 1, *box, int(rng.integers(100))) for number in node.children]
                splits.add(node.number, column, cut, *node.children)
                nodes += sides
                grown += [side for side in sides if rng.random() < 0.8]
            engine.route(splits)
            open_nodes = waiting + grown


def test_of_two_siblings_the_smaller_is_counted_and_who_waits_is_not_counted_again():
    with Asked(np.random.default_rng(0).random((200, 2))) as engine:
        engine.encode(Grid.with_windows(SCHEMA, 16))
        box = np.zeros(2, dtype=np.int64), np.full(2, 32)
        nodes = [Node(0, -1, 0, *box, 200)]
        found = NodeHistograms(engine, 100)
        list(found.of(nodes, nodes))
        nodes[0].children = (1, 2)
        nodes += [Node(1, 0, 1, *box, 150), Node(2, 0, 1, *box, 50)]
        splits = Splits(8)
        splits.add(0, 0, 20, 1, 2)
        engine.route(splits)
        list(found.of(nodes, nodes[1:]))
        list(found.of(nodes, nodes[1:]))
        assert engine.asked == [[0], [2]]
