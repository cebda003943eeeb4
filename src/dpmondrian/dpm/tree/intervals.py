"""The split interval size (paper, algorithm 2), corrected: pooled gaps, chosen over public candidates.

For a normal distribution with standard deviation sigma, the gaps between n sorted values scale like
``sigma / n``, so the paper's look-up table is one number: the 65 % point of n times a gap for sigma = 1.
Each candidate sigma then stands for one gap length, and the exponential mechanism chooses among the
candidates directly by how many of the pooled gaps are shorter.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpmondrian.dpm.draws import INTERVAL_SIZE
from dpmondrian.engines import Engine
from dpmondrian.privacy import Door

__all__ = ["GAP_PERCENTILE", "SIGMAS", "choose_n_intervals", "gap_score_change", "standard_gap"]

GAP_PERCENTILE = 65
SIGMAS = np.arange(1, 60) / 400.0
"""Candidate standard deviations as fractions of a column's range: the paper's 0.5, 1.0, ..., 29.5 on [-100, 100]."""

MOST_SORTED = 2**20
"""About so many rows are sorted; of larger tables a share is looked at, whose gaps tell the same and are longer."""


@lru_cache(maxsize=1)
def standard_gap() -> float:
    """Return g with ``P(n * gap <= g) = 0.65`` for many sorted standard normal values.

    ``P(n * gap <= g) = 1 - integral of phi(x) * exp(-phi(x) * g) dx``, solved by bisection.
    """
    x = np.linspace(-12.0, 12.0, 20_001)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def share_within(g: float) -> float:
        return 1.0 - float(np.sum(density * np.exp(-density * g)) * (x[1] - x[0]))

    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share_within(middle) < GAP_PERCENTILE / 100 else (low, middle)
    return high


def gap_score_change(n_columns: int) -> int:
    """Return the most that one row changes the score ``-|100 * #{gaps <= v} - 65 * #gaps|``.

    Privacy
    -------
    In each column a new value replaces one gap by two shorter ones, or adds one at an end: the number
    of gaps grows by 1 (0 for the first row) and those ``<= v`` by 0, 1 or 2. So the term changes by at most
    ``200 - 65`` per column. Argument: ``docs/privacy/interval-size.md``; tests that try to break it:
    ``tests/privacy/test_gap_score.py``.
    """
    return (200 - GAP_PERCENTILE) * n_columns


def choose_n_intervals(engine: Engine, door: Door, noisy_total: int, n_columns: int) -> int:
    """Return the number of intervals per column, ``range / (sigma / 2)``, with sigma chosen privately."""
    share = min(1.0, MOST_SORTED / max(noisy_total, 1))
    thresholds = SIGMAS * standard_gap() / (share * max(noisy_total, 1))
    exact_within, exact_gaps = engine.gap_counts(thresholds, share)
    exact_scores = -np.abs(100 * exact_within - GAP_PERCENTILE * exact_gaps)
    # The usual factor 2: the score may move up for one candidate and down for another.
    [chosen] = door.select(INTERVAL_SIZE, None, [exact_scores], [2 * gap_score_change(n_columns)])
    return max(1, int(2.0 / SIGMAS[chosen]))
