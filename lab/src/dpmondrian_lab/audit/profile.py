"""The composed log-likelihood ratio of many independent draws: which (epsilon, delta) it rules out.

The losses of the draws are put on a grid, downwards, and added up exactly: every delta found here is a lower bound. The sum is
computed by Fourier transforms of laws that were tilted towards the losses that matter, so that small deltas are as exact as large ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmondrian_lab.audit.laws import Laws

__all__ = ["ComposedLoss"]

_ROUNDING = 1e-13
"""Taken off every cell of a composed law, whose cells add up to 1: more than the error of the transforms."""
_STEPS = 40


class ComposedLoss:
    """The law of the sum of independent losses, rounded down.

    Parameters
    ----------
    laws : sequence of Laws
    near : float
        An epsilon near which deltas are wanted.
    step : float
        Of the grid: the sum of the losses is rounded down by half of it for every draw, on average.
    """

    def __init__(self, laws: Sequence[Laws], near: float, step: float) -> None:
        self.divergence = math.fsum(law.divergence for law in laws)
        self.largest_loss = math.fsum(law.largest_loss for law in laws)
        self._tilt = _tilt(laws, near)
        cells = [_on_grid(law, step, self._tilt) for law in laws]
        begin = sum(lowest for lowest, _, _ in cells)
        composed = _convolved([weights for _, weights, _ in cells])
        self._log_scale = math.fsum(log_total for _, _, log_total in cells)
        kept = np.flatnonzero(composed > _ROUNDING)
        self._weights = composed[kept] - _ROUNDING
        self._losses = step * (begin + kept)

    def delta(self, epsilon: float) -> float:
        """Return a delta that is needed at least at this epsilon: the mean of ``1 - exp(epsilon - loss)`` where positive."""
        above = int(np.searchsorted(self._losses, epsilon, side="right"))
        losses, weights = self._losses[above:], self._weights[above:]
        terms = weights * np.exp(self._log_scale - self._tilt * losses) * -np.expm1(epsilon - losses)
        return float(terms.sum())

    def epsilon(self, delta: float) -> float:
        """Return an epsilon that is needed at least at this delta."""
        if delta == 0.0:
            return self.largest_loss
        low, high = 0.0, self.largest_loss
        if self.delta(low) <= delta:
            return 0.0
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low


def _tilt(laws: Sequence[Laws], near: float) -> float:
    """Return an exponent at which the tilted losses have about this mean. Any exponent is right; this one is precise there."""
    variance = math.fsum(law.variance for law in laws)
    return max(0.0, near - math.fsum(law.divergence for law in laws)) / variance


def _on_grid(law: Laws, step: float, tilt: float) -> tuple[int, NDArray[np.float64], float]:
    """Return the lowest cell, the tilted probabilities of all cells, and the logarithm of what they were divided by."""
    cell = np.floor(law.losses / step).astype(np.int64)
    lowest, shift = int(cell.min()), float(tilt * step * cell.max())
    weights = np.bincount(cell - lowest, law.probabilities * np.exp(tilt * step * cell - shift))
    total = float(weights.sum())
    return lowest, weights / total, shift + math.log(total)


def _convolved(laws: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    size = sum(len(law) - 1 for law in laws) + 1
    length = 1 << (size - 1).bit_length()
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for law in laws:
        product *= np.fft.rfft(law, length)
    convolved: NDArray[np.float64] = np.fft.irfft(product, length)[:size]
    return convolved
