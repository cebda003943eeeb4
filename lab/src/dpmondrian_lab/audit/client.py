"""The client for whom every draw of a plan costs what was planned: one person moves each exact value as far as was declared.

An algorithm asks the door what its rows need; hardly any table is the worst one for every draw at once. This client makes every
planned draw, each on the two inputs that are hardest to keep apart at its price. Whatever a plan, a door and an accountant
promise together must hold for it too, and nowhere is there less room. Proof: ``docs/privacy/audit.md``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm import CATEGORY_COUNTS, LINES, PROFILES
from dpmondrian.privacy import (
    EXPONENTIAL,
    GAUSSIAN,
    HALF_WIDTHS,
    LAPLACE,
    PERMUTE_AND_FLIP,
    RADII,
    Door,
    Plan,
    PlannedDraw,
)
from dpmondrian_lab.audit.exact_law import log_law
from dpmondrian_lab.audit.recording import Recording
from dpmondrian_lab.audit.replay import record_pair

__all__ = ["ask_everything", "made_draws", "record_client", "sampled_log_ratios"]

_SCORES = {
    EXPONENTIAL: ((0, 1), (2, 1)),
    PERMUTE_AND_FLIP: ((1, 1), (2, 0)),
}
"""Scores of two candidates without and with the person; they move within an interval of width 2.

The exponential mechanism then changes its mind at even odds, from half of its range below to half above, where it has the largest
divergence; permute-and-flip makes one candidate less likely by all of its epsilon."""

_RANGE_OF_SCORES = 2
_OF_HISTOGRAMS = (CATEGORY_COUNTS, LINES, PROFILES)
_HISTOGRAMS = {GAUSSIAN: 2, LAPLACE: 1}
"""So many histograms of the same rows are asked for at once; the person is in one bin of each. The loss of Laplace noise is not
divided: two halves of it have a smaller divergence."""


def made_draws(plan: Plan) -> list[PlannedDraw]:
    """Return the draws that a run makes which ends with this plan: all that were not waived."""
    return [draw for draw in plan.draws if not draw.waived]


def ask_everything(door: Door, there: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Make every planned draw on many groups at once and return what was released, one array (n_groups, n_values) per draw.

    Parameters
    ----------
    door : Door
    there : array of shape (n_groups,)
        1 where the person's rows are in the group, else 0. The groups' noise is independent, so each of them is a whole
        transcript of its own.
    """
    return [_ask(door, draw, np.asarray(there, dtype=np.int64)) for draw in made_draws(door.plan)]


def _ask(door: Door, planned: PlannedDraw, there: NDArray[np.int64]) -> NDArray[np.int64]:
    draw, level = planned.draw, planned.level
    if planned.mechanism in _SCORES:
        inputs = [np.array(scores) * door.rows_per_person for scores in _SCORES[planned.mechanism]]
        scores = [inputs[number] for number in there.tolist()]
        return np.array(door.select(draw, level, scores, [_RANGE_OF_SCORES] * len(there)))[:, None]
    exact, one = door.rows_per_person * there[:, None], np.ones(len(there), dtype=np.int64)
    if draw in _OF_HISTOGRAMS:
        number = _HISTOGRAMS[planned.mechanism]
        return np.array(door.histograms(draw, level, list(np.repeat(exact, number, axis=1)), number * one)[0])
    if draw.unit == HALF_WIDTHS:
        return door.box_sums(draw, level, exact, one[:, None])[0]
    if draw.unit == RADII:
        return door.ball_sums(draw, level, exact, one)[0]
    return door.counts(draw, level, exact[:, 0])[:, None]


def record_client(plan: Plan, rows_per_person: int = 1, seed: int = 0) -> tuple[Recording, Recording]:
    """Return recordings of the client without the person and, at the same released values, with the person."""

    def run(there: Any) -> None:
        ask_everything(Door(plan, rows_per_person), there)

    return record_pair(run, np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64), seed=seed)


def sampled_log_ratios(plan: Plan, there: NDArray[np.int64], rows_per_person: int, seed: int) -> NDArray[np.float64]:
    """Return one log-likelihood ratio per group, without the person to with the person: by the planned laws, of what was drawn."""
    released = ask_everything(Door(plan, rows_per_person, seed=seed), there)
    total = np.zeros(len(there))
    for draw, values in zip(made_draws(plan), released, strict=True):
        total += _planned_log_ratios(draw, values, rows_per_person)
    return total


def _planned_log_ratios(draw: PlannedDraw, released: NDArray[np.int64], rows_per_person: int) -> NDArray[np.float64]:
    if draw.mechanism in _SCORES:
        multiplier = _RANGE_OF_SCORES * draw.multiplier
        one, other = (np.array(log_law(draw.mechanism, scores, multiplier)) for scores in _SCORES[draw.mechanism])
        chosen: NDArray[np.float64] = (one - other)[released[:, 0]]
        return chosen
    n_values = released.shape[1]
    if draw.mechanism == GAUSSIAN:
        scale = draw.multiplier * rows_per_person * math.sqrt(n_values)
        ratios = (rows_per_person**2 - 2.0 * rows_per_person * released) / (2.0 * scale * scale)
    else:
        scale = draw.multiplier * rows_per_person * n_values
        ratios = (np.abs(released - rows_per_person) - np.abs(released)) / scale
    total: NDArray[np.float64] = ratios.sum(axis=1)
    return total
