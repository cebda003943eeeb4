"""The tight audit: how much of what a plan claims its worst-case client really attains, by the exact log-likelihood ratio.

`attained` composes the exact laws of every draw, at the scales that the sampler was asked for: which epsilon is needed at each
delta, and the mean of the log-likelihood ratio (the divergence). `simulated` looks at what the sampler draws, whatever its law
is, and bounds the same divergence from below with confidence. Both are lower bounds; the accountant's are upper bounds. What a
release states must lie between. Proof: ``docs/privacy/audit.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import EXPONENTIAL, GAUSSIAN, Plan, PlannedDraw
from dpmondrian.privacy.accountants import bounded_range_rho, gaussian_rho
from dpmondrian_lab.audit import client
from dpmondrian_lab.audit.laws import REACH, Laws, laws_of
from dpmondrian_lab.audit.profile import ComposedLoss

__all__ = [
    "Attained",
    "Simulated",
    "attained",
    "claimed_divergence",
    "claimed_epsilon",
    "composed_epsilon",
    "mean_bound",
    "simulated",
]

_ROUNDING = 1.0 + 1e-9
_NEAR = 0.7
"""The composed loss is most precise at this part of the claimed epsilon; it is precise enough from 0 to 1.5 of it."""


def claimed_epsilon(plan: Plan, delta: float) -> float:
    """Return the epsilon that the plan's own accountant states at a delta; what is set aside for single draws keeps its share."""
    if plan.delta == 0.0:
        return plan.spent()
    share = delta / plan.delta
    draws = tuple(replace(draw, delta=draw.delta * share) for draw in plan.draws)
    return replace(plan, delta=delta, draws=draws).spent()


def composed_epsilon(plan: Plan, delta: float) -> float:
    """Return the epsilon that the composed privacy loss of all draws needs at most, whatever the plan's accountant is."""
    return plan.composition().epsilon(delta)


def claimed_divergence(draw: PlannedDraw) -> float:
    """Return the largest mean of a log-likelihood ratio that a draw's stated cost allows."""
    if draw.mechanism == GAUSSIAN:
        return gaussian_rho(draw.multiplier)
    if draw.mechanism == EXPONENTIAL:
        return bounded_range_rho(1.0 / draw.multiplier)
    return math.tanh(0.5 / draw.multiplier) / draw.multiplier


@dataclass(frozen=True)
class Attained:
    """What a plan's worst-case client attains of what is claimed.

    Attributes
    ----------
    plan : Plan
    claimed, epsilon : float
        Epsilon at one delta: stated, and needed at least.
    claimed_divergence, divergence : float
        Mean of the log-likelihood ratio of a whole transcript: the most that the stated costs of the draws allow, and what it is.
    used : mapping from name of a draw to float
        Largest part of a draw's claimed divergence that it attains by itself.
    loss : ComposedLoss
        The whole law, for other deltas.
    """

    plan: Plan
    claimed: float
    epsilon: float
    claimed_divergence: float
    divergence: float
    used: Mapping[str, float]
    loss: ComposedLoss = field(repr=False)

    @property
    def refutes(self) -> bool:
        """Whether the plan does not keep what it states: its epsilon, its costs added up, or the cost of a draw."""
        parts = (self.epsilon / self.claimed, self.divergence / self.claimed_divergence, *self.used.values())
        return max(parts) > _ROUNDING


