"""``dpm web``: a page in the browser that leads from a file to a published clustering."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say
from dpmondrian.cli.stopping import Command
from dpmondrian.common.interrupts import current_work

if TYPE_CHECKING:
    from dpmondrian.web import Address


def web(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder with your files. The page can read nothing outside it.", show_default="this one"),
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine.", show_default="any")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Private folder for what you type, so that nothing is lost.", show_default="in your home folder"
        ),
    ] = None,
    largest_drop: Annotated[
        int | None,
        typer.Option(
            parser=options.size_in_bytes,
            metavar="SIZE",
            help="Size limit for files dropped into the page.",
            show_default="1GiB",
        ),
    ] = None,
    seed: options.Seed = None,
) -> None:
    """Open a page in your browser that leads from a file to a clustering that may be published, without programming.

    The page is served to this machine only and works without a network: no data leaves it. Ctrl-C ends it; what you typed is kept.
    Requires the 'web' extra: pip install 'dpmondrian[web]'.

    \b
    Examples:
      dpm web
      dpm web ~/studies --no-browser --port 8080
    """  # noqa: D301
    from dpmondrian.exceptions import ParameterError

    try:
        from dpmondrian.web import serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ParameterError(
            "The page needs the 'web' extra, which is not installed.", "pip install 'dpmondrian[web]'"
        ) from None
    if not folder.is_dir():
        raise ParameterError(f"The folder {str(folder)!r} does not exist.", "Check its name, or create it.")

    if isinstance(work := current_work(), Command):
        work.sentence = "The page is closed. What you typed is kept: 'dpm web' continues there."

    def opened(address: Address) -> None:
        say(f"Open {address.first} in a browser on this machine. The address works once. Ctrl-C ends the page.")
        if browser:
            _open(address.first)

    serve(folder, state or _state_folder(), opened, port=port, seed=seed, largest_drop=largest_drop or 2**30)


def _state_folder() -> Path:
    """Return the folder in which programs keep what a user was doing."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dpmondrian" / "web"


def _open(address: str) -> None:
    """Open the browser, without waiting for it."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
