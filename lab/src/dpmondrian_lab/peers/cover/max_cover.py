"""Max cover by the exponential mechanism: lattice vectors that cover many records, on one lattice after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms import BitSource, LazyUniform, exp_bounds
from dpmondrian_lab.peers.cover.envelope import (
    ACCEPTED,
    BOX,
    COUNT,
    CURSOR,
    EXPONENT,
    IN_DOUBT,
    NEEDS_ROOM,
    WORD,
    Envelope,
    Target,
    make_envelope,
    propose,
    with_room,
)
from dpmondrian_lab.peers.cover.records import Records, make_records, remove_covered, snap

__all__ = ["CoverScale", "Words", "draw_vector", "max_cover"]

_BLOCK = 4096
_LARGEST_COORDINATE = 2**30
LARGEST_LOGARITHM = 2.0**20
"""Logarithm of the largest weight; the decimals of `exact` go about twice as far."""


@dataclass(frozen=True)
class CoverScale:
    """One lattice, of the vectors ``step * g`` for integer vectors g with coordinates up to `largest`.

    A record y has the cell ``round(y / step)``, cut off at `largest`. It covers g if the squared distance between its
    cell and g is at most `limit`.
    """

    step: float
    limit: float

    def __post_init__(self) -> None:
        if not (self.step > 0.0 and 1.0 / self.step < _LARGEST_COORDINATE):
            raise ValueError(f"The step of a lattice must be a number above {1 / _LARGEST_COORDINATE:g}.")
        if not 0.0 <= self.limit < 2.0**50:
            raise ValueError("The squared distance up to which records cover must be in [0, 2**50).")

    @property
    def largest(self) -> int:
        """Largest coordinate of the lattice in the unit ball."""
        return math.floor(1.0 / self.step)


def max_cover(
    points: NDArray[np.float64],
    scales: Sequence[CoverScale],
    picks_per_scale: int,
    exponent: float,
    bits: BitSource,
) -> list[NDArray[np.int64]]:
    """Return `picks_per_scale` lattice vectors for every scale, each array of shape (picks_per_scale, d).

    Each vector g is drawn from all of the scale's lattice with probability proportional to ``exp(exponent * c(g))``,
    where c(g) is the number of records left that cover g. Records that cover a vector drawn are removed for good,
    for the later scales too. The number of draws is fixed; without records they are uniform.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        One row per record, in the unit ball; a function of that record alone.
    scales : sequence of CoverScale
        Public.
    picks_per_scale : int
        Public.
    exponent : float
        Weight of one covered record, on the scale of logarithms.
    bits : BitSource
        Where randomness comes from.

    Privacy
    -------
    All draws together are (e, d)-DP for one added or removed record if ``exponent <= e`` and
    ``(exp(exponent) - 1) * ln(1 / d) <= e``: a record has an effect until it is covered, and then no more. Argument:
    ``docs/privacy/max_cover.md``; tests that try to break it: ``lab/tests/peers/test_max_cover.py``.

    Complexity
    ----------
    O(n log(n)**2 d) for a tree of the records, then per scale O(n d) and the tries of the draws: a few hundred where the
    lattice is fine, some thousand where it is as coarse as the clusters. Memory: at most 2**22 boxes beside the records.
    """
    if not 0.0 < exponent * max(1, points.shape[0]) <= LARGEST_LOGARITHM:
        raise ValueError("The exponent must be positive, and its product with the number of records at most 2**20.")
    records = make_records(points)
    words = Words(bits)
    return [_cover_scale(records, scale, picks_per_scale, exponent, words) for scale in scales]


class Words:
    """Random words, a block at a time."""

    def __init__(self, bits: BitSource) -> None:
        self.bits = bits
        self.block = np.empty(0, dtype=np.uint64)

    def drop(self, n_used: int) -> None:
        """Drop the words that were used."""
        self.block = self.block[n_used:]

    def fetch(self) -> None:
        """Append fresh words to those left."""
        self.block = np.concatenate([self.block, self.bits.words(_BLOCK)])


def _cover_scale(records: Records, scale: CoverScale, n_picks: int, exponent: float, words: Words) -> NDArray[np.int64]:
    """Return the vectors drawn on one lattice, removing what they cover."""
    target = Target(records, snap(records, scale.step, scale.largest), scale.limit, exponent)
    envelope = make_envelope(scale.largest, target)
    found = np.empty(records.alive.size, dtype=np.int64)
    picks = np.empty((n_picks, records.points.shape[1]))
    for vector in picks:
        envelope = draw_vector(target, envelope, words, vector, found)
        remove_covered(target.records, target.cells, target.limit, vector, 0)
    words.drop(int(envelope.state[CURSOR]))
    return picks.astype(np.int64)


def draw_vector(
    target: Target, envelope: Envelope, words: Words, vector: NDArray[np.float64], found: NDArray[np.int64]
) -> Envelope:
    """Write one accepted vector; return the envelope, which may have moved to where it has more room."""
    while True:
        status = propose(target, envelope, words.block, vector, found)
        if status == ACCEPTED or (status == IN_DOUBT and _settle(target, envelope, words)):
            return envelope
        if status == NEEDS_ROOM:
            envelope = with_room(envelope)
        elif status != IN_DOUBT:
            words.drop(int(envelope.state[CURSOR]))
            words.fetch()
            envelope.state[CURSOR] = 0


def _settle(target: Target, envelope: Envelope, words: Words) -> bool:
    """Decide exactly what doubles could not: ``U * 2**e < volume * exp(exponent * count)``, on the same random bits."""
    state = envelope.state
    volume = math.prod(int(side) for side in envelope.size[state[BOX]])
    weight = Fraction(target.exponent) * int(state[COUNT])
    uniform, digits = LazyUniform(int(words.block[state[WORD]]), words.bits), 40
    while True:
        low, high = exp_bounds(weight, digits)  # of exp(-weight), so both sides are multiplied by it
        least, most = (bound * 2 ** int(state[EXPONENT]) for bound in uniform.bounds())
        if most * high <= volume:
            return True
        if least * low >= volume:
            return False
        uniform.refine()
        digits += 20
