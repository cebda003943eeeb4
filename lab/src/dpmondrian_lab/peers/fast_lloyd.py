"""FastLloyd (Diaa, Humphries, Kerschbaum 2024): DP-Lloyd with steps relative to the last centre, within a radius.

Rows farther than the radius from their nearest centre are left out of the step, so the noise grows with the radius instead of
the box. ``docs/privacy/peers.md`` has the argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import GAUSSIAN, RADII, ROWS, Draw, Kind, PlannedDraw
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, LabPlan
from dpmondrian_lab.peers.packing import packed_points
from dpmondrian_lab.peers.rows import FixedPointRows, nearest_centre

__all__ = ["CELL_COUNT", "RELATIVE_SUMS", "FastLloyd"]

CELL_COUNT = Draw("cell count", Kind.NOISE, ROWS)
"""Rows within the radius of every centre."""
RELATIVE_SUMS = Draw("relative sums", Kind.NOISE, RADII)
"""Sums of these rows relative to the centre."""

_REACH = 0.8
"""The radius, as a part of the side of a cube that k of would fill the box: the authors' example."""
_LEAST_STEPS, _MOST_STEPS = 2, 7


@dataclass(frozen=True)
class _Steps:
    """Number of steps, the radius in half widths, and the noise multipliers of one step's counts and sums."""

    n_steps: int
    radius: float
    count_noise: float
    sum_noise: float

    @classmethod
    def of(cls, settings: PeerSettings, n_columns: int) -> _Steps:
        noise = least_multiplier(
            settings.epsilon * (1.0 - 2 * GAUSSIAN_SLACK), settings.delta * (1.0 - 2 * GAUSSIAN_SLACK)
        )
        k, n = settings.n_clusters, settings.expected_rows
        radius = math.sqrt(n_columns) * min(_REACH / k ** (1.0 / n_columns), 2.0)
        weight = math.sqrt(4.0 * n_columns)  # of the sums; counts weigh 1
        useful = 0.016 * n**2 / (k**3 * radius**2 * (1.0 + weight) ** 2 * noise**2)
        n_steps = math.floor(max(min(useful, _MOST_STEPS), _LEAST_STEPS))
        one_step = noise * math.sqrt(n_steps * (1.0 + weight))
        return cls(n_steps, radius, one_step, one_step / math.sqrt(weight))


class FastLloyd(Peer):
    """FastLloyd: noisy Lloyd steps relative to the last centre, within a public radius.

    Parameters
    ----------
    n_clusters, epsilon, delta, bounds, expected_rows, random_state
        As in `Peer`; there is one variant.

    Examples
    --------
    >>> rows = np.vstack([np.full((500, 2), 20.0), np.full((500, 2), 80.0)])
    >>> FastLloyd(2, 5.0, bounds=(0, 100)).fit(rows).cluster_centers_.shape
    (2, 2)
    """

    _variants = ("default",)

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        steps = _Steps.of(settings, n_columns)
        draws = []
        for step in range(steps.n_steps):
            for draw, noise in ((CELL_COUNT, steps.count_noise), (RELATIVE_SUMS, steps.sum_noise)):
                draws.append(PlannedDraw(draw, step, GAUSSIAN, noise, 1.0 / noise))
        return LabPlan(settings.epsilon, settings.delta, JOINT, tuple(draws))

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        n_columns = rows.grid.n_columns
        steps = _Steps.of(settings, n_columns)
        radius = math.ceil(steps.radius * float(rows.half_width.max()))
        start = packed_points(settings.n_clusters, n_columns, door.public_randomness("start"))
        centres = np.rint(start * rows.half_width)
        for step in range(steps.n_steps):
            label = _near_enough(rows, centres, radius)
            exact_counts, exact_sums = rows.sums(label, settings.n_clusters)
            relative = exact_sums - exact_counts[:, None] * centres.astype(np.int64)
            noisy_counts = door.fine_counts(CELL_COUNT, step, exact_counts)
            noisy_sums, _ = door.ball_sums(RELATIVE_SUMS, step, relative, np.full(settings.n_clusters, radius))
            shift = noisy_sums / np.maximum(noisy_counts, 1.0)[:, None]
            length = np.sqrt((shift**2).sum(axis=1))
            shift *= np.minimum(1.0, radius / np.maximum(length, 1.0))[:, None]
            centres = np.rint(_folded(centres + shift, rows.half_width))
        return Centres(centres, np.maximum(noisy_counts, 0.0))


def _near_enough(rows: FixedPointRows, centres: NDArray[np.float64], radius: int) -> NDArray[np.int64]:
    """Return the nearest centre of every row, -1 for rows farther from it than the radius."""
    label = nearest_centre(rows.displacement, centres)
    squares = ((rows.displacement - centres[label]) ** 2).sum(axis=1)
    return np.where(squares <= float(radius) ** 2, label, -1)


def _folded(points: NDArray[np.float64], half_width: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return points reflected at the faces of the box until they are inside."""
    width = 2.0 * half_width
    phase = np.mod(points + half_width, 2.0 * width)
    folded: NDArray[np.float64] = np.where(phase > width, 2.0 * width - phase, phase) - half_width
    return folded
