"""DP-Lloyd (Su, Cao, Li, Bertino, Jin 2016): a few Lloyd steps with Laplace noise from a start that sees no row.

Pure epsilon. In every step each row counts once, for its nearest centre: one count and one sum per column change.
``docs/privacy/peers.md`` has the argument, and what is wrong with the published implementation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import BELOW_BUDGET, HALF_WIDTHS, LAPLACE, ROWS, Draw, Kind, PlannedDraw
from dpmondrian.schema import Bounds
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import BOUNDED_LAPLACE, LabPlan
from dpmondrian_lab.peers.packing import packed_points
from dpmondrian_lab.peers.rows import FixedPointRows, middle_place, nearest_centre

__all__ = ["BOUNDED_SUMS", "CELL_COUNT", "COORDINATE_SUMS", "DPLloyd", "StepBudget"]

CELL_COUNT = Draw("cell count", Kind.NOISE, ROWS)
"""Rows nearest to every centre."""
COORDINATE_SUMS = Draw("coordinate sums", Kind.NOISE, HALF_WIDTHS)
"""Sums of these rows relative to the middle of the box."""
BOUNDED_SUMS = Draw("coordinate sums", Kind.NOISE, "ranges, per column")
"""The same as the published code draws them."""

_RHO = 0.225
"""Average distance of a row from its cluster's centre, as a share of the half width: a constant of Su et al."""
_LEAST_STEPS, _MOST_STEPS = 2, 7
_SURE = 3.0
"""A centre moves only where the noisy count exceeds this many standard deviations of its noise."""

_DEFECTS = (
    "a cluster without rows is skipped and its centre stays as it was, so one row changes what results are possible",
    "the shares of count and coordinate are exchanged, so every step costs (1 + d c) / (d + c) of its allotment",
    "sums have the sensitivity of a replaced row, counts that of an added one",
)


@dataclass(frozen=True)
class StepBudget:
    """How a budget is divided: number of steps, and epsilon per step for the counts and for one column's sums."""

    n_steps: int
    count: float
    coordinate: float

    @classmethod
    def of(cls, settings: PeerSettings, n_columns: int) -> StepBudget:
        """Return the division of Su et al.; `expected_rows` takes the place of the number of rows."""
        weight = np.cbrt(4.0 * n_columns * _RHO**2)
        useful = math.sqrt(500.0 * settings.n_clusters**3 / settings.expected_rows**2 * (n_columns + weight) ** 3)
        n_steps = math.floor(max(min(settings.epsilon / useful, _MOST_STEPS), _LEAST_STEPS))
        part = BELOW_BUDGET * settings.epsilon / (n_steps * (n_columns + weight))
        return cls(n_steps, float(weight * part), float(part))


@dataclass(frozen=True)
class _Cells:
    """The cells of the centres in one step: noisy numbers of rows, and what must not leave."""

    step: int
    centres: NDArray[np.float64]
    noisy_counts: NDArray[np.float64]
    exact_counts: NDArray[np.int64] = field(repr=False)
    exact_sums: NDArray[np.int64] = field(repr=False)


class PurePeer(Peer):
    """A peer with pure epsilon: it takes no delta."""

    def __init__(
        self,
        n_clusters: int = 8,
        epsilon: float = 1.0,
        bounds: Bounds = None,
        *,
        variant: str = "default",
        expected_rows: int = 100_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters, epsilon, 0.0, bounds, variant=variant, expected_rows=expected_rows, random_state=random_state
        )

    def _check_delta(self) -> float:
        return 0.0


