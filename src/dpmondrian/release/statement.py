"""The privacy statement: what a release reveals about one person, as keys and numbers.

The words for them are in `dpmondrian.show.words`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from dpmondrian._version import __version__
from dpmondrian.common.checks import LEAST_DELTA, is_number
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import Entry, Plan
from dpmondrian.schema import Schema

if TYPE_CHECKING:
    from dpmondrian.release.explain import Explanation


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


_LONGEST_NAME = 1000
_LARGEST_EPSILON = 1e6
_MOST_LINES, _LONGEST_TEXT, _LARGEST_NUMBER = 1000, 10**5, 1e300  # of the privacy statement
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,60}", re.ASCII)  # no sentence: reports show it


def today() -> str:
    """Return the day in UTC, as 2026-12-31; that of SOURCE_DATE_EPOCH where it is set, for results that can be repeated."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise ParameterError(
            "The environment variable SOURCE_DATE_EPOCH must be an integer number of seconds since 1970.",
            "Unset it.",
            value=seconds,
        ) from None


def is_data_set_name(value: Any) -> bool:
    """Return whether a value is a text of one line that is not too long."""
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and value.isprintable()


@dataclass(frozen=True)
class Cost:
    """An epsilon and a delta."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (is_number(self.epsilon) and 0 <= self.epsilon <= 2 * _LARGEST_EPSILON):
            raise ValueError("an epsilon of the account is not a number that may be spent")
        if not (is_number(self.delta) and 0 <= self.delta < 2):
            raise ValueError("a delta of the account is not a number that may be spent")


@dataclass(frozen=True)
class Account:
    """The account of a data set around one release: what may be spent in all, and what was spent before and after it."""

    total: Cost
    before: Cost
    after: Cost

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Account:
        """Return the account that `dataclasses.asdict` described; raise ValueError, TypeError or KeyError if it is none."""
        return cls(*(Cost(**values[name]) for name in ("total", "before", "after")))


@dataclass(frozen=True)
class Origin:
    """Where a release comes from. All of it is public, and said by the holder of the rows."""

    date: str  # the day on which the run began, in UTC: 2026-12-31
    data_set: str = ""  # its name, from its budget file or from `fit`; empty if nobody gave one
    account: Account | None = None  # None for a run without a budget

    def __post_init__(self) -> None:
        if not isinstance(self.date, str) or date.fromisoformat(self.date).isoformat() != self.date:
            raise ValueError("the date of the origin is not a day")
        if not is_data_set_name(self.data_set):
            raise ValueError("the name of the data set is not a single-line string")

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Origin:
        """Return the origin that `to_dict` described; raise ValueError, TypeError or KeyError if it is none."""
        account = values["account"]
        return cls(values["date"], values["data_set"], None if account is None else Account.from_dict(account))


NOT_PROTECTED = ("public_inputs", "outputs_of_rows", "side_channels", "several_releases", "groups")
"""What no statement promises: inputs that are published with the result, what predict and transform return, running time and
memory, the sum of several releases, and facts about groups larger than the unit."""

ADD_OR_REMOVE = "add_or_remove"
"""Neighbouring tables: one arises from the other by adding or removing the rows of one unit."""

SECURE, SEEDED = "secure", "seeded"
"""Where noise comes from: the operating system's and OpenDP's secure generators, or a seed, which can be repeated."""


@dataclass(frozen=True)
class PrivacyStatement:
    """The privacy guarantee and every draw behind it.

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
        Which tables cannot be distinguished.
    rows_per_person : int
        Maximum number of rows used per person. Every sensitivity is multiplied by it.
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
        Epsilon spent beforehand on estimating bounds from the same rows. It adds to `epsilon`.
    accountant : {"zcdp", "pld"}
        How costs in rho became `epsilon`: by conversion of their sum, or through the composed privacy loss.
    earlier_fits : int
        Number of earlier fits in the same process without a budget. If they used the same rows, their epsilons and deltas add to
        these.
    staged : bool
        Whether draws and their costs were decided on the way, from released values. The guarantee is that of the total, `rho`, or
        `epsilon` without it, whatever part of it the draws needed.

    Examples
    --------
    >>> from dpmondrian import DPM
    >>> statement = DPM(epsilon=1.0, delta=1e-7, bounds=(0, 1)).fit([[0.5]] * 1000).privacy_
    >>> statement.epsilon, statement.delta, str(statement.unit), statement.releasable
    (1.0, 1e-07, 'one row', True)
    >>> statement.explain().advantage < 0.2  # of the best attacker, from 0 (knows nothing) to 1
    True
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
    staged: bool = False

    @property
    def total_epsilon(self) -> float:
        """Epsilon of everything that was spent on the rows, bounds included."""
        return self.epsilon + self.bounds_epsilon

    @property
    def unspent(self) -> float:
        """Part of the total that no draw was given, between 0 and 1. It is not saved: the guarantee is that of the total."""
        if not self.staged:
            return 0.0
        spent = math.fsum(entry.cost for entry in self.entries)
        return max(0.0, 1.0 - spent / (self.rho or self.epsilon))

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
        statement._check_printable()
        known_delta = statement.delta == 0 or LEAST_DELTA <= statement.delta < 1
        if not (statement.epsilon > 0 and known_delta and statement.rows_per_person >= 1):
            raise ValueError("epsilon, delta or rows_per_person of the privacy statement is out of range")
        if statement.accountant not in ("zcdp", "pld"):
            raise ValueError("the accountant of the privacy statement is unknown")
        if statement.neighbours != ADD_OR_REMOVE or statement.randomness not in (SECURE, SEEDED):
            raise ValueError("the neighbours or the randomness of the privacy statement are unknown")
        if statement.not_protected != NOT_PROTECTED:
            raise ValueError("the privacy statement does not say what is not protected")
        return statement

    def _check_printable(self) -> None:
        """Raise ValueError unless the statement can be printed: numbers that are not negative, texts that are not too long."""
        if len(self.entries) > _MOST_LINES:
            raise ValueError("the privacy statement is too long")
        if not _VERSION.fullmatch(self.version):
            raise ValueError("the version is not one")
        texts = [self.unit.person_id or "", self.variant, self.currency]
        texts += [text for entry in self.entries for text in (entry.name, entry.mechanism, entry.unit)]
        if max(map(len, texts)) > _LONGEST_TEXT:
            raise ValueError("a string of the privacy statement is too long")
        numbers = [self.epsilon, self.bounds_epsilon, self.rho or 0.0, self.rows_per_person, self.earlier_fits]
        for entry in self.entries:
            numbers += [entry.sensitivity, entry.scale, entry.cost, entry.n_draws, entry.delta, entry.level or 0]
        if not 0 <= min(numbers) <= max(numbers) <= _LARGEST_NUMBER:
            raise ValueError("a number of the privacy statement is negative or too large")

    def explain(self) -> Explanation:
        """Return bounds on what the best attacker can learn about one unit. Prints as text."""
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
        staged=plan.is_staged,
    )
