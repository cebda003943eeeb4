"""The privacy statement: what a release reveals about one person, in words and for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from dpmondrian._version import __version__
from dpmondrian.common.checks import LEAST_DELTA
from dpmondrian.common.printable import printable
from dpmondrian.privacy.ledger import Entry
from dpmondrian.privacy.plan import Plan
from dpmondrian.schema.columns import Schema

if TYPE_CHECKING:
    from dpmondrian.release.explain import Explanation

__all__ = [
    "NOT_PROTECTED",
    "SECURE",
    "PrivacyStatement",
    "earlier_fits_words",
    "make_statement",
    "unit_words",
]

NOT_PROTECTED = (
    "the bounds, column names and parameters: they are public inputs and are published with the result",
    "labels of rows, and what predict and transform return: they are computed from single rows and stay with the holder",
    "running time, memory and other side channels",
    "several releases from the same rows: their epsilons and deltas add up",
    "facts about groups larger than the unit of privacy, which are what the release is meant to show",
)

SECURE = "operating system and OpenDP, cryptographically secure"
"""What a statement says about noise that nobody can compute away."""


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
    unit, neighbours : str
        Whose privacy is protected, and between which tables nobody can tell.
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
    unit: str
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
        statement = _typed(
            cls, {**values, "entries": entries, "bounds": bounds, "not_protected": tuple(values["not_protected"])}
        )
        known_delta = statement.delta == 0 or LEAST_DELTA <= statement.delta < 1
        if not (statement.epsilon > 0 and known_delta and statement.rows_per_person >= 1):
            raise ValueError("epsilon, delta or rows_per_person of the privacy statement is out of range")
        if statement.bounds_epsilon < 0:
            raise ValueError("bounds_epsilon of the privacy statement is negative")
        if statement.accountant not in ("zcdp", "pld"):
            raise ValueError("the accountant of the privacy statement is unknown")
        return statement

    def explain(self) -> Explanation:
        """Return what the best attacker can find out about one unit, in words and numbers."""
        from dpmondrian.release.explain import explain

        return explain(self)

    def __str__(self) -> str:
        lines = [*self._words(), "", "What was drawn:", *self._table(), "", "Not protected:"]
        return "\n".join(map(printable, lines + [f"- {item}" for item in self.not_protected]))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from dpmondrian.show.report.snippets import statement_html

        return statement_html(self)

    def _words(self) -> list[str]:
        promise = f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else " (pure)")
        lines = [f"Differential privacy with {promise}."]
        if not self.releasable:
            lines.insert(0, "NOT RELEASABLE: drawn with a seed, so the noise can be reproduced. Research only.")
        lines += [
            f"Unit of privacy: {self.unit}.",
            f"Neighbouring tables: {self.neighbours}.",
            "Whatever an observer of the release may conclude about one unit, they would have concluded with nearly "
            "the same probability had its rows not been in the table: probabilities differ by a factor of at most "
            f"exp({self.epsilon:g})" + (f", up to an additional {self.delta:g}." if self.delta else "."),
        ]
        if self.rho is not None:
            lines.append(f"In zero-concentrated differential privacy: rho = {self.rho:.6g}.")
        if self.accountant == "pld":
            lines.append(
                "Epsilon was computed from the composed privacy loss of all draws; by rho alone it would be larger."
            )
        bounds = ", ".join(_domain_words(column) for column in self.bounds[:8])
        more = f" and {len(self.bounds) - 8} more" if len(self.bounds) > 8 else ""
        lines.append(f"Public bounds, to which values were clipped: {bounds}{more}.")
        if self.bounds_epsilon:
            lines.append(
                f"The bounds were estimated from the same rows before, with epsilon = {self.bounds_epsilon:g}. Together: epsilon = "
                f"{self.epsilon + self.bounds_epsilon:g}."
            )
        if self.earlier_fits:
            lines.append(earlier_fits_words(self.earlier_fits))
        lines.append(f"Randomness: {self.randomness}. Variant: {self.variant}. dpmondrian {self.version}.")
        return lines

    def _table(self) -> list[str]:
        cost = "cost (epsilon; of Gaussian noise: mu)" if self.currency == "joint" else f"cost ({self.currency})"
        head = ("release", "level", "mechanism", "sensitivity", "scale", "unit", cost, "values")
        rows = [head] + [
            (
                entry.name,
                "-" if entry.level is None else str(entry.level),
                entry.mechanism,
                f"{entry.sensitivity:g}",
                f"{entry.scale:.4g}",
                entry.unit,
                f"{entry.cost:.4g}",
                str(entry.n_draws),
            )
            for entry in self.entries
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _domain_words(column: Mapping[str, Any]) -> str:
    """Return what is public about the values of a column, such as "age [0, 120]"."""
    if "categories" in column:
        return f"{column['name']} {{{', '.join(column['categories'])}}}"
    return f"{column['name']} [{column['lower']:g}, {column['upper']:g}]"


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


def earlier_fits_words(n_fits: int) -> str:
    """Return what it means that fits were made before without a budget."""
    made = "one fit" if n_fits == 1 else f"{n_fits:,} fits"
    return (
        f"Before this one, the same process made {made} that no budget was charged for. If they used the same rows, their epsilons "
        "and deltas add to the ones above; a budget keeps the account."
    )


def unit_words(rows_per_person: int, person_id: str | None) -> str:
    """Return whose privacy is protected."""
    if person_id is not None:
        return f"one person, told by column {person_id!r}"
    return "one row" if rows_per_person == 1 else f"one person with up to {rows_per_person} rows"


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
    rows = "one row"
    multiplied = f"; every sensitivity below is multiplied by {rows_per_person}" if rows_per_person > 1 else ""
    if rows_per_person > 1:
        rows = f"all rows of one person, at most {rows_per_person}{multiplied}"
    if person_id is not None:
        kept = "one of them was kept" if rows_per_person == 1 else f"at most {rows_per_person} of them were kept"
        rows = f"all rows of one person, of which {kept}, chosen at random{multiplied}"
    return PrivacyStatement(
        epsilon=plan.epsilon,
        releasable=secure and (schema.estimate is None or schema.estimate.releasable),
        delta=plan.delta,
        rho=plan.rho,
        unit=unit_words(rows_per_person, person_id),
        neighbours=f"one arises from the other by adding or removing {rows}",
        rows_per_person=rows_per_person,
        variant=variant,
        currency=plan.currency,
        accountant=plan.accountant,
        entries=entries,
        bounds=tuple(schema.to_dict()),
        bounds_epsilon=schema.bounds_epsilon(rows_per_person, person_id),
        randomness=(SECURE if secure else "a seed; reproducible, not private"),
        version=__version__,
        earlier_fits=earlier_fits,
    )
