"""The score of a cut: few rows near it (emptiness), and enough rows on both sides (centreness); paper, definitions 6 to 8."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.scores import cut_scores, first_cut

__all__ = ["STEPS", "NodeCuts", "Score", "centreness", "centreness_slopes", "emptiness", "node_cuts"]

STEPS = 2**16
"""Score steps in a score of 1 for one row."""


def emptiness(window: NDArray[np.int64], noisy_count: int, weight: float = 1.0) -> NDArray[np.int64]:
    """Return ``weight * (1 - window / noisy_count)`` in score steps.

    Parameters
    ----------
    window : int64 array
        Rows |s| inside the interval around each cut.
    noisy_count : int
        Released count of the node, positive.
    weight : float
        The paper's alpha.
    """
    return _weight_steps(weight) * (noisy_count - window)


def emptiness_change(weight: float = 1.0) -> tuple[int, int]:
    """Return the interval of changes when one row is added: a row lies inside a window or it does not.

    Privacy
    -------
    ``|s|`` grows by 0 or 1 at a fixed released count, so the score moves by ``[-weight, 0]`` (times
    `STEPS`): in the paper's units ``alpha / noisy_count``. Argument: ``docs/privacy/splits.md``; tests that
    try to break it: ``tests/privacy/test_score_range.py``.
    """
    return -_weight_steps(weight), 0


def _weight_steps(weight: float) -> int:
    return round(weight * STEPS)


def centreness(smaller_side: NDArray[np.int64], noisy_count: int, t: float, q: float) -> NDArray[np.int64]:
    """Return the centreness of cuts in score steps.

    The paper's two branches, with m rows on the smaller side and n the noisy count: ``m * t / (n * q)``
    up to ``m = n * q``, then ``(t - 2q) / (1 - 2q) + m * (1 - t) / (n / 2 - n * q)``. For ``t >= 2q`` the first is
    the steeper one, so their minimum is the same function; it is capped at 1 where m exceeds n / 2.

    Parameters
    ----------
    smaller_side : int64 array
        ``min(r, |S| - r)`` with both sides counted (default), or the paper's ``min(r, n - r)``.
    noisy_count : int
        Released count of the node, positive.
    t, q : float
        ``t >= 2q > 0``.
    """
    outer, inner, start = centreness_slopes(t, q)
    rising = np.minimum(outer * smaller_side, round(start * noisy_count) + inner * smaller_side)
    return np.minimum(rising, STEPS * noisy_count)


def centreness_change(t: float, q: float, two_sided: bool = True) -> tuple[int, int]:
    """Return the interval of changes when one row is added.

    Privacy
    -------
    A concave, increasing function of m whose steepest slope is ``t / q`` (times `STEPS`). With both sides
    counted, a new row raises m by 0 or 1: ``[0, t/q]``. With the paper's ``min(r, n - r)`` it may also lower
    m by 1: ``[-t/q, t/q]``. Argument: ``docs/privacy/splits.md``; tests that try to break it:
    ``tests/privacy/test_score_range.py``.
    """
    outer, _, _ = centreness_slopes(t, q)
    return (0 if two_sided else -outer), outer


def centreness_slopes(t: float, q: float) -> tuple[int, int, float]:
    """Return the outer slope, the inner slope and the inner branch's start, in score steps per row."""
    outer = round(STEPS * t / q)
    inner = min(outer, round(STEPS * (1.0 - t) / (0.5 - q)))
    return outer, inner, STEPS * (t - 2.0 * q) / (1.0 - 2.0 * q)


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


def node_cuts(
    exact_histograms: NDArray[np.int64],
    scores: NDArray[np.int64],
    begin: NDArray[np.int64],
    totals: NDArray[np.int64],
    low: NDArray[np.int64],
    stride: int,
) -> list[NodeCuts]:
    """Return the cuts of several nodes, whose scores a kernel wrote one after the other; `begin` says where each column's begin."""
    cuts = []
    lows = low.tolist()
    for k, (total, ends) in enumerate(zip(totals.tolist(), begin.tolist(), strict=True)):
        position = _Positions([end - ends[0] for end in ends], lows[k], stride)
        cuts.append(NodeCuts(scores[ends[0] : ends[-1]], exact_histograms[k], total, position))
    return cuts


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
        return node_cuts(exact_histograms, scores, begin, totals, low, stride)

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
