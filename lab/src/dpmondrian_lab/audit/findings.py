"""What an audit found: in words, and as plain values.

Measured values are exact. They tell about the tables that were compared: audit invented rows, or keep the findings as
close as the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["KINDS", "Finding", "Findings"]

KINDS: Mapping[str, str] = {
    "control flow": "what is asked next depends on exact rows",
    "public facts": "shapes, scales, sensitivities or warnings depend on exact rows",
    "noise": "noise was not drawn from the planned law, once for every value",
    "handed over": "what came out is not the exact value with the noise that was drawn",
    "groups": "the rows of one person change more groups than they are",
    "sensitivity": "an exact value moves by more than was declared",
    "price": "the privacy loss between the two tables is above the planned cost",
    "budget": "all draws together cost more than the epsilon that is promised",
    "law": "the probability of a choice changes by more than was promised",
    "ledger": "the ledger depends on exact rows, or a planned draw was not made",
    "result": "the result differs although all released values were the same",
    "failure": "a run failed",
    "defect": "the algorithm itself says that it does not keep its promise",
}
"""Kinds of findings, and what each of them means."""


@dataclass(frozen=True)
class Finding:
    """One way in which a run does not keep its promise.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    query : str
        What was asked, such as "split, level 2"; empty where it is about the whole run.
    measured, allowed : float or None
        What was found and the most that it may be, where both are numbers.
    words : str
    pair : str
        Name of the pair of tables.
    """

    kind: str
    query: str
    measured: float | None
    allowed: float | None
    words: str
    pair: str = ""

    def __str__(self) -> str:
        place = "; ".join(part for part in (self.query, self.pair) if part)
        numbers = "" if self.measured is None else f" ({self.measured:.6g}, allowed {self.allowed:.6g})"
        return f"{self.kind}{f' [{place}]' if place else ''}: {self.words}{numbers}"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON values; numbers beyond all bounds as text."""
        numbers = {name: _plain(getattr(self, name)) for name in ("measured", "allowed")}
        return {"kind": self.kind, "query": self.query, **numbers, "words": self.words, "pair": self.pair}


@dataclass(frozen=True)
class Findings:
    """Everything that an audit found, and how much of each price was used.

    Attributes
    ----------
    findings : tuple of Finding
        Empty if nothing is wrong.
    used : mapping from name of a query to float
        Largest part of its planned price that the pairs used up: 1 is all of it. A price of which little is used may be
        too high, or the rows were not adversarial enough.
    n_queries, n_pairs : int
        How much was compared.
    not_asked : tuple of str
        Planned draws that no run came to, so that nothing is known about them. A larger epsilon or more rows may lead there.
    """

    findings: tuple[Finding, ...] = ()
    used: Mapping[str, float] = field(default_factory=dict)
    n_queries: int = 0
    n_pairs: int = 1
    not_asked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def kinds(self) -> set[str]:
        """Kinds of what was found."""
        return {finding.kind for finding in self.findings}

    def named(self, pair: str) -> Findings:
        """Return the same with the name of the pair of tables in every finding that is about it."""
        about_all = ("defect", "budget")
        findings = (f if f.kind in about_all else replace(f, pair=pair) for f in self.findings)
        return replace(self, findings=tuple(findings))

    @classmethod
    def together(cls, parts: Iterable[Findings]) -> Findings:
        """Return what several audits found: all different findings, the largest parts used."""
        parts = list(parts)
        used: dict[str, float] = {}
        for part in parts:
            for name, share in part.used.items():
                used[name] = max(used.get(name, 0.0), share)
        findings = tuple(dict.fromkeys(finding for part in parts for finding in part.findings))
        n_queries, n_pairs = sum(part.n_queries for part in parts), sum(part.n_pairs for part in parts)
        missed = dict.fromkeys(name for part in parts for name in part.not_asked if name not in used)
        return cls(findings, used, n_queries, n_pairs, tuple(missed))

    def __str__(self) -> str:
        found = "nothing" if self.ok else f"{len(self.findings)} problem{'s' if len(self.findings) > 1 else ''}"
        pairs = "1 pair of tables" if self.n_pairs == 1 else f"{self.n_pairs} pairs of tables"
        lines = [f"The audit found {found}: {self.n_queries} queries compared on {pairs}."]
        lines += [f"- {finding}" for finding in self.findings]
        lines += [f"  {name}: used {100 * share:.3g} % of what was paid for" for name, share in self.used.items()]
        lines += [f"  {name}: was never asked" for name in self.not_asked]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON values."""
        return {
            "ok": self.ok,
            "n_queries": self.n_queries,
            "n_pairs": self.n_pairs,
            "used": {name: _plain(share) for name, share in self.used.items()},
            "not_asked": list(self.not_asked),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _plain(value: float | None) -> float | str | None:
    """Return a number that JSON knows, or the text of one that it does not."""
    return value if value is None or abs(value) < float("inf") else str(value)
