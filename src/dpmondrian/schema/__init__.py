"""What is public about a table: columns, coordinates, schema files."""

from __future__ import annotations

from dpmondrian.schema.bounds import GivenBounds
from dpmondrian.schema.columns import OTHER, Bounds, Category, Column, Estimate, Indicator, Schema
from dpmondrian.schema.coordinates import MOST_DIRECTIONS, Coordinates
from dpmondrian.schema.files import TableSchema, bounds_from_options, draft_schema, read_schema, write_schema
from dpmondrian.schema.quantities import is_identifier, known_quantity
from dpmondrian.schema.texts import NoTextError, canonical_text, holds_objects, text_of, texts_of_arrow, texts_of_column
from dpmondrian.schema.toml import toml_key, toml_value

__all__ = [
    "MOST_DIRECTIONS",
    "OTHER",
    "Bounds",
    "Category",
    "Column",
    "Coordinates",
    "Estimate",
    "GivenBounds",
    "Indicator",
    "NoTextError",
    "Schema",
    "TableSchema",
    "bounds_from_options",
    "canonical_text",
    "draft_schema",
    "holds_objects",
    "is_identifier",
    "known_quantity",
    "read_schema",
    "text_of",
    "texts_of_arrow",
    "texts_of_column",
    "toml_key",
    "toml_value",
    "write_schema",
]
