"""What of a release the report shows: all of it, but of very large releases the most important part."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpmondrian.release import Release, Tree
from dpmondrian.schema import Category, Column, Indicator
from dpmondrian.show.report.scales import columns_by_cuts
from dpmondrian.show.texts.facts import column_label, counted_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import LONGEST_NAME, short_names

MOST_CLUSTERS = 1000
MOST_CELLS, CELLS_PER_CLUSTER = 10_000, 10  # room for the cells of the table; a cluster takes so many beside its own

LEAST_COLUMNS = 10
FEW_LEAVES, SHORTER_NAME = 200, 24  # with more leaves than this, names, which every rule repeats, are cut shorter


@dataclass(frozen=True)
class Shown:
    """A release, with names that are short and harmless, and what of it is shown."""

    release: Release
    n_clusters: int  # the first, that is largest, so many clusters are shown
    columns: tuple[int, ...]  # columns of centres that are shown, in the order of the table
    names: tuple[str, ...]  # of all columns of centres
    labels: tuple[str, ...]  # what stands at the axes of all columns of centres
    tree: Tree  # with these names
    words: Words

    @property
    def centre_columns(self) -> tuple[Column, ...]:
        """All columns of centres."""
        return self.release.schema.centre_columns

    @property
    def counted(self) -> str:
        """What sizes count, in words: people or rows."""
        return counted_text(self.tree.counted, self.words)


def shown_part(release: Release, words: Words = ENGLISH) -> Shown:
    """Return what is shown: up to 1,000 clusters, and so many of the columns that are cut most that the page stays light."""
    n_clusters = min(len(release.sizes), MOST_CLUSTERS)
    n_columns = max(LEAST_COLUMNS, MOST_CELLS // n_clusters - CELLS_PER_CLUSTER)
    tree, columns = _short_tree(release, words), release.schema.centre_columns
    return Shown(
        release=release,
        n_clusters=n_clusters,
        columns=tuple(sorted(columns_by_cuts(release)[:n_columns])),
        names=tree.names,
        labels=tuple(column_label(column, name, words) for column, name in zip(columns, tree.names, strict=True)),
        tree=tree,
        words=words,
    )


def _names(release: Release) -> dict[str, str]:
    """Return short names of the columns of the table, by name."""
    most = LONGEST_NAME if release.tree.pruned.n_leaves <= FEW_LEAVES else SHORTER_NAME
    return dict(zip(release.schema.names, short_names(release.schema.names, most), strict=True))


def _categories(release: Release, names: dict[str, str]) -> dict[int, tuple[str, str]]:
    """Return short names of column and category of those columns of centres that are indicators."""
    levels = {
        column.name: dict(zip(column.levels, short_names(column.levels, 32), strict=True))
        for column in release.schema.columns
        if isinstance(column, Category)
    }
    return {
        j: (names[column.of], levels[column.of][column.category])
        for j, column in enumerate(release.schema.centre_columns)
        if isinstance(column, Indicator)
    }


def _short_tree(release: Release, words: Words) -> Tree:
    """Return the tree of the clusters with short names, so that its rules are short too; an indicator is named "plan is basic"."""
    tree, names = release.tree.pruned, _names(release)
    categories = _categories(release, names)
    centre_names = tuple(
        words("rule.is", column=categories[j][0], category=categories[j][1]) if j in categories else names[column.name]
        for j, column in enumerate(release.schema.centre_columns)
    )
    return replace(tree, names=centre_names, categories=categories)
