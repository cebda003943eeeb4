"""The hierarchy of clusters: what undoing joins gives, against a plain search, and refusal of what is no hierarchy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpmondrian.dpm.joining.joins import Joins

SEEDS = range(12)


def made(first: list[int], second: list[int], strength: list[float]) -> Joins:
    return Joins(np.array(first), np.array(second), np.array(strength), np.full(len(first), 0.01))


def by_hand() -> Joins:
    """Return 0 and 1, 2 and 3 joined to pieces 5 and 6, those two to 7, and that with leaf 4 to everything."""
    return made([0, 2, 5, 7], [1, 3, 6, 4], [0.1, 0.3, 0.9, 0.6])


def at_random(seed: int) -> Joins:
    """Return joins of random groups with strengths of which some are equal and none are in order."""
    rng = np.random.default_rng(seed)
    n_leaves = int(rng.integers(2, 14))
    groups, first, second = list(range(n_leaves)), [], []
    for join in range(n_leaves - 1):
        for side in (first, second):
            side.append(groups.pop(rng.integers(len(groups))))
        groups.append(n_leaves + join)
    return made(first, second, np.round(rng.random(n_leaves - 1), 1).tolist())


def members(joins: Joins) -> list[set[int]]:
    """Return the leaves in every group."""
    leaves = [{leaf} for leaf in range(joins.n_leaves)]
    for a, b in zip(joins.first, joins.second, strict=True):
        leaves.append(leaves[a] | leaves[b])
    return leaves


def partitions(joins: Joins) -> list[list[set[int]]]:
    """Return the clusters for 1, 2, ... clusters: the last join is undone first."""
    leaves, tops = members(joins), [2 * joins.n_leaves - 2]
    found = [[leaves[top] for top in tops]]
    while len(tops) < joins.n_leaves:
        undone = max(tops) - joins.n_leaves
        tops.remove(joins.n_leaves + undone)
        tops += [int(joins.first[undone]), int(joins.second[undone])]
        found.append([leaves[top] for top in tops])
    return found


def as_sets(group: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(group == number).tolist()) for number in np.unique(group)]


def test_joins_by_hand():
    joins = by_hand()
    assert joins.n_leaves == 5
    assert joins.undone() == [3, 2, 1, 0]
    assert joins.tops(1).tolist() == [8] * 5
    assert joins.tops(2).tolist() == [7, 7, 7, 7, 4]
    assert joins.tops(3).tolist() == [5, 5, 6, 6, 4]
    assert joins.tops(4).tolist() == [5, 5, 2, 3, 4]
    assert joins.tops(5).tolist() == [0, 1, 2, 3, 4]
    assert joins.groups(3).tolist() == [1, 1, 2, 2, 0]


@pytest.mark.parametrize(
    ("strength", "n_apart"), [(0.0, 5), (0.1, 5), (0.2, 4), (0.3, 4), (0.6, 3), (0.61, 1), (1.0, 1)]
)
def test_a_strong_join_below_a_weak_one_is_out_of_reach(strength, n_apart):
    assert by_hand().n_apart(strength) == n_apart


@pytest.mark.parametrize("seed", SEEDS)
def test_levels_are_nested_partitions_into_one_to_all(seed):
    joins = at_random(seed)
    expected = partitions(joins)
    for k in range(1, joins.n_leaves + 1):
        group = joins.groups(k)
        assert sorted(set(group.tolist())) == list(range(k))
        assert sorted(map(sorted, as_sets(group))) == sorted(map(sorted, expected[k - 1]))
        assert as_sets(joins.tops(k)) == as_sets(group)
        if k > 1:  # one cluster of the level before fell into two, the others stayed
            before = as_sets(joins.groups(k - 1))
            assert all(any(part <= whole for whole in before) for part in as_sets(group))
            assert sum(whole in as_sets(group) for whole in before) == k - 2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_has_one_number_on_all_levels(seed):
    joins = at_random(seed)
    leaves = members(joins)
    for k in range(1, joins.n_leaves + 1):
        tops = joins.tops(k)
        assert all(set(np.flatnonzero(tops == top).tolist()) == leaves[top] for top in tops)


@pytest.mark.parametrize("seed", SEEDS)
def test_undone_goes_down_from_the_top(seed):
    joins = at_random(seed)
    order = joins.undone()
    assert sorted(order) == list(range(joins.n_leaves - 1))
    for join in order:
        for group in (joins.first[join], joins.second[join]):
            if group >= joins.n_leaves:
                assert order.index(group - joins.n_leaves) > order.index(join)


@pytest.mark.parametrize("seed", SEEDS)
def test_n_apart_counts_the_strong_joins_from_the_last_one_on(seed):
    joins = at_random(seed)
    levels = np.linspace(0, 1.1, 12)
    found = [joins.n_apart(strength) for strength in levels]
    assert found == [1 + sum(joins.strength[join:].min() >= strength for join in joins.undone()) for strength in levels]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (joins.n_leaves, 1)


def test_a_single_leaf_has_one_level():
    joins = made([], [], [])
    assert (joins.n_leaves, joins.undone(), joins.n_apart(0.0)) == (1, [], 1)
    assert joins.groups(1).tolist() == joins.tops(1).tolist() == [0]


@pytest.mark.parametrize("seed", SEEDS)
def test_joins_survive_plain_values(seed):
    joins = at_random(seed)
    again = Joins.from_dict(json.loads(json.dumps(joins.to_dict())), joins.n_leaves)
    for name in ("first", "second", "strength", "strength_error"):
        assert getattr(again, name).tolist() == getattr(joins, name).tolist()
        assert getattr(again, name).dtype == getattr(joins, name).dtype


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"first": [0, 2, 5, 8]}, id="a join of itself"),
        pytest.param({"first": [0, 7, 5, 2]}, id="a join of a later one"),
        pytest.param({"first": [0, 2, 5, 0]}, id="a leaf that is joined twice"),
        pytest.param({"second": [1, 3, 5, 4]}, id="a group joined with itself"),
        pytest.param({"first": [-1, 2, 5, 7]}, id="a negative group"),
        pytest.param({"first": [9, 2, 5, 7]}, id="a group that is not there"),
        pytest.param({"first": [2**70, 2, 5, 7]}, id="a huge group"),
        pytest.param({"first": [0.0, 2, 5, 7]}, id="a number with a point"),
        pytest.param({"first": ["0", 2, 5, 7]}, id="a group in words"),
        pytest.param({"first": [None, 2, 5, 7]}, id="no group"),
        pytest.param({"first": [[0, 2, 5, 7]]}, id="a table of groups"),
        pytest.param({"first": [0, 2, 5]}, id="too few groups"),
        pytest.param({"first": [], "second": [], "strength": [], "strength_error": []}, id="no joins"),
        pytest.param({"first": [0, 2, 5, 7, 8], "second": [1, 3, 6, 4, 9]}, id="too many joins"),
        pytest.param({"first": None}, id="groups that are no list"),
        pytest.param({"first": 3}, id="a number instead of a list"),
        pytest.param({"strength": [0.1, 0.3, 0.9]}, id="too few strengths"),
        pytest.param({"strength": [0.1, 0.3, 0.9, -0.1]}, id="a negative strength"),
        pytest.param({"strength": [0.1, 0.3, 0.9, NAN]}, id="a strength that is not a number"),
        pytest.param({"strength": [0.1, 0.3, 0.9, INFINITE]}, id="an infinite strength"),
        pytest.param({"strength": [0.1, 0.3, 0.9, None]}, id="no strength"),
        pytest.param({"strength": [0.1, 0.3, 0.9, [0.5]]}, id="a list as strength"),
        pytest.param({"strength": [0.1, 0.3, 0.9, "strong"]}, id="a strength in words"),
        pytest.param({"strength_error": [0.1, 0.3, 0.9, -1.0]}, id="a negative error"),
        pytest.param({"strength_error": [0.1, 0.3, 0.9, INFINITE]}, id="an infinite error"),
        pytest.param({"strength_error": []}, id="no errors"),
    ],
)
def test_what_is_no_hierarchy_is_refused(changes):
    values = by_hand().to_dict()
    Joins.from_dict(values, 5)
    with pytest.raises((ValueError, TypeError, OverflowError)):
        Joins.from_dict({**values, **changes}, 5)


@pytest.mark.parametrize("n_leaves", [1, 4, 6])
def test_joins_of_another_number_of_leaves_are_refused(n_leaves):
    with pytest.raises(ValueError, match="joins"):
        Joins.from_dict(by_hand().to_dict(), n_leaves)


@pytest.mark.parametrize("name", ["first", "second", "strength", "strength_error"])
def test_a_missing_list_is_refused(name):
    values = by_hand().to_dict()
    del values[name]
    with pytest.raises(KeyError):
        Joins.from_dict(values, 5)
