"""Errors of sizes, against real draws of the door and against real fits."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.dpm.draws import COUNT
from dpmondrian.dpm.tree.grower import GrownTree, Node, consistent_counts
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning import count_error, make_design
from dpmondrian.privacy.door import Door

KINDS = [{}, {"n_clusters": 4}, {"delta": 0.0, "epsilon": 2.0}, {"rows_per_person": 2, "epsilon": 2.0}]


def even_tree(design, seed: int) -> tuple[GrownTree, np.ndarray]:
    """Return an even tree with counts drawn at a door, and the exact sizes of its nodes; leaves try again and fail."""
    door = Door(design.plan, design.settings.rows_per_person, seed)
    box, leaf_level = np.zeros(1, dtype=np.int64), design.leaf_level
    exact = [design.n_rows // 2**level for level in range(leaf_level + 1) for _ in range(2**level)]
    nodes = []
    for level in range(leaf_level + 1):
        noisy = door.counts(COUNT, level, [design.n_rows // 2**level] * 2**level).tolist()
        for count in noisy:
            number = len(nodes)
            nodes.append(Node(number, (number - 1) // 2, level, box, box, count))
    for node in nodes:
        if node.level < leaf_level:
            node.children = (2 * node.number + 1, 2 * node.number + 2)
    leaves = [node for node in nodes if node.level == leaf_level]
    for level in range(leaf_level + 1, min(leaf_level + design.rule.attempts, design.settings.max_depth) + 1):
        if leaves and exact[-1] >= 2 * design.size_limit(level):
            noisy = door.counts(COUNT, level, [exact[-1]] * len(leaves) + [0] * len(leaves))
            for leaf, total in zip(leaves, (noisy[: len(leaves)] + noisy[len(leaves) :]).tolist(), strict=True):
                leaf.rejected.append((level, total))
    return GrownTree(nodes), np.array(exact)


@pytest.mark.parametrize("parameters", KINDS)
def test_sizes_of_an_even_tree_are_as_well_known_as_forecast(schema, rms, parameters):
    design = make_design(16_384, schema, expected_clusters=parameters.get("n_clusters", 8), **parameters)
    misses, stated = [], []
    for seed in range(120):
        tree, exact = even_tree(design, seed)
        fitted, errors = consistent_counts(tree, lambda level: design.deviation(COUNT, level) ** 2)
        misses.append(fitted - exact)
        stated.append(errors)
    misses = np.array(misses)
    total, leaf = count_error(design, "all").standard_error, count_error(design, "leaf").standard_error
    assert stated[0][0] == pytest.approx(total)
    assert stated[0][-1] == pytest.approx(leaf)
    assert rms(misses[:, 0]) == pytest.approx(total, rel=0.2)
    n_leaves = 2**design.leaf_level
    assert 0.6 * leaf < rms(misses[:, -n_leaves:]) < 1.1 * leaf


@pytest.mark.parametrize("parameters", KINDS)
def test_sizes_of_real_fits_are_as_well_known_as_forecast(schema, runs, rms, parameters):
    real = runs(8_000, **parameters)
    design = make_design(8_000, schema, expected_clusters=4, **parameters)
    cluster, total = count_error(design, "cluster"), count_error(design, "all")
    assert rms(real.size_errors) == pytest.approx(cluster.standard_error, rel=0.02)
    assert rms(real.sizes - 2_000) == pytest.approx(cluster.standard_error, rel=0.25)
    assert rms(real.total_errors) == pytest.approx(total.standard_error, rel=0.1)
    assert rms(real.totals - 8_000) == pytest.approx(total.standard_error, rel=0.4)
    assert rms(real.leaf_errors) == pytest.approx(count_error(design, "leaf").standard_error, rel=0.3)


@pytest.mark.parametrize("parameters", KINDS)
def test_the_interval_holds_95_of_100_sizes(schema, runs, parameters):
    real = runs(8_000, **parameters)
    half_width = count_error(make_design(8_000, schema, expected_clusters=4, **parameters)).half_width
    misses = np.abs(real.sizes - 2_000)
    assert np.mean(misses <= half_width) > 0.89
    assert np.mean(misses <= half_width / 2) < 0.85


def test_no_tree_makes_the_total_worse_than_its_own_count(schema):
    for clusters in (1, 2, 10, 1000):
        design = make_design(50_000, schema, expected_clusters=clusters)
        assert count_error(design, "all").standard_error < design.deviation(COUNT, 0)


def test_deeper_leaves_are_counted_with_less_noise(schema):
    design = make_design(50_000, schema)
    errors = [count_error(design, "leaf", level).standard_error for level in range(13)]
    assert errors[12] < 0.7 * errors[1]
    assert errors[12] == pytest.approx(design.deviation(COUNT, 12))


def test_wrong_questions_are_refused(schema):
    design = make_design(1_000, schema)
    with pytest.raises(ParameterError, match="'of'"):
        count_error(design, "box")
    with pytest.raises(ParameterError, match="'level'"):
        count_error(design, "leaf", 13)
