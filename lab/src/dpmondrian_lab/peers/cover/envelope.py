# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Exact draws of a lattice vector g with probability proportional to ``exp(exponent * c(g))``.

c(g) is the number of alive records that cover g, and the lattice may have 10**28 vectors, so it is never listed.
It is divided into boxes. The *envelope* of a box is a power of two that is at least its number of vectors
times ``exp(exponent * upper)``, where `upper` bounds c(g) in the box. A try chooses a box in proportion to its envelope,
then a vector of the box uniformly, counts c(g), and accepts it with the quotient of its weight and its envelope.
A try that is not accepted has found a box whose envelope is too high: its bound is renewed, or the box is split.
So boxes become small just where the lattice is worth looking at, and an accepted vector has the same law whatever the boxes are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpmondrian_lab.peers.cover.records import Cells, Records, touching

__all__ = [
    "ACCEPTED",
    "IN_DOUBT",
    "NEEDS_ROOM",
    "NEEDS_WORDS",
    "Envelope",
    "Target",
    "make_envelope",
    "propose",
    "with_room",
]

ACCEPTED, REJECTED, IN_DOUBT, NEEDS_WORDS, NEEDS_ROOM = 0, 1, 2, 3, 4
"""How a try ended. In doubt is a try that doubles cannot decide."""

MOST_BOXES, N_BOXES, POOL_USED, TOP, CURSOR, BOX, COUNT, EXPONENT, WORD = range(9)
"""Places in `Envelope.state`: largest and present number of boxes, size of the pool, the highest bucket, the next random
word; and of the try that was accepted or is in doubt, its box, its c(g), the logarithm of its envelope, its last word."""

_LOG_2 = math.log(2.0)
_TWO_64 = 2.0**64
_SPAN = 32  # boxes with an envelope smaller than 2**-32 of the largest one are treated as if it were that large
_MOST_BOXES = 2**22  # beyond, boxes are not split, which costs time only; their envelopes together fit 22 + 32 bits
_MOST_HALVED = 6
_WORTH_A_SPLIT = 0.5  # a box whose vectors differ in weight by a factor below exp(0.5) stays whole
_FIRST_ROOM = 4096


class Target(NamedTuple):
    """What is drawn from: records, their cells on this lattice, how far they cover (squared), and the exponent."""

    records: Records
    cells: Cells
    limit: float
    exponent: float


class Envelope(NamedTuple):
    """Boxes that together are the lattice, sorted into buckets of equal envelopes.

    Attributes
    ----------
    low, size : ndarray of int32, shape (room, d)
        Lowest vector and lengths of the sides of each box.
    upper : ndarray of int64, shape (room,)
        At least c(g) for all g of the box; records are only ever removed, so it stays valid.
    exponent, place : ndarray of int32, shape (room,)
        The box's bucket, which is the logarithm of its envelope to base 2, and its place in it.
    first, room, members : ndarray of int64, shape (n_buckets,)
        Where a bucket begins in the pool, how much it may hold and how much it holds.
    pool : ndarray of int32
        The boxes of all buckets.
    state : ndarray of int64
        See `N_BOXES` and its neighbours.
    """

    low: NDArray[np.int32]
    size: NDArray[np.int32]
    upper: NDArray[np.int64]
    exponent: NDArray[np.int32]
    place: NDArray[np.int32]
    first: NDArray[np.int64]
    room: NDArray[np.int64]
    members: NDArray[np.int64]
    pool: NDArray[np.int32]
    state: NDArray[np.int64]


def make_envelope(largest: int, target: Target, most_boxes: int = _MOST_BOXES) -> Envelope:
    """Return the envelope of the cube of all vectors with coordinates up to `largest`, as one box."""
    n_columns = target.records.points.shape[1]
    n_alive = int(target.records.n_alive[0])
    top = _bucket(target.exponent, n_alive, n_columns * math.log(2 * largest + 1))
    low = np.full((1, n_columns), -largest, dtype=np.int32)
    size = np.full((1, n_columns), 2 * largest + 1, dtype=np.int32)
    state = np.zeros(WORD + 1, dtype=np.int64)
    state[MOST_BOXES], state[N_BOXES], state[TOP] = most_boxes, 1, top
    buckets = np.zeros(top + 1, dtype=np.int64)
    single = Envelope(
        low, size, np.array([n_alive]), np.array([top], dtype=np.int32), np.zeros(1, dtype=np.int32),
        buckets, buckets, buckets, np.empty(0, dtype=np.int32), state,
    )  # fmt: skip
    return with_room(single)


