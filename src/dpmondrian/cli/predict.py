"""``dpm predict``: the cluster of every row of a file, for whoever may see the rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli.cluster import PUBLISHED
from dpmondrian.cli.inputs import (
    DelimiterOption,
    FilesArgument,
    QueryOption,
    QuietOption,
    ThreadsOption,
    sources_in,
)
from dpmondrian.cli.labels import LABEL_ENDINGS, write_labels
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import printed

__all__ = ["ReleaseArgument", "predict"]

ReleaseArgument = Annotated[Path, typer.Argument(help="A release.json that 'dpm cluster' wrote.")]


def predict(
    release: ReleaseArgument,
    files: FilesArgument,
    out: Annotated[Path, typer.Option(help="File for the labels, .parquet or .csv; must not exist.")],
    on_missing: Annotated[
        str | None,
        typer.Option(help="Missing values: error, drop (label -1), or the middle.", show_default="as in the release"),
    ] = None,
    query: QueryOption = None,
    delimiter: DelimiterOption = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write the nearest cluster of every row. The result is SENSITIVE: it speaks about single rows.

    Clusters are numbered as in the release, from 0; -1 is a row with missing values that is left out. Labels are in the order of
    the rows, of several files in the order in which they are named, of folders and patterns sorted by name.

    \b
    Examples:
      dpm predict published/release.json patients.csv --out labels.parquet
      dpm predict published/release.json new-patients.parquet --out labels.csv --on-missing drop
      dpm predict published/release.json visits/ --out labels.parquet
    """  # noqa: D301
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.estimator import DPM
    from dpmondrian.tables import open_files

    if out.suffix not in LABEL_ENDINGS:
        raise typer.BadParameter(f"Labels are written as .parquet or .csv. Got {str(out)!r}.", param_hint="--out")
    _check_apart(out)
    model = DPM.load(release)
    if on_missing is not None:
        model.set_params(on_missing=on_missing).check_parameters()
    rows = open_files(sources_in(files, query, delimiter))
    with FitBars(quiet) as bars:
        write_labels(out, model.release_, model.on_missing, rows, threads, bars.read)
    if quiet:
        return
    with printed(f"The labels are written: {out}"):
        say(f"Written: {out}. SENSITIVE: it tells the cluster of every row and stays with you.")


def _check_apart(out: Path) -> None:
    """Refuse a place inside a folder of results, which is made to be published."""
    for folder in Path(os.path.realpath(out)).parents:
        if all((folder / name).is_file() for name in PUBLISHED):
            raise typer.BadParameter(
                f"Labels are sensitive and must not lie in {str(folder)!r}, which may be published. Choose a place outside.",
                param_hint="--out",
            )