def attained(
    plan: Plan, *, delta: float | None = None, rows_per_person: int = 1, steps: int = 50_000, reach: float = REACH
) -> Attained:
    """Return what the client attains who makes every planned draw at its worst, by the laws that the sampler is asked for.

    Parameters
    ----------
    plan : Plan
        Of `DPM`: with additive noise and selections.
    delta : float, optional
        At which epsilons are compared. None: the plan's own.
    rows_per_person : int
    steps : int
        Of the grid of losses, up to the claimed epsilon: the bound is rounded down by half a step for every draw.
    reach : float
        Gaussian noise beyond so many scales is left out, which makes the bound smaller. 9 is enough down to delta = 1e-15.

    Examples
    --------
    >>> from dpmondrian_lab.audit.plans import pure_plan
    >>> found = attained(pure_plan(1.0, 2))
    >>> round(found.epsilon, 6), found.refutes
    (1.0, False)
    """
    laws = _laws(plan, rows_per_person, reach)
    draws = client.made_draws(plan)
    claims = [claimed_divergence(draw) for draw in draws]
    divergences = [math.fsum(law.divergence for law in parts) for parts in laws]
    used: dict[str, float] = {}
    for draw, divergence, claim in zip(draws, divergences, claims, strict=True):
        used[draw.name] = max(used.get(draw.name, 0.0), divergence / claim)
    delta = plan.delta if delta is None else delta
    claimed = claimed_epsilon(plan, delta)
    loss = ComposedLoss([law for parts in laws for law in parts], _NEAR * claimed, claimed / steps)
    return Attained(plan, claimed, loss.epsilon(delta), math.fsum(claims), math.fsum(divergences), used, loss)


def _laws(plan: Plan, rows_per_person: int, reach: float) -> list[list[Laws]]:
    """Return the laws of every planned draw; refuse a plan that the client cannot ask."""
    one, other = client.record_client(plan, rows_per_person)
    if one.failure or other.failure or other.diverged:
        raise ParameterError(
            parameter="plan",
            rule="must be a plan of DPM, of which every draw adds noise or chooses among candidates",
            got="a plan with other draws",
            way_out="Audit peers with audit_pairs.",
        )
    return [laws_of(before, after, reach) for before, after in zip(one.queries, other.queries, strict=True)]


@dataclass(frozen=True)
class Simulated:
    """Log-likelihood ratios, by the planned laws, of many transcripts that the sampler drew.

    Attributes
    ----------
    plan : Plan
    without, with_person : arrays
        One per transcript.
    """

    plan: Plan
    without: NDArray[np.float64] = field(repr=False)
    with_person: NDArray[np.float64] = field(repr=False)

    @property
    def claimed_divergence(self) -> float:
        """The most that the stated costs of the draws allow."""
        return math.fsum(map(claimed_divergence, client.made_draws(self.plan)))

    def divergence(self, confidence: float = 0.95) -> float:
        """Return what the divergence is at least, with this confidence and whatever the sampler's law is.

        For every function T of a transcript the divergence is at least ``E[T] - ln E'[exp(T)]`` (Donsker and Varadhan); T is
        the planned log-likelihood ratio within fixed limits.
        """
        claim = self.claimed_divergence
        spread = math.sqrt(2.0 * claim)
        low, high = -claim - 3.0 * spread, claim + 2.5 * spread
        error = 0.5 * (1.0 - confidence)
        ratios = np.clip(self.without, low, high)
        weights = np.exp(np.clip(self.with_person, low, high))
        least = mean_bound(ratios, low, high, error)
        most = -mean_bound(-weights, -math.exp(high), 0.0, error)
        return least - math.log(most)


def simulated(plan: Plan, n_transcripts: int, *, seed: int = 0, rows_per_person: int = 1) -> Simulated:
    """Return log-likelihood ratios of transcripts of the worst-case client: so many without and with the person.

    Parameters
    ----------
    plan : Plan
    n_transcripts : int
        Of each of the two tables. With little noise (a large epsilon) fewer are needed.
    seed, rows_per_person : int
    """
    there = np.repeat([0, 1], n_transcripts)
    total = client.sampled_log_ratios(plan, there, rows_per_person, seed)
    return Simulated(plan, total[:n_transcripts], total[n_transcripts:])


def mean_bound(values: NDArray[np.float64], low: float, high: float, error: float) -> float:
    """Return a lower bound of the mean of a law within limits, wrong with at most this probability (Maurer, Pontil 2009)."""
    n, logarithm = len(values), math.log(2.0 / error)
    deviation = math.sqrt(2.0 * float(values.var(ddof=1)) * logarithm / n)
    return float(values.mean()) - deviation - (high - low) * 7.0 * logarithm / (3.0 * (n - 1))
