"""Bridges between leaves, by hand: when two leaves are one cluster, in which order leaves are joined, from what."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpmondrian.centres.clipped import Means
from dpmondrian.joining.bridges import (
    _NEIGHBOURS,
    BRIDGE_BINS,
    FLAT_SHARE,
    Bridges,
    _neighbouring_pairs,
    measure_bridges,
)
from dpmondrian.joining.hierarchy import join_leaves, with_hierarchy
from dpmondrian.tree.joins import Joins
from dpmondrian.tree.structure import Tree

FULL, HALF_FULL, EMPTY = [22, 20, 20, 20, 22], [22, 16, 10, 16, 22], [60, 10, 0, 10, 60]
"""Rows along the way between two leaves of 100 rows each."""


class ScriptedEngine:
    """Answers with the counts it was given, and notes what it was asked."""

    def __init__(self, counts):
        self.counts, self.asked = np.asarray(counts, dtype=np.int64), []

    def bridge_counts(self, centres, pair_of, n_pairs, n_bins):
        self.asked.append((centres, pair_of, n_pairs, n_bins))
        return self.counts


class ScriptedDoor:
    """Hands over the values it was given, whatever the exact ones are."""

    def __init__(self, released, deviation=1.0):
        self.released, self.deviation, self.seen = np.asarray(released, dtype=np.int64), deviation, []

    def counts(self, level, exact_counts, name):
        self.seen.append((name, level, exact_counts))
        return self.released

    def count_deviation(self, level, name):
        assert (name, level) == ("bridge", None)
        return self.deviation


def a_line(n_leaves: int) -> np.ndarray:
    """Return centres side by side; a few of them are all neighbours of one another."""
    return np.array([[100.0 * leaf, 5.2] for leaf in range(n_leaves)])


def measured(ways, others, sizes, deviation: float = 1.0, places=None) -> tuple[Bridges, np.ndarray]:
    """Return the bridges and which leaves are inhabited; `ways` maps pairs of leaves to rows by bin, 0 elsewhere."""
    pairs = list(combinations(range(len(sizes)), 2))
    released = [list(ways.get(pair, [0] * BRIDGE_BINS)) for pair in pairs]
    door = ScriptedDoor(np.concatenate([*released, others]), deviation)
    places = a_line(len(sizes)) if places is None else places
    engine = ScriptedEngine(np.zeros(len(pairs) * BRIDGE_BINS + len(sizes)))
    return measure_bridges(engine, door, Means(places, np.ones_like(places)), np.asarray(sizes, dtype=float))


def strength_of(way, sizes=(100.0, 100.0), deviation: float = 1.0) -> float:
    bridges, _ = measured({(0, 1): way}, [50, 50], sizes, deviation)
    return bridges.strength_between(np.array([0]), np.array([1]), np.array(sizes))[0]


def test_a_full_middle_separates_nothing_and_an_empty_one_everything():
    assert strength_of(FULL) == pytest.approx(0.0, abs=1e-9)
    assert strength_of([22, 20, 90, 20, 22]) == 0.0
    assert strength_of(HALF_FULL) == pytest.approx(0.5)
    assert strength_of(EMPTY) == 1.0


def test_the_smaller_leaf_counts():
    assert strength_of(HALF_FULL, (50.0, 10_000.0)) == pytest.approx(1 - 10 / (FLAT_SHARE * 50)) == 0.0
    assert strength_of(HALF_FULL, (1000.0, 10_000.0)) == pytest.approx(1 - 10 / (FLAT_SHARE * 1000))


def test_rows_that_noise_could_explain_are_no_bridge():
    assert strength_of([50, 20, 19, 20, 50], deviation=5.0) == 1.0
    assert strength_of([50, 20, 21, 20, 50], deviation=5.0) < 0.1


def test_a_valley_in_the_profile_separates_however_many_rows_lie_in_it():
    flat, sizes = 40_000, (100_000.0, 100_000.0)
    assert strength_of([flat, flat, flat, flat, flat], sizes) == 0.0
    assert strength_of([flat, flat, 20_000, flat, flat], sizes) == 1.0
    assert strength_of([flat, flat, 30_000, flat, flat], sizes) == pytest.approx(0.5)
    # It is measured from the lower of the two ends.
    assert strength_of([flat, 30_000, 30_000, 30_000, 30_000], sizes) == 0.0
    assert strength_of([flat, flat, 30_000, 36_000, 30_000], sizes) == pytest.approx(1 / 3)


def test_a_valley_of_few_rows_is_chance():
    assert strength_of([40, 40, 30, 40, 40]) == 0.0
    assert strength_of([40_000, 40_000, 30_000, 40_000, 40_000], (1e5, 1e5), deviation=3000.0) == 0.0


def random_bridges(seed: int, n_leaves: int = 7) -> tuple[Bridges, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ways = {pair: rng.integers(-5, 200, BRIDGE_BINS) for pair in combinations(range(n_leaves), 2)}
    sizes = rng.uniform(1, 900, n_leaves)
    return *measured(ways, rng.integers(0, 60, n_leaves), sizes, deviation=rng.uniform(0.5, 9)), sizes


@pytest.mark.parametrize("seed", range(6))
def test_strengths_are_the_same_both_ways(seed):
    bridges, _, sizes = random_bridges(seed)
    number = np.arange(len(sizes))
    found = np.array([bridges.strengths(i, number, sizes) for i in number])
    np.testing.assert_array_equal(found, found.transpose(2, 1, 0))
    for i, j in combinations(number, 2):
        strength, error = bridges.strength_between(number[[i]], number[[j]], sizes)
        assert strength == np.clip(found[i, 0, j], 0.0, 1.0)
        assert error == found[i, 1, j]


@pytest.mark.parametrize("seed", range(6))
def test_bridges_of_groups_are_the_sums_of_their_members(seed):
    bridges, _, sizes = random_bridges(seed)
    one, other = np.array([0, 3, 5]), np.array([1, 2])
    expected = bridges.strength_between(one, other, sizes)
    joined, whole = bridges.copy(), sizes.copy()
    for first, second in ((0, 3), (0, 5), (1, 2)):
        joined.joined(first, second)
        whole[first] += whole[second]
    strength, error = joined.strengths(0, np.array([1]), whole)
    assert (np.clip(strength[0], 0, 1), error[0]) == pytest.approx(expected)
    np.testing.assert_allclose(joined.profile[0, 1], bridges.profile[np.ix_(one, other)].sum(axis=(0, 1)))
    np.testing.assert_array_equal(random_bridges(seed)[0].profile, bridges.profile)  # the copy was changed alone


def test_a_leaf_is_inhabited_if_enough_rows_are_nearest_to_it():
    ways = {(0, 1): [10, 14, 99, 0, 0], (1, 2): [0, 0, 99, 3, 21]}
    _, inhabited = measured(ways, [1, 24, 0], [100, 100, 100])
    assert inhabited.tolist() == [True, False, False]
    _, inhabited = measured(ways, [0, 25, 1], [96, 100, 100])
    assert inhabited.tolist() == [True, True, True]


def two_groups() -> tuple[dict, list[int], np.ndarray]:
    """Return pieces 0, 1, 2 and 3, 4, 5 of two clusters far apart; 2 and 3 face each other, 0 and 2 do not touch."""
    ways = dict.fromkeys(((0, 1), (1, 2), (3, 4), (4, 5), (3, 5)), FULL) | {(2, 3): EMPTY}
    places = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [500.0, 0.0], [510.0, 0.0], [505.0, 8.0]])
    return ways, [50] * 6, places


def test_two_far_groups_of_pieces_come_apart():
    ways, others, places = two_groups()
    sizes = np.full(6, 100.0)
    joins = join_leaves(*measured(ways, others, sizes, places=places), places, sizes)
    assert joins.n_apart(0.8) == 2
    assert joins.groups(2).tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert joins.strength[-1] == 1.0
    assert joins.strength[:-1].max() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_leaves_does_not_matter(seed):
    ways, others, places = two_groups()
    order = np.random.default_rng(seed).permutation(6)
    where = np.argsort(order)
    moved = {}
    for (a, b), way in ways.items():
        pair = where[a], where[b]
        moved[min(pair), max(pair)] = way if pair[0] < pair[1] else way[::-1]
    sizes = np.full(6, 100.0)
    joins = join_leaves(*measured(moved, others, sizes, places=places[order]), places[order], sizes)
    group = joins.groups(joins.n_apart(0.8))[where]
    assert len({*group[:3]}) == len({*group[3:]}) == 1
    assert group[0] != group[3]


def test_leaves_without_rows_of_their_own_go_first_to_the_nearest():
    _, others, places = two_groups()
    ways = dict.fromkeys(combinations(range(6), 2), EMPTY)  # nothing touches anything
    ways |= {pair: [0, 0, 0, 10, 60] for pair in ((3, 4), (3, 5))}
    ways |= {(leaf, 3): [60, 10, 0, 0, 0] for leaf in (0, 1, 2)}
    others[3] = 0
    sizes = np.full(6, 100.0)
    bridges, inhabited = measured(ways, others, sizes, places=places)
    assert inhabited.tolist() == [True, True, True, False, True, True]
    joins = join_leaves(bridges, inhabited, places, sizes)
    assert {int(joins.first[0]), int(joins.second[0])} == {3, 5}
    assert joins.strength[0] == 0.0
    assert joins.n_apart(0.8) == 5
    assert joins.groups(5)[3] == joins.groups(5)[5]


@pytest.mark.parametrize("all_lost", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_any_released_counts_give_a_hierarchy(seed, all_lost):
    """Also negative ones and ties: strengths within [0, 1] and a tree of joins that can be saved and read."""
    bridges, inhabited, sizes = random_bridges(seed, 2 + seed)
    inhabited = inhabited & (not all_lost)
    places = a_line(len(sizes)) // 200  # some on the same place
    before = (bridges.profile.copy(), places.copy(), sizes.copy(), inhabited.copy())
    joins = join_leaves(bridges, inhabited, places, sizes)
    assert Joins.from_dict(joins.to_dict(), len(sizes)).to_dict() == joins.to_dict()
    assert np.all((joins.strength >= 0) & (joins.strength <= 1))
    for old, new in zip(before, (bridges.profile, places, sizes, inhabited), strict=True):
        np.testing.assert_array_equal(old, new)


def test_only_released_values_decide():
    """Whatever the exact counts are, the same released values give the same bridges; the rows are asked once."""
    sizes, places = np.array([100.0, 90.0, 80.0]), np.array([[3.4, 9.5], [7.0, 1.2], [99.9, 4.0]])
    released = np.arange(3 * BRIDGE_BINS + 3) * 7 - 20
    found = []
    for seed in range(2):
        exact = np.random.default_rng(seed).integers(0, 1000, released.size)
        engine, door = ScriptedEngine(exact), ScriptedDoor(released, deviation=2.5)
        bridges, inhabited = measure_bridges(engine, door, Means(places, np.ones_like(places)), sizes)
        found.append([*(getattr(bridges, name).tolist() for name in ("profile", "middle", "n_pairs", "n_clear"))])
        found[-1] += [bridges.deviation, inhabited.tolist()]
        [(name, level, seen)] = door.seen
        assert (name, level, seen.tolist()) == ("bridge", None, exact.tolist())
        [(centres, pair_of, n_pairs, n_bins)] = engine.asked
        assert centres.tolist() == [[3, 10], [7, 1], [100, 4]]
        assert pair_of.tolist() == [[-1, 0, 1], [0, -1, 2], [1, 2, -1]]
        assert (n_pairs, n_bins) == (3, BRIDGE_BINS)
    assert found[0] == found[1]


def test_bridges_are_measured_between_neighbours():
    n_leaves = 4 * _NEIGHBOURS
    first, second = _neighbouring_pairs(np.rint(a_line(n_leaves)).astype(np.int64))
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert len(pairs) == len(first)
    assert all(a < b for a, b in pairs)
    # Within the line half of the nearest are on each side; at its ends they reach twice as far.
    assert pairs == {
        (a, b)
        for a, b in combinations(range(n_leaves), 2)
        if b - a <= max(_NEIGHBOURS // 2, _NEIGHBOURS - a, _NEIGHBOURS - (n_leaves - 1 - b))
    }


@pytest.mark.parametrize("n_leaves", [2, 3, 9])
def test_few_leaves_are_all_neighbours_also_in_one_place(n_leaves):
    for centres in (a_line(n_leaves), np.zeros((n_leaves, 2))):
        first, second = _neighbouring_pairs(centres.astype(np.int64))
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == list(combinations(range(n_leaves), 2))


def test_cuts_of_the_tree_have_the_strength_between_their_sides():
    values = {
        "column": [0, -1, 0, -1, -1],
        "threshold": [50.0, None, 70.0, None, None],
        "left": [1, -1, 3, -1, -1],
        "right": [2, -1, 4, -1, -1],
        "size": [300.0, 100.0, 200.0, 100.0, 100.0],
        "size_error": [1.0] * 5,
        "cluster": [-1, 0, -1, 1, 2],
        "counted": "people",
    }
    sizes, places = np.full(3, 100.0), a_line(3)
    bridges, inhabited = measured({(0, 1): EMPTY, (0, 2): EMPTY, (1, 2): HALF_FULL}, [50] * 3, sizes)
    joins = join_leaves(bridges, inhabited, places, sizes)
    tree = with_hierarchy(Tree.from_dict(("a", "b"), values), places, bridges, joins)
    assert tree.strength is not None
    assert tree.strength[[0, 2]] == pytest.approx([1.0, 0.5])
    assert np.isnan(tree.strength[[1, 3, 4]]).all()
    assert tree.joins is joins
    assert [len(tree.cut(k).sizes) for k in (1, 2, 3)] == [1, 2, 3]
    assert tree.cut(strength=0.8).sizes.tolist() == [200.0, 100.0]
    lone = Tree.from_dict(
        ("a", "b"),
        {name: value[:1] if isinstance(value, list) else value for name, value in values.items()}
        | {"column": [-1], "threshold": [None], "left": [-1], "right": [-1], "cluster": [0]},
    )
    assert with_hierarchy(lone, places[:1], None, None).cut(1).sizes.tolist() == [300.0]
