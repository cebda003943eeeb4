"""A plan: every draw of a run with its noise and its cost, made before any row is read.

Four ways to share a budget:

- `zcdp_plan` (the default variant): discrete Gaussian noise and the exponential mechanism, in zCDP;
- `pld_plan` (``accountant="pld"``): the same with less noise, held to the budget by the composed privacy loss;
- `pure_plan` (the default variant with ``delta=0``): discrete Laplace noise and permute-and-flip;
- `paper_plan` (``variant="paper"``): the paper's shares and basic composition.

A planned draw fixes its *multiplier*, the noise scale per unit of sensitivity. Sensitivities of the
centres depend on what is released on the way (a leaf's box, a radius); multipliers and costs do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeAlias

from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.accountants.joint import GAUSSIAN_SLACK, discreteness, joint_epsilon
from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, least_factor
from dpmondrian.privacy.accountants.zcdp import (
    LEAST_DELTA,
    bounded_range_rho,
    epsilon_from_rho,
    gaussian_multiplier,
    gaussian_rho,
    rho_from_epsilon,
)

__all__ = [
    "BELOW_BUDGET",
    "CENTRE_PARTS",
    "CENTRE_PARTS_WITH_K",
    "DEFAULT_SHARES",
    "DEFAULT_SHARES_WITH_K",
    "PAPER_SHARES",
    "Plan",
    "PlannedDraw",
    "Priced",
    "bounds_plan",
    "max_cover_epsilon",
    "paper_offsets",
    "paper_plan",
    "pld_plan",
    "pure_plan",
    "with_categories",
    "zcdp_plan",
]

DEFAULT_SHARES: Mapping[str, float] = {"splits": 0.30, "counts": 0.12, "bridges": 0.20, "centres": 0.38}
"""About two fifths for the tree, one fifth to find out which of its leaves belong together, two fifths for the centres."""

BRIDGE_PART = 0.9
"""Part of the bridges' share for the bridges; the rest chooses among the levels of the hierarchy that they leave open."""

DEFAULT_SHARES_WITH_K: Mapping[str, float] = {"splits": 0.25, "counts": 0.10, "centres": 0.65}
"""With k given the tree is only a start for the centres, so most goes to them."""

PAPER_SHARES: Mapping[str, float] = {"interval": 0.04, "counts": 0.18, "splits": 0.18, "centres": 0.60}
PAPER_DELTA_FOR_OFFSET = 0.2
"""Share of delta that the paper sets aside for its offset lambda; the averages get the rest."""

Parts: TypeAlias = Mapping[tuple[str, int | None], float]

CENTRE_PARTS: Parts = {
    ("coarse sums", None): 0.08,
    ("radius", 1): 0.02,
    ("clipped sums", 1): 0.30,
    ("radius", 2): 0.02,
    ("cell count", 2): 0.03,
    ("clipped sums", 2): 0.13,
    ("cell count", 3): 0.03,
    ("clipped sums", 3): 0.13,
    ("cell count", 4): 0.09,
    ("clipped sums", 4): 0.17,
}
"""How the default variant divides the centres' share: a rough place in the leaf's box, a radius and a clipped mean, with
which leaves are joined to clusters; then three steps in which every row counts for its nearest cluster. Each
step brings the centre close enough for the next one to clip much tighter; the last one sets the error that remains."""

CENTRE_PARTS_WITH_K: Parts = {
    ("coarse sums", None): 0.08,
    ("radius", 1): 0.02,
    ("clipped sums", 1): 0.30,
    ("radius", 2): 0.02,
    **{
        part: share
        for step in (2, 3, 4, 5)
        for part, share in ((("cell count", step), 0.02), (("clipped sums", step), 0.125))
    },
}
"""The same when leaves are merged to k clusters, with four steps: the merged leaves are a rougher start."""

CATEGORY_PART = 0.2
"""Part of a clipped sum's share for the sums of categories beside it: shares are released in whole per cents at best."""


