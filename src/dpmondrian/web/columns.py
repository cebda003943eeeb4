"""What was typed about the columns, and the schema that it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import BoundsError, ParameterError
from dpmondrian.web.planned import number_typed

if TYPE_CHECKING:
    from dpmondrian.schema import Category, Column, Guess, TableSchema
    from dpmondrian.web.works import Work

KINDS = {
    "": "not described yet",
    "number": "number",
    "whole": "whole number",
    "bands": "ordered bands",
    "category": "category",
    "date": "date",
    "time": "time of day",
    "yesno": "yes or no",
    "ignore": "leave out",
}
"""Kinds of columns, by their key in forms."""

FIELDS = (
    "kind",
    "lower",
    "upper",
    "unit",
    "log",
    "bands",
    "categories",
    "codes",
    "cut",
    "format",
    "yes",
    "no",
    "missing",
)
HABITS = ("missing", "decimal", "thousands")
"""What is usual in the whole table: marks of missing values, and how numbers are written."""

_KINDS_OF_GUESSES = {
    **dict.fromkeys(("person", "identifier", "free text"), "ignore"),
    **dict.fromkeys(("code", "category"), "category"),
    "date": "date",
    "bands": "bands",
    "yes/no": "yesno",
    "number": "number",
}
_WHY = {
    "person": "Judging by its name, it says whose row it is.",
    "identifier": "Judging by its name, it identifies somebody or something.",
    "free text": "Judging by its name, it holds free text.",
}
_LISTS = {"bands": "bands", "categories": "category", "yes": "yesno", "no": "yesno"}


def is_used(typed: Mapping[str, str]) -> bool:
    """Return whether a column takes part in the clustering: its kind was chosen, and something was said about it."""
    kind = typed.get("kind", "")
    needed = _NEEDED.get(kind, ("lower", "upper"))
    return kind not in ("", "ignore") and (not needed or any(typed.get(field, "").strip() for field in needed))


_NEEDED = {"category": ("categories",), "bands": ("bands",), "yesno": ()}
"""Fields without which nothing is said about a column of this kind; of others its bounds."""


def drafted(kinds: Mapping[str, str]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return what names and types alone tell about the columns of a file, and whose rows they are; no value is looked at."""
    from dpmondrian.schema import guess_columns

    guesses = guess_columns(kinds)
    person = next((name for name, guess in guesses.items() if guess.holds == "person"), "")
    return {name: _draft(guess, kinds[name]) for name, guess in guesses.items()}, {"column": person, "rows": "1"}


def _draft(guess: Guess, kind: str) -> dict[str, str]:
    """Return a guess as texts of a form."""
    facts = {key: f"{value:g}" if isinstance(value, int | float) else str(value) for key, value in guess.facts.items()}
    known: dict[str, str] = {
        key: facts[key] for key in ("lower", "upper", "unit") if key in facts and guess.holds == "number"
    }
    chosen = _KINDS_OF_GUESSES.get(guess.holds, "")
    if chosen == "number" and (kind == "whole" or guess.facts.get("whole")):
        chosen = "whole"
    return {
        "kind": chosen,
        **known,
        "why": _WHY.get(guess.holds, "Common knowledge, from its name. Check it." if known else ""),
    }


