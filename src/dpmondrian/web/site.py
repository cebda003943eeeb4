"""What every page needs: the folders, the request in plain values, templates, and errors in the words of the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.common.printable import printable
from dpmondrian.exceptions import BudgetError, CheckpointError
from dpmondrian.web.guard import TooLargeError
from dpmondrian.web.jobs import DONE, RUNNING, STOPPED, Job
from dpmondrian.web.places import Root
from dpmondrian.web.sameness import no_option
from dpmondrian.web.works import Work, Works

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget

STEPS = {
    "file": "File",
    "columns": "Columns",
    "plan": "Plan",
    "account": "Account",
    "run": "Run",
    "result": "Result",
}
"""The steps, in their order, by the last part of their addresses."""

_WHERE = {
    "--query": ("file", "query", "Query"),
    "--delimiter": ("file", "delimiter", "Separator"),
    "--format": ("file", "kind", "Format"),
    "--header": ("file", "header", "First row"),
    "--sheet": ("file", "sheet", "Sheet"),
    "--missing": ("columns", "all-missing", "Marks of missing values"),
    "--decimal": ("columns", "all-decimal", "Decimal mark"),
    "--thousands": ("columns", "all-thousands", "Thousands"),
    "--bounds": ("columns", "columns", "Lowest and Highest"),
    "--columns": ("columns", "columns", "Kind"),
    "--on-missing": ("columns", "on_missing", "Rows with a missing value"),
    "--person-id": ("columns", "person", "Column that identifies the person"),
    "--rows-per-person": ("columns", "rows", "Rows per person"),
    "--epsilon": ("plan", "epsilon", "Epsilon"),
    "--delta": ("plan", "delta", "Delta"),
    "--rows": ("plan", "rows", "Rows"),
    "--k": ("plan", "k", "Number of clusters"),
    "--budget": ("account", "account", "Budget file"),
    "--out": ("run", "out", "Folder for the results"),
}
"""Where the page asks for what an option says: the step, the field, and what stands beside it. Sentences are those of the command line."""
_COMMAND = re.compile(r"\bdpm [a-z]+ .*")  # in a sentence: its options are not those of the page


@dataclass(frozen=True)
class Site:
    """The server's folders and settings."""

    root: Root
    works: Works
    seed: int | None = None  # for research and tests: reproducible noise protects nobody
    largest_drop: int = 2**30

    def run_of(self, work: Work) -> Job:
        """Return the job that makes the release of a clustering."""
        return Job(self.works.folder_of(work.id), "run")

    def bounds_of(self, work: Work) -> Job:
        """Return the job that estimates bounds for a clustering."""
        return Job(self.works.folder_of(work.id), "bounds")

    def is_fixed(self, work: Work) -> bool:
        """Return whether a run is under way or has drawn something: what it was started with cannot be changed any more."""
        state = self.run_of(work).state
        return state in (RUNNING, DONE) or (state == STOPPED and self.has_begun(work))

    def has_begun(self, work: Work) -> bool:
        """Return whether a run that was stopped has drawn a value or was charged."""
        from dpmondrian.accounts import Checkpoint

        try:
            begun = Checkpoint(self.run_of(work).checkpoint).glance()
        except CheckpointError:
            return True
        return begun is not None and (bool(begun.draws) or bool(self.charged(work)))

    def budget_of(self, work: Work) -> Budget | None:
        """Return the budget that a clustering is charged to; None if the user keeps the account elsewhere, or has not said yet."""
        from dpmondrian.accounts import Budget

        path = work.account.get("path")
        return Budget(self.root.inside(path, what="budget file")) if path else None

    def charged(self, work: Work) -> bool | None:
        """Return whether a run that was stopped is on the account; None without an account.

        Its charge has the id that its checkpoint was begun with. Without a checkpoint, every charge since it began may be its own.
        """
        from dpmondrian.accounts import Checkpoint

        try:
            budget, begun = self.budget_of(work), Checkpoint(self.run_of(work).checkpoint).glance()
            if budget is None:
                return None
            if not self.is_resumable(work):
                return {entry.id for entry in budget.read().entries} > set(work.run.get("before", []))
            return begun is not None and budget.find(begun.run) is not None
        except (BudgetError, CheckpointError):
            return True  # not to be known, so rather said

    def is_resumable(self, work: Work) -> bool:
        """Return whether a run can be continued after a crash: rows on a server may be others by then."""
        return not work.source.get("address")

    def is_done(self, work: Work) -> bool:
        """Return whether there is a release."""
        return self.run_of(work).state == DONE

    def next_step(self, work: Work) -> str:
        """Return the step that a user who comes back is at."""
        if self.is_fixed(work):
            return "result" if self.is_done(work) else "run"
        return next((step for step in ("columns", "plan", "account") if step not in work.run.get("passed", [])), "run")


