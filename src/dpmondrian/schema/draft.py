"""A draft of a schema file, from names and types of columns only: what is common knowledge is filled in, the rest is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpmondrian.schema.guesses import Guess, guess_columns
from dpmondrian.schema.toml import Plain, toml_key, toml_value

_HEADER = """\
# What is public about the columns: known without looking at the rows (an age is between 0 and 120).
# Never use the smallest and largest value in the rows: that would reveal them.
# Fill in the places marked "fill in"; write "ignore = true" for columns you do not want to cluster on.
"""
_ROWS = "# rows_per_person = 1  # maximum number of rows per person\n"
_BOUND_LINE = re.compile(r"\s*#?\s*(lower|upper)\s*=")
_ESTIMATED = "# estimated from the rows, with noise"
_CHECK = {"name": "# from the name; check it", "type": "# from the type"}
_EXAMPLES = {
    "categories": '["...", "..."]',
    "bands": '["[0-10)", "[10-20)", "..."]',
    "lower": "...",
    "upper": "...",
}
_ORDER = ("categories", "bands", "date", "lower", "upper", "whole", "unit", "yes", "no")
_DATE_EXAMPLES = {"lower": "2010-01-01", "upper": "2029-12-31"}
_WHOLE = "# whole = true  # if it contains only whole numbers\n"
_REMARKS = {
    "code": '# categories_file = "codes.csv"  # instead: a public list, one code per line or the first column of a CSV file\n',
    "unknown": f'{_WHOLE}# categories = ["...", "..."]  # for text, instead of bounds\n',
    "whole": '# categories = ["...", "..."]  # for codes, instead of the three above\n',
    "bands": "# all of them, from the lowest to the highest\n",
    "age": '# bands = ["[0-10)", "[10-20)", "..."]  # if it is written in bands, instead of the above\n',
    "date": '# format = "%d.%m.%Y"  # how dates are written, if not like 2020-12-31\n',
}


def draft_schema(columns: Mapping[str, str], *, people_known: bool = False) -> str:
    """Return the TOML text of a schema to be filled in, from names and kinds of columns alone (see `OpenedFile.kinds`).

    Until every place is filled in, `read_schema` refuses the text and names the columns. Columns that seem to hold ids or free text
    are ignored, and the text says so. With `people_known` it was said already how rows belong to people; else the draft proposes it.
    """
    guesses = guess_columns(columns)
    person = next((name for name, guess in guesses.items() if guess.holds == "person"), None)
    top = _HEADER if people_known else f"{_HEADER}\n{_people(person)}"
    shown = {name: guess for name, guess in guesses.items() if people_known or name != person}
    return "\n".join([top, *(section_text(name, guess, columns[name]) for name, guess in shown.items())])


def left_out(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that a draft does not cluster on, and what they seem to hold."""
    return {name: guess.holds for name, guess in guess_columns(columns).items() if guess.left_out}


def _people(person: str | None) -> str:
    if person is None:
        return f'# If people can have several rows, name the column that says whose row it is:\n# person_id = "..."\n{_ROWS}'
    return f"person_id = {toml_value(person)}  {_CHECK['name']}; it says whose row it is\n{_ROWS}"


def section_text(name: str, guess: Guess, kind: str) -> str:
    """Return the section of a column, with what is to be filled in as comments."""
    head = f"[columns.{toml_key(name)}]\n"
    if guess.left_out:
        holds = guess.holds if guess.holds == "free text" else "an identifier"
        return f"{head}ignore = true  # looks like {holds}\n"
    examples = _DATE_EXAMPLES if guess.holds == "date" else _EXAMPLES
    lines = {key: f"# {key} = {examples[key]}  fill in\n" for key in guess.asked}
    for key, value in guess.facts.items():
        source = "type" if key == "whole" and kind == "whole" else guess.source
        lines[key] = f"{key} = {_value(guess, key, value)}  {_CHECK[source]}\n"
    return "".join([head, *(lines[key] for key in sorted(lines, key=_ORDER.index)), _remark(guess, kind)])


def _value(guess: Guess, key: str, value: Plain) -> str:
    is_date = guess.holds == "date" and key in ("lower", "upper")
    return str(value) if is_date else toml_value(value)  # TOML has dates of its own


def _remark(guess: Guess, kind: str) -> str:
    if guess.holds == "number" and kind == "whole" and guess.asked == ("lower", "upper"):
        return _REMARKS["whole"]
    if guess.holds == "number" and kind == "unknown":  # a CSV file does not say that its numbers are whole
        return ("" if "whole" in guess.facts else _WHOLE) + (
            _REMARKS["age"] if guess.facts.get("unit") == "years" else ""
        )
    return _REMARKS.get(guess.holds, "")


def with_bounds(text: str, bounds: Mapping[str, Sequence[Any]]) -> str:
    """Return the text of a schema with bounds that were estimated; all else stays, comments too. New columns come at the end."""
    for name, pair in bounds.items():
        text = _with_pair(text, name, pair)
    return text


def _with_pair(text: str, name: str, pair: Sequence[Any]) -> str:
    head = f"[columns.{toml_key(name)}]"
    before, found, rest = f"\n{text}".partition(f"\n{head}")
    own, sign, others = rest.partition("\n[")
    kept = [line for line in own.splitlines() if line.strip() and not _BOUND_LINE.match(line)]
    lines = [f"{key} = {toml_value(value)}  {_ESTIMATED}" for key, value in zip(("lower", "upper"), pair, strict=False)]
    if len(pair) > 2 and not any(line.startswith("whole") for line in kept):
        lines.append(f"whole = true  {_CHECK['type']}")
    section = "".join(f"{line}\n" for line in [head, *lines, *kept])
    return f"{before}\n{section}{sign}{others}".removeprefix("\n") if found else f"{text}\n{section}"
