"""The composed privacy loss of a run: what Gaussian noise, Laplace noise and selections cost together.

Every draw is dominated by a pair of laws whose privacy loss is known: a selection of bounded range by a loss with density
``exp((x - epsilon) / 2) / 2 / (1 - exp(-epsilon))`` on ``[-epsilon, epsilon]``, a pure draw by randomised response, Gaussian
noise by a Gaussian loss. Losses add up. Selections and pure draws are put on a grid, outwards, so that no delta is too
small; the Gaussian part is added in closed form, and no tail is cut off but by underflow, which does not matter for a delta
of at least 1e-300. Proof: ``docs/privacy/pld.md``.

`dpmondrian_lab.audit.second_accountant` prices a plan again, by other people's code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.accountants.zcdp import rho_from_epsilon
from dpmondrian.privacy.draws import EXPONENTIAL, GAUSSIAN

PLD_SLACK = 1e-4
"""Relative part of epsilon and delta kept back for the difference between discrete and continuous Gaussian noise, and
for rounding."""

_GRID = 2048
"""Steps of the grid up to the largest loss of the selections and pure draws together."""
_TOLERANCE = 1e-10
_ORDER_STEPS = 16
_ROOT_HALF = math.sqrt(0.5)
_LARGEST_EXPONENT = 700.0
_LARGEST_EPSILON = 1e9
_CONVERTED = (1e-9, 1e9)
_LEAST_EPSILON = 1e-200  # so that the grid's step is a normal number

Floats = NDArray[np.float64]


def bounded_range_delta(x: float, epsilon: float) -> float:
    """Return the largest delta at `x` of any pair of laws whose log-ratios lie within an interval of width `epsilon`.

    ``(1 - exp((x - epsilon) / 2))**2 / (1 - exp(-epsilon))`` from -epsilon to epsilon.
    """
    if x >= epsilon:
        return 0.0
    if x <= -epsilon:
        return -math.expm1(x)
    return math.expm1((x - epsilon) / 2.0) ** 2 / -math.expm1(-epsilon)


class Priced(Protocol):
    """What a price is computed from: a planned draw, or an entry of the ledger."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def cost(self) -> float:
        """Cost in the plan's currency."""
        ...

    @property
    def delta(self) -> float:
        """Probability set aside for this draw."""
        ...


