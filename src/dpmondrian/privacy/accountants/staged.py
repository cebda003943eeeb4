"""The composed privacy loss of a run that decides on the way how it goes on.

Noise of a fixed cost comes first. What it releases decides for one of several *ways*: each has selections of fixed costs, and the rest
of one total, the same for all ways, is Gaussian noise whose costs are decided step by step. The rest of the run is dominated, given the
way, by its selections and one Gaussian draw; over the decision the worst way counts at every loss of the first noise:
``delta(epsilon) <= E[max over ways of delta_way(epsilon - Y)]``. Proof: ``docs/privacy/filter.md``.

All losses are put on one grid, outwards, like those of `dpmondrian.privacy.accountants.pld`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpmondrian.privacy.accountants.pld import Floats, bounded_range_half, gaussian_deltas, least_epsilon, mirrored

_GRID = 512
"""Steps of the grid up to the largest loss of selections and first noise together."""
_REACH = 38.0
"""Deviations of the first noise that are on the grid; beyond, with a probability of 6e-316, its loss counts as infinite."""
_ROUNDING = 2.0**-40
"""Relative error of a tail of the normal law, generously: it is covered by moving more of the loss upwards."""
_LARGEST_EXPONENT = 700.0
"""Beyond, exponentials would overflow. Losses count as this one there, which moves more of them upwards."""
_SEARCH_TOLERANCE = 1e-6
_MOST_SECANTS, _LEAST_SLOPE = 60, 0.1
_LEAST_NUMBER = 1e-320
_EPSILON_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Stages:
    """What a run may cost under composed privacy losses. All costs are in rho.

    Attributes
    ----------
    total : float
        Most that all draws may cost together.
    first : float
        Cost of the noise that is drawn before a way is chosen.
    ways : tuple of tuples of float
        The costs of the selections of every way.
    """

    total: float
    first: float
    ways: tuple[tuple[float, ...], ...]

    def scaled(self, total: float) -> Stages:
        """Return the same shares of another total."""
        factor = total / self.total
        ways = tuple(tuple(factor * cost for cost in way) for way in self.ways)
        return Stages(total, factor * self.first, ways)

    def delta(self, epsilon: float) -> float:
        """Return a delta, rounded up, at which every run that keeps to the costs is (epsilon, delta)-private, for any real epsilon."""
        return _delta(self._without_choice(), epsilon)

    def _without_choice(self) -> Stages:
        """Return the same; with one way nothing is decided, and the first noise is noise like all other."""
        return self if len(self.ways) > 1 else replace(self, first=0.0)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon, rounded up, at which every run that keeps to the costs is (epsilon, delta)-private."""
        return least_epsilon(self.delta, delta, _EPSILON_TOLERANCE)


@lru_cache(maxsize=64)
def largest_total(shares: Stages, epsilon: float, delta: float) -> float:
    """Return about the largest total, rounded down, at which stages with these shares are (epsilon, delta)-private.

    The way with the widest losses is nearly always the worst: it is searched with alone, and all are asked in the end.
    """
    shares = shares._without_choice()
    widest = max(shares.ways, key=lambda way: math.fsum(map(math.sqrt, way)))
    total = _search(replace(shares, ways=(widest,)), epsilon, delta)
    safe = delta * (1.0 - 0.5 * _ROUNDING)
    return total if _delta(shares.scaled(total), epsilon) <= safe else _search(shares, epsilon, delta)


def _search(shares: Stages, epsilon: float, delta: float) -> float:
    """Return the largest total at which delta is kept, within the search's tolerance."""

    def excess(log_total: float) -> float:
        found = _delta(shares.scaled(math.exp(log_total)), epsilon)
        return math.log(max(found, _LEAST_NUMBER)) - math.log(delta)

    log_total, back = _root(excess, math.log(shares.total)), _SEARCH_TOLERANCE
    while excess(log_total) > -_ROUNDING:  # the same total may be computed again in another way
        log_total, back = log_total - back, 2.0 * back
    return math.exp(log_total)


def _root(function: Callable[[float], float], start: float) -> float:
    """Return about where an increasing function is 0, by secants."""
    before, here = start - 0.05, start
    at_before, at_here = function(before), function(here)
    for _ in range(_MOST_SECANTS):
        slope = max((at_here - at_before) / (here - before), _LEAST_SLOPE)
        before, at_before = here, at_here
        here -= min(max(at_here / slope, -1.0), 1.0)
        if abs(here - before) <= 0.5 * _SEARCH_TOLERANCE:
            break
        at_here = function(here)
    return here


@lru_cache(maxsize=256)
def _delta(stages: Stages, epsilon: float) -> float:
    mu = math.sqrt(2.0 * stages.first)
    ranges = [[math.sqrt(8.0 * cost) for cost in way] for way in stages.ways]
    step = (max(map(math.fsum, ranges)) + _REACH * mu) / _GRID
    probabilities, beyond = _first_losses(mu, step)
    of_ways = [
        _way_deltas(epsilon, way, stages.total - stages.first - math.fsum(costs), step, len(probabilities) // 2)
        for way, costs in zip(ranges, stages.ways, strict=True)
    ]
    return min(1.0, beyond + float(np.dot(probabilities, np.max(of_ways, axis=0))))


def _way_deltas(epsilon: float, ranges: list[float], rho: float, step: float, reach: int) -> Floats:
    """Return the deltas of selections and Gaussian noise at ``epsilon - k * step``, for k from ``-reach`` to `reach`."""
    losses = np.ones(1)
    for width in ranges:
        losses = np.convolve(losses, mirrored(bounded_range_half(width, step), step))
    both = reach + len(losses) // 2
    epsilons = epsilon - step * np.arange(-both, both + 1, dtype=np.float64)
    return np.convolve(gaussian_deltas(epsilons, math.sqrt(2.0 * max(rho, 0.0))), losses[::-1], "valid")


def _first_losses(mu: float, step: float) -> tuple[Floats, float]:
    """Return the probabilities of the grid's losses of Gaussian noise, from the least to the largest, and of those outside.

    The loss within a step is moved to its two ends with the same probabilities under both laws, or rather to the upper one.
    """
    if mu == 0.0:
        return np.ones(1), 0.0
    n_steps = math.ceil((0.5 * mu + _REACH) * mu / step)
    losses = step * np.arange(n_steps + 1)
    above = ndtr(0.5 * mu - losses / mu)
    inside, other_law = -np.diff(above), -np.diff(ndtr(-0.5 * mu - losses / mu))
    upper = inside - other_law * np.exp(np.minimum(losses[:-1], _LARGEST_EXPONENT)) + _ROUNDING * above[:-1]
    upper = np.clip(upper / -math.expm1(-step), 0.0, inside)
    half = np.append(inside - upper, 0.0) + np.insert(upper, 0, 0.0)
    return mirrored(half, step), 2.0 * float(above[-1])
