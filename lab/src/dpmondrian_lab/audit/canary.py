"""The canary audit: many invented rows, each thrown in or left out by a coin, are guessed from one release.

Steinke, Nasr and Jagielski (2023), *Privacy auditing with one (1) training run*. The guesser may abstain. If epsilon is what is
claimed, no guesser is right much more often than with probability ``exp(epsilon) / (1 + exp(epsilon))`` per guess; the bound
holds for all guesses of one run together, although they depend on each other. So one run may do where the membership game
needs thousands; for an algorithm that releases few numbers it says little.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmondrian.common.checks import check_integer
from dpmondrian.exceptions import ParameterError
from dpmondrian_lab.audit.game import Run, check_probabilities

__all__ = [
    "CanaryResult",
    "NearCanaries",
    "canary_audit",
    "canary_crowds",
    "one_run_epsilon",
    "one_run_p_value",
]

_LARGEST_EPSILON = 50.0
_BISECTIONS = 60


@dataclass(frozen=True)
class CanaryResult:
    """How many canaries were guessed rightly, and what that proves.

    Attributes
    ----------
    epsilon_lower : float
        Epsilon is at least this, with the stated confidence. 0 if nothing was found.
    delta, confidence : float
    n_canaries, n_guesses, n_right : int
        Over all runs.
    n_runs : int
    """

    epsilon_lower: float
    delta: float
    confidence: float
    n_canaries: int
    n_guesses: int
    n_right: int
    n_runs: int

    def refutes(self, epsilon: float) -> bool:
        """Return whether the claim of this epsilon is wrong, with the stated confidence."""
        return self.epsilon_lower > epsilon

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon_lower:.3g} at delta = {self.delta:g} with {100 * self.confidence:g} % confidence: of "
            f"{self.n_canaries} canaries {self.n_guesses} were guessed, {self.n_right} of them rightly."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return asdict(self)


def canary_audit(
    run: Run,
    table: ArrayLike,
    canaries: ArrayLike,
    scores: Callable[[Any], ArrayLike],
    *,
    n_runs: int = 1,
    guess_share: float = 0.25,
    seed: int = 0,
    delta: float = 0.0,
    confidence: float = 0.95,
    progress: Callable[[], None] | None = None,
) -> CanaryResult:
    """Return a lower bound on epsilon from guesses which canaries were in the table.

    Parameters
    ----------
    run : callable
        From a table and a seed to a release, as in `membership_game`.
    table : array of shape (n_rows, n_columns)
        Rows that are always there: invented ones.
    canaries : array of shape (n_canaries, n_columns)
        Rows of which each is there with probability 1/2.
    scores : callable
        From a release to an array of shape (n_canaries,), larger the more likely the canary was there; or of shape
        (n_canaries, n_scores), several such scores. It knows table and canaries, but not which were there.
    n_runs : int, default=1
        Runs with independent coins and noise. Several of them together are one run of an algorithm on as many tables.
    guess_share : float, default=0.25
        Part of all canaries that is guessed: those with the largest and the smallest scores. Fixed beforehand.
    seed : int
    delta, confidence : float
        As in `membership_game`.
    progress : callable, optional
        Called after every run.

    Examples
    --------
    Every canary has a count of its own, with Laplace noise of scale 1/2, so epsilon = 2:

    >>> import numpy as np
    >>> def noisy_counts(rows, seed):
    ...     return np.bincount(rows[:, 0].astype(int), minlength=1000) + np.random.default_rng(seed).laplace(0, 0.5, 1000)
    >>> result = canary_audit(noisy_counts, np.empty((0, 1)), np.arange(1000)[:, None], lambda released: released)
    >>> 1.2 < result.epsilon_lower < 2.0
    True
    """
    n_runs = check_integer("n_runs", n_runs, 1, 10**6, "One is enough where there are many canaries.")
    if not 0.0 < guess_share <= 1.0:
        raise ParameterError(
            parameter="guess_share",
            rule="must be a number in (0, 1]",
            value=guess_share,
            way_out="The default is 0.25.",
        )
    fixed, thrown = np.asarray(table, dtype=np.float64), np.asarray(canaries, dtype=np.float64)
    coins = np.random.default_rng([seed, 1]).integers(0, 2, (n_runs, len(thrown))).astype(bool)
    seeds = np.random.SeedSequence(seed).generate_state(n_runs, np.uint64) >> np.uint64(1)
    seen = []
    for there, own_seed in zip(coins, seeds.tolist(), strict=True):
        released = run(np.concatenate([fixed, thrown[there]]), own_seed)
        seen.append(np.asarray(scores(released), dtype=np.float64).reshape(len(thrown), -1))
        if progress is not None:
            progress()
    n_guesses = 2 * max(1, int(guess_share * coins.size / 2))
    n_right = _n_right(_combined(np.array(seen)), coins, n_guesses)
    epsilon = one_run_epsilon(coins.size, n_guesses, n_right, delta, confidence)
    return CanaryResult(epsilon, delta, confidence, coins.size, n_guesses, n_right, n_runs)


def _combined(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one score per run and canary: the sum of all, each as its rank among the runs of that canary where there are some.

    Shape in: (n_runs, n_canaries, n_scores). Only releases are used.
    """
    from scipy.stats import rankdata

    if len(seen) == 1 and seen.shape[2] == 1:
        return seen[..., 0]
    ranks = rankdata(seen, axis=0) if len(seen) > 1 else rankdata(seen, axis=1)
    combined: NDArray[np.float64] = ranks.sum(axis=2)
    return combined


