"""What people read of a release: a report in one HTML file, fragments for notebooks, and a picture.

All of it is drawn from a `Release` alone, so it holds released and public values only, and anyone can redraw it.
"""

from __future__ import annotations

from dpmondrian.show.report.picture import plot_clusters
from dpmondrian.show.report.render import render_report
from dpmondrian.show.report.snippets import release_html, statement_html

__all__ = ["plot_clusters", "release_html", "render_report", "statement_html"]
