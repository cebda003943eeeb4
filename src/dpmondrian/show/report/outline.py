"""The tree as an outline: every node in words, in the order in which nested lists are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpmondrian.dpm.joining.joins import FLAT_STRENGTH
from dpmondrian.release.tree import Tree
from dpmondrian.show.report.palette import look_of
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.report.words import number, rule_words, size_text

__all__ = ["Node", "outline", "strength_words"]

_DEEPEST = 40
"""Lists are nested no deeper; browsers do not follow without end."""

_OPEN_LEVELS = 2
"""Levels that are open at first."""


@dataclass(frozen=True)
class Node:
    """A node in words, and how many lists begin before and end after it.

    Attributes
    ----------
    words : str
        The side of the cut above that the node is, such as "age <= 41.5".
    size : str
    cut : str
        Where it is cut further, empty at leaves.
    strength : str
        How clearly the two sides are apart, empty where that was not measured.
    cluster : int
        Of a leaf, else -1.
    nested : bool
        Whether a list of the two sides follows.
    is_open : bool
    ends : int
        Lists that end after this node.
    """

    words: str
    size: str
    cut: str
    strength: str
    cluster: int
    colour: int
    shape: int
    nested: bool
    is_open: bool
    ends: int


def outline(shown: Shown) -> Iterator[Node]:
    """Give the nodes from the root down, left before right."""
    tree = shown.tree
    waiting: list[tuple[int, str, int, int]] = [(0, f"All {tree.counted}", 0, 0)]  # node, words, depth, lists that end
    while waiting:
        node, words, depth, ends = waiting.pop()
        is_leaf = tree.column[node] < 0
        nested = not is_leaf and depth < _DEEPEST
        yield _node(tree, node, words, nested, depth < _OPEN_LEVELS, ends if is_leaf else 0)
        if is_leaf:
            continue
        left, right = _sides(tree, node)
        waiting.append((int(tree.right[node]), right, depth + 1, ends + nested))
        waiting.append((int(tree.left[node]), left, depth + 1, 0))


def _node(tree: Tree, node: int, words: str, nested: bool, is_open: bool, ends: int) -> Node:
    cluster = int(tree.cluster[node])
    colour, shape = look_of(max(cluster, 0))
    size = size_text(float(tree.size[node]), float(tree.size_error[node]))
    is_leaf = tree.column[node] < 0
    return Node(
        words=words,
        size=size,
        cut="" if is_leaf else tree.names[int(tree.column[node])],
        strength="" if is_leaf else _strength(tree, node),
        cluster=cluster if is_leaf else -1,
        colour=colour,
        shape=shape,
        nested=nested,
        is_open=is_open,
        ends=ends,
    )


def _strength(tree: Tree, node: int) -> str:
    if tree.strength is None or tree.strength_error is None or not np.isfinite(tree.strength[node]):
        return ""
    return f"{number(float(tree.strength[node]), 2)} ± {number(float(tree.strength_error[node]), 2)}"


def _sides(tree: Tree, node: int) -> tuple[str, str]:
    """Return the two sides of a cut in the words of the tree's own rules: those of a tree of this cut alone."""
    one_cut = replace(
        tree,
        column=np.array([tree.column[node], -1, -1]),
        threshold=np.array([tree.threshold[node], np.nan, np.nan]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        size=np.ones(3),
        size_error=np.zeros(3),
        cluster=np.array([-1, 0, 1]),
        strength=None,
        strength_error=None,
        leaf_centres=None,
        joins=None,
    )
    left, right = (rule_words(rule)[0] for rule in one_cut.rules())
    return left, right


def strength_words(shown: Shown) -> str:
    """Return in words how clearly the clusters are apart, or an empty text where that was not measured."""
    tree = shown.tree
    if tree.joins is None or not len(tree.joins.strength):
        return ""
    n_clusters = len(shown.release.sizes)
    weakest = tree.joins.undone()[: n_clusters - 1]
    if not weakest:
        return "All parts of the table were joined to one cluster: nothing in it is clearly apart."
    strength, error = min(
        (float(tree.joins.strength[join]), float(tree.joins.strength_error[join])) for join in weakest
    )
    if strength - 2.0 * error > FLAT_STRENGTH:
        verdict = "The clusters of this release are clearly apart"
    else:
        verdict = "Together the clusters of this release are apart, but it is not certain that each of them is"
    return (
        f"The strength of a cut says how clearly its two sides are apart: 0 means no more than in evenly spread data, 1 that "
        f"nobody lies between them. The number after ± is its standard error, from noise and from chance. Cuts through a "
        f"single cloud seldom exceed {FLAT_STRENGTH:g}. {verdict}: the weakest separation between two of them "
        f"has strength {number(strength, 2)} ± {number(error, 2)}."
    )
