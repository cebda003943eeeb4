"""The released tree: cuts in the data's own units, sizes, and the rules that lead to its leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release.statement import ROWS
from dpmondrian.schema import Notation

_LISTS = ("column", "threshold", "left", "right", "size", "size_error", "cluster")  # of numbers, in a file
_LARGEST = 1e100  # no size in a saved tree may be larger: beyond it there are no rows, only damage


@dataclass(frozen=True)
class Condition:
    """What a rule demands of one column: a value in ``(above, up_to]``, or a category.

    Attributes
    ----------
    column : str
    above, up_to : float or None
        None where there is no such limit.
    width : float or None
        Range of the column, from which the number of digits follows.
    category : str or None
        Of a column of categories: the one that it has, or has not (`is_category`).
    notation : Notation or None
        How the limits are written, such as dates.
    """

    column: str
    above: float | None = None
    up_to: float | None = None
    width: float | None = None
    category: str | None = None
    is_category: bool = True
    notation: Notation | None = None


@dataclass(frozen=True)
class Rule:
    """A leaf: the cluster that it belongs to, what is true of all its rows, and about how many there are."""

    cluster: int
    conditions: tuple[Condition, ...]
    size: float


@dataclass(frozen=True)
class Tree:
    """Flat arrays over nodes; node 0 is the root. Everything in it is released.

    A leaf is a box between cuts, with its own size. It is named after the cluster that its middle belongs to; where clusters touch,
    some of its rows may belong to another one.

    Attributes
    ----------
    column : int array
        Column of the cut, -1 at leaves. Directions come after the columns.
    threshold : float array
        Rows with ``value <= threshold`` go left. NaN at leaves.
    left, right : int array
        Children, -1 at leaves.
    size, size_error : float array
        Number of rows, with noise, and the standard error of that noise. Sizes add up along the tree.
    cluster : int array
        Cluster of a leaf, -1 at inner nodes. Most clusters have several leaves.
    counted : {"rows", "people"}
        What sizes are numbers of, see `dpmondrian.release.statement.counted_in`.
    ranges : tuple of float or None, optional
        Ranges of the columns, from which the number of digits in rules follows; None for four significant digits.
    categories : mapping from column to two texts
        Column and category in the table of those columns that are indicators of a category.
    notations : mapping from column to Notation
        Of those columns whose numbers stand for something else, such as dates.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import DPM
    >>> tree = DPM(bounds=(0, 100)).fit(np.repeat([[20.0], [80.0]], 5000, axis=0)).tree_
    >>> tree.n_leaves >= 2
    True
    """

    names: tuple[str, ...]
    column: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    size: NDArray[np.float64]
    size_error: NDArray[np.float64]
    cluster: NDArray[np.int64]
    counted: str = ROWS
    ranges: tuple[float | None, ...] | None = None
    categories: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    notations: Mapping[int, Notation] = field(default_factory=dict)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.column < 0).sum())

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """How many cuts lead to each node."""
        depths = np.zeros(len(self.column), dtype=np.int64)
        for node in np.flatnonzero(self.column >= 0):  # children come after their parents
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths

    @cached_property
    def pruned(self) -> Tree:
        """The tree without cuts inside a cluster: a part all of whose leaves belong to one cluster is a leaf itself."""
        cluster = self.cluster.copy()
        for node in np.flatnonzero(self.column >= 0)[::-1]:  # children come after their parents
            left, right = cluster[[self.left[node], self.right[node]]]
            cluster[node] = left if left == right else -1
        kept = [0]
        for node in kept:  # which grows meanwhile
            if cluster[node] < 0:
                kept += [int(self.left[node]), int(self.right[node])]
        kept.sort()
        inner, number = cluster[kept] < 0, np.full(len(cluster) + 1, -1)
        number[kept] = np.arange(len(kept))
        return replace(
            self,
            column=np.where(inner, self.column[kept], -1),
            threshold=np.where(inner, self.threshold[kept], np.nan),
            left=number[np.where(inner, self.left[kept], -1)],
            right=number[np.where(inner, self.right[kept], -1)],
            size=self.size[kept],
            size_error=self.size_error[kept],
            cluster=cluster[kept],
        )

    def rules(self) -> list[str]:
        """Return the rules of the clusters, such as ``"age <= 41.5 and bmi > 30: about 1,240 people"``.

        Leaves of one cluster that make a larger part of the tree together have one rule.
        """
        from dpmondrian.show.texts import rule_texts

        return rule_texts(self.pruned)

    def leaf_rules(self) -> list[Rule]:
        """Return the rules of the leaves as facts, by cluster."""
        paths = self._paths()
        return [
            Rule(int(self.cluster[leaf]), self._conditions(paths[leaf]), float(self.size[leaf]))
            for leaf in self._leaves()
        ]

    def sides(self, node: int) -> tuple[Condition, Condition]:
        """Return what the cut of a node demands of its left and of its right side."""
        column, threshold = int(self.column[node]), float(self.threshold[node])
        [left] = self._conditions({column: (-np.inf, threshold)})
        [right] = self._conditions({column: (threshold, np.inf)})
        return left, right

    def _leaves(self) -> list[int]:
        """Return the leaves, ordered by cluster."""
        leaves: list[int] = np.flatnonzero(self.column < 0).tolist()
        return sorted(leaves, key=lambda leaf: (int(self.cluster[leaf]), leaf))

    def _paths(self) -> dict[int, dict[int, tuple[float, float]]]:
        """Return for every node the interval (above, up to] that its path leaves of each cut column."""
        paths: dict[int, dict[int, tuple[float, float]]] = {0: {}}
        for node in range(len(self.column)):
            column = int(self.column[node])
            if column < 0:
                continue
            low, high = paths[node].get(column, (-np.inf, np.inf))
            threshold = float(self.threshold[node])
            paths[int(self.left[node])] = {**paths[node], column: (low, min(high, threshold))}
            paths[int(self.right[node])] = {**paths[node], column: (max(low, threshold), high)}
        return paths

    def boxes(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> list[tuple[int, list[tuple[float, float]]]]:
        """Return the cluster and the box of every leaf: an interval per column, within the public bounds."""
        paths = self._paths()
        return [
            (
                int(self.cluster[leaf]),
                [
                    (max(float(low), a), min(float(high), b))
                    for low, high, (a, b) in zip(
                        lower,
                        upper,
                        (paths[leaf].get(c, (-np.inf, np.inf)) for c in range(len(lower))),
                        strict=True,
                    )
                ],
            )
            for leaf in self._leaves()
        ]

    def _conditions(self, intervals: Mapping[int, tuple[float, float]]) -> tuple[Condition, ...]:
        """Return what intervals of columns demand; a category that is known makes those that it is not superfluous."""
        known = {
            self.categories[c][0] for c, (low, _) in intervals.items() if c in self.categories and np.isfinite(low)
        }
        found = []
        for column, (low, high) in sorted(intervals.items()):
            above, up_to = (float(end) if np.isfinite(end) else None for end in (low, high))
            if column not in self.categories:
                width = None if self.ranges is None else self.ranges[column]
                found.append(Condition(self.names[column], above, up_to, width, notation=self.notations.get(column)))
                continue
            of, category = self.categories[column]
            if above is not None or of not in known:
                found.append(Condition(of, category=category, is_category=above is not None))
        return tuple(found)

    def __str__(self) -> str:
        from dpmondrian.show.texts import tree_text

        return tree_text(self.pruned)

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the nodes as plain JSON values (a leaf's threshold is null)."""
        lists = {name: getattr(self, name).tolist() for name in _LISTS}
        return lists | {"threshold": [None if np.isnan(value) else value for value in self.threshold.tolist()]}

    @classmethod
    def from_dict(
        cls,
        names: tuple[str, ...],
        values: Mapping[str, Any],
        ranges: tuple[float | None, ...] | None = None,
    ) -> Tree:
        """Return the tree that `to_dict` described; raise ValueError or TypeError if it is not one."""
        arrays: dict[str, Any] = {
            "threshold": np.array([np.nan if value is None else float(value) for value in values["threshold"]])
        }
        for name in ("column", "left", "right", "cluster"):
            arrays[name] = np.array([index(item) for item in values[name]], dtype=np.int64)
        for name in ("size", "size_error"):
            arrays[name] = np.array([float(item) for item in values[name]])
        if len({len(array) for array in arrays.values()}) != 1 or not len(arrays["column"]):
            raise ValueError("the nodes' lists differ in length or are empty")
        tree = cls(names=names, ranges=ranges, **arrays)
        tree._check()
        return tree

    def _check(self) -> None:
        """Raise ValueError unless every node but the root is the child of one earlier node."""
        inner, leaf = self.column >= 0, self.column < 0
        parents = np.flatnonzero(inner)
        children = np.concatenate([self.left[inner], self.right[inner]])
        if not np.all(self.column < len(self.names)) or not np.all(np.isfinite(self.threshold[inner])):
            raise ValueError("a cut has no column or no threshold")
        if not np.all(np.abs([self.size, self.size_error]) <= _LARGEST) or np.any(self.cluster[leaf] < 0):
            raise ValueError("a node has no size or a leaf no cluster")
        if not np.all(children > np.tile(parents, 2)) or sorted(children.tolist()) != list(range(1, len(self.column))):
            raise ValueError("the nodes do not form a tree")
