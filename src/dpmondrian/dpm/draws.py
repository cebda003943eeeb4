"""What DPM draws: every value that leaves the rows is one of these. The report's words are in `dpmondrian.show`, by name."""

from __future__ import annotations

from dpmondrian.privacy import HALF_WIDTHS, RADII, ROWS, Draw, Kind

__all__ = [
    "ALL_DRAWS",
    "CATEGORY_COUNTS",
    "CELL_COUNT",
    "CLIPPED_SUMS",
    "COARSE_SUMS",
    "COUNT",
    "DISTANCES",
    "DOMAIN_SUMS",
    "GRID",
    "INTERVAL_SIZE",
    "LINES",
    "MADE_ONCE",
    "PROFILES",
    "QUALITY",
    "SPLIT",
]

COUNT = Draw("count", Kind.NOISE, ROWS, skippable_from=1)
"""All rows (level 0), then the rows on both sides of every cut of a level."""
SPLIT = Draw("split", Kind.CHOICE, "score steps", skippable_from=0)
"""The cut of every open node of a level."""
COARSE_SUMS = Draw("coarse sums", Kind.NOISE, HALF_WIDTHS)
"""A first centre of every large part of the tree, within its box."""
CELL_COUNT = Draw("cell count", Kind.NOISE, ROWS)
"""Rows nearest to every centre."""
DISTANCES = Draw("distances", Kind.NOISE, ROWS)
"""How far rows are from the centres known so far, over all of them."""
CLIPPED_SUMS = Draw("clipped sums", Kind.NOISE, RADII)
"""Better centres, from displacements clipped to a radius."""
CATEGORY_COUNTS = Draw("category counts", Kind.NOISE, ROWS)
"""Rows of every category."""
GRID = Draw("grid", Kind.NOISE, ROWS)
"""Rows in the bins of a grid over few columns: hills that are apart are clusters."""
LINES = Draw("lines", Kind.NOISE, ROWS)
"""Rows of parts along directions, in bins: where there is a valley, two clusters are apart."""
PROFILES = Draw("profiles", Kind.NOISE, ROWS)
"""Rows of every cluster in the bins of every column."""
QUALITY = Draw("quality", Kind.NOISE, HALF_WIDTHS)
"""How far rows are from their own centre, and how much nearer that is than the next one, over all rows."""
INTERVAL_SIZE = Draw("interval size", Kind.CHOICE, "gap ranks / 100")
"""How fine the grid of cuts is, in the paper's variant."""
DOMAIN_SUMS = Draw("sums", Kind.NOISE, RADII)
"""The paper's centres, from sums over the whole domain."""

ALL_DRAWS = (
    COUNT,
    SPLIT,
    COARSE_SUMS,
    CELL_COUNT,
    DISTANCES,
    CLIPPED_SUMS,
    CATEGORY_COUNTS,
    GRID,
    LINES,
    PROFILES,
    QUALITY,
    INTERVAL_SIZE,
    DOMAIN_SUMS,
)

MADE_ONCE = (COARSE_SUMS, PROFILES, QUALITY, INTERVAL_SIZE, DOMAIN_SUMS)
"""Draws without steps; the others are made level by level."""
