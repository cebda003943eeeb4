"""Errors and warnings, one hierarchy.

::

    DPMondrianError
    ├── ParameterError (also ValueError)   a constructor parameter breaks a rule
    │   └── BoundsError                    the public facts about the columns are missing or wrong
    ├── DataError (also ValueError)        the table cannot be used as it is
    ├── ReleaseFileError (also ValueError) a saved release cannot be read
    ├── OutputError (also OSError)         a result cannot be written
    ├── RandomnessError (also OSError)     the secure generator of this system is missing or broken
    ├── PlotsMissingError                  nothing can be drawn: matplotlib is not installed
    ├── BudgetError (also RuntimeError)    a draw or a plan would cost more than was allowed
    └── CheckpointError (also RuntimeError) a run cannot be continued from its checkpoint, or not be kept there
        └── FinishedRunError               the run in the checkpoint is finished; the error has its release

    NotReleasableWarning (UserWarning)     the noise of this run can be reproduced: research only
    WeakPromiseWarning (UserWarning)       epsilon or delta is so large that little is promised
    FewRowsWarning (UserWarning)           too few rows for what was asked: expect noise

No message carries a value computed from the rows: only parameters, column names, types and shapes.
"""

from __future__ import annotations

from typing import Any

from dpmondrian.common.printable import printable

__all__ = [
    "BoundsError",
    "BudgetError",
    "CheckpointError",
    "DPMondrianError",
    "DataError",
    "FewRowsWarning",
    "FinishedRunError",
    "NotReleasableWarning",
    "OutputError",
    "ParameterError",
    "PlotsMissingError",
    "RandomnessError",
    "ReleaseFileError",
    "WeakPromiseWarning",
]


class DPMondrianError(Exception):
    """Base of every error raised on purpose by this package. Its text is one line, safe to print whatever names it quotes."""

    def __str__(self) -> str:
        return printable(super().__str__())


class ParameterError(DPMondrianError, ValueError):
    """A parameter breaks its rule; the message names parameter, rule, value and way out."""


class BoundsError(ParameterError):
    """Bounds are missing, reversed, equal, not finite, or do not fit the columns."""


class DataError(DPMondrianError, ValueError):
    """The table has a shape, type or missing value that cannot be used."""


class ReleaseFileError(DPMondrianError, ValueError):
    """A saved release is not a release, is damaged, or is of a newer format."""


class OutputError(DPMondrianError, OSError):
    """A result cannot be written where it should go; what was there before is unchanged."""


class RandomnessError(DPMondrianError, OSError):
    """The secure generator of this system is missing or broken. Nothing was drawn with it."""


class BudgetError(DPMondrianError, RuntimeError):
    """A plan or a draw would cost more than the budget allows. Nothing was released by it."""


class CheckpointError(DPMondrianError, RuntimeError):
    """A checkpoint is damaged, of another run, in use, or cannot be written. Nothing was released that is not kept there."""


class FinishedRunError(CheckpointError):
    """The run in a checkpoint is finished, and its release may be that of other rows. Nothing was drawn or spent.

    Attributes
    ----------
    release : Release
        What the run released, paid for already: for a process that was killed before it could save it.
    """

    def __init__(self, message: str, release: Any) -> None:
        super().__init__(message)
        self.release = release

    def __reduce__(self) -> tuple[type[FinishedRunError], tuple[str, Any]]:
        return type(self), (str(self), self.release)


class PlotsMissingError(DPMondrianError):
    """Nothing can be drawn, because matplotlib is not installed."""


class NotReleasableWarning(UserWarning):
    """The run used a seed, so its noise can be reproduced and protects nobody."""


class WeakPromiseWarning(UserWarning):
    """Epsilon or delta is so large that the release promises little to the people in the table."""


class FewRowsWarning(UserWarning):
    """By its released count the table has too few rows for clusters to be found with this budget."""
