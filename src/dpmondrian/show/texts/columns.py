"""What is public about a column, in words."""

from __future__ import annotations

from dpmondrian.schema import Category, Column, Indicator
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean

__all__ = ["column_kind", "column_label", "column_notes"]


def column_notes(column: Column, words: Words = ENGLISH, longest_unit: int = 24) -> str:
    """Return the unit of a column and whether its scale is logarithmic."""
    notes = [clean(column.unit, longest_unit)] if column.unit else []
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
    return words("column.whole" if column.whole else "column.log" if column.log else "column.numbers")
