"""The paper's DPM as published, with its defects: NOT PRIVATE, here only so that the audit has something to find.

Algorithm 1 and 2 of the paper, as far as the defects need them:

- the interval size is chosen by gaps that are averaged over the columns, rank by rank, at a claimed sensitivity of two ranks;
- the exponential mechanism of the splits lacks a factor (definition 4 of the paper);
- a leaf without rows gets an exact centre, as in the reference code;
- rows beyond the bounds are not clipped, as in the reference code.

It draws through the door with a plan that names these defects, so its statement says NOT RELEASABLE. `dpmondrian.DPM` with
``variant="paper"`` is the same algorithm, corrected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_integer
from dpmondrian.dpm import (
    COUNT,
    DOMAIN_SUMS,
    GAP_PERCENTILE,
    INTERVAL_SIZE,
    PAPER_SHARES,
    SIGMAS,
    SPLIT,
    Score,
    paper_offsets,
    paper_plan,
    standard_gap,
)
from dpmondrian.schema import Bounds
from dpmondrian_lab.audit.neighbours import Pair
from dpmondrian_lab.peers.base import Centres, Peer, PeerSettings
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import LabPlan
from dpmondrian_lab.peers.rows import FixedPointRows

__all__ = ["DEFECTS", "PublishedDPM", "averaged_gaps_pair"]

DEFECTS = (
    "gaps are averaged over the columns rank by rank, so one row may change half of all averages; claimed are two ranks",
    "the exponential mechanism is charged for the largest change of a score, but scores move both ways",
    "the centre of a leaf without rows is exact",
    "rows beyond the bounds enter the sums as they are",
)

_CLAIMED_RANKS = 2
_LARGEST_SUM = 2.0**52
"""Sums of rows far beyond the bounds end here, since 64-bit integers do."""
_SMALLEST_PART = 2**7
"""A side of a cut must have this part of all rows at least."""


@dataclass(frozen=True)
class _Node:
    """A part of the table: its rows, and its noisy size."""

    noisy_count: int
    exact_rows: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class _Halves:
    """Every row's half interval in every column, from which follow windows and sides of all cuts."""

    n_halves: int
    exact_codes: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, exact_parts: NDArray[np.float64], sigma: float) -> _Halves:
        """Return the codes of rows, given as parts of the columns' ranges, for intervals of half a sigma."""
        n_halves = 2 * max(2, math.floor(2.0 / sigma))
        return cls(n_halves, np.clip(np.floor(exact_parts * n_halves), 0, n_halves - 1).astype(np.int64))

    def exact_histogram(self, exact_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of a node by column and half interval."""
        codes = self.exact_codes[exact_rows]
        return np.array([np.bincount(column, minlength=self.n_halves) for column in codes.T], dtype=np.int64)


class PublishedDPM(Peer):
    """The paper's DPM with its defects: NOT PRIVATE, never for a release.

    Parameters
    ----------
    epsilon, delta : float
        What it claims.
    bounds : as in `DPM`
    max_depth : int, default=7
    t, q, alpha : float
        As in `DPM`.
    random_state : int, RandomState, Generator or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).uniform(0, 100, (200, 2))
    >>> "NOT RELEASABLE" in str(PublishedDPM(1.0, 1e-6, (0, 100), random_state=0).fit(rows).privacy_)
    True
    """

    _variants = ("as_published",)
    _published_code_clips = False

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-7,
        bounds: Bounds = None,
        *,
        max_depth: int = 7,
        t: float = 0.3,
        q: float = 1 / 12,
        alpha: float = 5.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(1, epsilon, delta, bounds, variant="as_published", random_state=random_state)
        self.max_depth = max_depth
        self.t = t
        self.q = q
        self.alpha = alpha

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        depth = check_integer("max_depth", self.max_depth, 1, 12, "The paper's is 7.")
        return LabPlan.of(paper_plan(settings.epsilon, settings.delta, depth, PAPER_SHARES), DEFECTS)

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        exact_parts = (rows.displacement + rows.grid.last_place // 2) / (rows.grid.last_place + 1)
        noisy_total = max(1, int(door.counts(COUNT, 0, [len(exact_parts)])[0]))
        halves = _Halves.of(exact_parts, _choose_sigma(exact_parts, noisy_total, door))
        root = _Node(noisy_total, np.arange(len(exact_parts)))
        return _centres(rows, door, self._leaves(root, halves, door))

    def _leaves(self, root: _Node, halves: _Halves, door: LabDoor) -> list[_Node]:
        """Return the leaves; a node whose cut is refused stays one."""
        leaves: list[_Node] = []
        open_nodes = [root]
        least = root.noisy_count / _SMALLEST_PART
        for level, offset in enumerate(paper_offsets(door.plan, self.max_depth)[:-1]):
            if not open_nodes:
                break
            sides = self._split(open_nodes, halves, door, level, offset)
            counts = door.counts(COUNT, level + 1, [len(side) for side in sides]).tolist()
            next_nodes: list[_Node] = []
            for k, node in enumerate(open_nodes):
                parts = [_Node(counts[i], sides[i]) for i in (2 * k, 2 * k + 1)]
                refused = min(part.noisy_count for part in parts) < max(least, 1.0)
                (leaves if refused else next_nodes).extend([node] if refused else parts)
            open_nodes = next_nodes
        return leaves + open_nodes

    def _split(
        self, nodes: list[_Node], halves: _Halves, door: LabDoor, level: int, offset: float
    ) -> list[NDArray[np.int64]]:
        """Return the rows of both sides of each node's cut, chosen at the published price."""
        score = Score(self.t, self.q, self.alpha, two_sided=False)
        exact_scores, claimed = [], []
        for node in nodes:
            histogram = halves.exact_histogram(node.exact_rows)
            exact_scores.append(score.of_histogram(histogram, node.noisy_count)[:, 1::2].ravel())
            surely = max(node.noisy_count - offset, 1.0)
            claimed.append(math.ceil(score.sensitivity * node.noisy_count / surely))  # the leak: not score.range
        chosen = door.select(SPLIT, level, exact_scores, claimed)
        return [side for node, pick in zip(nodes, chosen, strict=True) for side in _sides(node, halves, pick)]


