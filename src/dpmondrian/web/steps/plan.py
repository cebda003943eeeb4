"""The third step: how much to spend, and what to expect of it. Redrawn while sliders move; no row is read."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.web.columns import declared_schema, is_used
from dpmondrian.web.planned import DEFAULTS, EPSILONS, ROWS, Planned
from dpmondrian.web.site import Asked, Site, pass_step, render, saved, to_step
from dpmondrian.web.works import Work

_FIELDS = ("epsilon", "delta", "rows", "groups", "k")


def plan(site: Site, asked: Asked) -> Response:
    """Show sliders, forecast and simulation; take what was chosen."""
    if not asked.is_post or site.is_fixed(asked.work):
        return _shown(site, asked)
    with site.works.changed(asked.work.id) as work:
        work.plan = {**DEFAULTS, **work.plan, **{name: asked.form[name] for name in _FIELDS if name in asked.form}}
    if asked.is_draft:
        return saved()
    asked = Asked(asked.request, asked.form, work)
    try:
        Planned.typed(work.plan)
    except DPMondrianError as error:
        return _shown(site, asked, error_sentence(error))
    with site.works.changed(work.id) as work:
        pass_step(work, "plan")
    return to_step(work, "account")


def outlook(site: Site, asked: Asked) -> Response:
    """Return the part of the page that changes with the sliders."""
    typed = {**DEFAULTS, **asked.work.plan, **{name: text for name, text in asked.query.items() if name in _FIELDS}}
    return render("outlook.html", site, asked, **_outlook(asked.work, typed))


def _shown(site: Site, asked: Asked, sentence: str = "") -> Response:
    work = asked.work
    try:
        declared_schema(work)
    except DPMondrianError:
        return to_step(work, "columns")
    typed = {**DEFAULTS, **work.plan}
    return render(
        "plan.html",
        site,
        asked,
        step="plan",
        typed=typed,
        epsilons=EPSILONS,
        rows=ROWS,
        fixed=site.is_fixed(work),
        left_out=[name for name, known in work.columns.items() if not is_used(known)],
        n_columns=len(work.columns),
        sentence=sentence,
        **{**_outlook(work, typed), **({"problem": ""} if sentence else {})},
    )


def _outlook(work: Work, typed: dict[str, str]) -> dict[str, Any]:
    """Return the forecast in sentences and the simulation, or what is wrong."""
    from dpmondrian.show.texts import sentences
    from dpmondrian.web.simulation import HEIGHT, STUDIO, WIDTH, expected

    values: dict[str, Any] = {"problem": "", "sentences": [], "warnings": [], "simulation": None, "final": True}
    values |= {"planned": None, "width": WIDTH, "height": HEIGHT}
    try:
        declared, planned = declared_schema(work), Planned.typed(typed)
        forecast = expected(declared, planned)
        values |= {"sentences": sentences(forecast), "warnings": forecast.warnings, "planned": planned}
        values["simulation"], values["final"] = STUDIO.picture(declared, planned)
    except DPMondrianError as error:
        values["problem"] = error_sentence(error)
    return values
