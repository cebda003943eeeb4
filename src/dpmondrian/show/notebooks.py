"""Small pieces of HTML for notebooks: a privacy statement, and a release. Styles are inline, there is no script."""

from __future__ import annotations

import math

from dpmondrian.release import PrivacyStatement, Release
from dpmondrian.show.html import template
from dpmondrian.show.report.clusters import cluster_rows, table_heads
from dpmondrian.show.report.guarantee import explanation, guarantee_line, kinds
from dpmondrian.show.report.palette import LIGHT
from dpmondrian.show.report.selection import shown_part
from dpmondrian.show.texts.clusters import one_cluster_text
from dpmondrian.show.texts.facts import neighbours_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import clean

_MOST_ROWS, _MOST_COLUMNS = 20, 8


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
