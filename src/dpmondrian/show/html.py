"""HTML that holds nothing but its own texts: templates in which everything is escaped, and a policy under which nothing is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dpmondrian.show.words.numbers import clean, count, of_hundred, percent, plain_number, right_of_hundred, rough_size


def template(name: str) -> Any:
    """Return one of the templates."""
    return _environment().get_template(name)


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Return the environment of our own templates."""
    return environment(
        "dpmondrian.show",
        clean=clean,
        count=count,
        of_hundred=of_hundred,
        percent=percent,
        plain=plain_number,
        right_of_hundred=right_of_hundred,
        rough=rough_size,
    )


def environment(package: str, **filters: Callable[..., str]) -> Any:
    """Return jinja2's environment of the templates of a package: everything that is not marked as safe is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(package, "templates")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= filters
    return found


@lru_cache(maxsize=2)
def asset(name: str) -> str:
    """Return the text of a style sheet or a script."""
    return files("dpmondrian.show").joinpath("templates", name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """Return a policy under which nothing is loaded, and only this style sheet and this script are used."""
    return f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def harmless_json(values: Any) -> str:
    """Return JSON without any character that could end the element around it or a line of script."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
