"""Is there a valley between two hills of a noisy histogram? A test with noise, sampling error and many comparisons.

Rows of one cluster whose density is log-concave have no valley along any line: neither their projection, nor the part of them in an
intersection of half-spaces, nor what equal windows count of it (Prekopa). So a window that holds clearly fewer rows than windows of
the same width on both sides of it shows that there are two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.cells import all_valleys, clearest_valley

__all__ = ["DEPTH", "EMPTY", "LEAST_Z", "WIDTHS", "Valley", "clearest", "doubt_of", "threshold", "valleys"]

WIDTHS = np.array([1, 2, 3, 4, 6, 8])
"""Widths of windows, in bins."""
DEPTH = 0.4
"""A valley must lie this much below the lower of its hills, however sure it is: shallow dents are not what people call apart."""
LEAST_Z = 4.2
"""A flat histogram of 48 bins has a valley of this many deviations, at any place and width, in 2 of 1,000 cases (measured)."""

EMPTY = 0.1
"""A valley with less than this part of its hills' rows is empty, whatever else varies."""


@dataclass(frozen=True)
class Valley:
    """A valley: where it is, in bins from the beginning, and how many deviations deep."""

    place: float
    z: float


def threshold(n_lines: int) -> float:
    """Return the least depth of a valley that proves two clusters, in deviations, where the clearest of several lines is taken."""
    return math.sqrt(LEAST_Z**2 + math.log(n_lines) / 0.62)


def doubt_of(z: float, n_lines: int) -> float:
    """Return the probability that a flat histogram has a valley this deep, on any of so many lines.

    Fitted to simulated flat histograms: 5, 1 and 0.1 % beyond 3.50, 3.87 and 4.33 deviations.
    """
    return min(1.0, n_lines * math.exp(-3.0 - 0.62 * (z * z - 12.25)))


def clearest(
    counts: NDArray[np.float64], deviation: float, dispersion: float = 1.0, most_empty: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return depth, in deviations, and place of the clearest valley of each histogram; -inf where there is none.

    Parameters
    ----------
    counts : float64 array of shape (n_histograms, n_bins)
    deviation : float
        Standard deviation of the noise of a bin; 0 or more.
    dispersion : float
        Variance of a count of rows, relative to that of independent rows.
    most_empty : float
        The same where a valley is nearly empty, if less.
    """
    depth, place = clearest_valley(
        np.ascontiguousarray(counts), WIDTHS, deviation, dispersion, most_empty, DEPTH, EMPTY
    )
    return depth, place


def valleys(
    counts: NDArray[np.float64],
    deviation: float,
    least_z: float,
    dispersion: float,
    most_empty: float,
    least_rows: float,
) -> list[Valley]:
    """Return all valleys of a histogram that are clear enough: the clearest, then those on both of its sides.

    Each side must hold `least_rows` rows.
    """
    found = all_valleys(
        np.ascontiguousarray(counts), WIDTHS, deviation, dispersion, most_empty, DEPTH, EMPTY, least_z, least_rows
    )
    return [Valley(place, z) for place, z in found]
