"""The door, and everything behind it: plan, ledger, accountants, mechanisms."""

from __future__ import annotations

from dpmondrian.privacy.door import MOST_PARTS_OF_SUMS, OBSERVER, Door, in_whole_units
from dpmondrian.privacy.draws import (
    EXPONENTIAL,
    GAUSSIAN,
    HALF_WIDTHS,
    LAPLACE,
    PERMUTE_AND_FLIP,
    RADII,
    ROWS,
    Draw,
    Kind,
)
from dpmondrian.privacy.ledger import NOT_DRAWN, Entry, Ledger
from dpmondrian.privacy.plan import BELOW_BUDGET, Plan, PlannedDraw, planned_draw
from dpmondrian.privacy.promise import Doubt, promise_doubts

__all__ = [
    "BELOW_BUDGET",
    "EXPONENTIAL",
    "GAUSSIAN",
    "HALF_WIDTHS",
    "LAPLACE",
    "MOST_PARTS_OF_SUMS",
    "NOT_DRAWN",
    "OBSERVER",
    "PERMUTE_AND_FLIP",
    "RADII",
    "ROWS",
    "Door",
    "Doubt",
    "Draw",
    "Entry",
    "Kind",
    "Ledger",
    "Plan",
    "PlannedDraw",
    "in_whole_units",
    "planned_draw",
    "promise_doubts",
]
