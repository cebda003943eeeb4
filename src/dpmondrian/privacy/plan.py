"""A plan: every draw of a run with its noise and its cost, made before any row is read.

A planned draw fixes its *multiplier*, the noise scale per unit of sensitivity. Sensitivities of the
centres depend on what is released on the way (a leaf's box, a radius); multipliers and costs do not.

How a budget is shared is decided beside the algorithm: `dpmondrian.dpm.plan`, `dpmondrian.suggest.draws`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dpmondrian.common.checks import LEAST_DELTA
from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, Priced, discreteness
from dpmondrian.privacy.accountants.zcdp import (
    bounded_range_rho,
    epsilon_from_rho,
    gaussian_multiplier,
    gaussian_rho,
)
from dpmondrian.privacy.draws import GAUSSIAN, Draw

__all__ = ["BELOW_BUDGET", "Plan", "PlannedDraw", "planned_draw"]

BELOW_BUDGET = 1.0 - 1e-9
"""Planned costs are kept this much below the budget, so that rounding cannot carry them above it."""

_ONE_WAY_TOLERANCE = 1.0 + 1e-12
_MOST_FOR_SLACK = 20.0
"""Up to this epsilon the slack of epsilon keeps within that of delta."""


@dataclass(frozen=True)
class PlannedDraw:
    """One draw at one level: all its nodes hold disjoint rows, so together they cost what one costs.

    `delta` is the probability that is set aside for this draw alone.
    """

    draw: Draw
    level: int | None
    mechanism: str
    multiplier: float
    cost: float
    delta: float = 0.0

    @property
    def name(self) -> str:
        """Name of the draw."""
        return self.draw.name

    @property
    def may_be_skipped(self) -> bool:
        """Whether a run may end without it."""
        return self.draw.may_be_skipped(self.level)


@dataclass(frozen=True)
class Plan:
    """All draws of a run and the budget they must fit.

    Attributes
    ----------
    currency : {"rho", "epsilon"}
        How costs compose. ``"rho"``: zCDP, they add up. ``"epsilon"``: they add up, and so do the draws' deltas.
    accountant : {"zcdp", "pld"}
        How costs in rho become an epsilon: by conversion of their sum, or through the composed privacy loss.
    """

    epsilon: float
    delta: float
    currency: str
    draws: tuple[PlannedDraw, ...]
    accountant: str = "zcdp"

    def find(self, draw: Draw, level: int | None = None) -> PlannedDraw:
        """Return the planned draw of that kind and level."""
        for planned in self.draws:
            if planned.level == level and planned.draw == draw:
                return planned
        raise BudgetError(f"The plan has no draw {draw.name!r} at level {level}; nothing was drawn.")

    def steps(self, draw: Draw) -> list[int]:
        """Return the levels or steps for which a draw is planned, in order."""
        return [planned.level for planned in self.draws if planned.draw == draw and planned.level is not None]

    def cost_of(self, mechanism: str, multiplier: float, delta: float = 0.0) -> float:
        """Return what a mechanism costs at a noise scale of `multiplier` sensitivities."""
        if self.currency == "rho":
            return gaussian_rho(multiplier) if mechanism == GAUSSIAN else bounded_range_rho(1.0 / multiplier)
        if mechanism == GAUSSIAN:
            return epsilon_from_rho(gaussian_rho(multiplier), delta)
        return 1.0 / multiplier

    def _repriced(self) -> list[PlannedDraw]:
        """Return the draws at the costs that their noise multipliers amount to."""
        costs = [self.cost_of(draw.mechanism, draw.multiplier, draw.delta) for draw in self.draws]
        return [replace(draw, cost=cost) for draw, cost in zip(self.draws, costs, strict=True)]

    @property
    def rho(self) -> float | None:
        """The whole zCDP cost, or None where zCDP is not used."""
        return math.fsum(draw.cost for draw in self._repriced()) if self.currency == "rho" else None

    def spent(self) -> float:
        """Return the epsilon (at the plan's delta) that the recomputed costs amount to."""
        return self.composed(self._repriced())

    def composition(self) -> Composition:
        """Return what the draws are dominated by, together, with Gaussian noise that is nearly continuous."""
        return Composition.of(self.draws, self.currency, fine=True)

    def composed(self, draws: Iterable[Priced]) -> float:
        """Return the epsilon, at the plan's delta, that draws with these costs amount to.

        With ``accountant="pld"`` it is that of their composed privacy loss, with what is kept back, or of their rho if that is
        less: both hold. Where nearly all of the budget goes to selections, zCDP is the better bound.
        """
        draws = list(draws)
        total = math.fsum(draw.cost for draw in draws)
        by_sum = epsilon_from_rho(total, self.delta) if self.currency == "rho" else total
        if self.accountant != "pld":
            return by_sum
        composition = Composition.of(draws, self.currency, fine=True)
        return min(by_sum, composition.epsilon(self.delta * (1.0 - PLD_SLACK)) + PLD_SLACK * self.epsilon)

    def _delta_of_draws(self) -> float:
        return math.fsum(draw.delta for draw in self.draws)

    @property
    def _slack(self) -> float:
        """Part of epsilon and delta that is kept back because Gaussian noise is not continuous."""
        return PLD_SLACK if self.accountant == "pld" else 0.0

    def is_fine(self, draw: PlannedDraw, scale: float, n_changed: int) -> bool:
        """Return whether a draw's noise is near enough to continuous noise for the slack that is kept back.

        Only composed privacy losses ask for it, of Gaussian noise. `scale` is the least scale of the draw, in the unit of its
        whole numbers, and `n_changed` how many of these one person changes (``docs/privacy/joint.md``).
        """
        if self._slack == 0.0 or draw.mechanism != GAUSSIAN:
            return True
        n_draws = sum(planned.mechanism == GAUSSIAN for planned in self.draws)
        log_tail = math.log(self.delta - self._delta_of_draws()) + math.log(0.25 * self._slack / n_draws)
        loss = n_draws * discreteness(scale, n_changed, 1.0 / draw.multiplier, log_tail)
        return loss <= 0.5 * self._slack * min(self.epsilon, _MOST_FOR_SLACK)

    def verify(self) -> None:
        """Refuse a plan whose recomputed cost exceeds the budget or differs from what it declares."""
        if 0.0 < self.delta < LEAST_DELTA:
            raise BudgetError(
                f"The plan has delta = {self.delta:g}, too small for the accountant. Nothing was drawn. Use a delta of at least"
                f" {LEAST_DELTA:g}, or 0."
            )
        repriced = self._repriced()
        spent = self.composed(repriced)
        if spent > self.epsilon or self._delta_of_draws() > self.delta:
            raise BudgetError(
                f"The plan costs epsilon = {spent:.9g} at delta = {self.delta:g}, more than the budget "
                f"epsilon = {self.epsilon:g}. Nothing was drawn. Decrease the shares or increase 'epsilon'."
            )
        for draw, priced in zip(self.draws, repriced, strict=True):
            if priced.cost > draw.cost * _ONE_WAY_TOLERANCE:
                raise BudgetError(f"The planned draw {draw.name!r} declares less than its noise costs.")


def planned_draw(currency: str, draw: Draw, level: int | None, mechanism: str, cost: float) -> PlannedDraw:
    """Return the draw with the noise that costs `cost`: the inverse of `Plan.cost_of`, where no delta is set aside."""
    if currency == "epsilon":
        multiplier = 1.0 / cost
    elif mechanism == GAUSSIAN:
        multiplier = gaussian_multiplier(cost)
    else:
        multiplier = 1.0 / math.sqrt(8.0 * cost)
    return PlannedDraw(draw, level, mechanism, multiplier, cost)