def with_room(envelope: Envelope) -> Envelope:
    """Return the same envelope with room for as many boxes again, its buckets laid out anew."""
    n_boxes = int(envelope.state[N_BOXES])
    total = max(_FIRST_ROOM, 2 * n_boxes)

    def longer(values: NDArray[np.generic]) -> NDArray[np.generic]:
        grown = np.zeros((total, *values.shape[1:]), dtype=values.dtype)
        grown[:n_boxes] = values[:n_boxes]
        return grown

    members = np.bincount(envelope.exponent[:n_boxes], minlength=envelope.first.size)
    room = 2 * members
    first = np.cumsum(room) - room
    order = np.argsort(envelope.exponent[:n_boxes], kind="stable")
    place = np.zeros(total, dtype=np.int32)
    place[order] = np.arange(n_boxes) - np.repeat(np.cumsum(members) - members, members)
    pool = np.zeros(int(room.sum()) + 4 * total, dtype=np.int32)
    pool[first[envelope.exponent[:n_boxes]] + place[:n_boxes]] = np.arange(n_boxes)
    state = envelope.state.copy()
    state[POOL_USED] = room.sum()
    low, size, upper, exponent = (
        longer(values) for values in (envelope.low, envelope.size, envelope.upper, envelope.exponent)
    )
    return Envelope(low, size, upper, exponent, place, first, room, members, pool, state)  # type: ignore[arg-type]


@njit(nogil=True, cache=True)
def propose(target, envelope, words, vector, found):
    """Make tries until one is accepted or in doubt, or words or room are used up; return which.

    Words in the middle of a try are not lost when they run out: the cursor goes back to the beginning of the try.
    """
    state = envelope.state
    largest_split = 1 << min(_MOST_HALVED, vector.shape[0])
    while True:
        if not _has_room(envelope, largest_split):
            return NEEDS_ROOM
        first_word = state[CURSOR]
        box, log_envelope = _choose_box(envelope, words)
        if box < 0 or not _choose_vector(envelope, box, words, vector) or state[CURSOR] >= words.shape[0]:
            state[CURSOR] = first_word
            return NEEDS_WORDS
        state[BOX], state[EXPONENT], state[WORD] = box, log_envelope, state[CURSOR]
        state[CURSOR] += 1
        status = _decide(target, envelope, words[state[WORD]], vector, found)
        if status != REJECTED:
            return status


@njit(nogil=True, cache=True)
def _has_room(envelope, n_more):
    """Return whether that many boxes fit, into whatever buckets; each may double one bucket of all boxes."""
    n_boxes = envelope.state[N_BOXES]
    return n_boxes + n_more <= envelope.upper.shape[0] and (
        envelope.state[POOL_USED] + 2 * (n_boxes + n_more) + 8 * n_more <= envelope.pool.shape[0]
    )


@njit(nogil=True, cache=True)
def _uniform_below(size, words, state):
    """Return a uniform whole number in ``[0, size)``, by rejection so that none is favoured, or -1 if words ran out."""
    bound = np.uint64(size)
    beyond = (np.uint64(0) - bound) % bound  # 2**64 modulo size
    while state[CURSOR] < words.shape[0]:
        word = words[state[CURSOR]]
        state[CURSOR] += 1
        if word <= np.uint64(0xFFFFFFFFFFFFFFFF) - beyond:
            return np.int64(word % bound)
    return np.int64(-1)


