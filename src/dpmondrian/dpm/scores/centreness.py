"""Centreness: enough rows on both sides of the cut (paper, definition 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.scores.steps import STEPS

__all__ = ["centreness", "centreness_change", "centreness_slopes"]


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
