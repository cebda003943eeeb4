"""Promises that are not worth much: what is doubtful about an epsilon and a delta, as facts; `dpmondrian.show` has the words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Doubt", "PromiseDoubt", "promise_doubts"]

LARGE_EPSILON, LARGE_DELTA = 10.0, 1e-3
"""Above, a promise is next to none; both are far beyond what is usual."""


class Doubt(Enum):
    """What is doubtful about a promise."""

    LARGE_EPSILON = "epsilon"
    LARGE_DELTA = "delta"
    DELTA_ABOVE_ROWS = "delta of a row"


@dataclass(frozen=True)
class PromiseDoubt:
    """A doubt, with the numbers that raise it; `n_rows` is public, a guess or a released count."""

    kind: Doubt
    value: float
    n_rows: int | None = None


def promise_doubts(epsilon: float, delta: float, n_rows: int | None = None) -> list[PromiseDoubt]:
    """Return what is doubtful about a promise, also for this many rows where their number is given."""
    found = []
    if epsilon > LARGE_EPSILON:
        found.append(PromiseDoubt(Doubt.LARGE_EPSILON, epsilon))
    if n_rows is not None and delta > 1.0 / n_rows:
        found.append(PromiseDoubt(Doubt.DELTA_ABOVE_ROWS, delta, n_rows))
    elif delta > LARGE_DELTA:
        found.append(PromiseDoubt(Doubt.LARGE_DELTA, delta))
    return found
