"""Plain texts about what was released or is expected: what `str` and `print` show. Facts come in, words of a catalogue go out."""

from __future__ import annotations

from dpmondrian.show.texts.clusters import (
    certainty_texts,
    clusters_text,
    numbers_first,
    one_cluster_text,
    qualities_text,
    quality_text,
    segment_head,
    segment_rows,
    segment_title,
)
from dpmondrian.show.texts.facts import check_text, counted_text, neighbours_text, unit_text, verdict_text
from dpmondrian.show.texts.forecast import (
    details_text,
    findable_text,
    forecast_text,
    headings,
    notes,
    sentences,
    table_rows,
    warnings_of,
)
from dpmondrian.show.texts.profiles import cluster_size_text, cluster_text, difference_text, middle_half, proposed_name
from dpmondrian.show.texts.rules import condition_text, rule_texts, size_in_words, tree_text
from dpmondrian.show.texts.statement import draws_table, explanation_text, statement_sentences, statement_text
from dpmondrian.show.words.numbers import value_text

__all__ = [
    "certainty_texts",
    "check_text",
    "cluster_size_text",
    "cluster_text",
    "clusters_text",
    "condition_text",
    "counted_text",
    "details_text",
    "difference_text",
    "draws_table",
    "explanation_text",
    "findable_text",
    "forecast_text",
    "headings",
    "middle_half",
    "neighbours_text",
    "notes",
    "numbers_first",
    "one_cluster_text",
    "proposed_name",
    "qualities_text",
    "quality_text",
    "rule_texts",
    "segment_head",
    "segment_rows",
    "segment_title",
    "sentences",
    "size_in_words",
    "statement_sentences",
    "statement_text",
    "table_rows",
    "tree_text",
    "unit_text",
    "value_text",
    "verdict_text",
    "warnings_of",
]
