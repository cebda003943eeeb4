"""``dpm fetch``: get the public data sets of the evaluation into the cache folder."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmondrian.cli.show import say
from dpmondrian_lab.commands.resuming import resumable

__all__ = ["fetch"]


@resumable
def fetch(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Data sets to download, such as uci_letters. Without any, list them.")
    ] = None,
) -> None:
    """Download public data sets, verify them, and store them in the cache folder.

    For the embeddings, this downloads the images and trains a network, which requires torch and takes about 15 minutes.

    \b
    Examples:
      dpm fetch
      dpm fetch uci_letters uci_gas
    """  # noqa: D301
    from dpmondrian_lab.commands.progress import TransferBars
    from dpmondrian_lab.datasets.download import fetch as fetch_one
    from dpmondrian_lab.datasets.registry import DATA_SETS, get
    from dpmondrian_lab.exceptions import DatasetError

    if not keys:
        for data_set in DATA_SETS.values():
            there = "here" if data_set.is_available() else "not here"
            size = f"{data_set.n_rows:,} x {data_set.n_columns}"
            say(f"{data_set.key:14} {size:>14}  {there:8}  {data_set.facts}")
        return
    try:
        wanted = [get(key) for key in keys]
    except DatasetError as error:
        raise typer.BadParameter(str(error), param_hint="KEYS") from None
    for data_set in wanted:
        with TransferBars() as bars:
            fetch_one(data_set.key, bars.advance)
        say(f"{data_set.key}: ready.")