def _sides(node: _Node, halves: _Halves, pick: int) -> Iterator[NDArray[np.int64]]:
    column, cut = divmod(pick, halves.n_halves // 2)
    below = halves.exact_codes[node.exact_rows, column] <= 2 * cut
    yield node.exact_rows[below]
    yield node.exact_rows[~below]


def _choose_sigma(exact_parts: NDArray[np.float64], noisy_total: int, door: LabDoor) -> float:
    """Return the standard deviation by whose gaps the intervals are sized: algorithm 2, with averaged gaps."""
    exact_gaps = np.diff(np.sort(exact_parts, axis=0), axis=0).mean(axis=1)  # the leak
    thresholds = SIGMAS * standard_gap() / noisy_total
    exact_within = np.searchsorted(np.sort(exact_gaps), thresholds, side="right")
    exact_scores = -np.abs(100 * exact_within - GAP_PERCENTILE * len(exact_gaps)).astype(np.int64)
    claimed = 2 * 100 * _CLAIMED_RANKS  # with the usual factor 2
    [chosen] = door.select(INTERVAL_SIZE, None, [exact_scores], [claimed])
    return float(SIGMAS[chosen])


def _centres(rows: FixedPointRows, door: LabDoor, leaves: list[_Node]) -> Centres:
    """Return noisy means of the leaves that have rows, and the exact middle for the others."""
    filled = np.array([len(leaf.exact_rows) > 0 for leaf in leaves])  # the leak
    drawn = filled if filled.any() else np.arange(len(leaves)) == 0  # a planned draw must be made
    sums = np.array([rows.displacement[leaf.exact_rows].sum(axis=0) for leaf in leaves])
    half_diagonal = math.ceil(math.sqrt(float((rows.half_width.astype(np.float64) ** 2).sum())))
    radius = np.full(int(drawn.sum()), half_diagonal, dtype=np.int64)
    exact_sums = np.clip(sums[drawn], -_LARGEST_SUM, _LARGEST_SUM).astype(np.int64)
    noisy_sums, _ = door.ball_sums(DOMAIN_SUMS, None, exact_sums, radius)
    sizes = np.array([leaf.noisy_count for leaf in leaves], dtype=np.float64)
    displacement = np.zeros((len(leaves), rows.grid.n_columns))
    displacement[drawn] = noisy_sums / np.maximum(sizes[drawn], 1.0)[:, None]
    return Centres(np.where(filled[:, None], displacement, 0.0), sizes, clip=False)


def averaged_gaps_pair(n_rows: int = 3000) -> Pair:
    """Return two tables on bounds (0, 1) between which the published interval size changes completely.

    In column 1 the gaps between sorted values are short, long, short, long ..., in column 2 long, short, long, short ..., so all
    averages are equal. One more row that is first in column 1 and last in column 2 shifts one column against the other: then half
    of the averages are short and half are long. The rows are two crowds so close together that wide intervals cannot
    tell them apart and narrow ones can: the size of the intervals shows in the released clusters.

    Parameters
    ----------
    n_rows : int
        Of the smaller table, even. The averages change more, in ranks, the more there are.
    """
    alternating = np.arange(n_rows - 1) % 2
    columns = []
    for gaps in (2 * alternating, 2 - 2 * alternating):
        between = np.where(np.arange(n_rows - 1) == n_rows // 2 - 1, _BETWEEN_CROWDS, 0)
        columns.append(_BEGIN + np.concatenate([[0], np.cumsum(gaps + between)]))
    table = np.column_stack(columns)
    neighbour = np.vstack([table, [_BEGIN - 2, table[-1, 1] + 2]])
    return Pair("alternating gaps", (table + 0.5) / _PLACES, (neighbour + 0.5) / _PLACES)


_PLACES = 2**16
"""Places of a column in fixed point: gaps are 0 and 2 of them, so that no rounding disturbs the averages."""
_BETWEEN_CROWDS, _BEGIN = 400, 3000
