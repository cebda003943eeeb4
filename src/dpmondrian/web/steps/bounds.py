"""A side step, which costs: bounds that nobody knows are estimated from the rows, with noise, and charged."""

from __future__ import annotations

import tomllib

from starlette.responses import Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.common.checks import check_epsilon
from dpmondrian.exceptions import DPMondrianError, ParameterError
from dpmondrian.web.jobs import DONE, RUNNING
from dpmondrian.web.planned import number_typed
from dpmondrian.web.site import Asked, Site, argument_of, render, to_step
from dpmondrian.web.steps.file import reading_of, reading_options
from dpmondrian.web.works import Work

_NUMERIC = ("number", "whole")


def bounds(site: Site, asked: Asked) -> Response:
    """Ask for which columns and for how much; estimate; take what was found into the columns."""
    work = asked.work
    job = site.bounds_of(work)
    if job.state == DONE and not work.estimate:
        _merge(site, work)
        return to_step(work, "columns")
    if not asked.is_post:
        return _shown(site, asked)
    if site.is_fixed(work) or job.state in (RUNNING, DONE):
        return to_step(work, "bounds")
    try:
        arguments = _arguments(site, work, asked.form)
        job.start(lambda: arguments, site.root.folder)
    except DPMondrianError as error:
        return _shown(site, asked, error_sentence(error))
    return to_step(work, "bounds")


def _arguments(site: Site, work: Work, form: dict[str, str]) -> list[str]:
    """Return the arguments of ``dpm schema``."""
    if work.estimate:
        raise ParameterError(
            "The schema already contains bounds that were estimated from the rows.",
            "Estimate the bounds of all such columns together, from a schema without 'bounds_epsilon'.",
        )
    names = [name for number, name in enumerate(work.columns) if form.get(f"column-{number}")]
    if not names:
        raise ParameterError("No column was chosen.", "Tick at least one.")
    epsilon = check_epsilon(number_typed(form.get("epsilon", "")))
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    people = work.people
    person = ["--person-id", people["column"]] if people.get("column") else []
    rows = ["--rows-per-person", people["rows"]] if people.get("rows", "1") != "1" else []
    budget = site.budget_of(work)
    charged = [] if budget is None else ["--budget", str(budget.path)]
    reading = reading_options(reading_of(work))
    options = ["--suggest-bounds", "--epsilon", repr(epsilon), "--columns", ",".join(quoted), "--json"]
    return ["schema", argument_of(site, work), *options, *person, *rows, *charged, *reading]


def _merge(site: Site, work: Work) -> None:
    """Take estimated bounds into the columns."""
    answer = site.bounds_of(work).answer() or {}
    schema = tomllib.loads(answer.get("schema", ""))
    with site.works.changed(work.id) as changed:
        for name, pair in answer.get("bounds", {}).items():
            known = changed.columns.get(name)
            if known is None or pair is None:
                continue
            known.update(lower=f"{pair[0]:.17g}", upper=f"{pair[1]:.17g}", why="Estimated from the rows, with noise.")
            if known.get("kind") not in _NUMERIC:
                known["kind"] = "whole" if len(pair) > 2 else "number"
        changed.estimate = {
            "epsilon": schema["bounds_epsilon"],
            "rows_per_person": schema.get("rows_per_person", 1),
            "person_id": schema.get("person_id"),
            "entry": schema.get("bounds_entry"),
        }


def _shown(site: Site, asked: Asked, sentence: str = "") -> Response:
    work = asked.work
    job = site.bounds_of(work)
    numeric = [
        (number, name, typed)
        for number, (name, typed) in enumerate(work.columns.items())
        if typed.get("kind") in _NUMERIC
    ]
    return render(
        "bounds.html",
        site,
        asked,
        step="columns",
        sentence=sentence,
        numeric=numeric,
        state=job.state,
        messages=job.messages(),
        account=work.account,
        epsilon=asked.form.get("epsilon", "0.1"),
    )
