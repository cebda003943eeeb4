"""Small pieces of HTML for notebooks: a privacy statement, and a release. Styles are inline, there is no script."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release import PrivacyStatement, Release
from dpmondrian.schema import Indicator
from dpmondrian.show.html import template
from dpmondrian.show.report.guarantee import explanation, guarantee_line, kinds
from dpmondrian.show.report.overview import column_groups
from dpmondrian.show.report.palette import LIGHT, look_of
from dpmondrian.show.report.selection import Shown, shown_part
from dpmondrian.show.texts.clusters import certainty_texts, one_cluster_text
from dpmondrian.show.texts.facts import column_notes, neighbours_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean, decimals_for, percent, share_text, size_text, value_text

_MOST_ROWS, _MOST_COLUMNS = 20, 8
_MOST_LEVELS = 6  # categories of a column that a cell lists


def statement_html(privacy: PrivacyStatement, *, words: Words = ENGLISH) -> str:
    """Return a privacy statement as a piece of HTML: the guarantee in words, what it means, and what was drawn by kind.

    Also of a statement without a guarantee, whose epsilon is infinite: it then says why nothing is promised.
    """
    page = template("statement.html").render(
        words=words,
        privacy=privacy,
        sound=math.isfinite(privacy.epsilon),
        line=guarantee_line(privacy, words),
        neighbours=clean(neighbours_text(privacy, words), 300),
        explained=explanation(privacy),
        defects=[clean(defect, 300) for defect in getattr(privacy, "defects", ())],
        kinds=kinds(privacy, words),
        randomness=words(f"randomness.{privacy.randomness}"),
    )
    return str(page)


def release_html(release: Release, *, words: Words = ENGLISH) -> str:
    """Return a release as a piece of HTML: one line of guarantee, and the table of clusters, of large ones the beginning."""
    shown = shown_part(release, words)
    page = template("release.html").render(
        words=words,
        privacy=release.privacy,
        sound=math.isfinite(release.privacy.epsilon),
        line=guarantee_line(release.privacy, words),
        heads=table_heads(shown)[:_MOST_COLUMNS],
        rows=cluster_rows(shown, _MOST_ROWS),
        colours=LIGHT,
        counted=shown.counted,
        n_clusters=len(release.sizes),
        n_rows=float(max(release.sizes.sum(), 0.0)),
        n_columns=len(release.schema.columns),
        one=one_cluster_text(release, words=words) if release.found_one else "",
    )
    return str(page)


@dataclass(frozen=True)
class ColumnHead:
    """The head of a column of the table."""

    name: str
    note: str


@dataclass(frozen=True)
class Centre:
    """A centre in one column of the table: one text, or one line (name, text, share) per category."""

    text: str = ""
    shares: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True)
class ClusterRow:
    """One cluster: texts, and the number of its colour."""

    number: int
    colour: int
    size: str
    share: str
    cells: tuple[Centre, ...]
    certainty: str  # how sure it is that the cluster is apart, empty where that was not found out


def table_heads(shown: Shown) -> list[ColumnHead]:
    """Return the heads of the columns of centres; a column of categories has one."""
    return [_head(shown, group[0]) for group in column_groups(shown)]


def _head(shown: Shown, j: int) -> ColumnHead:
    if j in shown.tree.categories:
        return ColumnHead(shown.tree.categories[j][0], shown.words("column.shares"))
    return ColumnHead(shown.names[j], column_notes(shown.centre_columns[j], shown.words))


def cluster_rows(shown: Shown, most: int) -> list[ClusterRow]:
    """Return the first clusters."""
    release = shown.release
    whole, centres = float(max(release.sizes.sum(), 1.0)), _centres(shown)
    certainty = certainty_texts(release, shown.words)
    return [
        ClusterRow(
            number=number,
            colour=look_of(number)[0],
            size=size_text(float(release.sizes[number]), float(release.size_errors[number])),
            share=share_text(float(release.sizes[number]) / whole, float(release.size_errors[number]) / whole),
            cells=centres[number],
            certainty=certainty[number],
        )
        for number in range(min(shown.n_clusters, most))
    ]


def _centre(shown: Shown, centre: NDArray[np.float64], group: list[int], texts: list[str]) -> Centre:
    if not isinstance(shown.centre_columns[group[0]], Indicator):
        return Centre(texts[0])
    shares = [float(centre[j]) for j in group]
    names = [shown.tree.categories[j][1] for j in group]
    lines = list(zip(names, texts, shares, strict=True))
    if len(lines) > _MOST_LEVELS:
        lines.sort(key=lambda line: -line[2])
        rest = math.fsum(line[2] for line in lines[_MOST_LEVELS - 1 :])
        others = shown.words("others", n=len(lines) - _MOST_LEVELS + 1)
        lines = [*lines[: _MOST_LEVELS - 1], (others, percent(rest, 0), rest)]
    return Centre(shares=tuple(lines))


def _centres(shown: Shown) -> list[tuple[Centre, ...]]:
    """Return the centres of clusters in the shown columns."""
    groups, texts = column_groups(shown), _value_texts(shown.release, shown)
    return [
        tuple(_centre(shown, centre, group, [row[j] for j in group]) for group in groups)
        for centre, row in zip(shown.release.centres, texts, strict=True)
    ]


def _value_texts(release: Release, shown: Shown) -> list[dict[int, str]]:
    """Return centres in the shown columns as text, by column, with errors; a column has the same decimals everywhere."""
    centres, errors = release.centres, release.centre_errors
    decimals = {j: decimals_for(errors[:, j].tolist(), centres[:, j].tolist()) for j in shown.columns}
    return [
        {
            j: value_text(shown.centre_columns[j], float(centre[j]), float(error[j]), places)
            for j, places in decimals.items()
        }
        for centre, error in zip(centres, errors, strict=True)
    ]
