"""LSH-Splits (Chang, Ghazi, Kumar, Manurangsi 2021; Google's library): a tree of random hyperplanes, k-means on its leaves.

All hyperplanes pass through a private mean of the rows. A node exists if its noisy count is large enough; leaves release a
noisy sum; weighted k-means on the leaves' means is post-processing. ``docs/privacy/peers.md`` has the argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import GAUSSIAN, LAPLACE, RADII, ROWS, Draw, Kind, PlannedDraw
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import JOINT, LabPlan
from dpmondrian_lab.peers.merging import merge_leaves
from dpmondrian_lab.peers.rows import FixedPointRows, middle_place

__all__ = ["COUNT", "LEAF_SUMS", "MEAN_COUNT", "MEAN_SUM", "LSHSplits", "leaf_noise", "mean_noise"]

MEAN_COUNT = Draw("mean count", Kind.NOISE, ROWS)
"""All rows, for the private mean."""
MEAN_SUM = Draw("mean sum", Kind.NOISE, RADII)
"""Their sum."""
COUNT = Draw("count", Kind.NOISE, ROWS, skippable_from=1)
"""Rows of every node of a level; the tree may end before the last one."""
LEAF_SUMS = Draw("leaf sums", Kind.NOISE, RADII)
"""The sum of every leaf's rows."""

_DEPTH = 20
_COUNT_NOISE = 20.0
"""Count noise per unit of sum noise: Google's default."""
_MEAN_SHARE, _MEAN_COUNT_SHARE = 0.1, 0.2
_HYPERPLANE_STEPS = 2**12
"""Hyperplanes have whole coordinates, so that the side of a row is computed exactly."""

_DEFECTS = ("rows are not clipped before the mean is taken, so a row outside the bounds moves it without limit",)


def mean_noise(epsilon: float, delta: float) -> float:
    """Return the noise multiplier of the sum from which the private mean is computed."""
    return least_multiplier((1.0 - _MEAN_COUNT_SHARE) * _MEAN_SHARE * epsilon, _MEAN_SHARE * delta)


def leaf_noise(epsilon: float, delta: float) -> float:
    """Return the noise multiplier of the leaves' sums; counts get `_COUNT_NOISE` times as much."""
    part = 1.0 - _MEAN_SHARE
    return least_multiplier(part * epsilon, part * delta, _DEPTH + 1, _COUNT_NOISE)


class LSHSplits(Peer):
    """LSH-Splits: private k-means on the leaves of a tree of random hyperplanes.

    Parameters
    ----------
    n_clusters, epsilon, delta, bounds, variant, expected_rows, random_state
        As in `Peer`. ``variant="as_published"`` is the paper's wrapper around Google's library: no clipping before the
        mean is taken.

    Examples
    --------
    >>> rows = np.vstack([np.full((5000, 2), 20.0), np.full((5000, 2), 80.0)])
    >>> LSHSplits(2, 5.0, bounds=(0, 100)).fit(rows).cluster_centers_.shape
    (2, 2)
    """

    _published_code_clips = False

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        epsilon, delta = settings.epsilon * (1.0 - 2 * GAUSSIAN_SLACK), settings.delta * (1.0 - 2 * GAUSSIAN_SLACK)
        count = _MEAN_COUNT_SHARE * _MEAN_SHARE * epsilon
        mean, leaves = mean_noise(epsilon, delta), leaf_noise(epsilon, delta)
        draws = [
            PlannedDraw(MEAN_COUNT, 0, LAPLACE, 1.0 / count, count),
            PlannedDraw(MEAN_SUM, None, GAUSSIAN, mean, 1.0 / mean),
            *(
                PlannedDraw(COUNT, level, LAPLACE, _COUNT_NOISE * leaves, 1.0 / (_COUNT_NOISE * leaves))
                for level in range(_DEPTH + 1)
            ),
            PlannedDraw(LEAF_SUMS, None, GAUSSIAN, leaves, 1.0 / leaves),
        ]
        defects = _DEFECTS if settings.published else ()
        return LabPlan(settings.epsilon, settings.delta, JOINT, tuple(draws), defects=defects)

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        mean = np.rint(_private_mean(rows, door, settings.published))
        centred = FixedPointRows(rows.grid, rows.displacement - mean)
        # A cube around the mean that holds the whole box, and the ball around that cube.
        cap = (rows.half_width + np.abs(mean)).max()
        radius = math.ceil(cap * math.sqrt(rows.grid.n_columns))
        if settings.published:  # the library's own clipping; rows within the bounds are within the ball anyway
            _clip_to_ball(centred.displacement, radius)
        leaves = _grow(centred, door, settings)
        points = _leaf_means(centred, door, leaves, radius)
        seed = int(door.public_randomness("k-means").integers(2**31))
        n_starts = 1 if settings.published else 10
        label = merge_leaves(points, leaves.noisy_counts, settings.n_clusters, n_starts, seed)
        member = np.eye(label.max() + 1)[label].T * leaves.noisy_counts
        sizes = member.sum(axis=1)
        return Centres(mean + member @ points / sizes[:, None], sizes)


