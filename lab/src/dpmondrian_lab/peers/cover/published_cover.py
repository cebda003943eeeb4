"""Max cover as the re-implementation that the DPM paper measured draws it, with its mistakes: no privacy.

For comparisons only. What is repeated (R3 to R6 and R10 of ``docs/privacy/max_cover.md``): cover sets belong to a random
permutation of the records, so other records than the covered ones are removed; a record takes part only if it happens to be near
the one in its place; draws that follow no record come from one orthant and from a lattice taken 2**d times too small; and
a scale without cover sets ends after one draw. Not exactly repeated: which orthants of a cover set are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy.mechanisms import BitSource
from dpmondrian_lab.peers.cover.envelope import COUNT, CURSOR, Target, make_envelope
from dpmondrian_lab.peers.cover.max_cover import CoverScale, Words, draw_vector
from dpmondrian_lab.peers.cover.records import Cells, Records, make_records, remove_covered

__all__ = ["published_cover"]

_POSITIONS = np.linspace(0.0, 1.0, 9)
"""Where between two records a lattice vector is looked for that is near both."""


def published_cover(
    points: NDArray[np.float64],
    scales: Sequence[CoverScale],
    picks_per_scale: int,
    exponent: float,
    bits: BitSource,
) -> list[NDArray[np.int64]]:
    """Return lattice vectors for every scale, at most `picks_per_scale` of them; arguments as in `max_cover`.

    Privacy
    -------
    None: a record may be covered again and again, and the number of vectors depends on the records.
    """
    generator = np.random.default_rng([int(word) for word in bits.words(4)])
    words = Words(bits)
    vectors = [np.empty((0, points.shape[1]), dtype=np.int64)] * len(scales)
    for number, scale in enumerate(scales):
        if len(points) == 0 and number > 0:
            break
        place_of = generator.permutation(len(points))
        active = np.flatnonzero(_near_both(points, points[place_of], scale))
        cover = _Cover(points[place_of[active]], scale, exponent, words)
        vectors[number] = _draw_scale(cover, scale, picks_per_scale, generator)
        points = np.delete(points, active[cover.removed()], axis=0)
    return vectors


def _near_both(own: NDArray[np.float64], other: NDArray[np.float64], scale: CoverScale) -> NDArray[np.bool_]:
    """Return for which pairs a vector in the unit ball is near to one record and in the cover set of the other."""
    own, other = own / scale.step, other / scale.step
    reach = math.sqrt(scale.limit)
    near = ((own - other) ** 2).sum(axis=1) <= (2.0 * reach + math.sqrt(own.shape[1])) ** 2
    found = np.zeros(len(own), dtype=np.bool_)
    for position, rounding in itertools.product(_POSITIONS, (np.rint, np.trunc)):
        rows = np.flatnonzero(near & ~found)
        vector = rounding(own[rows] + position * (other[rows] - own[rows]))
        gap = np.maximum(0.0, np.maximum(np.floor(other[rows]) - vector, vector - np.ceil(other[rows])))
        found[rows] = (
            ((vector * scale.step) ** 2).sum(axis=1) <= 1.0
        ) & (((vector - own[rows]) ** 2).sum(axis=1) < scale.limit) & ((gap**2).sum(axis=1) <= scale.limit)  # fmt: skip
    return found


class _Cover:
    """Cover sets of one scale: draws from them in proportion to ``exp(exponent * c(g)) - 1``."""

    def __init__(self, points: NDArray[np.float64], scale: CoverScale, exponent: float, words: Words) -> None:
        self.records: Records = make_records(points)
        self._target = Target(self.records, _corners(self.records, scale.step), _ball(scale, points.shape[1]), exponent)
        # Vectors outside the lattice are covered as well.
        self._largest = math.floor(1.0 / scale.step) + 1 + math.ceil(math.sqrt(self._target.limit))
        self._envelope = make_envelope(self._largest, self._target)
        self._words = words
        self._found = np.empty(len(points), dtype=np.int64)
        self._weight_of_lattice = (
            float(scale.largest) ** points.shape[1] / (2.0 * self._largest + 1.0) ** points.shape[1]
        )

    def draw(self, generator: np.random.Generator) -> NDArray[np.float64] | None:
        """Return a covered vector, or None for a draw that follows no record.

        A draw from the sound law, whose weights are one larger, is turned into one from this law by rejection: it
        counts as covered with probability ``1 - exp(-exponent * c(g))``; of the others, too many for the small lattice, some are kept.
        """
        while self.records.n_alive[0] > 0:
            vector = np.empty(self.records.points.shape[1])
            self._envelope = draw_vector(self._target, self._envelope, self._words, vector, self._found)
            if generator.random() < -math.expm1(-self._target.exponent * int(self._envelope.state[COUNT])):
                return vector
            if generator.random() < self._weight_of_lattice:
                return None
        return None

    def remove(self, vector: NDArray[np.float64]) -> None:
        """Remove the members of the vector's cover set from all cover sets."""
        remove_covered(self.records, self._target.cells, self._target.limit, vector, 0)

    def removed(self) -> NDArray[np.int64]:
        """Return which records were removed, and drop the random words that were used."""
        self._words.drop(int(self._envelope.state[CURSOR]))
        return self.records.order[~self.records.alive]


def _corners(records: Records, step: float) -> Cells:
    """Return the middles of the lattice cubes that points lie in: cover sets start at the cube's corners."""
    return Cells(*(np.floor(values / step) + 0.5 for values in (records.points, records.low, records.high)))


def _ball(scale: CoverScale, n_columns: int) -> float:
    """Return the squared radius around the middle of a cube of a ball that holds as many vectors as a cover set."""
    side = np.arange(math.isqrt(math.floor(scale.limit)) + 2)
    offsets = np.array(list(itertools.product(side, repeat=n_columns)), dtype=np.float64)
    n_offsets = np.count_nonzero((offsets**2).sum(axis=1) < scale.limit)
    return float(np.sort(((offsets + 0.5) ** 2).sum(axis=1))[n_offsets - 1])


def _draw_scale(cover: _Cover, scale: CoverScale, n_picks: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the distinct vectors of one scale."""
    vectors: dict[tuple[int, ...], None] = {}
    for _ in range(n_picks):
        vector = cover.draw(generator)
        if vector is None:
            vector = _in_first_orthant(scale, cover.records.points.shape[1], generator)
        cover.remove(vector)
        vectors[tuple(vector.astype(np.int64).tolist())] = None
        if cover.records.alive.size == 0:
            break
    return np.array(list(vectors), dtype=np.int64)


def _in_first_orthant(scale: CoverScale, n_columns: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the draw that follows no record: positive direction, uniform length, rounded up or down by a coin."""
    direction = generator.random(n_columns)
    exact = direction / np.sqrt((direction**2).sum()) * generator.random() / scale.step
    rounded = np.where(generator.random(n_columns) < 0.5, np.ceil(exact), np.floor(exact))
    vector: NDArray[np.float64] = np.minimum(rounded, scale.largest)
    return vector
