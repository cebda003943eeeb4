"""The commands of `dpm`, and those of other distributions, plugged in by entry points: none is imported before somebody asks for it.

A distribution declares ``[project.entry-points."dpmondrian.commands"]``, from the name of a command to a function with the annotations
of typer. It cannot replace a command of `dpm` itself, and a plug-in that cannot be loaded breaks nothing but its own command.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from dpmondrian._version import __version__
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import stoppable

GROUP = "dpmondrian.commands"  # the group of entry points

OWN = {
    "init": "Describe a table in a few questions: writes a schema file.",
    "cluster": "Cluster the rows of files, for publication.",
    "clusters": "Divide the rows of a release into any number of segments.",
    "schema": "Draft a schema file from the column names of a table.",
    "plan": "Forecast a release before any data is touched.",
    "predict": "Write the cluster of every row (sensitive).",
    "report": "Render the report of a release as one HTML file.",
    "name": "Name a cluster of a release.",
    "sample": "Draw synthetic rows from a release.",
    "explain": "Explain a cluster, or what an attacker can learn about one person.",
    "verify": "Verify that a release is what it claims to be.",
    "compare": "Compare a release with KMeans on the true rows (sensitive).",
    "demo": "Cluster invented people and show the results.",
    "web": "Open a page in your browser, from a file to a release.",
    "budget": "Manage the privacy budget of a data set.",
}
"""Our own commands, each in the module of its name, with what they do."""

LABORATORY = {
    "audit": "Test the privacy guarantees of our algorithms and of published ones empirically.",
    "fetch": "Download the public data sets of the evaluation.",
    "reproduce": "Reproduce the paper's evaluation and compare its numbers with ours.",
}
"""The commands of the laboratory, with what they do: they are listed even where it is not installed."""

_HEADING = "Lab commands"
_GET_IT = "pip install ./lab (in a clone of dpmondrian's repository)"


class CommandGroup(typer.core.TyperGroup):
    """The commands of `dpm`, and after them, under a heading of their own, those that are plugged in."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: dict[str, Any] = dict.fromkeys(OWN)  # None: not asked for yet
        self._points: dict[str, EntryPoint] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands: our own first."""
        self._plug_in()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. Only a name that is not ours makes us look for plug-ins."""
        if cmd_name not in OWN:
            self._plug_in()
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = self._imported(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does."""
        self._plug_in()
        others = [name for name in self.commands if name not in OWN]
        for heading, names in (("Commands", OWN), (_HEADING, others)):
            with formatter.section(heading):
                formatter.write_dl([(name, self._summary(name)) for name in names])

    def _summary(self, name: str) -> str:
        if name in LABORATORY:
            return LABORATORY[name] + ("" if name in self._points else " Not installed.")
        return OWN.get(name) or str(self.get_command(None, name).get_short_help_str())

    def _plug_in(self) -> None:
        self._points = {point.name: point for point in entry_points(group=GROUP)}
        self.commands.update(dict.fromkeys(sorted({*LABORATORY, *self._points} - {*self.commands})))

    def _imported(self, name: str) -> Any:
        if name in OWN:
            module = import_module(f"dpmondrian.cli.{name}")
            return (
                typer.main.get_command(module.app) if hasattr(module, "app") else _command(name, getattr(module, name))
            )
        return _loaded(self._points[name]) if name in self._points else _missing(name)


def _loaded(point: EntryPoint) -> Any:
    """Return the command of an entry point, or one that says that it cannot be loaded."""
    try:
        function = point.load()
    except Exception as error:
        words = f"The command '{point.name}' cannot be loaded ({type(error).__name__}). Reinstall its package"
        return _saying(point.name, "Cannot be loaded.", words)
    return _command(point.name, function)


def _command(name: str, function: Callable[..., None]) -> Any:
    app = typer.Typer(**_LOOK)
    app.command(name)(stoppable(function))
    return typer.main.get_command(app)


def _missing(name: str) -> Any:
    words = f"The command '{name}' is part of dpmondrian-lab, which is not installed. Install it with: {_GET_IT}"
    return _saying(name, f"{LABORATORY[name]} Not installed.", words)


def _saying(name: str, short_help: str, words: str) -> Any:
    """Return a command that fails with a sentence, whatever it is given."""

    def tell() -> None:
        say(f"Error: {words}", err=True)
        raise typer.Exit(1)

    app = typer.Typer(**_LOOK)
    takes_all = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(name, help=words, short_help=short_help, context_settings=takes_all)(tell)
    return typer.main.get_command(app)


_LOOK: Any = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
"""Of a command; pretty tracebacks would show local variables, and so rows."""


app = typer.Typer(name="dpm", cls=CommandGroup, no_args_is_help=True, **_LOOK)


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