@njit(nogil=True, cache=True)
def _choose_box(envelope, words):
    """Return a box, chosen in proportion to its envelope, and the envelope's logarithm; -1 if words ran out.

    Envelopes are powers of two, so in units of the smallest one that counts this is a choice by whole numbers.
    """
    state, members = envelope.state, envelope.members
    while members[state[TOP]] == 0:  # envelopes only ever shrink
        state[TOP] -= 1
    top = state[TOP]
    base = max(0, top - _SPAN)
    total, n_counted = 0, 0
    for e in range(base, top + 1):
        total += members[e] << (e - base)
        n_counted += members[e]
    position = _uniform_below(total + state[N_BOXES] - n_counted, words, state)
    if position < 0:
        return np.int64(-1), np.int64(0)
    for e in range(top, -1, -1):
        shift = max(0, e - base)
        if position < members[e] << shift:
            return np.int64(envelope.pool[envelope.first[e] + (position >> shift)]), np.int64(max(e, base))
        position -= members[e] << shift
    return np.int64(-1), np.int64(0)  # not reached


@njit(nogil=True, cache=True)
def _choose_vector(envelope, box, words, vector):
    """Write a uniform vector of the box; return False if words ran out."""
    for j in range(vector.shape[0]):
        step = _uniform_below(np.int64(envelope.size[box, j]), words, envelope.state)
        if step < 0:
            return False
        vector[j] = envelope.low[box, j] + step
    return True


@njit(nogil=True, cache=True)
def _decide(target, envelope, word, vector, found):
    """Return whether the vector is accepted, rejected or in doubt; after a rejection by its count, mend the envelope."""
    box = envelope.state[BOX]
    log_volume = _log_volume(envelope, box)
    count = envelope.upper[box]
    status = _compare(word, target.exponent, count, log_volume, envelope.state[EXPONENT])
    if count > 0 and status != REJECTED:  # else c(g) would not change the answer
        count, _ = touching(target.records, target.cells, target.limit, vector, vector, found)
        status = _compare(word, target.exponent, count, log_volume, envelope.state[EXPONENT])
        if status == REJECTED:
            _mend(target, envelope, box, log_volume, found)
    envelope.state[COUNT] = count
    return status


@njit(nogil=True, cache=True)
def _compare(word, exponent, count, log_volume, log_envelope):
    """Decide ``U < volume * exp(exponent * count) / 2**log_envelope``, where the word is the beginning of U.

    The logarithm is off by a few units in the last place of its terms; the margin takes 2**-47 of them, and adds
    what the word leaves open and the conversion to a double.
    """
    size = exponent * count + log_volume + log_envelope * _LOG_2
    threshold = math.exp(min(0.0, exponent * count + log_volume - log_envelope * _LOG_2))
    uniform = np.float64(word) / _TWO_64
    margin = threshold * min(1.0, 2.0**-47 * (1.0 + size)) + 2.0 / _TWO_64 + uniform * 2.0**-52
    if abs(uniform - threshold) <= margin:
        return IN_DOUBT
    return ACCEPTED if uniform < threshold else REJECTED


@njit(nogil=True, cache=True)
def _log_volume(envelope, box):
    total = 0.0
    for j in range(envelope.size.shape[1]):
        total += math.log(envelope.size[box, j])
    return total


@njit(nogil=True, cache=True)
def _bucket(exponent, upper, log_volume):
    """Return the logarithm to base 2 of a power of two that is at least ``volume * exp(exponent * upper)``."""
    logarithm = (exponent * upper + log_volume) / _LOG_2
    return np.int64(math.ceil(logarithm * (1.0 + 2.0**-40)))  # rounding errs by less than 2**-40 of it


@njit(nogil=True, cache=True)
def _mend(target, envelope, box, log_volume, found):
    """Renew the bound of a box, or split it if that changes nothing and its vectors may differ much in weight."""
    low, high = np.empty(envelope.low.shape[1]), np.empty(envelope.low.shape[1])
    for j in range(low.shape[0]):
        low[j] = envelope.low[box, j]
        high[j] = low[j] + (envelope.size[box, j] - 1)
    n_whole, n_part = touching(target.records, target.cells, target.limit, low, high, found)
    envelope.upper[box] = n_whole + n_part
    bucket = _bucket(target.exponent, n_whole + n_part, log_volume)
    if bucket < envelope.exponent[box]:
        _take_out(envelope, box)
        _put_in(envelope, box, bucket)
    elif n_part * target.exponent > _WORTH_A_SPLIT and envelope.state[N_BOXES] < envelope.state[MOST_BOXES]:
        _split(target, envelope, box, n_whole, found[:n_part])


