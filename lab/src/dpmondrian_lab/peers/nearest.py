"""The nearest of very many candidates, without looking at most of them, and yet exact.

The first candidates are *pivots*. Every candidate belongs to its nearest pivot, and the candidates of a pivot are divided into
*shells* by their distance s from it. A point at the distance r from the pivot is at least ``|r - s|`` away from such a
candidate, so a shell whose distances are all far from r cannot hold the nearest one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates"]

_BLOCK = 8192
_SHELL = 128
_SLACK = 1e-3
"""Added to lengths, in places, before a shell is left out: far above rounding errors, which matter from 2**40 places on."""


@dataclass(frozen=True)
class _Shell:
    """Some candidates of one pivot.

    Attributes
    ----------
    pivot : int
    number : int64 array of shape (n_members,)
        Ascending.
    inner, outer : float
        Smallest and largest distance from the pivot.
    forms : float64 array of shape (n_columns + 2, n_members)
        See `_forms`.
    """

    pivot: int
    number: NDArray[np.int64]
    inner: float
    outer: float
    forms: NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """Candidates in an order that makes searching fast. All public."""

    pivot_forms: NDArray[np.float64]
    shells: tuple[_Shell, ...]

    @classmethod
    def of(cls, places: NDArray[np.float64], n_pivots: int) -> Candidates:
        """Return candidates, whole numbers of shape (n_candidates, n_columns), of which the first are pivots."""
        pivot_forms = _forms(places[:n_pivots])
        squares = _lifted(places) @ pivot_forms
        pivot, length = squares.argmin(axis=1), np.sqrt(squares.min(axis=1))
        order = np.lexsort((length, pivot))
        shells = []
        ends = np.cumsum(np.bincount(pivot, minlength=n_pivots))
        for home, members in enumerate(np.split(order, ends[:-1])):
            for start in range(0, len(members), _SHELL):
                number = np.sort(members[start : start + _SHELL])
                reach = length[number]
                shells.append(_Shell(home, number, reach.min(), reach.max(), _forms(places[number])))
        return cls(pivot_forms, tuple(shells))

    def nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the nearest candidate of every point, the lowest on ties: as `nearest_centre` does.

        Privacy
        -------
        Exact for whole numbers, so the result of a row depends on that row and the candidates alone. Argument:
        ``docs/privacy/peers.md``; the test that compares: ``lab/tests/peers/test_pe_means.py``.
        """
        starts = range(0, len(points), _BLOCK)
        return np.concatenate(
            [np.empty(0, dtype=np.int64), *(self._nearest(points[start : start + _BLOCK]) for start in starts)]
        )

    def _nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        lifted = _lifted(points)
        search = _Search.among_pivots(lifted, lifted @ self.pivot_forms)
        for at_home in (True, False):  # a near candidate first, then fewer of the other shells matter
            for shell in self.shells:
                search.look(shell, at_home)
        return search.number


@dataclass
class _Search:
    """The nearest candidates of a block of points, found so far.

    Attributes
    ----------
    lifted : float64 array of shape (n_points, n_columns + 2)
    from_pivot : float64 array of shape (n_pivots, n_points)
        Distances.
    home : int64 array of shape (n_points,)
        The nearest pivot.
    number, square, reach : arrays of shape (n_points,)
        The nearest candidate, its squared distance, and its distance with slack.
    """

    lifted: NDArray[np.float64]
    from_pivot: NDArray[np.float64]
    home: NDArray[np.int64]
    number: NDArray[np.int64]
    square: NDArray[np.float64]
    reach: NDArray[np.float64]

    @classmethod
    def among_pivots(cls, lifted: NDArray[np.float64], squares: NDArray[np.float64]) -> _Search:
        """Begin with the pivots, which are the first candidates."""
        home, square = squares.argmin(axis=1), squares.min(axis=1)
        from_pivot = np.sqrt(np.ascontiguousarray(squares.T))
        return cls(lifted, from_pivot, home, home.copy(), square, np.sqrt(square) + _SLACK)

    def look(self, shell: _Shell, at_home: bool) -> None:
        """Look at a shell for those points at home there, or not at home, that may have their nearest candidate in it."""
        possible = (self.home == shell.pivot) == at_home
        length = self.from_pivot[shell.pivot]
        possible &= (length - self.reach <= shell.outer) & (length + self.reach >= shell.inner)
        points = np.flatnonzero(possible)
        if not len(points):
            return
        squares = (self.lifted if len(points) == len(self.lifted) else self.lifted[points]) @ shell.forms
        which = squares.argmin(axis=1)
        square, number = squares[np.arange(len(points)), which], shell.number[which]
        better = (square < self.square[points]) | ((square == self.square[points]) & (number < self.number[points]))
        moved = points[better]
        self.number[moved], self.square[moved] = number[better], square[better]
        self.reach[moved] = np.sqrt(square[better]) + _SLACK


def _forms(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that turns lifted points into squared distances from the places."""
    return np.vstack([-2.0 * places.T, np.ones(len(places)), (places**2).sum(axis=1)])


def _lifted(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points with two more coordinates, their squared length and one.

    Of whole numbers, the product with `_forms` is exact: every partial sum is a whole number below 2**53.
    """
    return np.column_stack([points, (points**2).sum(axis=1), np.ones(len(points))])
