"""What the best attacker can find out, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from dpmondrian.common.printable import printable
from dpmondrian.release import Explanation
from dpmondrian.show.texts.facts import promise_text, unit_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import of_hundred, right_of_hundred

__all__ = ["explanation_text"]


def explanation_text(explained: Explanation, words: Words = ENGLISH) -> str:
    """Return an explanation as text, a sentence per line."""
    return "\n".join(map(printable, _lines(explained, words)))


def _lines(explained: Explanation, words: Words) -> Iterator[str]:
    if not explained.releasable:
        yield words("explanation.not_releasable")
    promise = promise_text(explained.epsilon, explained.delta, words)
    yield words("explanation.head", promise=promise, unit=unit_text(explained.unit, words))
    yield ""
    yield words("explanation.attacker")
    yield words("explanation.coin", right=right_of_hundred(explained.advantage))
    for rate in explained.rates:
        wrongly, found = f"{100 * rate.false_positives:g}", of_hundred(rate.true_positives)
        yield words("explanation.rate", wrongly=wrongly, found=found)
    found = ", ".join(of_hundred(rate.by_epsilon_alone) for rate in explained.rates)
    yield words("explanation.epsilon_alone", right=right_of_hundred(explained.advantage_by_epsilon_alone), found=found)
    yield words(f"explanation.basis.{explained.basis}")
