"""The subcommands of ``dpm``, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmondrian._version import __version__
from dpmondrian.cli.plugins import CommandGroup
from dpmondrian.cli.show import say

# Pretty tracebacks would show local variables, and so rows.
app = typer.Typer(
    name="dpm",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"dpm {__version__}")
        raise typer.Exit


@app.callback()
def dpm(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Differentially private clustering: publish the clusters in sensitive data without exposing anyone.

    \b
    Examples:
      dpm demo
      dpm init patients.csv
      dpm plan --rows 20000 --schema schema.toml
      dpm cluster patients.csv --schema schema.toml --epsilon 1 --out published
    """  # noqa: D301
