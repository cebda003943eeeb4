"""Valleys: a cut is good where few rows lie between two humps, at the width at which that shows best.

For a window of rows around a cut, V is the number of rows in it (the valley) and P the number in the fullest window of
the same width that does not overlap it, on whichever side that is lower (the peak). The score is ``P - 1.5 V``
plus a little centreness. On the slope of a hump P is below V, in a tail both are near zero: neither wins against a
true valley, and where there is none, a tail wins, whose cut is then rejected for its small side. So the score
also knows when to stop. Emptiness (`scoring.emptiness`) does not: it always finds an emptiest place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.threads import Threads
from dpmondrian.dpm.scores.centreness import centreness_slopes
from dpmondrian.dpm.scores.combine import NodeCuts
from dpmondrian.dpm.scores.steps import STEPS
from dpmondrian.kernels.compiled import valley_scores

__all__ = ["CENTRENESS_WEIGHT", "VALLEY_WEIGHT", "ValleyScore", "window_widths"]

VALLEY_WEIGHT = 1.5
"""Rows of the peak that one row of the valley outweighs. Above 1, so that flat data is not worth a cut."""

CENTRENESS_WEIGHT = 0.035
"""Weight of centreness for windows of a sixteenth of the range, falling with the square of the width.

It lets cuts happen in the sparse middle of nodes whose clusters overlap in every single column. A central cut through
flat data scores ``weight - V / (2 n)``, and V / n is at least 1/16 for the widest windows: uniform data is left
alone as long as the weight is below 1/32 or so. Narrow windows get less, because their counts vary more by chance."""

_NODES_PER_THREAD = 8
"""Fewer nodes than this are not worth a thread."""

_FEWEST_WINDOWS = 16
"""The widest windows divide a column's range into this many."""


def window_widths(n_codes: int) -> list[int]:
    """Return the widths of a column's windows in codes: 2, 4, 8, ... up to a sixteenth of its range, at least 2."""
    widths = [2]
    while 2 * widths[-1] * _FEWEST_WINDOWS <= n_codes:
        widths.append(2 * widths[-1])
    return widths


@dataclass(frozen=True)
class ValleyScore:
    """The score of a valley, beside the interval in which one added row can move it.

    `t` and `q` shape centreness, see `scoring.centreness`.
    """

    t: float
    q: float

    def of_nodes(
        self,
        exact_histograms: NDArray[np.int64],
        noisy_counts: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        n_codes: NDArray[np.int64],
    ) -> list[NodeCuts]:
        """Return the cuts inside the boxes ``low < cut < high`` of several nodes with their exact scores.

        Parameters
        ----------
        exact_histograms : int64 array of shape (n_nodes, n_columns, most_codes)
            Rows by code.
        noisy_counts : int64 array of shape (n_nodes,)
            Released counts, positive.
        low, high : int64 arrays of shape (n_nodes, n_columns)
        n_codes : int64 array of shape (n_columns,)
        """
        columns, widths, *slopes = self._windows(tuple(n_codes.tolist()))

        def of_part(part: NDArray[np.int64]) -> list[NodeCuts]:
            histograms = exact_histograms[part]
            scores, column_of, cut_of, begin, totals = valley_scores(
                histograms, low[part], high[part], n_codes, columns, widths, noisy_counts[part], STEPS, _valley_steps(), *slopes
            )  # fmt: skip
            slices = [slice(begin[k], begin[k + 1]) for k in range(len(part))]
            return [
                NodeCuts(scores[own], histograms[k], total, _Positions(column_of[own], cut_of[own]))
                for k, (own, total) in enumerate(zip(slices, totals.tolist(), strict=True))
            ]

        n_nodes = len(noisy_counts)
        parts = np.array_split(np.arange(n_nodes), min(os.cpu_count() or 1, 1 + n_nodes // _NODES_PER_THREAD))
        return [cuts for part in Threads(None, len(parts)).map(of_part, parts) for cuts in part]

    @lru_cache(maxsize=4)  # noqa: B019 (a score is small, and one serves all levels of a fit)
    def _windows(self, n_codes: tuple[int, ...]) -> tuple[NDArray[Any], ...]:
        """Return column, width and the four numbers of weighted centreness of every kind of window, as arrays."""
        columns, widths, slopes = [], [], []
        for column, codes in enumerate(n_codes):
            for width in window_widths(codes):
                columns.append(column)
                widths.append(width)
                slopes.append(self._slopes(CENTRENESS_WEIGHT * min(1.0, width * _FEWEST_WINDOWS / codes) ** 2))
        outer, inner, starts, caps = zip(*slopes, strict=True)
        whole = (np.array(item, dtype=np.int64) for item in (columns, widths, outer, inner))
        return *whole, np.array(starts), np.array(caps, dtype=np.int64)

    def _slopes(self, weight: float) -> tuple[int, int, float, int]:
        """Return the slopes, the inner start per row and the cap per row of weighted centreness, in score steps."""
        outer, inner, start = centreness_slopes(self.t, self.q)
        return round(weight * outer), round(weight * min(inner, outer)), weight * start, round(weight * STEPS)

    @property
    def change(self) -> tuple[int, int]:
        """Interval of score changes, over all cuts, when one row is added (in score steps).

        Privacy
        -------
        A row lies in the window of the cut or in windows that do not overlap it: it raises V by one and leaves P, or
        raises P by at most one and leaves V. It raises the smaller side by 0 or 1. Argument:
        ``docs/privacy/splits.md``; tests that try to break it: ``tests/privacy/test_valley_range.py``.
        """
        return -_valley_steps(), STEPS + self._slopes(CENTRENESS_WEIGHT)[0]

    @property
    def range(self) -> int:
        """Width of `change`: what a selection pays for."""
        low, high = self.change
        return high - low


@dataclass(frozen=True)
class _Positions:
    """Column and cut of every candidate (public)."""

    column: NDArray[np.int32]
    cut: NDArray[np.int32]

    def __call__(self, pick: int) -> tuple[int, int]:
        return int(self.column[pick]), int(self.cut[pick])


def _valley_steps() -> int:
    return round(VALLEY_WEIGHT * STEPS)
