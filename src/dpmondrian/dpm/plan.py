"""How DPM shares its budget among its draws.

A run counts its rows first. How many levels its tree gets follows from that number, and with it what every level pays; the rest is
planned on the way, within what is left (``docs/privacy/filter.md``). ``variant="paper"`` has the paper's shares and basic composition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpmondrian.dpm.draws import COUNT, DOMAIN_SUMS, INTERVAL_SIZE, PROFILES, QUALITY, SPLIT
from dpmondrian.privacy import (
    BELOW_BUDGET,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    Door,
    Plan,
    PlannedDraw,
    planned_draw,
    staged_plan,
)
from dpmondrian.privacy.accountants import gaussian_multiplier, rho_from_epsilon

if TYPE_CHECKING:
    from dpmondrian.dpm.settings import Settings

__all__ = [
    "FEW_COLUMNS",
    "MOST_LEVELS",
    "PAPER_SHARES",
    "SHARES",
    "SHARES_FEW_COLUMNS",
    "SHARES_WITH_K",
    "default_shares",
    "level_draws",
    "make_plan",
    "n_levels",
    "paper_offsets",
    "paper_plan",
]

SHARES_WITH_K: Mapping[str, float] = {"splits": 0.16, "counts": 0.07, "cells": 0.37, "clusters": 0.40}
"""With k given three fifths make the cells, from which k centres start; the rest moves these."""
SHARES: Mapping[str, float] = {"splits": 0.13, "counts": 0.06, "cells": 0.31, "clusters": 0.50}
"""Without k half of the budget finds out what is apart."""
SHARES_FEW_COLUMNS: Mapping[str, float] = {"splits": 0.09, "counts": 0.05, "cells": 0.21, "clusters": 0.65}
"""The same in few columns, where cells are needed for other numbers of clusters only."""

PROFILES_SHARE, QUALITY_PART = 0.10, 0.12
"""Share of the budget that describes the clusters, and the part of it for their quality; the other shares give it up in proportion.

A tenth makes the noise of everything else 5 % larger. The histograms of a cluster of 4,000 rows in 8 columns then tell its median to 2 %
of its rows at epsilon 1 (`dpm plan` states it), and quality has a standard error below 0.01 with 20,000 rows, or 0.02 for more than 20
clusters."""

FEW_COLUMNS = 3
"""Up to so many columns a grid shows what is apart."""

TOTAL_PART = 1.0 / 6.0
"""Part of the counts' share for the number of all rows: it decides about levels, not about clusters."""

MOST_LEVELS, LEAST_LEVELS = 10, 2
_LEAF_DEVIATIONS = 6.0
"""So many levels that leaves of equal size would be this many deviations of a count that takes the whole budget."""
_LEAVES_PER_CLUSTER = 8
"""With k given there are at least so many leaves for each cluster, or small ones share theirs."""
_COLUMNS_OF_A_LEAF = 16
"""With k given and more columns than this, leaves are fewer in proportion: noise moves the mean of a leaf in all columns, and k centres start
from these means. Without k, leaves propose directions, which many of them show better than a few."""
_SPLIT_GROWTH = 1.25
"""Growth of the splits' cost over the levels. A level has twice the nodes of the one before, each with half of the rows; what a bad cut
loses falls with the square of the box's side. In few directions the two nearly cancel (``docs/privacy/composition.md``)."""

PAPER_SHARES: Mapping[str, float] = {"interval": 0.04, "counts": 0.18, "splits": 0.18, "centres": 0.60}
PAPER_DELTA_FOR_OFFSET = 0.2
"""Share of delta that the paper sets aside for its offset lambda; the averages get the rest."""


def default_shares(n_clusters: int | None, variant: str, n_columns: int, profiles: bool) -> Mapping[str, float]:
    """Return the shares of the budget where nothing else is said."""
    if variant == "paper":
        return PAPER_SHARES
    few = SHARES_FEW_COLUMNS if n_columns <= FEW_COLUMNS else SHARES
    shares = few if n_clusters is None else SHARES_WITH_K
    if not profiles:
        return shares
    return {name: (1.0 - PROFILES_SHARE) * share for name, share in shares.items()} | {"profiles": PROFILES_SHARE}


