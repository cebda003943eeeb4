"""The second step: what is public about the columns, and whose rows they are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from starlette.responses import Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.exceptions import DPMondrianError, ParameterError
from dpmondrian.web.columns import (
    FIELDS,
    HABITS,
    KINDS,
    check_missing,
    codes_in,
    declared_schema,
    from_schema,
    is_used,
)
from dpmondrian.web.jobs import DONE
from dpmondrian.web.planned import DEFAULTS
from dpmondrian.web.site import Asked, Site, pass_step, place_of, render, saved, to_step
from dpmondrian.web.works import Work


def columns(site: Site, asked: Asked) -> Response:
    """Ask what is known about each column; take what was typed."""
    if not asked.is_post or site.is_fixed(asked.work):
        return _shown(site, asked)
    with site.works.changed(asked.work.id) as work:
        _take(work, asked.form)
    if asked.is_draft:
        return saved()
    asked = Asked(asked.request, asked.form, work)
    if "list" in asked.form:
        return _take_list(site, asked, asked.form["list"])
    try:
        declared_schema(work)
        check_missing(work)
    except DPMondrianError as error:
        return _shown(site, asked, error_sentence(error), getattr(error, "column", None))
    with site.works.changed(work.id) as work:
        pass_step(work, "columns")
    return to_step(work, "bounds" if asked.form.get("go") == "bounds" else "plan")


def _take_list(site: Site, asked: Asked, number: str) -> Response:
    """Fill in the categories of a column from a public list of codes, which the table itself is not."""
    names = dict(enumerate(asked.work.columns))
    name = names.get(int(number) if number.isdecimal() else -1, "")
    try:
        path = site.root.inside(asked.form.get(f"codes-{number}", ""), what="list of codes")
        if path == place_of(site, asked.work):
            raise ParameterError("This is the table itself.", "Choose a public list, such as a code book.")
        codes = codes_in(path, name)
    except DPMondrianError as error:
        return _shown(site, asked, error_sentence(error), name)
    with site.works.changed(asked.work.id) as work:
        if name in work.columns:
            work.columns[name]["categories"] = codes
    return to_step(work, f"columns#column-{number}")


def _take(work: Work, form: dict[str, str]) -> None:
    """Keep what was typed, by the number of each column."""
    for number, (name, known) in enumerate(list(work.columns.items())):
        if f"kind-{number}" not in form:
            continue
        typed = {field: form.get(f"{field}-{number}", "") for field in FIELDS}
        changed = any(typed[field] != known.get(field, "") for field in FIELDS)
        work.columns[name] = {**typed, "why": "" if changed else known.get("why", "")}
    work.habits = {name: form.get(f"all-{name}", "").strip() for name in HABITS}
    work.people = {"column": form.get("person", ""), "rows": form.get("rows", "1")}
    if work.people["column"] in work.columns:
        work.columns[work.people["column"]]["kind"] = "ignore"
    work.plan = {**DEFAULTS, **work.plan, "on_missing": form.get("on_missing", "error")}


def _shown(site: Site, asked: Asked, sentence: str = "", wrong: str | None = None) -> Response:
    work = asked.work
    return render(
        "columns.html",
        site,
        asked,
        step="columns",
        sentence=sentence,
        wrong=wrong,
        kinds=KINDS,
        columns=list(enumerate(work.columns.items())),
        n_used=sum(map(is_used, work.columns.values())),
        on_missing={**DEFAULTS, **work.plan}["on_missing"],
        fixed=site.is_fixed(work),
        estimated=site.bounds_of(work).state == DONE,
        lists=site.root.files((".csv", ".tsv", ".txt")),
    )


def use_schema(site: Site, asked: Asked) -> Response:
    """Take what a schema file says about the columns."""
    from dpmondrian.schema import read_schema

    if site.is_fixed(asked.work):
        return to_step(asked.work, "columns")
    try:
        declared = read_schema(Path(site.root.inside(asked.form.get("schema", ""), what="schema file")))
        typed, people = from_schema(declared, asked.work.columns)
    except DPMondrianError as error:
        return _shown(site, asked, error_sentence(error))
    with site.works.changed(asked.work.id) as work:
        work.columns, work.people = typed, people
        if declared.schema.estimate is not None:
            work.estimate = asdict(declared.schema.estimate)
    return to_step(work, "columns")
