"""How much of a plan's claim whole runs on two neighbouring tables attain, by the log-likelihood ratio of what they release.

A run on the table leads along one path of released values; replayed on the neighbour along the same path, every draw has two known
laws. The mean log-likelihood ratio of the whole transcript is the mean, over paths, of the sum of the draws' divergences
(chain rule), so few runs give it with a small error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import EXPONENTIAL
from dpmondrian_lab.audit.client import made_draws
from dpmondrian_lab.audit.laws import choice_laws, divergence_of_noise, shifts
from dpmondrian_lab.audit.recording import Query, Recording
from dpmondrian_lab.audit.replay import fitted, record_pair
from dpmondrian_lab.audit.tight import claimed_divergence

__all__ = ["AttainedOnTables", "attained_on_tables"]

_MOST_FLIPPED = 100
"""Candidates of permute-and-flip whose law is written down; choices among more count as no divergence, which is on the safe side."""


@dataclass(frozen=True)
class AttainedOnTables:
    """What runs on two neighbouring tables attain of the divergence that their plan claims.

    Attributes
    ----------
    part, error : float
        Of the claim, on average, with its standard error. A run claims what the draws cost that it has not waived.
    used : mapping from name of a draw to float
        Part of what all draws of that name claim together, in all runs; draws that a run may skip and does not make attain nothing.
    n_runs : int
    """

    part: float
    error: float
    used: Mapping[str, float]
    n_runs: int


def attained_on_tables(
    make_estimator: Callable[[], Any],
    table: Any,
    neighbour: Any,
    *,
    n_runs: int,
    seed: int = 0,
) -> AttainedOnTables:
    """Return what an estimator's runs on a pair of tables attain of the divergence that its plan claims.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator of DPM's plans.
    table, neighbour : array or data frame
        As in `audit_replay`.
    n_runs : int
        Runs on the table, each replayed on the neighbour.
    seed : int
    """
    claims: Counter[str] = Counter()
    divergences: Counter[str] = Counter()
    parts = np.empty(n_runs)
    for number in range(n_runs):
        run = record_pair(lambda rows: fitted(make_estimator().fit(rows)), table, neighbour, seed=seed + 2 * number)
        claimed, found = _claims(run[0]), _divergences(*run)
        parts[number] = math.fsum(found.values()) / math.fsum(claimed.values())
        claims.update(claimed)
        divergences.update(found)
    used = {name: divergences[name] / claim for name, claim in claims.items()}
    error = float(parts.std(ddof=1)) / math.sqrt(n_runs) if n_runs > 1 else math.inf
    return AttainedOnTables(float(parts.mean()), error, used, n_runs)


def _claims(one: Recording) -> dict[str, float]:
    """Return what the draws of each name claim together."""
    if len(one.doors) != 1:
        raise ParameterError(parameter="make_estimator", rule="must make estimators that pass one door in a fit")
    claims: dict[str, float] = {}
    for draw in made_draws(one.doors[0].plan):
        claims[draw.name] = claims.get(draw.name, 0.0) + claimed_divergence(draw)
    return claims


def _divergences(one: Recording, other: Recording) -> dict[str, float]:
    """Return the divergences of the draws along one path, added up by name."""
    found: dict[str, float] = {}
    for before, after in zip(one.queries, other.queries, strict=True):
        found[before.name] = found.get(before.name, 0.0) + _divergence(before, after)
    return found


def _divergence(before: Query, after: Query) -> float:
    if before.method != "select":
        return math.fsum(divergence_of_noise(*shift) for shift in shifts(before, after))
    parts = []
    for scores, moved, draw in zip(before.exact, after.exact, before.draws, strict=True):
        is_known = draw.mechanism == EXPONENTIAL or len(scores) <= _MOST_FLIPPED
        if is_known and not np.array_equal(scores, moved):
            parts.append(choice_laws(draw.mechanism, scores.tolist(), moved.tolist(), draw.scales[0]).divergence)
    return math.fsum(parts)
