"""``{commands}``: every command of ``dpm``, as its own ``--help`` describes it."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpmondrian.cli.commands import app

WIDTH = 74  # of the code on a page between two sidebars


def described(command: typer.core.TyperCommand, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command, then of the commands in it."""
    context = typer.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    yield name, command.get_help(context)
    if isinstance(command, typer.core.TyperGroup):
        for inner in command.list_commands(context):
            yield from described(command.get_command(context, inner), f"{name} {inner}")


class Commands(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, made anew by every build: no file of the page changes when a command does."""
        self.env.note_reread()
        return [self._section(*command) for command in described(typer.main.get_command(app), "dpm")]

    def _section(self, name: str, text: str) -> nodes.section:
        section = nodes.section("", nodes.title("", name), nodes.literal_block(text, text, language="text"))
        section["ids"] = [name.replace(" ", "-")]
        section["names"] = [name]
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
