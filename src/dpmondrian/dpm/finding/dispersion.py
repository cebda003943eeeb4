"""Do rows vary like independent ones? Copies, series of near-duplicates and heaps of round numbers vary more: they make dents that mean nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.cells import dispersions, dispersions_along

__all__ = ["dispersion_along", "dispersion_of_grid"]

_DIFFERENCE = np.array([1.0, -4.0, 6.0, -4.0, 1.0])
"""Fourth differences of neighbouring bins: smooth hills drop out of them."""
_MEDIAN = 0.455
"""Median of a squared standard normal number."""
_FEWEST = 8
"""A median over fewer bins says nothing."""
_COMB = 1.5
"""Where rows lie on few values, counts vary by more than this many times themselves: 1.8 times with one in every third bin, which is least;
those of hills as narrow as half a bin by 0.7 times."""
_TEETH, _JITTER = 4, 1.5
"""A comb has at least so many teeth, and their distances differ by no more than this many bins: those of clusters do."""


def dispersion_along(counts: NDArray[np.float64], deviation: float) -> tuple[float, bool]:
    """Return how much more counts along a line vary than those of independent rows, 1 or more; and whether they are a comb.

    A comb is a column of few values that nobody declared as whole numbers: gaps between its teeth say nothing about clusters. Two or
    three teeth are clusters: whoever declares them as numbers of any value says that what lies between could occur. Bins are also taken
    two by two: heaps may lie farther apart than one bin.
    """
    of_bins, of_pairs, per_row = dispersions_along(counts, deviation**2, _DIFFERENCE, _MEDIAN, _FEWEST)
    return max(1.0, of_bins, of_pairs), per_row > _COMB and _are_regular(counts, deviation)


def _are_regular(counts: NDArray[np.float64], deviation: float) -> bool:
    """Return whether runs of bins that clearly hold more than the mean are many enough to tell, and lie at equal distances."""
    above = np.concatenate([[False], counts > max(float(counts.mean()), 3.0 * deviation), [False]])
    middles = np.flatnonzero(np.diff(above.astype(np.int64))).reshape(-1, 2).mean(axis=1)
    return len(middles) >= _TEETH and float(np.ptp(np.diff(middles))) <= _JITTER


def dispersion_of_grid(rows: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """Return how much more the rows in bins of a grid vary than independent ones, 1 or more; `variances` are those of the noise."""
    along = [_estimates(np.moveaxis(rows, j, 0), np.moveaxis(variances, j, 0)) for j in range(rows.ndim)]
    estimates = np.concatenate(along)
    return max(1.0, float(np.median(estimates))) if len(estimates) >= _FEWEST else 1.0


def _estimates(rows: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of counts per row of theirs, without noise, for windows along the first axis that clearly hold some.

    The median over independent rows is 1; a few real edges do not move it.
    """
    in_columns = (np.ascontiguousarray(values).reshape(len(values), -1) for values in (rows, variances))
    estimates: NDArray[np.float64] = dispersions(*in_columns, _DIFFERENCE, _MEDIAN)
    return estimates
