"""The released tree: cuts in the data's own units, sizes, and the rules that lead to its leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import is_number
from dpmondrian.dpm.joining import Joins
from dpmondrian.exceptions import ParameterError
from dpmondrian.release.unit import ROWS

__all__ = ["Condition", "Cut", "Rule", "Tree"]

_LARGEST = 1e100
"""No size in a saved tree may be larger: beyond it there are no rows, only damage."""


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
    """

    column: str
    above: float | None = None
    up_to: float | None = None
    width: float | None = None
    category: str | None = None
    is_category: bool = True


@dataclass(frozen=True)
class Rule:
    """A leaf: the cluster that it belongs to, what is true of all its rows, and about how many there are."""

    cluster: int
    conditions: tuple[Condition, ...]
    size: float


@dataclass(frozen=True)
class Cut:
    """Clusters made of the leaves of a tree, largest first: centres and sizes are weighted means and sums of the leaves'.

    Prints as rules. No Lloyd steps follow, so the centres are a little worse than those of a fit.
    """

    centres: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    tree: Tree

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)

    def __str__(self) -> str:
        return str(self.tree)


@dataclass(frozen=True)
class Tree:
    """Flat arrays over nodes; node 0 is the root. Everything in it is released.

    A leaf is a box between cuts, with its own size; a cluster of `DPM` is what lies nearest to its centre. Where clusters
    are well separated these are the same rows, elsewhere they differ at the edges.

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
        Cluster of a leaf, -1 at inner nodes. Several leaves share one if they were merged.
    counted : {"rows", "people"}
        What sizes are numbers of, see `dpmondrian.release.unit.counted_in`.
    ranges : tuple of float or None, optional
        Ranges of the columns, from which the number of digits in rules follows; None for four significant digits.
    strength, strength_error : float array
        How clearly the two sides of a cut are apart, from 0 (not at all) to 1 (nothing between them), and the standard
        error of that. NaN at leaves and where it was not measured (with `n_clusters` and in the paper's variant).
    leaf_centres : float array of shape (n_leaves, n_columns), optional
        Centres of the leaves, in the order of the nodes; in columns, without directions.
    joins : Joins, optional
        How leaves go together to clusters, see `cut`.
    log_columns : tuple of int
        Columns on a log scale: means of `leaf_centres` are geometric there.
    categories : mapping from column to two texts
        Column and category in the table of those columns that are indicators of a category.
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
    strength: NDArray[np.float64] | None = None
    strength_error: NDArray[np.float64] | None = None
    leaf_centres: NDArray[np.float64] | None = None
    joins: Joins | None = None
    log_columns: tuple[int, ...] = ()
    categories: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    def cut(self, k: int | None = None, *, strength: float | None = None) -> Cut:
        """Return other clusters made of the same leaves, without spending anything: post-processing.

        Parameters
        ----------
        k : int
            Number of clusters, from 1 to `n_leaves`.
        strength : float
            Leaves stay apart where the hierarchy's strength is at least this, from the top as far as that reaches. Low
            values give many clusters, high ones few.

        Examples
        --------
        >>> import numpy as np
        >>> from dpmondrian import DPM
        >>> rows = np.repeat(np.array([[10.0], [40.0], [90.0]]), 5000, axis=0)
        >>> tree = DPM(bounds=(0, 100)).fit(rows).tree_
        >>> tree.cut(2).sizes.round(-3)
        array([10000.,  5000.])
        """
        if self.leaf_centres is None:
            raise ParameterError(
                "This tree has no hierarchy to cut: it was made with n_clusters or in the paper's variant, or noise hid what "
                "lies between its leaves.",
                "Fit without n_clusters, with a larger epsilon, more rows or fewer columns.",
            )
        if (k is None) == (strength is None):
            raise ParameterError("Give either k or strength.", "For instance tree_.cut(5) or tree_.cut(strength=0.9).")
        joins = self.joins or Joins(*(np.empty(0, dtype=np.int64),) * 2, *(np.empty(0),) * 2)
        if strength is not None:
            if not is_number(strength) or not 0 <= strength <= 1:
                raise ParameterError(parameter="strength", rule="must be a number from 0 to 1", value=strength)
            k = joins.n_apart(float(strength))
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= self.n_leaves:
            raise ParameterError(parameter="k", rule=f"must be an integer from 1 to {self.n_leaves}", value=k)
        return self._cut(joins.groups(int(k)))

    def _cut(self, group: NDArray[np.int64]) -> Cut:
        """Return the clusters that groups of leaves make, largest first."""
        assert self.leaf_centres is not None
        leaves = np.flatnonzero(self.column < 0)
        sizes, errors = np.maximum(self.size[leaves], 1.0), self.size_error[leaves]
        member = np.eye(group.max() + 1)[group].T
        totals = member @ self.size[leaves]
        order = np.argsort(-totals, kind="stable")
        part = member * sizes / (member @ sizes)[:, None]
        cluster = self.cluster.copy()
        cluster[leaves] = np.argsort(order)[group]
        return Cut(
            centres=_weighted_means(part, self.leaf_centres, list(self.log_columns))[order],
            sizes=np.maximum(totals[order], 0.0),
            size_errors=np.sqrt(member @ errors**2)[order],
            tree=replace(self, cluster=cluster),
        )

    def plot_hierarchy(self, ax: Any = None) -> Any:
        """Draw how the leaves go together to clusters, in matplotlib's axes or a new figure, and return the axes.

        Groups are joined at the height of the strength with which they are apart; see `dpmondrian.show.plots`. Only released
        values are drawn, so the picture may be published.
        """
        from dpmondrian.show.plots import plot_hierarchy

        return plot_hierarchy(self, ax)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.column < 0).sum())

    def rules(self) -> list[str]:
        """Return one rule per leaf, such as ``"age <= 41.5 and bmi > 30: about 1,240 people"``, by cluster."""
        from dpmondrian.show.texts import rule_texts

        return rule_texts(self)

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
        """Return the cluster and the box of every leaf: an interval per column, within the public bounds.

        Cuts along directions are left out, so boxes of leaves on both sides of them overlap.
        """
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
                found.append(Condition(self.names[column], above, up_to, width))
                continue
            of, category = self.categories[column]
            if above is not None or of not in known:
                found.append(Condition(of, category=category, is_category=above is not None))
        return tuple(found)

    def __str__(self) -> str:
        from dpmondrian.show.texts import tree_text

        return tree_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the nodes as plain JSON values (a leaf's threshold is null)."""
        values = self._nodes_to_dict()
        if self.leaf_centres is not None and self.strength is not None and self.strength_error is not None:
            values["strength"] = _without_nan(self.strength)
            values["strength_error"] = _without_nan(self.strength_error)
            values["leaf_centres"] = self.leaf_centres.tolist()
            values["joins"] = None if self.joins is None else self.joins.to_dict()
        return values

    def _nodes_to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column.tolist(),
            "threshold": _without_nan(self.threshold),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "size": self.size.tolist(),
            "size_error": self.size_error.tolist(),
            "cluster": self.cluster.tolist(),
        }

    @classmethod
    def from_dict(
        cls,
        names: tuple[str, ...],
        values: Mapping[str, Any],
        ranges: tuple[float | None, ...] | None = None,
        n_measured: int | None = None,
    ) -> Tree:
        """Return the tree that `to_dict` described; raise ValueError or TypeError if it is not one.

        The first `n_measured` names are columns, the others directions; None for columns only.
        """
        n_measured = len(names) if n_measured is None else n_measured
        threshold = _with_nan(values["threshold"])
        arrays: dict[str, Any] = {"threshold": threshold}
        for name in ("column", "left", "right", "cluster"):
            arrays[name] = np.array([index(item) for item in values[name]], dtype=np.int64)
        for name in ("size", "size_error"):
            arrays[name] = np.array([float(item) for item in values[name]])
        if values.get("leaf_centres") is not None:
            arrays |= {name: _with_nan(values[name]) for name in ("strength", "strength_error")}
        if len({len(array) for array in arrays.values()}) != 1 or not len(threshold):
            raise ValueError("the nodes' lists differ in length or are empty")
        if values.get("leaf_centres") is not None:
            arrays |= _hierarchy_from_dict(values, int((arrays["column"] < 0).sum()), n_measured)
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
        if self.strength is not None and self.strength_error is not None:
            cuts, errors = self.strength[inner], self.strength_error[inner]
            if not np.all((cuts >= 0.0) & (cuts <= 1.0) & (errors >= 0.0) & (errors <= _LARGEST)):
                raise ValueError("a cut has no strength from 0 to 1")
        if not np.all(children > np.tile(parents, 2)) or sorted(children.tolist()) != list(range(1, len(self.column))):
            raise ValueError("the nodes do not form a tree")


def _without_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _with_nan(values: Any) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else float(value) for value in values])


def _hierarchy_from_dict(values: Mapping[str, Any], n_leaves: int, n_columns: int) -> dict[str, Any]:
    """Return the checked centres and joins of the leaves."""
    centres = np.array(values["leaf_centres"], dtype=np.float64)
    if centres.shape != (n_leaves, n_columns) or not np.all(np.abs(centres) <= _LARGEST):
        raise ValueError("the centres of the leaves have the wrong shape or are too large")
    joins = values["joins"]
    if (joins is None) != (n_leaves == 1):
        raise ValueError("the joins are not those of the leaves")
    return {"leaf_centres": centres, "joins": None if joins is None else Joins.from_dict(joins, n_leaves)}


def _weighted_means(
    part: NDArray[np.float64], centres: NDArray[np.float64], log_columns: list[int]
) -> NDArray[np.float64]:
    """Return weighted means of centres, geometric ones in log columns."""
    centres = centres.copy()
    centres[:, log_columns] = np.log(centres[:, log_columns])
    means: NDArray[np.float64] = part @ centres
    means[:, log_columns] = np.exp(means[:, log_columns])
    return means
