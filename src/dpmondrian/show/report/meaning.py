"""The guarantee in plain words: what epsilon and delta mean for one person, with numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmondrian.privacy.ledger import Entry
from dpmondrian.release.explain import Explanation, explain
from dpmondrian.release.statement import PrivacyStatement
from dpmondrian.show.report.words import clean, count, number

__all__ = [
    "Kind",
    "cost_share",
    "expected_failures",
    "explanation",
    "guarantee_line",
    "kinds",
    "lead",
    "one_in",
    "plain_number",
    "total_epsilon",
]

_KINDS = {
    "count": "How many rows there are, in all and on both sides of every cut.",
    "split": "Where to cut: in each part of the table, one column and one place in it are chosen.",
    "bridge": "How many rows lie on the way between two neighbouring parts, to see which parts are one cluster.",
    "level": "Which of the few groupings of parts that remain open is taken.",
    "coarse sums": "A first rough centre of every part.",
    "radius": "How far from their centre rows may count in the next step.",
    "category sums": "How many of each category there are in every cluster.",
    "clipped sums": "Better centres: rows far from the centre known so far count only as far as the radius reaches.",
    "cell count": "How many rows are nearest to each centre.",
    "interval size": "How fine the grid of possible cuts is.",
    "sums": "The centre of every cluster.",
}
"""What is drawn, by the name in the ledger."""


@dataclass(frozen=True)
class Kind:
    """All draws of one name: what they are for, their share of the budget (None where costs do not add up), their values."""

    name: str
    words: str
    share: float | None
    n_values: int


def total_epsilon(privacy: PrivacyStatement) -> float:
    """Return the epsilon of everything that was spent on the rows, bounds included."""
    return privacy.epsilon + float(getattr(privacy, "bounds_epsilon", 0.0))


def explanation(privacy: PrivacyStatement) -> Explanation | None:
    """Return what the best attacker can find out, the same as `PrivacyStatement.explain`; None where nothing is promised."""
    return explain(privacy) if math.isfinite(privacy.epsilon) else None


def one_in(delta: float) -> str:
    """Return a small probability as "1 in 10,000,000"."""
    return f"1 in {number(1.0 / delta, 0)}"


def plain_number(value: float) -> str:
    """Return a parameter such as epsilon, delta or rho, with as many digits as it has, at most six."""
    return "infinite" if math.isinf(value) else f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")


def guarantee_line(privacy: PrivacyStatement) -> str:
    """Return the guarantee in one sentence."""
    if math.isinf(privacy.epsilon):
        return "No finite epsilon holds: this is not private."
    epsilon = total_epsilon(privacy)
    promise = f"epsilon = {plain_number(epsilon)}"
    promise += f", delta = {plain_number(privacy.delta)}" if privacy.delta else ", pure (delta = 0)"
    if not privacy.releasable:
        return f"No privacy, because of the seed. Without it: {promise} for {clean(privacy.unit, 120)}."
    return f"Differential privacy for {clean(privacy.unit, 120)}: {promise}."


def cost_share(privacy: PrivacyStatement, entry: Entry) -> float | None:
    """Return the share of the run's budget that a draw takes, or None where costs do not add up."""
    whole = math.fsum(each.cost for each in privacy.entries)
    return entry.cost / whole if privacy.currency in ("rho", "epsilon") and whole > 0 else None


def kinds(privacy: PrivacyStatement) -> list[Kind]:
    """Return the draws of a statement by their names, in the order of the ledger."""
    by_name: dict[str, list[Entry]] = {}
    for entry in privacy.entries:
        by_name.setdefault(entry.name, []).append(entry)
    return [_kind(privacy, name, entries) for name, entries in by_name.items()]


def _kind(privacy: PrivacyStatement, name: str, entries: list[Entry]) -> Kind:
    shares = [cost_share(privacy, entry) for entry in entries]
    known = [share for share in shares if share is not None]
    return Kind(
        name=clean(name),
        words=_KINDS.get(
            name, "A part of the algorithm that this report has no words for; its cost is counted like the others."
        ),
        share=math.fsum(known) if len(known) == len(shares) else None,
        n_values=sum(entry.n_draws for entry in entries),
    )


def lead(privacy: PrivacyStatement) -> str:
    """Return the promise in one sentence without symbols, no better than its epsilon."""
    unit = "one person" if "person" in privacy.unit else "one row"
    epsilon = total_epsilon(privacy)
    if epsilon <= 1.5:
        return f"Whether or not {unit} is in the table hardly changes what you read here."
    if epsilon <= 4:
        return f"Whether or not {unit} is in the table changes what you read here only within moderate, stated limits."
    return (
        f"Whether or not {unit} is in the table changes what you read here within stated limits, but these are wide: with an "
        "epsilon this large the promise is weak."
    )


def expected_failures(privacy: PrivacyStatement, n_rows: float) -> str:
    """Return delta times the released number of rows, as text."""
    return f"{privacy.delta * n_rows:.2g} for about {count(n_rows)} rows"
