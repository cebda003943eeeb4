"""Runs all audits of the catalogue and returns one row per result: the same rows for the same seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, Protocol

import numpy as np

from dpmondrian.exceptions import NotReleasableWarning
from dpmondrian.privacy import Plan
from dpmondrian_lab.audit.canary import NearCanaries, canary_audit, canary_crowds
from dpmondrian_lab.audit.catalogue import (
    EPSILON,
    MIXED,
    SCHEMAS,
    SUBJECTS,
    TWO_COLUMNS,
    GamePair,
    Subject,
    game_pairs,
    whole_run_pairs,
)
from dpmondrian_lab.audit.exact_law import exact_law
from dpmondrian_lab.audit.findings import Finding, Findings
from dpmondrian_lab.audit.game import ReleaseFeatures, added_row, fit_with_seed, membership_game
from dpmondrian_lab.audit.neighbours import Pair, adversarial_pairs
from dpmondrian_lab.audit.published import averaged_gaps_pair
from dpmondrian_lab.audit.replay import audit_pairs
from dpmondrian_lab.audit.tight import Attained, attained, claimed_epsilon, composed_epsilon, simulated
from dpmondrian_lab.audit.transcripts import attained_on_tables
from dpmondrian_lab.workers import Task, Workers

__all__ = ["INSTRUMENTS", "AuditRow", "Effort", "Listener", "replay_pairs", "run_audit", "wrong_rows"]

INSTRUMENTS = ("tight", "tables", "replay", "exact law", "ledger", "game", "canaries")

_BOUNDS = (0.0, 1.0)
_LARGE_EPSILON = 30.0
"""Replay and laws are about sensitivities; little noise lets small tables grow a tree, in which there is more to ask."""
_COLUMNS_OF_LEDGER = 40
_CROWDS_PER_SIDE, _ROWS_PER_CROWD = 3, 300
_DELTAS = tuple(float(delta) for delta in 10.0 ** np.arange(-12.0, -1.4, 0.5))
"""Of the curves."""
_SIMULATED_EPSILON, _SIMULATED_DEPTH = 4.0, 2
"""Transcripts are simulated with less noise, and of fewer levels, so that fewer of them tell."""


@dataclass(frozen=True)
class Effort:
    """How long to try.

    Attributes
    ----------
    game_runs, least_runs : int
        Releases of each of the two tables of a game; the least, of subjects that take long.
    canary_runs : int
        Runs of the canary audit.
    transcripts : int
        Simulated transcripts of the worst-case client, of each of its two tables.
    table_runs : int
        Runs on each pair of real tables whose log-likelihood ratios are added up.
    replay_rows, replay_rounds : int
        Rows of the tables that are replayed, and how often all pairs are replayed, with other noise each time.
    law_pairs : int
        Pairs of tables for exact laws.
    confidence : float
        Of every single lower bound.
    """

    game_runs: int = 600
    least_runs: int = 60
    canary_runs: int = 100
    transcripts: int = 50_000
    table_runs: int = 20
    replay_rows: int = 90
    replay_rounds: int = 1
    law_pairs: int = 30
    confidence: float = 0.95

    @classmethod
    def quick(cls) -> Effort:
        """Return the effort of a minute or two."""
        return cls(game_runs=120, canary_runs=20, transcripts=5_000, table_runs=4, replay_rows=45, law_pairs=8)


@dataclass(frozen=True)
class AuditRow:
    """One result.

    Attributes
    ----------
    instrument : str
        One of `INSTRUMENTS`.
    subject : str
        Key of the algorithm in `SUBJECTS`.
    pair : str
        Name of the pair of tables, or what they were.
    claimed, delta : float
        What the subject promises.
    measured : float or None
        The epsilon that was measured: a lower bound, or what the ledger says. None for replay, laws and tables.
    ok : bool
        Whether the promise stands.
    words : str
        What was found.
    used : mapping
        Largest part of the price of each query that the pairs used up.
    details : mapping
        Everything else, as plain values.
    """

    instrument: str
    subject: str
    pair: str
    claimed: float
    delta: float
    measured: float | None
    ok: bool
    words: str
    used: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain JSON values, with at most six significant digits."""
        return {name: _plain(value) for name, value in asdict(self).items()}


