# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""SipHash-2-4, a hash with a secret key (Aumasson and Bernstein, 2012), of texts and of rows.

Words are read with the lowest byte first on every machine, so a hash does not depend on where it is computed. The state
of a hash is four words, `a` to `d`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["hash_rows", "hash_texts"]

_A, _B = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_C, _D = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_END_64, _END_128, _SECOND_HALF = np.uint64(0xFF), np.uint64(0xEE), np.uint64(0xDD)
_ONE_NAN = np.uint64(0x7FF8000000000000)
_TILE = 512
"""Rows that are hashed side by side: their states stay in the processor's nearest cache."""


@njit(nogil=True, cache=True)
def _rotated(word, n_bits):
    return (word << np.uint64(n_bits)) | (word >> np.uint64(64 - n_bits))


@njit(nogil=True, cache=True)
def _round(a, b, c, d):
    a, c = a + b, c + d
    b, d = _rotated(b, 13) ^ a, _rotated(d, 16) ^ c
    a = _rotated(a, 32)
    c, a = c + b, a + d
    b, d = _rotated(b, 17) ^ c, _rotated(d, 21) ^ a
    return a, b, _rotated(c, 32), d


@njit(nogil=True, cache=True)
def _absorb(a, b, c, d, word):
    """Return the state after one more word of the message."""
    a, b, c, d = _round(*_round(a, b, c, d ^ word))
    return a ^ word, b, c, d


@njit(nogil=True, cache=True)
def _four_rounds(a, b, c, d):
    return _round(*_round(*_round(*_round(a, b, c, d))))


@njit(nogil=True, cache=True)
def _last_word(data, begin, end):
    """Return what is left of a message after its whole words, with the length of the message in the highest byte."""
    word = np.uint64(end - begin) << np.uint64(56)
    first = end - (end - begin) % 8
    for i in range(first, end):
        word |= np.uint64(data[i]) << np.uint64(8 * (i - first))
    return word


@njit(nogil=True, cache=True)
def _word(data, at):
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@njit(nogil=True, cache=True)
def hash_texts(offsets, data, wanted, key, hashes):
    """Write the 128-bit hashes of texts.

    Parameters
    ----------
    offsets : int64 array of shape (n + 1,)
        Text i is ``data[offsets[i] : offsets[i + 1]]``, as in Arrow's buffers.
    data : uint8 array
    wanted : bool array of shape (n,)
        The others get two zeros.
    key : uint64 array of shape (2,)
    hashes : uint64 array of shape (n, 2)
    """
    for i in range(wanted.shape[0]):
        if not wanted[i]:
            hashes[i, 0] = hashes[i, 1] = 0
            continue
        a, b, c, d = key[0] ^ _A, key[1] ^ _B ^ _END_128, key[0] ^ _C, key[1] ^ _D
        begin, end = offsets[i], offsets[i + 1]
        for at in range(begin, end - 7, 8):
            a, b, c, d = _absorb(a, b, c, d, _word(data, at))
        a, b, c, d = _absorb(a, b, c, d, _last_word(data, begin, end))
        a, b, c, d = _four_rounds(a, b, c ^ _END_128, d)
        hashes[i, 0] = a ^ b ^ c ^ d
        a, b, c, d = _four_rounds(a, b ^ _SECOND_HALF, c, d)
        hashes[i, 1] = a ^ b ^ c ^ d


@njit(nogil=True, cache=True)
def hash_rows(block, persons, key, hashes):
    """Write the 64-bit hashes of rows: of the two words of the person, and the bits of every value.

    -0.0 counts as 0.0, and every NaN as the same one.

    Parameters
    ----------
    block : float64 array of shape (n, n_columns), with contiguous rows or columns
    persons : uint64 array of shape (n, 2)
    key : uint64 array of shape (2,)
    hashes : uint64 array of shape (n,)
    """
    n_rows, n_columns = block.shape
    length = np.uint64((2 + n_columns) % 32 * 8) << np.uint64(56)
    values, states = np.empty(_TILE), np.empty((4, _TILE), dtype=np.uint64)
    words = values.view(np.uint64)
    for first in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - first)
        for i in range(size):
            a, b, c, d = key[0] ^ _A, key[1] ^ _B, key[0] ^ _C, key[1] ^ _D
            a, b, c, d = _absorb(a, b, c, d, persons[first + i, 0])
            states[0, i], states[1, i], states[2, i], states[3, i] = _absorb(a, b, c, d, persons[first + i, 1])
        for j in range(n_columns):
            for i in range(size):
                values[i] = block[first + i, j] + 0.0  # turns -0.0 into 0.0
            for i in range(size):
                word = words[i] if values[i] == values[i] else _ONE_NAN
                states[0, i], states[1, i], states[2, i], states[3, i] = _absorb(
                    states[0, i], states[1, i], states[2, i], states[3, i], word
                )
        for i in range(size):
            a, b, c, d = _absorb(states[0, i], states[1, i], states[2, i], states[3, i], length)
            a, b, c, d = _four_rounds(a, b, c ^ _END_64, d)
            hashes[first + i] = a ^ b ^ c ^ d
