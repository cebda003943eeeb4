"""Single facts of a release in words: the unit of privacy, neighbours, the promise, what sizes count, a line of the ledger."""

from __future__ import annotations

from dpmondrian.privacy import Entry
from dpmondrian.release import PrivacyStatement, Unit
from dpmondrian.show.words import ENGLISH, Words

__all__ = ["counted_text", "entry_names", "neighbours_text", "promise_text", "table_lines", "unit_text"]


def unit_text(unit: Unit, words: Words = ENGLISH) -> str:
    """Return whose privacy is protected."""
    if unit.person_id is not None:
        return words("unit.person_id", column=repr(unit.person_id))
    return words("unit.row") if unit.assumed_rows is None else words("unit.assumed_rows", n=unit.assumed_rows)


def neighbours_text(privacy: PrivacyStatement, words: Words = ENGLISH) -> str:
    """Return between which tables nobody can tell."""
    unit, n = privacy.unit, privacy.rows_per_person
    kind = "person_id" if unit.enforced else "row" if unit.assumed_rows is None else "assumed_rows"
    return words(f"neighbours.{privacy.neighbours}", rows=words(f"neighbours.{kind}", n=n))


def promise_text(epsilon: float, delta: float, words: Words = ENGLISH) -> str:
    """Return epsilon and delta."""
    return words("promise" if delta else "promise.pure", epsilon=f"{epsilon:g}", delta=f"{delta:g}")


def counted_text(counted: str, words: Words = ENGLISH) -> str:
    """Return what sizes are numbers of."""
    return words(f"counted.{counted}")


def entry_names(entry: Entry, words: Words = ENGLISH) -> tuple[str, str, str]:
    """Return the names of a draw, of its mechanism and of its unit; a name without words is its own."""
    return words.name("draw", entry.name), words.name("mechanism", entry.mechanism), words.name("draw_unit", entry.unit)


def table_lines(rows: list[tuple[str, ...]]) -> list[str]:
    """Return a table as lines of text, its columns aligned to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
