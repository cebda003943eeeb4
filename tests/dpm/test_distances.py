"""Noisy histograms of distances without their noise: nearer to the truth than the counts, and nothing far from nothing."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.dpm.distances import denoised_shares

BINS = np.arange(45)


def histogram(place: float, width: float, n_rows: int) -> np.ndarray:
    heights = np.exp(-0.5 * ((BINS - place) / width) ** 2)
    return np.rint(n_rows * heights / heights.sum()).astype(np.int64)


def mean_square(shares: np.ndarray) -> float:
    return float(4.0 ** (BINS / 4.0) @ shares)


@pytest.mark.parametrize("deviation", [0.5, 20.0, 100.0])
@pytest.mark.parametrize(("place", "width"), [(10, 2.0), (25, 4.0), (40, 1.0)])
def test_mean_squares_are_near_the_truth(place, width, deviation):
    exact, rng = histogram(place, width, 10_000), np.random.default_rng(0)
    truth = mean_square(exact / exact.sum())
    ratios = [
        mean_square(denoised_shares(exact + np.rint(rng.normal(0, deviation, 45)).astype(np.int64), deviation, 2))
        / truth
        for _ in range(40)
    ]
    assert np.sqrt(np.mean(np.log(ratios) ** 2)) < 0.25


def test_shares_are_shares_whatever_the_counts():
    rng = np.random.default_rng(1)
    for counts in (
        np.zeros(45, dtype=np.int64),
        rng.integers(-500, 500, 45),
        np.full(45, -7),
        np.eye(45, dtype=np.int64)[44] * 10**9,
    ):
        shares = denoised_shares(counts, 30.0, 2)
        assert shares.sum() == pytest.approx(1.0)
        assert np.all(shares >= 0.0)


def test_counts_that_are_no_noise_stay():
    """Two hills, of which one curve fits one."""
    exact = histogram(10, 1.5, 50_000) + histogram(30, 1.5, 20_000)
    shares = denoised_shares(exact, 5.0, 2)
    np.testing.assert_allclose(shares, exact / exact.sum(), atol=0.01)


def test_no_warning_under_a_strict_error_state():
    with np.errstate(all="raise"):
        denoised_shares(histogram(20, 3.0, 10**9), 1e-3, 2)
        denoised_shares(np.zeros(45, dtype=np.int64), 1e9, 2)
