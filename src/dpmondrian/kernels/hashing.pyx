"""SipHash-2-4, a hash with a secret key (Aumasson and Bernstein, 2012), of texts and of rows.

Words are read with the lowest byte first on every machine, so a hash does not depend on where it is computed.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from dpmondrian.kernels.tiles cimport vectorised

__all__ = ["hash_rows", "hash_texts"]

cdef struct State:
    uint64_t a, b, c, d

cdef enum:
    TILE = 512  # rows that are hashed side by side: their states stay in the processor's nearest cache

cdef uint64_t END_64 = 0xFF, END_128 = 0xEE, SECOND_HALF = 0xDD
cdef uint64_t ONE_NAN = 0x7FF8000000000000U


cdef inline State _begun(const uint64_t[::1] key) noexcept nogil:
    return State(
        key[0] ^ 0x736F6D6570736575U, key[1] ^ 0x646F72616E646F6DU, key[0] ^ 0x6C7967656E657261U, key[1] ^ 0x7465646279746573U
    )


cdef inline uint64_t _rotated(uint64_t word, int n_bits) noexcept nogil:
    return (word << n_bits) | (word >> (64 - n_bits))


cdef inline State _round(State s) noexcept nogil:
    s.a += s.b
    s.c += s.d
    s.b = _rotated(s.b, 13) ^ s.a
    s.d = _rotated(s.d, 16) ^ s.c
    s.a = _rotated(s.a, 32)
    s.c += s.b
    s.a += s.d
    s.b = _rotated(s.b, 17) ^ s.c
    s.d = _rotated(s.d, 21) ^ s.a
    s.c = _rotated(s.c, 32)
    return s


cdef inline State _absorb(State s, uint64_t word) noexcept nogil:
    """Return the state after one more word of the message."""
    s.d ^= word
    s = _round(_round(s))
    s.a ^= word
    return s


cdef inline State _four_rounds(State s) noexcept nogil:
    return _round(_round(_round(_round(s))))


cdef inline uint64_t _word(const uint8_t *data, Py_ssize_t n_bytes) noexcept nogil:
    """Return up to eight bytes as a word."""
    cdef uint64_t word = 0
    cdef Py_ssize_t i
    for i in range(n_bytes):
        word |= <uint64_t>data[i] << (8 * i)
    return word


def hash_texts(const int64_t[::1] offsets, const uint8_t[::1] data, wanted, const uint64_t[::1] key, uint64_t[:, ::1] hashes):
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
    cdef const uint8_t[::1] is_wanted = wanted.view(np.uint8)
    cdef Py_ssize_t i, at, n_bytes
    cdef const uint8_t *text
    cdef State s
    with nogil:
        for i in range(is_wanted.shape[0]):
            hashes[i, 0] = hashes[i, 1] = 0
            if not is_wanted[i]:
                continue
            text, n_bytes = &data[0] + offsets[i], offsets[i + 1] - offsets[i]
            s = _begun(key)
            s.b ^= END_128
            for at in range(0, n_bytes - 7, 8):
                s = _absorb(s, _word(text + at, 8))
            at = n_bytes - n_bytes % 8
            # What is left after the whole words, with the length of the message in the highest byte.
            s = _absorb(s, _word(text + at, n_bytes - at) | <uint64_t>n_bytes << 56)
            s.c ^= END_128
            s = _four_rounds(s)
            hashes[i, 0] = s.a ^ s.b ^ s.c ^ s.d
            s.b ^= SECOND_HALF
            s = _four_rounds(s)
            hashes[i, 1] = s.a ^ s.b ^ s.c ^ s.d


cdef vectorised _absorb_words(const uint64_t *words, Py_ssize_t size, uint64_t *states) noexcept nogil:
    """Bring the states of a tile, side by side, to where they are after one more word each."""
    cdef Py_ssize_t i
    cdef State s
    for i in range(size):
        s = _absorb(State(states[i], states[TILE + i], states[2 * TILE + i], states[3 * TILE + i]), words[i])
        states[i], states[TILE + i], states[2 * TILE + i], states[3 * TILE + i] = s.a, s.b, s.c, s.d


def hash_rows(const double[:, :] block, const uint64_t[:, :] persons, const uint64_t[::1] key, uint64_t[::1] hashes):
    """Write the 64-bit hashes of rows: of the two words of the person, and the bits of every value.

    -0.0 counts as 0.0, and every NaN as the same one.

    Parameters
    ----------
    block : float64 array of shape (n, n_columns)
    persons : uint64 array of shape (n, 2)
    key : uint64 array of shape (2,)
    hashes : uint64 array of shape (n,)
    """
    cdef Py_ssize_t n_rows = block.shape[0], n_columns = block.shape[1], first, size, i, j
    cdef uint64_t length = <uint64_t>((2 + n_columns) % 32 * 8) << 56
    cdef uint64_t[::1] words = np.empty(TILE, dtype=np.uint64), states = np.empty(4 * TILE, dtype=np.uint64)
    cdef double value
    cdef State s
    with nogil:
        for first from 0 <= first < n_rows by TILE:
            size = min(<Py_ssize_t>TILE, n_rows - first)
            for i in range(size):
                s = _absorb(_absorb(_begun(key), persons[first + i, 0]), persons[first + i, 1])
                states[i], states[TILE + i], states[2 * TILE + i], states[3 * TILE + i] = s.a, s.b, s.c, s.d
            for j in range(n_columns):
                for i in range(size):
                    value = block[first + i, j] + 0.0  # turns -0.0 into 0.0
                    memcpy(&words[i], &value, sizeof(double))
                    words[i] = words[i] if value == value else ONE_NAN
                _absorb_words(&words[0], size, &states[0])
            for i in range(size):
                s = _absorb(State(states[i], states[TILE + i], states[2 * TILE + i], states[3 * TILE + i]), length)
                s.c ^= END_64
                s = _four_rounds(s)
                hashes[first + i] = s.a ^ s.b ^ s.c ^ s.d
