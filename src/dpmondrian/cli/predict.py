"""``dpm predict``: the cluster of every row of a file, for whoever may see the rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.cluster import PUBLISHED
from dpmondrian.cli.inputs import sources_in
from dpmondrian.cli.labels import LABEL_ENDINGS, write_labels
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import printed


def predict(
    release: options.Release,
    files: options.Files,
    out: Annotated[Path, typer.Option(help="Output file for the labels (.parquet or .csv). Must not exist yet.")],
    on_missing: Annotated[
        str | None,
        typer.Option(
            help="How to handle missing values: error, drop (label -1), or middle (of the bounds; no for yes/no, other for categories).",
            show_default="from the release",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            min=1,
            help="Label rows with this many segments, as 'dpm clusters' shows them.",
            show_default="the clusters of the release",
        ),
    ] = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    format_: options.Format = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the cluster of every row. The output is SENSITIVE: it describes individual rows.

    Clusters are numbered from 0, as in the release; -1 marks a row that was dropped because of missing values. Labels are in the order
    of the rows. Files are read in the order given; files of a folder or pattern are sorted by name.

    \b
    Examples:
      dpm predict published/release.json patients.csv --out labels.parquet
      dpm predict published/release.json new-patients.parquet --out labels.csv --on-missing drop
      dpm predict published/release.json visits/ --out labels.parquet
      dpm predict published/release.json patients.csv --out segments.parquet --k 6
    """  # noqa: D301
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.release import Labeller, Release
    from dpmondrian.tables import open_files

    if out.suffix not in LABEL_ENDINGS:
        raise typer.BadParameter(f"The file name must end in .parquet or .csv. Got {str(out)!r}.", param_hint="--out")
    _check_apart(out)
    published = Release.load(release)
    labeller = Labeller.of(published, on_missing, None if k is None else published.clusters(k))
    rows = open_files(sources_in(files, query, delimiter, format_, header, sheet))
    with FitBars(quiet) as bars:
        write_labels(out, labeller, rows, threads, bars.read)
    if quiet:
        return
    with printed(f"The labels were written: {out}"):
        say(f"Written: {out}. SENSITIVE: it contains the cluster of every row. Do not publish it.")


def _check_apart(out: Path) -> None:
    """Refuse a place inside a folder of results, which is made to be published."""
    for folder in Path(os.path.realpath(out)).parents:
        if all((folder / name).is_file() for name in PUBLISHED):
            raise typer.BadParameter(
                f"Labels are sensitive and must not be written to {str(folder)!r}, which may be published. Choose a different folder.",
                param_hint="--out",
            )
