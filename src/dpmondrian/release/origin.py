"""Where a release comes from: its day, the name of its data set, and the account of that data set before and after it.

All of it is public, and said by the holder of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from dpmondrian.common.checks import is_number
from dpmondrian.exceptions import ParameterError

__all__ = ["Account", "Cost", "Origin", "is_data_set_name", "today"]

_LONGEST_NAME = 1000
_LARGEST_EPSILON = 1e6


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
    """Where a release comes from.

    Attributes
    ----------
    date : str
        The day on which the run began, in UTC: 2026-12-31.
    data_set : str
        Name of the data set, from its budget file or from `fit`; empty if nobody gave one.
    account : Account or None
        None for a run without a budget.
    """

    date: str
    data_set: str = ""
    account: Account | None = None

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
