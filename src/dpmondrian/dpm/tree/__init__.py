"""Growing a tree of cuts, making its counts consistent, and keeping the result."""

from __future__ import annotations

from dpmondrian.dpm.tree.grower import SplitRule
from dpmondrian.dpm.tree.intervals import GAP_PERCENTILE, SIGMAS, gap_score_change, standard_gap

__all__ = ["GAP_PERCENTILE", "SIGMAS", "SplitRule", "gap_score_change", "standard_gap"]
