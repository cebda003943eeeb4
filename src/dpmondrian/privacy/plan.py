"""A plan: the budget of a run, and the draws that are planned so far, each with its noise and its cost.

A planned draw fixes its *multiplier*, the noise scale per unit of sensitivity. Sensitivities of the
centres depend on what is released on the way (a leaf's box, a radius); multipliers and costs do not.

A run may plan all its draws before any row is read, or in stages: what is released decides which draws come next and what
they cost, and the budget is what holds all of them together (``docs/privacy/filter.md``).

How a budget is shared is decided beside the algorithm: `dpmondrian.dpm.plan`, `dpmondrian.suggest.draws`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from dpmondrian.common.checks import LEAST_DELTA
from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, Priced, discreteness
from dpmondrian.privacy.accountants.staged import Stages, largest_total
from dpmondrian.privacy.accountants.zcdp import (
    bounded_range_rho,
    epsilon_from_rho,
    gaussian_multiplier,
    gaussian_rho,
    rho_from_epsilon,
)
from dpmondrian.privacy.draws import EXPONENTIAL, GAUSSIAN, LAPLACE, PERMUTE_AND_FLIP, ROWS, Draw, Kind

BELOW_BUDGET = 1.0 - 1e-9
"""Planned costs are kept this much below the budget, so that rounding cannot carry them above it."""

_MECHANISMS = {
    ("rho", Kind.NOISE): GAUSSIAN,
    ("rho", Kind.CHOICE): EXPONENTIAL,
    ("epsilon", Kind.NOISE): LAPLACE,
    ("epsilon", Kind.CHOICE): PERMUTE_AND_FLIP,
}

LARGEST_COMPOSED_EPSILON = 100.0
"""Beyond, there is hardly any privacy left to account for, and composed losses would need noise in ever finer steps."""

MOST_NOISE_DRAWS = 64
"""Most draws of noise in a run with composed privacy losses: what is kept back for whole numbers is divided by it."""

_ONE_WAY_TOLERANCE = 1.0 + 1e-12
_MOST_FOR_SLACK = 20.0
"""Up to this epsilon the slack of epsilon keeps within that of delta."""


@dataclass(frozen=True)
class PlannedDraw:
    """One draw at one level: all its nodes hold disjoint rows, so together they cost what one costs.

    `delta` is the probability that is set aside for this draw alone. A `waived` draw will not be made.
    """

    draw: Draw
    level: int | None
    mechanism: str
    multiplier: float
    cost: float
    delta: float = 0.0
    waived: bool = False

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
    """The budget of a run, and the draws that are planned so far.

    Attributes
    ----------
    draws : tuple of PlannedDraw
        In the order in which they were planned; those that were waived stay in their place.
    currency : {"rho", "epsilon"}
        How costs compose. ``"rho"``: zCDP, they add up. ``"epsilon"``: they add up, and so do the draws' deltas.
    stages : Stages or None
        What costs in rho may be under composed privacy losses. None: their sum is converted to epsilon and delta.
    is_staged : bool
        Whether draws are planned on the way. Otherwise all of them are there from the start.
    """

    epsilon: float
    delta: float
    currency: str
    draws: tuple[PlannedDraw, ...]
    stages: Stages | None = None
    is_staged: bool = False

    @property
    def accountant(self) -> str:
        """How costs in rho become an epsilon: "zcdp", by conversion of their sum, or "pld", through the composed privacy loss."""
        return "zcdp" if self.stages is None else "pld"

    def find(self, draw: Draw, level: int | None = None) -> PlannedDraw:
        """Return the planned draw of that kind and level."""
        for planned in self.draws:
            if planned.level == level and planned.draw == draw and not planned.waived:
                return planned
        raise BudgetError(f"The plan has no draw {draw.name!r} at level {level}; nothing was drawn.")

    def steps(self, draw: Draw) -> list[int]:
        """Return the levels or steps for which a draw is planned, in order."""
        return [planned.level for planned in self.draws if planned.draw == draw and planned.level is not None]

    @property
    def n_planned(self) -> int:
        """Number of draws that were planned and not waived."""
        return len([planned for planned in self.draws if not planned.waived])

    def cost_of(self, mechanism: str, multiplier: float, delta: float = 0.0) -> float:
        """Return what a mechanism costs at a noise scale of `multiplier` sensitivities."""
        if self.currency == "rho":
            return gaussian_rho(multiplier) if mechanism == GAUSSIAN else bounded_range_rho(1.0 / multiplier)
        if mechanism == GAUSSIAN:
            return epsilon_from_rho(gaussian_rho(multiplier), delta)
        return 1.0 / multiplier

    @property
    def total(self) -> float:
        """Most that all draws may cost together, in the plan's currency."""
        if self.currency == "epsilon":
            return self.epsilon * BELOW_BUDGET
        if self.stages is not None:
            return self.stages.total
        return rho_from_epsilon(self.epsilon, self.delta) * BELOW_BUDGET

    @property
    def left(self) -> float:
        """Cost that no planned draw has been given yet."""
        return max(0.0, self.total - math.fsum(draw.cost for draw in self._charged()))

    def _charged(self) -> list[PlannedDraw]:
        """Return the draws whose costs count.

        What a waived draw would have cost goes to others. With composed privacy losses that holds for noise only: no noise has a
        loss as small as that of a selection (``docs/privacy/filter.md``).
        """
        kept = None if self.stages is None else EXPONENTIAL
        return [draw for draw in self.draws if not draw.waived or draw.mechanism == kept]

    def plan_draw(self, draw: Draw, level: int | None, cost: float) -> PlannedDraw:
        """Return the draw with the plan's mechanism for its kind and the noise that costs `cost`."""
        if not 0.0 < cost < math.inf:
            raise BudgetError(f"There is nothing left for the draw {draw.name!r} at level {level}; it was not planned.")
        return planned_draw(self.currency, draw, level, _MECHANISMS[self.currency, draw.kind], cost)

    def noise_at(self, cost: float) -> PlannedDraw:
        """Return the noise that a cost pays for, as that of a count."""
        return self.plan_draw(Draw("count", Kind.NOISE, ROWS), None, cost)

    def extended(self, draws: Sequence[PlannedDraw]) -> Self:
        """Return the plan with further draws; refuse them if they do not fit the budget."""
        self._check_staged()
        if self.stages is not None and self._has_decided and any(draw.mechanism == EXPONENTIAL for draw in draws):
            raise BudgetError(
                "Selections must be planned together, directly after the first draw; these were not planned."
            )
        plan = replace(self, draws=(*self.draws, *draws))
        plan.verify()
        return plan

    def without(self, draw: Draw, level: int | None) -> Self:
        """Return the plan in which a planned draw is waived."""
        self._check_staged()
        waived = self.find(draw, level)
        draws = [replace(planned, waived=True) if planned is waived else planned for planned in self.draws]
        return replace(self, draws=tuple(draws))

    def _check_staged(self) -> None:
        if not self.is_staged:
            raise BudgetError("This plan was made all at once and cannot be changed; nothing was drawn.")

    def _prices(self) -> list[float]:
        """Return the costs that the noise multipliers of the draws that count amount to."""
        return [self.cost_of(draw.mechanism, draw.multiplier, draw.delta) for draw in self._charged()]

    def _repriced(self) -> list[PlannedDraw]:
        """Return the draws that count at these costs."""
        return [replace(draw, cost=cost) for draw, cost in zip(self._charged(), self._prices(), strict=True)]

    @property
    def rho(self) -> float | None:
        """The whole zCDP cost, or None where zCDP is not used."""
        return self.total if self.currency == "rho" else None

    def spent(self) -> float:
        """Return the epsilon (at the plan's delta) that the recomputed costs amount to, or the stages whatever way is taken."""
        if self.stages is None:
            return self.composed(self._repriced())
        return self.stages.epsilon(self.delta * (1.0 - PLD_SLACK)) + PLD_SLACK * self.epsilon

    def composition(self) -> Composition:
        """Return what the planned draws are dominated by, together, with Gaussian noise that is nearly continuous."""
        return Composition.of(self._charged(), self.currency, fine=True)

    def composed(self, draws: Iterable[Priced]) -> float:
        """Return the epsilon, at the plan's delta, that draws with these costs amount to by their sum."""
        total = math.fsum(draw.cost for draw in draws)
        return epsilon_from_rho(total, self.delta) if self.currency == "rho" else total

    def _delta_of_draws(self) -> float:
        return math.fsum(draw.delta for draw in self.draws)

    @cached_property
    def _log_tail(self) -> float:
        """Logarithm of the probability of noise beyond the reach within which it is near to continuous noise, for each draw."""
        return math.log(self.delta - self._delta_of_draws()) + math.log(0.25 * self._slack / self._most_gaussian)

    @property
    def _slack(self) -> float:
        """Part of epsilon and delta that is kept back because Gaussian noise is not continuous."""
        return 0.0 if self.stages is None else PLD_SLACK

    @property
    def _most_gaussian(self) -> int:
        """Most draws of Gaussian noise that the run may make."""
        if self.stages is not None:
            return MOST_NOISE_DRAWS
        return len([draw for draw in self.draws if draw.mechanism == GAUSSIAN])

    def is_fine(self, draw: PlannedDraw, scale: float, n_changed: int) -> bool:
        """Return whether a draw's noise is near enough to continuous noise for the slack that is kept back.

        Only composed privacy losses ask for it, of Gaussian noise. `scale` is the least scale of the draw, in the unit of its
        whole numbers, and `n_changed` how many of these one person changes (``docs/privacy/joint.md``).
        """
        if self._slack == 0.0 or draw.mechanism != GAUSSIAN:
            return True
        loss = self._most_gaussian * discreteness(scale, n_changed, 1.0 / draw.multiplier, self._log_tail)
        return loss <= 0.5 * self._slack * min(self.epsilon, _MOST_FOR_SLACK)

    def verify(self) -> None:
        """Refuse a plan whose recomputed cost exceeds the budget or differs from what it declares."""
        if 0.0 < self.delta < LEAST_DELTA:
            raise BudgetError(
                f"The plan has delta = {self.delta:g}, too small for the accountant. Nothing was drawn. Use a delta of at least"
                f" {LEAST_DELTA:g}, or 0."
            )
        for draw, price in zip(self._charged(), self._prices(), strict=True):
            if not price <= draw.cost * _ONE_WAY_TOLERANCE:  # nor if one is no number
                raise BudgetError(f"The planned draw {draw.name!r} declares less than its noise costs.")
        if len({(draw.draw, draw.level) for draw in self.draws}) < len(self.draws):
            raise BudgetError("The plan has the same draw twice; nothing was drawn.")
        if self.stages is not None:
            self._verify_stages(self.stages)
        elif not (self.composed(self._repriced()) <= self.epsilon and self._delta_of_draws() <= self.delta):
            raise self._exceeded()

    def _verify_stages(self, stages: Stages) -> None:
        """Refuse stages that exceed the budget, and draws that do not keep to the stages."""
        if not stages.delta(self.epsilon * (1.0 - PLD_SLACK)) <= self.delta * (1.0 - PLD_SLACK):
            raise self._exceeded()
        if not math.fsum(draw.cost for draw in self._charged()) <= stages.total * _ONE_WAY_TOLERANCE:
            raise self._exceeded()
        if self._has_decided and not any(_same_costs(self._costs(EXPONENTIAL), way) for way in stages.ways):
            raise BudgetError("The planned selections are not those of one of the ways that were accounted for.")
        if len(self._costs(GAUSSIAN)) > MOST_NOISE_DRAWS:
            raise BudgetError(f"A run with composed privacy losses may have at most {MOST_NOISE_DRAWS} draws of noise.")

    @property
    def _has_decided(self) -> bool:
        """Whether draws beyond the first noise are planned, so that a way was taken."""
        first = 0.0 if self.stages is None else self.stages.first
        return bool(self._costs(EXPONENTIAL)) or math.fsum(self._costs(GAUSSIAN)) > first * _ONE_WAY_TOLERANCE

    def _costs(self, mechanism: str) -> list[float]:
        return [draw.cost for draw in self._charged() if draw.mechanism == mechanism]

    def _exceeded(self) -> BudgetError:
        return BudgetError(
            f"The plan costs epsilon = {self.spent():.9g} at delta = {self.delta:g}, more than the budget "
            f"epsilon = {self.epsilon:g}. Nothing was drawn. Decrease the shares or increase 'epsilon'."
        )