class Listener(Protocol):
    """Whoever wants to know how far the audit is."""

    def start(self, title: str, total: int, done: int) -> None:
        """Hear that a part of the work begins."""
        ...

    def advance(self) -> None:
        """Hear that a piece of it is done."""
        ...


@dataclass(frozen=True)
class _Task:
    """One piece of work: an instrument, a subject, and of games the number of the pair."""

    instrument: str
    subject: str
    number: int = 0


def run_audit(
    effort: Effort,
    *,
    seed: int = 0,
    jobs: int = 1,
    listener: Listener | None = None,
    subjects: Sequence[str] = (),
    instruments: Sequence[str] = INSTRUMENTS,
) -> list[AuditRow]:
    """Return the results of all audits: every instrument on every subject.

    Parameters
    ----------
    effort : Effort
    seed : int
        Of all noise. The same seed gives the same rows.
    jobs : int
        Processes that work side by side; the rows do not depend on it.
    listener : Listener, optional
        Told how far the work is.
    subjects : sequence of str
        Only these keys of `SUBJECTS`; all if there is none.
    instruments : sequence of str
        Only these of `INSTRUMENTS`.
    """
    wanted = subjects or tuple(SUBJECTS)
    tasks = [task for task in _tasks() if task.subject in wanted and task.instrument in instruments]
    if listener is not None:
        listener.start("audit", len(tasks), 0)
    found = {}
    for task, row in _performed(tasks, effort, seed, jobs):
        found[task] = row
        if listener is not None:
            listener.advance()
    return [found[task] for task in tasks]


def _performed(tasks: list[_Task], effort: Effort, seed: int, jobs: int) -> Iterator[tuple[_Task, AuditRow]]:
    """Yield every task with its row, as they end: in this process, or in several."""
    if jobs == 1:
        for task in tasks:
            yield task, _perform(effort, seed, task)
        return
    orders = [Task(task.subject, _perform, (effort, seed, task)) for task in tasks]
    with Workers(jobs) as workers, closing(workers.work_through(orders)) as outcomes:
        for order, outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            yield order.arguments[2], outcome


def _tasks() -> list[_Task]:
    """Return all pieces of work, by instrument."""
    subjects = SUBJECTS.values()
    ours = [subject.key for subject in subjects if subject.kind == "ours"]
    return [
        *(_Task("tight", key, number) for key in ours for number in range(len(SUBJECTS[key].schemas))),
        *(_Task("tables", key, number) for key in ours for number in range(len(whole_run_pairs()))),
        *(_Task("replay", subject.key) for subject in subjects),
        # The peers make no choice among candidates whose law could be listed.
        *(_Task("exact law", subject.key) for subject in subjects if subject.key.startswith("dpm")),
        *(_Task("ledger", subject.key) for subject in subjects if not subject.sound),
        *(_Task("game", subject.key, number) for subject in subjects for number in range(len(game_pairs()))),
        *(_Task("canaries", subject.key) for subject in subjects),
    ]


def _perform(effort: Effort, seed: int, task: _Task) -> AuditRow:
    from threadpoolctl import threadpool_limits

    subject = SUBJECTS[task.subject]
    with warnings.catch_warnings(), threadpool_limits(1):  # threads of small work wait longer than they work
        warnings.simplefilter("ignore", NotReleasableWarning)  # an audit publishes nothing
        if task.instrument == "tight":
            return _tight(subject, subject.schemas[task.number], effort, seed)
        if task.instrument == "tables":
            return _tables(subject, whole_run_pairs()[task.number], effort, seed)
        if task.instrument == "replay":
            return _replay(subject, effort, seed)
        if task.instrument == "exact law":
            return _law(subject, effort, seed)
        if task.instrument == "ledger":
            return _ledger(subject, seed)
        if task.instrument == "game":
            return _game(subject, game_pairs()[task.number], effort, seed + 1000 * (task.number + 1))
        return _canaries(subject, effort, seed)


