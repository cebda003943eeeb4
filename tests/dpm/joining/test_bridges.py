"""Bridges between leaves, by hand: when two leaves are one cluster, in which order leaves are joined, from what."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpmondrian import DPM, NotReleasableWarning
from dpmondrian.dpm.centres.clipped import Means
from dpmondrian.dpm.draws import BRIDGE
from dpmondrian.dpm.joining.bridges import (
    _NEIGHBOURS,
    BRIDGE_BINS,
    FLAT_SHARE,
    Bridges,
    LeafGroups,
    Strength,
    _neighbouring_pairs,
    measure_bridges,
)
from dpmondrian.dpm.joining.hierarchy import CAN_BE_APART, Joined, hierarchy_of, join_leaves
from dpmondrian.dpm.joining.joins import FLAT_STRENGTH, Joins
from dpmondrian.dpm.tree.grower import GrownTree, Node
from dpmondrian.release.tree import Tree
from dpmondrian_lab.datasets import shapes

FULL, HALF_FULL, EMPTY = [22, 20, 20, 20, 22], [10, 10, 10, 10, 10], [60, 10, 0, 10, 60]
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
        self.released, self._deviation, self.seen = np.asarray(released, dtype=np.int64), deviation, []

    def counts(self, draw, level, exact_counts):
        self.seen.append((draw.name, level, exact_counts))
        return self.released

    def deviation(self, draw):
        assert draw == BRIDGE
        return self._deviation


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
    sizes = np.asarray(sizes, dtype=float)
    return measure_bridges(engine, door, Means(places, np.ones_like(places)), sizes, 0.05 * sizes)


def strength_of(way, sizes=(100.0, 100.0), deviation: float = 1.0) -> Strength:
    bridges, _ = measured({(0, 1): way}, [50, 50], sizes, deviation)
    return bridges.strength_between(np.array([0]), np.array([1]))


def test_a_full_middle_separates_nothing_and_an_empty_one_everything():
    assert strength_of(FULL).value == pytest.approx(0.0, abs=1e-9)
    assert strength_of([22, 20, 90, 20, 22]).released()[0] == 0.0
    assert strength_of(HALF_FULL).value == pytest.approx(0.5)
    assert strength_of(EMPTY).value == 1.0


def test_the_smaller_leaf_counts():
    assert strength_of(HALF_FULL, (50.0, 10_000.0)).value == pytest.approx(1 - 10 / (FLAT_SHARE * 50)) == 0.0
    assert strength_of(HALF_FULL, (1000.0, 10_000.0)).value == pytest.approx(1 - 10 / (FLAT_SHARE * 1000))


def test_rows_that_noise_could_explain_are_an_error_not_an_absence():
    """They were taken as nobody, and two pieces of flat data had a strength of 1.00 with an error of 0.04."""
    flat = strength_of([19, 19, 19, 19, 19], deviation=5.0)
    assert flat.value == pytest.approx(0.05)
    assert 0.2 < flat.error < 0.4
    hidden = strength_of([0, 0, 0, 0, 0], deviation=50.0)
    assert hidden.value == 1.0
    assert hidden.error > 1.0
    assert hidden.released() == (1.0, 1.0)  # the whole range


def test_chance_is_an_error_without_any_noise():
    assert strength_of(HALF_FULL, deviation=0.0).error > np.sqrt(3 * 10) / (3 * 20)
    assert strength_of([0] * BRIDGE_BINS, deviation=0.0).error > 1 / 40  # none were met: some may be there


def test_a_valley_in_the_profile_separates_however_many_rows_lie_in_it():
    flat, sizes = 40_000, (100_000.0, 100_000.0)
    assert strength_of([flat, flat, flat, flat, flat], sizes).value == 0.0
    assert strength_of([flat, flat, 20_000, flat, flat], sizes).value == 1.0
    assert strength_of([flat, flat, 30_000, flat, flat], sizes).value == pytest.approx(0.5)
    # It is measured from the lower of the two ends.
    assert strength_of([flat, 30_000, 30_000, 30_000, 30_000], sizes).value == 0.0
    assert strength_of([flat, flat, 30_000, 36_000, 30_000], sizes).value == pytest.approx(1 / 3)


def test_a_valley_of_few_rows_is_not_preferred():
    assert strength_of([20, 20, 15, 20, 20], deviation=0.0).value == pytest.approx(0.25)  # by the share


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
def test_the_stated_error_is_the_error_of_the_share(ratio, deviation):
    """Rows midway are this part of those in flat data, in each of 1,000 samples with noise of their own."""
    rng = np.random.default_rng(0)
    size, size_error = 600.0, 20.0
    middle = ratio * FLAT_SHARE * size
    scores = []
    for _ in range(1000):
        way = rng.poisson(np.full(BRIDGE_BINS, middle)) + rng.normal(0, deviation, BRIDGE_BINS)
        sizes = rng.poisson(size, 2) + rng.normal(0, size_error, 2)
        profile = np.zeros((2, 2, BRIDGE_BINS))
        profile[0, 1], profile[1, 0] = way, way[::-1]
        bridges = Bridges(profile, ~np.eye(2, dtype=bool), 1.0 - np.eye(2), sizes, np.full(2, size_error), deviation)
        found = bridges.strength_between(np.array([0]), np.array([1]))
        scores.append((found.value - (1.0 - ratio)) / found.error)
    assert np.sqrt(np.mean(np.square(scores))) < 1.25
    assert abs(np.mean(scores)) < 0.8
    if ratio or deviation:  # else nothing is ever met, and the error is that of not having met it
        assert np.std(scores) > 0.7


@pytest.mark.parametrize("deviation", [0.0, 30.0])
@pytest.mark.parametrize("ratio", [0.6, 0.8])
def test_the_stated_error_is_the_error_of_a_valley(ratio, deviation):
    rng = np.random.default_rng(0)
    expected = np.array([1000.0, 2000.0, 2000.0 * ratio, 2000.0, 1000.0])
    scores = []
    for _ in range(1000):
        way = rng.poisson(expected) + rng.normal(0, deviation, BRIDGE_BINS)
        profile = np.zeros((2, 2, BRIDGE_BINS))
        profile[0, 1], profile[1, 0] = way, way[::-1]
        sizes, errors = np.full(2, 5000.0), np.full(2, 20.0)
        bridges = Bridges(profile, ~np.eye(2, dtype=bool), 1.0 - np.eye(2), sizes, errors, deviation)
        found = bridges.strength_between(np.array([0]), np.array([1]))
        scores.append((found.value - 2.0 * (1.0 - ratio)) / found.error)
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.25


def counted(rows: np.ndarray, centres: np.ndarray, pair_of: np.ndarray) -> np.ndarray:
    """Return bridge counts of rows on whole places, as the kernels count them."""
    counts = np.zeros((pair_of.max() + 1) * BRIDGE_BINS + len(centres), dtype=np.int64)
    squares = ((rows[:, None] - centres) ** 2).sum(axis=2)
    a, b = np.argsort(squares, axis=1, kind="stable")[:, :2].T
    apart = ((centres[a] - centres[b]) ** 2).sum(axis=1)
    way = apart + squares[np.arange(len(rows)), a] - squares[np.arange(len(rows)), b]
    on_way = (pair_of[a, b] >= 0) & (way >= 0) & (apart > 0)
    place = BRIDGE_BINS * way // np.maximum(2 * apart, 1)
    bins = pair_of[a, b] * BRIDGE_BINS + np.where(a < b, place, BRIDGE_BINS - 1 - place)
    np.add.at(counts, np.where(on_way, bins, (pair_of.max() + 1) * BRIDGE_BINS + a), 1)
    return counts


class CountingEngine:
    """Counts rows itself."""

    def __init__(self, rows):
        self.rows = rows

    def bridge_counts(self, centres, pair_of, n_pairs, n_bins):
        return counted(self.rows, centres, pair_of)


class NoisyDoor:
    """Adds normal noise."""

    def __init__(self, rng, deviation):
        self.rng, self._deviation = rng, deviation

    def counts(self, draw, level, exact_counts):
        return np.rint(exact_counts + self.rng.normal(0, self._deviation, len(exact_counts)))

    def deviation(self, draw):
        return self._deviation


def tiles(per_side: int, width: int = 1000) -> np.ndarray:
    """Return the centres of square tiles of a square."""
    middles = (np.arange(per_side) + 0.5) * width / per_side
    return np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)


def of_tiles(rng, per_side: int, n_rows: int, deviation: float, left: float = 1.0) -> Bridges:
    """Return the bridges between tiles of flat rows, of which this share is left in the middle of the square."""
    places, sizes = tiles(per_side), np.full(per_side**2, n_rows / per_side**2)
    rows = rng.integers(0, 1000, (n_rows, 2))
    thinned = rows[(np.abs(rows[:, 0] - 500) > 500 / per_side) | (rng.random(n_rows) < left)]
    door, engine = NoisyDoor(rng, deviation), CountingEngine(thinned)
    return measure_bridges(engine, door, Means(places, np.ones_like(places)), sizes, np.zeros_like(sizes))[0]


def halves(per_side: int) -> tuple[np.ndarray, np.ndarray]:
    leaves = np.arange(per_side**2)
    return leaves[: len(leaves) // 2], leaves[len(leaves) // 2 :]


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.0, 12.0])
def test_the_stated_error_is_that_of_other_rows_and_noise(deviation):
    """The same 16 leaves of two crowds with some rows between, 150 times with other rows and noise."""
    rng = np.random.default_rng(0)
    found = np.array(
        [of_tiles(rng, 4, 6000, deviation, 0.3).strength_between(*halves(4)).released() for _ in range(150)]
    )
    assert 0.1 < found[:, 0].mean() < 0.9
    assert 0.75 < found[:, 0].std() / found[:, 1].mean() < 1.3


@pytest.mark.parametrize("per_side", [2, 4, 6, 8])
def test_flat_data_is_not_apart_into_however_many_leaves_it_was_cut(per_side):
    """Compared with all rows of a half, as it was, the strip midway between 64 leaves is thin."""
    found = of_tiles(np.random.default_rng(0), per_side, 40_000, 0.0).strength_between(*halves(per_side))
    assert found.value < 0.4


def test_flat_rows_are_one_cluster():
    """5,000 flat rows in 2 columns were 2 to 13 clusters in 20 of 26 runs, each strong beyond doubt."""
    n_found, certain = [], []
    for run in range(12):
        shape = shapes.one_uniform(2, 5000, seed=run)
        with pytest.warns(NotReleasableWarning):
            model = DPM(bounds=shape.bounds, random_state=run).fit(shape.rows)
        n_found.append(model.n_clusters_)
        joins = model.tree_.joins
        assert joins is not None
        certain.append(np.max(joins.strength - 3.0 * joins.strength_error))
    assert n_found.count(1) >= 11
    assert np.median(certain) < 0.4


def random_bridges(seed: int, n_leaves: int = 7) -> tuple[Bridges, np.ndarray]:
    rng = np.random.default_rng(seed)
    ways = {pair: rng.integers(-5, 200, BRIDGE_BINS) for pair in combinations(range(n_leaves), 2)}
    sizes = rng.uniform(1, 900, n_leaves)
    return measured(ways, rng.integers(0, 60, n_leaves), sizes, deviation=rng.uniform(0.5, 9))


@pytest.mark.parametrize("seed", range(6))
def test_strengths_are_the_same_both_ways(seed):
    bridges, _ = random_bridges(seed)
    groups, number = LeafGroups.of_leaves(bridges), np.arange(7)
    at_most = np.array([groups.strengths_at_most(i, number) for i in number])
    np.testing.assert_array_equal(at_most, at_most.T)
    for i, j in combinations(number, 2):
        one, other = number[[i]], number[[j]]
        assert bridges.strength_between(one, other) == pytest.approx(bridges.strength_between(other, one))


@pytest.mark.parametrize("seed", range(6))
def test_bridges_of_groups_are_the_sums_of_their_members(seed):
    bridges, _ = random_bridges(seed)
    groups = LeafGroups.of_leaves(bridges)
    for first, second in ((0, 3), (0, 5), (1, 2)):
        groups.join(first, second)
    block = np.ix_([0, 3, 5], [1, 2])
    np.testing.assert_allclose(groups.profile[0, 1], bridges.profile[block].sum(axis=(0, 1)))
    assert groups.n_bridges[0, 1] == 6
    np.testing.assert_allclose(groups.sizes[:2], [bridges.sizes[[0, 3, 5]].sum(), bridges.sizes[[1, 2]].sum()])
    np.testing.assert_array_equal(random_bridges(seed)[0].profile, bridges.profile)  # the copy was changed alone


def test_rows_that_noise_could_explain_do_not_join_first():
    ways = {(0, 1): [50, 20, 19, 20, 50], (0, 2): [50, 20, 21, 20, 50]}
    groups = LeafGroups.of_leaves(measured(ways, [50] * 3, [100.0] * 3, deviation=5.0)[0])
    assert groups.strengths_at_most(0, np.array([1]))[0] == 1.0
    assert groups.strengths_at_most(0, np.array([2]))[0] < 0.1


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
    joined = join_leaves(*measured(ways, others, sizes, places=places), places)
    joins = joined.joins
    assert joins.n_apart(0.8) == joined.n_surely_apart() == 2
    assert joins.groups(2).tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert joins.strength[-1] == 1.0
    assert joins.strength[:-1].max() < 0.25


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
    joins = join_leaves(*measured(moved, others, sizes, places=places[order]), places[order]).joins
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
    joins = join_leaves(bridges, inhabited, places).joins
    assert {int(joins.first[0]), int(joins.second[0])} == {3, 5}
    assert joins.strength[0] == 0.0
    assert joins.n_apart(0.8) == 5
    assert joins.groups(5)[3] == joins.groups(5)[5]


@pytest.mark.parametrize("all_lost", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_any_released_counts_give_a_hierarchy(seed, all_lost):
    """Also negative ones and ties: strengths within [0, 1] and a tree of joins that can be saved and read."""
    bridges, inhabited = random_bridges(seed, 2 + seed)
    sizes = bridges.sizes
    inhabited = inhabited & (not all_lost)
    places = a_line(len(sizes)) // 200  # some on the same place
    before = (bridges.profile.copy(), places.copy(), sizes.copy(), inhabited.copy())
    joins = join_leaves(bridges, inhabited, places).joins
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
        bridges, inhabited = measure_bridges(engine, door, Means(places, np.ones_like(places)), sizes, sizes / 9)
        found.append(
            [*(getattr(bridges, name).tolist() for name in ("profile", "measured", "facing", "sizes", "size_errors"))]
        )
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


def test_two_crowds_of_leaves_are_linked_where_they_are_nearest():
    """All the nearest of a leaf belong to its own crowd: without the link nothing would be known between the two."""
    crowd = a_line(2 * _NEIGHBOURS)
    far = np.array([0.0, 10.0**6])
    centres = np.concatenate([crowd, crowd + far]) + np.arange(4 * _NEIGHBOURS)[:, None] ** 2
    first, second = _neighbouring_pairs(centres.astype(np.int64))
    across = (first < len(crowd)) & (second >= len(crowd))
    assert across.sum() == 1


def alike(value: float, error: float, n_joins: int, weight: float = 100.0) -> Joined:
    """Return joins of this strength, of which each may be as strong as can be."""
    strengths = [Strength(value, error, weight)] * n_joins
    return Joined(Joins(*np.zeros((4, n_joins), dtype=np.int64)), strengths, [1.0] * n_joins)


def test_one_small_cluster_is_not_sure_but_fifty_are():
    assert alike(1.0, 0.6, 1).n_surely_apart() == 1
    assert alike(1.0, 0.6, 50).n_surely_apart() == 51
    assert alike(0.3, 0.6, 50).n_surely_apart() == 1
    assert alike(1.0, 0.01, 1).n_surely_apart() == 2


def test_a_join_that_cannot_be_strong_is_not_undone():
    strengths = [Strength(1.0, 0.05, 100.0)] * 4
    joined = Joined(Joins(*np.zeros((4, 4), dtype=np.int64)), strengths, [1.0, CAN_BE_APART - 0.01, CAN_BE_APART, 1.0])
    assert joined.n_surely_apart() == 3


def test_more_levels_ask_for_more_certainty():
    """The same last join is sure where it is the only one, and not as the best of many."""
    last, weak = Strength(FLAT_STRENGTH + 2.3 * 0.1, 0.1, 100.0), Strength(0.0, 0.1, 100.0)
    for n_joins, n_clusters in ((1, 2), (100, 1)):
        strengths = [weak] * (n_joins - 1) + [last]
        joined = Joined(Joins(*np.zeros((4, n_joins), dtype=np.int64)), strengths, [1.0] * n_joins)
        assert joined.n_surely_apart() == n_clusters


def test_a_leaf_between_two_others_hides_them():
    """On a line only neighbours see each other, and the rows of a leaf face both by distance."""
    places = np.array([[0.0, 5.0], [100.0, 5.0], [400.0, 5.0], [500.0, 5.0]])
    bridges, _ = measured({}, [50] * 4, [100.0] * 4, places=places)
    assert bridges.measured.sum() == 12
    expected = [[0, 1, 0, 0], [0.25, 0, 0.75, 0], [0, 0.75, 0, 0.25], [0, 0, 1, 0]]
    np.testing.assert_allclose(bridges.facing, expected)
    assert bridges.strength_between(np.array([0]), np.array([2])) == Strength(0.0, 1.0, 0.0)  # unknown


def test_leaves_in_one_place_have_finite_strengths():
    bridges, inhabited = measured({(0, 1): FULL}, [50] * 3, [100.0] * 3, places=np.zeros((3, 2)))
    assert np.isfinite(bridges.facing).all()
    assert np.isfinite(join_leaves(bridges, inhabited, np.zeros((3, 2))).strengths).all()


@pytest.mark.parametrize("n_leaves", [2, 3, 9])
def test_few_leaves_are_all_neighbours_also_in_one_place(n_leaves):
    for centres in (a_line(n_leaves), np.zeros((n_leaves, 2))):
        first, second = _neighbouring_pairs(centres.astype(np.int64))
        assert list(zip(first.tolist(), second.tolist(), strict=True)) == list(combinations(range(n_leaves), 2))


def with_hierarchy(values, leaf_centres, bridges, joins) -> Tree:
    """Return a released tree with the hierarchy that belongs to a grown tree of the same shape."""
    nodes = [Node(number, -1, 0, np.zeros(2), np.zeros(2), 0) for number in range(len(values["left"]))]
    for node, left, right in zip(nodes, values["left"], values["right"], strict=True):
        node.children = None if left < 0 else (left, right)
    hierarchy = hierarchy_of(GrownTree(nodes), leaf_centres, bridges, joins)
    return replace(Tree.from_dict(("a", "b"), values), **vars(hierarchy))


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
    bridges, inhabited = measured({(0, 1): EMPTY, (0, 2): EMPTY, (1, 2): [5] * 5}, [50] * 3, sizes, deviation=0.1)
    joins = join_leaves(bridges, inhabited, places).joins
    tree = with_hierarchy(values, places, bridges, joins)
    assert tree.strength[[0, 2]] == pytest.approx([1.0, 0.5])
    assert np.isnan(tree.strength[[1, 3, 4]]).all()
    assert tree.joins is joins
    assert [len(tree.cut(k).sizes) for k in (1, 2, 3)] == [1, 2, 3]
    assert tree.cut(strength=0.8).sizes.tolist() == [200.0, 100.0]
    lone = {name: value[:1] if isinstance(value, list) else value for name, value in values.items()}
    lone |= {"column": [-1], "threshold": [None], "left": [-1], "right": [-1], "cluster": [0]}
    assert with_hierarchy(lone, places[:1], None, None).cut(1).sizes.tolist() == [300.0]
