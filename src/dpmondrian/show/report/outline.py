"""The tree as an outline: every node in words, in the order in which nested lists are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpmondrian.release import Tree
from dpmondrian.show.report.palette import look_of
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.texts.rules import condition_text
from dpmondrian.show.words.numbers import number, size_decimals

_DEEPEST = 40  # lists are nested no deeper; browsers do not follow without end

_OPEN_LEVELS = 2  # levels that are open at first


@dataclass(frozen=True)
class Node:
    """A node in words, and how many lists begin before and end after it."""

    side: str  # the side of the cut above that the node is, such as "age ≤ 41.5"
    size: str
    cut: str  # where it is cut further, empty at leaves
    cluster: int  # of a leaf, else -1
    colour: int
    shape: int
    nested: bool  # whether a list of the two sides follows
    is_open: bool
    ends: int  # lists that end after this node


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
    size = number(float(tree.size[node]), size_decimals(float(tree.size_error[node])))
    is_leaf = tree.column[node] < 0
    return Node(
        side=side,
        size=size,
        cut="" if is_leaf else tree.names[int(tree.column[node])],
        cluster=cluster if is_leaf else -1,
        colour=colour,
        shape=shape,
        nested=nested,
        is_open=is_open,
        ends=ends,
    )