def _tight(subject: Subject, columns: str, effort: Effort, seed: int) -> AuditRow:
    """Return what a client attains who makes every draw of the subject's plan at its worst."""
    plan = subject.plan(columns, max_depth=None)
    found = attained(plan)
    less_noise = subject.plan(columns, epsilon=_SIMULATED_EPSILON, max_depth=_SIMULATED_DEPTH)
    sampled = simulated(less_noise, effort.transcripts, seed=seed)
    simulated_part = sampled.divergence(effort.confidence) / sampled.claimed_divergence
    ok = not found.refutes and simulated_part <= 1.0
    composed = composed_epsilon(plan, plan.delta)
    details = {
        "part_of_epsilon": found.epsilon / found.claimed,
        "composed": composed,
        "part_of_composed": found.epsilon / composed,
        "part_of_divergence": found.divergence / found.claimed_divergence,
        "simulated_part": simulated_part,
        "n_transcripts": effort.transcripts,
        "curve": [_point(plan, found, delta) for delta in _DELTAS],
    }
    words = "below the claim" if ok else "above the claim"
    return AuditRow(
        "tight", subject.key, columns, EPSILON, subject.delta, found.epsilon, ok, words, found.used, details
    )  # fmt: skip


def _point(plan: Plan, found: Attained, delta: float) -> dict[str, float]:
    return {
        "delta": delta,
        "claimed": claimed_epsilon(plan, delta),
        "composed": composed_epsilon(plan, delta),
        "attained": found.loss.epsilon(delta),
    }


def _tables(subject: Subject, pair: Pair, effort: Effort, seed: int) -> AuditRow:
    """Return what runs on a pair of tables attain of the divergence that their plan claims."""
    make = _maker(subject, n_clusters=9, max_depth=None, windows=16)
    found = attained_on_tables(make, pair.table, pair.neighbour, n_runs=effort.table_runs, seed=seed)
    ok = found.part <= 1.0 + 1e-9
    words = "below the claim" if ok else "above the claim"
    details = {"part": found.part, "error": found.error, "n_runs": found.n_runs}
    return AuditRow("tables", subject.key, pair.name, EPSILON, subject.delta, None, ok, words, found.used, details)


def replay_pairs(n_rows: int) -> list[Pair]:
    """Return the pairs that are replayed: adversarial ones on two columns, and the one made for the published DPM."""
    return [*adversarial_pairs(SCHEMAS[TWO_COLUMNS], n_rows=n_rows), averaged_gaps_pair(600)]


def _replay(subject: Subject, effort: Effort, seed: int) -> AuditRow:
    # Arrays have no names; where there are categories, columns need them.
    tables: list[tuple[Any, list[Pair]]] = [(_BOUNDS, replay_pairs(effort.replay_rows))]
    if MIXED in subject.schemas:
        tables.append((SCHEMAS[MIXED], adversarial_pairs(SCHEMAS[MIXED], n_rows=effort.replay_rows)))
    # With little noise some peers do far more work, and ask nothing else.
    epsilons = (EPSILON, _LARGE_EPSILON) if subject.key.startswith("dpm") else (EPSILON,)
    parts = []
    for number, (bounds, pairs), epsilon in product(range(effort.replay_rounds), tables, epsilons):
        make = _maker(subject, bounds=bounds, epsilon=epsilon, max_depth=3)
        parts.append(audit_pairs(make, pairs, seed=seed + 100 * number + int(epsilon)))
    n_pairs = sum(len(pairs) for _, pairs in tables)
    return _row_of_findings("replay", subject, f"{n_pairs} adversarial pairs", Findings.together(parts))


