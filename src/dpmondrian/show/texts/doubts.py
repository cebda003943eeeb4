"""What is doubtful about a run, in words, and as the warnings of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpmondrian.common.printable import printable
from dpmondrian.exceptions import FewRowsWarning, WeakPromiseWarning
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import rounded

if TYPE_CHECKING:
    from dpmondrian.forecast.doubts import Doubt

__all__ = ["doubt_text", "warn_of"]

_MOST_COLUMNS = 6


def doubt_text(doubt: Doubt, counted: str, words: Words = ENGLISH, *, after_fit: bool = False) -> str:
    """Return a doubt as a sentence or two; `counted` is what rows are called."""
    fields = {name: _number_or_names(name, value) for name, value in doubt.values.items()}
    after = after_fit and words.knows("doubt", f"{doubt.key}.after")
    return words(f"doubt.{doubt.key}{'.after' if after else ''}", counted=counted_text(counted, words), **fields)


def _number_or_names(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        more = " ..." if len(value) > _MOST_COLUMNS else ""
        return ", ".join(map(printable, value[:_MOST_COLUMNS])) + more
    if isinstance(value, int):
        return f"{value:,}"
    return rounded(value) if name in ("rows", "needed") else f"{value:g}"


def warn_of(doubts: Iterable[Doubt], counted: str, stacklevel: int) -> None:
    """Issue a warning for every doubt about a fit."""
    for doubt in doubts:
        category = WeakPromiseWarning if doubt.about == "promise" else FewRowsWarning
        warnings.warn(doubt_text(doubt, counted, after_fit=True), category, stacklevel=stacklevel + 1)
