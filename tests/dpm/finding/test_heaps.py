"""Round numbers on which rows heap are found and spread; clusters, even at equal distances, are left as they are."""

import numpy as np
import pytest

from dpmondrian.dpm.finding.dispersion import dispersion_along
from dpmondrian.dpm.finding.grids import Level, repeated, sums_of_blocks
from dpmondrian.dpm.finding.heaps import evened, heap_distances, on_heaps, spread_over
from dpmondrian.dpm.finding.hills import DEPTH
from dpmondrian.dpm.finding.valleys import threshold, valleys

NOISE = 5.0


def counted(rows, n_bins):
    """Return rows between 0 and 100 in noisy bins."""
    generator = np.random.default_rng(0)
    counts = np.histogramdd(rows, [np.linspace(0, 100, n + 1) for n in n_bins])[0]
    return Level(counts + generator.normal(0, NOISE, counts.shape), np.full(counts.shape, NOISE**2))


def distances(level):
    """Return the distances of heaps in a grid whose bins are all divided: the one before shows nothing more."""
    return heap_distances([level, level])


def undivided(level, n_parts):
    """Return a grid and the next one, in which none of its bins was divided."""
    axes = range(level.rows.ndim)
    rows, variances = level.rows, level.variances
    for axis in axes:
        rows, variances = np.repeat(rows, n_parts, axis) / n_parts, np.repeat(variances, n_parts, axis) / n_parts
    return [level, Level(rows, variances)]


def ages(n_rows, round_to):
    """Return ages of which half are rounded to a multiple."""
    generator = np.random.default_rng(1)
    exact = generator.normal(50, 15, n_rows)
    return np.where(generator.random(n_rows) < 0.5, round_to * np.rint(exact / round_to), exact)[:, None]


@pytest.mark.parametrize("round_to", [5, 10])
def test_heaps_are_found_at_their_distance(round_to):
    [distance] = distances(counted(ages(50_000, round_to), [200]))
    assert distance == pytest.approx(2 * round_to, abs=0.2)


def test_values_that_nobody_declared_and_heaps_on_these():
    rows = np.rint(ages(50_000, 5))
    [distance] = distances(counted(rows, [400]))
    assert distance == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("spread", [1.0, 2.0, 10.0])
def test_clusters_at_equal_distances_are_no_heaps(spread):
    generator = np.random.default_rng(2)
    rows = generator.normal(generator.choice(np.arange(5.0, 100.0, 10.0), (50_000, 2)), spread)
    assert distances(counted(rows, [120, 120])) == [0.0, 0.0]


@pytest.mark.parametrize("values", [3, 5, 8, 11, 17])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_scale_up_to_its_bounds_has_no_hills(values, n_columns):
    rows = np.random.default_rng(5).integers(0, values, (100_000, n_columns)) * (100.0 / (values - 1))
    level = counted(rows, [100] * n_columns)
    found = distances(level)
    assert found == pytest.approx([99 / (values - 1)] * n_columns, abs=1.0)
    spread = spread_over(level.rows, found)
    for axis in range(n_columns):
        along = spread.sum(axis=tuple(other for other in range(n_columns) if other != axis))
        assert along.max() < along.min() / (1.0 - DEPTH)


def test_heaps_in_bins_that_are_not_divided():
    generator = np.random.default_rng(6)
    scale = undivided(counted(generator.integers(0, 6, (3_000, 2)) * 20.0, [26, 26]), 4)
    assert heap_distances(scale) == pytest.approx([20.0, 20.0], abs=1.0)
    for spread in (1.0, 2.0, 4.0):  # of clusters in bins of 4
        clusters = generator.normal(generator.integers(0, 5, (3_000, 2)) * 20.0 + 10.0, spread)
        assert heap_distances(undivided(counted(clusters, [26, 26]), 4)) == [0.0, 0.0]


