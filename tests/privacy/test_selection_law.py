"""The law of the two selections, exactly, and what one person can change about it, searched for the worst."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2

from dpmondrian.privacy.mechanisms import selection
from dpmondrian.privacy.mechanisms.bits import SeededBits
from dpmondrian.privacy.mechanisms.selection import exponential_mechanism, permute_and_flip

FITS, DIFFERS = 1e-6, 1e-9
ORDERS = (1.0001, 1.5, 2.0, 4.0, 16.0, 64.0)
quick = settings(derandomize=True, deadline=None, max_examples=150)

PEAKED = [-(abs(i - 700) ** 2) for i in range(1500)]
SCORES = {
    "few": ([0, 3, 3, -5, 6], 2.5),
    "ties": ([4, 4, 4, 4], 1.0),
    "far": ([10**15, 10**15 - 4, 10**15 + 3, 10**15 + 1], 3.0),
    "one": ([7], 1.0),
    "low": ([0, -300, 2, -290], 1.5),
    "hopeless": ([0, -(10**9), 2, 10**6 - 10**9], 1.5),
    "peaked": (PEAKED, 900.0),
    "left out": (
        [-60, 0, -61, 1, -200, 2, -60],
        1.5,
    ),  # rare enough to be left out at first, but words are left for them
    "sharp": ([0, 1, 0, 1, 0], 0.0499),
}


class FixedWord:
    """One given word, then always the same arbitrary one."""

    secure = False

    def __init__(self, word):
        self._word = word

    def words(self, size):
        word, self._word = self._word, 0x9E3779B97F4A7C15
        return np.array([word] * size, dtype=np.uint64)

    def child(self, *path):
        return self


def exponential_log_law(scores, scale):
    logits = np.array([(score - max(scores)) / scale for score in scores])
    return logits - logsumexp(logits)


def permute_and_flip_law(scores, scale):
    """Return the law by its definition: over all orders, the first candidate whose coin shows heads."""
    heads = [math.exp((score - max(scores)) / scale) for score in scores]
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * heads[i] / len(orders)
            reached *= 1.0 - heads[i]
    return law


def implemented_exponential_law(scores, scale):
    """Return the law of the code itself: it inverts a uniform word, so the words of an index are an interval."""
    exact = np.array(scores, dtype=np.int64)
    edges = [0]
    for index in range(len(scores) - 1):
        low, high = edges[-1], 2**64
        while low < high:
            middle = (low + high) // 2
            below = exponential_mechanism(exact, scale, FixedWord(middle)) <= index
            low, high = (middle + 1, high) if below else (low, middle)
        edges.append(low)
    return np.array([float(Fraction(b - a, 2**64)) for a, b in zip(edges, [*edges[1:], 2**64], strict=True)])


def p_value(picks, law):
    """Return the chi-square p-value of picks; rare candidates are taken together."""
    counts, law = np.bincount(picks, minlength=len(law)), np.asarray(law)
    often = len(picks) * law >= 10
    counts = np.append(counts[often], counts[~often].sum())
    expected = len(picks) * np.append(law[often], law[~often].sum())
    if expected[-1] < 1:
        assert counts[-1] <= 8  # has a probability below 1e-6 at an expectation of one
        counts, expected = counts[:-1], expected[:-1]
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), max(len(counts) - 1, 1))


def picks_of(mechanism, scores, scale, n_picks, seed):
    exact, bits = np.array(scores, dtype=np.int64), SeededBits(seed)
    return [mechanism(exact, scale, bits) for _ in range(n_picks)]


@pytest.mark.slow
@pytest.mark.parametrize("case", SCORES)
def test_law_of_the_exponential_mechanism(case):
    scores, scale = SCORES[case]
    picks = picks_of(exponential_mechanism, scores, scale, 40_000, seed=1)
    assert p_value(picks, np.exp(exponential_log_law(scores, scale))) > FITS
    if case in ("few", "far", "peaked"):
        for wrong in (0.9, 1.1):
            assert p_value(picks, np.exp(exponential_log_law(scores, wrong * scale))) < DIFFERS


@pytest.mark.slow
@pytest.mark.parametrize("case", ["few", "ties", "low"])
def test_settling_in_full_precision_draws_the_same_law(monkeypatch, case):
    scores, scale = SCORES[case]
    monkeypatch.setattr(selection, "invert", lambda scores, scale, uniform: -1)
    picks = picks_of(exponential_mechanism, scores, scale, 3000, seed=2)
    assert p_value(picks, np.exp(exponential_log_law(scores, scale))) > FITS
    if case == "few":
        for wrong in (0.75, 1.35):
            assert p_value(picks, np.exp(exponential_log_law(scores, wrong * scale))) < DIFFERS


@pytest.mark.slow
@pytest.mark.parametrize("case", ["few", "ties", "far", "peaked", "left out", "sharp"])
def test_floating_point_is_right_or_in_doubt(case):
    """Near the words where the choice changes, the quick way gives the settled answer or none."""
    scores, scale = SCORES[case]
    exact = np.array(scores, dtype=np.int64)
    edges = np.cumsum(np.exp(exponential_log_law(scores, scale)))
    edges = [0.0, *edges[(edges > 1e-6) & (edges < 1 - 1e-12)][:: max(1, len(edges) // 5)], 1.0]
    shifts = [sign * 2**power for power in (0, 12, 20, 24, 28, 32, 36, 40) for sign in (1, -1)]
    words = [int(edge * 2**64) + shift for edge in edges for shift in shifts]
    doubts = 0
    for word in [word for word in words if 0 <= word < 2**64]:
        quick_index = selection.invert(exact, scale, word / 2.0**64)
        doubts += quick_index < 0
        if quick_index >= 0:
            assert quick_index == selection._settle_selection(exact, Fraction(scale), word, FixedWord(0))
    assert doubts > 0


def test_the_first_and_the_last_word_choose_the_first_and_the_last_candidate():
    scores = np.array([1, 5, 2])
    assert exponential_mechanism(scores, 2.0, FixedWord(0)) == 0
    assert exponential_mechanism(scores, 2.0, FixedWord(2**64 - 1)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("case", ["few", "ties", "one", "low"])
@pytest.mark.parametrize("in_doubt", [False, True])
def test_law_of_permute_and_flip(monkeypatch, case, in_doubt):
    scores, scale = SCORES[case]
    if in_doubt:  # every coin is thrown in full precision
        monkeypatch.setattr(selection, "RELATIVE_ERROR", 1e300)
    n_picks = 4000 if in_doubt else 20_000
    picks = picks_of(permute_and_flip, scores, scale, n_picks, seed=3)
    assert p_value(picks, permute_and_flip_law(scores, scale)) > FITS
    if case == "few":
        for wrong in (0.75, 1.35) if in_doubt else (0.9, 1.1):
            assert p_value(picks, permute_and_flip_law(scores, wrong * scale)) < DIFFERS
        assert p_value(picks, np.exp(exponential_log_law(scores, scale))) < DIFFERS


def test_uniform_choice_among_heads_favours_nobody():
    words = iter([2**64 - 1, 5])  # the first lies in the incomplete last round of 3
    bits = FixedWord(0)
    bits.words = lambda size: np.array([next(words)], dtype=np.uint64)
    assert selection._uniform_below(3, bits) == 5 % 3


moves = st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 12)), min_size=2, max_size=4)


def neighbours(pairs, width, shift):
    """Return scores before and after a change within ``[shift, shift + width]``."""
    before = [score for score, _ in pairs]
    return before, [score + shift + change * width // 12 for score, change in pairs]


def renyi(order, log_p, log_q):
    return float(logsumexp(order * log_p + (1.0 - order) * log_q)) / (order - 1.0)


@pytest.mark.slow
@quick
@example([(0, 12), (0, 0)], 12, 0, 12.0)
@example([(30, 0), (0, 12), (-30, 3)], 12, -6, 2.0)
@given(moves, st.integers(1, 24), st.integers(-30, 30), st.sampled_from([1.5, 6.0, 12.0, 50.0]))
def test_exponential_mechanism_stays_within_its_price(pairs, width, shift, scale):
    before, after = neighbours(pairs, width, shift)
    log_p, log_q = exponential_log_law(before, scale), exponential_log_law(after, scale)
    epsilon = width / scale
    assert np.abs(log_p - log_q).max() <= epsilon + 1e-9
    assert np.ptp(log_p - log_q) <= epsilon + 1e-9  # bounded range
    for one, other in ((log_p, log_q), (log_q, log_p)):
        for order in ORDERS:
            assert renyi(order, one, other) <= order * epsilon**2 / 8 + 1e-9


@settings(quick, max_examples=12)
@example([(0, 12), (0, 0)], 12, 0)
@given(moves, st.integers(1, 24), st.integers(-30, 30))
def test_the_code_stays_within_its_price(pairs, width, shift):
    """The same of the probabilities that the code really gives, to the last of 64 bits."""
    scale = 20.0
    before, after = neighbours(pairs, width, shift)
    p, q = implemented_exponential_law(before, scale), implemented_exponential_law(after, scale)
    assert np.abs(np.log(p) - exponential_log_law(before, scale)).max() < 1e-10
    assert np.abs(np.log(p / q)).max() <= width / scale + 1e-9
    assert renyi(2.0, np.log(p), np.log(q)) <= 2.0 * (width / scale) ** 2 / 8 + 1e-9


def test_price_of_the_exponential_mechanism_is_attained():
    width, scale = 3, 2.0
    lone = exponential_log_law([0, 100], scale) - exponential_log_law([width, 100], scale)
    assert np.abs(lone).max() > 0.999 * width / scale
    even = exponential_log_law([0, 0], 100.0), exponential_log_law([width, 0], 100.0)
    for order in (1.5, 2.0, 4.0):
        assert renyi(order, *even) > 0.98 * order * (width / 100.0) ** 2 / 8


@quick
@example([(0, 12), (0, 0), (0, 12)], 12, 0, 12.0)
@given(moves, st.integers(1, 24), st.integers(-30, 30), st.sampled_from([1.5, 6.0, 12.0, 50.0]))
def test_permute_and_flip_stays_within_its_price(pairs, width, shift, scale):
    before, after = neighbours(pairs, width, shift)
    log_ratio = np.log(permute_and_flip_law(before, scale)) - np.log(permute_and_flip_law(after, scale))
    assert np.abs(log_ratio).max() <= width / scale + 1e-9


def test_price_of_permute_and_flip_is_attained_and_it_is_not_bounded_range():
    width, scale = 3, 2.0
    before, after = permute_and_flip_law([10, 0], scale), permute_and_flip_law([10, width], scale)
    log_ratio = np.log(after / before)
    assert log_ratio.max() == pytest.approx(width / scale, abs=1e-12)
    assert np.ptp(log_ratio) > width / scale  # so it must not be charged epsilon**2 / 8
