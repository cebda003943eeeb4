"""The table of clusters and their rules, ready to be written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpmondrian.schema import Column, Indicator
from dpmondrian.show.report.palette import look_of
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.texts.columns import column_notes
from dpmondrian.show.texts.rules import condition_text, size_in_words
from dpmondrian.show.words.numbers import decimals_for, percent, size_text, value_text

__all__ = [
    "Bar",
    "Cell",
    "ClusterRow",
    "Head",
    "RuleText",
    "cluster_rows",
    "rules_by_cluster",
    "table_heads",
    "value_texts",
]

_BAR_WIDTH = 96.0
_MOST_LEVELS = 6


@dataclass(frozen=True)
class Bar:
    """A small bar with a whisker of one standard error to either side, in pixels."""

    length: float
    low: float
    high: float


@dataclass(frozen=True)
class Head:
    """The head of a column of the table."""

    name: str
    note: str
    of_categories: bool = False


@dataclass(frozen=True)
class Cell:
    """A centre in one column of the table: one text, or one line (name, text, share) per category."""

    text: str = ""
    shares: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True)
class RuleText:
    """The rule of a leaf in words, and how many fulfil it."""

    condition: str
    size: str


@dataclass(frozen=True)
class ClusterRow:
    """One cluster: texts, and numbers of colour and shape."""

    number: int
    colour: int
    shape: int
    size: str
    share: str
    bar: Bar
    cells: tuple[Cell, ...]
    rules: tuple[RuleText, ...]
    title: str
    summary: str


def table_heads(shown: Shown) -> list[Head]:
    """Return the heads of the columns of centres; a column of categories has one."""
    return [_head(shown, group) for group in _column_groups(shown)]


def _head(shown: Shown, group: list[int]) -> Head:
    column = shown.centre_columns[group[0]]
    if isinstance(column, Indicator):
        return Head(shown.tree.categories[group[0]][0], shown.words("column.shares"), True)
    return Head(shown.names[group[0]], column_notes(column, shown.words))


def _column_groups(shown: Shown) -> list[list[int]]:
    """Return the shown columns of centres, those of one column of categories together."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for j in shown.columns:
        column = shown.centre_columns[j]
        of_category = isinstance(column, Indicator)
        groups.setdefault((column.of if isinstance(column, Indicator) else column.name, of_category), []).append(j)
    return list(groups.values())


def cluster_rows(shown: Shown) -> list[ClusterRow]:
    """Return the shown clusters."""
    release = shown.release
    whole = float(max(release.sizes.sum(), 1.0))
    longest = float(max((release.sizes + release.size_errors).max(), 1.0))
    groups, rules = _column_groups(shown), rules_by_cluster(shown)
    texts = value_texts(shown)
    place = {j: i for i, j in enumerate(shown.columns)}
    rows = []
    for number in range(shown.n_clusters):
        size, error = float(release.sizes[number]), float(release.size_errors[number])
        colour, shape = look_of(number)
        ends = [
            float(np.clip(_BAR_WIDTH * end / longest, 0.0, _BAR_WIDTH)) for end in (size, size - error, size + error)
        ]
        cells = tuple(_cell(shown, number, group, [texts[number][place[j]] for j in group]) for group in groups)
        share = percent(size / whole)
        rows.append(
            ClusterRow(
                number=number,
                colour=colour,
                shape=shape,
                size=size_text(size, error),
                share=share,
                bar=Bar(*(round(end, 1) for end in ends)),
                cells=cells,
                rules=tuple(rules.get(number, ())),
                title=shown.words("report.cluster", cluster=number),
                summary=shown.words(
                    "report.cluster_size", size=size_text(size, error), counted=shown.counted, share=share
                ),
            )
        )
    return rows


def _cell(shown: Shown, number: int, group: list[int], texts: list[str]) -> Cell:
    if not isinstance(shown.centre_columns[group[0]], Indicator):
        return Cell(texts[0])
    shares = [float(shown.release.centres[number, j]) for j in group]
    names = [shown.tree.categories[j][1] for j in group]
    lines = list(zip(names, texts, shares, strict=True))
    if len(lines) > _MOST_LEVELS:
        lines.sort(key=lambda line: -line[2])
        rest = math.fsum(line[2] for line in lines[_MOST_LEVELS - 1 :])
        others = shown.words("others", n=len(lines) - _MOST_LEVELS + 1)
        lines = [*lines[: _MOST_LEVELS - 1], (others, percent(rest, 0), rest)]
    return Cell(shares=tuple((name, text, round(min(max(share, 0.0), 1.0), 3)) for name, text, share in lines))


def value_texts(shown: Shown) -> list[list[str]]:
    """Return the centres of the shown clusters in the shown columns as text, with errors; a column has the same decimals."""
    release = shown.release
    decimals = [
        decimals_for(release.centre_errors[:, j].tolist(), release.centres[:, j].tolist()) for j in shown.columns
    ]
    columns: list[Column] = [shown.centre_columns[j] for j in shown.columns]
    return [
        [
            value_text(column, float(release.centres[number, j]), float(release.centre_errors[number, j]), places)
            for column, j, places in zip(columns, shown.columns, decimals, strict=True)
        ]
        for number in range(shown.n_clusters)
    ]


def rules_by_cluster(shown: Shown) -> dict[int, list[RuleText]]:
    """Return the rules of the leaves of every cluster."""
    rules: dict[int, list[RuleText]] = {}
    for rule in shown.tree.leaf_rules():
        condition = condition_text(rule.conditions, shown.words, at_most="≤")
        size = size_in_words(rule.size, shown.tree.counted, shown.words)
        rules.setdefault(rule.cluster, []).append(RuleText(condition, size))
    return rules