@dataclass(frozen=True)
class Composition:
    """What the draws of a run are dominated by, together.

    Attributes
    ----------
    ranges : tuple of float
        Epsilons of selections of bounded range.
    pure : tuple of float
        Epsilons of draws of which no more is known.
    mu : float
        Length of the change, in noise scales, of all Gaussian noise that is near enough to continuous noise.
    rho : float
        zCDP cost of all other Gaussian noise.
    failure : float
        Probabilities set aside for single draws, added up.
    """

    ranges: tuple[float, ...] = ()
    pure: tuple[float, ...] = ()
    mu: float = 0.0
    rho: float = 0.0
    failure: float = 0.0

    @classmethod
    def of(cls, draws: Iterable[Priced], currency: str, *, fine: bool) -> Composition:
        """Return the composition of planned draws or entries of a ledger, whose costs are in `currency` (see `Plan`).

        `fine` says that Gaussian noise is near enough to continuous noise; otherwise only its zCDP cost is used.
        """
        ranges, pure, rhos, failures = [], [], [], []
        for draw in draws:
            rho = _gaussian_cost(draw, currency)
            failures.append(0.0 if rho is not None and currency == "epsilon" else draw.delta)
            if rho is not None:
                rhos.append(rho)
            elif draw.mechanism == EXPONENTIAL:
                ranges.append(math.sqrt(8.0 * draw.cost) if currency == "rho" else draw.cost)
            elif currency == "rho":
                raise BudgetError("A plan in rho holds a mechanism of which no privacy loss is known.")
            else:
                pure.append(draw.cost)
        whole = math.fsum(rhos)
        mu, rho = (math.sqrt(2.0 * whole), 0.0) if fine else (0.0, whole)
        return cls(tuple(ranges), tuple(pure), mu, rho, math.fsum(failures))

    def with_pure(self, epsilon: float) -> Composition:
        """Return the same with one more pure draw."""
        return replace(self, pure=(*self.pure, epsilon)) if epsilon > 0.0 else self

    def delta(self, epsilon: float) -> float:
        """Return a delta, rounded up, at which the composed draws are (epsilon, delta)-private, for any real epsilon."""
        losses, probabilities = _finite_losses(self.ranges, self.pure)
        rest = epsilon - losses
        deltas = _zcdp_deltas(rest, self.rho) if self.rho > 0.0 else gaussian_deltas(rest, self.mu)
        return min(1.0, self.failure + float(np.dot(probabilities, deltas)))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon, rounded up, at which the composed draws are (epsilon, delta)-private."""
        largest = math.fsum(self.ranges) + math.fsum(self.pure)
        if delta < self.failure:
            return math.inf
        if self.mu == self.rho == 0.0 and delta == self.failure:
            return largest
        if delta <= self.failure:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        return least_epsilon(self.delta, delta, _TOLERANCE)


def least_epsilon(delta_at: Callable[[float], float], delta: float, tolerance: float) -> float:
    """Return about the least epsilon, rounded up, at which a falling function is within delta."""
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        low, high = high, 2.0 * high
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def discreteness(scale: float, n_values: int, mu: float, log_tail: float) -> float:
    """Return what Gaussian noise on whole numbers may cost more, in epsilon, than the same noise on the real line.

    Parameters
    ----------
    scale : float
        The least scale of the noise, in the unit of the whole numbers. The bound is proved for scales of at least 1; below, nothing
        is promised: infinite.
    n_values : int
        How many of them one person changes.
    mu : float
        Length of that change in scales.
    log_tail : float
        Logarithm of the probability of noise beyond the reach for which the bound is made: to be added to delta.
    """
    if scale < 1.0:
        return math.inf
    reach = math.sqrt(2.0 * n_values * (math.log(2.0 * n_values) - log_tail)) + mu
    return (reach**2 + 2.0 * n_values) / (24.0 * scale**2)


def _gaussian_cost(draw: Priced, currency: str) -> float | None:
    """Return the zCDP cost of a Gaussian draw; None for others, and where no conversion has such an epsilon or delta."""
    if draw.mechanism != GAUSSIAN:
        return None
    if currency == "rho":
        return draw.cost
    if draw.delta == 0.0 or not _CONVERTED[0] <= draw.cost <= _CONVERTED[1]:
        return None
    return rho_from_epsilon(draw.cost, draw.delta) * (1.0 + 1e-9)


@lru_cache(maxsize=64)
def _finite_losses(ranges: tuple[float, ...], pure: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return the losses of the composed selections and pure draws, on a grid, and their probabilities.

    Only sums and products of positive numbers occur, so that small probabilities are as exact as large ones.
    """
    ranges = tuple(max(e, _LEAST_EPSILON) for e in ranges if e > 0.0)
    pure = tuple(max(e, _LEAST_EPSILON) for e in pure if e > 0.0)
    total = math.fsum(ranges) + math.fsum(pure)
    step, composed = total / _GRID, np.ones(1)
    for epsilon in ranges:
        composed = np.convolve(composed, mirrored(bounded_range_half(epsilon, step), step))
    for epsilon in pure:
        composed = np.convolve(composed, mirrored(_response_half(epsilon, step), step))
    reach = len(composed) // 2
    return step * np.arange(-reach, reach + 1, dtype=np.float64), composed


def n_steps(epsilon: float, step: float) -> int:
    """Return the least number of steps that reach `epsilon`."""
    n = math.ceil(epsilon / step)
    return n if n * step >= epsilon else n + 1


