"""The rules of a tree as sentences, such as "age <= 41.5 and bmi > 30: about 1,240 people"."""

from __future__ import annotations

from collections.abc import Iterable

from dpmondrian.common.printable import printable
from dpmondrian.release import Condition, Rule, Tree
from dpmondrian.show.texts.facts import counted_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import rough_size, threshold_text

__all__ = ["condition_text", "rule_texts", "size_in_words", "tree_text"]


def rule_texts(tree: Tree, words: Words = ENGLISH) -> list[str]:
    """Return one rule per leaf, by cluster."""
    return [_rule(tree, rule, words) for rule in tree.leaf_rules()]


def tree_text(tree: Tree, words: Words = ENGLISH) -> str:
    """Return the rules with their clusters, a line each."""
    return "\n".join(
        words("rule.of_cluster", cluster=rule.cluster, rule=_rule(tree, rule, words)) for rule in tree.leaf_rules()
    )


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
    low, high = (
        None if end is None else threshold_text(end, condition.width) for end in (condition.above, condition.up_to)
    )
    key = "rule.more_than" if high is None else "rule.at_most" if low is None else "rule.between"
    return words(key, column=column, low=low, high=high, at_most=at_most)
