"""Discrete Laplace and discrete Gaussian noise: exact laws on the integers.

The samplers follow Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential
Privacy", with every comparison against an exponential decided exactly (`exact`). They work on whole
vectors and take their bits from any `BitSource`, so a seeded research run executes the code of a
secure run.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmondrian.mechanisms.bits import BitSource
from dpmondrian.mechanisms.exact import RELATIVE_ERROR, LazyUniform

__all__ = ["discrete_gaussian", "discrete_laplace"]

_TWO_64 = 2.0**64


def _geometric(scales: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
    """Return draws with ``P(X >= k) = exp(-k / scale)`` for k = 0, 1, 2, ...

    X is ``floor(-scale * ln U)``. The floor is certain unless the value lies within its error of a
    whole number; then the draw is settled by exact comparisons of U with ``exp(-k / scale)``.
    """
    words = bits.words(scales.size)
    prefix = words.astype(np.float64)
    # The true U lies in [word, word + 1) / 2**64; the half moves to the middle of that interval.
    logarithm = -np.log((prefix + 0.5) / _TWO_64)
    value = scales * logarithm
    error = scales * (1.0 / (prefix + 0.25) + RELATIVE_ERROR * (1.0 + logarithm))
    draws = np.floor(value).astype(np.int64)
    for i in np.flatnonzero(np.abs(value - np.rint(value)) <= error):
        lowest = max(0, math.floor(value[i] - error[i]))
        draws[i] = _settle_geometric(int(words[i]), Fraction(float(scales[i])), lowest, bits)
    return draws


def _settle_geometric(word: int, scale: Fraction, lowest: int, bits: BitSource) -> int:
    """Return the exact geometric draw of one uniform number, given a lower bound on it."""
    uniform = LazyUniform(word, bits)
    k = lowest
    while uniform.below_exp((k + 1) / scale):
        k += 1
    return k


def discrete_laplace(scales: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
    """Return one integer x per scale, drawn with probability proportional to ``exp(-|x| / scale)``.

    Privacy
    -------
    Added to an integer vector of which one person changes entry j by at most D_j, this is
    ``sum(D_j / scale_j)``-DP. Argument: ``docs/privacy/noise.md``; tests that try to break it:
    ``tests/statistical/test_noise_laws.py``.
    """
    draws = np.empty(scales.size, dtype=np.int64)
    open_ = np.arange(scales.size)
    while open_.size:
        magnitude = _geometric(scales[open_], bits)
        negative = (bits.words(open_.size) & np.uint64(1)).astype(bool)
        draws[open_] = np.where(negative, -magnitude, magnitude)
        # Zero would come up twice, once with each sign: the negative one is drawn again.
        open_ = open_[negative & (magnitude == 0)]
    return draws


def discrete_gaussian(scales: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
    """Return one integer x per scale, drawn with probability proportional to ``exp(-x**2 / (2 * scale**2))``.

    Privacy
    -------
    Added to an integer vector of which one person changes entry j by at most D_j, this is
    ``sum(D_j**2 / (2 * scale_j**2))``-zCDP. Argument: ``docs/privacy/noise.md``; tests that try to break it:
    ``tests/statistical/test_noise_laws.py``.
    """
    draws = np.empty(scales.size, dtype=np.int64)
    open_ = np.arange(scales.size)
    while open_.size:
        proposals = discrete_laplace(np.floor(scales[open_]) + 1.0, bits)
        draws[open_] = proposals
        open_ = open_[~_accept(proposals, scales[open_], bits)]
    return draws


def _accept(
    proposals: NDArray[np.int64], scales: NDArray[np.float64], bits: BitSource
) -> NDArray[np.bool_]:
    """Accept y with probability ``exp(-(|y| - s)**2 / (2 * scale**2))``, s = scale**2 / (floor(scale) + 1)."""
    variance = scales * scales
    shift = variance / (np.floor(scales) + 1.0)
    distance = np.abs(np.abs(proposals) - shift)
    exponent = distance * distance / (2.0 * variance)
    words = bits.words(proposals.size)
    uniform = words.astype(np.float64) / _TWO_64
    threshold = np.exp(-exponent)
    accepted = uniform < threshold
    # The difference |y| - s is off by a few units in the last place of its terms, which the square magnifies.
    slack = RELATIVE_ERROR * (1.0 + exponent + (distance + shift) * distance / variance)
    margin = threshold * np.minimum(slack, 1.0) + 2.0 / _TWO_64 + uniform * 2.0**-52
    for i in np.flatnonzero(np.abs(uniform - threshold) <= margin):
        exact_variance = Fraction(float(scales[i])) ** 2
        exact_shift = exact_variance / (math.floor(scales[i]) + 1)
        x = (abs(int(proposals[i])) - exact_shift) ** 2 / (2 * exact_variance)
        accepted[i] = LazyUniform(int(words[i]), bits).below_exp(x)
    return accepted