def test_bins_that_are_not_divided_leave_no_gaps_between_heaps():
    values = np.random.default_rng(8).integers(0, 101, (1_000_000, 2))
    finest = counted(values * (100.0 / 101.0) + 0.3, [512, 512])  # bins of 4 are hardly narrower than the distance
    before = Level(sums_of_blocks(finest.rows, (4, 4)), np.full((128, 128), 16.0 * NOISE**2))
    is_divided = repeated(np.arange(128)[:, None] + np.arange(128) < 100, (4, 4))
    rows, variances = (repeated(field / 16.0, (4, 4)) for field in (before.rows, before.variances))
    finest = Level(np.where(is_divided, finest.rows, rows), np.where(is_divided, 0.5, 1.0) * variances)
    gathered = on_heaps(before, finest, [512 / 101.0] * 2)
    assert sums_of_blocks(gathered, (4, 4)) == pytest.approx(before.rows)
    np.testing.assert_array_equal(gathered[is_divided], finest.rows[is_divided])
    for axis in range(2):
        along = sums_of_blocks(spread_over(gathered, [512 / 101.0] * 2), (4, 4))[80:120, 80:120].sum(axis=axis)
        assert along.min() > (1.0 - DEPTH) * along.max()


def test_rows_that_were_clipped_to_bounds_hide_no_heaps():
    rows = np.rint(np.random.default_rng(7).normal(47, 30, (100_000, 1)) / 7) * 7
    [distance] = distances(counted(np.clip(rows, 3, 98), [200]))
    assert distance == pytest.approx(14, abs=0.5)


def test_spikes_anywhere_are_no_heaps():
    generator = np.random.default_rng(3)
    rows = generator.choice(generator.uniform(5, 95, 8), (50_000, 1))
    assert distances(counted(rows, [400])) == [0.0]


def test_spreading_keeps_rows_and_takes_heaps_away():
    level = counted(ages(50_000, 5), [200])
    rows = spread_over(level.rows, distances(level))
    assert rows[20:-20].sum() == pytest.approx(level.rows[20:-20].sum(), rel=0.01)
    middle = rows[80:120]
    assert middle.max() < 1.3 * middle.min() < 0.5 * level.rows[80:120].max()


@pytest.mark.parametrize("values", [70, 83, 100, 120])
def test_spreading_leaves_no_gaps_where_distances_are_no_whole_number_of_bins(values):
    rows = np.random.default_rng(4).integers(0, values + 1, (200_000, 1)) * (100.0 / values)
    level = counted(rows, [512])
    spread = spread_over(level.rows, distances(level))[50:-50]
    windows = spread[1:] + spread[:-1]  # as narrow as they get
    assert windows.min() > (1.0 - DEPTH) * windows.max()


def along(rows, seed=0):
    """Return rows between 0 and 48 in 48 noisy bins."""
    return np.histogram(rows, np.arange(49))[0] + np.random.default_rng(seed).normal(0, NOISE, 48)


def n_valleys(counts):
    dispersion = min(dispersion_along(counts, NOISE)[0], 20_000 / 300)
    return len(valleys(counts, NOISE, threshold(4), dispersion, 1.0, 100.0))


@pytest.mark.parametrize("unit", [0.4, 0.7, 0.95, 1.02, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 4.0])
def test_along_a_line_distances_between_values_are_no_gaps_however_wide_bins_are(unit):
    generator = np.random.default_rng(5)
    found = []
    for run in range(20):
        exact = generator.normal(24, 8, 20_000) if run % 2 else generator.uniform(4, 44, 20_000)
        found.append(n_valleys(evened(along(unit * (np.rint(exact / unit) + generator.random()), run), NOISE)))
    assert np.count_nonzero(found) <= 2


@pytest.mark.parametrize(
    ("n_clusters", "distance", "spread"), [(2, 3, 0.5), (3, 3, 0.5), (5, 4, 0.5), (8, 5, 0.7), (4, 9, 1.2)]
)
def test_along_a_line_clusters_at_equal_distances_stay_apart(n_clusters, distance, spread):
    generator = np.random.default_rng(6)
    for run in range(10):
        middles = 24 + distance * (np.arange(n_clusters) - (n_clusters - 1) / 2) + generator.uniform(-0.5, 0.5)
        counts = along(generator.normal(generator.choice(middles, 20_000), spread), run)
        assert n_valleys(evened(counts, NOISE)) == n_valleys(counts) == n_clusters - 1


def test_along_a_line_independent_rows_stay_as_they_are():
    counts = along(np.random.default_rng(7).normal(24, 6, 20_000))
    assert evened(counts, NOISE) is counts
