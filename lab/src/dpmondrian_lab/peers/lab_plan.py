"""Plans of the laboratory: joint composition, max cover, and published code that does not keep its promise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from dpmondrian.privacy import GAUSSIAN, LAPLACE, Ledger, Plan, PlannedDraw
from dpmondrian.privacy.accountants import Composition, Priced
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, joint_epsilon

__all__ = [
    "BOUNDED_LAPLACE",
    "JOINT",
    "MAX_COVER",
    "LabLedger",
    "LabPlan",
    "joint_composition",
    "max_cover_epsilon",
]

MAX_COVER, BOUNDED_LAPLACE = "max cover", "bounded Laplace"
"""Mechanisms that only peers use."""

JOINT = "joint"
"""The currency of plans whose costs compose through the privacy loss: a cost is an epsilon, for Gaussian noise its mu."""


@dataclass(frozen=True)
class LabPlan(Plan):
    """A plan of a peer.

    Attributes
    ----------
    currency : {"rho", "epsilon", "joint"}
        As in `Plan`, or `JOINT`.
    defects : tuple of str
        Why the plan does not keep its promise: only in variants that repeat the mistakes of published code. Such a plan is
        not held to its budget, and its statement says so.
    """

    defects: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: Plan, defects: tuple[str, ...]) -> Self:
        """Return a plan of the core with defects."""
        return cls(plan.epsilon, plan.delta, plan.currency, plan.draws, plan.stages, defects=defects)

    def cost_of(self, mechanism: str, multiplier: float, delta: float = 0.0) -> float:
        """Return what a mechanism costs at a noise scale of `multiplier` sensitivities."""
        if mechanism == MAX_COVER:
            return max_cover_epsilon(1.0 / multiplier, delta)
        return 1.0 / multiplier if self.currency == JOINT else super().cost_of(mechanism, multiplier, delta)

    def composition(self) -> Composition:
        """Return what the draws are dominated by, together."""
        return joint_composition(self.draws) if self.currency == JOINT else super().composition()

    def composed(self, draws: Iterable[Priced]) -> float:
        """Return the epsilon, at the plan's delta, that draws with these costs amount to."""
        if self.currency != JOINT:
            return super().composed(draws)
        draws = list(draws)
        gaussian = [draw.cost for draw in draws if draw.mechanism == GAUSSIAN]
        laplace = [draw.cost for draw in draws if draw.mechanism == LAPLACE]
        others = [draw.cost for draw in draws if draw.mechanism not in (GAUSSIAN, LAPLACE)]
        delta = (self.delta - math.fsum(draw.delta for draw in draws)) * (1.0 - GAUSSIAN_SLACK)
        slack = GAUSSIAN_SLACK * self.epsilon if gaussian else 0.0
        return math.fsum(others) + joint_epsilon(delta, laplace, math.hypot(*gaussian)) + slack

    @property
    def _slack(self) -> float:
        return GAUSSIAN_SLACK if self.currency == JOINT else super()._slack

    def verify(self) -> None:
        """Refuse a plan that does not fit its budget, unless it is known to have defects."""
        if not self.defects:
            super().verify()


class LabLedger(Ledger):
    """Where the plan repeats the defects of published code, an entry states what its noise costs, whatever was planned."""

    plan: LabPlan

    def _stated_cost(self, draw: PlannedDraw, cost: float) -> float:
        return cost if self.plan.defects else super()._stated_cost(draw, cost)


def max_cover_epsilon(exponent: float, delta: float) -> float:
    """Return the epsilon of a whole series of max-cover draws at `delta` (``docs/privacy/max_cover.md``)."""
    return max(exponent, math.expm1(exponent) * math.log(1.0 / delta))


def joint_composition(draws: Iterable[Priced]) -> Composition:
    """Return what draws with costs in `JOINT` are dominated by, together."""
    draws = list(draws)
    gaussian = [draw for draw in draws if draw.mechanism == GAUSSIAN]
    others = Composition.of([draw for draw in draws if draw.mechanism != GAUSSIAN], "epsilon", fine=True)
    mu = math.sqrt(2.0 * math.fsum(draw.cost * draw.cost / 2.0 for draw in gaussian))
    failure = math.fsum([others.failure, *(draw.delta for draw in gaussian)])
    return replace(others, mu=mu, failure=failure)
