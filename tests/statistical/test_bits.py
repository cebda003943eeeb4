"""Random words: secure ones are never handed out twice, seeded ones belong to a named purpose."""

import itertools
import os

import numpy as np
import pytest
from scipy.stats import chi2

from dpmondrian.privacy.mechanisms.bits import SecureBits, SeededBits


@pytest.fixture
def numbered_entropy(monkeypatch):
    """Replace the system's entropy by the words 0, 1, 2, ..."""
    counter = itertools.count()

    def urandom(size):
        assert size % 8 == 0
        return np.array([next(counter) for _ in range(size // 8)], dtype=np.uint64).tobytes()

    monkeypatch.setattr(os, "urandom", urandom)


@pytest.mark.parametrize("sizes", [[1] * 1500, [511, 1, 1, 512, 513, 3], [5000, 1, 0, 511, 600], [300] * 20])
def test_secure_words_are_handed_out_once(numbered_entropy, sizes):
    bits = SecureBits()
    taken = [bits.child("purpose", i).words(size) for i, size in enumerate(sizes)]
    assert [words.size for words in taken] == sizes
    together = np.concatenate(taken)
    assert np.unique(together).size == together.size
    assert together[0] == 0


def test_secure_words_handed_out_do_not_change_later(numbered_entropy):
    bits = SecureBits()
    first = bits.words(10)
    kept = first.copy()
    bits.words(2000)
    assert first.tolist() == kept.tolist()
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_two_secure_sources_and_all_their_words_differ():
    one, other = SecureBits(), SecureBits()
    words = np.concatenate([source.words(size) for size in (1, 511, 3, 2000) for source in (one, other)])
    assert np.unique(words).size == words.size
    assert one.secure


def test_secure_bits_are_balanced():
    bits = np.unpackbits(SecureBits().words(4000).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 7 * 0.5 / np.sqrt(bits.size)  # seven standard errors


def test_a_seed_reproduces_the_words_of_every_purpose():
    for path in [(), ("count", 0), ("split", 3, 7)]:
        words = SeededBits(5).child(*path).words(100)
        assert words.tolist() == SeededBits(5).child(*path).words(100).tolist()
    assert not SeededBits(5).secure


def test_words_of_a_purpose_do_not_depend_on_what_was_drawn_before():
    root = SeededBits(5)
    before = root.child("count", 1).words(10)
    root.words(1000)
    root.child("count", 2).words(17)
    assert root.child("count", 1).words(10).tolist() == before.tolist()


def test_a_stream_goes_on_where_it_stopped():
    whole, parts = SeededBits(5).child("a"), SeededBits(5).child("a")
    assert whole.words(30).tolist() == [*parts.words(7).tolist(), *parts.words(23).tolist()]


def test_nested_purposes_equal_their_full_path():
    assert SeededBits(5).child("a").child(1).words(5).tolist() == SeededBits(5).child("a", 1).words(5).tolist()


def streams():
    """Return words of many purposes and seeds, one row each, among them names that are easily confused."""
    paths = [(), ("1",), (1,), ("count", 1, 2), ("count", 12), ("count1", 2), ("count", "1", 2), ("count", -1)]
    paths += [("split", level, node) for level in range(8) for node in range(30)]
    return np.array([SeededBits(seed).child(*path).words(200) for seed in (0, 1, 2**63) for path in paths])


def test_purposes_and_seeds_share_no_words():
    words = streams()
    assert np.unique(words).size == words.size


def test_streams_agree_in_half_of_their_bits():
    """Any two streams differ in half of their bits, up to the deviation that chance allows."""
    bits = np.unpackbits(streams()[:150].view(np.uint8), axis=1).astype(np.int32)
    agreement = (2 * bits - 1) @ (2 * bits - 1).T
    np.fill_diagonal(agreement, 0)
    assert np.abs(agreement).max() < 6.5 * np.sqrt(bits.shape[1])


def test_bytes_of_a_stream_are_uniform():
    counts = np.bincount(SeededBits(5).words(100_000).view(np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert 1e-6 < chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) < 1 - 1e-6
