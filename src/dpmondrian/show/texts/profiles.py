"""Profiles in words: what sets a cluster apart, a name for it, and all that is known of one cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpmondrian.common.printable import printable
from dpmondrian.release import ColumnProfile, Difference, Measured
from dpmondrian.schema import Category, Column, Dates, Indicator, Times, YesNo
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
_MOSTLY, _HARDLY = 0.5, 0.05
"""Shares from which a cluster is said to be of a category, and up to which it is said not to be."""
_FINEST_OF_VALUE, _FINEST_OF_RANGE = 1e-2, 1e-6
"""The finest steps that are shown: of a value on a log scale, and of the range of a column."""


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
        return words("difference.number", kind=words(f"difference.{_direction(difference)}"), own=own, all=every)
    return _beyond_text(difference, words)


def _direction(difference: Difference) -> str:
    """Return the key of the word for higher or lower; of dates and times, these are later and earlier."""
    column = difference.own.column
    is_moment = isinstance(column, Column) and isinstance(column.notation, Dates | Times)
    return f"{difference.kind}.moment" if is_moment else difference.kind


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
    return yes_word(difference.own) or difference.category


def yes_word(profile: ColumnProfile) -> str | None:
    """Return the word for yes of a column of yes and no; None for other columns."""
    notation = _yes_no(profile)
    return None if notation is None else notation.yes[0]


def _yes_no(profile: ColumnProfile) -> YesNo | None:
    notation = profile.column.notation if isinstance(profile.column, Column) else None
    return notation if isinstance(notation, YesNo) else None


def share_in(profile: ColumnProfile, category: str) -> float:
    """Return the share of a category, or of yes."""
    return measured_share(profile, category).value


def share_column(column: Column | Category) -> str:
    """Return the category whose share a column of centres holds, or the word for yes."""
    if isinstance(column, Indicator):
        return column.category
    assert isinstance(column, Column)
    assert isinstance(column.notation, YesNo)
    return column.notation.yes[0]


def measured_share(profile: ColumnProfile, category: str) -> Measured:
    """Return the share of a category, or of yes, with its interval."""
    return profile.share_of[category] if profile.categories else profile.shares[-1]  # yes is the last of two numbers


def share_texts(profiles: list[ColumnProfile], category: str) -> Iterator[str]:
    """Give the shares of a category in several profiles of a column, or of yes, with the same digits for all categories."""
    error = sorted(max(share.error for share in profile.shares) for profile in profiles)[len(profiles) // 2]
    for profile in profiles:
        yield share_text(share_in(profile, category), error)


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
    most = [0 if column.whole else _most_decimals(column, value) for value in values]
    return [min(places) for places in zip(left, useful, most, strict=True)]


def _most_decimals(column: Column, value: float) -> int:
    """Return the decimals beyond which a value says nothing: rows that are all alike do not make more of them known."""
    scale = abs(value) * _FINEST_OF_VALUE if column.log else (column.upper - column.lower) * _FINEST_OF_RANGE
    return min(-math.floor(math.log10(scale)), MOST_DECIMALS) if 0 < scale < math.inf else MOST_DECIMALS


def proposed_name(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return a name of a cluster: its own, else one made of what sets it apart, such as "high age, plan premium"."""
    if cluster in release.names:
        return release.names[cluster]
    parts = _signs(release, cluster, words)
    return words("name.and").join(parts) if parts else words("name.none", cluster=cluster)


def _signs(release: Release, cluster: int, words: Words) -> list[str]:
    """Return what sets a cluster apart, in a few words each; with ranges where the words alone would fit other clusters too."""
    if release.profiles is None:
        return []
    found, is_alike = release.profiles.differences(cluster, _IN_NAMES), release.profiles.is_alike(cluster, _IN_NAMES)
    return [_sign(one, words, is_alike) for one in found]


def _sign(difference: Difference, words: Words, with_range: bool) -> str:
    """Return one difference in a name: "high age", "age 61 to 74", "plan premium", "plan less often premium"."""
    name, category = clean(difference.name, 24), share_name(difference)
    if category is None:
        key = "name.range" if with_range else f"name.{_direction(difference)}"
        return words(key, name=name, own=middle_half(difference.own, words))
    share, notation = share_in(difference.own, category), _yes_no(difference.own)
    if notation is not None and share < _HARDLY:
        return words("name.more", name=name, category=clean(notation.no[0], 24))
    if difference.is_more:
        key = "name.more" if share > _MOSTLY else "name.more_often"
    else:
        key = "name.fewer" if share < _HARDLY else "name.less_often"
    return words(key, name=name, category=clean(category, 24))


def cluster_size_text(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return the size of a cluster, such as "1,240 ± 26 rows, 12.1 % of all"."""
    size, error = float(release.sizes[cluster]), float(release.size_errors[cluster])
    counted, whole = counted_text(release.tree.counted, words), max(float(release.sizes.sum()), 1.0)
    return words(
        "cluster.size", size=size_text(size, error), counted=counted, share=share_text(size / whole, error / whole)
    )


def cluster_text(release: Release, cluster: int, words: Words = ENGLISH) -> str:
    """Return all that is known of one cluster: name, size, what sets it apart, its columns, and where it lies in the tree."""
    lines = [_title(release, cluster, words), cluster_size_text(release, cluster, words)]
    if release.profiles is not None:
        found = [words("list_item", text=difference_text(one, words)) for one in release.profiles.differences(cluster)]
        key = "cluster.apart" if found else "cluster.not_apart" if len(release.sizes) > 1 else "cluster.all_rows"
        lines += ["", words(key, counted=counted_text(release.tree.counted, words)), *found]
        lines += ["", *table_lines(_column_lines(release, cluster, words))]
    rules = [rule for rule in release.tree.pruned.leaf_rules() if rule.cluster == cluster and rule.conditions]
    shown = sorted(rules, key=lambda rule: -rule.size)[:_MOST_RULES]
    lines += ["", words("cluster.rules")] if shown else []
    lines += [words("list_item", text=condition_text(rule.conditions, words)) for rule in shown]
    lines += [words("cluster.more_rules", n=len(rules) - len(shown))] if len(rules) > len(shown) else []
    plain = str.maketrans({"\N{NO-BREAK SPACE}": " ", "\N{MINUS SIGN}": "-"})  # signs of rules are plain, too
    return "\n".join(printable(line.translate(plain)) for line in lines)


def _title(release: Release, cluster: int, words: Words) -> str:
    """Return the number of a cluster and its name, if there is one."""
    if cluster not in release.names and not _signs(release, cluster, words):
        return words("cluster.number", cluster=cluster)
    return words("cluster.title", cluster=cluster, name=proposed_name(release, cluster, words))


def _column_lines(release: Release, cluster: int, words: Words) -> list[tuple[str, ...]]:
    """Return the columns of a cluster beside those of all rows: the middle half, or the shares of categories and of yes."""
    assert release.profiles is not None
    own, every = release.profiles.clusters[cluster], release.profiles.everyone
    lines: list[tuple[str, ...]] = [(words("cluster.column"), words("cluster.own"), words("cluster.all"))]
    for name in release.profiles.names:
        yes = yes_word(own[name])
        if own[name].categories is None and yes is None:
            lines.append((clean(name), *middle_halves([own[name], every[name]], words)))
            continue
        for category in own[name].categories or (yes or "",):
            here, in_all = measured_share(own[name], category), measured_share(every[name], category)
            shares = percent(here.value), percent(here.longer_error), percent(in_all.value)
            lines.append(
                (clean(f"{name}={category}"), words("cluster.share", share=shares[0], error=shares[1]), shares[2])
            )
    return lines
