"""The exact law of a private choice, and how much one person changes it.

Few candidates have a law that can be written down: the probability of each, in many digits. For the choices of a real run on
two neighbouring tables, and for all small tables there are, the largest ratio of these is compared with the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import EXPONENTIAL, PERMUTE_AND_FLIP
from dpmondrian_lab.audit.findings import Finding, Findings
from dpmondrian_lab.audit.recording import Query, Recording
from dpmondrian_lab.audit.replay import failures, fitted, record_pair

__all__ = ["LawChange", "exact_law", "law_change", "log_law", "selection_laws", "worst_small_table"]

_DIGITS = 40
_LEAST_LOGARITHM = -1000
"""Candidates with weights below the exponential of this are as good as impossible; a float has no such numbers."""
_ROUNDING = 1e-9
MOST_CANDIDATES = 400


@dataclass(frozen=True)
class LawChange:
    """How much the law of one draw differs between two tables.

    Attributes
    ----------
    query : str
    mechanism : str
    n_candidates : int
        Over all groups.
    promised : float
        The epsilon that was paid for.
    largest : float
        Largest logarithm of a ratio of probabilities, either way.
    width : float
        Difference of the largest and the smallest logarithm: what bounded range promises to keep within epsilon too.
    table, neighbour : tuple
        The two tables, where they were searched for.
    """

    query: str
    mechanism: str
    n_candidates: int
    promised: float
    largest: float
    width: float
    table: tuple[Any, ...] = field(default=(), repr=False)
    neighbour: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def measured(self) -> float:
        """What is held against the promise: of the exponential mechanism its width, since less is charged for that."""
        return self.width if self.mechanism == EXPONENTIAL else self.largest

    @property
    def ok(self) -> bool:
        """Whether the promise is kept."""
        return self.measured <= self.promised * (1.0 + _ROUNDING) + _ROUNDING

    def finding(self) -> Finding:
        """Return the change as a finding."""
        words = f"the law of the {self.mechanism} changes by a larger factor than exp(epsilon); as logarithms"
        return Finding("law", self.query, self.measured, self.promised, words)


def log_law(mechanism: str, scores: Sequence[int], scale: float) -> tuple[float, ...]:
    """Return the logarithms of the probabilities of all candidates, right to about the last digit of a float.

    Parameters
    ----------
    mechanism : {"exponential mechanism", "permute-and-flip"}
    scores : sequence of int
    scale : float
        Of the scores: the weights are ``exp(score / scale)``.

    Examples
    --------
    >>> [round(value, 6) for value in log_law("exponential mechanism", [0, 1], 1.0)]
    [-1.313262, -0.313262]
    """
    if mechanism not in _LAWS:
        raise ParameterError(
            parameter="mechanism",
            rule=f"must be one of {list(_LAWS)!r}",
            value=mechanism,
            way_out="Other mechanisms add noise and have no candidates.",
        )
    return _log_law(mechanism, tuple(int(score) for score in scores), float(scale))


@lru_cache(maxsize=4096)
def _log_law(mechanism: str, scores: tuple[int, ...], scale: float) -> tuple[float, ...]:
    best = max(scores)
    with localcontext() as context:
        # The terms of permute-and-flip alternate and are as large as binomial coefficients, below 2**n.
        context.prec = _DIGITS + (len(scores) // 3 if mechanism == PERMUTE_AND_FLIP else 0)
        logs = [max(Decimal(score - best) / Decimal(scale), Decimal(_LEAST_LOGARITHM)) for score in scores]
        weights = [log.exp() for log in logs]
        return tuple(float(log + part.ln()) for log, part in zip(logs, _LAWS[mechanism](weights), strict=True))


def _exponential(weights: list[Decimal]) -> list[Decimal]:
    """Return the probability of each candidate, divided by its weight."""
    return [1 / sum(weights, Decimal(0))] * len(weights)


def _permute_and_flip(weights: list[Decimal]) -> list[Decimal]:
    """Return the probability of each candidate, divided by its weight p.

    Candidates come at uniform times t; the first whose coin, heads with probability p, shows heads is chosen. So for one
    that comes at t, each other one has not been chosen with probability ``1 - t p``: the integral over t of their product, a
    polynomial.
    """
    product = [Decimal(1)]
    for weight in weights:
        product = [a - weight * b for a, b in zip([*product, Decimal(0)], [Decimal(0), *product], strict=True)]
    chances = []
    for weight in weights:
        others, last = [], Decimal(0)
        for coefficient in product[:-1]:  # divided by (1 - t p)
            last = coefficient + weight * last
            others.append(last)
        chances.append(sum((c / (k + 1) for k, c in enumerate(others)), Decimal(0)))
    return chances


_LAWS = {EXPONENTIAL: _exponential, PERMUTE_AND_FLIP: _permute_and_flip}


def law_change(
    query: str, mechanism: str, groups: Sequence[tuple[Sequence[int], Sequence[int], float]], promised: float
) -> LawChange:
    """Return how much the law of a draw changes.

    Parameters
    ----------
    query : str
    mechanism : str
    groups : sequence of (scores, scores on the neighbour, scale)
        One per choice; the choices of one draw are independent, so their logarithms add up.
    promised : float
        Epsilon.
    """
    up, down, n_candidates = 0.0, 0.0, 0
    for before, after, scale in groups:
        n_candidates += len(before)
        if len(before) and not np.array_equal(before, after):
            log_ratio = np.subtract(log_law(mechanism, after, scale), log_law(mechanism, before, scale))
            up, down = up + float(log_ratio.max()), down + float(log_ratio.min())
    return LawChange(query, mechanism, n_candidates, promised, max(up, -down), up - down)


def selection_laws(
    make_estimator: Callable[[], Any], table: Any, neighbour: Any, *, seed: int = 0
) -> tuple[LawChange, ...]:
    """Return how much the law of every choice of an estimator's run differs on the neighbour, at the same past.

    Choices among more than `MOST_CANDIDATES` are left out: take fewer windows, columns or rows.
    """
    return _laws(*record_pair(lambda rows: fitted(make_estimator().fit(rows)), table, neighbour, seed=seed))


def _laws(one: Recording, other: Recording) -> tuple[LawChange, ...]:
    laws = []
    for before, after in zip(one.queries, other.queries, strict=False):
        if before.question != after.question:
            break
        if before.method != "select" or sum(scores.size for scores in before.exact) > MOST_CANDIDATES:
            continue
        draw = one.doors[before.door].plan.find(before.draw, before.level)
        laws.append(_change_of(before, after, 1.0 / draw.multiplier))
    return tuple(laws)


def _change_of(before: Query, after: Query, promised: float) -> LawChange:
    groups = [
        (scores.tolist(), moved.tolist(), drawn.scales[0])
        for scores, moved, drawn in zip(before.exact, after.exact, before.draws, strict=True)
    ]
    return law_change(before.label, before.draws[0].mechanism, groups, promised)


def exact_law(make_estimator: Callable[[], Any], table: Any, neighbour: Any, *, seed: int = 0) -> Findings:
    """Return the choices of a run whose law changes by more than was promised, and the part of the promise that is used.

    Parameters are those of `audit_replay`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import DPM
    >>> from dpmondrian_lab.audit import exact_law
    >>> rows = np.repeat([[20.0], [80.0]], 30, axis=0)
    >>> make = lambda: DPM(epsilon=20.0, delta=1e-6, bounds=(0, 100), windows=8, max_depth=1)
    >>> findings = exact_law(make, rows, np.vstack([rows, [[50.0]]]))
    >>> findings.ok
    True
    """
    one, other = record_pair(lambda rows: fitted(make_estimator().fit(rows)), table, neighbour, seed=seed)
    laws = _laws(one, other)
    used: dict[str, float] = {}
    for law in laws:
        name = law.query.split(", level ")[0]
        used[name] = max(used.get(name, 0.0), law.measured / law.promised)
    broken = [law.finding() for law in laws if not law.ok]
    return Findings((*failures(one, other), *broken), used, len(laws))


def worst_small_table(
    score: Callable[[tuple[Any, ...]], NDArray[np.int64]],
    rows: Sequence[Hashable],
    most_rows: int,
    *,
    mechanism: str,
    scale: float,
    promised: float,
    query: str = "small table",
) -> LawChange:
    """Return the largest change of a choice's law by one row, over all tables of at most so many rows.

    Parameters
    ----------
    score : callable
        From a table, a tuple of rows, to the exact scores of all candidates.
    rows : sequence
        All rows there are, such as the codes of a small grid.
    most_rows : int
        Rows of the larger table of a pair.
    mechanism, scale
        As in `log_law`.
    promised : float
        Epsilon.

    Complexity
    ----------
    With r rows there are ``C(r + most_rows, most_rows)`` tables, each scored once, and r neighbours of each.
    """
    scores = {
        table: tuple(np.asarray(score(table)).tolist())
        for n_rows in range(most_rows + 1)
        for table in combinations_with_replacement(rows, n_rows)
    }
    place = {row: number for number, row in enumerate(rows)}
    worst: LawChange | None = None
    for table in (table for table in scores if len(table) < most_rows):
        for row in rows:
            larger = tuple(sorted((*table, row), key=place.__getitem__))
            change = law_change(query, mechanism, [(scores[table], scores[larger], scale)], promised)
            if worst is None or change.measured > worst.measured:
                worst = LawChange(
                    query, mechanism, len(scores[table]), promised, change.largest, change.width, table, larger
                )
    assert worst is not None
    return worst
