"""Private numbers with the interval in which the true one lies, 95 times of 100."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

DEVIATIONS = 1.959964
"""Standard deviations on both sides of a normal value between which it lies 95 times of 100."""


class Measured(NamedTuple):
    """A number with noise, and its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, error: float, least: float, most: float) -> Measured:
        """Return a number with a standard error, within the limits of what it can be."""
        low, value, high = (
            min(max(end, least), most) for end in (value - DEVIATIONS * error, value, value + DEVIATIONS * error)
        )
        return cls(value, low, high)

    @property
    def error(self) -> float:
        """Standard error: a quarter of the interval, about."""
        return (self.high - self.low) / (2.0 * DEVIATIONS)

    @property
    def longer_error(self) -> float:
        """The same by the longer side of the interval, as that of a share ends at 0 and 1: none of a category is not known twice as well."""
        return max(self.high - self.value, self.value - self.low) / DEVIATIONS

    @property
    def rounded(self) -> tuple[float, float, float]:
        """The three numbers with two digits of the error; as they are where there is none, but never minus zero."""
        value, low, high = self
        if self.error > 0.0:
            decimals = 1 - math.floor(math.log10(self.error))
            value, low, high = round(value, decimals), round(low, decimals), round(high, decimals)
        return value + 0.0, low + 0.0, high + 0.0


@dataclass(frozen=True)
class Quality:
    """How good a clustering is, measured with noise.

    Attributes
    ----------
    silhouette : Measured or None
        Mean over rows of ``(b - a) / max(a, b)``, with a and b the distances from the row's own centre and from the nearest
        other one: from -1 (in the wrong cluster) to 1 (on its centre). None for a single cluster.
    explained : Measured
        Share of the variance that the centres explain, from 0 (as good as the mean of all rows) to 1.
    """

    silhouette: Measured | None
    explained: Measured


class Description(str):
    """A text of several lines that shows itself as such, also in notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"
