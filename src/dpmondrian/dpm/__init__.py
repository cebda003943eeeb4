"""The algorithm: settings, plan, tree, scores, cells, and clusters from cells."""

from __future__ import annotations

from dpmondrian.dpm.algorithm import CLEAR_SIZE, FINAL_SHARE, K_STEPS, Clustering, cluster, split_rule
from dpmondrian.dpm.cells import CELL_STEPS, COARSE_PART, LEAF_PART, MADE_BY_NOISE, Cells, rows_per_cell
from dpmondrian.dpm.distances import denoised_shares
from dpmondrian.dpm.dividing import Part, divided, variance_within
from dpmondrian.dpm.draws import (
    ALL_DRAWS,
    CATEGORY_COUNTS,
    CELL_COUNT,
    CLIPPED_SUMS,
    COARSE_SUMS,
    COUNT,
    DISTANCES,
    DOMAIN_SUMS,
    GRID,
    INTERVAL_SIZE,
    LINES,
    MADE_ONCE,
    PROFILES,
    QUALITY,
    SPLIT,
)
from dpmondrian.dpm.finding.grids import GRID_SHARES
from dpmondrian.dpm.merging import FEW_GROUPS, groups_for, k_means, ward_joins
from dpmondrian.dpm.paper import GAP_PERCENTILE, SIGMAS, gap_score_change, standard_gap
from dpmondrian.dpm.partition import Cuts, Divided, Nearest, Partition, Regions, partition_from_dict
from dpmondrian.dpm.plan import FEW_COLUMNS, PAPER_SHARES, level_draws, make_plan, n_levels, paper_offsets, paper_plan
from dpmondrian.dpm.profiles import Histograms
from dpmondrian.dpm.quality import Figures, noise_of_silhouettes
from dpmondrian.dpm.scores import Score, VarianceScore
from dpmondrian.dpm.settings import DEFAULTS, MOST_CLUSTERS, Settings, check_columns, checked_settings
from dpmondrian.dpm.steps import CATEGORY_PART, COUNT_PART, DISTANCES_PART, best_radius, candidate_radii

__all__ = [
    "ALL_DRAWS",
    "CATEGORY_COUNTS",
    "CATEGORY_PART",
    "CELL_COUNT",
    "CELL_STEPS",
    "CLEAR_SIZE",
    "CLIPPED_SUMS",
    "COARSE_PART",
    "COARSE_SUMS",
    "COUNT",
    "COUNT_PART",
    "DEFAULTS",
    "DISTANCES",
    "DISTANCES_PART",
    "DOMAIN_SUMS",
    "FEW_COLUMNS",
    "FEW_GROUPS",
    "FINAL_SHARE",
    "GAP_PERCENTILE",
    "GRID",
    "GRID_SHARES",
    "INTERVAL_SIZE",
    "K_STEPS",
    "LEAF_PART",
    "LINES",
    "MADE_BY_NOISE",
    "MADE_ONCE",
    "MOST_CLUSTERS",
    "PAPER_SHARES",
    "PROFILES",
    "QUALITY",
    "SIGMAS",
    "SPLIT",
    "Cells",
    "Clustering",
    "Cuts",
    "Divided",
    "Figures",
    "Histograms",
    "Nearest",
    "Part",
    "Partition",
    "Regions",
    "Score",
    "Settings",
    "VarianceScore",
    "best_radius",
    "candidate_radii",
    "check_columns",
    "checked_settings",
    "cluster",
    "denoised_shares",
    "divided",
    "gap_score_change",
    "groups_for",
    "k_means",
    "level_draws",
    "make_plan",
    "n_levels",
    "noise_of_silhouettes",
    "paper_offsets",
    "paper_plan",
    "partition_from_dict",
    "rows_per_cell",
    "split_rule",
    "standard_gap",
    "variance_within",
    "ward_joins",
]
