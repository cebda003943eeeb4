"""The ``dpm`` command: its subcommands, its version, and how errors are told.

Exit codes: 0, 1 for a failure, 2 for wrong use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from dpmondrian._version import __version__
from dpmondrian.cli.fetch import fetch
from dpmondrian.cli.reproduce import reproduce
from dpmondrian.exceptions import DPMondrianError

__all__ = ["app", "main"]

app = typer.Typer(name="dpm", no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, which an interrupt ends with a sentence and exit code 1."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            _fail("Stopped. What is finished is kept; the same command goes on from here.")

    return run


for _command in (reproduce, fetch):
    app.command()(_stoppable(_command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpm {__version__}")
        raise typer.Exit


@app.callback()
def dpm(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and leave.")
    ] = False,
) -> None:
    """Clusters of sensitive data that may be published.

    \b
    Examples:
      dpm reproduce table2 --quick
      dpm fetch uci_letters
    """  # noqa: D301


def main() -> None:
    """Run the command. An error that this package raises on purpose, or the system, is one sentence and exit code 1."""
    try:
        app(prog_name="dpm")
    except (DPMondrianError, OSError) as error:
        _fail(f"Error: {error}")
    except MemoryError:
        _fail("Error: not enough memory for data of this size.")


def _fail(sentence: str) -> None:
    print(sentence, file=sys.stderr)
    raise SystemExit(1) from None
