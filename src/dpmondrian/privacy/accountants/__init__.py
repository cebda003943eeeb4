"""How costs of draws become an epsilon."""

from __future__ import annotations

from dpmondrian.privacy.accountants.pld import PLD_SLACK, Composition, Priced, least_factor
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
    "bounded_range_rho",
    "gaussian_multiplier",
    "gaussian_rho",
    "least_factor",
    "rho_from_epsilon",
    "smallest_met",
]
