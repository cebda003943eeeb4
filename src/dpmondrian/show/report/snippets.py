"""Small pieces of HTML for notebooks: a privacy statement, and a release. Styles are inline, there is no script."""

from __future__ import annotations

import math

from dpmondrian.release.release import Release
from dpmondrian.release.statement import PrivacyStatement
from dpmondrian.show.report import meaning
from dpmondrian.show.report.clusters import cluster_rows, table_heads
from dpmondrian.show.report.palette import LIGHT
from dpmondrian.show.report.render import environment
from dpmondrian.show.report.selection import shown_part
from dpmondrian.show.report.words import clean

__all__ = ["release_html", "statement_html"]

_MOST_ROWS, _MOST_COLUMNS = 20, 8


def statement_html(privacy: PrivacyStatement) -> str:
    """Return a privacy statement as a piece of HTML: the guarantee in words, what it means, and what was drawn by kind.

    Also of an `UnsoundStatement`, whose epsilon is infinite: it then says why nothing is promised.
    """
    return str(
        environment()
        .get_template("statement.html")
        .render(
            privacy=privacy,
            sound=math.isfinite(privacy.epsilon),
            line=meaning.guarantee_line(privacy),
            explained=meaning.explanation(privacy),
            bounds_epsilon=float(getattr(privacy, "bounds_epsilon", 0.0)),
            defects=[clean(defect, 300) for defect in getattr(privacy, "defects", ())],
            kinds=meaning.kinds(privacy),
        )
    )


def release_html(release: Release) -> str:
    """Return a release as a piece of HTML: one line of guarantee, and the table of clusters, of large ones the beginning."""
    shown = shown_part(release)
    rows = cluster_rows(shown)
    return str(
        environment()
        .get_template("release.html")
        .render(
            privacy=release.privacy,
            sound=math.isfinite(release.privacy.epsilon),
            line=meaning.guarantee_line(release.privacy),
            heads=table_heads(shown)[:_MOST_COLUMNS],
            rows=rows[:_MOST_ROWS],
            colours=LIGHT,
            counted=shown.counted,
            n_clusters=len(release.sizes),
            n_rows=float(max(release.sizes.sum(), 0.0)),
            n_columns=len(release.schema.columns),
        )
    )
