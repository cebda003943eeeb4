"""Names on the command line: how a list of them is written."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import typer

__all__ = ["check_text", "split_names"]


def split_names(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in texts with commas between them; a name with a comma stands in double quotes, as in a CSV file."""
    given = [texts] if isinstance(texts, str) else list(texts or ())
    check_text(given)
    try:
        rows = list(csv.reader(given, skipinitialspace=True, strict=True))
    except csv.Error:
        raise typer.BadParameter(
            "Column names must be separated by commas, and a name that contains a comma must be in double quotes. Got a quote that "
            "is not closed, or that is closed in the middle of a name."
        ) from None
    return tuple(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))


def check_text(texts: Sequence[str | None]) -> None:
    """Refuse texts of the command line that are not UTF-8; Python carries their bytes as code points that nothing can write."""
    for text in texts:
        if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
            raise typer.BadParameter(
                f"Column names must be UTF-8 text. Got {text!r}. Check the locale settings of your shell."
            )
