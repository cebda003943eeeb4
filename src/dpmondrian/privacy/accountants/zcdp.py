"""Zero-concentrated differential privacy: prices of mechanisms and conversion to (epsilon, delta).

The conversion is the tight one of Canonne, Kamath and Steinke (2020, corollary 13), see
``docs/privacy/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache


def gaussian_rho(multiplier: float) -> float:
    """Return the zCDP cost of Gaussian noise whose scale is `multiplier` times the L2 sensitivity."""
    return 1.0 / (2.0 * multiplier * multiplier)


def gaussian_multiplier(rho: float) -> float:
    """Return the noise scale per unit of L2 sensitivity that costs `rho`."""
    return 1.0 / math.sqrt(2.0 * rho)


def bounded_range_rho(epsilon: float) -> float:
    """Return the zCDP cost of an `epsilon`-bounded-range selection: ``epsilon**2 / 8``."""
    return epsilon * epsilon / 8.0


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-DP.

    ``epsilon = min over a > 1 of  a*rho + ln((a-1)/a) - (ln(delta) + ln(a)) / (a-1)``.
    Every a gives a valid epsilon, so an inexact minimum errs on the private side.
    """
    if rho == 0.0:
        return 0.0

    def bound(log_excess: float) -> float:
        a = 1.0 + math.exp(log_excess)
        return a * rho + math.log1p(-1.0 / a) - (math.log(delta) + math.log(a)) / (a - 1.0)

    # The minimum lies near a - 1 = sqrt(ln(1/delta) / rho); the bound is unimodal in log(a - 1).
    centre = 0.5 * math.log(-math.log(delta) / rho)
    return max(0.0, smallest_met(bound, centre - 4.0, centre + 4.0))


@lru_cache(maxsize=256)
def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest rho, rounded down, for which `epsilon_from_rho` stays within `epsilon`."""
    low, high = 0.0, epsilon  # a starting bracket: near epsilon for large budgets, far above it for small ones
    while epsilon_from_rho(high, delta) <= epsilon:
        low, high = high, 2.0 * high
    while low == 0.0:
        if epsilon_from_rho(high / 2.0, delta) <= epsilon:
            low = high / 2.0
        else:
            high /= 2.0
    for _ in range(52):
        middle = 0.5 * (low + high)
        if epsilon_from_rho(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def smallest_met(function: Callable[[float], float], low: float, high: float, n_steps: int = 40) -> float:
    """Return the smallest value that a golden-section search meets on an interval."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    found = min(at_left, at_right)
    for _ in range(n_steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        found = min(found, at_left, at_right)
    return found
