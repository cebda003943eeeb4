"""The score of a cut: centreness plus weighted emptiness (paper, definition 8)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.scores.centreness import centreness, centreness_change, centreness_slopes
from dpmondrian.dpm.scores.emptiness import emptiness, emptiness_change
from dpmondrian.dpm.scores.steps import STEPS
from dpmondrian.kernels.compiled import cut_scores, first_cut

__all__ = ["NodeCuts", "Score"]


@dataclass(frozen=True)
class NodeCuts:
    """The cuts that a node may take with their exact scores; `position` gives column and cut of a candidate (public)."""

    exact_scores: NDArray[np.int64]
    exact_histogram: NDArray[np.int64]
    exact_total: int
    position: Callable[[int], tuple[int, int]]

    def exact_sides(self, column: int, cut: int) -> tuple[int, int]:
        """Return the numbers of rows below and above a cut."""
        exact_below = int(self.exact_histogram[column, :cut].sum())
        return exact_below, self.exact_total - exact_below


@dataclass(frozen=True)
class _Positions:
    """Column and cut of candidates in the order of the score: `begin` and `low` are where each column's begin."""

    begin: list[int]
    low: list[int]
    stride: int

    def __call__(self, pick: int) -> tuple[int, int]:
        column = bisect_right(self.begin, pick) - 1
        return column, int(first_cut(self.low[column], self.stride)) + self.stride * (pick - self.begin[column])


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
        return centreness(smaller_side, noisy_count, self.t, self.q) + emptiness(window, noisy_count, self.alpha)

    def of_nodes(
        self,
        exact_histograms: NDArray[np.int64],
        noisy_counts: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        stride: int,
    ) -> list[NodeCuts]:
        """Return the cuts inside the boxes ``low < cut < high`` of several nodes: `of_histogram`, compiled."""
        outer, inner, start = centreness_slopes(self.t, self.q)
        starts = np.array([round(start * count) for count in noisy_counts.tolist()], dtype=np.int64)
        scores, begin, totals = cut_scores(
            exact_histograms, low, high, stride, noisy_counts, self.two_sided, (outer, inner), starts, STEPS,
            -emptiness_change(self.alpha)[0],
        )  # fmt: skip
        cuts = []
        lows = low.tolist()
        for k, (total, ends) in enumerate(zip(totals.tolist(), begin.tolist(), strict=True)):
            position = _Positions([end - ends[0] for end in ends], lows[k], stride)
            cuts.append(NodeCuts(scores[ends[0] : ends[-1]], exact_histograms[k], total, position))
        return cuts

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
