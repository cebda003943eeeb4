"""``dpm sample``: synthetic rows from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.cluster import marked
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import printed


def sample(
    release: options.Release,
    rows: Annotated[int, typer.Option(min=1, help="Number of synthetic rows.")],
    out: Annotated[Path, typer.Option(help="CSV file to write. Must not exist yet.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Makes the rows reproducible. Unlike in 'dpm cluster', this weakens nothing."),
    ] = None,
) -> None:
    """Draw synthetic rows from the clusters, cells and profiles of a release. Reads no rows and spends nothing.

    The rows are invented: none stands for a person. They may be published like the release itself, and say nothing that it does not.

    \b
    Examples:
      dpm sample published/release.json --rows 10000 --out synthetic.csv
    """  # noqa: D301
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.release import Release, cells_text

    known = Release.load(release)
    columns = known.sample(rows, seed)
    cells = zip(*(values.tolist() for values in columns.values()), strict=True)
    # Digits that mean nothing are left out.
    table = cells_text(columns, ([f"{cell:.7g}" if isinstance(cell, float) else cell for cell in row] for row in cells))
    write_file(out, marked(table, known.privacy.releasable))
    with printed(f"The rows were written: {out}"):
        say(f"Written: {out}. The rows are synthetic, drawn from released values only; nothing was spent.")
