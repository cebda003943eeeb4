"""SipHash of texts and rows: the published values, and the same as a plain implementation for everything else."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian.kernels.hashing import hash_rows, hash_texts

KEY = np.frombuffer(bytes(range(16)), dtype="<u8").copy()
MESSAGE = bytes(range(64))
PUBLISHED_64 = {
    0: "310e0edd47db6f72", 1: "fd67dc93c539f874", 15: "e545be4961ca29a1", 24: "94af49f6c650adb8", 32: "ce7cf2722f512771",
    40: "d0a704536ba93e0e", 48: "51a9cb9ecba312e6", 56: "bd838d3aafbf8db7", 63: "724506eb4c328a95",
}  # fmt: skip
PUBLISHED_128 = {
    0: "a3817f04ba25a8e66df67214c7550293", 1: "da87c1d86b99af44347659119b22fc45", 7: "a1f1ebbed8dbc153c0b84aa61ff08239",
    8: "3b62a9ba6258f5610f83e264f31497b4", 15: "5493e99933b0a8117e08ec0f97cfc3d9", 16: "6ee2a4ca67b054bbfd3315bf85230577",
    63: "5150d1772f50834a503e069a973fbd7c",
}  # fmt: skip
"""Of the first bytes of `MESSAGE`, from the authors' implementation."""
WORD = 2**64 - 1


def rotated(word, n_bits):
    return (word << n_bits | word >> (64 - n_bits)) & WORD


def rounds(v, n_rounds):
    for _ in range(n_rounds):
        v[0] = (v[0] + v[1]) & WORD
        v[1] = rotated(v[1], 13) ^ v[0]
        v[0] = rotated(v[0], 32)
        v[2] = (v[2] + v[3]) & WORD
        v[3] = rotated(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & WORD
        v[3] = rotated(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & WORD
        v[1] = rotated(v[1], 17) ^ v[2]
        v[2] = rotated(v[2], 32)


def siphash(message, n_bytes, key=KEY):
    """Return the hash of a message, of 8 or 16 bytes, by the steps of the paper."""
    k0, k1 = (int(word) for word in key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    if n_bytes == 16:
        v[1] ^= 0xEE
    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xEE if n_bytes == 16 else 0xFF
    rounds(v, 4)
    result = (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    if n_bytes == 16:
        v[1] ^= 0xDD
        rounds(v, 4)
        result += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return result


def text_hashes(texts, wanted=None, key=KEY):
    """Return the hashes of an Arrow array of texts as bytes, None for texts that are not wanted."""
    wanted = np.asarray(texts.is_valid()) if wanted is None else wanted
    _, offsets, data = texts.buffers()
    begins = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    hashes = np.full((len(texts), 2), 7, dtype="<u8")
    hash_texts(begins, np.frombuffer(data or b" ", dtype=np.uint8), wanted, key, hashes)
    return [row.tobytes() for row in hashes]


def rows_hashed(block, persons, key=KEY):
    hashes = np.empty(len(block), dtype="<u8")
    hash_rows(block, persons, key, hashes)
    return [word.tobytes() for word in hashes]


def test_the_plain_implementation_gives_the_published_values():
    for size, expected in PUBLISHED_64.items():
        assert siphash(MESSAGE[:size], 8).hex() == expected
    for size, expected in PUBLISHED_128.items():
        assert siphash(MESSAGE[:size], 16).hex() == expected
    assert int.from_bytes(siphash(MESSAGE[:15], 8), "little") == 0xA129CA6149BE45E5  # appendix A of the paper


def test_published_values_of_texts():
    texts = pa.array([MESSAGE[:size].decode() for size in PUBLISHED_128], pa.large_string())
    assert [text.hex() for text in text_hashes(texts)] == list(PUBLISHED_128.values())


@pytest.mark.parametrize("size", [24, 32, 40, 48, 56])
def test_published_values_of_rows(size):
    words = np.frombuffer(MESSAGE[:size], dtype="<u8")
    [found] = rows_hashed(words[2:].view(np.float64).reshape(1, -1).copy(), words[:2].reshape(1, 2).copy())
    assert found.hex() == PUBLISHED_64[size]


words = st.integers(0, WORD)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.text(max_size=30) | st.none(), max_size=8), st.integers(0, 8), words, words)
def test_texts_in_slices_and_with_missing_ones(texts, start, k0, k1):
    """Long texts besides: the length counts modulo 256."""
    key = np.array([k0, k1], dtype=np.uint64)
    array = pa.array([*texts, "a" * 255, None, "a" * 256, "a" * 1000], pa.large_string()).slice(start)
    expected = [bytes(16) if text is None else siphash(text.encode(), 16, key) for text in array.to_pylist()]
    assert text_hashes(array, key=key) == expected


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_columns", [1, 2, 10, 29, 30, 31, 70])
def test_rows_of_both_layouts(n_columns, order):
    generator = np.random.default_rng(n_columns)
    for n_rows in (0, 1, 3, 511, 512, 513, 1030):
        block = np.asarray(generator.normal(size=(n_rows, n_columns)), order=order)
        persons = generator.integers(0, 2**64, (n_rows, 2), dtype=np.uint64)
        found = rows_hashed(block, persons)
        assert len(found) == n_rows
        for i in {*range(min(n_rows, 3)), *range(max(0, n_rows - 3), n_rows)}:
            assert found[i] == siphash(persons[i].astype("<u8").tobytes() + block[i].astype("<f8").tobytes(), 8)


def test_every_zero_and_every_nan_counts_as_one():
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000123, 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    values = np.concatenate([[0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324], nans.view(np.float64)])
    found = rows_hashed(values.reshape(-1, 1), np.zeros((len(values), 2), dtype=np.uint64))
    assert found[0] == found[1] == siphash(bytes(24), 8)
    assert set(found[6:]) == {siphash(bytes(16) + np.array(nans[0]).astype("<u8").tobytes(), 8)}
    assert len(set(found)) == len(values) - 4
