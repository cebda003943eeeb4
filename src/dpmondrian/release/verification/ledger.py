"""The ledger of a release against the plan that its parameters imply, and its price, computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from dpmondrian.dpm import (
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
    Settings,
)
from dpmondrian.dpm.scores import STEPS, Score, ValleyScore
from dpmondrian.dpm.tree import gap_score_change
from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy import NOT_DRAWN, Draw, Entry, Kind, Plan, PlannedDraw
from dpmondrian.release.statement import PrivacyStatement

if TYPE_CHECKING:
    from dpmondrian.release.release import Release

__all__ = ["ledger_faults", "price_faults"]

_TOLERANCE = 1e-9
"""Of prices: a plan stays this much below its budget, and what other mathematical libraries compute differs by far less."""
_TOLERANCE_OF_SEARCH = 1e-5
"""Of ``accountant="pld"``, whose factor of the noise is searched for in steps of 10^-6: another library may end one step beside."""


def _close(value: float, expected: float, tolerance: float = _TOLERANCE) -> bool:
    return abs(value - expected) <= tolerance * abs(expected)


def ledger_faults(release: Release, settings: Settings, plan: Plan) -> Iterator[str]:
    """Yield what differs between the ledger and the plan of the parameters, and between its numbers of values and the tree."""
    entries = release.privacy.entries
    if len(entries) != len(plan.draws):
        yield f"the ledger has {len(entries)} draws, and the plan of these parameters {len(plan.draws)}"
        return
    tolerance = _TOLERANCE_OF_SEARCH if plan.accountant == "pld" else _TOLERANCE
    for entry, draw in zip(entries, plan.draws, strict=True):
        fault = _draw_fault(entry, draw, tolerance) or _unit_fault(entry, draw, release, settings)
        if fault:
            yield f"the draw {draw.name!r}{'' if draw.level is None else f' of level {draw.level}'} {fault}"
    yield from _number_faults(release, plan)


def _draw_fault(entry: Entry, draw: PlannedDraw, tolerance: float) -> str | None:
    """Return why an entry is not that of a planned draw."""
    if (entry.name, entry.level, entry.mechanism) != (draw.name, draw.level, draw.mechanism):
        return "is planned where the ledger has another one"
    if not entry.sensitivity > 0.0 or not _close(entry.scale, draw.multiplier * entry.sensitivity, tolerance):
        return "has another scale of noise than planned"
    if not _close(entry.cost, draw.cost, tolerance) or not _close(entry.delta, draw.delta):
        return "has another cost or delta than planned"
    if (entry.n_draws == 0) != (entry.unit == NOT_DRAWN) or (entry.n_draws == 0 and not draw.may_be_skipped):
        return "is missing, and was needed"
    return None


def _unit_fault(entry: Entry, draw: PlannedDraw, release: Release, settings: Settings) -> str | None:
    """Return why unit or sensitivity of an entry cannot be those of its draw."""
    rows = settings.rows_per_person
    if entry.unit == NOT_DRAWN:
        return None if entry.sensitivity == rows else "has another sensitivity than a draw that was not made"
    if entry.unit != draw.draw.unit:
        return "has another unit than such a draw has"
    if draw.draw == SPLIT and settings.paper:  # it depends on noisy counts, and is never less
        fits = entry.sensitivity % rows == 0 and entry.sensitivity >= 2 * rows * _score(settings).sensitivity
    else:
        fits = entry.sensitivity == rows * _range(draw.draw, release, settings)
    return None if fits else "has another sensitivity than such a draw has"


def _range(draw: Draw, release: Release, settings: Settings) -> int:
    """Return what one row changes, in the unit of the draw."""
    if draw == SPLIT:
        return ValleyScore(settings.t, settings.q).range if settings.finds_k else _score(settings).range
    if draw == LEVEL:
        return STEPS
    return 2 * gap_score_change(len(release.schema.columns)) if draw == INTERVAL_SIZE else 1


def _score(settings: Settings) -> Score:
    assert settings.alpha is not None
    return Score(settings.t, settings.q, settings.alpha, two_sided=not settings.paper)


def _number_faults(release: Release, plan: Plan) -> Iterator[str]:
    """Yield numbers of values that do not fit the tree. They cost nothing: values of one draw are about different rows."""
    pairs = zip(plan.draws, release.privacy.entries, strict=True)
    drawn = {(planned.draw, planned.level): entry.n_draws for planned, entry in pairs}
    splits = [drawn[SPLIT, level] for level in plan.steps(SPLIT)]
    if any(number and not before for before, number in pairwise(splits)):
        yield "the ledger has splits on a level after one without"
    if [drawn[COUNT, level] for level in plan.steps(COUNT)] != [1, *(2 * number for number in splits)]:
        yield "the ledger does not count the two sides of every cut"
    n_leaves, n_columns = release.tree.n_leaves, len(release.schema.centre_columns)
    if sum(splits) < n_leaves - 1:
        yield "the ledger has fewer splits than the tree has cuts"
    n_indicators = sum(len(category.levels) for category in release.schema.categories.values())
    n_groups = next((n for (draw, _), n in drawn.items() if draw == CELL_COUNT and n), n_leaves)
    widths = {CLIPPED_SUMS: n_columns - n_indicators, CATEGORY_SUMS: n_indicators, COARSE_SUMS: n_columns}
    widths |= {DOMAIN_SUMS: n_columns, CELL_COUNT: 1, RADIUS: 1, LEVEL: 1, INTERVAL_SIZE: 1}
    for (draw, step), number in drawn.items():
        groups = n_groups if draw == CELL_COUNT or (step or 0) > 1 else n_leaves
        groups = 1 if draw.kind is Kind.CHOICE else groups
        if draw in widths and number not in (0, groups * widths[draw]):
            yield f"the number of values of {draw.name!r} does not fit the tree"


def price_faults(privacy: PrivacyStatement) -> Iterator[str]:
    """Yield which prices do not follow from the noise: costs, rho, and the epsilon that they amount to at delta."""
    draws = tuple(_priced(entry) for entry in privacy.entries if entry.sensitivity > 0.0 and entry.scale > 0.0)
    if len(draws) != len(privacy.entries) or privacy.currency not in ("rho", "epsilon"):
        yield "a draw has no noise, or a currency that DPM does not use"
        return
    plan = Plan(privacy.epsilon, privacy.delta, privacy.currency, draws, accountant=privacy.accountant)
    try:
        for draw in draws:
            if not _close(draw.cost, plan.cost_of(draw.mechanism, draw.multiplier, draw.delta)):
                yield f"the cost of {draw.name!r} is not that of its noise"
        if plan.rho is not None and not _close(privacy.rho or 0.0, math.fsum(draw.cost for draw in draws)):
            yield "'rho' is not the sum of the costs"
        plan.verify()
    except BudgetError as error:
        yield f"epsilon and delta do not cover the ledger: {str(error).split(' Nothing')[0].rstrip('.')}"
    except (ArithmeticError, ValueError):
        yield "the ledger has no price"


def _priced(entry: Entry) -> PlannedDraw:
    """Return the draw that an entry states, whatever it is called."""
    multiplier = entry.scale / entry.sensitivity
    stated = Draw(entry.name, Kind.NOISE, entry.unit)
    return PlannedDraw(stated, entry.level, entry.mechanism, multiplier, entry.cost, entry.delta)
