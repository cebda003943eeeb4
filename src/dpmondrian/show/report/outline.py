"""The tree as an outline: every node in words, in the order in which nested lists are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmondrian.dpm.joining import FLAT_STRENGTH
from dpmondrian.release import Tree
from dpmondrian.show.report.palette import look_of
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.texts.rules import condition_text
from dpmondrian.show.words.numbers import number, size_text

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
    side : str
        The side of the cut above that the node is, such as "age ≤ 41.5".
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

    side: str
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
    tree, root = shown.tree, shown.words("report.tree.root", counted=shown.counted)
    waiting: list[tuple[int, str, int, int]] = [(0, root, 0, 0)]  # node, side, depth, lists that end
    while waiting:
        node, side, depth, ends = waiting.pop()
        is_leaf = tree.column[node] < 0
        nested = not is_leaf and depth < _DEEPEST
        yield _node(tree, node, side, nested, depth < _OPEN_LEVELS, ends if is_leaf else 0)
        if is_leaf:
            continue
        left, right = (condition_text([side], shown.words, at_most="≤") for side in tree.sides(node))
        waiting.append((int(tree.right[node]), right, depth + 1, ends + nested))
        waiting.append((int(tree.left[node]), left, depth + 1, 0))


def _node(tree: Tree, node: int, side: str, nested: bool, is_open: bool, ends: int) -> Node:
    cluster = int(tree.cluster[node])
    colour, shape = look_of(max(cluster, 0))
    size = size_text(float(tree.size[node]), float(tree.size_error[node]))
    is_leaf = tree.column[node] < 0
    return Node(
        side=side,
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


def strength_words(shown: Shown) -> str:
    """Return in words how clearly the clusters are apart, or that it was not measured."""
    tree, words = shown.tree, shown.words
    if tree.joins is None or not len(tree.joins.strength):
        return words("report.tree.unmeasured")
    n_clusters = len(shown.release.sizes)
    weakest = tree.joins.undone()[: n_clusters - 1]
    if not weakest:
        return words("report.tree.one_cluster")
    strength, error = min(
        (float(tree.joins.strength[join]), float(tree.joins.strength_error[join])) for join in weakest
    )
    apart = "report.tree.apart" if strength - 2.0 * error > FLAT_STRENGTH else "report.tree.hardly_apart"
    verdict = words(apart, strength=f"{number(strength, 2)} ± {number(error, 2)}")
    return f"{words('report.tree.strength', flat=f'{FLAT_STRENGTH:g}')} {verdict}"