@dataclass(frozen=True)
class Asked:
    """A request in plain values."""

    request: Request
    form: dict[str, str] = field(default_factory=dict)
    found: Work | None = None  # the clustering that its address names

    @property
    def work(self) -> Work:
        """The clustering, of a page that is about one: `endpoint` sees to it that there is one."""
        assert self.found is not None
        return self.found

    @property
    def is_post(self) -> bool:
        """Whether something is to be changed."""
        return self.request.method == "POST"

    @property
    def is_draft(self) -> bool:
        """Whether the page only saves what was typed so far, and stays."""
        return self.request.headers.get("x-draft") == "1"

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the question mark of the address."""
        return dict(self.request.query_params)


Page = Callable[[Site, Asked], Response]


def endpoint(site: Site, page: Page) -> Callable[[Request], Any]:
    """Return what the router calls for a page: the form is read, the page is made in a thread, and every error becomes a sentence."""

    async def answer(request: Request) -> Response:
        try:
            work = site.works.load(request.path_params["work"]) if "work" in request.path_params else None
            asked = Asked(request, await _form_of(request), work)
            if "work" in request.path_params and asked.found is None:
                return render("missing.html", site, asked, status=404)
            return await run_in_threadpool(page, site, asked)
        except TooLargeError as error:
            return PlainTextResponse(f"{error}\n", 413)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            if os.environ.get("DPMONDRIAN_TRACEBACK"):
                raise
            return render("error.html", site, Asked(request), status=500, sentence=error_sentence(error))

    return answer


async def _form_of(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        return {}
    body = await request.body()
    return dict(parse_qsl(body.decode("ascii", errors="replace"), keep_blank_values=True, max_num_fields=50_000))


def render(name: str, site: Site, asked: Asked, *, status: int | None = None, **values: Any) -> Response:
    """Return a page; one with a sentence about what was wrong with the request says so by its status, too."""
    work, wrong = asked.found, values.get("sentence", "")
    known: dict[str, Any] = {
        "work": work,
        "steps": STEPS,
        "step": "",
        "root": str(site.root.folder),
        "seed": site.seed,
        "sentence": "",
    }
    known["root_name"] = site.root.folder.name or "/"
    known["reached"] = _reached(site, work)
    known["where"] = _where(wrong, work)
    return HTMLResponse(
        _environment().get_template(name).render(**{**known, **values}), status or (400 if wrong else 200)
    )


def _reached(site: Site, work: Work | None) -> list[str]:
    """Return the steps that can be gone to: those passed and the next; after a run what it was started with is only shown."""
    if work is None:
        return ["file"]
    names = list(STEPS)
    return names[: names.index(site.next_step(work)) + 1]


def _where(sentence: str, work: Work | None) -> list[dict[str, str]]:
    """Return for each option in a sentence where the page asks for it."""
    words = {word.strip("'\".,;:()") for word in _COMMAND.sub("", sentence).split()}
    found = [(option, *place) for option, place in _WHERE.items() if option in words]
    keys = ("option", "step", "field", "label")
    return [dict(zip(keys, one, strict=True)) for one in found if work is not None or one[1] == "file"]


@lru_cache(maxsize=1)
def _environment() -> Any:
    from dpmondrian.show import environment
    from dpmondrian.show.words import plain_number

    return environment("dpmondrian.web", clean=_clean, short=plain_number)


def _clean(text: str, most: int = 80) -> str:
    safe = printable(text)
    return safe if len(safe) <= most else f"{safe[:most]}…"


def to_step(work: Work, step: str) -> Response:
    """Return the way to another step."""
    return RedirectResponse(f"/w/{work.id}/{step}", 303)


def saved() -> Response:
    """Return the answer to a draft."""
    return Response(status_code=204)


def argument_of(site: Site, work: Work) -> str:
    """Return the table as an argument of a command that runs in the root."""
    place = place_of(site, work)
    return place if isinstance(place, str) else no_option(os.path.relpath(place, site.root.folder))


def pass_step(work: Work, step: str) -> None:
    """Note that a step was finished."""
    work.run["passed"] = [*dict.fromkeys([*work.run.get("passed", []), step])]


def place_of(site: Site, work: Work) -> Path | str:
    """Return where the rows of a clustering are: the private copy, a file below the root, or the address of a server."""
    if work.source.get("address"):
        return str(work.source["address"])
    if work.source.get("dropped"):
        return site.works.folder_of(work.id) / "dropped" / str(work.source["dropped"])
    return site.root.inside(work.source["path"])
