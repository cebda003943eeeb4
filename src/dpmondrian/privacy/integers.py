"""Noisy values are 64-bit integers: into how many parts a unit is divided, and which noise is too large or too coarse for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import BudgetError, WayOut
from dpmondrian.privacy.draws import Kind
from dpmondrian.privacy.plan import Plan, PlannedDraw

LARGEST_SCALE = 2.0**45
"""Up to here the samplers are exact and 64-bit integers hold every noisy value (``docs/privacy/noise.md``)."""
MOST_PARTS_OF_ROWS, MOST_PARTS_OF_SUMS, PLACES = 2**24, 2**30, 2**18
"""Into how many parts a row, or what it adds to a sum, `PLACES` at most, may be divided: 2**32 rows and noise fit 64 bits."""


def check_noise_fits(
    plan: Plan,
    rows_per_person: int,
    largest_sensitivity: float,
    n_columns: int = 1,
    least_share: float | None = None,
) -> None:
    """Refuse, before anything is drawn, a run whose noise 64-bit integers could not hold: it is large, or has fine steps.

    A composed privacy loss asks for fine steps, finer if one row changes `n_columns` values (``docs/privacy/pld.md``). Draws that
    will be planned on the way cost at least `least_share` of the total.
    """
    if plan.accountant == "pld" and not _may_be_fine(plan, rows_per_person, n_columns):
        raise BudgetError(
            "The noise of this run would be too coarse for the accountant of privacy losses; nothing was drawn.",
            WayOut.FINER_NOISE,
        )
    noisy = [planned for planned in plan.draws if planned.draw.kind is Kind.NOISE]
    noisy += [] if least_share is None else [plan.noise_at(least_share * plan.total)]
    if max(planned.multiplier for planned in noisy) * rows_per_person * largest_sensitivity > LARGEST_SCALE:
        raise BudgetError(
            "The noise of this run would be too large to represent; nothing was drawn.", WayOut.LESS_NOISE
        )


def _may_be_fine(plan: Plan, rows_per_person: int, n_columns: int) -> bool:
    """Return whether noise can have steps that are fine enough, whatever is planned on the way: also for the whole budget."""
    least = plan.noise_at(plan.total)
    return plan.is_fine(least, least.multiplier * rows_per_person * MOST_PARTS_OF_ROWS, n_columns * rows_per_person)


def parts_of_unit(plan: Plan, draw: PlannedDraw, scale: float, n_changed: int, most: int) -> int:
    """Return into how many parts a unit is divided before noise is drawn: a power of two, public.

    More than one only for composed privacy losses, whose Gaussian noise must be near to continuous noise. `scale` is the draw's
    least scale, `n_changed` the number of values that one person changes (``docs/privacy/joint.md``).
    """
    parts = 1
    while not plan.is_fine(draw, scale * parts, n_changed):
        parts *= 2
        if parts > most:
            raise BudgetError(
                f"The noise of {draw.name!r} would be too coarse for its accounting; it was not drawn. Decrease 'epsilon'."
            )
    return parts


def in_whole_units(noisy: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Return noisy values, given in parts of a unit, rounded to whole units: post-processing."""
    return (noisy + parts // 2) // parts
