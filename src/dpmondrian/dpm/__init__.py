"""The algorithm: settings, plan, tree, scores, centres, joining."""

from __future__ import annotations

from dpmondrian.dpm.algorithm import WIDENING, Clustering, cluster, split_rule
from dpmondrian.dpm.draws import (
    CATEGORY_SUMS,
    CELL_COUNT,
    CLIPPED_SUMS,
    COARSE_SUMS,
    COUNT,
    DOMAIN_SUMS,
    INTERVAL_SIZE,
    LEVEL,
    RADIUS,
    SPLIT,
)
from dpmondrian.dpm.plan import PAPER_SHARES, make_plan, paper_offsets, paper_plan
from dpmondrian.dpm.settings import DEFAULTS, Settings, check_columns, checked_settings

__all__ = [
    "CATEGORY_SUMS",
    "CELL_COUNT",
    "CLIPPED_SUMS",
    "COARSE_SUMS",
    "COUNT",
    "DEFAULTS",
    "DOMAIN_SUMS",
    "INTERVAL_SIZE",
    "LEVEL",
    "PAPER_SHARES",
    "RADIUS",
    "SPLIT",
    "WIDENING",
    "Clustering",
    "Settings",
    "check_columns",
    "checked_settings",
    "cluster",
    "make_plan",
    "paper_offsets",
    "paper_plan",
    "split_rule",
]
