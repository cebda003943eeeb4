"""The rules of a tree as sentences, such as "age <= 41.5 and bmi > 30: about 1,240 people"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from dpmondrian.common.printable import printable
from dpmondrian.release import Condition, Rule, Tree
from dpmondrian.schema import Bands, YesNo
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean, rough_size, threshold_text

_JOINTS = (("├─ ", "│  "), ("└─ ", "   "))
"""Before the left and the right side of a cut, and before what lies below each."""


def rule_texts(tree: Tree, words: Words = ENGLISH) -> list[str]:
    """Return one rule per leaf, by cluster."""
    return [_rule(tree, rule, words) for rule in tree.leaf_rules()]


def tree_text(tree: Tree, words: Words = ENGLISH) -> str:
    """Return the tree with its cuts, a line for each side; what is one cluster ends in its number and size."""
    return "\n".join(_branches(tree, 0, "", words)) if tree.column[0] >= 0 else _leaf(tree, 0, words)


def _branches(tree: Tree, node: int, before: str, words: Words) -> Iterator[str]:
    """Yield the lines of both sides of a cut, each with what lies below it."""
    children = int(tree.left[node]), int(tree.right[node])
    for child, side, (joint, below) in zip(children, tree.sides(node), _JOINTS, strict=True):
        condition = printable(condition_text([side], words))
        if tree.column[child] < 0:
            yield before + joint + words("tree.leaf", condition=condition, cluster=_leaf(tree, child, words))
        else:
            yield before + joint + condition
            yield from _branches(tree, child, before + below, words)


def _leaf(tree: Tree, node: int, words: Words) -> str:
    """Return the cluster of a part of the tree, and about how many there are."""
    size = size_in_words(float(tree.size[node]), tree.counted, words)
    return words("tree.cluster", cluster=int(tree.cluster[node]), size=size)


def _rule(tree: Tree, rule: Rule, words: Words) -> str:
    condition = condition_text(rule.conditions, words)
    return printable(words("rule", condition=condition, size=size_in_words(rule.size, tree.counted, words)))


def size_in_words(size: float, counted: str, words: Words = ENGLISH) -> str:
    """Return about how many there are."""
    return words("rule.size", size=rough_size(size), counted=counted_text(counted, words))


def condition_text(conditions: Iterable[Condition], words: Words = ENGLISH, at_most: str = "<=") -> str:
    """Return what must hold; `at_most` is the sign for "at most"."""
    parts = [_demand(condition, words, at_most) for condition in conditions]
    return words("rule.and").join(parts) if parts else words("rule.everyone")


def _demand(condition: Condition, words: Words, at_most: str) -> str:
    column = condition.column
    if condition.category is not None:
        key = "rule.is" if condition.is_category else "rule.is_not"
        return words(key, column=column, category=condition.category)
    if (answer := _answer(condition)) is not None:
        return words("rule.is", column=column, category=clean(answer))
    low, high = (None if end is None else _limit(end, condition) for end in (condition.above, condition.up_to))
    key = "rule.more_than" if high is None else "rule.at_most" if low is None else "rule.between"
    return words(key, column=column, low=low, high=high, at_most=at_most)


def _answer(condition: Condition) -> str | None:
    """Return the word for yes or for no, if a cut between the two is all that is demanded of the column."""
    written, above, up_to = condition.notation, condition.above, condition.up_to
    cut = up_to if above is None else above if up_to is None else None
    if not isinstance(written, YesNo) or cut is None or not 0.0 <= cut < 1.0:
        return None
    return written.no[0] if above is None else written.yes[0]


def _limit(end: float, condition: Condition) -> str:
    """Return the end of an interval: a number, a date, or the last band that belongs to what is below."""
    written = condition.notation
    text = None if written is None else written.text(math.floor(end) if isinstance(written, Bands) else end)
    return threshold_text(end, condition.width) if text is None else clean(text)
