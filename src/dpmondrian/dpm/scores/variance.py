"""Variance reduction: how much nearer rows are to the means of two sides than to one mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.scores.combine import STEPS, NodeCuts, node_cuts
from dpmondrian.kernels.scores import variance_scores

__all__ = ["VarianceScore"]

SIDE_WEIGHT, WINDOW_WEIGHT = 2 * STEPS, STEPS // 10
"""Weights of the rows on the smaller side and of those near the cut, beside a reduction of at most 1 per row."""

_SIDES = 1.5
"""The smaller side counts up to this many size limits: enough for the cut not to be rejected, and no reason to be central."""


@dataclass(frozen=True)
class VarianceScore:
    """The score of a cut: reduction of the sum of squares, relative to the longest side of the node's box, plus two corrections.

    ``g / w**2 + 2 * min(m, c) - v / 10`` with g the reduction of the sum of squares of the cut's column, w the longest side of the box,
    m the rows on the smaller side, c one and a half size limits, v the rows within 1/64 of the box's side of the cut.

    Attributes
    ----------
    size_limit : float
        Least noisy number of rows on each side; public.
    places_per_code : int64 array of shape (n_columns,)
    """

    size_limit: float
    places_per_code: NDArray[np.int64]

    range: ClassVar[int] = 2 * STEPS + SIDE_WEIGHT + WINDOW_WEIGHT + 2
    """Width of the interval of changes when one row is added.

    Privacy
    -------
    The reduction is a difference of sums of squares about means. A new row at x raises one by ``n / (n + 1) * (x - mean)**2``,
    within ``[0, w_j**2]``, so it moves g / w**2 within ``[-1, 1]``; m by 0 or 1; v by 0 or 1. Rounding g to whole steps moves it by
    less than one more on each side. Argument: ``docs/privacy/splits.md``; tests that try to break it:
    ``tests/privacy/test_score_range.py``.
    """

    @property
    def side_cap(self) -> int:
        """Rows up to which the smaller side counts; so few that scores fit 64 bits."""
        return min(math.ceil(_SIDES * self.size_limit), 2**40)

    def of_histogram(
        self, exact_histogram: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the scores of the cuts of one node, column by column: ``low < cut < high``."""
        whole = int(exact_histogram[0].sum())
        widest = float(((high - low) * self.places_per_code).max())
        return [
            self._of_column(exact_histogram[j, low[j] : high[j]], whole, float(self.places_per_code[j]) / widest)
            for j in range(len(low))
        ]

    def _of_column(self, exact_counts: NDArray[np.int64], whole: int, unit: float) -> NDArray[np.int64]:
        n_codes = len(exact_counts)
        reach = max(1, (n_codes + 32) // 64)
        scores = np.empty(max(n_codes - 1, 0), dtype=np.int64)
        middles = 2 * np.arange(n_codes) + 1
        for cut in range(1, n_codes):
            below, above = int(exact_counts[:cut].sum()), whole - int(exact_counts[:cut].sum())
            gain = 0.0
            if below > 0 and above > 0:
                first, last = int((middles * exact_counts)[:cut].sum()), int((middles * exact_counts)[cut:].sum())
                apart = 0.5 * unit * (last / above - first / below)
                gain = below * (above / whole) * apart * apart
            near = int(exact_counts[max(0, cut - reach) : cut + reach].sum())
            side = min(below, above, self.side_cap)
            scores[cut - 1] = int(gain * STEPS) + SIDE_WEIGHT * side - WINDOW_WEIGHT * near
        return scores

    def of_nodes(
        self,
        exact_histograms: NDArray[np.int64],
        noisy_counts: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> list[NodeCuts]:
        """Return the cuts inside the boxes of several nodes: `of_histogram`, compiled."""
        width = self.places_per_code.astype(np.float64)
        widest = ((high - low) * self.places_per_code).max(axis=1).astype(np.float64)
        scores, begin, totals = variance_scores(
            exact_histograms, low, high, width, widest, self.side_cap, SIDE_WEIGHT, WINDOW_WEIGHT, float(STEPS)
        )
        return node_cuts(exact_histograms, scores, begin, totals, low, 1)
