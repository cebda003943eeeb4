"""The privacy statement: what a release reveals about one person, as keys and numbers.

The words for them are in `dpmondrian.show.words`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from dpmondrian._version import __version__
from dpmondrian.common.checks import LEAST_DELTA
from dpmondrian.privacy import Entry, Plan
from dpmondrian.release.unit import Unit, unit_of
from dpmondrian.schema import Schema

if TYPE_CHECKING:
    from dpmondrian.release.explain import Explanation

__all__ = [
    "ADD_OR_REMOVE",
    "NOT_PROTECTED",
    "SECURE",
    "SEEDED",
    "PrivacyStatement",
    "make_statement",
]

NOT_PROTECTED = ("public_inputs", "outputs_of_rows", "side_channels", "several_releases", "groups")
"""What no statement promises: inputs that are published with the result, what predict and transform return, running time and
memory, the sum of several releases, and facts about groups larger than the unit."""

ADD_OR_REMOVE = "add_or_remove"
"""Neighbouring tables: one arises from the other by adding or removing the rows of one unit."""

SECURE, SEEDED = "secure", "seeded"
"""Where noise comes from: the operating system's and OpenDP's secure generators, or a seed, which can be repeated."""


@dataclass(frozen=True)
class PrivacyStatement:
    """What was promised and what was drawn for it.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee.
    rho : float or None
        The same in zCDP, where zCDP is used.
    releasable : bool
        False for a run with a seed: its noise can be reproduced, so it protects nobody.
    unit : Unit
        Whose privacy is protected.
    neighbours : {"add_or_remove"}
        Between which tables nobody can tell.
    rows_per_person : int
        The most rows of one person that were used: every sensitivity is multiplied by it.
    randomness : {"secure", "seeded"}
    not_protected : tuple of str
        Keys of `NOT_PROTECTED`.
    entries : tuple of Entry
        One per mechanism and level: name, level, mechanism, sensitivity, scale, cost.
    currency : str
        What `cost` of an entry is in: ``"rho"``, ``"epsilon"`` or ``"joint"`` (see `Plan`).
    bounds : tuple of dict
        The public columns: bounds, or categories.
    bounds_epsilon : float
        What was spent before, on estimating bounds from the same rows. It adds to `epsilon`.
    accountant : {"zcdp", "pld"}
        How costs in rho became `epsilon`: by conversion of their sum, or through the composed privacy loss.
    earlier_fits : int
        How many fits the same process had made before that no budget was charged for. If they were of the same rows, their
        epsilons and deltas add to these.
    """

    epsilon: float
    delta: float
    rho: float | None
    releasable: bool
    unit: Unit
    neighbours: str
    rows_per_person: int
    variant: str
    currency: str
    entries: tuple[Entry, ...]
    bounds: tuple[dict[str, Any], ...]
    randomness: str
    version: str
    not_protected: tuple[str, ...] = NOT_PROTECTED
    bounds_epsilon: float = 0.0
    accountant: str = "zcdp"
    earlier_fits: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the statement as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyStatement:
        """Return the statement that `to_dict` described; raise ValueError or TypeError if it is not one."""
        entries = tuple(_typed(Entry, entry) for entry in values["entries"])
        bounds = tuple({**column} for column in values["bounds"])
        made = {"entries": entries, "bounds": bounds, "unit": Unit.from_dict(values["unit"])}
        statement = _typed(cls, {**values, **made, "not_protected": tuple(values["not_protected"])})
        known_delta = statement.delta == 0 or LEAST_DELTA <= statement.delta < 1
        if not (statement.epsilon > 0 and known_delta and statement.rows_per_person >= 1):
            raise ValueError("epsilon, delta or rows_per_person of the privacy statement is out of range")
        if statement.bounds_epsilon < 0:
            raise ValueError("bounds_epsilon of the privacy statement is negative")
        if statement.accountant not in ("zcdp", "pld"):
            raise ValueError("the accountant of the privacy statement is unknown")
        if statement.neighbours != ADD_OR_REMOVE or statement.randomness not in (SECURE, SEEDED):
            raise ValueError("the neighbours or the randomness of the privacy statement are unknown")
        if statement.not_protected != NOT_PROTECTED:
            raise ValueError("the privacy statement does not say what is not protected")
        return statement

    def explain(self) -> Explanation:
        """Return what the best attacker can find out about one unit; prints in words."""
        from dpmondrian.release.explain import explain

        return explain(self)

    def __str__(self) -> str:
        from dpmondrian.show.texts import statement_text

        return statement_text(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from dpmondrian.show import statement_html

        return statement_html(self)


_KINDS: dict[str, tuple[type, ...]] = {
    "float": (float, int),
    "float | None": (float, int, type(None)),
    "int": (int,),
    "int | None": (int, type(None)),
    "bool": (bool,),
    "str": (str,),
}

_Record = TypeVar("_Record", Entry, PrivacyStatement)


def _typed(record: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Return a record whose fields have the types it declares, all present and finite."""
    for item in fields(record):
        if item.name not in values and item.default is not MISSING:
            continue
        kinds = _KINDS.get(str(item.type))
        value = values[item.name]
        if kinds is None:  # a tuple, checked by whoever made it
            continue
        wrong_truth = isinstance(value, bool) and bool not in kinds
        if not isinstance(value, kinds) or wrong_truth or (isinstance(value, float) and not math.isfinite(value)):
            raise TypeError(f"the field {item.name!r} of the privacy statement has the wrong type")
    return record(**values)


def make_statement(
    plan: Plan,
    entries: tuple[Entry, ...],
    schema: Schema,
    rows_per_person: int,
    variant: str,
    secure: bool,
    person_id: str | None = None,
    earlier_fits: int = 0,
) -> PrivacyStatement:
    """Return the statement of a finished run."""
    return PrivacyStatement(
        epsilon=plan.epsilon,
        releasable=secure and (schema.estimate is None or schema.estimate.releasable),
        delta=plan.delta,
        rho=plan.rho,
        unit=unit_of(rows_per_person, person_id),
        neighbours=ADD_OR_REMOVE,
        rows_per_person=rows_per_person,
        variant=variant,
        currency=plan.currency,
        accountant=plan.accountant,
        entries=entries,
        bounds=tuple(schema.to_dict()),
        bounds_epsilon=schema.bounds_epsilon(rows_per_person, person_id),
        randomness=SECURE if secure else SEEDED,
        version=__version__,
        earlier_fits=earlier_fits,
    )
