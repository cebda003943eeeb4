"""In which order leaves are joined: first those between which rows certainly lie. Post-processing of what was released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.joining.bridges import FLAT_SHARE, MIDDLE, VALLEY, Bridges

__all__ = ["Groups"]

_CLEAR = 4.0
"""Rows count as a bridge from this many standard deviations of the noise on: among thousands of pairs hardly one errs."""


@dataclass(frozen=True)
class Groups:
    """Groups of leaves and the bridges between them, which add up when two groups are joined. Changed in place.

    All arrays but `sizes` have the axes (from, to).

    Attributes
    ----------
    profile : float64 array of shape (n_groups, n_groups, BRIDGE_BINS)
    clear : float64 array of shape (n_groups, n_groups)
        Rows midway, summed over those bridges where they are clearer than noise.
    n_bridges : float64 array of shape (n_groups, n_groups)
        Number of noisy counts that are summed in a bin of `profile`.
    sizes : float64 array of shape (n_groups,)
    deviation : float
        Standard deviation of the noise of one count.
    """

    profile: NDArray[np.float64]
    clear: NDArray[np.float64]
    n_bridges: NDArray[np.float64]
    sizes: NDArray[np.float64]
    deviation: float

    @classmethod
    def of_leaves(cls, bridges: Bridges) -> Groups:
        """Return groups of one leaf each."""
        rows = bridges.profile[:, :, MIDDLE]
        clear = np.where(rows > _CLEAR * bridges.deviation, rows, 0.0)
        n_bridges = bridges.measured.astype(np.float64)
        return cls(bridges.profile.copy(), clear, n_bridges, bridges.sizes.copy(), bridges.deviation)

    def join(self, first: int, second: int) -> None:
        """Add the second group to the first."""
        for values in (self.profile, self.clear, self.n_bridges):
            values[first] += values[second]
            values[:, first] += values[:, second]
        self.sizes[first] += self.sizes[second]

    def strengths_at_most(self, one: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how clearly one group may be apart from others at most: rows that noise could explain do not count.

        Infinite where no bridge was measured, so that only neighbours are joined. Not for release: it is the better
        end of what the noise leaves open, and `Bridges.strength_between` says what was measured.
        """
        profile, n_bridges = self.profile[one, others], self.n_bridges[one, others]
        noise = self.deviation * np.sqrt(n_bridges)
        rows = np.maximum(self.clear[one, others], profile[:, MIDDLE] - _CLEAR * noise)
        flat = FLAT_SHARE * np.minimum(self.sizes[one], self.sizes[others])
        ends = profile[:, :MIDDLE].max(axis=1), profile[:, MIDDLE + 1 :].max(axis=1)
        peak = np.maximum(np.minimum(*ends), 1.0)
        significant = peak - rows >= _CLEAR * np.sqrt(peak + rows + 2.0 * noise**2)
        depth = np.where(significant, np.minimum(1.0, VALLEY * (peak - rows) / peak), -np.inf)
        return np.where(n_bridges > 0, np.maximum(1.0 - rows / flat, depth), np.inf)