def _law(subject: Subject, effort: Effort, seed: int) -> AuditRow:
    *tables, averaged_gaps = replay_pairs(effort.replay_rows)
    tables = [averaged_gaps, *tables[:: max(1, len(tables) // effort.law_pairs)]]
    parts = [
        exact_law(
            _maker(subject, epsilon=epsilon, max_depth=2, windows=8), pair.table, pair.neighbour, seed=seed + number
        ).named(pair.name)
        for epsilon in (EPSILON, _LARGE_EPSILON)
        for number, pair in enumerate(tables)
    ]
    return _row_of_findings("exact law", subject, f"{len(tables)} adversarial pairs", Findings.together(parts))


def _maker(subject: Subject, *, bounds: Any = _BOUNDS, **parameters: Any) -> Callable[[], Any]:
    return lambda: subject.estimator(bounds, **parameters)


def _row_of_findings(instrument: str, subject: Subject, pairs: str, findings: Findings) -> AuditRow:
    """Return a row; that a subject itself declares its defects is no finding of the instrument."""
    found = [finding for finding in findings.findings if finding.kind != "defect"]
    kinds = list(dict.fromkeys(f"{finding.kind} ({_query(finding.query)})".replace(" ()", "") for finding in found))
    words = "; ".join(kinds) or "nothing found"
    details = {"n_queries": findings.n_queries, "n_findings": len(found), "examples": _examples(found)}
    return AuditRow(
        instrument, subject.key, pairs, EPSILON, subject.delta, None, not found, words, findings.used, details
    )


def _query(label: str) -> str:
    return label.split(", level ")[0]


def _examples(found: list[Finding]) -> list[dict[str, Any]]:
    """Return the worst finding of every kind and query: the tables are invented, so exact values may be shown."""
    worst: dict[tuple[str, str], Finding] = {}
    for finding in found:
        key = finding.kind, _query(finding.query)
        if key not in worst or (finding.measured or 0.0) > (worst[key].measured or 0.0):
            worst[key] = finding
    return [finding.to_dict() for finding in worst.values()]


def _ledger(subject: Subject, seed: int) -> AuditRow:
    """Return what the draws of published code cost by the noise that was really drawn, on many columns."""
    table = np.random.default_rng(seed).uniform(0.2, 0.8, (200, _COLUMNS_OF_LEDGER))
    statement = subject.estimator(_BOUNDS, random_state=seed).fit(table).privacy_
    measured = float(statement.drawn_epsilon)
    ok = measured <= EPSILON * (1.0 + 1e-9)
    words = "the draws cost what is claimed" if ok else "the draws cost more than is claimed"
    tables = f"{_COLUMNS_OF_LEDGER} columns"
    return AuditRow("ledger", subject.key, tables, EPSILON, subject.delta, measured, ok, words)


def _game(subject: Subject, game: GamePair, effort: Effort, seed: int) -> AuditRow:
    table, neighbour = game.pair.table, game.pair.neighbour
    result = membership_game(
        fit_with_seed(lambda s: subject.estimator(game.bounds, n_clusters=game.n_clusters, random_state=s)),
        table,
        neighbour,
        n_runs=max(effort.least_runs, int(subject.effort * effort.game_runs)),
        features=ReleaseFeatures(added_row(table, neighbour)),
        seed=seed,
        delta=subject.delta,
        confidence=effort.confidence,
    )
    return _row_of_bound("game", subject, game.name, result)


def _canaries(subject: Subject, effort: Effort, seed: int) -> AuditRow:
    table, middles, canaries = canary_crowds(_CROWDS_PER_SIDE, _ROWS_PER_CROWD, seed)
    result = canary_audit(
        fit_with_seed(lambda s: subject.estimator(_BOUNDS, n_clusters=len(middles), max_depth=5, random_state=s)),
        table,
        canaries,
        NearCanaries(middles, canaries),
        n_runs=max(10, int(subject.effort * effort.canary_runs)),
        seed=seed,
        delta=subject.delta,
        confidence=effort.confidence,
    )
    return _row_of_bound("canaries", subject, f"{len(middles)} crowds, a canary beside each", result)


def _row_of_bound(instrument: str, subject: Subject, pair: str, result: Any) -> AuditRow:
    ok = not result.refutes(EPSILON)
    words = "below the claim" if ok else "above the claim"
    return AuditRow(
        instrument, subject.key, pair, EPSILON, subject.delta, result.epsilon_lower, ok, words, {}, result.to_dict()
    )


def wrong_rows(rows: Iterable[AuditRow]) -> Iterator[AuditRow]:
    """Return the rows of sound subjects whose promise does not stand: there must be none."""
    return (row for row in rows if SUBJECTS[row.subject].sound and not row.ok)


def _plain(value: Any) -> Any:
    """Return a value that JSON knows, floats with at most six significant digits."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    return value