def with_categories(parts: Parts, only: bool) -> Parts:
    """Return how the centres' share is divided where there are columns of categories, or only such columns."""
    divided = {}
    for (name, step), share in parts.items():
        if name == "clipped sums":
            divided["category sums", step] = share if only else CATEGORY_PART * share
            share *= 1.0 - CATEGORY_PART
        if not (only and name in ("clipped sums", "radius")):
            divided[name, step] = share
    return divided


ROOT_COUNT_FLOOR = 0.05
"""Least part of the counts' share for the number of all rows, which sets the size limit of every node."""

BELOW_BUDGET = 1.0 - 1e-9
"""Planned costs are kept this much below the budget, so that rounding cannot carry them above it."""

_ONE_WAY_TOLERANCE = 1.0 + 1e-12
_MOST_FOR_SLACK = 20.0
"""Up to this epsilon the slack of epsilon keeps within that of delta."""


@dataclass(frozen=True)
class PlannedDraw:
    """One mechanism at one level: all its nodes hold disjoint rows, so together they cost what one costs.

    `delta` is the probability that is set aside for this draw alone.
    """

    name: str
    level: int | None
    mechanism: str
    multiplier: float
    cost: float
    delta: float = 0.0


class Priced(Protocol):
    """What a price is computed from: a planned draw, or an entry of the ledger."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def cost(self) -> float:
        """Cost in the plan's currency."""
        ...

    @property
    def delta(self) -> float:
        """Probability set aside for this draw."""
        ...


