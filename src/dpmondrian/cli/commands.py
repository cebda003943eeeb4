"""The subcommands of ``dpm``, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmondrian._version import __version__
from dpmondrian.cli.budget import app as budget_app
from dpmondrian.cli.cluster import cluster
from dpmondrian.cli.compare import compare
from dpmondrian.cli.demo import demo
from dpmondrian.cli.explain import explain
from dpmondrian.cli.plan import plan
from dpmondrian.cli.plugins import CommandGroup
from dpmondrian.cli.predict import predict
from dpmondrian.cli.report import report
from dpmondrian.cli.schema import schema
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import stoppable
from dpmondrian.cli.verify import verify

__all__ = ["app"]

# Pretty tracebacks would show local variables, and so rows.
app = typer.Typer(
    name="dpm",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for _command in (cluster, schema, plan, predict, report, explain, verify, compare, demo):
    app.command()(stoppable(_command))
app.add_typer(budget_app, name="budget")


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
      dpm schema patients.csv --out schema.toml
      dpm plan --rows 20000 --schema schema.toml
      dpm cluster patients.csv --schema schema.toml --epsilon 1 --out published
    """  # noqa: D301
