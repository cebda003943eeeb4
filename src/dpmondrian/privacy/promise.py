"""Promises that are not worth much: what is doubtful about an epsilon and a delta, as facts; `dpmondrian.show` has the words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LARGE_EPSILON, LARGE_DELTA = 10.0, 1e-3
"""Above, a promise is next to none; both are far beyond what is usual."""

_USUAL_DELTA = 1e-7


@dataclass(frozen=True)
class Doubt:
    """Something about a run that promises little, or will not work.

    Attributes
    ----------
    key : str
        What it is; the key of its words is "doubt." and this.
    parameter : str
        The parameter that it follows from, if it is one.
    values : mapping from str to a number, or to names
        What the words need.
    """

    key: str
    parameter: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def promise_doubts(epsilon: float, delta: float, n_rows: int | None = None) -> list[Doubt]:
    """Return what is doubtful about a promise; the number of rows is public, a guess or a released count."""
    found = []
    if epsilon > LARGE_EPSILON:
        found.append(Doubt("large_epsilon", "epsilon", {"epsilon": epsilon}))
    if n_rows is not None and delta > 1.0 / n_rows:
        better = 10.0 ** -(math.ceil(math.log10(n_rows)) + 2)  # at most a hundredth of 1 / n
        found.append(Doubt("delta_above_one_row", "delta", {"delta": delta, "rows": n_rows, "better": better}))
    elif delta > LARGE_DELTA:
        found.append(Doubt("large_delta", "delta", {"delta": delta, "better": _USUAL_DELTA}))
    return found
