"""TOML text of keys and plain values: the few lines of the format that schema files need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Plain: TypeAlias = "str | bool | int | float | Sequence[Plain]"

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_LARGEST_EXACT_FLOAT = 2.0**53


def toml_key(name: str) -> str:
    """Return a name as a TOML key, in quotes where it needs them."""
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def toml_value(value: Plain) -> str:
    """Return a value as TOML; whole floats are written without a point, which reads as the same number."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_EXACT_FLOAT else repr(value)
    return f"[{', '.join(map(toml_value, value))}]"


def _text(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    # Other control characters are forbidden in TOML; marks that break lines or turn them around are allowed, and would deceive readers.
    if character.isprintable():
        return character
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"
