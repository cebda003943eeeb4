"""A draft of a schema file, from names and types of columns only: what is common knowledge is filled in, the rest is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from dpmondrian.schema.quantities import Quantity, is_identifier, known_quantity
from dpmondrian.schema.toml import toml_key, toml_value

__all__ = ["draft_schema"]

_HEADER = """\
# What is public about the columns: known without looking at the rows (an age is between 0 and 120).
# Never use the smallest and largest value in the rows: that would reveal them.
# Fill in the places marked "fill in"; delete the sections of columns you do not want to cluster on.
"""
_PEOPLE = """\
# Maximum number of rows per person:
# rows_per_person = 1
"""
_FROM_NAME = "# from the name; check it"


def draft_schema(columns: Mapping[str, str], *, people_known: bool = False) -> str:
    """Return the TOML text of a schema to be filled in.

    Parameters
    ----------
    columns : mapping of str to str
        Kind of every column by name, as `columns_of` returns them: "whole", "number", "truth", "text", "date", "unknown".
    people_known : bool, default=False
        Whether it was said already how rows belong to people; else the draft asks.

    Notes
    -----
    Only names and kinds are used. Until every place is filled in, `read_schema` refuses the text and names the columns.
    """
    people = [name for name, kind in columns.items() if kind != "truth" and is_identifier(name)]
    others = {name: kind for name, kind in columns.items() if name not in people}
    asked = [] if people_known else [*([_identifiers(people)] if people else []), _PEOPLE]
    sections = [_HEADER, *asked]
    sections += [_section(name, kind) for name, kind in others.items()]
    return "\n".join(sections)


def _identifiers(names: list[str]) -> str:
    lines = "".join(f"# person_id = {toml_value(name)}\n" for name in names)
    return f"# Judging by its name, this column identifies people, so it is not clustered. Uncomment it if people have several rows:\n{lines}"


def _section(name: str, kind: str) -> str:
    if kind == "date":
        return (
            f"# {toml_value(name)} is a date or time: to use it, convert it to a number, such as days since a fixed date, and add its bounds."
            "\n"
        )
    head = f"[columns.{toml_key(name)}]\n"
    if kind == "text":
        return f'{head}# categories = ["...", "..."]  fill in\n'
    if kind == "truth":
        return f"{head}lower = 0\nupper = 1\nwhole = true  # from the type\n"
    quantity = known_quantity(name)
    return head + (_known(quantity, kind) if quantity else _unknown(kind))


def _known(quantity: Quantity, kind: str) -> str:
    lines = [
        f"lower = {toml_value(quantity.lower)}  {_FROM_NAME}",
        f"upper = {toml_value(quantity.upper)}  {_FROM_NAME}",
    ]
    if kind == "whole":
        lines.append("whole = true  # from the type")
    elif quantity.whole:
        lines.append(f"whole = true  {_FROM_NAME}")
    if quantity.unit:
        lines.append(f"unit = {toml_value(quantity.unit)}  {_FROM_NAME}")
    return "\n".join(lines) + "\n"


def _unknown(kind: str) -> str:
    bounds = "# lower = ...  fill in\n# upper = ...  fill in\n"
    if kind == "whole":
        return f'{bounds}whole = true  # from the type\n# categories = ["...", "..."]  # for codes, instead of the three above\n'
    if kind == "number":
        return bounds
    return f'{bounds}# whole = true  # if it contains only whole numbers\n# categories = ["...", "..."]  # for text, instead of bounds\n'
