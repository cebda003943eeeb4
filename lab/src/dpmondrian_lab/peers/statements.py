"""Statements of peers: of joint composition, of published code that keeps no promise, and of what is not private at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dpmondrian._version import __version__
from dpmondrian.common.printable import printable
from dpmondrian.release import ADD_OR_REMOVE, SEEDED, Explanation, PrivacyStatement, Unit, explain, make_statement
from dpmondrian.schema import Schema
from dpmondrian.show.texts import draws_table
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, joint_composition

__all__ = ["JointStatement", "UnsoundStatement", "no_privacy", "peer_statement"]


@dataclass(frozen=True)
class JointStatement(PrivacyStatement):
    """The statement of a run whose costs compose through the privacy loss."""

    def explain(self) -> Explanation:
        """Return what the best attacker can find out about one unit, in words and numbers."""
        return explain(self, joint_composition(self.entries), GAUSSIAN_SLACK)


@dataclass(frozen=True)
class UnsoundStatement(PrivacyStatement):
    """The statement of code that does not keep its promise: `epsilon` is infinite, `releasable` is False.

    Attributes
    ----------
    claimed_epsilon : float or None
        What the published code promises; None where it promises nothing.
    drawn_epsilon : float
        What its draws alone cost by the ledger, were there no other defect.
    defects : tuple of str
        Why no finite epsilon holds.
    """

    claimed_epsilon: float | None = None
    drawn_epsilon: float = 0.0
    defects: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PrivacyStatement:
        """Refuse: what holds no promise is not read back as a release."""
        raise ValueError("a statement without a guarantee is not part of a release")

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON values; the infinite epsilon is None."""
        return {**super().to_dict(), "epsilon": None}

    def __str__(self) -> str:
        lines = ["NOT RELEASABLE: no finite epsilon holds, for these reasons:", *(f"- {item}" for item in self.defects)]
        if self.claimed_epsilon is not None:
            lines.append(
                f"Claimed: epsilon = {self.claimed_epsilon:g}. What was drawn costs epsilon = {self.drawn_epsilon:.4g}"
                + (f" at delta = {self.delta:g}" if self.delta else "")
                + ", even without the reasons above."
            )
        lines += [f"Variant: {self.variant}. dpmondrian {self.version}.", "", "What was drawn:", *draws_table(self)]
        return "\n".join(map(printable, lines))


def peer_statement(door: LabDoor, schema: Schema, variant: str) -> PrivacyStatement:
    """Return the statement of a peer's finished run."""
    plan, entries = door.plan, door.close()
    stated = make_statement(plan, entries, schema, 1, variant, door.secure)
    values = {field.name: getattr(stated, field.name) for field in fields(stated)}
    if plan.defects:
        values |= {"epsilon": math.inf, "releasable": False, "claimed_epsilon": plan.epsilon}
        return UnsoundStatement(**values, drawn_epsilon=plan.composed(entries), defects=plan.defects)
    return JointStatement(**values) if plan.currency == JOINT else stated


def no_privacy() -> UnsoundStatement:
    """Return the statement of an algorithm that is not private and does not claim to be."""
    return UnsoundStatement(
        epsilon=math.inf,
        delta=0.0,
        rho=None,
        releasable=False,
        unit=Unit(),
        neighbours=ADD_OR_REMOVE,
        rows_per_person=1,
        variant="not private",
        currency="epsilon",
        entries=(),
        bounds=(),
        randomness=SEEDED,
        version=__version__,
        defects=("nothing here is private: centres and sizes are exact",),
    )
