"""The server: on the loopback address, for one user."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dpmondrian.web.guard import DROP_PATH, Guard
from dpmondrian.web.places import Root
from dpmondrian.web.site import Asked, Page, Site, endpoint, render
from dpmondrian.web.works import Works

_STATIC = {"web.css": "text/css", "web.js": "text/javascript", "icon.svg": "image/svg+xml"}
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Address:
    """Where the server is; `first` works once."""

    port: int
    token: str

    @property
    def first(self) -> str:
        """The address to open."""
        return f"http://{LOOPBACK}:{self.port}/open/{self.token}"


def serve(
    folder: Path,
    state: Path,
    opened: Callable[[Address], None],
    *,
    port: int = 0,
    seed: int | None = None,
    largest_drop: int = 2**30,
) -> None:
    """Serve the page until the process ends.

    Parameters
    ----------
    folder : path
        The only folder whose files can be read, and where results go.
    state : path
        Private folder for what was typed and for dropped files.
    opened : callable
        Called with the address when the server takes requests.
    port : int
        0 for a free one.
    seed : int or None
        For research only: reproducible noise protects nobody.
    largest_drop : int
        Bytes that a dropped file may have.
    """
    listener = socket.create_server((LOOPBACK, port))
    guard = make_app(Site(Root(folder), Works(state), seed, largest_drop), listener.getsockname()[1])
    settings = uvicorn.Config(
        guard,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    opened(Address(listener.getsockname()[1], guard.token))
    uvicorn.Server(settings).run(sockets=[listener])


def make_app(site: Site, port: int) -> Guard:
    """Return the guarded application."""
    from dpmondrian.web.steps import file

    routes = [
        Route("/", endpoint(site, _warming(file.home))),
        Route("/choose", endpoint(site, file.choose), methods=["POST"]),
        Route(DROP_PATH, file.dropped(site), methods=["POST"]),
        Route("/static/{name}", endpoint(site, _static)),
        *(Route(f"/w/{{work}}{path}", endpoint(site, page), methods=methods) for path, page, methods in _pages()),
    ]
    missing = endpoint(site, lambda site, asked: render("missing.html", site, asked, status=404))

    async def unknown(request: Request, _: Exception) -> Response:
        return cast("Response", await missing(request))

    app = Starlette(routes=routes, exception_handlers={404: unknown})
    return Guard(app, port, site.largest_drop)


def _pages() -> list[tuple[str, Page, list[str]]]:
    """Return the pages of a clustering: path, what makes it, and methods."""
    from dpmondrian.web.steps import account, bounds, columns, file, plan, result, run

    get, post = ["GET"], ["POST"]
    return [
        ("", file.resume, get),
        ("/file", file.change, get + post),
        ("/columns", columns.columns, get + post),
        ("/schema", columns.use_schema, post),
        ("/bounds", bounds.bounds, get + post),
        ("/plan", plan.plan, get + post),
        ("/outlook", plan.outlook, get),
        ("/account", account.account, get + post),
        ("/run", run.run, get + post),
        ("/cancel", run.cancel, post),
        ("/progress", run.progress, get),
        ("/result", result.result, get),
        ("/names", result.names, post),
        ("/report", result.report, get),
        ("/get/{name}", result.download, get),
        ("/again", result.again, post),
        ("/remove", file.remove, post),
    ]


def _static(site: Site, asked: Asked) -> Response:
    name = asked.request.path_params["name"]
    if name not in _STATIC:
        return Response(status_code=404)
    return Response(files("dpmondrian.web").joinpath("static", name).read_bytes(), media_type=_STATIC[name])


def _warming(page: Page) -> Page:
    """Return the first page; once it is shown, what the others need is loaded, so that sliders are quick from the start."""
    begun = threading.Event()

    def shown(site: Site, asked: Asked) -> Response:
        if not begun.is_set():
            begun.set()
            threading.Timer(0.5, _load).start()
        return page(site, asked)

    return shown


def _load() -> None:
    from dpmondrian.schema import Column, Schema, TableSchema
    from dpmondrian.web.planned import Planned
    from dpmondrian.web.simulation import STUDIO, expected

    declared: Any = TableSchema(Schema((Column("a", 0, 1), Column("b", 0, 1))))
    planned = Planned(1.0, 1e-7, 2000, 3, None)
    expected(declared, planned)
    STUDIO.picture(declared, planned)
