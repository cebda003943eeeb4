"""How DPM shares its budget among its draws.

Four ways:

- `zcdp_plan` (the default variant): discrete Gaussian noise and the exponential mechanism, in zCDP;
- `pld_plan` (``accountant="pld"``): the same with less noise, held to the budget by the composed privacy loss;
- `pure_plan` (the default variant with ``delta=0``): discrete Laplace noise and permute-and-flip;
- `paper_plan` (``variant="paper"``): the paper's shares and basic composition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from dpmondrian.dpm.draws import (
    BRIDGE,
    CATEGORY_SUMS,
    CELL_COUNT,
    CLIPPED_SUMS,
    COARSE_SUMS,
    COUNT,
    DOMAIN_SUMS,
    INTERVAL_SIZE,
    LEVEL,
    RADIUS,
    SPLIT,
)
from dpmondrian.privacy import (
    BELOW_BUDGET,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    PERMUTE_AND_FLIP,
    Draw,
    Kind,
    Plan,
    PlannedDraw,
    planned_draw,
)
from dpmondrian.privacy.accountants import PLD_SLACK, Composition, gaussian_multiplier, least_factor, rho_from_epsilon

if TYPE_CHECKING:
    from dpmondrian.dpm.settings import Settings

__all__ = [
    "CENTRE_PARTS",
    "CENTRE_PARTS_WITH_K",
    "DEFAULT_SHARES",
    "DEFAULT_SHARES_WITH_K",
    "PAPER_SHARES",
    "make_plan",
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

Parts: TypeAlias = Mapping[tuple[Draw, int | None], float]

CENTRE_PARTS: Parts = {
    (COARSE_SUMS, None): 0.08,
    (RADIUS, 1): 0.02,
    (CLIPPED_SUMS, 1): 0.30,
    (RADIUS, 2): 0.02,
    (CELL_COUNT, 2): 0.03,
    (CLIPPED_SUMS, 2): 0.13,
    (CELL_COUNT, 3): 0.03,
    (CLIPPED_SUMS, 3): 0.13,
    (CELL_COUNT, 4): 0.09,
    (CLIPPED_SUMS, 4): 0.17,
}
"""How the default variant divides the centres' share: a rough place in the leaf's box, a radius and a clipped mean, with
which leaves are joined to clusters; then three steps in which every row counts for its nearest cluster. Each
step brings the centre close enough for the next one to clip much tighter; the last one sets the error that remains."""

CENTRE_PARTS_WITH_K: Parts = {
    (COARSE_SUMS, None): 0.08,
    (RADIUS, 1): 0.02,
    (CLIPPED_SUMS, 1): 0.30,
    (RADIUS, 2): 0.02,
    **{
        part: share
        for step in (2, 3, 4, 5)
        for part, share in (((CELL_COUNT, step), 0.02), ((CLIPPED_SUMS, step), 0.125))
    },
}
"""The same when leaves are merged to k clusters, with four steps: the merged leaves are a rougher start."""

CATEGORY_PART = 0.2
"""Part of a clipped sum's share for the sums of categories beside it: shares are released in whole per cents at best."""


def with_categories(parts: Parts, only: bool) -> Parts:
    """Return how the centres' share is divided where there are columns of categories, or only such columns."""
    divided: dict[tuple[Draw, int | None], float] = {}
    for (draw, step), share in parts.items():
        if draw == CLIPPED_SUMS:
            divided[CATEGORY_SUMS, step] = share if only else CATEGORY_PART * share
            share *= 1.0 - CATEGORY_PART
        if not (only and draw in (CLIPPED_SUMS, RADIUS)):
            divided[draw, step] = share
    return divided


ROOT_COUNT_FLOOR = 0.05
"""Least part of the counts' share for the number of all rows, which sets the size limit of every node."""


