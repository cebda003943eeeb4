"""Directions worth looking along, proposed by released cells alone. Post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.finding.valleys import clearest
from dpmondrian.dpm.merging import squared_distances, ward_groups
from dpmondrian.kernels.cells import expected_below
from dpmondrian.kernels.merging import shortest_tree

__all__ = ["N_BINS", "PartCells", "Proposal", "candidates_of", "is_one_hump", "propose"]

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
    """The released cells of a part, in places.

    Attributes
    ----------
    places, errors : float64 array of shape (n_cells, n_columns)
    sizes : float64 array of shape (n_cells,)
    spread : float
        Standard deviation of rows about a cell's centre, per column.
    """

    places: NDArray[np.float64]
    errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    spread: float


def propose(
    cells: PartCells,
    candidates: NDArray[np.float64],
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
    candidates : float64 array of shape (n_candidates, n_columns)
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
    for direction in tried:
        candidates = candidates[np.abs(candidates @ direction) < _SEEN]
    candidates = np.concatenate([candidates, *(hint[None] for hint in hints)])
    if not len(candidates):
        return []
    along = np.ascontiguousarray((cells.places @ candidates.T).T)
    spreads = np.sqrt(cells.spread**2 + candidates**2 @ value_spreads**2)
    low, high = _reach(along, spreads)
    expected = _expected_counts(along, cells.sizes, spreads, low, high)
    z, _ = clearest(expected, deviation)
    most = _affordable(expected[int(z.argmax())], deviation, most)
    is_column = np.abs(candidates).max(axis=1) > 0.999
    found: list[Proposal] = []

    def proposal(i: int) -> Proposal:
        return Proposal(candidates[i], float(low[i]), float(high[i]))

    best_first = np.argsort(-np.where(is_column, z * _COLUMNS_FIRST, z), kind="stable")
    promising: list[int] = best_first[z[best_first] >= _LEAST_EXPECTED].tolist()
    hinted = list(range(len(candidates) - len(hints), len(candidates)))
    for i in promising[:1] + hinted + promising[1:]:
        if len(found) < most and _new(candidates[i], found, _APART):
            found.append(proposal(i))
    if is_root:
        blind = _blind(cells, tried, found)
        found = blind + found if tried else found[: most - min(len(blind), most // 2)] + blind
    if every_column:
        slanted = [proposal for proposal in found if np.abs(proposal.direction).max() <= 0.999]
        return slanted[:2] + [proposal(i) for i in np.flatnonzero(is_column).tolist()]
    return found[:most]


def _reach(along: NDArray[np.float64], spreads: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where to count rows along directions: some spreads beyond the outermost cells; `along` has shape (n_directions, n_cells).

    Beyond a cell that lies by itself as far as the way to its neighbour: what draws it out may lie farther still.
    """
    n_cells = along.shape[1]
    ordered = np.partition(along, (0, 1, n_cells - 2, n_cells - 1), axis=1).T
    below, above = ordered[1] - ordered[0], ordered[-1] - ordered[-2]
    return ordered[0] - np.maximum(_REACH * spreads, below), ordered[-1] + np.maximum(_REACH * spreads, above)


def _affordable(expected: NDArray[np.float64], deviation: float, most: int) -> int:
    """Return along how many directions to look at once, if the best one promises these counts: noise grows with their number."""
    while most > 1 and clearest(expected[None], deviation * math.sqrt(most))[0][0] < _CLEAR:
        most -= 1
    return most


def _new(direction: NDArray[np.float64], found: list[Proposal], cosine: float) -> bool:
    return all(abs(float(direction @ other.direction)) < cosine for other in found)


def is_one_hump(cells: PartCells) -> bool:
    """Return whether cells lie so close together that they expect no valley in any direction.

    A mixture of normal laws of one deviation s is log-concave if its centres lie within 2 s: the second derivative of its logarithm is
    ``var / s**4 - 1 / s**2``, where var is a variance of these centres, at most s**2.
    """
    widest = 2.0 * cells.spread
    if bool((np.ptp(cells.places, axis=0) > widest).any()):  # spares the distances of most parts
        return False
    return bool(squared_distances(cells.places, cells.places).max() <= widest**2)


def candidates_of(cells: PartCells) -> NDArray[np.float64]:
    """Return directions of length 1: columns, principal axes, between groups of cells, and across the gaps between neighbours."""
    places, sizes = cells.places, cells.sizes
    mean = (places * sizes[:, None]).sum(axis=0) / sizes.sum()
    axes = np.linalg.svd((places - mean) * np.sqrt(sizes)[:, None], full_matrices=False)[2][:_AXES]
    found = [np.eye(places.shape[1])] if places.shape[1] <= _MOST_COLUMNS else []
    found.append(axes)
    found += [_between_groups(cells), _across_gaps(cells)]
    directions = np.concatenate(found)
    lengths = np.sqrt((directions**2).sum(axis=1))
    unit: NDArray[np.float64] = directions[lengths > 1e-9] / lengths[lengths > 1e-9][:, None]
    return unit


