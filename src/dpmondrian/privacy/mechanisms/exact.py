"""Deciding ``U < exp(-x)`` exactly, where U is uniform on [0, 1) and x >= 0 is rational.

Every sampler of this package reduces to this comparison. Floating point decides it nearly always: a
64-bit prefix of U is compared with a double-precision ``exp(-x)`` whose error is bounded, and when
the two are farther apart than that bound the answer is certain. Otherwise (about once in 2**38
draws) a `LazyUniform` draws further bits of the *same* U and evaluates the exponential to ever more
digits until the answer is certain. So the output law is the ideal one, not an approximation of it.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dpmondrian.privacy.mechanisms.bits import BitSource

RELATIVE_ERROR = 2.0**-40
"""Bound on the relative error of a double-precision ``exp(-x)`` for x <= 708 as computed here.

The argument is off by at most a few units in its last place, ``708 * 4 * 2**-53 < 2**-41``, and the exponential by
a few units in the last place of the result; 2**-40 covers both with a wide margin. Beyond 708 results are
subnormal; there the absolute part of every margin, at least 2**-63, covers the error.
"""


def exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rationals ``low <= exp(-x) <= high`` that agree to about `digits` digits."""
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
    x_low = down.divide(Decimal(x.numerator), Decimal(x.denominator))
    x_high = up.divide(Decimal(x.numerator), Decimal(x.denominator))
    # Decimal.exp is correctly rounded to nearest: one unit in the last place on either side encloses it.
    low = down.next_minus(down.exp(x_high.copy_negate()))
    high = up.next_plus(up.exp(x_low.copy_negate()))
    return max(Fraction(low), Fraction(0)), Fraction(high)


class LazyUniform:
    """A uniform number on [0, 1) whose bits are drawn only as far as its comparisons need them.

    Parameters
    ----------
    word : int
        Its first 64 bits.
    bits : BitSource
        Where further bits come from.
    """

    def __init__(self, word: int, bits: BitSource) -> None:
        self._prefix = word
        self._length = 64
        self._bits = bits

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Return the interval that the bits drawn so far leave."""
        return Fraction(self._prefix, 1 << self._length), Fraction(self._prefix + 1, 1 << self._length)

    def refine(self) -> None:
        """Draw 64 further bits."""
        self._prefix = (self._prefix << 64) | int(self._bits.words(1)[0])
        self._length += 64

    def below_exp(self, x: Fraction) -> bool:
        """Decide exactly whether this number is below ``exp(-x)``."""
        digits = 40
        while True:
            low, high = exp_bounds(x, digits)
            least, most = self.bounds()
            if most <= low:
                return True
            if least >= high:
                return False
            self.refine()
            digits += 20
