"""The numbers of a plan: as they are typed, the stops of their sliders, and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpmondrian.common.checks import check_delta, check_epsilon
from dpmondrian.exceptions import ParameterError

DEFAULTS = {"epsilon": "1", "delta": "1e-7", "rows": "10000", "groups": "5", "k": "", "on_missing": "error"}
EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
ROWS = (*(digit * 10**power for power in (2, 3, 4, 5, 6) for digit in (1, 2, 3, 5, 7)), 10**7)
"""Stops of the sliders."""


@dataclass(frozen=True)
class Planned:
    """The numbers of a plan, checked."""

    epsilon: float
    delta: float
    rows: int
    groups: int
    k: int | None

    @classmethod
    def typed(cls, plan: Mapping[str, str]) -> Planned:
        """Return what was typed; raise `ParameterError` if a number is none."""
        typed = {**DEFAULTS, **plan}
        epsilon, delta = check_epsilon(number_typed(typed["epsilon"])), check_delta(number_typed(typed["delta"]))
        rows, groups = _count("n_rows", typed["rows"], 10**12), _count("expected_clusters", typed["groups"], 20)
        k = _count("n_clusters", typed["k"], 1000) if typed["k"].strip() else None
        return cls(epsilon, delta, rows, groups, k)


def number_typed(text: str) -> Any:
    """Return the number that was typed; the text itself if it is none, for the error that quotes it."""
    try:
        return float(text.strip().replace("\N{NO-BREAK SPACE}", "").replace(" ", ""))
    except ValueError:
        return text


def _count(name: str, text: str, most: int) -> int:
    plain = text.strip().replace(",", "").replace(" ", "")
    if not plain.isdecimal() or len(plain) > 15 or not 1 <= int(plain) <= most:
        raise ParameterError.broken(name, f"must be an integer from 1 to {most:,}", text)
    return int(plain)
