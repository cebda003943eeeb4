"""The report: a release as one HTML file.

It is drawn from a `Release` alone, so it holds released and public values only, and anyone can redraw it.
"""

from __future__ import annotations

from dpmondrian.show.report.render import render_report
from dpmondrian.show.report.scales import places

__all__ = ["places", "render_report"]
