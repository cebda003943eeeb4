"""The ledger of a release against the plan that its parameters imply, and its price, computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from dpmondrian.dpm import (
    ALL_DRAWS,
    CATEGORY_COUNTS,
    CELL_COUNT,
    CLIPPED_SUMS,
    COUNT,
    DOMAIN_SUMS,
    INTERVAL_SIZE,
    MADE_ONCE,
    PROFILES,
    QUALITY,
    SPLIT,
    Figures,
    Score,
    Settings,
    VarianceScore,
    gap_score_change,
    noise_of_silhouettes,
)
from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy import GAUSSIAN, NOT_DRAWN, Draw, Entry, Kind, Plan, PlannedDraw
from dpmondrian.release.statement import PrivacyStatement

if TYPE_CHECKING:
    from dpmondrian.release.release import Release

_TOLERANCE = 1e-9
"""Of prices: a plan stays this much below its budget, and what other mathematical libraries compute differs by far less."""
_TOLERANCE_OF_SEARCH = 1e-5
"""Of composed privacy losses, whose total is searched for in steps of 10^-6: another library may end one step beside."""
_UNKNOWN = "unknown"


def _close(value: float, expected: float, tolerance: float = _TOLERANCE) -> bool:
    return abs(value - expected) <= tolerance * abs(expected)


def ledger_faults(release: Release, settings: Settings, plan: Plan) -> Iterator[str]:
    """Yield what differs between the ledger and the plan of the parameters, and between its numbers of values and the tree.

    The ledger of a plan made in stages goes on with draws that were planned on the way.
    """
    entries, further = release.privacy.entries, release.privacy.entries[len(plan.draws) :]
    if len(entries) < len(plan.draws) or (further and not plan.is_staged):
        yield f"the ledger has {len(entries)} draws, but the plan for these parameters has {len(plan.draws)}"
        return
    tolerance = _TOLERANCE_OF_SEARCH if plan.accountant == "pld" else _TOLERANCE
    draws, sound = [*plan.draws, *(_planned_on_the_way(entry, plan) for entry in further)], True
    for entry, draw in zip(entries, draws, strict=True):
        fault = _draw_fault(entry, draw, tolerance) or _unit_fault(entry, draw, release, settings)
        if fault:
            sound = False
            yield f"the draw {draw.name!r}{'' if draw.level is None else f' of level {draw.level}'} {fault}"
    yield from _number_faults(release, draws)
    yield from _description_faults(release, settings, plan)
    if sound and plan.is_staged:
        yield from _stage_faults(draws, plan, tolerance)


def _stage_faults(draws: list[PlannedDraw], plan: Plan, tolerance: float) -> Iterator[str]:
    """Yield why no run plans these draws on the way: each draw goes on step by step, and the last one takes all that is left."""
    for draw in ALL_DRAWS:
        first = 1 if draw == CELL_COUNT else 0
        levels = [planned.level for planned in draws if planned.draw == draw]
        if levels != ([None] * min(len(levels), 1) if draw in MADE_ONCE else list(range(first, first + len(levels)))):
            yield f"the levels of {draw.name!r} do not follow each other"
    priced = [replace(draw, cost=plan.cost_of(draw.mechanism, draw.multiplier)) for draw in draws]
    if replace(plan, draws=tuple(priced)).left > tolerance * plan.total:
        yield "the ledger leaves a part of the budget, which a run would have spent"


def _planned_on_the_way(entry: Entry, plan: Plan) -> PlannedDraw:
    """Return the draw of DPM that an entry of a plan made in stages states; its price has checks of its own."""
    draw = next((draw for draw in ALL_DRAWS if draw.name == entry.name), Draw(_UNKNOWN, Kind.NOISE, entry.unit))
    mechanism = plan.plan_draw(draw, entry.level, 1.0).mechanism
    multiplier = entry.scale / (entry.sensitivity or math.nan) or math.nan  # which is no planned one
    return PlannedDraw(draw, entry.level, mechanism, multiplier, entry.cost, waived=_is_waived(entry))


def _is_waived(entry: Entry) -> bool:
    return entry.n_draws == 0 and entry.cost == 0.0


def _draw_fault(entry: Entry, draw: PlannedDraw, tolerance: float) -> str | None:
    """Return why an entry is not that of a planned draw."""
    if (entry.name, entry.level, entry.mechanism) != (draw.name, draw.level, draw.mechanism):
        return "is planned, but the ledger has a different one there"
    if not entry.sensitivity > 0.0 or not _close(entry.scale, draw.multiplier * entry.sensitivity, tolerance):
        return "has a different noise scale than planned"
    if not _close(entry.cost, draw.cost, tolerance) or not _close(entry.delta, draw.delta):
        return "has a different cost or delta than planned"
    if (entry.n_draws == 0) != (entry.unit == NOT_DRAWN) or (
        entry.n_draws == 0 and not draw.may_be_skipped and not draw.waived
    ):
        return "is missing but was needed"
    return None


def _unit_fault(entry: Entry, draw: PlannedDraw, release: Release, settings: Settings) -> str | None:
    """Return why unit or sensitivity of an entry cannot be those of its draw."""
    rows = settings.rows_per_person
    if entry.unit == NOT_DRAWN:
        return None if entry.sensitivity == rows else "has a different sensitivity than a draw that was not made"
    if entry.unit != draw.draw.unit:
        return "has a different unit than it should"
    if draw.draw == SPLIT and settings.paper:  # it depends on noisy counts, and is never less
        fits = entry.sensitivity % rows == 0 and entry.sensitivity >= 2 * rows * _score(settings).sensitivity
    else:
        fits = entry.sensitivity == rows * _range(draw, release, settings)
    return None if fits else "has a different sensitivity than it should"


def _range(planned: PlannedDraw, release: Release, settings: Settings) -> int:
    """Return what one row changes, in the unit of the draw."""
    if planned.draw == SPLIT:
        return _score(settings).range if (planned.level or 0) % 2 else VarianceScore.range
    return 2 * gap_score_change(len(release.schema.columns)) if planned.draw == INTERVAL_SIZE else 1


def _score(settings: Settings) -> Score:
    assert settings.alpha is not None
    return Score(settings.t, settings.q, settings.alpha, two_sided=not settings.paper)


def _number_faults(release: Release, draws: list[PlannedDraw]) -> Iterator[str]:
    """Yield numbers of values that do not fit the tree. They cost nothing: values of one draw are about different rows."""
    pairs = zip(draws, release.privacy.entries, strict=True)
    drawn = {(planned.draw, planned.level): entry.n_draws for planned, entry in pairs}
    splits = [number for (draw, _), number in drawn.items() if draw == SPLIT]
    counts = [number for (draw, _), number in drawn.items() if draw == COUNT]
    if any(number and not before for before, number in pairwise(splits)):
        yield "the ledger has splits on a level after one without"
    if counts != [1, *(2 * number for number in splits)]:
        yield "the ledger does not count the two sides of every cut"
    if drawn.get((INTERVAL_SIZE, None), 1) != 1:
        yield "the ledger has more than one size of intervals"
    n_leaves, n_columns = release.tree.n_leaves, len(release.schema.centre_columns)
    if sum(splits) < n_leaves - 1:
        yield "the ledger has fewer splits than the tree has cuts"
    n_indicators = sum(len(category.levels) for category in release.schema.categories.values())
    widths = {
        CLIPPED_SUMS: n_columns - n_indicators,
        CATEGORY_COUNTS: n_indicators,
        DOMAIN_SUMS: n_columns,
        CELL_COUNT: 1,
    }
    groups: dict[int | None, set[int]] = {}
    for (draw, step), number in drawn.items():
        if draw in widths and number:
            n_groups, rest = divmod(number, widths[draw] or 1)
            groups.setdefault(step, set()).add(-1 if rest else n_groups)
    if any(len(found) > 1 for found in groups.values()):
        yield "the draws of a step differ in the number of groups"
    elif not _possible_groups({step: min(found) for step, found in groups.items()}, release, len(splits)):
        yield "the number of groups of a step does not match the tree"


def _possible_groups(n_groups: Mapping[int | None, int], release: Release, levels: int) -> bool:
    """Return whether the steps may have so many groups: leaves first, then cells, of which large groups become several, and clusters."""
    n_leaves = release.tree.n_leaves
    if release.cells is None:
        return all(number == n_leaves for number in n_groups.values())
    later = [number for step, number in n_groups.items() if step]
    most = max(n_leaves + 2 ** (levels + 1), len(release.sizes))
    return (
        n_groups.get(0, n_leaves) == n_leaves
        and len(release.cells) <= max(later)
        and 1 <= min(later) <= max(later) <= most
    )


def _description_faults(release: Release, settings: Settings, plan: Plan) -> Iterator[str]:
    """Yield how profiles and quality differ from the draws that made them: their cost, number of values and noise."""
    entries = {entry.name: entry for entry in release.privacy.entries if entry.name in (PROFILES.name, QUALITY.name)}
    share = 0.0 if settings.paper else settings.chosen_shares.get("profiles", 0.0)
    if len(entries) != (2 if share else 0):
        yield "the ledger does not have the draws that describe clusters, or has them although nobody asked for them"
    if len(entries) < 2 or release.profiles is None or release.cells is None:
        return
    tolerance = _TOLERANCE_OF_SEARCH if plan.accountant == "pld" else _TOLERANCE
    if not _close(sum(entry.cost for entry in entries.values()), share * plan.total, tolerance):
        yield "the draws that describe clusters have a different cost than planned"
    entry, n_columns = entries[PROFILES.name], len(release.profiles.columns)
    length = math.sqrt(n_columns) if entry.mechanism == GAUSSIAN else math.sqrt(2.0) * n_columns
    if entry.n_draws != release.profiles.n_values or not _close(release.profiles.deviation, entry.scale * length):
        yield "the profiles have other numbers of values, or another noise, than the ledger"
    if release.figures is None or entries[QUALITY.name].n_draws != 2 + len(release.figures.groups):
        yield "the quality has another number of values than the ledger"
    if release.figures is not None and not _is_noise_of_silhouettes(release.figures, entries[QUALITY.name], release):
        yield "the stated errors of silhouettes are not those of the noise in the ledger"


def _is_noise_of_silhouettes(figures: Figures, entry: Entry, release: Release) -> bool:
    """Return whether measured silhouettes are as certain as the file says; those of a single cluster are not measured."""
    is_gaussian, is_nearest = entry.mechanism == GAUSSIAN, release.partition is None
    own, *rest = noise_of_silhouettes(entry.scale, is_gaussian, is_nearest, figures.numbers, release.tree.size[0])
    own = 0.0 if len(release.sizes) == 1 else own
    return all(map(_close, [figures.silhouette_error, *figures.errors], [own, *rest]))


def price_faults(privacy: PrivacyStatement, plan: Plan) -> Iterator[str]:
    """Yield which prices do not follow from the noise: costs, rho, and the epsilon that they amount to at delta."""
    if not all(entry.sensitivity > 0.0 and entry.scale > 0.0 for entry in privacy.entries):
        yield "a draw has no noise"
        return
    tolerance = _TOLERANCE_OF_SEARCH if plan.accountant == "pld" else _TOLERANCE
    if plan.rho is not None and not _close(privacy.rho or 0.0, plan.rho, tolerance):
        yield "'rho' is not the total of the plan"
    try:
        stages = None if plan.stages is None else plan.stages.scaled(privacy.rho or 0.0)
        draws = tuple(_priced(entry, plan) for entry in privacy.entries)
        stated = replace(plan, epsilon=privacy.epsilon, delta=privacy.delta, draws=draws, stages=stages)
        for entry, draw in zip(privacy.entries, stated.draws, strict=True):
            if not _close(entry.cost, 0.0 if draw.waived else draw.cost):
                yield f"the cost of {entry.name!r} does not match its noise"
        stated.verify()
    except BudgetError as error:
        yield f"epsilon and delta do not cover the ledger: {str(error).split(' Nothing')[0].rstrip('.')}"
    except (ArithmeticError, ValueError):
        yield "the ledger has no price"


def _priced(entry: Entry, plan: Plan) -> PlannedDraw:
    """Return the draw that an entry states, whatever it is called, at the cost of its noise."""
    multiplier = entry.scale / entry.sensitivity
    cost = plan.cost_of(entry.mechanism, multiplier, entry.delta)
    stated = Draw(entry.name, Kind.NOISE, entry.unit)
    return PlannedDraw(stated, entry.level, entry.mechanism, multiplier, cost, entry.delta, _is_waived(entry))
