"""The fifth step: the release is made, once. It can be watched, and cancelled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from starlette.responses import JSONResponse, Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.common.whole_files import check_new_folder, write_file
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.web.columns import check_missing, declared_schema, is_used
from dpmondrian.web.jobs import DONE, RUNNING, STOPPED
from dpmondrian.web.planned import DEFAULTS, Planned
from dpmondrian.web.sameness import Recipe
from dpmondrian.web.site import Asked, Site, argument_of, render, to_step
from dpmondrian.web.steps.file import reading_of, reading_options
from dpmondrian.web.works import Work

_ERROR = "Error: "
_STEPS = {"starting": "Starting", "reading": "Reading the rows", "clustering": "Drawing noisy values"}


def run(site: Site, asked: Asked) -> Response:
    """Show what will happen; begin it; show how far it is."""
    work = asked.work
    job = site.run_of(work)
    if job.state == DONE:
        return to_step(work, "result")
    if not asked.is_post:
        return _shown(site, asked)
    if job.state == RUNNING:
        return to_step(work, "run")
    try:
        _begin(site, work, asked.form)
    except (DPMondrianError, OSError) as error:
        return _shown(site, asked, error_sentence(error))
    return to_step(work, "run")


def _begin(site: Site, work: Work, form: dict[str, str]) -> None:
    """Write the schema, and start the command; a run that has drawn something is continued with what it was started with."""
    job = site.run_of(work)

    def arguments() -> list[str]:
        if not site.has_begun(work):
            check_missing(work)
            out = site.root.inside(form.get("out", ""), what="folder for the results")
            check_new_folder(out)
            with site.works.changed(work.id) as changed:
                job.checkpoint.unlink(missing_ok=True)  # of a run that drew nothing
                _fix(site, changed, out)
        given = cast("Work", site.works.load(work.id)).run["arguments"]
        checkpoint = ["--checkpoint", str(job.checkpoint)] if site.is_resumable(work) else []
        return [*given, *checkpoint, "--progress-file", str(job.progress), "--json"]

    job.start(arguments, site.root.folder)


def _fix(site: Site, work: Work, out: Path) -> None:
    """Decide what the run is started with, which does not change any more."""
    schema = work.run.get("schema") or site.root.free_name(f"{work.stem}-schema", ".toml")
    overwrite = "schema" in work.run
    work.run |= {"out": site.root.below(out), "schema": schema}
    recipe = recipe_of(site, work)
    recipe = replace(recipe, source={**recipe.source, "path": argument_of(site, work)})
    write_file(site.root.folder / schema, schema_text_of(work), overwrite=overwrite)
    work.run["arguments"] = recipe.options
    budget = site.budget_of(work)
    work.run["before"] = [] if budget is None else [entry.id for entry in budget.read().entries]


def schema_text_of(work: Work) -> str:
    """Return the schema file of a clustering."""
    from dpmondrian.schema import schema_text

    return schema_text(declared_schema(work))


def recipe_of(site: Site, work: Work) -> Recipe:
    """Return what determines the release of a clustering; a file that was dropped is called by its own name."""
    planned, budget = Planned.typed(work.plan), site.budget_of(work)
    return Recipe(
        source={
            "path": work.source.get("dropped") or work.source.get("address") or work.source["path"],
            **reading_of(work),
        },
        reading=reading_options(reading_of(work)),
        declared=declared_schema(work),
        schema=work.run["schema"],
        parameters={
            "epsilon": planned.epsilon,
            "delta": planned.delta,
            "n_clusters": planned.k,
            "on_missing": {**DEFAULTS, **work.plan}["on_missing"],
            "random_state": site.seed,
        },
        budget=None if budget is None else site.root.below(budget.path),
        out=work.run["out"],
    )


def cancel(site: Site, asked: Asked) -> Response:
    """Stop the run; the page then says whether the budget was charged."""
    job = site.run_of(asked.work)
    job.stop()
    job.wait(5.0)
    return to_step(asked.work, "run")


def progress(site: Site, asked: Asked) -> Response:
    """Return how far the run is, for the page that watches it."""
    job = site.run_of(asked.work)
    step, share = job.fraction()
    return JSONResponse({"state": job.state, "step": _STEPS.get(step, step), "share": round(share, 3)})


def warnings_in(messages: list[str]) -> list[str]:
    """Return what a command warned of; its notes are for those who type commands."""
    return [line for line in messages if line.startswith("Warning: ")]


def _shown(site: Site, asked: Asked, sentence: str = "") -> Response:
    work = asked.work
    job = site.run_of(work)
    values: dict[str, Any] = {"declared": None, "planned": None, "budget": None}
    try:
        values |= {"declared": declared_schema(work), "planned": Planned.typed(work.plan)}
        budget = site.budget_of(work)
        values["budget"] = None if budget is None else budget.read()
    except DPMondrianError as error:
        sentence = sentence or error_sentence(error)
    step, share = job.fraction()
    said = job.messages() if job.state == STOPPED else []
    wrong = " ".join(line.removeprefix(_ERROR) for line in said if line.startswith(_ERROR))
    return render(
        "run.html",
        site,
        asked,
        status=400 if sentence else 200,
        step="run",
        sentence=sentence or wrong,
        state=job.state,
        fixed=site.is_fixed(work),
        resumable=site.is_resumable(work),
        messages=warnings_in(said),
        charged=site.charged(work) if job.state == STOPPED else None,
        doing=_STEPS.get(step, step),
        share=share,
        out=work.run.get("out") or asked.form.get("out") or site.root.free_name(f"{work.stem}-clusters"),
        account=work.account,
        left_out=[name for name, typed in work.columns.items() if not is_used(typed)],
        **values,
    )
