"""Which leaves belong together: rows counted between them, and the hierarchy of clusters that follows."""

from __future__ import annotations

from dpmondrian.dpm.joining.joins import FLAT_STRENGTH, Joins

__all__ = ["FLAT_STRENGTH", "Joins"]