def _n_right(scores: NDArray[np.float64], coins: NDArray[np.bool_], n_guesses: int) -> int:
    """Return how many of the guesses are right: the largest scores are guessed to be there, the smallest not."""
    there = coins.ravel()[np.argsort(scores.ravel(), kind="stable")]
    half = n_guesses // 2
    return int(there[-half:].sum() + (~there[:half]).sum())


def one_run_p_value(n_canaries: int, n_guesses: int, n_right: int, epsilon: float, delta: float = 0.0) -> float:
    """Return the most likely that so many guesses are right, were the algorithm (epsilon, delta)-private.

    Theorem 5.2 of Steinke, Nasr and Jagielski: a binomial tail, and for delta the worst way to spend it.

    Examples
    --------
    >>> round(one_run_p_value(100, 100, 100, 0.0) * 2.0**100, 6)
    1.0
    """
    from scipy.stats import binom

    if not 0 <= n_right <= n_guesses <= n_canaries:
        raise ParameterError(
            parameter="n_right",
            rule="must be at most 'n_guesses', and that at most 'n_canaries'",
            value=(n_right, n_guesses, n_canaries),
        )
    right = 1.0 / (1.0 + math.exp(-epsilon))
    tail = float(binom.sf(n_right - 1, n_guesses, right))
    if delta == 0.0 or n_right == 0:
        return tail
    below = np.cumsum(binom.pmf(np.arange(n_right - 1, -1, -1), n_guesses, right))
    worst = float((below / np.arange(1, n_right + 1)).max())
    return min(1.0, tail + 2.0 * n_canaries * delta * worst)


def one_run_epsilon(
    n_canaries: int, n_guesses: int, n_right: int, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the largest epsilon that so many right guesses refute, with this confidence; 0 if none.

    Examples
    --------
    >>> round(one_run_epsilon(1000, 100, 100), 2)
    3.49
    """
    check_probabilities(delta, confidence)
    error = 1.0 - confidence
    if one_run_p_value(n_canaries, n_guesses, n_right, 0.0, delta) > error:
        return 0.0
    low, high = 0.0, _LARGEST_EPSILON
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        refuted = one_run_p_value(n_canaries, n_guesses, n_right, middle, delta) <= error
        low, high = (middle, high) if refuted else (low, middle)
    return low


def canary_crowds(n_per_side: int, rows_per_crowd: int, seed: int = 0) -> tuple[NDArray[np.float64], ...]:
    """Return rows in square many crowds on the unit square, the middles of the crowds, and one canary beside each.

    Returns
    -------
    table : array of shape (n_per_side**2 * rows_per_crowd, 2)
    middles, canaries : arrays of shape (n_per_side**2, 2)
    """
    generator = np.random.default_rng(seed)
    places = (np.arange(n_per_side) + 0.5) / n_per_side
    middles = np.array([(x, y) for x in places for y in places])
    spread = generator.normal(0.0, 0.05 / n_per_side, (rows_per_crowd, 2))
    table = (middles[:, None, :] + spread - spread.mean(axis=0)).reshape(-1, 2)
    return table, middles, middles + 0.3 / n_per_side


class NearCanaries:
    """Two scores per canary: how large the nearest cluster is, and how far its centre lies towards the canary.

    Parameters
    ----------
    middles, canaries : arrays of shape (n_canaries, n_columns)
        Where the crowds are without canaries, and the canaries.
    """

    def __init__(self, middles: ArrayLike, canaries: ArrayLike) -> None:
        self.middles = np.asarray(middles, dtype=np.float64)
        self.towards = np.asarray(canaries, dtype=np.float64) - self.middles

    def __call__(self, model: Any) -> NDArray[np.float64]:
        """Return the scores of a fitted estimator, shape (n_canaries, 2)."""
        centres = np.asarray(model.cluster_centers_, dtype=np.float64)
        sizes = np.asarray(getattr(model, "cluster_sizes_", np.ones(len(centres))), dtype=np.float64)
        squares = ((self.middles[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argmin(squares, axis=1)
        shift = ((centres[nearest] - self.middles) * self.towards).sum(axis=1)
        return np.column_stack([sizes[nearest], shift])
