"""Emptiness: few rows near the cut (paper, definition 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.scores.steps import STEPS

__all__ = ["emptiness", "emptiness_change"]


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