def from_schema(declared: TableSchema, names: Mapping[str, Any]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return what a schema file says as if it had been typed, and about people; other columns are left out."""
    known = {column.name: _typed(column) for column in declared.schema.columns}
    missing = [name for name in known if name not in names]
    if missing:
        raise ParameterError(
            f"The schema describes the column {missing[0]!r}, which the table does not have.",
            "Choose another schema or table.",
        )
    people = {"column": declared.person_id or "", "rows": str(declared.rows_per_person)}
    return {name: known.get(name, {"kind": "ignore"}) for name in names}, people


def _typed(column: Column | Category) -> dict[str, str]:
    """Return the section of a column as texts of a form."""
    from dpmondrian.schema import section_of

    section = section_of(column)
    kind = next((kind for key, kind in _LISTS.items() if key in section), "whole" if section.get("whole") else "number")
    kind = next((key for key in ("date", "time") if key in section), kind)
    return {"kind": kind} | {key: _as_text(section[key]) for key in FIELDS if key in section}


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, float):
        return f"{value:.17g}"
    return value if isinstance(value, str) else "\n".join(map(str, value))


def declared_schema(work: Work) -> TableSchema:
    """Return the schema that was typed; raise `BoundsError` or `ParameterError` in the words of the command line."""
    from dpmondrian.schema import Estimate, Schema, TableSchema

    used = {name: typed for name, typed in work.columns.items() if is_used(typed)}
    if not used:
        raise BoundsError(
            "No column is described yet.",
            "Choose the kind of at least one column, and fill in its bounds or categories.",
        )
    people: dict[str, Any] = {
        "person_id": work.people.get("column") or None,
        "rows_per_person": _rows_per_person(work),
    }
    schema = Schema(tuple(_column(name, typed, work.habits) for name, typed in used.items()))
    if work.estimate:
        made = Estimate(**work.estimate)
        cost = made.cost(people["rows_per_person"], people["person_id"])
        schema = replace(schema, estimate=Estimate(cost, **people, entry=made.entry))
    return TableSchema(schema, **people)


def check_missing(work: Work) -> None:
    """Refuse to stop at missing values of which it is known beforehand that there are some: their marks were listed."""
    used = [typed for typed in work.columns.values() if is_used(typed)]
    marks = [work.habits.get("missing", ""), *(typed.get("missing", "") for typed in used)]
    if any(mark.strip() for mark in marks) and work.plan.get("on_missing", "error") == "error":
        raise ParameterError(
            "Marks of missing values are listed, but --on-missing says that a missing value stops the run.",
            "Leave such rows out, use the middle of the bounds, or remove the marks.",
        )


def codes_in(path: Path, name: str) -> str:
    """Return the codes of a public list as lines, to be typed for a column."""
    from dpmondrian.schema import Category, column_of

    column = column_of(name, {"categories_file": str(path)})
    assert isinstance(column, Category)
    return "\n".join(column.categories)


def _rows_per_person(work: Work) -> int:
    text = work.people.get("rows", "").strip() or "1"
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError.broken(
            "rows_per_person", "must be an integer >= 1", text, "Pass the maximum number of rows per person."
        )
    return int(text)


def _column(name: str, typed: Mapping[str, str], habits: Mapping[str, str]) -> Column | Category:
    from dpmondrian.schema import column_of, with_habits

    column = column_of(name, _section(typed))
    assert column is not None
    decimal, thousands = habits.get("decimal") or None, habits.get("thousands") or None
    return with_habits(column, _listed(habits.get("missing", "")), decimal, thousands)


def _section(typed: Mapping[str, str]) -> dict[str, Any]:
    """Return what was typed as the section of a schema file."""
    kind, missing = typed["kind"], _listed(typed.get("missing", ""))
    section: dict[str, Any] = {"missing": missing} if missing else {}
    if kind == "category":
        return section | {"categories": _listed(typed.get("categories", "")), "cut": bool(typed.get("cut"))}
    if kind == "bands":
        return section | {"bands": _lines(typed.get("bands", ""))}
    if kind == "yesno":
        words = {key: _listed(typed.get(key, "")) for key in ("yes", "no")}
        return section | {key: listed or _YES_NO[key] for key, listed in words.items()}
    if kind in ("date", "time"):
        section |= {kind: "days" if kind == "date" else "hours"}
        section |= {key: typed[key].strip() for key in ("lower", "upper", "format") if typed.get(key, "").strip()}
        return {"lower": "", "upper": "", **section}
    section |= {key: number_typed(typed.get(key, "")) for key in ("lower", "upper")}
    section |= {"unit": typed["unit"].strip()} if typed.get("unit", "").strip() else {}
    return section | ({"log": True} if typed.get("log") else {"whole": True} if kind == "whole" else {})


_YES_NO = {"yes": ["yes", "y", "true", "t", "1"], "no": ["no", "n", "false", "f", "0"]}


def _listed(text: str) -> list[str]:
    """Return the items of a list that was typed on lines, or on one line with commas."""
    lines = _lines(text)
    return _lines(lines[0].replace(",", "\n")) if len(lines) == 1 else lines


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
