"""Record and replay: the same released values on a neighbouring table, and what then still differs.

A run on one table is recorded. The run on its neighbour gets the *same released values*, whatever its own noise would have
been. Then everything public must be the same in both runs, and what is exact may differ by what was declared and
paid for, and no more. This is the induction step of the proof of adaptive composition, tried on real runs: it holds for every
sequence of released values, so try several seeds.

It sees what passes the door. It does not see time, memory, files or logs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import GAUSSIAN, LAPLACE, Plan, PlannedDraw
from dpmondrian_lab.audit.findings import Finding, Findings
from dpmondrian_lab.audit.neighbours import Pair
from dpmondrian_lab.audit.recording import Passed, Query, Recording, record
from dpmondrian_lab.peers.lab_plan import BOUNDED_LAPLACE

__all__ = [
    "audit_pairs",
    "audit_replay",
    "compare_recordings",
    "compare_runs",
    "failures",
    "fitted",
    "record_pair",
    "rows_in_both",
]

_ROUNDING, _ROUNDING_OF_LENGTHS = 1.0 + 1e-9, 1.0 + 1e-12
"""Costs and lengths are computed in floating point."""


def audit_replay(make_estimator: Callable[[], Any], table: Any, neighbour: Any, *, seed: int = 0) -> Findings:
    """Return what is wrong with an estimator on a pair of neighbouring tables, and how much of each price they use.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator with a method ``fit(table)`` that draws through a `Door`: `DPM`, a baseline, or your own.
    table, neighbour : array or data frame
        One has the rows of one person more than the other; the common rows are in the same order. Invented rows, please: findings
        hold exact values.
    seed : int
        Of the noise of the recorded run. Other noise leads the run elsewhere: try several.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import DPM
    >>> from dpmondrian_lab.audit import audit_replay
    >>> rows = np.random.default_rng(0).uniform(0, 100, (50, 2))
    >>> findings = audit_replay(lambda: DPM(epsilon=1.0, delta=1e-6, bounds=(0, 100)), rows, np.vstack([rows, [100.0, 1e9]]))
    >>> findings.ok, round(findings.used["count"], 6)
    (True, 1.0)
    """
    return compare_runs(lambda rows: fitted(make_estimator().fit(rows)), table, neighbour, seed=seed)


def audit_pairs(make_estimator: Callable[[], Any], pairs: Iterable[Pair], *, seed: int = 0) -> Findings:
    """Return what `audit_replay` finds on many pairs, each with a seed of its own and both ways round in turn.

    Examples
    --------
    >>> from dpmondrian import DPM, Column, Schema
    >>> from dpmondrian_lab.audit import adversarial_pairs, audit_pairs
    >>> schema = Schema((Column("age", 0, 120), Column("bmi", 10, 60)))
    >>> findings = audit_pairs(lambda: DPM(epsilon=1.0, delta=1e-6, bounds=schema, max_depth=2), adversarial_pairs(schema, n_rows=20)[:5])
    >>> findings.ok
    True
    """
    parts = []
    for number, pair in enumerate(pairs):
        tables = (pair.table, pair.neighbour) if number % 2 == 0 else (pair.neighbour, pair.table)
        parts.append(audit_replay(make_estimator, *tables, seed=seed + number).named(pair.name))
    return Findings.together(parts)


def compare_runs(run: Callable[[Any], Any], table: Any, neighbour: Any, *, seed: int = 0) -> Findings:
    """Return the same as `audit_replay` for any function of a table that makes doors and returns what may be published."""
    return compare_recordings(*record_pair(run, table, neighbour, seed=seed))


def record_pair(run: Callable[[Any], Any], table: Any, neighbour: Any, *, seed: int = 0) -> tuple[Recording, Recording]:
    """Return the recording of a run on a table, and of its replay on the neighbour."""
    one = record(lambda: run(table), seed=seed)
    return one, record(lambda: run(neighbour), seed=seed + 1, script=one)


def fitted(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator that may be published: all but the labels of the rows."""
    names = [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(estimator, name) for name in names if name != "labels_"}


