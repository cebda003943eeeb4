"""Discrete Laplace and discrete Gaussian noise: exact laws on the integers, a vector at a time.

The samplers are those of Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy":
a geometric draw with a random sign, and for the Gaussian an acceptance test. A *try* is compiled and decides
by floating point with error bounds (`compiled`); where it is in doubt (about once in 2**30 tries) the same try is decided
exactly, on the same random bits (`exact`). Bits come from any `BitSource`, so a seeded research run executes
the code of a secure run.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.compiled import ACCEPTED, REJECTED, WORDS_PER_TRY, fill
from dpmondrian.privacy.mechanisms.exact import LazyUniform

_TWO_64 = 2.0**64


def discrete_laplace(scales: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
    """Return one integer x per scale, drawn with probability proportional to ``exp(-|x| / scale)``.

    Privacy
    -------
    Added to an integer vector of which one person changes entry j by at most D_j, this is
    ``sum(D_j / scale_j)``-DP. Argument: ``docs/privacy/noise.md``; tests that try to break it:
    ``tests/statistical/test_noise_laws.py``.
    """
    return _draw(scales, False, bits)


def discrete_gaussian(scales: NDArray[np.float64], bits: BitSource) -> NDArray[np.int64]:
    """Return one integer x per scale, drawn with probability proportional to ``exp(-x**2 / (2 * scale**2))``.

    Privacy
    -------
    Added to an integer vector of which one person changes entry j by at most D_j, this is
    ``sum(D_j**2 / (2 * scale_j**2))``-zCDP. Argument: ``docs/privacy/noise.md``; tests that try to break it:
    ``tests/statistical/test_noise_laws.py``.
    """
    return _draw(scales, True, bits)


def _draw(scales: NDArray[np.float64], gaussian: bool, bits: BitSource) -> NDArray[np.int64]:
    draws = np.empty(scales.size, dtype=np.int64)
    filled = 0
    while filled < scales.size:
        words = bits.words(WORDS_PER_TRY * (2 * (scales.size - filled) + 8))
        filled, used, in_doubt = fill(scales, gaussian, words, draws, filled)
        if in_doubt:
            value, status = _exact_try(
                words[used - WORDS_PER_TRY : used], Fraction(float(scales[filled])), gaussian, bits
            )
            if status == ACCEPTED:
                draws[filled] = value
                filled += 1
    return draws


def _exact_try(words: NDArray[np.uint64], scale: Fraction, gaussian: bool, bits: BitSource) -> tuple[int, int]:
    """Return what a compiled try would give with unlimited precision, drawing further bits where it must."""
    magnitude_word, sign_word, acceptance_word = (int(word) for word in words)
    laplace_scale = Fraction(math.floor(scale) + 1) if gaussian else scale
    uniform = LazyUniform(magnitude_word, bits)
    magnitude = max(0, math.floor(-float(laplace_scale) * math.log((magnitude_word + 1) / _TWO_64)) - 1)
    while uniform.below_exp((magnitude + 1) / laplace_scale):  # P(X >= k) = exp(-k / scale)
        magnitude += 1
    negative = sign_word & 1 == 1
    if negative and magnitude == 0:
        return 0, REJECTED
    value = -magnitude if negative else magnitude
    if not gaussian:
        return value, ACCEPTED
    exponent = (magnitude - scale**2 / laplace_scale) ** 2 / (2 * scale**2)
    return value, ACCEPTED if LazyUniform(acceptance_word, bits).below_exp(exponent) else REJECTED
