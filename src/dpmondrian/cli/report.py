"""``dpm report``: draw the report of a release again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import printed


def report(
    release: options.Release,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write.", show_default="report.html next to the release")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Render the report of a release as a single, self-contained HTML file. Reads no rows and spends nothing.

    \b
    Examples:
      dpm report published/release.json --force
      dpm report release.json --out for-the-privacy-officer.html
    """  # noqa: D301
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.exceptions import OutputError
    from dpmondrian.release import Release
    from dpmondrian.show.report import render_report

    drawn = render_report(Release.load(release))
    target = out or release.with_name("report.html")
    if os.path.lexists(target) and not force:
        raise OutputError(
            f"The file {str(target)!r} already exists.", "Overwrite it with --force, or choose another name with --out."
        )
    write_file(target, drawn, overwrite=force)
    with printed(f"The report was written: {target}"):
        say(f"Written: {target}")
