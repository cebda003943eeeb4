"""What is public about a table: columns, coordinates, schema files."""

from __future__ import annotations

from dpmondrian.schema.bounds import GivenBounds, kind_to_read
from dpmondrian.schema.columns import OTHER, Bounds, Category, Column, Estimate, Indicator, Schema
from dpmondrian.schema.coordinates import Coordinates, nearest_shares
from dpmondrian.schema.draft import draft_schema, left_out, section_text, with_bounds
from dpmondrian.schema.files import TableSchema, read_schema, schema_text, toml_in, write_schema
from dpmondrian.schema.guesses import Guess, guess_column, guess_columns, is_identifier, known_quantity
from dpmondrian.schema.notations import Bands, Dates, Notation, Numbers, Times, UnreadableError, YesNo
from dpmondrian.schema.options import bounds_from_options, facts_from_text
from dpmondrian.schema.sections import column_of, is_complete, section_of, with_habits
from dpmondrian.schema.texts import (
    NoTextError,
    arrow_codes,
    canonical_text,
    holds_objects,
    is_text,
    text_of,
    texts_of_arrow,
    texts_of_column,
)
from dpmondrian.schema.toml import toml_key, toml_value

__all__ = [
    "OTHER",
    "Bands",
    "Bounds",
    "Category",
    "Column",
    "Coordinates",
    "Dates",
    "Estimate",
    "GivenBounds",
    "Guess",
    "Indicator",
    "NoTextError",
    "Notation",
    "Numbers",
    "Schema",
    "TableSchema",
    "Times",
    "UnreadableError",
    "YesNo",
    "arrow_codes",
    "bounds_from_options",
    "canonical_text",
    "column_of",
    "draft_schema",
    "facts_from_text",
    "guess_column",
    "guess_columns",
    "holds_objects",
    "is_complete",
    "is_identifier",
    "is_text",
    "kind_to_read",
    "known_quantity",
    "left_out",
    "nearest_shares",
    "read_schema",
    "schema_text",
    "section_of",
    "section_text",
    "text_of",
    "texts_of_arrow",
    "texts_of_column",
    "toml_in",
    "toml_key",
    "toml_value",
    "with_bounds",
    "with_habits",
    "write_schema",
]
