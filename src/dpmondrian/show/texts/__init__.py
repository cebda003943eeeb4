"""Plain texts about what was released or is expected: what `str` and `print` show. Facts come in, words of a catalogue go out."""

from __future__ import annotations

from dpmondrian.show.texts.explanation import explanation_text
from dpmondrian.show.texts.facts import counted_text, neighbours_text, unit_text
from dpmondrian.show.texts.forecast import forecast_text, headings, sentences, table_rows, warnings_of
from dpmondrian.show.texts.rules import condition_text, rule_texts, size_in_words, tree_text
from dpmondrian.show.texts.statement import draws_table, statement_text

__all__ = [
    "condition_text",
    "counted_text",
    "draws_table",
    "explanation_text",
    "forecast_text",
    "headings",
    "neighbours_text",
    "rule_texts",
    "sentences",
    "size_in_words",
    "statement_text",
    "table_rows",
    "tree_text",
    "unit_text",
    "warnings_of",
]
