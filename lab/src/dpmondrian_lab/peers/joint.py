"""Joint composition of Laplace and Gaussian draws: the exact trade between epsilon and delta, in closed form.

Discrete Laplace noise on a whole number that one person changes by one has privacy loss ``+a`` or ``-a``, like randomised
response; Gaussian draws add up to one Gaussian draw. The composed loss is therefore a finite mixture of shifted Gaussians
(``docs/privacy/joint.md``). The peers use it; DPM itself is accounted for in zCDP, or with its selections in `pld`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from scipy.special import erfcx, log_ndtr

__all__ = ["GAUSSIAN_SLACK", "gaussian_delta", "joint_delta", "joint_epsilon", "least_multiplier"]

GAUSSIAN_SLACK = 1e-6
"""Relative part of epsilon and delta kept back for the difference between discrete and continuous Gaussian noise, and
for rounding."""

_ROOT_HALF = math.sqrt(0.5)
_STEPS = 60


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the least delta at which Gaussian noise of multiplier ``1 / mu`` is (epsilon, delta)-private.

    ``delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) * Phi(-mu/2 - epsilon/mu)``, for any real epsilon. The two terms may
    be nearly equal: their common factor ``exp(-near**2 / 2)`` is taken out, so that only its own rounding remains.
    """
    if epsilon < 0.0:  # loss +x occurs exp(x) times as often as loss -x
        return -math.expm1(epsilon) + math.exp(epsilon) * gaussian_delta(-epsilon, mu)
    if mu == 0.0:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near < 0.0:
        return max(0.0, math.exp(log_ndtr(-near)) - math.exp(epsilon + log_ndtr(-far)))
    return max(0.0, 0.5 * math.exp(-0.5 * near**2) * float(erfcx(near * _ROOT_HALF) - erfcx(far * _ROOT_HALF)))


def joint_delta(epsilon: float, laplace_epsilons: Iterable[float], mu: float) -> float:
    """Return the least delta of composed Laplace draws of the given epsilons and Gaussian draws of total `mu`."""
    losses = [(0.0, 1.0)]  # total loss of the Laplace draws and its probability
    for a, times in Counter(laplace_epsilons).items():
        up = 1.0 / (1.0 + math.exp(-a))
        weights = [math.comb(times, j) * up**j * (1.0 - up) ** (times - j) for j in range(times + 1)]
        losses = [
            (loss + (2 * j - times) * a, probability * weight)
            for loss, probability in losses
            for j, weight in enumerate(weights)
        ]
    return math.fsum(probability * gaussian_delta(epsilon - loss, mu) for loss, probability in losses)


def joint_epsilon(delta: float, laplace_epsilons: Iterable[float], mu: float) -> float:
    """Return an epsilon, rounded up, at which the composed draws are (epsilon, delta)-private."""
    laplace = tuple(laplace_epsilons)
    if delta < 0.0 or (delta == 0.0 and mu > 0.0):
        return math.inf
    low, high = 0.0, 1.0
    while joint_delta(high, laplace, mu) > delta:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if joint_delta(middle, laplace, mu) <= delta:
            high = middle
        else:
            low = middle
    return high


def least_multiplier(epsilon: float, delta: float, n_laplace: int = 0, laplace_factor: float = 1.0) -> float:
    """Return the least noise multiplier at which one Gaussian and `n_laplace` Laplace draws fit the budget.

    The Gaussian draw gets the multiplier itself, each Laplace draw `laplace_factor` times as much.
    """

    def fits(multiplier: float) -> bool:
        return joint_delta(epsilon, [1.0 / (laplace_factor * multiplier)] * n_laplace, 1.0 / multiplier) <= delta

    low, high = 0.0, 1.0
    while not fits(high):
        low, high = high, 2.0 * high
    while low == 0.0:
        if fits(high / 2.0):
            high /= 2.0
        else:
            low = high / 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
