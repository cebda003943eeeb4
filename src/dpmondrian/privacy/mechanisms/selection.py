"""Choosing one candidate by its integer score: exponential mechanism and permute-and-flip.

Both draw from their exact law. OpenDP's noisy max does too, but its rejection sampler needs 8 ms for
2,000 peaked scores (our usual case) where this one needs about 0.01 ms, and up to version 0.15.1 it
drew permute-and-flip while charging the exponential mechanism's price (opendp/opendp#2911).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.compiled import invert
from dpmondrian.privacy.mechanisms.exact import RELATIVE_ERROR, LazyUniform, exp_bounds

_TWO_64 = 2.0**64


def exponential_mechanism(scores: NDArray[np.int64], scale: float, bits: BitSource) -> int:
    """Return index i with probability proportional to ``exp(scores[i] / scale)``.

    Privacy
    -------
    If adding a record moves all scores by amounts that lie in one interval of width w, this is
    ``(w / scale)``-bounded-range, hence ``(w / scale)``-DP and ``(w / scale)**2 / 8``-zCDP.
    Argument: ``docs/privacy/selection.md``; broken by: ``tests/privacy/test_selection_law.py``.
    """
    word = int(bits.words(1)[0])
    index = invert(scores, scale, word / _TWO_64)
    return index if index >= 0 else _settle_selection(scores, Fraction(scale), word, bits)


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