def _between_groups(cells: PartCells) -> NDArray[np.float64]:
    """Return directions between pairs of groups, the largest first, and between each group and all others."""
    pairs = [_pairs(member, cells.sizes) for member in _groups(cells, _GROUPS)]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    between, discriminants, noise = _compared(cells, one, other)
    differ = (between**2).sum(axis=1) > _TRUSTED * noise
    found: NDArray[np.float64] = np.stack([between, discriminants], axis=1)[differ].reshape(-1, between.shape[1])
    return found


def _groups(cells: PartCells, n_groups: tuple[int, ...]) -> list[NDArray[np.bool_]]:
    """Return which cells belong to each group, shape (n_groups, n_cells), for as many groups as there are cells for."""
    numbers = [k for k in n_groups if k <= len(cells.sizes)]
    return [
        np.arange(k)[:, None] == group
        for k, group in zip(numbers, ward_groups(cells.places, cells.sizes, numbers), strict=True)
    ]


def _pairs(member: NDArray[np.bool_], sizes: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the cells on the two sides of every comparison of groups, both (n_pairs, n_cells)."""
    by_size = member[np.argsort(-(member @ sizes), kind="stable")]
    smaller, larger = _ranks_of_pairs(len(member))
    if 2 < len(member) <= _MOST_AGAINST_ALL:
        return np.concatenate([by_size[smaller], member]), np.concatenate([by_size[larger], ~member])
    return by_size[smaller], by_size[larger]


@cache
def _ranks_of_pairs(n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranks, by size, of the groups that are compared: those of the smaller ones, and of the larger ones."""
    smaller, larger = np.tril_indices(n_groups, -1)
    return smaller[:_MOST_PAIRS], larger[:_MOST_PAIRS]


def _compared(
    cells: PartCells, one: NDArray[np.bool_], other: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the way from the mean of one group of cells to that of the other, Fisher's linear discriminant, and how much noise is in the way.

    All of pairs of groups; the last one is a variance over all columns. The cells of both groups spread by themselves, too.
    """
    shares = np.stack([one, other]) * cells.sizes
    weights = shares.sum(axis=2, keepdims=True)
    shares = shares / weights
    means = shares @ cells.places
    between = means[1] - means[0]
    about = cells.places - np.where(one[:, :, None], means[0][:, None], means[1][:, None])
    about *= np.sqrt((one | other) * cells.sizes / weights.sum(axis=0))[:, :, None]
    noise = (shares**2).sum(axis=0) @ (cells.errors**2).sum(axis=1)
    return between, _discriminants(about, cells.spread**2, between), noise


def _across_gaps(cells: PartCells) -> NDArray[np.float64]:
    """Return directions along the longest edges of the shortest tree that connects all cells: they lead to what lies far off."""
    distances = np.maximum(squared_distances(cells.places, cells.places), 1e-9)
    ends = shortest_tree(distances)
    lengths = distances[ends[:, 0], ends[:, 1]]
    longest = np.argsort(-lengths, kind="stable")[:_MOST_EDGES]
    one, other = ends[longest].T
    noise = (cells.errors**2).sum(axis=1)
    trusted = lengths[longest] > _TRUSTED * (noise[one] + noise[other])
    found: NDArray[np.float64] = (cells.places[one] - cells.places[other])[trusted]
    return found


def _discriminants(about: NDArray[np.float64], variance: float, between: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``covariance^-1 between`` of every pair: cells scatter by ``about.T @ about``, and their rows by a variance in each column.

    With fewer cells than columns the same equation is solved for the cells.
    """
    turned, columns = about.transpose(0, 2, 1), between[:, :, None]
    if about.shape[1] >= about.shape[2]:
        return np.asarray(np.linalg.solve(turned @ about + variance * np.eye(about.shape[2]), columns)[:, :, 0])
    of_cells = np.linalg.solve(about @ turned + variance * np.eye(about.shape[1]), about @ columns)
    return np.asarray((columns - turned @ of_cells)[:, :, 0] / variance)


def _blind(cells: PartCells, tried: list[NDArray[np.float64]], found: list[Proposal]) -> list[Proposal]:
    """Return directions between the two largest of 2, 3 or 4 groups that are not near to others."""
    more: list[Proposal] = []
    for member in _groups(cells, (2, 3, 4)):
        one, other = np.argsort(-(member @ cells.sizes), kind="stable")[:2].tolist()
        _, [direction], _ = _compared(cells, member[[one]], member[[other]])
        direction = direction / max(float(np.sqrt((direction**2).sum())), 1e-12)
        low, high = _reach((cells.places @ direction)[None], np.full(1, cells.spread))
        if all(abs(float(direction @ seen)) < _SEEN for seen in tried) and _new(direction, found + more, _APART):
            more.append(Proposal(direction, float(low[0]), float(high[0])))
    return more


def _expected_counts(
    along: NDArray[np.float64],
    sizes: NDArray[np.float64],
    spreads: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the rows that the cells expect in every bin of every direction, shape (n_directions, n_bins)."""
    edges = low[:, None] + (high - low)[:, None] * np.arange(N_BINS + 1) / N_BINS
    return np.diff(expected_below(along, sizes, spreads, edges), axis=1)
