"""Single facts of a release in words: the unit of privacy, neighbours, the promise, what sizes count, a line of the ledger."""

from __future__ import annotations

from dpmondrian.privacy import Entry
from dpmondrian.release import PrivacyStatement, Unit
from dpmondrian.release.verification import Check, Verification
from dpmondrian.schema import Category, Column, Indicator
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean, plain_number


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
    return words("promise" if delta else "promise.pure", epsilon=plain_number(epsilon), delta=plain_number(delta))


def counted_text(counted: str, words: Words = ENGLISH) -> str:
    """Return what sizes are numbers of."""
    return words(f"counted.{counted}")


def entry_names(entry: Entry, words: Words = ENGLISH) -> tuple[str, str, str]:
    """Return the names of a draw, of its mechanism and of its unit; a name without words is its own."""
    return words.name("draw", entry.name), words.name("mechanism", entry.mechanism), words.name("draw_unit", entry.unit)


def check_text(check: Check, words: Words = ENGLISH) -> str:
    """Return why a check of a release passes, fails or cannot be made, without a full stop."""
    return words(check.key, **check.values)


def verdict_text(result: Verification, words: Words = ENGLISH) -> str:
    """Return what follows from the checks of a release."""
    n_all, n_failed = len(result.checks), len(result.failed)
    n_passed = sum(check.state == "ok" for check in result.checks)
    numbers = {"all": n_all, "failed": n_failed, "passed": n_passed, "open": n_all - n_failed - n_passed}
    return words("verdict.fails" if n_failed else "verdict.holds", **numbers)


def table_lines(rows: list[tuple[str, ...]]) -> list[str]:
    """Return a table as lines of text, its columns aligned to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def column_notes(column: Column, words: Words = ENGLISH, longest_unit: int = 24) -> str:
    """Return the unit of a column, unless its values are written as dates or times, and whether its scale is logarithmic."""
    is_written = column.notation is not None and column.notation.text(column.lower) is not None
    notes = [clean(column.unit, longest_unit)] if column.unit and not is_written else []
    return ", ".join([*notes, words("column.log_scale")] if column.log else notes)


def column_label(column: Column, name: str, words: Words = ENGLISH) -> str:
    """Return what stands at the axis of a column of centres."""
    if isinstance(column, Indicator):
        return words("column.share_of", name=name)
    notes = column_notes(column, words)
    return f"{name} ({notes})" if notes else name


def column_kind(column: Column | Category, words: Words = ENGLISH) -> str:
    """Return what kind of values a column has."""
    if isinstance(column, Category):
        return words("column.categories_cut" if column.cut else "column.categories")
    if column.notation is not None and column.notation.key:
        return words(f"column.{column.notation.key}")
    return words("column.whole" if column.whole else "column.log" if column.log else "column.numbers")
