"""Rules for rows: the same clusters from places and from the engine, and from a file."""

import json

import numpy as np
import pytest

from dpmondrian.dpm.partition import Cuts, Divided, Everything, GridMap, Nearest, partition_from_dict
from dpmondrian.engines import Grid, LocalEngine
from dpmondrian.schema import Column, Coordinates, Schema
from dpmondrian.tables.frames import read_table

SCHEMA = Schema((Column("a", 0.0, 1.0), Column("few", 0, 5, whole=True), Column("b", -3.0, 9.0)))
ROWS = np.random.default_rng(0).uniform([-0.1, 0, -4], [1.1, 5, 10], (700, 3))
RULES = {
    "everything": Everything(),
    "nearest": Nearest(np.random.default_rng(1).integers(0, 2**16, (5, 3))),
    "cuts": Cuts(
        (0, 2),
        (1, 4),
        (np.array([3, -1, 2]), np.array([0, 1, 0])),
        (np.array([20_000, 150_000]), np.array([30_000])),
        np.array([-1, 2, -1, 0, 1, 3]),
    ),
    "divided": Divided(
        Nearest(np.random.default_rng(1).integers(0, 2**16, (3, 3))),
        Cuts(
            (1, 4),
            (3, 5),
            (np.array([1, 0, 0]), np.array([0, 0, 1])),
            (np.array([30_000]), np.array([30_000])),
            np.array([1, -1, 4, 0, -1, 2, 3]),
        ),
    ),
    "map": GridMap(np.array([20_000, 13_107, 9000]), np.random.default_rng(2).integers(0, 4, (3, 5, 8))),
}
every_rule = pytest.mark.parametrize("rule", RULES)


@every_rule
def test_the_engine_sends_rows_where_the_rule_says(rule):
    partition = RULES[rule]
    with LocalEngine(read_table(ROWS), Coordinates(SCHEMA), "error") as engine:
        engine.encode(Grid.with_windows(SCHEMA, 16))
        counts = engine.move(partition.move(), partition.n_clusters)
        places, nodes = engine.places().T.astype(np.int64), engine.nodes_of_rows()
    clusters = partition.clusters(places)
    assert nodes.tolist() == clusters.tolist()
    assert counts.tolist() == np.bincount(clusters, minlength=partition.n_clusters).tolist()
    assert len(np.unique(clusters)) == partition.n_clusters  # otherwise this would be an idle test


@every_rule
def test_new_numbers_change_nothing_else(rule):
    partition, places = RULES[rule], np.random.default_rng(3).integers(0, 2**16, (500, 3))
    rank = np.random.default_rng(4).permutation(partition.n_clusters)
    assert partition.renumbered(rank).clusters(places).tolist() == rank[partition.clusters(places)].tolist()


@pytest.mark.parametrize("rule", ["everything", "cuts", "map"])
def test_a_file_holds_the_whole_rule(rule):
    places = np.random.default_rng(5).integers(0, 2**16, (500, 3))
    again = partition_from_dict(json.loads(json.dumps(RULES[rule].to_dict())), 3)
    assert again.clusters(places).tolist() == RULES[rule].clusters(places).tolist()
    assert again.to_dict() == RULES[rule].to_dict()


BROKEN = {
    "kind": {"kind": "other"},
    "widths": {"widths": [1, 2]},
    "no width": {"widths": [0, 13_107, 9000]},
    "too many bins": {"shape": [2**10, 2**10, 2**10]},
    "a bin too few": {"lengths": [1]},
    "texts": {"clusters": ["1"]},
    "a truth value": {"shape": [True, 5, 8]},
    "a cluster is left out": {"clusters": [0, 2], "lengths": [60, 60]},
    "one twice in a row": {"clusters": [0, 0], "lengths": [60, 60]},
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_damaged_map_is_refused(broken):
    with pytest.raises((ValueError, TypeError, KeyError)):
        partition_from_dict(RULES["map"].to_dict() | BROKEN[broken], 3)