def bounded_range_half(epsilon: float, step: float) -> Floats:
    """Return the probabilities of the grid's losses 0, step, ..., of a selection, from losses of at least 0 alone.

    The loss within a step is moved to the two ends of the step with the same probabilities under both laws.
    """
    n = n_steps(epsilon, step)
    inner = np.arange(n) * step
    density = np.exp((inner - epsilon) / 2.0) / -math.expm1(-epsilon)
    half = np.zeros(n + 1)
    half[: n - 1] += density[:-1] * math.tanh(step / 4.0)
    half[1:n] += density[1:] * math.tanh(step / 4.0)
    last, below = inner[-1], -math.expm1((inner[-1] - epsilon) / 2.0)
    part = below / -math.expm1(-epsilon) / -math.expm1(-step)
    half[n - 1] += part * math.exp((last - epsilon) / 2.0) * -math.expm1((last + epsilon) / 2.0 - n * step)
    half[n] += part * below
    return half


def _response_half(epsilon: float, step: float) -> Floats:
    """Return the same for randomised response: its positive loss alone."""
    n = n_steps(epsilon, step)
    last, half = (n - 1) * step, np.zeros(n + 1)
    part = 1.0 / (1.0 + math.exp(-epsilon)) / -math.expm1(-step)
    half[n - 1] = part * math.exp(last - epsilon) * -math.expm1(epsilon - n * step)
    half[n] = part * -math.expm1(last - epsilon)
    return half


def mirrored(half: Floats, step: float) -> Floats:
    """Return the probabilities of negative losses too: loss -x occurs ``exp(-x)`` times as often as loss x."""
    negative = half * np.exp(-np.arange(len(half)) * step)
    return np.concatenate([negative[:0:-1], [half[0] + negative[0]], half[1:]])


def gaussian_deltas(epsilons: Floats, mu: float) -> Floats:
    """Return the least deltas of Gaussian noise of multiplier ``1 / mu``, for any real epsilons.

    ``delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) * Phi(-mu/2 - epsilon/mu)``. Where the two terms are nearly equal, their common
    factor ``exp(-near**2 / 2)`` is taken out, so that only its own rounding remains.
    """
    if mu == 0.0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilons, 0.0)))
    size = np.abs(epsilons)
    with np.errstate(all="ignore"):
        near, far = size / mu - mu / 2, size / mu + mu / 2
        outside = np.maximum(near, 0.0)
        within = np.exp(log_ndtr(-near)) - np.exp(np.minimum(size + log_ndtr(-far), 0.0))
        beyond = 0.5 * np.exp(-0.5 * outside**2) * (erfcx(outside * _ROOT_HALF) - erfcx(far * _ROOT_HALF))
    return _with_negative(epsilons, np.maximum(0.0, np.where(near < 0.0, within, beyond)))


def _zcdp_deltas(epsilons: Floats, rho: float) -> Floats:
    """Return deltas that rho-zCDP implies: the conversion of ``docs/privacy/composition.md`` at the best order.

    At epsilon 0, and so above it, ``sqrt(rho / 2)`` holds too (Pinsker's inequality).
    """
    size = np.minimum(np.abs(epsilons), _LARGEST_EPSILON)  # what holds for a smaller epsilon holds for a larger one
    low = np.full(size.shape, -30.0)
    high = np.clip(np.log(size + 40.0) - math.log(rho), 0.0, _LARGEST_EXPONENT / 2.0)
    for _ in range(_ORDER_STEPS):  # the bound falls with log(order - 1) as long as its derivative is negative
        middle = 0.5 * (low + high)
        excess = np.exp(middle)
        falls = (2.0 * excess + 1.0) * rho - np.log1p(1.0 / excess) < size
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    excess = np.exp(high)
    exponent = -np.log1p(excess) - excess * np.log1p(1.0 / excess) + excess * ((1.0 + excess) * rho - size)
    deltas = np.minimum(np.exp(np.minimum(exponent, 0.0)), min(1.0, math.sqrt(rho / 2.0)))
    return _with_negative(epsilons, deltas)


def _with_negative(epsilons: Floats, deltas: Floats) -> Floats:
    """Return deltas also where epsilon is negative, from those of its absolute value: both orders of a pair are alike."""
    size = np.minimum(np.abs(epsilons), _LARGEST_EXPONENT)
    return np.where(epsilons < 0.0, -np.expm1(-size) + np.exp(-size) * deltas, deltas)
