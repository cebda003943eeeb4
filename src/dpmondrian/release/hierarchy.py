"""How the cells of a release go together step by step: Ward's hierarchy, of weighted points. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm import ward_joins


@dataclass(frozen=True)
class Hierarchy:
    """Joins of groups of cells, lowest first. Groups are numbered: first the cells, then the joins in their order.

    Attributes
    ----------
    first, second : int64 array of shape (n_cells - 1,)
        The two groups of every join.
    height : float64 array of shape (n_cells - 1,)
        Never falling. The square is what the join adds to the variance within groups, as a share of the variance between all cells.
    sizes : float64 array of shape (n_cells,)
    cluster : int64 array of shape (n_cells,)
        The cluster of the release that each cell lies in.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    height: NDArray[np.float64]
    sizes: NDArray[np.float64]
    cluster: NDArray[np.int64]

    @property
    def linkage(self) -> NDArray[np.float64]:
        """The joins as SciPy's hierarchy functions take them, shape (n_cells - 1, 4)."""
        n_cells = len(self.sizes)
        members = np.ones(n_cells + len(self.first))
        for join, (first, second) in enumerate(zip(self.first, self.second, strict=True), start=n_cells):
            members[join] = members[first] + members[second]
        return np.column_stack([self.first, self.second, self.height, members[n_cells:]])

    def plot(self, ax: Any = None, *, most: int = 60) -> Any:
        """Plot the last joins on matplotlib axes or a new figure, and return the axes. Uses only released values.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.
        most : int, default=60
            Number of groups at the bottom of the plot; lower joins are not drawn.
        """
        from dpmondrian.show.plots import plot_hierarchy

        return plot_hierarchy(self, ax, most=most)


def ward(places: NDArray[np.float64], sizes: NDArray[np.float64], cluster: NDArray[np.int64]) -> Hierarchy:
    """Return the hierarchy in which the two groups are joined first whose union adds least to the variance within."""
    joins, growth = ward_joins(places, sizes)
    height = np.sqrt(growth / max(float(growth.sum()), np.finfo(np.float64).tiny))
    return Hierarchy(joins[:, 0], joins[:, 1], height, sizes, cluster)
