"""What DPM draws: every value that leaves the rows is one of these. The report's words are in `dpmondrian.show`, by name."""

from __future__ import annotations

from dpmondrian.privacy import HALF_WIDTHS, RADII, ROWS, Draw, Kind

__all__ = [
    "ALL_DRAWS",
    "BRIDGE",
    "CATEGORY_SUMS",
    "CELL_COUNT",
    "CLIPPED_SUMS",
    "COARSE_SUMS",
    "COUNT",
    "DOMAIN_SUMS",
    "INTERVAL_SIZE",
    "LEVEL",
    "RADIUS",
    "SPLIT",
]

COUNT = Draw("count", Kind.NOISE, ROWS, skippable_from=1)
"""Rows of every node of a level. The tree may end before the last level; all rows are always counted."""
SPLIT = Draw("split", Kind.CHOICE, "score steps", skippable_from=0)
"""The cut of every open node of a level."""
BRIDGE = Draw("bridge", Kind.NOISE, ROWS, skippable_from=0)
"""Rows on the way between two leaves; not measured where there is one leaf, or noise would hide them."""
LEVEL = Draw("level", Kind.CHOICE, "silhouette steps", skippable_from=0)
"""Which level of the hierarchy makes the clusters; no choice where one is left."""
COARSE_SUMS = Draw("coarse sums", Kind.NOISE, HALF_WIDTHS)
"""A first centre of every leaf, within its box."""
RADIUS = Draw("radius", Kind.CHOICE, ROWS)
"""How far rows are from the centres known so far."""
CLIPPED_SUMS = Draw("clipped sums", Kind.NOISE, RADII)
"""Better centres, from displacements clipped to the radius."""
CATEGORY_SUMS = Draw("category sums", Kind.NOISE, HALF_WIDTHS)
"""Rows of every category."""
CELL_COUNT = Draw("cell count", Kind.NOISE, ROWS, skippable_from=0)
"""Rows nearest to every centre; where leaves stay as they are, their sizes are known."""
INTERVAL_SIZE = Draw("interval size", Kind.CHOICE, "gap ranks / 100")
"""How fine the grid of cuts is, in the paper's variant."""
DOMAIN_SUMS = Draw("sums", Kind.NOISE, RADII)
"""The paper's centres, from sums over the whole domain."""

ALL_DRAWS = (
    COUNT,
    SPLIT,
    BRIDGE,
    LEVEL,
    COARSE_SUMS,
    RADIUS,
    CLIPPED_SUMS,
    CATEGORY_SUMS,
    CELL_COUNT,
    INTERVAL_SIZE,
    DOMAIN_SUMS,
)
