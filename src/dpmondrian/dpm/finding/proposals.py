"""Directions worth looking along, proposed by released cells alone. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.finding.valleys import DEPTH, EMPTY, WIDTHS
from dpmondrian.dpm.merging import squared_distances, ward_joins
from dpmondrian.kernels.cells import expected_counts, promising
from dpmondrian.kernels.directions import across_gaps, between_groups

__all__ = ["N_BINS", "Candidates", "PartCells", "Proposal", "candidates_of", "is_one_hump", "propose"]

N_BINS = 48
"""Bins along a direction: fine enough for a valley of a few per cent of the range, coarse enough for noise."""

_LEAST_EXPECTED = 1.5
"""Directions along which the cells expect a valley less deep than this, in deviations, are not worth their cost."""
_CLEAR = 6.0
"""Directions are looked along together only as long as the best one promises a valley this deep; a weak one has the cost for itself."""
_APART = 0.8
"""Largest cosine between two directions of a part that are looked along at once: nearer ones would show the same."""
_SEEN = 0.95
"""Directions this near to one that was looked along are not tried again."""
_COLUMNS_FIRST = 1.15
"""A column is taken before a slanted direction whose valley is this much deeper: rules along columns are easier to read."""
_REACH = 2.5
"""So many spreads beyond the outermost cells rows are counted."""
_TRUSTED = 2.0
"""Squared distance between two groups of cells, relative to what noise alone would make of it: half of what is left is true."""
_AXES = 6
_GROUPS = (2, 3, 4, 6, 8, 12)
_MOST_PAIRS = 15
_MOST_AGAINST_ALL = 8
_MOST_EDGES = 128
_MOST_COLUMNS = 64
"""Of each kind of direction there are at most so many: the work grows with them, the best ones come first."""


@dataclass(frozen=True)
class Proposal:
    """A direction of length 1 and the interval along it in which rows are counted."""

    direction: NDArray[np.float64]
    low: float
    high: float


@dataclass(frozen=True)
class PartCells:
    """The released cells of a part, in places. What follows from where they lie is found once, however often the part is looked at.

    Attributes
    ----------
    places, errors : float64 array of shape (n_cells, n_columns)
    sizes : float64 array of shape (n_cells,)
    """

    places: NDArray[np.float64]
    errors: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def of(self, chosen: NDArray[np.bool_]) -> PartCells:
        """Return some of them."""
        return PartCells(self.places[chosen], self.errors[chosen], self.sizes[chosen])

    @cached_property
    def rows(self) -> float:
        """The released number of rows."""
        return float(self.sizes.sum())

    @cached_property
    def longest_side(self) -> float:
        """The longest side of the box around all centres."""
        return float(np.ptp(self.places, axis=0).max())

    @cached_property
    def widest_square(self) -> float:
        """The largest squared distance between two centres."""
        return float(squared_distances(self.places, self.places).max())

    @cached_property
    def axes(self) -> NDArray[np.float64]:
        """The principal axes, fewer than there are cells."""
        mean = self.sizes @ self.places / self.sizes.sum()
        axes: NDArray[np.float64] = np.linalg.svd(
            (self.places - mean) * np.sqrt(self.sizes)[:, None], full_matrices=False
        )[2]
        return axes[: len(self.sizes) - 1]

    @cached_property
    def along_axes(self) -> NDArray[np.float64] | None:
        """Places along the axes where these are fewer than columns, so that groups and gaps are found sooner; else None."""
        n_cells, n_columns = self.places.shape
        return self.places @ self.axes.T if n_cells <= n_columns else None

    @cached_property
    def noise(self) -> NDArray[np.float64]:
        """The squared error of every centre."""
        noise: NDArray[np.float64] = (self.errors**2).sum(axis=1)
        return noise

    @cached_property
    def joins(self) -> NDArray[np.int64]:
        """How groups of cells join, by Ward's method."""
        places = self.places if self.along_axes is None else self.along_axes
        return ward_joins(places, self.sizes)[0]

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Directions across the gaps between neighbours."""
        places = self.places if self.along_axes is None else self.along_axes
        gaps: NDArray[np.float64] = across_gaps(places, self.noise, _TRUSTED, _MOST_EDGES)
        return gaps


@dataclass(frozen=True)
class Candidates:
    """Directions of length 1, the intervals along them in which rows would be counted, and the rows that cells expect in their bins."""

    directions: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def along(
        cls,
        directions: NDArray[np.float64],
        cells: PartCells,
        spread: float,
        value_spreads: NDArray[np.float64] | None = None,
    ) -> Candidates:
        """Return directions with what cells expect along them.

        `spread` is the standard deviation of rows about a cell's centre, per column; `value_spreads` are those of what whole numbers stand for.
        """
        spreads = np.full(len(directions), spread)
        if value_spreads is not None and value_spreads.any():
            spreads = np.sqrt(spread**2 + directions**2 @ value_spreads**2)
        along = np.ascontiguousarray(directions @ cells.places.T)
        expected, low, high = expected_counts(along, cells.sizes, spreads, _REACH, N_BINS)
        return cls(directions, low, high, expected)

    @classmethod
    def none(cls, n_columns: int) -> Candidates:
        """Return no directions of so many columns."""
        return cls(np.empty((0, n_columns)), np.empty(0), np.empty(0), np.empty((0, N_BINS)))

    def and_then(self, others: Candidates) -> Candidates:
        """Return these and others."""
        return Candidates(
            np.concatenate([self.directions, others.directions]),
            np.concatenate([self.low, others.low]),
            np.concatenate([self.high, others.high]),
            np.concatenate([self.expected, others.expected]),
        )

    def proposal(self, i: int) -> Proposal:
        """Return one of them."""
        return Proposal(self.directions[i], float(self.low[i]), float(self.high[i]))


def propose(
    cells: PartCells,
    spread: float,
    candidates: Candidates,
    value_spreads: NDArray[np.float64],
    deviation: float,
    tried: list[NDArray[np.float64]],
    hints: list[NDArray[np.float64]],
    most: int,
    *,
    is_root: bool,
    every_column: bool,
) -> list[Proposal]:
    """Return directions to look along in a part, no two of them near: hints first, then where its cells expect the clearest valleys.

    Parameters
    ----------
    spread : float
        Standard deviation of rows about a cell's centre, per column.
    candidates : Candidates
        Those of the part, as often as it is looked at.
    value_spreads : float64 array of shape (n_columns,)
        Standard deviation of what a whole number stands for; 0 in other columns.
    deviation : float
        Standard deviation of the noise of a bin if one direction is looked along.
    tried : list of directions
        Those that were looked along in this part before.
    hints : list of directions
        Those along which the part it was cut from has valleys, too.
    most : int
        Number of directions that the part can pay for.
    is_root : bool
        Whether the part is the whole table: then directions between the largest groups are looked along even if the cells expect nothing.
    every_column : bool
        Whether every column is looked along, beside two slanted directions.
    """
    hints = [hint for hint in hints if all(abs(float(hint @ other)) < _SEEN for other in tried)][:most]
    if hints:
        candidates = candidates.and_then(Candidates.along(np.array(hints), cells, spread, value_spreads))
    directions = candidates.directions
    chosen, is_new, most = promising(
        directions, candidates.expected, np.array(tried).reshape(-1, directions.shape[1]), len(hints), most, WIDTHS, deviation, DEPTH, EMPTY,
        _SEEN, _APART, _LEAST_EXPECTED, _CLEAR, _COLUMNS_FIRST,
    )  # fmt: skip
    if not is_new.any():
        return []
    found = [candidates.proposal(i) for i in chosen]
    if is_root:
        blind = _blind(cells, spread, tried, found)
        found = blind + found if tried else found[: most - min(len(blind), most // 2)] + blind
    if every_column:
        slanted = [proposal for proposal in found if np.abs(proposal.direction).max() <= 0.999]
        is_column = np.abs(directions).max(axis=1) > 0.999
        return slanted[:2] + [candidates.proposal(i) for i in np.flatnonzero(is_column & is_new).tolist()]
    return found[:most]


def _new(direction: NDArray[np.float64], found: list[Proposal], cosine: float) -> bool:
    return all(abs(float(direction @ other.direction)) < cosine for other in found)


def is_one_hump(cells: PartCells, spread: float) -> bool:
    """Return whether cells lie so close together that they expect no valley in any direction.

    A mixture of normal laws of one deviation s is log-concave if its centres lie within 2 s: the second derivative of its logarithm is
    ``var / s**4 - 1 / s**2``, where var is a variance of these centres, at most s**2.
    """
    widest = 2.0 * spread
    # The box spares the distances of most parts.
    return cells.longest_side <= widest and cells.widest_square <= widest**2


def candidates_of(cells: PartCells, spread: float) -> NDArray[np.float64]:
    """Return directions of length 1: columns, principal axes, between groups of cells, and across the gaps between neighbours.

    All between cells lie in the space of the axes, in which they are found sooner where cells are few.
    """
    along_axes, n_columns = cells.along_axes, cells.places.shape[1]
    places = cells.places if along_axes is None else along_axes
    groups = between_groups(
        places, cells.sizes, cells.noise, cells.joins, _GROUPS, spread**2, _TRUSTED, _MOST_PAIRS, _MOST_AGAINST_ALL
    )
    between = np.concatenate([groups, cells.gaps])
    found = [cells.axes[:_AXES], between if along_axes is None else between @ cells.axes]
    if n_columns <= _MOST_COLUMNS:
        found.insert(0, np.eye(n_columns))
    directions = np.concatenate(found)
    lengths = np.sqrt((directions**2).sum(axis=1))
    unit: NDArray[np.float64] = directions[lengths > 1e-9] / lengths[lengths > 1e-9][:, None]
    return unit


def _blind(cells: PartCells, spread: float, tried: list[NDArray[np.float64]], found: list[Proposal]) -> list[Proposal]:
    """Return directions between the two largest of 2, 3 or 4 groups that are not near to others."""
    more: list[Proposal] = []
    joins = cells.joins if cells.along_axes is None else ward_joins(cells.places, cells.sizes)[0]
    nowhere = np.zeros(len(cells.sizes))
    for n_groups in range(2, min(4, len(cells.sizes)) + 1):
        for direction in between_groups(cells.places, cells.sizes, nowhere, joins, (n_groups,), spread**2, 0.0, 1, 0)[
            1:
        ]:
            direction = direction / np.sqrt((direction**2).sum())
            if all(abs(float(direction @ seen)) < _SEEN for seen in tried) and _new(direction, found + more, _APART):
                more.append(Candidates.along(direction[None], cells, spread).proposal(0))
    return more
