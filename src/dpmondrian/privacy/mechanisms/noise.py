# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Discrete Laplace and discrete Gaussian noise: exact laws on the integers, a vector at a time.

The samplers are those of Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy":
a geometric draw with a random sign, and for the Gaussian an acceptance test. A *try* is compiled and decides
by floating point with error bounds; where it is in doubt (about once in 2**30 tries) the same try is decided
exactly, on the same random bits (`exact`). Bits come from any `BitSource`, so a seeded research run executes
the code of a secure run.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.exact import RELATIVE_ERROR, LazyUniform

__all__ = ["discrete_gaussian", "discrete_laplace"]

_TWO_64 = 2.0**64
_WORDS_PER_TRY = 3  # magnitude, sign, acceptance
_REJECTED, _ACCEPTED, _IN_DOUBT = 0, 1, 2


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
        words = bits.words(_WORDS_PER_TRY * (2 * (scales.size - filled) + 8))
        filled, used, in_doubt = _fill(scales, gaussian, words, draws, filled)
        if in_doubt:
            value, status = _exact_try(
                words[used - _WORDS_PER_TRY : used], Fraction(float(scales[filled])), gaussian, bits
            )
            if status == _ACCEPTED:
                draws[filled] = value
                filled += 1
    return draws


@njit(nogil=True, cache=True)
def _fill(scales, gaussian, words, draws, filled):
    """Fill `draws` until it is full, the words run out or a try is in doubt; return how far it came."""
    used = 0
    while filled < draws.size and used + _WORDS_PER_TRY <= words.size:
        value, status = _try(words[used], words[used + 1], words[used + 2], scales[filled], gaussian)
        used += _WORDS_PER_TRY
        if status == _IN_DOUBT:
            return filled, used, True
        if status == _ACCEPTED:
            draws[filled] = value
            filled += 1
    return filled, used, False


@njit(nogil=True, cache=True)
def _try(magnitude_word, sign_word, acceptance_word, scale, gaussian):
    """Return a value and whether it is accepted, rejected or in doubt."""
    laplace_scale = math.floor(scale) + 1.0 if gaussian else scale
    # The true U lies in [word, word + 1) / 2**64; the half moves to the middle of that interval.
    prefix = np.float64(magnitude_word)
    logarithm = -math.log((prefix + 0.5) / _TWO_64)
    position = laplace_scale * logarithm
    error = laplace_scale * (1.0 / (prefix + 0.25) + RELATIVE_ERROR * (1.0 + logarithm))
    magnitude = math.floor(position)
    if magnitude_word == 0 or position - magnitude <= error or magnitude + 1.0 - position <= error:
        return np.int64(0), _IN_DOUBT
    negative = (sign_word & np.uint64(1)) == np.uint64(1)
    if negative and magnitude == 0:  # else zero would come up twice, once with each sign
        return np.int64(0), _REJECTED
    value = np.int64(-magnitude) if negative else np.int64(magnitude)
    if not gaussian:
        return value, _ACCEPTED
    shift = scale * scale / laplace_scale
    distance = abs(magnitude - shift)
    exponent = distance * distance / (2.0 * scale * scale)
    # The difference is off by a few units in the last place of its terms, which the square magnifies.
    slack = RELATIVE_ERROR * (1.0 + exponent + (distance + shift) * distance / (scale * scale))
    threshold = math.exp(-exponent)
    uniform = np.float64(acceptance_word) / _TWO_64
    margin = threshold * min(slack, 1.0) + 2.0 / _TWO_64 + uniform * 2.0**-52
    if abs(uniform - threshold) <= margin:
        return value, _IN_DOUBT
    return value, _ACCEPTED if uniform < threshold else _REJECTED


def _exact_try(words: NDArray[np.uint64], scale: Fraction, gaussian: bool, bits: BitSource) -> tuple[int, int]:
    """Return what `_try` would return with unlimited precision, drawing further bits where it must."""
    magnitude_word, sign_word, acceptance_word = (int(word) for word in words)
    laplace_scale = Fraction(math.floor(scale) + 1) if gaussian else scale
    uniform = LazyUniform(magnitude_word, bits)
    magnitude = max(0, math.floor(-float(laplace_scale) * math.log((magnitude_word + 1) / _TWO_64)) - 1)
    while uniform.below_exp((magnitude + 1) / laplace_scale):  # P(X >= k) = exp(-k / scale)
        magnitude += 1
    negative = sign_word & 1 == 1
    if negative and magnitude == 0:
        return 0, _REJECTED
    value = -magnitude if negative else magnitude
    if not gaussian:
        return value, _ACCEPTED
    exponent = (magnitude - scale**2 / laplace_scale) ** 2 / (2 * scale**2)
    return value, _ACCEPTED if LazyUniform(acceptance_word, bits).below_exp(exponent) else _REJECTED
