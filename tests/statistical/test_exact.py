"""The comparison under all samplers: bounds on the exponential, and a uniform number with as many bits as it takes."""

from decimal import Context, Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpmondrian.privacy.mechanisms.exact import RELATIVE_ERROR, LazyUniform, exp_bounds

quick = settings(derandomize=True, deadline=None, max_examples=80)
rationals = st.builds(Fraction, st.integers(0, 10**9), st.integers(1, 10**9)).filter(lambda x: x <= 40)


class ScriptedBits:
    """Hands out given words, then zeros, and counts them."""

    secure = False

    def __init__(self, *words):
        self._words = list(words)
        self.taken = 0

    def words(self, size):
        assert size == 1
        self.taken += 1
        return np.array([self._words.pop(0) if self._words else 0], dtype=np.uint64)

    def child(self, *path):
        return self


def taylor_bounds(x):
    """Return bounds on ``exp(-x)`` for ``0 <= x <= 40``, from the series of ``exp(x)`` in fixed point."""
    one = 2**500
    position, term, total = floor(x * one), one, 0
    for k in range(1, 400):  # 40**400 / 400! < 2**-600
        total += term
        term = term * position // (k * one)
    return Fraction(one, total + 2**80), Fraction(one, total)  # every step rounded down, by far less than 2**80


@quick
@example(Fraction(0), 40)
@example(Fraction(1, 10**30), 40)
@example(Fraction(40), 20)
@given(rationals, st.integers(20, 80))
def test_bounds_enclose_the_exponential_and_are_tight(x, digits):
    low, high = exp_bounds(x, digits)
    least, most = taylor_bounds(x)
    assert low <= least
    assert most <= high
    assert high - low <= (x + 4) * Fraction(10) ** (1 - digits) * most


@pytest.mark.parametrize("x", [Fraction(745), Fraction(10**5, 3), Fraction(10**6)])
def test_bounds_of_tiny_exponentials(x):
    low, high = exp_bounds(x, 40)
    context = Context(prec=80)
    quotient = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    reference = Fraction(context.exp(quotient.copy_negate()))
    assert 0 < low < reference < high < low * (1 + Fraction(1, 10**30))


def test_bounds_stay_valid_where_decimals_underflow():
    low, high = exp_bounds(Fraction(10**8), 20)
    assert low == 0
    assert 0 < high < Fraction(1, 2**1000)


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.1, 0.693147, 1.0, 37.5, 400.25, 700.0])
def test_declared_error_of_floating_point_covers_the_real_one(x):
    low, high = exp_bounds(Fraction(x), 60)
    assert abs(Fraction(float(np.exp(-x))) - low) + (high - low) < Fraction(RELATIVE_ERROR) * low


def bits_of_exp(x, n_words):
    """Return the first words of the binary expansion of ``exp(-x)``."""
    whole = floor(exp_bounds(x, 40 + 20 * n_words)[0] * 2 ** (64 * n_words))
    return [(whole >> (64 * (n_words - 1 - i))) & (2**64 - 1) for i in range(n_words)]


@quick
@given(rationals.filter(lambda x: x > 0), st.integers(0, 4), st.sampled_from([-1, 1]))
def test_decision_at_the_threshold(x, n_equal, side):
    """A number that shares `n_equal` words with ``exp(-x)`` is decided by the next one, and no more are drawn."""
    words = bits_of_exp(x, n_equal + 2)
    words[n_equal] += side
    assume(0 <= words[n_equal] < 2**64)
    bits = ScriptedBits(*words[1 : n_equal + 1])
    assert LazyUniform(words[0], bits).below_exp(x) == (side < 0)
    assert bits.taken == n_equal


@quick
@given(rationals.filter(lambda x: x > 0), st.integers(1, 5))
def test_decision_ends_however_long_the_bits_agree(x, n_equal):
    words = bits_of_exp(x, n_equal + 1)
    assume(0 < words[n_equal] < 2**64 - 1)
    zeros, ones = ScriptedBits(*words[1:n_equal], 0), ScriptedBits(*words[1:n_equal], 2**64 - 1)
    assert LazyUniform(words[0], zeros).below_exp(x)
    assert not LazyUniform(words[0], ones).below_exp(x)
    assert zeros.taken == ones.taken == n_equal


@pytest.mark.parametrize("n_ones", [0, 1, 5])
def test_every_uniform_number_is_below_one(n_ones):
    bits = ScriptedBits(*[2**64 - 1] * n_ones)
    assert LazyUniform(2**64 - 1, bits).below_exp(Fraction(0))
    assert bits.taken == n_ones + 1


@pytest.mark.parametrize(("x", "n_zeros"), [(50, 1), (100, 2), (1000, 22)])
def test_a_tiny_exponential_begins_with_zeros(x, n_zeros):
    """``exp(-x)`` has `n_zeros` words of zeros (log2 e = 1.4427), so one bit within them lies above it."""
    assert LazyUniform(0, ScriptedBits()).below_exp(Fraction(x))
    assert not LazyUniform(0, ScriptedBits(*[0] * (n_zeros - 2), 1)).below_exp(Fraction(x)) or n_zeros == 1
    assert not LazyUniform(1, ScriptedBits()).below_exp(Fraction(x))


def test_comparisons_of_one_number_agree_with_each_other():
    """The bits drawn for one comparison are kept for the next: it is one number, not several."""
    x = Fraction(7, 3)
    words = bits_of_exp(x, 3)
    uniform = LazyUniform(words[0], ScriptedBits(words[1], words[2] - 1))
    answers = [uniform.below_exp(x) for _ in range(3)]
    assert answers == [True] * 3
    assert not uniform.below_exp(x + Fraction(1, 2**100))
