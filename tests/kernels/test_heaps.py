"""Single bins that stand out, and how much bins vary: compiled kernels against plain ones."""

import numpy as np
import pytest

from dpmondrian.kernels import heaps, reference
from dpmondrian.kernels.cells import dispersions_along


def histograms():
    """Yield noisy histograms: smooth, with spikes, with single bins that lack rows or hold twice as many, and hardly any bins."""
    for run in range(400):
        generator = np.random.default_rng(run)
        n_bins = int(generator.integers(1, 60))
        rows = 10.0 ** generator.uniform(0, 4) * np.exp(
            -0.5 * (np.linspace(-2, 2, n_bins) / generator.uniform(0.5, 3)) ** 2
        )
        rows[:: int(generator.integers(3, 8))] *= generator.choice([0.0, 1.0, 1.0, 2.0, 5.0])
        yield generator.normal(rows, 3.0)


@pytest.mark.parametrize("narrow", [0.15, 1e9])
def test_spikes(narrow):
    seen = set()
    for rows in histograms():
        what = (rows, np.full(len(rows), 9.0), 1.5, 4.0, narrow)
        found = heaps.spikes(*what)
        np.testing.assert_array_equal(found, reference.spikes(*what))
        seen.add(min(len(found), 3))
    assert seen >= {0, 3}


@pytest.mark.parametrize("narrow", [0.15, 1e9])
def test_single_bins(narrow):
    seen = set()
    for rows in histograms():
        what = (rows, 3.0, 1.5, 2.5, 3.0, narrow, 12)
        seen.add(heaps.single_bins(*what))
        assert heaps.single_bins(*what) == reference.single_bins(*what)
    assert {less for less, _ in seen} == {more for _, more in seen} == {False, True}


def test_dispersions_along_a_line():
    difference, found = np.array([1.0, -4.0, 6.0, -4.0, 1.0]), []
    for rows in histograms():
        found.append(dispersions_along(rows, 9.0, difference, 0.455, 8))
        np.testing.assert_allclose(
            found[-1], reference.dispersions_along(rows, 9.0, difference, 0.455, 8), rtol=1e-9, atol=1e-9
        )
    assert 0 < np.count_nonzero(found) < 3 * len(found)
