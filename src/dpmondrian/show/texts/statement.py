"""A privacy statement as plain text: what `print` shows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpmondrian.common.printable import printable
from dpmondrian.release import Explanation, PrivacyStatement
from dpmondrian.show.texts.facts import entry_names, neighbours_text, promise_text, table_lines, unit_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import of_hundred, plain_number, right_of_hundred

_MOST_COLUMNS = 8


def statement_text(privacy: PrivacyStatement, words: Words = ENGLISH) -> str:
    """Return a statement as text: the promise in sentences, what was drawn as a table, and what is not protected."""
    lines = [*statement_sentences(privacy, words), "", words("statement.drawn"), *draws_table(privacy, words), ""]
    not_protected = [f"- {words(f'not_protected.{key}')}" for key in privacy.not_protected]
    return "\n".join(map(printable, [*lines, words("statement.not_protected"), *not_protected]))


def statement_sentences(privacy: PrivacyStatement, words: Words = ENGLISH) -> Iterator[str]:
    """Yield the promise in sentences, each of which may quote names of columns."""
    epsilon, delta = plain_number(privacy.epsilon), plain_number(privacy.delta)
    if not privacy.releasable:
        yield words("statement.not_releasable")
    yield words("statement.promise", promise=promise_text(privacy.epsilon, privacy.delta, words))
    yield words("statement.unit", unit=unit_text(privacy.unit, words))
    yield words("statement.neighbours", neighbours=neighbours_text(privacy, words))
    meaning = "statement.meaning_with_delta" if privacy.delta else "statement.meaning"
    yield words(meaning, epsilon=epsilon, delta=delta)
    if privacy.rho is not None:
        yield words("statement.rho", rho=f"{privacy.rho:.6g}")
    if privacy.accountant == "pld":
        yield words("statement.pld")
    if privacy.staged:
        yield words("statement.staged", unspent=f"{100 * privacy.unspent:.1f} %")
    yield words("statement.bounds", bounds=_bounds(privacy.bounds, words))
    if privacy.bounds_epsilon:
        total = f"{privacy.total_epsilon:g}"
        yield words("statement.bounds_epsilon", bounds_epsilon=f"{privacy.bounds_epsilon:g}", total=total)
    if privacy.earlier_fits:
        yield words("earlier_fits", n=privacy.earlier_fits)
    randomness = words(f"randomness.{privacy.randomness}")
    yield words("statement.origin", randomness=randomness, variant=privacy.variant, version=privacy.version)


def _bounds(columns: tuple[Mapping[str, Any], ...], words: Words) -> str:
    listed = ", ".join(map(_domain, columns[:_MOST_COLUMNS]))
    more = len(columns) - _MOST_COLUMNS
    return words("and_more", listed=listed, n=more) if more > 0 else listed


def _domain(column: Mapping[str, Any]) -> str:
    """Return what is public about the values of a column, such as "age [0, 120]"."""
    if "categories" in column:
        return f"{column['name']} {{{', '.join(column['categories'])}}}"
    return f"{column['name']} [{column['lower']:g}, {column['upper']:g}]"


def draws_table(privacy: PrivacyStatement, words: Words = ENGLISH) -> list[str]:
    """Return what was drawn as the lines of a table."""
    cost = words("cost.joint") if privacy.currency == "joint" else words("cost", currency=privacy.currency)
    first, last = ("release", "level", "mechanism", "sensitivity", "scale", "unit"), "values"
    rows = [(*(words(f"draws.{key}") for key in first), cost, words(f"draws.{last}"))]
    for entry in privacy.entries:
        name, mechanism, unit = entry_names(entry, words)
        level = "-" if entry.level is None else str(entry.level)
        noise = f"{entry.sensitivity:g}", f"{entry.scale:.4g}"
        rows.append((name, level, mechanism, *noise, unit, f"{entry.cost:.4g}", str(entry.n_draws)))
    return table_lines(rows)


def explanation_text(explained: Explanation, words: Words = ENGLISH) -> str:
    """Return an explanation as text, a sentence per line."""
    return "\n".join(map(printable, _lines(explained, words)))


def _lines(explained: Explanation, words: Words) -> Iterator[str]:
    if not explained.releasable:
        yield words("explanation.not_releasable")
    promise = promise_text(explained.epsilon, explained.delta, words)
    yield words("explanation.head", promise=promise, unit=unit_text(explained.unit, words))
    yield ""
    yield words("explanation.attacker", unit=words(f"unit.{'row' if explained.unit.of == 'row' else 'person'}.noun"))
    yield words("explanation.coin", right=right_of_hundred(explained.advantage))
    for rate in explained.rates:
        wrongly, found = f"{100 * rate.false_positives:g}", of_hundred(rate.true_positives)
        yield words("explanation.rate", wrongly=wrongly, found=found)
    found = ", ".join(of_hundred(rate.by_epsilon_alone) for rate in explained.rates)
    yield words("explanation.epsilon_alone", right=right_of_hundred(explained.advantage_by_epsilon_alone), found=found)
    yield words(f"explanation.basis.{explained.basis}")