def rows_in_both(table: Any, neighbour: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions, in each of two tables, of the rows that both have: all of one of them, in order."""
    one, other = _rows(table), _rows(neighbour)
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    found: list[int] = []
    for position, row in enumerate(long):
        if len(found) < len(short) and row == short[len(found)]:
            found.append(position)
    if len(found) < len(short):
        raise ParameterError(
            parameter="neighbour",
            rule="must be the table with rows of one person added or removed, and the others in the same order",
            got="other rows",
            way_out="Make the pair with dpmondrian_lab.audit.adversarial_pairs, for instance.",
        )
    in_short, in_long = np.arange(len(short)), np.array(found, dtype=np.int64)
    return (in_short, in_long) if short is one else (in_long, in_short)


def _rows(table: Any) -> list[str]:
    """Return the rows of a table as texts, in which a missing value equals another."""
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    rows = frame.rows() if isinstance(frame, nw.DataFrame) else np.asarray(table).tolist()
    return [repr(tuple(row)) for row in rows]


def compare_recordings(one: Recording, other: Recording) -> Findings:
    """Return what is wrong with a run and its replay on the neighbour, and how much of each price they use."""
    findings = [*_defects(one), *_budgets(one), *failures(one, other)]
    used: dict[str, float] = {}
    n_compared = 0
    for before, after in zip(one.queries, other.queries, strict=False):
        if before.question != after.question:
            break
        n_compared += 1
        door = one.doors[before.door]
        draw = door.plan.find(before.draw, before.level)
        findings += [*_public(before, after), *_noise(before, after, draw)]
        changes = [_difference(a, b) for a, b in _groups(before, after)]
        findings += _moves(before, changes, draw, door.rows_per_person)
        loss = _loss(before, changes, door.plan, draw)
        used[before.name] = max(used.get(before.name, 0.0), loss / draw.cost)
        if loss > draw.cost * _ROUNDING:
            words = f"one person changes it by more than is paid for, in the plan's {door.plan.currency}"
            findings.append(Finding("price", before.label, loss, draw.cost, words))
    other_questions = list(_control_flow(one, other, n_compared))
    findings += other_questions or _after_the_run(one, other)
    planned = dict.fromkeys(draw.name for door in one.doors for draw in door.plan.draws)
    return Findings(tuple(findings), used, n_compared, not_asked=tuple(name for name in planned if name not in used))


def _defects(one: Recording) -> Iterator[Finding]:
    for door in one.doors:
        for defect in door.defects:
            yield Finding("defect", "", None, None, defect)


def _budgets(one: Recording) -> Iterator[Finding]:
    """Find plans that cost more than is promised; with defects, by the ledger, which states what the noise really costs."""
    for door in one.doors:
        by_ledger = door.defects and not isinstance(door.ledger, str)
        spent = door.plan.composed(door.ledger) if by_ledger else _spent(door.plan)  # type: ignore[arg-type]
        if spent > door.plan.epsilon * _ROUNDING:
            words = f"all draws together cost a larger epsilon at delta = {door.plan.delta:g}"
            yield Finding("budget", "", spent, door.plan.epsilon, words)


@lru_cache(maxsize=64)
def _spent(plan: Plan) -> float:
    return plan.spent()


def failures(one: Recording, other: Recording) -> Iterator[Finding]:
    """Find runs that ended with an error. Its words are not repeated: they may quote a value."""
    for recording, table in ((one, "table"), (other, "neighbour")):
        if recording.failure is not None:
            yield Finding("failure", "", None, None, f"the run on the {table} ended with {recording.failure}")


def _control_flow(one: Recording, other: Recording, n_compared: int) -> Iterator[Finding]:
    """Find runs that ask different questions, or other numbers of them."""
    asked, again = one.queries[n_compared:], other.queries[n_compared:]
    if asked and again:
        same_draw = asked[0].question[:4] == again[0].question[:4]
        words = "is asked of other shapes" if same_draw else f"the other table is asked for '{again[0].label}' instead"
        yield Finding("control flow", asked[0].label, None, None, words)
    elif (asked or again) and one.failure == other.failure:
        words = "is asked of one of the two tables only"
        yield Finding("control flow", (asked or again)[0].label, None, None, words)
    elif one.public_randomness != other.public_randomness or other.diverged:
        yield Finding("control flow", "", None, None, "other public random numbers are drawn for the neighbour")


def _public(before: Query, after: Query) -> Iterator[Finding]:
    for fact, value in before.public.items():
        if value != after.public[fact]:
            yield Finding("public facts", before.label, None, None, f"the {fact} depend on exact rows")


def _noise(before: Query, after: Query, draw: PlannedDraw) -> Iterator[Finding]:
    """Find noise that is not of the planned law, and values that came out without it."""
    planned = LAPLACE if draw.mechanism == BOUNDED_LAPLACE else draw.mechanism
    for query in (before, after):
        n_values = sum(math.prod(shape) for shape in query.shapes)
        n_draws = {"select": len(query.shapes), "cover": 1}.get(query.method, n_values)
        n_drawn = sum(len(drawn.scales) for drawn in query.draws)
        if n_drawn != n_draws:
            yield Finding("noise", query.label, n_drawn, n_draws, "not every value has noise of its own")
        elif {drawn.mechanism for drawn in query.draws} - {planned}:
            yield Finding("noise", query.label, None, None, f"the noise is not {planned}, as planned")
        elif not query.handed_over:
            words = "what came out is not the exact value with the noise that was drawn"
            yield Finding("handed over", query.label, None, None, words)
        else:
            continue
        return


def _groups(before: Query, after: Query) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Return exact values before and after, group by group; of the rows of a cover, how many there are of each."""
    if before.method != "cover":
        yield from zip(before.exact, after.exact, strict=True)
        return
    [one], [other] = before.exact, after.exact
    counts = Counter(row.tobytes() for row in one), Counter(row.tobytes() for row in other)
    rows = sorted(counts[0].keys() | counts[1].keys())
    yield np.array([counts[0][row] for row in rows]), np.array([counts[1][row] for row in rows])


def _difference(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.float64]:
    """Return the change of exact values; of integers it is exact, unless 64 bits cannot hold it."""
    difference: NDArray[np.float64] = after.astype(np.float64) - before.astype(np.float64)
    if before.dtype.kind != "i" or np.abs(difference).max(initial=0.0) > 2.0**62:
        return difference
    return np.asarray(after - before, dtype=np.float64)


def _moves(
    query: Query, changes: Sequence[NDArray[np.float64]], draw: PlannedDraw, most_rows: int
) -> Iterator[Finding]:
    """Find values that one person's rows move farther than was declared, or in more groups than they have rows."""
    changed = [group for group, change in enumerate(changes) if change.any()]
    if len(changed) > most_rows:  # groups hold disjoint rows, and what is exact of a group depends on its own
        yield Finding("groups", query.label, len(changed), most_rows, "one person's rows change so many groups")
    if not query.per_row:
        return  # published bounded noise: nothing is declared
    moved = sum(_rows_moved(query, changes[group], query.per_row[group], draw.mechanism) for group in changed)
    if moved > most_rows * _ROUNDING_OF_LENGTHS:
        yield Finding("sensitivity", query.label, moved, most_rows, "one person moves it like so many rows")


def _rows_moved(query: Query, change: NDArray[np.float64], allowed: Any, mechanism: str) -> float:
    """Return how many rows it takes, at what one may change, to change a group so much."""
    if query.method == "box_sums":
        return max(_ratio(one, width) for one, width in zip(np.abs(change).tolist(), allowed, strict=True))
    if query.method == "select":
        return _ratio(float(np.ptp(change)), allowed)
    if query.method == "ball_sums" and query.asked[0] is not None:
        change = change * np.array(query.asked[0])
    in_l2 = mechanism == GAUSSIAN and query.method in ("ball_sums", "means", "histograms")
    return _ratio(np.sqrt((change**2).sum()) if in_l2 else np.abs(change).sum(), allowed)


def _ratio(length: float, allowed: float) -> float:
    if not length:
        return 0.0
    return float(length) / float(allowed) if allowed > 0 else np.inf


def _loss(query: Query, changes: Sequence[NDArray[np.float64]], plan: Plan, draw: PlannedDraw) -> float:
    """Return the privacy loss between the two tables, in the plan's currency, from the noise that was really drawn."""
    scales = np.array([scale / query.parts for drawn in query.draws for scale in drawn.scales])
    lengths = np.concatenate([np.empty(0), *(np.ravel(change) for change in changes)])
    if query.method == "select":
        lengths = np.array([np.ptp(change) if change.size else 0.0 for change in changes])
    elif query.method == "cover":
        lengths = np.array([np.abs(lengths).sum()])
    if len(scales) != len(lengths):
        return float(np.inf) if lengths.any() else 0.0  # something moves without noise
    ratios = np.array([_ratio(abs(lengths[j]), scales[j]) for j in np.flatnonzero(lengths)])
    squares_add_up = draw.mechanism == GAUSSIAN or plan.currency == "rho"
    ratio = float(np.sqrt((ratios**2).sum()) if squares_add_up else ratios.sum())
    if ratio == 0.0 or np.isinf(ratio):
        return ratio
    return plan.cost_of(draw.mechanism, 1.0 / ratio, draw.delta)


def _after_the_run(one: Recording, other: Recording) -> Iterator[Finding]:
    """Find differences in warnings, ledgers and results."""
    if one.warnings != other.warnings:
        yield Finding("public facts", "", None, None, "the warnings depend on exact rows")
    if one.failure is None and other.failure is None:
        if _ledgers(one.doors) != _ledgers(other.doors):
            yield Finding("ledger", "", None, None, "the ledger depends on exact rows")
        for door in one.doors:
            if isinstance(door.ledger, str):
                yield Finding("ledger", "", None, None, door.ledger)
        if one.result != other.result:
            words = "the result differs although all released values were the same: it depends on more than these"
            yield Finding("result", "", None, None, words)


def _ledgers(doors: Sequence[Passed]) -> list[Any]:
    return [door.ledger for door in doors]
