"""The overview: a line per column of the table, a cell per cluster, shaded by how far the cluster is from all rows.

Up to a few clusters, cells hold numbers; of more, each line is a strip of colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release import ColumnProfile, Release
from dpmondrian.schema import Indicator
from dpmondrian.show.report.comparison import MOST_LEVELS, Everyone, Groups, levels
from dpmondrian.show.report.palette import look_of
from dpmondrian.show.report.selection import MOST_CLUSTERS, Shown
from dpmondrian.show.texts.facts import column_notes
from dpmondrian.show.texts.profiles import half_text, proposed_name, quartile_texts, share_column, share_texts
from dpmondrian.show.words import Words
from dpmondrian.show.words.numbers import (
    clean,
    is_share,
    line_decimals,
    number,
    share_text,
    size_decimals,
    written,
)

MOST_WITH_NUMBERS = 8
"""Clusters whose numbers find room side by side, also on paper."""

_MOST_CATEGORIES = 6
_LONGEST_NAME = 80  # of a cluster; most names that are made of two columns fit, whose own names are short already
_WIDE_ON_PAPER = 3  # clusters beside which a cell has room for a number and a range in one line
_PRINTED = {0: 32, 2: 18, 3: 44, 4: 44, 5: 44}
_MOST_PRINTED = 60
"""Lines that are printed, by the number of clusters that have cells (one has none, and two lines side by side): so many as leave room for the rest."""
_MOST_WITH_RANGES = 20
"""Lines of which the range of the middle half is printed, too, if cells are narrow."""
_MOST_NAMED = 3  # clusters that a strip names in words at either end


@dataclass(frozen=True)
class Head:
    """A cluster at the head of its cells."""

    number: int
    colour: int
    shape: int
    size: str
    share: str
    name: str  # empty for segments


@dataclass(frozen=True)
class Cell:
    """A value as text, the range of the middle half (empty where it is not known), and the class of its shade."""

    text: str
    half: str = ""
    shade: str = ""


@dataclass(frozen=True)
class Line:
    """A column of the table, or one of its categories; the cell of all rows comes first."""

    name: str
    note: str
    cells: tuple[Cell, ...]
    about: str  # in which clusters values are highest and lowest


@dataclass(frozen=True)
class Block:
    """A numeric column with its one line, or a column of categories, which names the block, with a line for each."""

    title: str
    lines: tuple[Line, ...]
    weight: float  # how much clusters differ in it
    n_more: int = 0  # categories that are left out

    @property
    def n_lines(self) -> int:
        """Lines of the table that the block takes."""
        return len(self.lines) + bool(self.title) + bool(self.n_more)


@dataclass(frozen=True)
class Overview:
    """The table: a head per cluster and a block per column."""

    heads: tuple[Head, ...]
    blocks: tuple[Block, ...]

    @cached_property
    def printed(self) -> frozenset[int]:
        """Numbers of the blocks that find room on paper: those in which clusters differ most."""
        order = sorted(range(len(self.blocks)), key=lambda number: -self.blocks[number].weight)
        n_lines = np.cumsum([self.blocks[number].n_lines for number in order])
        return frozenset(order[: int(np.sum(n_lines <= _PRINTED.get(len(self.heads), _MOST_PRINTED)))])

    @property
    def is_long(self) -> bool:
        """Whether ranges would take too many pages."""
        return (
            len(self.heads) > _WIDE_ON_PAPER
            and sum(self.blocks[number].n_lines for number in self.printed) > _MOST_WITH_RANGES
        )

    @property
    def with_numbers(self) -> bool:
        """Whether there is room for numbers."""
        return len(self.heads) <= MOST_WITH_NUMBERS


def column_groups(shown: Shown, most: int | None = None) -> list[list[int]]:
    """Return the shown columns of centres, those of one column of categories together; at most so many columns of the table."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for j in shown.columns:
        column = shown.centre_columns[j]
        of_category = isinstance(column, Indicator)
        groups.setdefault((column.of if isinstance(column, Indicator) else column.name, of_category), []).append(j)
    return list(groups.values())[:most]


def heads_of(groups: Groups, n_shown: int, words: Words) -> tuple[Head, ...]:
    """Return the heads of the first clusters."""
    whole = float(max(groups.sizes.sum(), 1.0))
    return tuple(
        Head(
            number=c,
            colour=look_of(c)[0],
            shape=look_of(c)[1],
            size=number(float(size), size_decimals(float(error))),
            share=share_text(float(size) / whole, float(error) / whole),
            name=clean(proposed_name(groups, c, words), _LONGEST_NAME) if isinstance(groups, Release) else "",
        )
        for c, (size, error) in enumerate(zip(groups.sizes[:n_shown], groups.size_errors[:n_shown], strict=True))
    )


