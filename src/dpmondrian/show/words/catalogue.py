"""A catalogue of words: texts by key, in one language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

Text = str | Callable[[float], str]
"""A text with fields as of `str.format`, or a function that returns the one for a number."""


def plural(one: str, other: str) -> Callable[[float], str]:
    """Return the texts for one thing and for several, in a language that has these two forms."""
    return lambda n: one if n == 1 else other


@dataclass(frozen=True)
class Words:
    """All words that are shown of a release, a statement or a forecast, in one language."""

    language: str  # its code, such as "en"
    texts: Mapping[str, Text]  # by the keys of `dpmondrian.show.words.english`; a function is chosen by the field ``n``

    def __repr__(self) -> str:
        """Return the language: signatures in the documentation show it, and all texts would fill pages."""
        return f"Words({self.language!r})"

    def __call__(self, key: str, /, **fields: Any) -> str:
        """Return the text of a key with its fields filled in."""
        return self._form(key, fields).format_map(fields)

    def html(self, key: str, /, **fields: Any) -> Markup:
        """Return a text that holds elements of HTML; its fields are escaped, unless they are HTML themselves."""
        from markupsafe import Markup

        return Markup(self._form(key, fields)).format(**fields)  # noqa: S704 - texts of this package, fields are escaped

    def name(self, topic: str, key: str) -> str:
        """Return what a key of a topic is called; a key that the catalogue does not know is its own name."""
        text = self.texts.get(f"{topic}.{key}")
        return text if isinstance(text, str) else key

    def knows(self, topic: str, key: str) -> bool:
        """Return whether there are words for a key of a topic."""
        return f"{topic}.{key}" in self.texts

    def _form(self, key: str, fields: Mapping[str, Any]) -> str:
        text = self.texts[key]
        return text if isinstance(text, str) else text(fields["n"])