def make_plan(settings: Settings) -> Plan:
    """Return the plan of a run, made from public parameters before any row is read: all draws of the paper's, else the first one."""
    if settings.paper:
        return paper_plan(settings.epsilon, settings.delta, settings.max_depth, settings.chosen_shares)
    ways = [_split_shares(settings, levels) for levels in range(settings.max_depth + 1)]
    return staged_plan(
        settings.epsilon,
        settings.delta,
        settings.accountant,
        first=(COUNT, 0),
        first_share=TOTAL_PART * settings.chosen_shares["counts"],
        selection_shares=ways,
    )


def n_levels(settings: Settings, signal: float, n_columns: int) -> int:
    """Return the number of levels of the tree.

    Parameters
    ----------
    signal : float
        Released number of all rows, in deviations of a count that takes the whole budget.
    n_columns : int
        Columns of the table.
    """
    if settings.n_clusters:
        signal /= max(1.0, n_columns / _COLUMNS_OF_A_LEAF)
    leaves = max(signal / _LEAF_DEVIATIONS, 2.0**LEAST_LEVELS, _LEAVES_PER_CLUSTER * (settings.n_clusters or 0))
    return min(round(math.log2(leaves)), settings.max_depth)


def level_draws(door: Door, settings: Settings, levels: int) -> list[PlannedDraw]:
    """Return the draws of a tree of so many levels: the cuts of each, and the rows on their sides; and those that describe clusters."""
    total = door.plan.total
    count = (1.0 - TOTAL_PART) * settings.chosen_shares["counts"] * total / max(levels, 1)
    splits = [
        door.plan_draw(SPLIT, level, share * total) for level, share in enumerate(_split_shares(settings, levels))
    ]
    counts = [door.plan_draw(COUNT, level + 1, count) for level in range(levels)]
    return splits + counts + _describing_draws(door, settings.chosen_shares.get("profiles", 0.0) * total)


def _describing_draws(door: Door, cost: float) -> list[PlannedDraw]:
    """Return the draws that are made when clusters are final; they are planned before, so nothing else takes their cost."""
    if cost == 0.0:
        return []
    parts = ((PROFILES, 1.0 - QUALITY_PART), (QUALITY, QUALITY_PART))
    return [door.plan_draw(draw, None, part * cost) for draw, part in parts]


def _split_shares(settings: Settings, levels: int) -> tuple[float, ...]:
    """Return the shares of the budget of the cuts of every level."""
    return tuple(_over_levels(settings.chosen_shares["splits"], _SPLIT_GROWTH, levels))


def _over_levels(total: float, growth: float, n_levels: int) -> list[float]:
    """Divide `total` over levels in proportion to ``growth**level``."""
    if n_levels == 0:
        return []
    weights = [growth**level for level in range(n_levels)]
    return [total * weight / math.fsum(weights) for weight in weights]


def _usable(shares: Mapping[str, float], max_depth: int) -> dict[str, float]:
    """Return the shares of what will be drawn: without levels there are no splits."""
    used = {name: share for name, share in shares.items() if max_depth > 0 or name in ("counts", "centres")}
    whole = math.fsum(used.values())
    return {name: share / whole for name, share in used.items()}


def paper_plan(epsilon: float, delta: float, max_depth: int, shares: Mapping[str, float]) -> Plan:
    """Return the paper's plan: pure counts, interval and splits, Gaussian averages, basic composition."""
    part = {name: epsilon * BELOW_BUDGET * share for name, share in _usable(shares, max_depth).items()}
    averages_delta = (1.0 - PAPER_DELTA_FOR_OFFSET) * delta
    growth = math.sqrt(2.0)
    count_costs = _over_levels(part["counts"], growth, max_depth + 1)
    split_costs = _over_levels(part.get("splits", 0.0), growth, max_depth)
    counts = [planned_draw("epsilon", COUNT, level, LAPLACE, cost) for level, cost in enumerate(count_costs)]
    splits = [planned_draw("epsilon", SPLIT, level, EXPONENTIAL, cost) for level, cost in enumerate(split_costs)]
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
