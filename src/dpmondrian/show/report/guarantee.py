"""The guarantee in plain words: what epsilon and delta mean for one person, with numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmondrian.privacy import Entry
from dpmondrian.release import Explanation, PrivacyStatement
from dpmondrian.show.texts.facts import unit_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean, number, plain_number

_STRONG, _MODERATE = 1.5, 4.0  # up to these epsilons a promise is called strong, or moderate


@dataclass(frozen=True)
class Kind:
    """All draws of one name: what they are for, their share of the budget (None where costs do not add up), their values."""

    name: str
    use: str
    share: float | None
    n_values: int


def explanation(privacy: PrivacyStatement) -> Explanation | None:
    """Return what the best attacker can find out, the same as `PrivacyStatement.explain`; None where nothing is promised."""
    return privacy.explain() if math.isfinite(privacy.epsilon) else None


def factor(epsilon: float) -> str:
    """Return e^epsilon as text."""
    return number(math.exp(epsilon), 2 if epsilon < 3 else 0) if epsilon < 30 else f"e^{plain_number(epsilon)}"


def guarantee_line(privacy: PrivacyStatement, words: Words = ENGLISH) -> str:
    """Return the guarantee in one sentence."""
    if math.isinf(privacy.epsilon):
        return words("guarantee.none")
    key = "guarantee" + ("" if privacy.releasable else ".seeded") + ("" if privacy.delta else ".pure")
    numbers = {"epsilon": plain_number(privacy.total_epsilon), "delta": plain_number(privacy.delta)}
    return words(key, unit=clean(unit_text(privacy.unit, words), 120), **numbers)


def cost_share(privacy: PrivacyStatement, entry: Entry) -> float | None:
    """Return the share of the run's budget that a draw takes, or None where costs do not add up."""
    whole = math.fsum(each.cost for each in privacy.entries)
    return entry.cost / whole if privacy.currency in ("rho", "epsilon") and whole > 0 else None


def kinds(privacy: PrivacyStatement, words: Words = ENGLISH) -> list[Kind]:
    """Return the draws of a statement by their names, in the order of the ledger."""
    by_name: dict[str, list[Entry]] = {}
    for entry in privacy.entries:
        by_name.setdefault(entry.name, []).append(entry)
    return [_kind(privacy, name, entries, words) for name, entries in by_name.items()]


def _kind(privacy: PrivacyStatement, name: str, entries: list[Entry], words: Words) -> Kind:
    shares = [cost_share(privacy, entry) for entry in entries]
    known = [share for share in shares if share is not None]
    return Kind(
        name=clean(words.name("draw", name)),
        use=words(f"use.{name}" if words.knows("use", name) else "use.unknown"),
        share=math.fsum(known) if len(known) == len(shares) else None,
        n_values=sum(entry.n_draws for entry in entries),
    )


def lead(privacy: PrivacyStatement, words: Words = ENGLISH) -> str:
    """Return the promise in one sentence without symbols, no better than its epsilon."""
    if math.isinf(privacy.epsilon):
        return words("lead.none")
    if not privacy.releasable:
        return words("lead.seeded")
    epsilon, unit = privacy.total_epsilon, words(f"unit.{privacy.unit.of}.short")
    strength = "strong" if epsilon <= _STRONG else "moderate" if epsilon <= _MODERATE else "weak"
    return words(f"lead.{strength}", unit=unit)
