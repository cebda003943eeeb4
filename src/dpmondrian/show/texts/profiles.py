"""Profiles in words: what sets a cluster apart, a name for it, and all that is known of one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.release import ColumnProfile, Difference
from dpmondrian.schema import Column, YesNo
from dpmondrian.show.texts.facts import counted_text, table_lines
from dpmondrian.show.texts.rules import condition_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import (
    MOST_DECIMALS,
    clean,
    decimals_for,
    line_decimals,
    percent,
    share_text,
    size_text,
    written,
)

if TYPE_CHECKING:
    from dpmondrian.release import Release

_IN_NAMES, _MOST_RULES = 2, 5


def difference_text(difference: Difference, words: Words = ENGLISH) -> str:
    """Return one difference, such as "age higher: 61 to 74, all 35 to 68" or "plan premium: 81.2 %, all 30.1 %"."""
    return words("difference", name=clean(difference.name), detail=difference_detail(difference, words))


def difference_detail(difference: Difference, words: Words = ENGLISH) -> str:
    """Return how the column of a difference differs, without its name."""
    profiles = [difference.own, difference.every]
    category = share_name(difference)
    if category is not None:
        own, every = share_texts(profiles, category)
        return words("difference.category", category=clean(category), own=own, all=every)
    own, every = middle_halves(profiles, words)
    if own != every:
        return words("difference.number", kind=words(f"difference.{difference.kind}"), own=own, all=every)
    return _beyond_text(difference, words)


def _beyond_text(difference: Difference, words: Words) -> str:
    """Return a difference that the middle half of the rows does not show: the share beyond an end of that of all rows."""
    higher = difference.kind == "higher"
    end = 2 if higher else 0
    limit, [texts] = difference.every.quartiles[end].value, quartile_texts([difference.every])
    shares = [profile.share_above(limit) for profile in (difference.own, difference.every)]
    own, every = (percent(share if higher else 1.0 - share) for share in shares)
    return words("difference.above" if higher else "difference.up_to", limit=texts[end], own=own, all=every)


def share_name(difference: Difference) -> str | None:
    """Return the category whose share differs, or the word for yes; None for other columns."""
    column = difference.own.column
    if isinstance(column, Column) and isinstance(column.notation, YesNo):
        return column.notation.yes[0]
    return difference.category


def share_texts(profiles: list[ColumnProfile], category: str) -> Iterator[str]:
    """Give the shares of a category in several profiles of a column, or of yes, with the same digits for all categories."""
    error = sorted(max(share.error for share in profile.shares) for profile in profiles)[len(profiles) // 2]
    for profile in profiles:  # yes is the last of two whole numbers
        share = profile.share_of[category] if profile.categories else profile.shares[-1]
        yield share_text(share.value, error)


def middle_half(profile: ColumnProfile, words: Words = ENGLISH) -> str:
    """Return between which values the middle half of the rows of a numeric column lies, with as many digits as are known."""
    return middle_halves([profile], words)[0]


def middle_halves(profiles: list[ColumnProfile], words: Words = ENGLISH) -> list[str]:
    """Return the same for several profiles of one column, with the same digits."""
    return [half_text(low, high, words) for low, _, high in quartile_texts(profiles)]


def half_text(low: str, high: str, words: Words = ENGLISH) -> str:
    """Return the range of the middle half, or the one value that all of it has."""
    return low if low == high else words("column.bounds", lower=low, upper=high)


def quartile_texts(profiles: list[ColumnProfile]) -> Iterator[list[str]]:
    """Give the quartiles of each profile of a numeric column."""
    column = profiles[0].column
    assert isinstance(column, Column)
    for profile, places in zip(profiles, _decimals(column, profiles), strict=True):
        yield [written(column, quartile.value, places) for quartile in profile.quartiles]


def _decimals(column: Column, profiles: list[ColumnProfile]) -> list[int]:
    """Return the decimals of the quartiles of each profile: what noise leaves, but no more than tell its rows apart.

    They are the same side by side, but where one profile is ten times as wide as another.
    """
    medians = [profile.quartiles[1] for profile in profiles]
    values, errors = [each.value for each in medians], [each.error for each in medians]
    halves = [profile.quartiles[2].value - profile.quartiles[0].value for profile in profiles]
    left, common = line_decimals(column, values, errors, digits=1), line_decimals(column, values, halves)
    own = [decimals_for([half], [value]) for half, value in zip(halves, values, strict=True)]
    useful = [many if abs(many - few) > 1 else few for many, few in zip(own, common, strict=True)]
    return [min(*places, 0 if column.whole else MOST_DECIMALS) for places in zip(left, useful, strict=True)]


def proposed_name(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return a name of a cluster: its own, else one made of what sets it apart, such as "high age, plan premium"."""
    if cluster in release.names:
        return release.names[cluster]
    found = () if release.profiles is None else release.profiles.differences(cluster, _IN_NAMES)
    parts = [
        words(f"name.{one.kind}", name=clean(one.name, 24), category=clean(one.category or "", 24)) for one in found
    ]
    return words("name.and").join(parts) or words("name.none", cluster=cluster)


def cluster_size_text(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return the size of a cluster, such as "1,240 ± 26 rows, 12.1 % of all"."""
    size, error = float(release.sizes[cluster]), float(release.size_errors[cluster])
    counted, whole = counted_text(release.tree.counted, words), max(float(release.sizes.sum()), 1.0)
    return words("cluster.size", size=size_text(size, error), counted=counted, share=percent(size / whole))


def cluster_text(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return all that is known of one cluster: name, size, what sets it apart, its columns, and where it lies in the tree."""
    name = proposed_name(release, cluster, words)
    lines = [words("cluster.title", cluster=cluster, name=name), cluster_size_text(release, cluster, words)]
    if release.profiles is not None:
        found = [words("list_item", text=difference_text(one, words)) for one in release.profiles.differences(cluster)]
        lines += ["", words("cluster.apart" if found else "cluster.not_apart"), *found]
        lines += ["", *table_lines(_column_lines(release, cluster, words))]
    rules = [rule for rule in release.tree.pruned.leaf_rules() if rule.cluster == cluster]
    shown = sorted(rules, key=lambda rule: -rule.size)[:_MOST_RULES]
    lines += ["", words("cluster.rules")] if shown else []
    lines += [words("list_item", text=condition_text(rule.conditions, words)) for rule in shown]
    lines += [words("cluster.more_rules", n=len(rules) - len(shown))] if len(rules) > len(shown) else []
    return "\n".join(printable(line.replace("\N{NO-BREAK SPACE}", " ")) for line in lines)


def _column_lines(release: Release, cluster: int, words: Words) -> list[tuple[str, ...]]:
    """Return the columns of a cluster beside those of all rows: the middle half, or the shares of categories."""
    assert release.profiles is not None
    own, every = release.profiles.clusters[cluster], release.profiles.everyone
    lines: list[tuple[str, ...]] = [(words("cluster.column"), words("cluster.own"), words("cluster.all"))]
    for name in release.profiles.names:
        if own[name].categories is None:
            lines.append((clean(name), middle_half(own[name], words), middle_half(every[name], words)))
            continue
        for category, share in own[name].share_of.items():
            in_all = every[name].share_of[category]
            lines.append((clean(f"{name}={category}"), percent(share.value), percent(in_all.value)))
    return lines
