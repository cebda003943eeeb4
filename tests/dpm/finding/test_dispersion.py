"""Over-dispersion: 1 for independent rows whatever their density, more for copies; few values are a comb, narrow clusters are none."""

import numpy as np
import pytest

from dpmondrian.dpm.finding.dispersion import dispersion_along, dispersion_of_grid

NOISE = 5.0


def along(rows, seed=0):
    """Return what rows between 0 and 48 show along a line of 48 noisy bins."""
    counts = np.histogram(rows, np.arange(49))[0] + np.random.default_rng(seed).normal(0, NOISE, 48)
    return dispersion_along(counts, NOISE)


@pytest.mark.parametrize("spread", [4.0, 8.0])
def test_independent_rows_vary_by_one(spread):
    """Of one cluster or of two, the median of 48 bins is one within its own error."""
    generator = np.random.default_rng(1)
    found = [along(generator.normal(generator.choice([15.0, 33.0], 20_000), spread), seed)[0] for seed in range(40)]
    assert np.median(found) < 1.6


@pytest.mark.parametrize("n_copies", [10, 40])
def test_copies_vary_by_their_number(n_copies):
    generator = np.random.default_rng(2)
    found = [along(np.repeat(generator.normal(24, 8, 20_000 // n_copies), n_copies), seed)[0] for seed in range(40)]
    assert n_copies / 2 < np.median(found) < n_copies * 2


def test_few_values_are_a_comb():
    generator = np.random.default_rng(3)
    for n_values in (5, 12):
        values = np.linspace(7.3, 40.7, n_values)
        assert along(generator.choice(values, 20_000))[1]


def test_narrow_clusters_are_no_comb():
    generator = np.random.default_rng(4)
    for n_clusters in (1, 2, 5):
        middles = np.linspace(5.0, 43.0, n_clusters)
        assert not along(generator.normal(generator.choice(middles, 20_000), 1.2))[1]


def test_clusters_narrower_than_a_bin_are_no_comb():
    """Two of them, or five at uneven distances."""
    generator = np.random.default_rng(7)
    for middles in ((10.5, 30.5), (3.5, 10.5, 31.5, 40.5, 44.5)):
        rows = generator.normal(generator.choice(middles, 20_000), 0.1)
        assert not along(rows)[1]


def test_nothing_is_said_about_empty_lines():
    nothing = np.random.default_rng(5).normal(0, NOISE, 48)
    assert dispersion_along(nothing, NOISE) == (1.0, False)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_grids_tell_copies_from_rows(n_columns):
    generator = np.random.default_rng(6)
    bins = [np.linspace(0, 1, {1: 129, 2: 41, 3: 15}[n_columns])] * n_columns
    for n_copies in (1, 20):
        rows = np.repeat(generator.normal(0.5, 0.2, (100_000 // n_copies, n_columns)), n_copies, axis=0)
        counts = np.histogramdd(rows, bins)[0]
        noisy = counts + generator.normal(0, NOISE, counts.shape)
        found = dispersion_of_grid(noisy, np.full(counts.shape, NOISE**2))
        assert n_copies / 2 < found < 2 * n_copies
