"""Rows in bins, distances and silhouettes: equal to the plain kernels, within their limits, and the limits are reached."""

import numpy as np
import pytest

from dpmondrian.kernels import profiles, reference

LAST_PLACE = 2**16 - 1


def numbered(sets):
    """Return all different centres of sets, and their numbers in each."""
    centres, numbers = np.unique(np.concatenate(sets), axis=0, return_inverse=True)
    return centres, np.split(numbers.ravel(), np.cumsum([len(own) for own in sets])[:-1])


def compiled_sums(places, node, sets, *rest):
    """Return what the compiled kernel makes of places, shape (n_columns, n_rows)."""
    codes, rests = np.ascontiguousarray(places // 256, np.uint8), np.ascontiguousarray(places % 256, np.uint8)
    rows = codes, rests, np.full(len(places), 256.0), np.ones(len(places))
    return profiles.distance_sums(rows, node, *numbered(sets), *rest)


def plain_sums(places, node, sets, *rest):
    """Return the same of the plain kernel."""
    return reference.distance_sums(places, node, *numbered(sets), *rest)


def rows_and_centres(seed, n_rows=300, n_columns=4, n_centres=5):
    """Return rows, some on centres and in corners, their nodes, and three sets of centres."""
    rng = np.random.default_rng(seed)
    sets = [rng.integers(0, LAST_PLACE + 1, (n, n_columns)) for n in (n_centres, 2, 7)]
    sets[2][3] = sets[2][2]  # two centres in one place
    places = rng.integers(0, LAST_PLACE + 1, (n_rows, n_columns))
    places[:20], places[20:40] = sets[0][rng.integers(0, n_centres, 20)], rng.choice([0, LAST_PLACE], (20, n_columns))
    places[40] = sets[2][2]
    return places.T, rng.integers(0, n_centres, n_rows).astype(np.int16), sets


@pytest.mark.parametrize("seed", range(5))
def test_bin_counts_equal_the_plain_ones(seed):
    rng = np.random.default_rng(seed)
    node, values = rng.integers(0, 4, 200).astype(np.int16), rng.integers(0, LAST_PLACE + 1, 200).astype(np.int32)
    limits = [np.append(np.sort(rng.choice(LAST_PLACE, 6, replace=False)), LAST_PLACE) for _ in range(4)]
    keys = np.concatenate([c * profiles.CLUSTER_STEP + own for c, own in enumerate(limits)])
    values[:7] = limits[2]
    found, groups = np.zeros(len(keys), dtype=np.int64), reference.order_rows(node, np.arange(4), 4)
    order, starts = groups
    profiles.bin_counts(values[order], starts, keys, found)
    assert found.tolist() == reference.bin_counts(values, node, keys, profiles.CLUSTER_STEP).tolist()
    assert found.sum() == 200


@pytest.mark.parametrize("seed", range(3))
def test_distance_sums_equal_the_plain_ones(seed):
    places, node, sets = rows_and_centres(seed)
    arguments = places, node, sets, 2**31, np.array([4096, 4096, 1024, 1024]), np.array([0.0, -1.0, 0.0, 0.0])
    found, plain = compiled_sums(*arguments), plain_sums(*arguments)
    assert found[0] == plain[0]
    assert np.abs(found - plain).max() <= 3  # of 300 rows, in single precision


def sets_that_grow(rng, n_columns, n_own, n_sets):
    """Return centres of rows and sets of some of them, of which most have one centre less and two others more than the one before."""
    centres = rng.integers(0, LAST_PLACE + 1, (20, n_columns))
    sets = [centres[rng.choice(20, n_own)], centres[:3]]
    for _ in range(n_sets):
        fewer = np.delete(sets[-1], rng.integers(len(sets[-1])), axis=0)
        alike = rng.random() < 0.7
        sets.append(np.concatenate([fewer, centres[rng.choice(20, 2)]]) if alike else centres[: rng.integers(1, 20)])
    return centres, sets


@pytest.mark.slow
@pytest.mark.parametrize("n_own", [1, 4, 20])
@pytest.mark.parametrize("n_columns", [1, 3, 12])
@pytest.mark.parametrize("spread", [0, 1000, 20_000])
def test_what_sets_have_in_common_changes_no_silhouette(n_own, n_columns, spread):
    """Each set alone, in blocks of other rows, and row by row gives the same; and it is what the plain kernel finds."""
    rng = np.random.default_rng([n_own, n_columns, spread])
    centres, sets = sets_that_grow(rng, n_columns, n_own, 12)
    near = centres[rng.integers(0, 20, 900)] + np.rint(rng.normal(0, spread, (900, n_columns))).astype(np.int64)
    places, node = np.clip(near, 0, LAST_PLACE).T, rng.integers(0, n_own, 900).astype(np.int16)
    widths, least = np.array([4096, 4096] + [1024] * 7 + [128] * 6), np.array([0.0, -1.0] + [0.0] * 13)
    found = compiled_sums(places, node, sets, 2**31, widths, least)
    some = np.array_split(np.arange(900), 900 if spread == 1000 else 7)
    parts = [compiled_sums(places[:, own], node[own], sets, 2**31, widths, least) for own in some]
    assert np.sum(parts, axis=0).tolist() == found.tolist()
    for j in range(1, len(sets)):
        alone = [0, 1, 1 + j]
        rest = [sets[0], sets[j]], 2**31, widths[alone], least[alone]
        assert compiled_sums(places, node, *rest).tolist() == found[alone].tolist()
    plain = plain_sums(places[:, :100], node[:100], sets, 2**31, widths, least)
    assert np.abs(compiled_sums(places[:, :100], node[:100], sets, 2**31, widths, least) - plain).max() <= 3


def test_silhouettes_do_not_depend_on_where_rows_stand():
    """Which centres are looked at depends on the rows beside a row; what is found does not, though distances are rounded."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, LAST_PLACE + 1, (400, 60)).T  # far from everything: all centres are about as near
    node, sets = rng.integers(0, 3, 400).astype(np.int16), [rng.integers(0, LAST_PLACE + 1, (n, 60)) for n in (3, 20)]
    rest = sets, 2**31, np.array([4096, 4096, 768]), np.array([0.0, -1.0, 0.0])
    alone = [compiled_sums(places[:, [row]], node[[row]], *rest) for row in range(400)]
    assert np.sum(alone, axis=0).tolist() == compiled_sums(places, node, *rest).tolist()


def test_a_row_whose_own_centre_is_not_the_nearest_stays_within_what_silhouettes_may_be():
    places, centres = np.array([[10_000]]), [np.array([[60_000], [10_000]])]
    for least in (0.0, -1.0):
        rest = centres, 2**31, np.array([4096, 4096]), np.array([0.0, least])
        assert compiled_sums(places, np.zeros(1, dtype=np.int16), *rest)[1] == -4096


def test_parts_add_up_to_the_whole():
    """However rows are divided into blocks: more rows than the kernel takes at a time."""
    places, node, sets = rows_and_centres(9, n_rows=20_000)
    rest = sets, 2**31, np.array([4096, 4096, 1024, 1024]), np.array([0.0, -1.0, 0.0, 0.0])
    parts = [compiled_sums(places[:, a:b], node[a:b], *rest) for a, b in ((0, 1), (1, 8191), (8191, 20_000))]
    assert np.sum(parts, axis=0).tolist() == compiled_sums(places, node, *rest).tolist()


def test_one_row_stays_within_the_widths_and_reaches_each():
    widths, least = np.array([4096, 4096, 1024, 1024]), np.array([0.0, -1.0, 0.0, 0.0])
    largest = np.zeros(4)
    for seed in range(3):
        places, node, sets = rows_and_centres(seed)
        for row in range(places.shape[1]):
            alone = places[:, [row]], node[[row]], sets, 2**31, widths, least
            change = np.abs(compiled_sums(*alone))
            assert np.all(change <= widths)
            largest = np.maximum(largest, change)
    assert np.all(largest == widths)


def test_a_single_centre_has_no_silhouette():
    places, _, _ = rows_and_centres(0)
    node = np.zeros(places.shape[1], dtype=np.int16)
    arguments = [np.zeros((1, 4), dtype=np.int64)], 2**31, np.array([4096, 4096]), np.array([0.0, -1.0])
    assert compiled_sums(places, node, *arguments)[1] == 0
