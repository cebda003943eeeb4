"""A noisy histogram of distances without its noise. Post-processing."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SURE = {2: 3.5, 1: 5.4}
"""Deviations from which a difference between a count and the curve is no noise: one in 2,000 is, so one histogram in fifty has one. Of
Gaussian noise, where lengths are L2, and of Laplace noise, where they are L1."""
_LARGEST_MISFIT, _NOTHING = 1000.0, 1e-30
_WIDTHS = 24
"""Widths of curves that are tried, from a fifth of a bin to six bins."""


def denoised_shares(noisy_counts: NDArray[Any], deviation: float, norm: int) -> NDArray[np.float64]:
    """Return the shares of rows in bins of equal ratio from counts with noise of this standard deviation.

    Single bins say little where noise is large, and together they would say much too much of the far ones. So normal curves over the
    bins are fitted, each counting by how well it fits, and a count is taken as it is only where it surely differs from them.
    """
    curves, squares = _curves(len(noisy_counts))
    products = curves @ noisy_counts
    heights = np.maximum(products, 0.0) / squares
    misfit = heights * (heights * squares - 2.0 * products) / deviation**2
    belief = np.exp(-0.5 * np.minimum(misfit - misfit.min(), _LARGEST_MISFIT))
    expected = (belief / belief.sum() * heights) @ curves
    counts = np.where(np.abs(noisy_counts - expected) > _SURE[norm] * deviation, np.maximum(noisy_counts, 0), expected)
    total = float(counts.sum())
    return counts / total if total > 0.0 else np.full(len(counts), 1.0 / len(counts))


@cache
def _curves(n_bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return normal curves over the bins, one per line, that add up to one, and the sums of their squares.

    They have every place to half a bin, and several widths.
    """
    edges = np.arange(n_bins + 1.0)
    widths = np.geomspace(0.2, 6.0, _WIDTHS)
    places = np.arange(0.5, n_bins + 0.5, 0.5)
    reach = (edges - places[:, None, None]) / (math.sqrt(2.0) * widths[:, None])
    below = np.vectorize(math.erf)(reach)
    curves: NDArray[np.float64] = np.diff(below, axis=2).reshape(-1, n_bins)
    curves[curves < _NOTHING] = 0.0
    curves /= curves.sum(axis=1, keepdims=True)
    return curves, (curves**2).sum(axis=1)
