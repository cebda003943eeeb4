"""What mechanisms decide by floating point with error bounds: nearly all of their draws. Where it is in doubt, they decide exactly."""

import numpy as np

from dpmondrian.privacy.mechanisms import exact

from libc.math cimport ceil, exp, fabs, floor, fmin, log
from libc.stdint cimport int64_t, uint64_t

from dpmondrian.kernels.tiles cimport vectorised

__all__ = ["ACCEPTED", "NEGLIGIBLE", "REJECTED", "WORDS_PER_TRY", "fill", "invert"]

ACCEPTED, REJECTED, WORDS_PER_TRY = 1, 0, 3
NEGLIGIBLE = 40.0
"""Candidates this many scales below the best weigh ``exp(-40) < 2**-57`` of it: left out at first."""

cdef enum Status:
    IS_REJECTED = 0
    IS_ACCEPTED = 1
    IN_DOUBT = 2

cdef enum:
    BLOCK = 64  # candidates of which only the best is looked at where it is negligible

cdef double RELATIVE_ERROR = exact.RELATIVE_ERROR, TWO_64 = 2.0**64, FAR_BELOW = NEGLIGIBLE
cdef double TWO_62 = 2.0**62, TWO_M50 = 2.0**-50, TWO_M52 = 2.0**-52


def fill(const double[::1] scales, bint gaussian, const uint64_t[::1] words, int64_t[::1] draws, Py_ssize_t filled):
    """Fill `draws` until it is full, the words run out or a try is in doubt.

    A try takes three words: for the magnitude, the sign and the acceptance. Returns how many draws are filled, how many words are used,
    and whether the last try is in doubt.
    """
    cdef Py_ssize_t used = 0
    cdef Status status
    with nogil:
        while filled < draws.shape[0] and used + 3 <= words.shape[0]:
            status = _try(&words[used], scales[filled], gaussian, &draws[filled])
            used += 3
            if status == IN_DOUBT:
                break
            filled += status == IS_ACCEPTED
        else:
            status = IS_REJECTED
    return filled, used, status == IN_DOUBT


cdef Status _try(const uint64_t *words, double scale, bint gaussian, int64_t *value) noexcept nogil:
    """Write a value and return whether it is accepted, rejected or in doubt."""
    cdef double laplace_scale = floor(scale) + 1.0 if gaussian else scale
    # The true U lies in [word, word + 1) / 2**64; the half moves to the middle of that interval.
    cdef double prefix = <double>words[0], logarithm = -log((prefix + 0.5) / TWO_64), position = laplace_scale * logarithm
    cdef double error = laplace_scale * (1.0 / (prefix + 0.25) + RELATIVE_ERROR * (1.0 + logarithm))
    cdef double magnitude = floor(position), shift, distance, exponent, slack, threshold, uniform, margin
    cdef bint negative = words[1] & 1
    if words[0] == 0 or position - magnitude <= error or magnitude + 1.0 - position <= error:
        return IN_DOUBT
    if negative and magnitude == 0.0:  # else zero would come up twice, once with each sign
        return IS_REJECTED
    value[0] = <int64_t>(-magnitude if negative else magnitude)
    if not gaussian:
        return IS_ACCEPTED
    shift = scale * scale / laplace_scale
    distance = fabs(magnitude - shift)
    exponent = distance * distance / (2.0 * scale * scale)
    # The difference is off by a few units in the last place of its terms, which the square magnifies.
    slack = RELATIVE_ERROR * (1.0 + exponent + (distance + shift) * distance / (scale * scale))
    threshold = exp(-exponent)
    uniform = <double>words[2] / TWO_64
    margin = threshold * fmin(slack, 1.0) + 2.0 / TWO_64 + uniform * TWO_M52
    if fabs(uniform - threshold) <= margin:
        return IN_DOUBT
    return IS_ACCEPTED if uniform < threshold else IS_REJECTED


def invert(const int64_t[::1] scores, double scale, double uniform):
    """Return the index at which the running sum of weights passes ``uniform`` of the total, or -1 if unsure.

    Unsure is within a margin that covers rounding in the weights and in the sum, the candidates left out as
    negligible, and the bits of the uniform number that are not drawn yet.
    """
    cdef double[::1] cumulative = np.empty(scores.shape[0])
    cdef int64_t[::1] index = np.empty(scores.shape[0], dtype=np.int64)
    cdef int64_t[::1] best_of_block = np.empty(scores.shape[0] // BLOCK + 1, dtype=np.int64)
    cdef Py_ssize_t i, begin, end, position = 0, size = 0
    cdef int64_t best = scores[0], last = scores[0], negligible
    cdef double total = 0.0, weight, target, margin
    with nogil:
        for begin from 0 <= begin < scores.shape[0] by BLOCK:
            end = min(begin + <Py_ssize_t>BLOCK, scores.shape[0])
            _find_largest(&scores[begin], end - begin, &best_of_block[begin // BLOCK])
            best = max(best, best_of_block[begin // BLOCK])
        negligible = best - <int64_t>ceil(fmin(FAR_BELOW * scale, TWO_62))
        weight = exp(<double>(last - best) / scale)
        for begin from 0 <= begin < scores.shape[0] by BLOCK:
            if best_of_block[begin // BLOCK] <= negligible:
                continue
            for i in range(begin, min(begin + <Py_ssize_t>BLOCK, scores.shape[0])):
                if scores[i] > negligible:
                    if scores[i] != last:  # neighbours often have the same score
                        last, weight = scores[i], exp(<double>(scores[i] - best) / scale)
                    total += weight
                    index[size], cumulative[size] = i, total
                    size += 1
        target = uniform * total
        margin = (RELATIVE_ERROR + scores.shape[0] * (TWO_M50 + exp(-FAR_BELOW))) * total
        while position < size and cumulative[position] <= target:
            position += 1
    if position == size or target + margin >= cumulative[position]:
        return -1
    if position > 0 and target - margin <= cumulative[position - 1]:
        return -1
    # At the very start only candidates left out before the first kept one could still be meant.
    if position == 0 and index[0] > 0 and target <= margin:
        return -1
    return index[position]


cdef vectorised _find_largest(const int64_t *scores, Py_ssize_t size, int64_t *largest) noexcept nogil:
    cdef int64_t found = scores[0]
    cdef Py_ssize_t i
    for i in range(size):
        found = scores[i] if scores[i] > found else found
    largest[0] = found