@dataclass(frozen=True)
class Plan:
    """All draws of a run and the budget they must fit.

    Attributes
    ----------
    currency : {"rho", "epsilon", "joint"}
        How costs compose. ``"rho"``: zCDP, they add up. ``"epsilon"``: they add up, and so do the draws' deltas.
        ``"joint"``: through the composed privacy loss; a cost is an epsilon, for Gaussian noise its mu.
    accountant : {"zcdp", "pld"}
        How costs in rho become an epsilon: by conversion of their sum, or through the composed privacy loss.
    defects : tuple of str
        Why the plan does not keep its promise: only in variants of peers that repeat the mistakes of published
        code. Such a plan is not held to its budget, and its statement says so.
    """

    epsilon: float
    delta: float
    currency: str
    draws: tuple[PlannedDraw, ...]
    defects: tuple[str, ...] = ()
    accountant: str = "zcdp"

    def find(self, name: str, level: int | None = None) -> PlannedDraw:
        """Return the planned draw of that name and level."""
        for draw in self.draws:
            if draw.name == name and draw.level == level:
                return draw
        raise BudgetError(f"The plan has no draw {name!r} at level {level}; nothing was drawn.")

    def steps(self, name: str) -> list[int]:
        """Return the steps for which draws of that name are planned, in order."""
        return [draw.level for draw in self.draws if draw.name == name and draw.level is not None]

    def cost_of(self, mechanism: str, multiplier: float, delta: float = 0.0) -> float:
        """Return what a mechanism costs at a noise scale of `multiplier` sensitivities."""
        if mechanism == "max cover":
            return max_cover_epsilon(1.0 / multiplier, delta)
        if self.currency == "rho":
            if mechanism == "discrete Gaussian":
                return gaussian_rho(multiplier)
            return bounded_range_rho(1.0 / multiplier)
        if self.currency == "epsilon" and mechanism == "discrete Gaussian":
            return epsilon_from_rho(gaussian_rho(multiplier), delta)
        return 1.0 / multiplier

    def _costs(self) -> list[float]:
        """Return the costs that the draws' noise multipliers amount to."""
        return [self.cost_of(draw.mechanism, draw.multiplier, draw.delta) for draw in self.draws]

    @property
    def rho(self) -> float | None:
        """The whole zCDP cost, or None where zCDP is not used."""
        return math.fsum(self._costs()) if self.currency == "rho" else None

    def composed(self, draws: Iterable[Priced]) -> float:
        """Return the epsilon, at the plan's delta, that draws with these costs amount to."""
        draws = list(draws)
        return self._composed([(draw.mechanism, draw.cost) for draw in draws], math.fsum(draw.delta for draw in draws))

    def spent(self) -> float:
        """Return the epsilon (at the plan's delta) that the recomputed costs amount to."""
        if self.accountant == "pld":
            return self._epsilon_of_loss()
        mechanisms = [draw.mechanism for draw in self.draws]
        return self._composed(list(zip(mechanisms, self._costs(), strict=True)), self._delta_of_draws())

    def _delta_of_draws(self) -> float:
        return math.fsum(draw.delta for draw in self.draws)

    @property
    def _slack(self) -> float:
        """Part of epsilon and delta that is kept back because Gaussian noise is not continuous."""
        if self.currency == "joint":
            return GAUSSIAN_SLACK
        return PLD_SLACK if self.accountant == "pld" else 0.0

    def is_fine(self, draw: PlannedDraw, scale: float, n_changed: int) -> bool:
        """Return whether a draw's noise is near enough to continuous noise for the slack that is kept back.

        Only composed privacy losses ask for it, of Gaussian noise. `scale` is the least scale of the draw, in the unit of its
        whole numbers, and `n_changed` how many of these one person changes (``docs/privacy/joint.md``).
        """
        if self._slack == 0.0 or draw.mechanism != "discrete Gaussian":
            return True
        n_draws = sum(planned.mechanism == "discrete Gaussian" for planned in self.draws)
        log_tail = math.log(self.delta - self._delta_of_draws()) + math.log(0.25 * self._slack / n_draws)
        loss = n_draws * discreteness(scale, n_changed, 1.0 / draw.multiplier, log_tail)
        return loss <= 0.5 * self._slack * min(self.epsilon, _MOST_FOR_SLACK)

    def _epsilon_of_loss(self) -> float:
        """Return the epsilon of the composed privacy loss of the draws, with what is kept back, or of their rho if less.

        Both hold. Where nearly all of the budget goes to selections, zCDP is the better bound.
        """
        draws = [replace(draw, cost=cost) for draw, cost in zip(self.draws, self._costs(), strict=True)]
        composition = Composition.of(draws, self.currency, fine=True)
        of_loss = composition.epsilon(self.delta * (1.0 - PLD_SLACK)) + PLD_SLACK * self.epsilon
        return min(of_loss, epsilon_from_rho(math.fsum(self._costs()), self.delta))

    def _composed(self, costs: list[tuple[str, float]], delta_of_draws: float) -> float:
        """Return the epsilon that costs, given with their mechanisms, amount to."""
        if self.currency != "joint":
            total = math.fsum(cost for _, cost in costs)
            return epsilon_from_rho(total, self.delta) if self.currency == "rho" else total
        gaussian = [cost for mechanism, cost in costs if mechanism == "discrete Gaussian"]
        laplace = [cost for mechanism, cost in costs if mechanism == "discrete Laplace"]
        others = [cost for mechanism, cost in costs if mechanism not in ("discrete Gaussian", "discrete Laplace")]
        delta = (self.delta - delta_of_draws) * (1.0 - GAUSSIAN_SLACK)
        slack = GAUSSIAN_SLACK * self.epsilon if gaussian else 0.0
        return math.fsum(others) + joint_epsilon(delta, laplace, math.hypot(*gaussian)) + slack

    def verify(self) -> None:
        """Refuse a plan whose recomputed cost exceeds the budget or differs from what it declares."""
        if self.defects:
            return
        if 0.0 < self.delta < LEAST_DELTA:
            raise BudgetError(
                f"The plan has delta = {self.delta:g}, too little to be accounted for. Nothing was drawn. Take a delta of at "
                f"least {LEAST_DELTA:g}, or 0."
            )
        spent = self.spent()
        if spent > self.epsilon or self._delta_of_draws() > self.delta:
            raise BudgetError(
                f"The plan costs epsilon = {spent:.9g} at delta = {self.delta:g}, more than the budget "
                f"epsilon = {self.epsilon:g}. Nothing was drawn. Lower the shares or raise 'epsilon'."
            )
        for draw, cost in zip(self.draws, self._costs(), strict=True):
            if cost > draw.cost * _ONE_WAY_TOLERANCE:
                raise BudgetError(f"The planned draw {draw.name!r} declares less than its noise costs.")


