"""Complete plans, as runs of DPM make them on the way: for audits and tests that need all draws and no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpmondrian.dpm import (
    CATEGORY_COUNTS,
    CATEGORY_PART,
    CELL_COUNT,
    CELL_STEPS,
    CLIPPED_SUMS,
    COARSE_PART,
    COARSE_SUMS,
    COUNT,
    COUNT_PART,
    DEFAULTS,
    DISTANCES,
    DISTANCES_PART,
    FEW_COLUMNS,
    FINAL_SHARE,
    GRID,
    GRID_SHARES,
    K_STEPS,
    LEAF_PART,
    LINES,
    SPLIT,
    Settings,
    checked_settings,
    level_draws,
    make_plan,
)
from dpmondrian.privacy import Door, Plan

TWO_GRIDS = tuple(share / sum(GRID_SHARES[-2:]) for share in GRID_SHARES[-2:])
"""Of a middle and a fine grid; only large tables have a coarse one."""
N_ROUNDS = 2
"""Rounds along lines; large tables have more."""


def zcdp_plan(epsilon: float, delta: float, depth: int, **choices: Any) -> Plan:
    """Return the plan of a run whose costs add up in zCDP; see `complete_plan` for the choices."""
    return complete_plan(epsilon, delta, depth, accountant="zcdp", **choices)


def pld_plan(epsilon: float, delta: float, depth: int, **choices: Any) -> Plan:
    """Return the plan of a run with composed privacy losses."""
    return complete_plan(epsilon, delta, depth, accountant="pld", **choices)


def pure_plan(epsilon: float, depth: int, **choices: Any) -> Plan:
    """Return the plan of a run without delta."""
    return complete_plan(epsilon, 0.0, depth, accountant="auto", **choices)


def complete_plan(
    epsilon: float,
    delta: float,
    depth: int,
    *,
    accountant: str,
    levels: int | None = None,
    used: int | None = None,
    n_clusters: int | None = None,
    n_columns: int = 2,
    categories: bool = False,
    shares: Mapping[str, float] | None = None,
) -> Plan:
    """Return the plan at the end of a run.

    Parameters
    ----------
    depth : int
        Most levels of the tree.
    levels, used : int, optional
        Levels that the tree is given (by default all), and those of them at which a node was open.
    n_clusters : int, optional
        Without it clusters are found: in a grid, or along lines in more columns than a few.
    n_columns : int
        Of which centres are made.
    categories : bool
        Whether some of them are categories. Others are numbers.
    """
    settings = settings_of(epsilon, delta, depth, accountant, n_clusters, n_columns, shares)
    return _completed(settings, depth if levels is None else levels, used, n_columns, categories)


def largest_plan(estimator: Any, n_columns: int, categories: bool = False) -> Plan:
    """Return the plan of the run of a `DPM` that makes every draw it may make: with a tree of most levels, all of them used."""
    parameters = estimator.get_params(deep=False)
    del parameters["random_state"]
    settings = checked_settings(**parameters).for_columns(n_columns)
    return (
        make_plan(settings) if settings.paper else _completed(settings, settings.max_depth, None, n_columns, categories)
    )


def _completed(settings: Settings, levels: int, used: int | None, n_columns: int, categories: bool) -> Plan:
    door = Door(make_plan(settings), seed=0)
    door.extend(level_draws(door, settings, levels))
    for level in range(levels if used is None else used, levels):
        door.waive(SPLIT, level)
        door.waive(COUNT, level + 1)
    _plan_cells(door, door.left - settings.chosen_shares["clusters"] * door.plan.total, categories)
    if settings.n_clusters:
        _plan_k_clusters(door, categories)
    else:
        _plan_finding(door, n_columns <= FEW_COLUMNS and not categories, categories)
    return door.plan


def settings_of(
    epsilon: float,
    delta: float,
    depth: int,
    accountant: str,
    n_clusters: int | None,
    n_columns: int,
    shares: Mapping[str, float] | None,
) -> Settings:
    """Return the settings of such a run."""
    # A delta that no run may have is put in afterwards: some tests are about plans that refuse it.
    chosen = {"epsilon": epsilon, "max_depth": depth, "n_clusters": n_clusters, "budget_shares": shares}
    profiles = shares is None or "profiles" in shares
    checked = checked_settings(bounds=(0, 1), **{**DEFAULTS, **chosen, "profiles": profiles})
    return replace(checked, delta=delta, accountant=accountant).for_columns(n_columns)


def _plan_cells(door: Door, cost: float, categories: bool) -> None:
    """Plan a first place, the centres of the leaves, and the steps of the cells."""
    door.extend([door.plan_draw(COARSE_SUMS, None, COARSE_PART * cost)])
    _plan_sums(door, 0, LEAF_PART * cost, categories)
    for step in range(1, CELL_STEPS + 1):
        _plan_step(door, step, (1.0 - COARSE_PART - LEAF_PART) * cost / CELL_STEPS, categories)


def _plan_k_clusters(door: Door, categories: bool) -> None:
    """Plan the steps of k centres."""
    cost = door.left / K_STEPS
    for step in range(CELL_STEPS + 1, CELL_STEPS + 1 + K_STEPS):
        _plan_step(door, step, min(cost, door.left), categories)


def _plan_finding(door: Door, in_grids: bool, categories: bool) -> None:
    """Plan what finds clusters, then their sizes and centres."""
    cost = door.left - FINAL_SHARE * door.plan.total
    draw, shares = (GRID, TWO_GRIDS) if in_grids else (LINES, [1.0 / N_ROUNDS] * N_ROUNDS)
    door.extend([door.plan_draw(draw, level, share * cost) for level, share in enumerate(shares)])
    door.extend([door.plan_draw(CELL_COUNT, CELL_STEPS + 1, COUNT_PART * door.left)])
    _plan_sums(door, CELL_STEPS + 1, door.left, categories)


def _plan_step(door: Door, step: int, cost: float, categories: bool) -> None:
    """Plan one step of centres: the rows nearest to each, and the sums that move it."""
    door.extend([door.plan_draw(CELL_COUNT, step, COUNT_PART * cost)])
    _plan_sums(door, step, (1.0 - COUNT_PART) * cost, categories)


def _plan_sums(door: Door, step: int, cost: float, categories: bool) -> None:
    """Plan the distances of rows, the sums that are clipped by them, and those of categories."""
    for_categories = CATEGORY_PART * cost if categories else 0.0
    cost -= for_categories
    distances = DISTANCES_PART * cost
    door.extend([door.plan_draw(DISTANCES, step, distances), door.plan_draw(CLIPPED_SUMS, step, cost - distances)])
    if categories:
        door.extend([door.plan_draw(CATEGORY_COUNTS, step, for_categories)])