def _same_costs(costs: Sequence[float], expected: Sequence[float]) -> bool:
    """Return whether these are the same costs, in any order."""
    pairs = zip(sorted(costs), sorted(expected), strict=False)
    return len(costs) == len(expected) and all(math.isclose(one, other, rel_tol=1e-12) for one, other in pairs)


def planned_draw(currency: str, draw: Draw, level: int | None, mechanism: str, cost: float) -> PlannedDraw:
    """Return the draw with the noise that costs `cost`: the inverse of `Plan.cost_of`, where no delta is set aside."""
    if currency == "epsilon":
        multiplier = 1.0 / cost
    elif mechanism == GAUSSIAN:
        multiplier = gaussian_multiplier(cost)
    else:
        multiplier = 1.0 / math.sqrt(8.0 * cost)
    return PlannedDraw(draw, level, mechanism, multiplier, cost)


def staged_plan(
    epsilon: float,
    delta: float,
    accountant: str,
    *,
    first: tuple[Draw, int | None],
    first_share: float,
    selection_shares: Sequence[Sequence[float]] = ((),),
) -> Plan:
    """Return the plan of a run that decides about its draws on the way; so far it holds the first one.

    Parameters
    ----------
    epsilon, delta : float
        The budget. Without delta costs are epsilons, else they are in rho.
    accountant : {"auto", "zcdp", "pld"}
        How costs in rho become an epsilon. ``"auto"`` takes what gives less noise.
    first : tuple of Draw and level
        Noise that is drawn before anything is decided.
    first_share : float
        Its share of the total.
    selection_shares : sequence of sequences of float
        The selections that a run may make, as shares of the total: one sequence for each way to go on after the first draw. With
        composed privacy losses a run must take one of these ways with its first extension, and plan all its selections there.
    """
    plan = Plan(epsilon, delta, "rho" if delta else "epsilon", (), is_staged=True)
    if delta and accountant != "zcdp":
        plan = with_stages(plan, accountant, Stages(1.0, first_share, tuple(map(tuple, selection_shares))))
    return plan.extended([plan.plan_draw(*first, first_share * plan.total)])


def with_stages(plan: Plan, accountant: str, shares: Stages) -> Plan:
    """Return an empty plan whose total is the largest that composed privacy losses allow.

    With ``"auto"`` it is the plan as it is, in zCDP, if that allows more, or if epsilon is very large.
    """
    plan.verify()
    if accountant == "auto" and plan.epsilon > LARGEST_COMPOSED_EPSILON:
        return plan
    kept, shares = 1.0 - PLD_SLACK, shares.scaled(plan.total)
    total = largest_total(shares, plan.epsilon * kept, plan.delta * kept)
    return plan if accountant == "auto" and total <= plan.total else replace(plan, stages=shares.scaled(total))