def overview(shown: Shown, every: Everyone, groups: Groups, most_columns: int | None = None) -> Overview:
    """Return the overview of clusters or segments; a single cluster is all rows, and has no cells of its own."""
    table = _Table(shown, every, groups, levels(shown.release, every, groups))
    return Overview(
        heads_of(groups, table.n_shown, shown.words), tuple(map(table.block, column_groups(shown, most_columns)))
    )


@dataclass(frozen=True)
class _Table:
    """Who is compared with whom."""

    shown: Shown
    every: Everyone
    groups: Groups
    level: NDArray[np.int64]

    @property
    def n_shown(self) -> int:
        """Number of groups that have cells."""
        return 0 if len(self.groups.sizes) == 1 else min(len(self.groups.sizes), MOST_CLUSTERS)

    def block(self, group: list[int]) -> Block:
        """Return the lines of one column of the table."""
        shown, first, weight = self.shown, group[0], float(np.abs(self.level[:, group]).max(axis=1).sum())
        if first not in shown.tree.categories:
            line = self._line(first, shown.names[first], column_notes(shown.centre_columns[first], shown.words))
            return Block("", (line,), weight)
        ordered = sorted(group, key=lambda j: -self.every.centres[j])
        lines = tuple(self._line(j, shown.tree.categories[j][1]) for j in ordered[:_MOST_CATEGORIES])
        return Block(shown.tree.categories[first][0], lines, weight, len(group) - len(lines))

    def _line(self, j: int, name: str, note: str = "") -> Line:
        shades = ["", *map(shade, self.level[: self.n_shown, j].tolist())]
        cells = [Cell(*texts, colour) for texts, colour in zip(self._texts(j), shades, strict=True)]
        return Line(name, note, tuple(cells), self._about(j))

    def _texts(self, j: int) -> Iterator[tuple[str, str]]:
        """Give medians and middle halves, shares, or means: of all rows, then of every group that is shown."""
        profiles = list(self._profiles(j))
        column = self.shown.centre_columns[j]
        if profiles and is_share(column):
            return ((share, "") for share in share_texts(profiles, share_column(column)))
        if profiles:
            words = self.shown.words
            return ((middle, half_text(low, high, words)) for low, middle, high in quartile_texts(profiles))
        values = [float(self.every.centres[j]), *self.groups.centres[: self.n_shown, j].tolist()]
        errors = [float(self.every.errors[j]), *self.groups.centre_errors[: self.n_shown, j].tolist()]
        if is_share(column):
            typical = sorted(errors)[len(errors) // 2]
            return ((share_text(value, typical), "") for value in values)
        decimals = line_decimals(column, values, errors, digits=1)
        return ((written(column, value, places), "") for value, places in zip(values, decimals, strict=True))

    def _profiles(self, j: int) -> Iterator[ColumnProfile]:
        """Give the profiles of a column: of all rows, then of every cluster that is shown; none of segments."""
        release, column = self.shown.release, self.shown.centre_columns[j]
        name = column.of if isinstance(column, Indicator) else column.name
        if isinstance(self.groups, Release) and release.profiles and name in release.profiles.names:
            yield release.profiles.everyone[name]
            yield from (own[name] for own in release.profiles.clusters[: self.n_shown])

    def _about(self, j: int) -> str:
        """Return in words where a line differs from all rows most, for those who do not see its colours."""
        level, words = self.level[:, j], self.shown.words
        order = np.argsort(-level, kind="stable").tolist()
        highest = [str(c) for c in order[:_MOST_NAMED] if level[c] > 0]
        lowest = [str(c) for c in order[::-1][:_MOST_NAMED] if level[c] < 0]
        named = [("highest", highest), ("lowest", lowest)]
        return "; ".join(
            words(f"report.overview.{key}", clusters=", ".join(numbers)) for key, numbers in named if numbers
        ) or words("report.overview.level")


def shade(level: int) -> str:
    """Return the class of a level: "u1" to "u4" above all rows, "b1" to "b4" below, or none."""
    return f"{'u' if level > 0 else 'b'}{min(abs(level), MOST_LEVELS)}" if level else ""
