"""How good a cut is, in whole steps, each score beside the interval in which one row can move it.

`Score` wants few rows near a cut (emptiness) and enough on both sides (centreness); paper, definitions 6 to 8. `VarianceScore` wants
rows much nearer to the means of the two sides than to one mean. Whole numbers are exact, and what one row can change does not depend
on the node: a score is that of the paper times the node's noisy count times `STEPS`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.kernels.scores import cut_scores, first_cut, variance_scores

__all__ = [
    "STEPS",
    "NodeCuts",
    "Score",
    "VarianceScore",
    "centreness",
    "centreness_slopes",
    "emptiness",
]

STEPS = 2**16
"""Score steps in a score of 1 for one row."""
SIDE_WEIGHT, WINDOW_WEIGHT = 2 * STEPS, STEPS // 10
"""Weights of the rows on the smaller side and of those near the cut, beside a reduction of at most 1 per row."""

_SIDES = 1.5
"""The smaller side counts up to this many size limits: enough for the cut not to be rejected, and no reason to be central."""


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
    """Column and cut of candidates in the order of the score: where each column's begin among those of all nodes, and in codes (`low`)."""

    begin: NDArray[np.int64]
    low: NDArray[np.int64]
    stride: int

    def __call__(self, pick: int) -> tuple[int, int]:
        place = int(self.begin[0]) + pick
        column = bisect_right(self.begin, place) - 1
        return column, int(first_cut(self.low[column], self.stride)) + self.stride * (place - int(self.begin[column]))


def _node_cuts(
    exact_histograms: NDArray[np.int64],
    scores: NDArray[np.int64],
    begin: NDArray[np.int64],
    totals: NDArray[np.int64],
    low: NDArray[np.int64],
    stride: int,
) -> list[NodeCuts]:
    """Return the cuts of several nodes, whose scores a kernel wrote one after the other; `begin` says where each column's begin."""
    return [
        NodeCuts(scores[first:end], exact_histogram, total, _Positions(begins, lows, stride))
        for exact_histogram, total, first, end, begins, lows in zip(
            exact_histograms, totals.tolist(), begin[:, 0].tolist(), begin[:, -1].tolist(), begin, low, strict=True
        )
    ]


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
        return _node_cuts(exact_histograms, scores, begin, totals, low, stride)

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
        return _node_cuts(exact_histograms, scores, begin, totals, low, 1)
