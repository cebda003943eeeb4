"""The ``dpm`` command: its subcommands, its version, and how errors are told.

Exit codes: 0, 1 for a failure, 2 for wrong use.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from dpmondrian._version import __version__
from dpmondrian.cli.budget import app as budget_app
from dpmondrian.cli.cluster import cluster
from dpmondrian.cli.compare import compare
from dpmondrian.cli.demo import demo
from dpmondrian.cli.fetch import fetch
from dpmondrian.cli.plan import plan
from dpmondrian.cli.predict import predict
from dpmondrian.cli.report import report
from dpmondrian.cli.reproduce import reproduce
from dpmondrian.cli.schema import schema
from dpmondrian.exceptions import DPMondrianError, ParameterError

__all__ = ["app", "main"]

# Pretty tracebacks would show local variables, and so rows.
app = typer.Typer(
    name="dpm", no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command, which an interrupt ends with a sentence and exit code 1."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            _fail(_STOPPED[command is reproduce])

    return run


_STOPPED = ("Stopped. Nothing was written.", "Stopped. What is finished is kept; the same command goes on from here.")

for _command in (cluster, schema, plan, predict, report, compare, demo, reproduce, fetch):
    app.command()(_stoppable(_command))
app.add_typer(budget_app, name="budget")


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
      dpm demo
      dpm schema patients.csv --out schema.toml
      dpm plan --rows 20000 --schema schema.toml
      dpm cluster patients.csv --schema schema.toml --epsilon 1 --out published
    """  # noqa: D301


def main() -> None:
    """Run the command. An error is one sentence: exit code 2 for wrong parameters, 1 for everything else.

    The text of an error that nobody foresaw may hold a value of the data, so only its kind is told; and warnings of libraries are
    not shown.
    """
    try:
        with warnings.catch_warnings():
            if not _for_developers():
                warnings.simplefilter("ignore")
            app(prog_name="dpm")
    except ParameterError as error:
        _fail(f"Error: {error}", 2)
    except (DPMondrianError, OSError) as error:
        _fail(f"Error: {error}")
    except MemoryError:
        _fail("Error: not enough memory for data of this size.")
    except Exception as error:
        if _for_developers():
            raise
        _fail(
            f"Error: {type(error).__name__}, which is a defect of dpm. Its text may hold values of the data and is not shown; on "
            "invented data, DPMONDRIAN_TRACEBACK=1 shows it."
        )


def _for_developers() -> bool:
    return bool(os.environ.get("DPMONDRIAN_TRACEBACK"))


def _fail(sentence: str, code: int = 1) -> None:
    print(sentence, file=sys.stderr)
    raise SystemExit(code) from None