@njit(nogil=True, cache=True)
def _put_in(envelope, box, bucket):
    """Append a box to a bucket; a full bucket moves to a place with twice the room."""
    size = envelope.members[bucket]
    if size == envelope.room[bucket]:
        begin = envelope.state[POOL_USED]
        for k in range(size):
            envelope.pool[begin + k] = envelope.pool[envelope.first[bucket] + k]
        envelope.first[bucket] = begin
        envelope.room[bucket] = max(8, 2 * size)
        envelope.state[POOL_USED] += envelope.room[bucket]
    envelope.pool[envelope.first[bucket] + size] = box
    envelope.members[bucket] += 1
    envelope.exponent[box] = bucket
    envelope.place[box] = size


@njit(nogil=True, cache=True)
def _take_out(envelope, box):
    """Remove a box from its bucket; the bucket's last box takes its place."""
    bucket = envelope.exponent[box]
    envelope.members[bucket] -= 1
    last = envelope.pool[envelope.first[bucket] + envelope.members[bucket]]
    envelope.pool[envelope.first[bucket] + envelope.place[box]] = last
    envelope.place[last] = envelope.place[box]


@njit(nogil=True, cache=True)
def _split(target, envelope, box, n_whole, found):
    """Replace a box by the boxes that arise when its longest sides are halved, each with a bound of its own."""
    sides = _longest_sides(envelope.size[box])
    n_part = _touching_halves(target, envelope, box, sides, found)
    low, size = envelope.low[box].copy(), envelope.size[box].copy()
    _take_out(envelope, box)
    for half in range(n_part.shape[0]):
        child = box
        if half > 0:
            child = envelope.state[N_BOXES]
            envelope.state[N_BOXES] += 1
        envelope.low[child], envelope.size[child] = low, size
        for s in range(sides.shape[0]):
            lower_size = size[sides[s]] // 2
            if (half >> s) & 1:
                envelope.low[child, sides[s]] += lower_size
                envelope.size[child, sides[s]] -= lower_size
            else:
                envelope.size[child, sides[s]] = lower_size
        envelope.upper[child] = n_whole + n_part[half]
        _put_in(envelope, child, _bucket(target.exponent, envelope.upper[child], _log_volume(envelope, child)))


@njit(nogil=True, cache=True)
def _longest_sides(size):
    """Return the columns of the longest sides with more than one vector."""
    order = np.argsort(-size)
    n_sides = 0
    while n_sides < min(_MOST_HALVED, size.shape[0]) and size[order[n_sides]] > 1:
        n_sides += 1
    return order[:n_sides]


@njit(nogil=True, cache=True)
def _touching_halves(target, envelope, box, sides, found):
    """Return how many of the records found cover a part of each box that arises when sides are halved.

    Bit s of such a box's number says whether it is the upper half of side s. The squared distances of a record to all of
    them are sums that double with each side: first the sides that stay whole, then lower and upper halves.
    """
    n_part = np.zeros(1 << sides.shape[0], dtype=np.int64)
    distance = np.zeros(n_part.shape[0])
    whole = np.ones(envelope.size.shape[1], dtype=np.bool_)
    whole[sides] = False
    for k in found:
        cell = target.cells.of_points[k]
        distance[0] = 0.0
        for j in range(whole.shape[0]):
            if whole[j]:
                distance[0] += _squared_gap(cell[j], envelope.low[box, j], envelope.size[box, j])
        for s in range(sides.shape[0]):
            j = sides[s]
            lower_size = envelope.size[box, j] // 2
            lower = _squared_gap(cell[j], envelope.low[box, j], lower_size)
            upper = _squared_gap(cell[j], envelope.low[box, j] + lower_size, envelope.size[box, j] - lower_size)
            for half in range(1 << s):
                distance[half + (1 << s)] = distance[half] + upper
                distance[half] += lower
        for half in range(n_part.shape[0]):
            n_part[half] += distance[half] <= target.limit
    return n_part


@njit(nogil=True, cache=True)
def _squared_gap(coordinate, low, size):
    """Return the squared distance of a coordinate to a side."""
    gap = max(0.0, low - coordinate, coordinate - (low + size - 1))
    return gap * gap
