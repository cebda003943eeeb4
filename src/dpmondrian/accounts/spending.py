"""What a fit spends: charged to the budget of the data set before the first draw, and once, however often the fit is continued."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmondrian._version import __version__
from dpmondrian.exceptions import BudgetError, FinishedRunError, ParameterError, WayOut
from dpmondrian.release import Account, Origin, is_data_set_name, today, unit_of

if TYPE_CHECKING:
    from dpmondrian.accounts.budget import Budget
    from dpmondrian.accounts.checkpoint import Checkpoint, RunJournal
    from dpmondrian.dpm import Settings
    from dpmondrian.privacy import Plan
    from dpmondrian.release import Release
    from dpmondrian.schema import Schema

_UNCHARGED: set[str] = set()
"""Fits of this process with secure noise that no budget was charged for. Seeded ones protect nobody and do not count."""
_NUMBERS = itertools.count()


def _origin_of_new_run() -> dict[str, Any]:
    return {"date": today(), "earlier_fits": len(_UNCHARGED)}


def run_facts(
    settings: Settings,
    schema: Schema,
    plan: Plan,
    on_missing: str,
    seed: int | None,
    *,
    named: bool,
    charged: bool,
    data_set: str | None = None,
) -> dict[str, Any]:
    """Return everything public that determines the draws of a fit and what they mean, by the names of the parameters.

    A checkpoint is continued only by a fit with the same facts.
    """
    draws = json.dumps([asdict(draw) for draw in plan.draws])
    parameters = asdict(settings)
    parameters["budget_shares"] = dict(parameters.pop("shares"))
    return {
        "version of dpmondrian": __version__,
        **parameters,
        "on_missing": on_missing,
        "random_state": seed,
        "bounds": schema.to_dict(),
        "estimate of the bounds": None if schema.estimate is None else asdict(schema.estimate),
        "named columns": named,
        "plan": hashlib.sha256(draws.encode()).hexdigest(),
        "budget": charged,
        "data_set": data_set,
    }


@contextmanager
def open_journal(checkpoint: Checkpoint | str | Path | None, facts: dict[str, Any]) -> Iterator[RunJournal | None]:
    """Yield the journal of the run of a checkpoint, and None without one. Nobody else may write to it meanwhile."""
    if checkpoint is None:
        yield None
        return
    from dpmondrian.accounts.checkpoint import Checkpoint

    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    with checkpoint.journal(facts, _origin_of_new_run()) as journal:
        yield journal


class Spending:
    """Charges the budget of the data set before the first draw of a fit, and tells how far the draws have come.

    The charge has the id of the run in the journal, which is on the disk before. So a run that was killed and is
    continued finds its charge, wherever it was killed, and is charged once.
    """

    def __init__(
        self,
        budget: Budget | str | Path | None,
        journal: RunJournal | None,
        settings: Settings,
        schema: Schema,
        progress: Callable[[str, int, int], None] | None,
        data_set: str | None = None,
        secure: bool = True,
    ) -> None:
        if isinstance(budget, str | Path):
            from dpmondrian.accounts.budget import Budget

            budget = Budget(budget)
        self._budget = budget
        self._secure = secure
        self._data_set = _name_of(data_set, budget)
        self._origin = {**_origin_of_new_run(), **(journal.state.origin if journal is not None else {})}
        self._account: Account | None = None
        self._journal = journal
        self._settings = settings
        self._unit = unit_of(settings.rows_per_person, settings.person_id)
        self._estimate = schema.estimate
        self._bounds_epsilon = schema.bounds_epsilon(settings.rows_per_person, settings.person_id)
        self._progress = progress
        self._entry: str | None = None
        if budget is not None and journal is not None:
            _check_charge(budget, journal)
        if journal is not None and journal.release is not None:
            raise self._finished_before(journal, journal.release)

    def before_draw(self, name: str, n_done: int, n_planned: int) -> None:
        """Prepare a draw, made now or in an earlier part of the run: before the first one, the run is noted and charged."""
        if n_done == 0:
            if self._journal is not None:
                self._journal.begin()
            if self._budget is not None:
                self._entry = self._charged(self._budget)
                self._account = self._budget.read().account_of(self._entry)
            elif self._secure:
                _UNCHARGED.add(str(next(_NUMBERS)) if self._journal is None else self._journal.run)
        if self._progress is not None:
            self._progress(name, n_done, n_planned)

    @property
    def origin(self) -> Origin:
        """Where the release comes from; the account is known after the first draw."""
        return Origin(str(self._origin["date"]), self._data_set, self._account)

    @property
    def earlier_fits(self) -> int:
        """Number of fits that this process made before without a budget; 0 for a seeded run."""
        return int(self._origin["earlier_fits"]) if self._secure else 0

    def _charged(self, budget: Budget) -> str:
        """Charge the run, or leave nothing of it: a checkpoint that cannot be continued would stand in the way of a cheaper run."""
        try:
            return self._charge(budget)
        except BudgetError:
            if self._journal is not None:
                with suppress(BudgetError):  # if it cannot be read, the run may be on it
                    if budget.find(self._journal.run) is None:
                        self._journal.withdraw()
            raise

    def _charge(self, budget: Budget) -> str:
        epsilon, purpose = self._settings.epsilon, "clustering"
        paid = [e.epsilon for e in budget.read().entries if self._estimate and e.id == self._estimate.entry]
        unpaid = max(0.0, self._bounds_epsilon - math.fsum(paid))
        if unpaid > 0.0:
            epsilon, purpose = epsilon + unpaid, "clustering, and the estimate of its bounds"
        run = None if self._journal is None else self._journal.run
        return budget.charge(epsilon, self._settings.delta, purpose, self._unit, run)

    def finish(self, release: Release) -> list[Warning]:
        """Note in checkpoint and budget what was released, and return what to warn of."""
        if self._journal is not None:
            self._journal.finish(release.to_json())
        return self._note(release)

    def _finished_before(self, journal: RunJournal, text: str) -> FinishedRunError:
        """Return the error that has the release; if the run was killed before its charge could be marked, it is marked now."""
        from dpmondrian.release import Release

        release, self._entry = Release.from_json(text), journal.run
        return FinishedRunError(
            " ".join(
                [
                    f"The run in the checkpoint {str(journal.path)!r} is finished, possibly on different rows. Nothing was drawn or spent.",
                    *map(str, self._note(release)),
                ]
            ),
            WayOut.TAKE_RELEASE,
            release=release,
        )

    def _note(self, release: Release) -> list[Warning]:
        """Mark the charge as released, unless it is; a release that is paid for is not lost because the budget cannot note it."""
        if self._budget is None or self._entry is None:
            return []
        try:
            entry = self._budget.find(self._entry)
            if entry is None or not entry.is_released:
                self._budget.finish(self._entry, release.digest())
        except BudgetError as error:
            return [UserWarning(f"The release is paid for, but this could not be recorded in the budget file: {error}")]
        return []


def _name_of(data_set: Any, budget: Budget | None) -> str:
    """Return the name of the data set: the one that was given, which must be that of the budget, if this has one."""
    if data_set is not None and not is_data_set_name(data_set):
        raise ParameterError.broken("data_set", "must be None or a single-line string", data_set, "Shorten it.")
    known = "" if budget is None else budget.read().data_set
    if data_set and known and data_set != known:
        raise ParameterError(
            parameter="data_set",
            rule=f"must be the name in the budget file, {known!r}",
            value=data_set,
            way_out="Omit it, or pass the budget of that data set.",
        )
    return data_set or known


def _check_charge(budget: Budget, journal: RunJournal) -> None:
    """Refuse to continue a run that this budget has not paid for, or that was finished from another copy of its checkpoint."""
    entry = budget.find(journal.run)
    if journal.n_kept and entry is None:
        raise BudgetError(
            f"The budget {str(budget.path)!r} was not charged for the run in the checkpoint {str(journal.path)!r}, which is already partly drawn. Nothing more was drawn.",
            "Pass the budget file that was charged, or use another checkpoint file for a new run.",
        )
    if entry is not None and entry.is_released and journal.release is None:
        raise BudgetError(
            f"The run in the checkpoint {str(journal.path)!r} is finished according to the budget {str(budget.path)!r}, so the checkpoint is "
            "an older copy. Resuming it would release twice what was paid for once. Nothing was drawn.",
            "Use the finished checkpoint, or another file for a new run.",
        )
