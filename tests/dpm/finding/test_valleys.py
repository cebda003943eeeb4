"""Valleys of noisy histograms: found where they are, and seldom where they are not."""

import numpy as np
import pytest

from dpmondrian.dpm.finding.valleys import LEAST_Z, clearest, doubt_of, threshold, valleys


def test_flat_histograms_seldom_have_a_valley():
    """The stated probability, from 20,000 flat histograms: 0.002, so far below 0.005 and above 0.0002."""
    generator = np.random.default_rng(0)
    counts = generator.poisson(200, (20_000, 48)) + generator.normal(0, 12, (20_000, 48))
    z, _ = clearest(counts, 12.0)
    assert 0.0002 < (z > LEAST_Z).mean() < 0.005
    shallow = generator.poisson(200, (20_000, 48)) * 1.0
    assert (clearest(shallow, 0.0)[0] > LEAST_Z).mean() < 0.005  # sampling error alone


@pytest.mark.parametrize("shape", ["normal", "exponential", "uniform"])
def test_one_hill_has_no_valley(shape):
    generator = np.random.default_rng(1)
    false = 0
    for _ in range(300):
        rows = {"normal": generator.normal(24, 6, 5000), "exponential": generator.exponential(8, 5000)}.get(
            shape, generator.uniform(5, 40, 5000)
        )
        counts = np.histogram(rows, np.arange(49))[0] + generator.normal(0, 10, 48)
        false += bool(valleys(counts, 10.0, threshold(1), 1.0, 1.0, 25.0))
    assert false <= 4


def test_two_hills_are_cut_between_them():
    generator = np.random.default_rng(2)
    for apart in (3.5, 5.0):
        rows = np.concatenate([generator.normal(16, 4, 8000), generator.normal(16 + 4 * apart, 4, 8000)])
        counts = np.histogram(rows, np.arange(49))[0] + generator.normal(0, 12, 48)
        [valley] = valleys(counts, 12.0, threshold(4), 1.0, 1.0, 80.0)
        assert valley.place == pytest.approx(16 + 2 * apart, abs=3.0)
        assert doubt_of(valley.z, 4) < 0.02


def test_all_valleys_are_found_at_once():
    counts = np.tile([1000.0] * 6 + [0.0] * 6, 4)
    assert [round(valley.place) for valley in valleys(counts, 5.0, threshold(1), 1.0, 1.0, 10.0)] == pytest.approx(
        [9, 21, 33], abs=3
    )


def test_a_side_with_few_rows_is_no_cluster():
    counts = np.r_[np.full(20, 500.0), np.zeros(20), np.full(8, 12.0)]
    assert valleys(counts, 1.0, threshold(1), 1.0, 1.0, 90.0)
    assert not valleys(counts, 1.0, threshold(1), 1.0, 1.0, 100.0)


def test_more_lines_ask_for_deeper_valleys():
    assert threshold(1) == LEAST_Z
    assert threshold(4) > threshold(2) > threshold(1)
    assert doubt_of(threshold(4), 4) == pytest.approx(doubt_of(threshold(1), 1), rel=1e-6)


@pytest.mark.parametrize("n_histograms", [1, 15, 16, 17, 40])
def test_histograms_that_are_looked_at_together_do_not_mix(n_histograms):
    rng = np.random.default_rng(n_histograms)
    counts = rng.normal(100.0, 60.0, (n_histograms, 48))
    counts[::5] = np.sort(counts[::5], axis=1)  # humps, which are left out
    together = clearest(counts, 20.0)
    alone = [clearest(one[None], 20.0) for one in counts]
    assert np.array_equal(together, np.concatenate(alone, axis=1))
    assert np.isneginf(together[0][0])
