"""The hierarchy of clusters: leaves joined two by two, those with the least between them last.

Undoing the joins from the last one on gives clusterings into 1, 2, 3, ... clusters, each a refinement of the one before;
the strength of a join says how clearly its two sides are apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLAT_STRENGTH", "Joins"]

FLAT_STRENGTH = 0.3
"""Strength that clusters must surely exceed, taken together. Cuts through one flat, Gaussian, heavy-tailed or exponential
cloud seldom do, counted without noise: in two or five columns less than once in a hundred."""


@dataclass(frozen=True)
class Joins:
    """Joins of leaves, in the order in which they were made.

    Group numbers below the number of leaves are leaves, in the order of the tree's nodes; join i makes the group
    ``n_leaves + i``. All arrays have shape (n_leaves - 1,).

    Attributes
    ----------
    first, second : int64
        The groups that each join puts together.
    strength, strength_error : float64
        How clearly they are apart, from 0 (not at all) to 1 (nothing between them), and the standard error of that, from
        noise and from chance.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    strength: NDArray[np.float64]
    strength_error: NDArray[np.float64]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.first) + 1

    def undone(self) -> list[int]:
        """Return the joins in the order in which they are undone: the last one first."""
        return list(range(self.n_leaves - 2, -1, -1))

    def tops(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the number of the group that holds each leaf, for a number of clusters from 1 to `n_leaves`."""
        # Going down from the top, a group takes over the number of the join that holds it, if that is kept.
        top = np.arange(2 * self.n_leaves - 1)
        for join in self.undone()[n_clusters - 1 :]:
            top[[self.first[join], self.second[join]]] = top[self.n_leaves + join]
        return top[: self.n_leaves]

    def groups(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the cluster of every leaf, numbered from 0, for a number of clusters from 1 to `n_leaves`."""
        return np.unique(self.tops(n_clusters), return_inverse=True)[1].astype(np.int64)

    def n_apart(self, strength: float) -> int:
        """Return the number of clusters when joins are undone until one is weaker than this."""
        n_clusters = 1
        for join in self.undone():
            if self.strength[join] < strength:
                break
            n_clusters += 1
        return n_clusters

    def to_dict(self) -> dict[str, Any]:
        """Return the joins as plain JSON values."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_leaves: int) -> Joins:
        """Return the joins that `to_dict` described; raise one of Python's errors if they do not join `n_leaves` leaves."""
        arrays: dict[str, Any] = {
            name: np.array([index(item) for item in values[name]], dtype=np.int64) for name in ("first", "second")
        }
        for name, most in (("strength", 1.0), ("strength_error", 1e100)):
            arrays[name] = np.array([float(item) for item in values[name]])
            if not np.all((arrays[name] >= 0.0) & (arrays[name] <= most)):
                raise ValueError(f"the field {name!r} of the joins is out of range")
        if any(array.shape != (n_leaves - 1,) for array in arrays.values()):
            raise ValueError("the joins are not one fewer than the leaves")
        groups = np.concatenate([arrays["first"], arrays["second"]])
        made = np.tile(np.arange(n_leaves, 2 * n_leaves - 1), 2)
        if sorted(groups.tolist()) != list(range(2 * n_leaves - 2)) or not np.all(groups < made):
            raise ValueError("the joins do not form a tree")
        return cls(**arrays)
