"""The first step: which table. A file in the folder that the page was started in, or one that is dropped and copied."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.exceptions import DataError, DPMondrianError, ParameterError
from dpmondrian.web.columns import drafted
from dpmondrian.web.guard import TooLargeError
from dpmondrian.web.site import Asked, Site, place_of, render, to_step
from dpmondrian.web.works import Work

if TYPE_CHECKING:
    from dpmondrian.tables import Source

READING = ("query", "delimiter", "kind", "header", "sheet")
"""How a table is read: parameters of `Source`, and names of fields."""

_LONGEST_NAME = 150


def home(site: Site, asked: Asked) -> Response:
    """Show the folder, where to drop a file, and what was begun before."""
    return _shown(site, asked)


def _shown(site: Site, asked: Asked, sentence: str = "", **typed: Any) -> Response:
    place = asked.query.get("folder", "")
    try:
        entries = site.root.entries(place)
    except DPMondrianError as error:
        place, entries, sentence = "", site.root.entries(""), error_sentence(error)
    parts = [part for part in place.split("/") if part not in ("", ".")]
    ways = [("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)]
    works = [(work, site.next_step(work)) for work in site.works.all() if work.source] if asked.found is None else []
    return render(
        "file.html",
        site,
        asked,
        step="file",
        sentence=sentence,
        entries=entries,
        ways=ways,
        works=works,
        typed={**(asked.found.source if asked.found else {}), **typed},
        fixed=asked.found is not None and site.is_fixed(asked.found),
        largest_drop=site.largest_drop,
    )


def choose(site: Site, asked: Asked) -> Response:
    """Take a file of the folder, and look at the names and types of its columns."""
    typed = asked.form.get("path", "").strip()
    try:
        source = {**_place(site, typed), **_reading(asked.form)}
        columns, people = _columns(site, Work("", 0.0, source=source))
    except (DPMondrianError, OSError) as error:
        return _shown(site, asked, error_sentence(error), **_reading(asked.form), path=typed)
    return to_step(site.works.new(source=source, columns=columns, people=people), "columns")


def change(site: Site, asked: Asked) -> Response:
    """Show which file was chosen; read it another way if asked to."""
    if not asked.is_post or site.is_fixed(asked.work):
        return _shown(site, asked)
    typed = asked.form.get("path", "").strip()
    source = dict(asked.work.source)
    try:
        source = {**(source if source.get("dropped") else _place(site, typed)), **_reading(asked.form)}
        columns, people = _columns(site, Work(asked.work.id, 0.0, source=source))
    except (DPMondrianError, OSError) as error:
        return _shown(site, asked, error_sentence(error), **{**source, **_reading(asked.form), "path": typed})
    with site.works.changed(asked.work.id) as work:
        work.source = source
        work.columns = {name: work.columns.get(name, draft) for name, draft in columns.items()}
        work.people = work.people if work.people.get("column", "") in ("", *columns) else people
    return to_step(work, "columns")


def _place(site: Site, typed: str) -> dict[str, Any]:
    """Return where a table is: a path inside the folder, or the address of a PostgreSQL server."""
    if "://" not in typed:
        return {"path": site.root.below(site.root.inside(typed))}
    if not typed.startswith(("postgresql://", "postgres://")):
        raise DataError(
            f"{typed!r} is an address that cannot be opened here.",
            "Use a file, or an address such as postgresql://user@host/name.",
        )
    if re.match(r"\w+://[^/@]*:[^/@]*@", typed) or "password=" in typed:
        raise ParameterError(
            "The address contains a password, which would be kept on the disk and shown in the command.",
            "Leave it out, and put the password into the file ~/.pgpass or the variable PGPASSWORD.",
        )
    return {"address": typed}


def _reading(form: dict[str, str]) -> dict[str, Any]:
    """Return how a form says that a table is read, as `Source` takes it."""
    typed: dict[str, Any] = {name: form.get(name, "").strip() or None for name in READING}
    return typed | {"header": typed["header"] != "none"}


def source_of(site: Site, work: Work) -> Source:
    """Return the table as the library reads it."""
    from dpmondrian.tables import Source

    return Source(cast("Path", place_of(site, work)), **reading_of(work))  # an address is a text


def reading_of(work: Work) -> dict[str, Any]:
    """Return the parameters of `Source` besides the place."""
    return {name: work.source.get(name, True if name == "header" else None) for name in READING}


def reading_options(reading: dict[str, Any]) -> list[str]:
    """Return the options of the command line for how a table is read."""
    options = [part for name, option in _OPTIONS.items() if reading[name] for part in (option, str(reading[name]))]
    return options if reading["header"] else [*options, "--header", "none"]


_OPTIONS = {"query": "--query", "delimiter": "--delimiter", "kind": "--format", "sheet": "--sheet"}


def _columns(site: Site, work: Work) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return what the names and types of a table tell; its rows are not looked at."""
    from dpmondrian.tables import open_file

    return drafted(open_file(source_of(site, work)).kinds)


def dropped(site: Site) -> Any:
    """Return what takes a dropped file: its bytes are the body of the request, and go straight into the private folder."""

    async def answer(request: Request) -> Response:
        work = site.works.new()
        try:
            name = _checked_name(request.query_params.get("name", ""))
            await _copy(request, site.works.folder_of(work.id) / "dropped" / name)
            return await run_in_threadpool(_take, site, work, name, request.query_params)
        except (TooLargeError, DPMondrianError, OSError) as error:
            site.works.remove(work.id)
            too_large = isinstance(error, TooLargeError)
            sentence = str(error) if too_large else error_sentence(error)
            return JSONResponse({"sentence": sentence}, 413 if too_large else 400)
        except BaseException:
            site.works.remove(work.id)
            raise

    return answer


def _take(site: Site, work: Work, name: str, query: Mapping[str, str]) -> Response:
    with site.works.changed(work.id) as changed:
        changed.source = {"dropped": name, **_reading(dict(query))}
        changed.columns, changed.people = _columns(site, changed)
    return JSONResponse({"next": f"/w/{work.id}/columns"})


def _checked_name(name: str) -> str:
    safe = re.sub(r"[^\w. -]", "_", os.path.basename(name.replace("\\", "/"))).lstrip(". ")[-_LONGEST_NAME:]
    if not safe:
        raise ParameterError("The file has no name.", "Save it under a name first.")
    return safe


async def _copy(request: Request, path: Path) -> None:
    """Write the body of a request to a file that only its owner can read; no byte of it is kept elsewhere."""
    path.parent.mkdir(mode=0o700)
    with ExitStack() as stack:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = stack.enter_context(open(handle, "wb"))
        async for block in request.stream():
            file.write(block)


def remove(site: Site, asked: Asked) -> Response:
    """Forget a clustering: what was typed and a dropped copy. Results and charges stay."""
    site.run_of(asked.work).stop()
    site.run_of(asked.work).wait(2.0)
    site.works.remove(asked.work.id)
    return RedirectResponse("/", 303)


def resume(site: Site, asked: Asked) -> Response:
    """Go to the step at which a user left."""
    return to_step(asked.work, site.next_step(asked.work))
