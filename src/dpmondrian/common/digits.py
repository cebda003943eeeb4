"""How many digits of a number its error leaves."""

from __future__ import annotations

import math

DIGITS = 2
"""Digits of an error that are written, as the Guide to the Expression of Uncertainty in Measurement advises."""


def decimals_of(error: float, digits: int = DIGITS) -> int:
    """Return the decimals that show so many digits of an error; fewer than none stands for tens, hundreds, and so on."""
    return digits - 1 - math.floor(math.log10(error))


def rounded_to(value: float, error: float) -> float | int:
    """Return a value or its error without the digits that the error makes idle; without an error, the value itself."""
    if not 0.0 < error < math.inf:
        return value
    rounded = round(value, decimals_of(error)) + 0.0  # no minus zero
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