def _private_mean(rows: FixedPointRows, door: LabDoor, published: bool) -> NDArray[np.float64]:
    """Return a noisy mean of all rows, as a displacement from the middle of the box."""
    origin = np.zeros(rows.grid.n_columns)
    extent = rows.half_width.astype(np.float64)
    if published:  # relative to zero instead of the middle
        origin = np.rint(-rows.grid.values(middle_place(rows.grid).astype(np.float64)) * rows.grid.inverse_step)
        extent = extent + np.abs(origin)
    [exact_count], exact_sum = rows.sums(np.zeros(len(rows.displacement), dtype=np.int64), 1)
    exact_sum = exact_sum - np.rint(exact_count * origin).astype(np.int64)
    [noisy_count] = door.counts(MEAN_COUNT, 0, [exact_count])
    radius = math.ceil(math.sqrt((extent**2).sum()))
    noisy_sum, _ = door.ball_sums(MEAN_SUM, None, exact_sum, np.array([radius]))
    if published:
        mean: NDArray[np.float64] = origin + noisy_sum[0] / (noisy_count or 1)
    else:
        mean = np.clip(noisy_sum[0] / max(noisy_count, 1), -rows.half_width, rows.half_width)
    return mean


def _clip_to_ball(displacement: NDArray[np.float64], radius: float) -> None:
    length = np.sqrt((displacement**2).sum(axis=1))
    displacement *= np.minimum(1.0, radius / np.maximum(length, 1.0))[:, None]


@dataclass(frozen=True)
class _Leaves:
    """Leaves of the tree: their noisy counts, and the leaf of every row (-1 for rows in nodes that were dropped)."""

    noisy_counts: NDArray[np.float64]
    leaf_of_row: NDArray[np.int64] = field(repr=False)


def _grow(rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> _Leaves:
    """Return the leaves of the tree, grown level by level; both sides of a branching node get noise, also empty ones."""
    n_rows, n_columns = rows.displacement.shape
    generator = door.public_randomness("hyperplanes")
    normals = np.rint(generator.normal(size=(_DEPTH, n_columns)) * _HYPERPLANE_STEPS)
    beyond = rows.displacement @ normals.T < 0
    [drawn] = door.counts(COUNT, 0, [n_rows]).tolist()
    least = _least_node(door, drawn, n_columns, settings.n_clusters)
    node, counts = np.zeros(n_rows, dtype=np.int64), np.array([max(1.0, drawn)])
    leaf_of_row, leaf_counts = np.full(n_rows, -1, dtype=np.int64), np.empty(0)
    for level in range(_DEPTH + 1):
        child_of, child_counts = _children(door, level, node, counts, beyond, least)
        has_child = (child_of >= 0).any(axis=1)
        number = np.where(has_child, -1, len(leaf_counts) + np.cumsum(~has_child) - 1)
        here = node >= 0
        leaf_of_row[here] = number[node[here]]
        leaf_counts = np.concatenate([leaf_counts, counts[~has_child]])
        if not len(child_counts):
            break
        side = beyond[:, level].astype(np.int64)
        node = np.where(here, child_of[node, side], -1)
        counts = child_counts
    return _Leaves(leaf_counts, leaf_of_row)


def _children(
    door: LabDoor,
    level: int,
    node: NDArray[np.int64],
    counts: NDArray[np.float64],
    beyond: NDArray[np.bool_],
    least: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of every node's two children (-1 where there is none) and the children's noisy counts."""
    child_of = np.full((len(counts), 2), -1, dtype=np.int64)
    branching = np.flatnonzero(counts >= 3 * least)
    if level == _DEPTH or not len(branching):
        return child_of, np.empty(0)
    rank = np.full(len(counts), -1, dtype=np.int64)
    rank[branching] = np.arange(len(branching))
    here = np.flatnonzero(node >= 0)
    here = here[rank[node[here]] >= 0]
    exact_counts = np.bincount(2 * rank[node[here]] + beyond[here, level], minlength=2 * len(branching))
    noisy_counts = door.counts(COUNT, level + 1, exact_counts.astype(np.int64)).astype(np.float64)
    kept = noisy_counts >= least
    child_of[branching] = np.where(kept, np.cumsum(kept) - 1, -1).reshape(-1, 2)
    return child_of, noisy_counts[kept]


def _least_node(door: LabDoor, noisy_total: int, n_columns: int, n_clusters: int) -> int:
    """Return the smallest noisy count of a node: its mean then has noise of a tenth of the radius."""
    multiplier = door.plan.find(LEAF_SUMS).multiplier
    return max(1, min(math.floor(10.0 * math.sqrt(n_columns) * multiplier), noisy_total // (2 * n_clusters)))


def _leaf_means(rows: FixedPointRows, door: LabDoor, leaves: _Leaves, radius: int) -> NDArray[np.float64]:
    """Return the noisy mean of every leaf, within the ball that holds all rows."""
    n_leaves = len(leaves.noisy_counts)
    _, exact_sums = rows.sums(leaves.leaf_of_row, n_leaves)
    noisy_sums, _ = door.ball_sums(LEAF_SUMS, None, exact_sums, np.full(n_leaves, radius))
    means = noisy_sums / leaves.noisy_counts[:, None]
    _clip_to_ball(means, radius)
    return means
