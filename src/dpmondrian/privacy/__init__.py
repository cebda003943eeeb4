"""The door, and everything behind it: plan, ledger, accountants, mechanisms."""

from __future__ import annotations

from dpmondrian.privacy.door import Door
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
from dpmondrian.privacy.integers import check_noise_fits, in_whole_units
from dpmondrian.privacy.ledger import NOT_DRAWN, Entry, Ledger
from dpmondrian.privacy.plan import BELOW_BUDGET, Plan, PlannedDraw, planned_draw, staged_plan, with_stages
from dpmondrian.privacy.promise import Doubt, promise_doubts

__all__ = [
    "BELOW_BUDGET",
    "EXPONENTIAL",
    "GAUSSIAN",
    "HALF_WIDTHS",
    "LAPLACE",
    "NOT_DRAWN",
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
    "check_noise_fits",
    "in_whole_units",
    "planned_draw",
    "promise_doubts",
    "staged_plan",
    "with_stages",
]
