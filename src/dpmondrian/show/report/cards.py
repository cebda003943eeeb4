"""A card per cluster: its size, what sets it apart, its rule, and all its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmondrian.release import ColumnProfile, Difference
from dpmondrian.schema import Indicator
from dpmondrian.show.report.comparison import Everyone, levels
from dpmondrian.show.report.histograms import WIDTH, Bars, Share, bars, shares
from dpmondrian.show.report.overview import Head, heads_of
from dpmondrian.show.report.scales import places
from dpmondrian.show.report.selection import Shown
from dpmondrian.show.texts.clusters import certainty_texts
from dpmondrian.show.texts.profiles import difference_detail, measured_share, middle_half, share_column, share_name
from dpmondrian.show.texts.rules import condition_text, size_in_words
from dpmondrian.show.words.numbers import (
    bounds_of,
    decimals_for,
    is_share,
    number,
    share_text,
    size_decimals,
    unbroken,
    written,
)

_MOST_FEATURES, _MOST_RULES = 3, 8
_MOST_WITH_NUMBERS = 200
"""Clusters whose cards hold the numbers of all columns; more would make a page that a browser takes long to draw."""


@dataclass(frozen=True)
class Marks:
    """Where two means lie between the bounds, for a picture without histograms."""

    own: float
    every: float
    low: str
    high: str


@dataclass(frozen=True)
class Feature:
    """A column that sets a cluster apart: in words, and as a picture."""

    name: str
    text: str
    bars: Bars | None = None
    shares: tuple[Share, ...] = ()
    marks: Marks | None = None


@dataclass(frozen=True)
class RuleText:
    """The rule of a part in words, and how many fulfil it."""

    condition: str
    size: str


@dataclass(frozen=True)
class Known:
    """What is known of one column: the middle half of the rows (empty without a profile), the mean, and its noise error."""

    name: str
    half: str
    mean: str
    error: str


@dataclass(frozen=True)
class Card:
    """One cluster in words."""

    head: Head
    title: str
    error: str  # of the size, by noise
    certainty: str  # how sure it is that the cluster is apart, empty where that was not found out
    features: tuple[Feature, ...]
    rules: tuple[RuleText, ...]  # of the largest parts
    n_more_rules: int
    known: tuple[Known, ...]  # none where there are very many clusters
    summary: str


def cards(shown: Shown, every: Everyone) -> list[Card]:
    """Return the cards of the shown clusters."""
    rules, features, certainty = _rules(shown), _features(shown, every), certainty_texts(shown.release, shown.words)
    return [
        _card(shown, head, certainty[head.number], rules.get(head.number, []), features[head.number])
        for head in heads_of(shown.release, shown.n_clusters, shown.words)
    ]


def _card(shown: Shown, head: Head, certainty: str, rules: list[RuleText], features: tuple[Feature, ...]) -> Card:
    release, words = shown.release, shown.words
    error = float(release.size_errors[head.number])
    return Card(
        head=head,
        title=head.name if len(release.sizes) > 1 else words("report.overview.all", counted=shown.counted),
        error=number(error, size_decimals(error)),
        certainty=unbroken(certainty),
        features=features,
        rules=tuple(rules[:_MOST_RULES]),
        n_more_rules=max(0, len(rules) - _MOST_RULES),
        known=tuple(_known(shown, head.number, j) for j in shown.columns)
        if shown.n_clusters <= _MOST_WITH_NUMBERS
        else (),
        summary=words(
            "report.cluster_size",
            size=head.size,
            counted=shown.counted,
            share=head.share,
            error=number(error, size_decimals(error)),
        ),
    )


def _features(shown: Shown, every: Everyone) -> list[tuple[Feature, ...]]:
    """Return what sets every cluster apart; of a single one, how its rows are distributed."""
    profiles = shown.release.profiles
    if profiles is None:
        return list(_by_means(shown, every))
    if len(shown.release.sizes) == 1:
        return [tuple(_distribution(shown, profile) for profile in profiles.everyone.columns[: 2 * _MOST_FEATURES])]
    return [
        tuple(_difference(shown, found) for found in profiles.differences(c, _MOST_FEATURES))
        for c in range(shown.n_clusters)
    ]


def _label(shown: Shown, name: str) -> str:
    """Return the label of a column of the table."""
    names = {column.name: j for j, column in enumerate(shown.centre_columns)}
    of = {shown.centre_columns[j].of: short for j, (short, _) in shown.tree.categories.items()}  # type: ignore[attr-defined]
    return of[name] if name in of else shown.labels[names[name]]


def _difference(shown: Shown, found: Difference) -> Feature:
    name, text = _label(shown, found.name), difference_detail(found, shown.words)
    category = share_name(found)
    if category is None:
        return Feature(name, text, bars=bars(found.own, found.every))
    return Feature(name, text, shares=shares(found.own, found.every, category))


def _distribution(shown: Shown, profile: ColumnProfile) -> Feature:
    name = _label(shown, profile.column.name)
    if profile.categories or is_share(profile.column):
        return Feature(name, "", shares=shares(profile, profile))
    text = shown.words("report.card.half", own=middle_half(profile, shown.words))
    return Feature(name, text, bars=bars(profile, profile))


def _by_means(shown: Shown, every: Everyone) -> Iterator[tuple[Feature, ...]]:
    """Give, by cluster, the columns whose means are farthest from those of all rows, of those that noise cannot explain."""
    release = shown.release
    level = levels(release, every, release)
    order = np.argsort(-np.abs(level), axis=1, kind="stable").tolist()
    for c in range(shown.n_clusters):
        differing = [j for j in order[c] if level[c, j] and j in shown.columns]
        yield tuple(_means(shown, every, c, j) for j in differing[:_MOST_FEATURES])


def _means(shown: Shown, every: Everyone, cluster: int, j: int) -> Feature:
    release, column = shown.release, shown.centre_columns[j]
    pairs = ((release.centres[cluster, j], release.centre_errors[cluster, j]), (every.centres[j], every.errors[j]))
    own, all_rows = (_mean(shown, j, float(value), float(error), digits=1)[0] for value, error in pairs)
    at = (WIDTH * places(column, np.array([value for value, _ in pairs]))).round(1).tolist()
    low, high = ("0 %", "100 %") if is_share(column) else bounds_of(column)
    text = shown.words("report.card.mean", own=own, every=all_rows)
    return Feature(shown.labels[j], text, marks=Marks(at[0], at[1], low, high))


def _mean(shown: Shown, j: int, value: float, error: float, digits: int = 2) -> tuple[str, str]:
    """Return a mean or a share and its noise error, with the digits that the error leaves."""
    column = shown.centre_columns[j]
    if is_share(column):
        return share_text(value, error), share_text(error, error)
    decimals = decimals_for([error], [value], digits)
    return written(column, value, decimals), number(error, decimals)


def mean_texts(shown: Shown, cluster: int, j: int) -> tuple[str, str]:
    """Return a mean or a share of a cluster and its noise error."""
    release = shown.release
    return _mean(shown, j, float(release.centres[cluster, j]), float(release.centre_errors[cluster, j]))


def _known(shown: Shown, cluster: int, j: int) -> Known:
    release, column = shown.release, shown.centre_columns[j]
    name = shown.names[j] if j in shown.tree.categories else shown.labels[j]
    of = column.of if isinstance(column, Indicator) else column.name
    mean = mean_texts(shown, cluster, j)
    if release.profiles is None or of not in release.profiles.names:
        return Known(name, "", *mean)
    profile = release.profiles.clusters[cluster][of]
    if not is_share(column):
        return Known(name, middle_half(profile, shown.words), *mean)
    share = measured_share(profile, share_column(column))  # that of the overview
    error = share.longer_error
    return Known(name, "", share_text(share.value, error), share_text(error, error))


def _rules(shown: Shown) -> dict[int, list[RuleText]]:
    """Return the rules of the parts of every cluster, the largest first."""
    rules: dict[int, list[RuleText]] = {}
    for rule in sorted(shown.tree.leaf_rules(), key=lambda rule: -rule.size):
        condition = condition_text(rule.conditions, shown.words, at_most="≤")
        size = size_in_words(rule.size, shown.tree.counted, shown.words)
        rules.setdefault(rule.cluster, []).append(RuleText(condition, size))
    return rules
