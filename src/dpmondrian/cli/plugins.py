"""Commands of other distributions, plugged in by entry points: nothing of theirs is imported before somebody asks for it.

A distribution declares ``[project.entry-points."dpmondrian.commands"]``, from the name of a command to a function with the annotations
of typer. It cannot replace a command of `dpm` itself, and a plug-in that cannot be loaded breaks nothing but its own command.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
import typer.core
import typer.main

from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import stoppable

__all__ = ["GROUP", "LABORATORY", "CommandGroup"]

GROUP = "dpmondrian.commands"
"""The group of entry points."""

LABORATORY = {
    "audit": "Test the privacy guarantees of our algorithms and of published ones empirically.",
    "fetch": "Download the public data sets of the evaluation.",
    "reproduce": "Reproduce the paper's evaluation and compare its numbers with ours.",
}
"""The commands of the laboratory, with what they do: they are listed even where it is not installed."""

_HEADING = "Lab commands"
_GET_IT = "pip install dpmondrian-lab"


class CommandGroup(typer.core.TyperGroup):
    """The commands of `dpm`, and after them, under a heading of their own, those that are plugged in."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._own = list(self.commands)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands: our own first."""
        self._plug_in()
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run. Only a name that is not ours makes us look for plug-ins."""
        if args[0] not in self._own:
            self._plug_in()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does."""
        self._plug_in()
        others = [name for name in self.commands if name not in self._own]
        for heading, names in (("Commands", self._own), (_HEADING, others)):
            width = formatter.width - 6 - max(map(len, names), default=0)
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in names])

    def _plug_in(self) -> None:
        found = {point.name: point for point in entry_points(group=GROUP)}
        for name in sorted({*LABORATORY, *found} - {*self.commands}):
            self.commands[name] = _loaded(found[name]) if name in found else _missing(name)


def _loaded(point: EntryPoint) -> Any:
    """Return the command of an entry point, or one that says that it cannot be loaded."""
    try:
        function = point.load()
    except Exception as error:
        words = f"The command '{point.name}' cannot be loaded ({type(error).__name__}). Reinstall its package"
        return _saying(point.name, "Cannot be loaded.", words)
    app = typer.Typer(**_LOOK)
    app.command(point.name)(stoppable(function))
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
