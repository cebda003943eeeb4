"""Round numbers on which rows heap are found and spread; clusters, even at equal distances, are left as they are."""

import numpy as np
import pytest

from dpmondrian.dpm.finding.grids import Level
from dpmondrian.dpm.finding.heaps import heap_distances, spread_over
from dpmondrian.dpm.finding.hills import DEPTH

NOISE = 5.0


def counted(rows, n_bins):
    """Return rows between 0 and 100 in noisy bins."""
    generator = np.random.default_rng(0)
    counts = np.histogramdd(rows, [np.linspace(0, 100, n + 1) for n in n_bins])[0]
    return Level(counts + generator.normal(0, NOISE, counts.shape), np.full(counts.shape, NOISE**2))


def ages(n_rows, round_to):
    """Return ages of which half are rounded to a multiple."""
    generator = np.random.default_rng(1)
    exact = generator.normal(50, 15, n_rows)
    return np.where(generator.random(n_rows) < 0.5, round_to * np.rint(exact / round_to), exact)[:, None]


@pytest.mark.parametrize("round_to", [5, 10])
def test_heaps_are_found_at_their_distance(round_to):
    [distance] = heap_distances(counted(ages(50_000, round_to), [200]))
    assert distance == pytest.approx(2 * round_to, abs=0.2)


def test_values_that_nobody_declared_and_heaps_on_these():
    rows = np.rint(ages(50_000, 5))
    [distance] = heap_distances(counted(rows, [400]))
    assert distance == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("spread", [1.0, 2.0, 10.0])
def test_clusters_at_equal_distances_are_no_heaps(spread):
    generator = np.random.default_rng(2)
    rows = generator.normal(generator.choice(np.arange(5.0, 100.0, 10.0), (50_000, 2)), spread)
    assert heap_distances(counted(rows, [120, 120])) == [0.0, 0.0]


def test_spikes_anywhere_are_no_heaps():
    generator = np.random.default_rng(3)
    rows = generator.choice(generator.uniform(5, 95, 8), (50_000, 1))
    assert heap_distances(counted(rows, [400])) == [0.0]


def test_spreading_keeps_rows_and_takes_heaps_away():
    level = counted(ages(50_000, 5), [200])
    rows = spread_over(level.rows, heap_distances(level))
    assert rows.sum() == pytest.approx(level.rows.sum())
    middle = rows[80:120]
    assert middle.max() < 1.3 * middle.min() < 0.5 * level.rows[80:120].max()


@pytest.mark.parametrize("values", [70, 83, 100, 120])
def test_spreading_leaves_no_gaps_where_distances_are_no_whole_number_of_bins(values):
    rows = np.random.default_rng(4).integers(0, values + 1, (200_000, 1)) * (100.0 / values)
    level = counted(rows, [512])
    spread = spread_over(level.rows, heap_distances(level))[50:-50]
    windows = spread[1:] + spread[:-1]  # as narrow as they get
    assert windows.min() > (1.0 - DEPTH) * windows.max()
