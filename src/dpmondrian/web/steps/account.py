"""The fourth step: who pays. A budget file is chosen or opened, with what earlier releases spent of it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dpmondrian.cli.wording import error_sentence
from dpmondrian.exceptions import BudgetError, DPMondrianError
from dpmondrian.web.planned import Planned, number_typed
from dpmondrian.web.site import Asked, Site, pass_step, render, saved, to_step
from dpmondrian.web.works import Work


def account(site: Site, asked: Asked) -> Response:
    """Show the account; open or choose one."""
    if not asked.is_post or site.is_fixed(asked.work):
        return _shown(site, asked)
    if asked.is_draft:
        return saved()
    try:
        chosen = _chosen(site, asked.form)
    except (DPMondrianError, OSError) as error:
        return _shown(site, asked, error_sentence(error))
    with site.works.changed(asked.work.id) as work:
        work.account = chosen
    try:
        _check_left(site, work)
    except DPMondrianError as error:
        return _shown(site, Asked(asked.request, asked.form, work), error_sentence(error))
    with site.works.changed(work.id) as work:
        if asked.form.get("go") != "look":
            pass_step(work, "account")
    return to_step(work, "account" if asked.form.get("go") == "look" else "run")


def _check_left(site: Site, work: Work) -> None:
    """Refuse an account that will not pay for the plan, before somebody waits for it; the charge itself decides."""
    from dpmondrian.show.words import plain_number

    budget, planned = site.budget_of(work), Planned.typed(work.plan)
    if budget is None:
        return
    left = budget.read().left
    if planned.epsilon > left[0] * (1 + 1e-9) or planned.delta > left[1] * (1 + 1e-9):
        raise BudgetError(
            f"This release would spend epsilon = {plain_number(planned.epsilon)} and delta = {plain_number(planned.delta)}, but only "
            f"{plain_number(left[0])} and {plain_number(left[1])} are left in {work.account['path']!r}.",
            "Lower --epsilon or --delta, or choose another budget file.",
        )


def _chosen(site: Site, form: dict[str, str]) -> dict[str, Any]:
    """Return the account that a form names: an existing file, a new one, or none."""
    from dpmondrian.accounts import Budget

    how = form.get("how", "")
    if how == "none":
        return {"none": True}
    if how == "new":
        path = site.root.inside(form.get("new-path", ""), what="name for the budget file")
        Budget.create(
            path,
            number_typed(form.get("epsilon", "")),
            number_typed(form.get("delta", "")),
            form.get("data-set", "").strip(),
        )
    else:
        path = site.root.inside(form.get("path", ""), what="budget file")
        Budget(path).read()
    return {"path": site.root.below(path)}


def _shown(site: Site, asked: Asked, sentence: str = "") -> Response:
    work = asked.work
    state = None
    try:
        budget = site.budget_of(work)
        state = None if budget is None else budget.read()
    except DPMondrianError as error:
        sentence = sentence or error_sentence(error)
    return render(
        "account.html",
        site,
        asked,
        step="account",
        sentence=sentence,
        account=work.account,
        state=state,
        files=site.root.files((".json",)),
        new_name=site.root.free_name(f"{work.stem}-budget", ".json"),
        form=asked.form,
        cost={"epsilon": work.plan.get("epsilon", "1"), "delta": work.plan.get("delta", "1e-7")},
        fixed=site.is_fixed(work),
    )
