# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Choosing one candidate by its integer score: exponential mechanism and permute-and-flip.

Both draw from their exact law. OpenDP's noisy max does too, but its rejection sampler needs 8 ms for
2,000 peaked scores (our usual case) where this one needs about 0.01 ms, and up to version 0.15.1 it
drew permute-and-flip while charging the exponential mechanism's price (opendp/opendp#2911).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.exact import RELATIVE_ERROR, LazyUniform, exp_bounds

__all__ = ["exponential_mechanism", "permute_and_flip"]

_TWO_64 = 2.0**64
_NEGLIGIBLE = 40.0
"""Candidates this many scales below the best weigh ``exp(-40) < 2**-57`` of it: left out at first."""


def exponential_mechanism(scores: NDArray[np.int64], scale: float, bits: BitSource) -> int:
    """Return index i with probability proportional to ``exp(scores[i] / scale)``.

    Privacy
    -------
    If adding a record moves all scores by amounts that lie in one interval of width w, this is
    ``(w / scale)``-bounded-range, hence ``(w / scale)``-DP and ``(w / scale)**2 / 8``-zCDP.
    Argument: ``docs/privacy/selection.md``; broken by: ``tests/privacy/test_selection_law.py``.
    """
    word = int(bits.words(1)[0])
    index = _invert(scores, scale, word / _TWO_64)
    return index if index >= 0 else _settle_selection(scores, Fraction(scale), word, bits)


@njit(nogil=True, cache=True)
def _invert(scores, scale, uniform):
    """Return the index at which the running sum of weights passes ``uniform`` of the total, or -1 if unsure.

    Unsure is within a margin that covers rounding in the weights and in the sum, the candidates left out as
    negligible, and the bits of the uniform number that are not drawn yet.
    """
    best = scores[0]
    for score in scores:
        best = max(best, score)
    negligible = best - np.int64(math.ceil(min(_NEGLIGIBLE * scale, 2.0**62)))
    index = np.empty(scores.size, dtype=np.int64)
    cumulative = np.empty(scores.size)
    total, size = 0.0, 0
    for i in range(scores.size):
        if scores[i] > negligible:
            total += math.exp(np.float64(scores[i] - best) / scale)
            index[size], cumulative[size] = i, total
            size += 1
    target = uniform * total
    margin = (RELATIVE_ERROR + scores.size * (2.0**-50 + math.exp(-_NEGLIGIBLE))) * total
    position = np.searchsorted(cumulative[:size], target, side="right")
    if position == size or target + margin >= cumulative[position]:
        return -1
    if position > 0 and target - margin <= cumulative[position - 1]:
        return -1
    # At the very start only candidates left out before the first kept one could still be meant.
    if position == 0 and index[0] > 0 and target <= margin:
        return -1
    return index[position]


def _settle_selection(scores: NDArray[np.int64], scale: Fraction, word: int, bits: BitSource) -> int:
    """Return the exact choice when floating point cannot tell: more bits, more digits, until certain."""
    best = int(scores.max())
    distances = [(best - int(score)) / scale for score in scores]
    uniform, digits = LazyUniform(word, bits), 60
    while True:
        weights = [exp_bounds(distance, digits) for distance in distances]
        lows = list(accumulate(low for low, _ in weights))
        highs = list(accumulate(high for _, high in weights))
        least, most = uniform.bounds()
        for index in range(len(weights)):
            above = index == 0 or least * lows[-1] >= highs[index - 1]
            if above and most * highs[-1] <= lows[index]:
                return index
        uniform.refine()
        digits += 20


def permute_and_flip(scores: NDArray[np.int64], scale: float, bits: BitSource) -> int:
    """Return an index by permute-and-flip with acceptance ``exp((scores[i] - max) / scale)``.

    The mechanism visits the candidates in random order and takes the first whose coin shows heads.
    The coins do not depend on the order, so that is a uniform choice among all that show heads.

    Privacy
    -------
    If adding a record moves all scores by amounts that lie in one interval of width w, this is
    ``(w / scale)``-DP. It is *not* bounded-range. Argument: ``docs/privacy/selection.md``; broken by:
    ``tests/privacy/test_selection_law.py``.
    """
    best = int(scores.max())
    with np.errstate(under="ignore"):  # whether it happens depends on exact scores: nobody may notice
        threshold = np.exp((scores - best) / scale)
    words = bits.words(scores.size)
    uniform = words.astype(np.float64) / _TWO_64
    heads = uniform < threshold
    margin = threshold * RELATIVE_ERROR + 2.0 / _TWO_64 + uniform * 2.0**-52
    for i in np.flatnonzero(np.abs(uniform - threshold) <= margin):
        heads[i] = LazyUniform(int(words[i]), bits).below_exp((best - int(scores[i])) / Fraction(scale))
    winners = np.flatnonzero(heads)
    return int(winners[_uniform_below(winners.size, bits)])


def _uniform_below(size: int, bits: BitSource) -> int:
    """Return a uniform integer in ``[0, size)``, by rejection so that no value is favoured."""
    limit = (2**64 // size) * size
    while True:
        word = int(bits.words(1)[0])
        if word < limit:
            return word % size
