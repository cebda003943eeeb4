"""The two laws of a draw on neighbouring tables, at the same past: how likely each outcome is, and its log-likelihood ratio.

The laws are those of the mechanism and scale that the sampler was really asked for, with the exact values of both tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import GAUSSIAN
from dpmondrian_lab.audit.exact_law import log_law
from dpmondrian_lab.audit.recording import Query

__all__ = ["REACH", "Laws", "choice_laws", "divergence_of_noise", "laws_of", "shifts"]

REACH = 9.0
"""Noise beyond so many scales is left out of Gaussian laws, where no other reach is given: its probability is below 1e-18."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Laws:
    """Outcomes of one draw.

    Attributes
    ----------
    probabilities : array
        On the table. They may add up to a little less than 1, where outcomes are left out.
    losses : array
        Logarithm of the ratio of an outcome's probabilities on the table and on the neighbour.
    """

    probabilities: Floats
    losses: Floats

    @property
    def divergence(self) -> float:
        """Mean loss: the Kullback-Leibler divergence."""
        return float(self.probabilities @ self.losses)

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        return float(self.probabilities @ (self.losses - self.divergence) ** 2)

    @property
    def largest_loss(self) -> float:
        """The pure epsilon that the draw has at least."""
        return float(self.losses.max())


def laws_of(before: Query, after: Query, reach: float = REACH) -> list[Laws]:
    """Return the laws of the parts of a draw that one person changes; parts are independent given the past.

    Gaussian noise beyond `reach` scales is left out.
    """
    if before.method == "select":
        drawn = zip(before.exact, after.exact, before.draws, strict=True)
        changed = [(a, b, draw) for a, b, draw in drawn if not np.array_equal(a, b)]
        return [choice_laws(draw.mechanism, a.tolist(), b.tolist(), draw.scales[0]) for a, b, draw in changed]
    return [
        _gaussian(shift, scale, reach) if mechanism == GAUSSIAN else _laplace(shift, scale)
        for mechanism, shift, scale in shifts(before, after)
    ]


def shifts(before: Query, after: Query) -> list[tuple[str, int, float]]:
    """Return mechanism, change and scale of every value of a noisy draw that changes, in the unit of the noise."""
    one, other = (np.concatenate([np.ravel(group) for group in query.exact]) for query in (before, after))
    changes = (other.astype(np.int64) - one.astype(np.int64)) * before.parts
    scales = np.array([scale for draw in before.draws for scale in draw.scales])
    mechanism = before.draws[0].mechanism
    return [(mechanism, int(changes[j]), float(scales[j])) for j in np.flatnonzero(changes)]


def choice_laws(mechanism: str, scores: Sequence[int], moved: Sequence[int], scale: float) -> Laws:
    """Return the laws of a choice whose scores change."""
    one, other = (np.array(log_law(mechanism, values, scale)) for values in (scores, moved))
    return Laws(np.exp(one), one - other)


def _gaussian(shift: int, scale: float, reach: float) -> Laws:
    farthest = math.ceil(reach * scale) + 1
    noise = np.arange(-farthest, farthest + 1, dtype=np.float64)
    weights = np.exp(-0.5 * (noise / scale) ** 2)
    return Laws(weights / weights.sum(), (shift * shift - 2.0 * shift * noise) / (2.0 * scale * scale))


def _laplace(shift: int, scale: float) -> Laws:
    """Return the law of noise up to 0, of every value up to the change, and of all beyond."""
    steps = np.arange(abs(shift) + 1, dtype=np.float64)
    below = 1.0 / (1.0 + math.exp(-1.0 / scale))
    between = np.exp(-steps[1:-1] / scale) * math.tanh(0.5 / scale)
    probabilities = np.concatenate([[below], between, [math.exp(-abs(shift) / scale) * below]])
    return Laws(probabilities, (abs(shift) - 2.0 * steps) / scale)


def divergence_of_noise(mechanism: str, shift: float, scale: float) -> float:
    """Return the divergence of noise on a whole number that moves by `shift`, without listing outcomes."""
    if mechanism == GAUSSIAN:
        return shift * shift / (2.0 * scale * scale)
    # E|X - D| - E|X| is the sum of 1 - 2 P(X >= k) over k = 1, ..., D, with P(X >= k) = exp(-k / s) / (1 + exp(-1 / s)).
    tails = -math.expm1(-abs(shift) / scale) / (math.expm1(1.0 / scale) * (1.0 + math.exp(-1.0 / scale)))
    return (abs(shift) - 2.0 * tails) / scale