class DPLloyd(PurePeer):
    """DP-Lloyd: k-means with a fixed, small number of noisy steps. Pure epsilon.

    Parameters
    ----------
    n_clusters, epsilon, bounds, variant, expected_rows, random_state
        As in `Peer`. ``variant="as_published"`` is diffprivlib 0.6's KMeans, with its exchanged budgets.

    Examples
    --------
    >>> rows = np.vstack([np.full((500, 2), 20.0), np.full((500, 2), 80.0)])
    >>> DPLloyd(2, 5.0, bounds=(0, 100)).fit(rows).cluster_centers_.shape
    (2, 2)
    """

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        budget = StepBudget.of(settings, n_columns)
        count, coordinate, sums, noise = budget.count, budget.coordinate, COORDINATE_SUMS, LAPLACE
        if settings.published:
            count, coordinate, sums, noise = coordinate, count, BOUNDED_SUMS, BOUNDED_LAPLACE
        draws = []
        for step in range(budget.n_steps):
            draws.append(PlannedDraw(CELL_COUNT, step, LAPLACE, 1.0 / count, count))
            cost = n_columns * coordinate
            draws.append(PlannedDraw(sums, step, noise, 1.0 / cost, cost))
        defects = _DEFECTS if settings.published else ()
        return LabPlan(settings.epsilon, 0.0, "epsilon", tuple(draws), defects=defects)

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        start = packed_points(settings.n_clusters, rows.grid.n_columns, door.public_randomness("start"))
        centres = np.rint(start * rows.half_width)
        update = _published_update if settings.published else _update
        for step in range(StepBudget.of(settings, rows.grid.n_columns).n_steps):
            label = nearest_centre(rows.displacement, centres)
            exact_counts, exact_sums = rows.sums(label, settings.n_clusters)
            noisy_counts = door.counts(CELL_COUNT, step, exact_counts).astype(np.float64)
            if settings.published:  # folded at one half, which takes a count far below zero for a large one
                noisy_counts = np.where(noisy_counts < 1, 1 - noisy_counts, noisy_counts)
            moved = update(rows, door, _Cells(step, centres, noisy_counts, exact_counts, exact_sums))
            centres = np.rint(np.clip(moved, -rows.half_width, rows.half_width))
        return Centres(centres, np.maximum(noisy_counts, 0.0))


def _update(rows: FixedPointRows, door: LabDoor, cells: _Cells) -> NDArray[np.float64]:
    """Return the next centres; one whose count may be noise alone stays where it is."""
    half_widths = np.tile(rows.half_width, (len(cells.centres), 1))
    noisy_sums, _ = door.box_sums(COORDINATE_SUMS, cells.step, cells.exact_sums, half_widths)
    sure = cells.noisy_counts > _SURE * door.deviation(CELL_COUNT, cells.step)
    return np.where(sure[:, None], noisy_sums / np.maximum(cells.noisy_counts, 1.0)[:, None], cells.centres)


def _published_update(rows: FixedPointRows, door: LabDoor, cells: _Cells) -> NDArray[np.float64]:
    """Return the next centres as diffprivlib does: raw sums, bounded noise, and empty clusters left alone."""
    zero = rows.grid.values(middle_place(rows.grid).astype(np.float64)) * rows.grid.inverse_step
    filled = np.flatnonzero(cells.exact_counts > 0)  # the leak
    size = cells.noisy_counts[filled, None]
    raw_sums = cells.exact_sums[filled] + np.rint(cells.exact_counts[filled, None] * zero).astype(np.int64)
    limits = size * (zero - rows.half_width), size * (zero + rows.half_width)
    epsilon = door.plan.find(BOUNDED_SUMS, cells.step).cost / rows.grid.n_columns
    scales = bounded_laplace_scale(size, epsilon) * (2.0 * rows.half_width)
    scales = np.broadcast_to(scales, raw_sums.shape)
    noisy_sums = door.bounded_sums(BOUNDED_SUMS, cells.step, raw_sums, limits, scales)
    moved = cells.centres.copy()
    moved[filled] = noisy_sums / size - zero
    return moved


def bounded_laplace_scale(n_ranges: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return the scale of bounded-domain Laplace noise, in sensitivities, for domains `n_ranges` sensitivities wide.

    The fixed point of ``b = 1 / (epsilon - ln A(b))`` (Holohan, Antonatos, Braghin, Mac Aonghusa 2020), by bisection.
    """

    def right_side(scale: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = (2.0 - np.exp(-1.0 / scale) - np.exp((1.0 - n_ranges) / scale)) / -np.expm1(-n_ranges / scale)
        right: NDArray[np.float64] = 1.0 / (epsilon - np.log(inner))
        return right

    low: NDArray[np.float64] = np.full(n_ranges.shape, 1.0 / epsilon)
    high: NDArray[np.float64] = np.maximum(right_side(low), low)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = right_side(middle) > middle
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high
