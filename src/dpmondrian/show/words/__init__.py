"""Words: the one place that holds what is said about a release, a statement or a forecast. Everything else holds facts.

Another language is another catalogue with the keys of `english`, handed to `render_report` and the functions of
`dpmondrian.show.texts`.
"""

from __future__ import annotations

from dpmondrian.show.words.catalogue import Text, Words, plural
from dpmondrian.show.words.english import ENGLISH
from dpmondrian.show.words.numbers import plain_number, value_text

__all__ = ["ENGLISH", "Text", "Words", "plain_number", "plural", "value_text"]
