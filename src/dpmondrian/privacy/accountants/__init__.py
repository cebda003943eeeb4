"""How costs of draws become an epsilon."""

from __future__ import annotations

from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, Priced, bounded_range_delta, n_steps
from dpmondrian.privacy.accountants.staged import Stages
from dpmondrian.privacy.accountants.zcdp import (
    bounded_range_rho,
    gaussian_multiplier,
    gaussian_rho,
    rho_from_epsilon,
    smallest_met,
)

__all__ = [
    "PLD_SLACK",
    "Composition",
    "Priced",
    "Stages",
    "bounded_range_delta",
    "bounded_range_rho",
    "gaussian_multiplier",
    "gaussian_rho",
    "n_steps",
    "rho_from_epsilon",
    "smallest_met",
]
