"""``dpm report``: draw the report of a release again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli.predict import ReleaseArgument
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import printed

__all__ = ["report"]


def report(
    release: ReleaseArgument,
    out: Annotated[Path | None, typer.Option(help="HTML file to write.", show_default="report.html beside it")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Draw the report of a release: one HTML file that needs nothing else. No rows are needed, and nothing is spent.

    \b
    Examples:
      dpm report published/release.json --force
      dpm report release.json --out for-the-privacy-officer.html
    """  # noqa: D301
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.release import Release
    from dpmondrian.show.report import render_report

    drawn = render_report(Release.load(release))
    target = out or release.with_name("report.html")
    write_file(target, drawn, overwrite=force)
    with printed(f"The report is written: {target}"):
        say(f"Written: {target}")