def max_cover_epsilon(exponent: float, delta: float) -> float:
    """Return the epsilon of a whole series of max-cover draws at `delta` (``docs/privacy/max_cover.md``)."""
    return max(exponent, math.expm1(exponent) * math.log(1.0 / delta))


def _over_levels(total: float, growth: float, n_levels: int, floor: float = 0.0) -> list[float]:
    """Divide `total` over levels in proportion to ``growth**level``, with a least part for level 0."""
    if n_levels == 0:
        return []
    weights = [growth**level for level in range(n_levels)]
    parts = [total * weight / math.fsum(weights) for weight in weights]
    if parts[0] >= floor * total or n_levels == 1:
        return parts
    rest = (1.0 - floor) * total / math.fsum(parts[1:])
    return [floor * total, *(part * rest for part in parts[1:])]


def _usable(shares: Mapping[str, float], max_depth: int) -> dict[str, float]:
    """Return the shares of what will be drawn: without levels there are no splits and nothing to join."""
    used = {name: share for name, share in shares.items() if max_depth > 0 or name in ("counts", "centres")}
    whole = math.fsum(used.values())
    return {name: share / whole for name, share in used.items()}


def _draw(currency: str, name: str, level: int | None, mechanism: str, cost: float) -> PlannedDraw:
    """Return the draw whose noise costs `cost`: the inverse of `Plan.cost_of`, but for the paper's averages."""
    if currency == "epsilon":
        multiplier = 1.0 / cost
    elif mechanism == "discrete Gaussian":
        multiplier = gaussian_multiplier(cost)
    else:
        multiplier = 1.0 / math.sqrt(8.0 * cost)
    return PlannedDraw(name, level, mechanism, multiplier, cost)


def _tree_draws(
    currency: str, part: Mapping[str, float], max_depth: int, noise: str, choice: str, floor: float
) -> tuple[list[PlannedDraw], list[PlannedDraw]]:
    """Return the counts and the splits of all levels, with the growth over levels that suits the currency.

    Where nodes may try again on the next level (in plans with bridges), they do not halve with every level: half of
    the growth.
    """
    growth = 2.0 ** (2.0 / 3.0) if currency == "rho" else math.sqrt(2.0)
    if "bridges" in part:
        growth = math.sqrt(growth)
    counts = _over_levels(part["counts"], growth, max_depth + 1, floor)
    splits = _over_levels(part.get("splits", 0.0), growth, max_depth)
    return (
        [_draw(currency, "count", level, noise, cost) for level, cost in enumerate(counts)],
        [_draw(currency, "split", level, choice, cost) for level, cost in enumerate(splits)],
    )


def _default_draws(
    currency: str, part: Mapping[str, float], max_depth: int, noise: str, choice: str, parts: Parts
) -> tuple[PlannedDraw, ...]:
    """Return the draws of the default variant: counts, splits, bridges, then the parts of the centres."""
    counts, splits = _tree_draws(currency, part, max_depth, noise, choice, ROOT_COUNT_FLOOR)
    bridges = [
        _draw(currency, name, None, mechanism, part["bridges"] * share)
        for name, mechanism, share in (("bridge", noise, BRIDGE_PART), ("level", choice, 1.0 - BRIDGE_PART))
        if "bridges" in part
    ]
    centres = [
        _draw(currency, name, step, choice if name == "radius" else noise, part["centres"] * share)
        for (name, step), share in parts.items()
    ]
    return (*counts, *splits, *bridges, *centres)


