"""A draw: one kind of value that is released with noise. Each is defined once, beside the algorithm that makes it.

DPM's are in `dpmondrian.dpm.draws`, those of suggested bounds in `dpmondrian.suggest.draws`. Plan, ledger, door, forecast, report
and audit take them from there. The names of draws and mechanisms stand in released files, and a name selects the stream of
seeded noise: none may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

GAUSSIAN, LAPLACE = "discrete Gaussian", "discrete Laplace"
"""Mechanisms that add noise to whole numbers."""
EXPONENTIAL, PERMUTE_AND_FLIP = "exponential mechanism", "permute-and-flip"
"""Mechanisms that choose one of several candidates."""

ROWS, HALF_WIDTHS, RADII = "rows", "half-widths of the box", "radii"
"""What one row changes by one: a count, a sum within a box, a sum within a ball."""


class Kind(StrEnum):
    """How a draw hides one person: by noise that is added, or by a random choice among candidates."""

    NOISE = "noise"
    CHOICE = "choice"


@dataclass(frozen=True)
class Draw:
    """What is drawn, whatever the budget.

    Attributes
    ----------
    name : str
        Its name in the ledger, and the key of the words that describe it.
    kind : Kind
    unit : str
        What its sensitivity and scale are measured in.
    skippable_from : int or None
        The level from which on a run may end without it: 0 for any. None where every run makes it.
    """

    name: str
    kind: Kind
    unit: str
    skippable_from: int | None = None

    def may_be_skipped(self, level: int | None) -> bool:
        """Return whether a run may end without this draw at a level."""
        return self.skippable_from is not None and (level or 0) >= self.skippable_from