def make_plan(settings: Settings) -> Plan:
    """Return the plan of a run, made from public parameters before any row is read."""
    if settings.paper:
        return paper_plan(settings.epsilon, settings.delta, settings.max_depth, settings.shares)
    parts = CENTRE_PARTS if settings.finds_k else CENTRE_PARTS_WITH_K
    if settings.categories != "none":
        parts = with_categories(parts, only=settings.categories == "all")
    if settings.delta == 0.0:
        return pure_plan(settings.epsilon, settings.max_depth, settings.shares, parts)
    make = pld_plan if settings.accountant == "pld" else zcdp_plan
    return make(settings.epsilon, settings.delta, settings.max_depth, settings.shares, parts)


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
        [planned_draw(currency, COUNT, level, noise, cost) for level, cost in enumerate(counts)],
        [planned_draw(currency, SPLIT, level, choice, cost) for level, cost in enumerate(splits)],
    )


def _default_draws(
    currency: str, part: Mapping[str, float], max_depth: int, noise: str, choice: str, parts: Parts
) -> tuple[PlannedDraw, ...]:
    """Return the draws of the default variant: counts, splits, bridges, then the parts of the centres."""
    counts, splits = _tree_draws(currency, part, max_depth, noise, choice, ROOT_COUNT_FLOOR)
    bridges = [
        planned_draw(currency, draw, None, mechanism, part["bridges"] * share)
        for draw, mechanism, share in ((BRIDGE, noise, BRIDGE_PART), (LEVEL, choice, 1.0 - BRIDGE_PART))
        if "bridges" in part
    ]
    centres = [
        planned_draw(currency, draw, step, choice if draw.kind is Kind.CHOICE else noise, part["centres"] * share)
        for (draw, step), share in parts.items()
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
    draws = _default_draws("rho", part, max_depth, GAUSSIAN, EXPONENTIAL, parts)
    return Plan(epsilon, delta, "rho", draws)


def pld_plan(
    epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float], parts: Parts = CENTRE_PARTS
) -> Plan:
    """Return the default plan with all noise multiplied by one number, 1 or as small as the composed privacy loss allows.

    Costs stay in zCDP, where they add up; only the epsilon is computed otherwise (``docs/privacy/pld.md``).
    """
    plan = zcdp_plan(epsilon, delta, max_depth, shares, parts)
    factor = _pld_factor(epsilon, delta, plan.composition())
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
    draws = _default_draws("epsilon", part, max_depth, LAPLACE, PERMUTE_AND_FLIP, parts)
    return Plan(epsilon, 0.0, "epsilon", draws)


def paper_plan(epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float]) -> Plan:
    """Return the paper's plan: pure counts, interval and splits, Gaussian averages, basic composition."""
    part = {name: epsilon * BELOW_BUDGET * share for name, share in _usable(shares, max_depth).items()}
    averages_delta = (1.0 - PAPER_DELTA_FOR_OFFSET) * delta
    counts, splits = _tree_draws("epsilon", part, max_depth, LAPLACE, EXPONENTIAL, floor=0.0)
    interval = [planned_draw("epsilon", INTERVAL_SIZE, None, EXPONENTIAL, part["interval"])] if max_depth else []
    rho = rho_from_epsilon(part["centres"], averages_delta)
    averages = PlannedDraw(DOMAIN_SUMS, None, GAUSSIAN, gaussian_multiplier(rho), part["centres"], averages_delta)
    return Plan(epsilon, delta, "epsilon", (*counts, *interval, *splits, averages))


def paper_offsets(plan: Plan, max_depth: int) -> list[float]:
    """Return the paper's offsets lambda, one per level: ``-ln(2 * delta_count) / epsilon_count``.

    They are kept to reproduce the paper; the guarantee does not need them (``docs/privacy/splits.md``).
    """
    delta_count = PAPER_DELTA_FOR_OFFSET * plan.delta / (max_depth + 1)
    return [-math.log(2.0 * delta_count) / plan.find(COUNT, level).cost for level in range(max_depth + 1)]