def zcdp_plan(
    epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float], parts: Parts = CENTRE_PARTS
) -> Plan:
    """Return the default plan: costs add up in zCDP and are converted once, tightly, to (epsilon, delta).

    Over the levels a cost grows like ``2**(2 * level / 3)``, which minimises the summed relative
    error of nodes that halve at each level (``docs/privacy/composition.md``); half as fast where they need not halve.
    """
    rho = rho_from_epsilon(epsilon, delta) * BELOW_BUDGET
    part = {name: rho * share for name, share in _usable(shares, max_depth).items()}
    draws = _default_draws("rho", part, max_depth, "discrete Gaussian", "exponential mechanism", parts)
    return Plan(epsilon, delta, "rho", draws)


def pld_plan(
    epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float], parts: Parts = CENTRE_PARTS
) -> Plan:
    """Return the default plan with all noise multiplied by one number, 1 or as small as the composed privacy loss allows.

    Costs stay in zCDP, where they add up; only the epsilon is computed otherwise (``docs/privacy/pld.md``).
    """
    plan = zcdp_plan(epsilon, delta, max_depth, shares, parts)
    factor = _pld_factor(epsilon, delta, Composition.of(plan.draws, plan.currency, fine=True))
    draws = [replace(draw, multiplier=factor * draw.multiplier) for draw in plan.draws]
    draws = [replace(draw, cost=plan.cost_of(draw.mechanism, draw.multiplier)) for draw in draws]
    return replace(plan, draws=tuple(draws), accountant="pld")


@lru_cache(maxsize=64)
def _pld_factor(epsilon: float, delta: float, composition: Composition) -> float:
    """Return the least factor of the noise, at most 1, that fits the budget less what is kept back and for rounding."""
    return min(1.0, least_factor(composition, epsilon * (BELOW_BUDGET - PLD_SLACK), delta * (1.0 - PLD_SLACK)))


def pure_plan(epsilon: float, max_depth: int, shares: Mapping[str, float], parts: Parts = CENTRE_PARTS) -> Plan:
    """Return the plan without delta: discrete Laplace, permute-and-flip, basic composition.

    Over the levels a cost grows like ``2**(level / 2)``, the optimum where epsilons add up.
    """
    part = {name: epsilon * BELOW_BUDGET * share for name, share in _usable(shares, max_depth).items()}
    draws = _default_draws("epsilon", part, max_depth, "discrete Laplace", "permute-and-flip", parts)
    return Plan(epsilon, 0.0, "epsilon", draws)


def paper_plan(epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float]) -> Plan:
    """Return the paper's plan: pure counts, interval and splits, Gaussian averages, basic composition."""
    part = {name: epsilon * BELOW_BUDGET * share for name, share in _usable(shares, max_depth).items()}
    averages_delta = (1.0 - PAPER_DELTA_FOR_OFFSET) * delta
    counts, splits = _tree_draws("epsilon", part, max_depth, "discrete Laplace", "exponential mechanism", floor=0.0)
    interval = [_draw("epsilon", "interval size", None, "exponential mechanism", part["interval"])] if max_depth else []
    rho = rho_from_epsilon(part["centres"], averages_delta)
    averages = PlannedDraw("sums", None, "discrete Gaussian", gaussian_multiplier(rho), part["centres"], averages_delta)
    return Plan(epsilon, delta, "epsilon", (*counts, *interval, *splits, averages))


def paper_offsets(plan: Plan, max_depth: int) -> list[float]:
    """Return the paper's offsets lambda, one per level: ``-ln(2 * delta_count) / epsilon_count``.

    They are kept to reproduce the paper; the guarantee does not need them (``docs/privacy/splits.md``).
    """
    delta_count = PAPER_DELTA_FOR_OFFSET * plan.delta / (max_depth + 1)
    return [-math.log(2.0 * delta_count) / plan.find("count", level).cost for level in range(max_depth + 1)]


def bounds_plan(epsilon: float, n_columns: int) -> Plan:
    """Return the plan of suggested bounds: two histograms per column, in place of a level its number, all at the same cost."""
    cost = epsilon * BELOW_BUDGET / (2 * n_columns)
    draws = [
        _draw("epsilon", name, column, "discrete Laplace", cost)
        for name in ("magnitudes", "places")
        for column in range(n_columns)
    ]
    return Plan(epsilon, 0.0, "epsilon", tuple(draws))
