"""The score of a cut: centreness plus weighted emptiness (paper, definition 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.scoring.centreness import centreness, centreness_change
from dpmondrian.scoring.emptiness import emptiness, emptiness_change

__all__ = ["Score"]


@dataclass(frozen=True)
class Score:
    """The score with its parameters, beside the interval in which one added row can move it.

    `two_sided` counts the rows on both sides exactly; otherwise the side above the cut is taken as
    ``noisy_count - below``, as in the paper.
    """

    t: float
    q: float
    alpha: float
    two_sided: bool = True

    def of_histogram(self, exact_histogram: NDArray[np.int64], noisy_count: int) -> NDArray[np.int64]:
        """Return the score of every cut of a node, shape (n_columns, n_codes); cut 0 is not a cut.

        Parameters
        ----------
        exact_histogram : int64 array of shape (n_columns, n_codes)
            Rows of the node by code.
        noisy_count : int
            Released count of the node, positive.
        """
        below = np.zeros_like(exact_histogram)
        np.cumsum(exact_histogram[:, :-1], axis=1, out=below[:, 1:])
        whole = exact_histogram[0].sum() if self.two_sided else noisy_count
        window = exact_histogram.copy()
        window[:, 1:] += exact_histogram[:, :-1]
        smaller_side = np.minimum(below, whole - below)
        return centreness(smaller_side, noisy_count, self.t, self.q) + emptiness(
            window, noisy_count, self.alpha
        )

    @property
    def change(self) -> tuple[int, int]:
        """Interval of score changes, over all cuts, when one row is added (in score steps)."""
        low_e, high_e = emptiness_change(self.alpha)
        low_c, high_c = centreness_change(self.t, self.q, self.two_sided)
        return low_e + low_c, high_e + high_c

    @property
    def range(self) -> int:
        """Width of `change`: what a selection pays for (``(alpha + t/q)`` times STEPS when two-sided)."""
        low, high = self.change
        return high - low

    @property
    def sensitivity(self) -> int:
        """Largest change of any score in either direction."""
        low, high = self.change
        return max(-low, high)
