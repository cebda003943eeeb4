"""The ledger: what was drawn, priced again from the noise that was really used; and the journal, which keeps what was released."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.draws import Draw
from dpmondrian.privacy.plan import Plan, PlannedDraw

NOT_DRAWN = "not drawn"
"""In place of the unit of a draw that was not needed."""

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Entry:
    """One mechanism of the statement.

    `sensitivity` and `scale` are in `unit`; `n_draws` is the number of values it released: 0 where it was not made. What was
    planned and not made is charged all the same, unless it was waived: then it costs nothing.
    """

    name: str
    level: int | None
    mechanism: str
    unit: str
    sensitivity: float
    scale: float
    cost: float
    n_draws: int
    delta: float = 0.0


@dataclass
class Ledger:
    """Writes one entry per planned draw and refuses any draw that is not planned or costs more."""

    plan: Plan
    rows_per_person: int = 1
    _written: dict[tuple[Draw, int | None], Entry] = field(default_factory=dict)

    def is_open(self, draw: PlannedDraw) -> bool:
        """Return whether a draw is planned and was not made yet."""
        return self.plan.find(draw.draw, draw.level) is draw and (draw.draw, draw.level) not in self._written

    def write(self, draw: PlannedDraw, *, sensitivity: float, scale: float, cost: float, n_draws: int) -> None:
        """Record a draw *before* it is made, at the cost of the noise it will use, which must be the planned one.

        The same entry may not be written twice.
        """
        if not self.is_open(draw):
            raise BudgetError(f"The draw {draw.name!r} at level {draw.level} is not open in the plan.")
        cost = self._stated_cost(draw, cost)
        self._written[draw.draw, draw.level] = Entry(
            draw.name, draw.level, draw.mechanism, draw.draw.unit, sensitivity, scale, cost, n_draws, draw.delta
        )

    def _stated_cost(self, draw: PlannedDraw, cost: float) -> float:
        """Return the planned cost; refuse a draw whose noise costs another one."""
        if not cost <= draw.cost * (1.0 + _TOLERANCE):  # nor if it is no number
            raise BudgetError(f"The draw {draw.name!r} at level {draw.level} would cost more than planned.")
        if cost < draw.cost * (1.0 - _TOLERANCE):
            raise BudgetError(f"The draw {draw.name!r} at level {draw.level} would cost less than planned.")
        return draw.cost

    @property
    def n_written(self) -> int:
        """Number of draws that were made."""
        return len(self._written)

    def close(self) -> tuple[Entry, ...]:
        """Return one entry per planned draw, in the order of the plan.

        A draw that was neither made nor waived is charged like the others.
        """
        return tuple(self._written.get((draw.draw, draw.level)) or self._not_drawn(draw) for draw in self.plan.draws)

    def _not_drawn(self, draw: PlannedDraw) -> Entry:
        """Return the entry of a draw that was not needed."""
        if not draw.waived and not draw.may_be_skipped:
            raise BudgetError(f"The planned draw {draw.name!r} at level {draw.level} was not made.")
        sensitivity = float(self.rows_per_person)
        scale, cost = draw.multiplier * sensitivity, 0.0 if draw.waived else draw.cost
        return Entry(draw.name, draw.level, draw.mechanism, NOT_DRAWN, sensitivity, scale, cost, 0, draw.delta)


class Journal(Protocol):
    """Keeps what was released, so that a run that was killed goes on without drawing it again."""

    def recall(self, name: str, level: int | None, cost: float, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return what this draw released in an earlier part of the run, at this cost; None if it was not made yet."""
        ...

    def keep(self, name: str, level: int | None, cost: float, released: NDArray[np.int64]) -> None:
        """Keep what a draw releases, so that it outlasts this process; if it raises, nobody gets to see the value."""
        ...
