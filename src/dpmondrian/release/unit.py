"""The unit of privacy as facts: whose privacy a release protects, and whether its sizes count rows or people.

Words for these facts are in `dpmondrian.show.words`; nothing decides by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["PEOPLE", "PERSON", "ROW", "ROWS", "Unit", "counted_in", "unit_of"]

ROW, PERSON = "row", "person"
ROWS, PEOPLE = "rows", "people"


@dataclass(frozen=True)
class Unit:
    """Whose privacy is protected. Costs add up between releases of the same unit only.

    Attributes
    ----------
    of : {"row", "person"}
    person_id : str or None
        The column that identifies a person. Rows beyond the limit are then left out, so the unit is a person with any number of
        rows.
    assumed_rows : int or None
        Without such a column: the most rows that a person has. That is assumed, not enforced.
    """

    of: str = ROW
    person_id: str | None = None
    assumed_rows: int | None = None

    def __post_init__(self) -> None:
        named = isinstance(self.person_id, str) and self.assumed_rows is None
        several = type(self.assumed_rows) is int and self.assumed_rows > 1 and self.person_id is None
        plain = self.person_id is None and self.assumed_rows is None
        if not (named or several if self.of == PERSON else self.of == ROW and plain):
            raise ValueError("the unit of privacy is not one that can be protected")

    @property
    def enforced(self) -> bool:
        """Whether the limit of rows per person is enforced, by leaving rows out."""
        return self.person_id is not None

    def __str__(self) -> str:
        from dpmondrian.show.texts import unit_text

        return unit_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the unit as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Unit:
        """Return the unit that `to_dict` described; raise ValueError or TypeError if it is none."""
        if not isinstance(values, dict) or values.keys() != {"of", "person_id", "assumed_rows"}:
            raise ValueError("the unit of privacy has unknown or missing fields")
        return cls(**values)


def unit_of(rows_per_person: int, person_id: str | None) -> Unit:
    """Return the unit that a run with these parameters protects."""
    if person_id is not None:
        return Unit(PERSON, person_id=person_id)
    return Unit(ROW) if rows_per_person == 1 else Unit(PERSON, assumed_rows=rows_per_person)


def counted_in(rows_per_person: int, person_id: str | None) -> str:
    """Return what the sizes of a run count: "people" if every person is known to have one row, else "rows".

    Only a column that identifies people makes that known; without it, several rows may be of one person.
    """
    return PEOPLE if person_id is not None and rows_per_person == 1 else ROWS
