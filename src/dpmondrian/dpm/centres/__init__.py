"""Where clusters are: noisy sums of their rows, turned into centres. And merging leaves into k clusters."""

from __future__ import annotations

from dpmondrian.dpm.centres.clipped import candidate_radii, expected_distance, radius_prior, vector_lengths
from dpmondrian.dpm.centres.lloyd import SMALLEST_CELL
from dpmondrian.dpm.centres.merge import merge_leaves

__all__ = ["SMALLEST_CELL", "candidate_radii", "expected_distance", "merge_leaves", "radius_prior", "vector_lengths"]
