"""Clusters of weighted points."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from dpmondrian.dpm.merging import groups_for, k_means, means_of_groups, ward_joins
from dpmondrian.kernels.merging import fewer_groups, groups_of_joins

POINTS = np.concatenate([np.random.default_rng(0).normal(m, 0.3, (40, 3)) for m in (0.0, 5.0, 9.0, 20.0)])
SIZES = np.random.default_rng(1).uniform(1, 50, len(POINTS))


@pytest.mark.parametrize("k", [1, 2, 4, 9, 30])
def test_k_means_is_as_good_as_scikit_learns(k):
    centres, cluster = k_means(POINTS, SIZES, k)
    cost = (SIZES * ((POINTS - centres[cluster]) ** 2).sum(axis=1)).sum()
    assert cost <= 1.02 * KMeans(k, n_init=10, random_state=0).fit(POINTS, sample_weight=SIZES).inertia_
    assert np.unique(cluster).tolist() == list(range(k))
    for number in range(k):
        own = cluster == number
        np.testing.assert_allclose(centres[number], np.average(POINTS[own], axis=0, weights=SIZES[own]))


def test_no_more_clusters_than_points():
    centres, cluster = k_means(POINTS[:3], SIZES[:3], 5)
    assert centres.tolist() == POINTS[:3].tolist()
    assert cluster.tolist() == [0, 1, 2]


def test_equal_points_are_one_cluster():
    centres, cluster = k_means(np.ones((10, 2)), np.ones(10), 3)
    assert len(centres) == 1
    assert cluster.tolist() == [0] * 10


@pytest.mark.parametrize("n_points", [40, 160])
def test_groups_are_as_good_as_those_of_many_random_starts(n_points):
    points, sizes = POINTS[:n_points], SIZES[:n_points]
    numbers = [1, 2, 4, 9, 21, 30, n_points]
    for k, group in zip(numbers, groups_for(points, sizes, numbers), strict=True):
        assert set(group.tolist()) == set(range(k))
        cost = (sizes * ((points - means_of_groups(points, sizes, group)[group]) ** 2).sum(axis=1)).sum()
        centres, cluster = k_means(points, sizes, k)
        assert cost <= 1.02 * (sizes * ((points - centres[cluster]) ** 2).sum(axis=1)).sum() + 1e-9


def test_points_in_one_place_are_divided_into_as_many_groups_as_asked_for():
    for k, group in zip((1, 2, 5), groups_for(np.ones((5, 2)), np.ones(5), (1, 2, 5)), strict=True):
        assert set(group.tolist()) == set(range(k))


@pytest.mark.parametrize("n_points", [30, 160])
def test_groups_do_not_depend_on_which_others_are_asked_for(n_points):
    points, sizes = POINTS[:n_points], SIZES[:n_points]
    numbers = [2, 20, 21, 22, 30, *([63, 64, 65] if n_points > 65 else [])]
    for k, group in zip(numbers, groups_for(points, sizes, numbers), strict=True):
        assert groups_for(points, sizes, [k])[0].tolist() == group.tolist()


def test_most_groups_stay_as_they_are_from_one_number_to_the_next():
    """So distances from most centres are taken once for many numbers of groups."""
    groups = groups_for(POINTS, SIZES, range(21, 65))
    centres = {tuple(mean) for own in groups for mean in means_of_groups(POINTS, SIZES, own).round(9).tolist()}
    assert len(centres) < 64 + 3 * 44


@pytest.mark.parametrize("n_points", [5, 22, 40])
def test_fewer_groups_of_points_in_one_place_all_have_points(n_points):
    for number, group in enumerate(fewer_groups(np.ones((n_points, 2)), np.ones(n_points), np.arange(n_points), 2, 50)):
        assert set(group.tolist()) == set(range(n_points - number))


def wards_groups(points, sizes, k):
    return groups_of_joins(ward_joins(points, sizes)[0], len(points), k)


def test_wards_groups_join_what_is_near():
    four, two, one = (wards_groups(POINTS, SIZES, k) for k in (4, 2, 1))
    assert [len(np.unique(four[i * 40 : (i + 1) * 40])) for i in range(4)] == [1] * 4
    assert len(np.unique(four)) == 4
    assert np.unique(two[:120]).size == 1
    assert two[0] != two[-1]
    assert set(one.tolist()) == {0}


def test_wards_groups_are_those_of_the_plain_algorithm():
    """Against the definition: join the pair whose sum of squares grows least, again and again."""
    points, sizes = POINTS[::9], SIZES[::9]
    groups = [[i] for i in range(len(points))]
    while len(groups) > 5:
        pairs = [(a, b) for b in range(len(groups)) for a in range(b)]

        def growth(pair):
            weights = [sizes[groups[g]].sum() for g in pair]
            one, other = (np.average(points[groups[g]], axis=0, weights=sizes[groups[g]]) for g in pair)
            return weights[0] * weights[1] / sum(weights) * ((one - other) ** 2).sum()

        a, b = min(pairs, key=growth)
        groups[a] += groups.pop(b)
    found = wards_groups(points, sizes, 5)
    assert {tuple(sorted(np.flatnonzero(found == g).tolist())) for g in range(5)} == {tuple(sorted(g)) for g in groups}
