"""What a release says, checked against itself, the rules of this package, and the account of its data set.

The plan is made again from the parameters and compared with the ledger, the ledger is priced again by the accountants, and
tree, sizes and centres must fit together. One list of checks serves whoever reads a release (`Release.load` refuses one that
contradicts itself) and ``dpm verify``.

None of this shows that the values were *drawn* as the ledger says, or from which rows: that is the word of whoever published
them. A release that was made up as a whole, with a price of its own, does not contradict itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from dpmondrian.dpm import Settings, check_columns, checked_settings, make_plan
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.privacy import Plan
from dpmondrian.release.statement import SECURE, make_statement
from dpmondrian.release.verification.ledger import ledger_faults, price_faults
from dpmondrian.release.verification.shape import centre_faults, size_faults, tree_faults

if TYPE_CHECKING:
    from dpmondrian.release.origin import Account
    from dpmondrian.release.release import Release
    from dpmondrian.release.unit import Unit

__all__ = ["Check", "Verification", "refused", "verify"]

OK, FAILED, OPEN = "ok", "failed", "not checkable"

_TOLERANCE = 1e-9
"""Sums of up to 10^5 floats are off by less, and no promise changes by more than a billionth of itself."""


class Charge(Protocol):
    """An entry of an account: what was released for it, and whose privacy that cost."""

    @property
    def id(self) -> str:
        """Its own name."""
        ...

    @property
    def release(self) -> str | None:
        """Digest of what was released for it."""
        ...

    @property
    def unit(self) -> Unit:
        """Whose privacy was spent."""
        ...


class ChargedAccount(Protocol):
    """What a check must know of a budget, which lies in a room above this one."""

    @property
    def data_set(self) -> str:
        """Name of the data set."""
        ...

    @property
    def entries(self) -> Sequence[Charge]:
        """All charges."""
        ...

    def account_of(self, entry: str) -> Account:
        """Return the account before and after a charge."""
        ...


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it is "ok", "failed" or "not checkable", and why."""

    name: str
    state: str
    words: str


@dataclass(frozen=True)
class Verification:
    """What was checked of a release.

    Attributes
    ----------
    digest : str or None
        Digest of what the file holds; None if it has not even the form of a release.
    checks : tuple of Check
    """

    digest: str | None
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.state == FAILED)

    @property
    def verdict(self) -> str:
        """What follows, in one sentence."""
        n_failed, n_open = len(self.failed), sum(check.state == OPEN for check in self.checks)
        if n_failed:
            return f"Do not rely on this file: {n_failed} of {len(self.checks)} checks failed."
        return (
            f"The release does not contradict itself: {len(self.checks) - n_open} checks hold, and {n_open} things are the word of "
            "whoever published it."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {"holds": not self.failed, "verdict": self.verdict, **asdict(self)}


def refused(reason: str) -> Verification:
    """Return the result for a file that has not the form of a release."""
    return Verification(None, (Check("form", FAILED, reason.rstrip(".")),))


def verify(release: Release, stated_digest: str, budget: ChargedAccount | None = None) -> Verification:
    """Return what holds of a release.

    Parameters
    ----------
    release : Release
        Of the right form, as `Release.parsed` returns it.
    stated_digest : str
        The digest in its file.
    budget : BudgetState, optional
        The account of its data set.
    """
    digest = release.digest()
    checks = [Check("form", OK, "every field of a release is there, and no other")]
    checks.append(_result("digest", "it is that of the content", _digest_faults(digest, stated_digest)))
    settings = _settings_of(release)
    if isinstance(settings, Settings):
        checks += _checks_of_content(release, settings)
    else:
        checks.append(Check("parameters", FAILED, settings))
    checks.append(_account_check(release))
    if budget is not None:
        checks.append(
            _result("budget", "the account was charged for this very release", _budget_faults(release, budget))
        )
    checks += _words_of_the_holder(release, budget)
    return Verification(digest, tuple(checks))


def _result(name: str, words: str, faults: Iterable[str]) -> Check:
    """Return a check that fails for its first fault."""
    fault = next(iter(faults), None)
    return Check(name, OK, words) if fault is None else Check(name, FAILED, fault)


def _settings_of(release: Release) -> Settings | str:
    """Return the checked parameters of the run, or why they are none."""
    privacy = release.privacy
    try:
        settings = checked_settings(
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            bounds=release.schema,
            variant=privacy.variant,
            rows_per_person=privacy.rows_per_person,
            accountant=privacy.accountant,
            **release.parameters,
        )
        check_columns(release.schema, settings)
    except TypeError:
        return "the parameters are not those of DPM"
    except DPMondrianError as error:
        return f"a parameter breaks its rule: {str(error).rstrip('.'):.200}"
    return settings


def _checks_of_content(release: Release, settings: Settings) -> Iterator[Check]:
    try:
        plan = make_plan(settings)
    except (DPMondrianError, ArithmeticError, ValueError):
        yield Check("parameters", FAILED, "no plan can be made with these parameters")
        return
    stated = release.parameters == {"on_missing": release.parameters["on_missing"]} | settings.beyond_privacy()
    faults = [] if stated else ["the parameters are not written as a run writes them"]
    yield _result("parameters", "they keep the rules of the package", faults)
    make: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {
        "statement": ("it says what follows from the parameters", lambda: _statement_faults(release, settings, plan)),
        "ledger": ("its draws are those of the plan", lambda: ledger_faults(release, settings, plan)),
        "price": ("noise, costs, rho, epsilon and delta fit together", lambda: price_faults(release.privacy)),
        "tree": ("its cuts lie within the bounds and its levels", lambda: tree_faults(release, settings)),
        "sizes": ("they add up, as far as their errors allow", lambda: size_faults(release, settings)),
        "centres": ("they lie within the bounds", lambda: centre_faults(release, settings)),
    }
    for name, (words, faults_of) in make.items():
        yield _result(name, words, faults_of())


def _digest_faults(digest: str, stated: str) -> Iterator[str]:
    if digest != stated:
        yield "the digest in the file is not that of its content"


def _statement_faults(release: Release, settings: Settings, plan: Plan) -> Iterator[str]:
    """Yield which fields of the statement do not follow from the parameters.

    Not compared: the ledger, and rho, which is its sum and has checks of its own; the version, of which nothing follows.
    """
    privacy = release.privacy
    expected = make_statement(
        plan,
        privacy.entries,
        release.schema,
        settings.rows_per_person,
        settings.variant,
        privacy.randomness == SECURE,
        settings.person_id,
        privacy.earlier_fits,
    )
    for item in fields(privacy):
        if item.name not in ("entries", "rho", "version") and getattr(privacy, item.name) != getattr(
            expected, item.name
        ):
            yield f"{item.name!r} of the statement is not what follows from the parameters"
    if (privacy.rho is None) != (expected.rho is None):
        yield "'rho' of the statement is there without zCDP, or is missing"


def _account_check(release: Release) -> Check:
    account = release.origin.account
    if account is None:
        return Check("account", OPEN, "no budget was charged, so nobody kept an account of this data set")
    return _result("account", "before, charge and after add up, within the total", _account_faults(release))


def _account_faults(release: Release) -> Iterator[str]:
    """Yield what is wrong with the account; the charge may hold the price of bounds estimated before, or a part of it."""
    account, privacy = release.origin.account, release.privacy
    assert account is not None
    for name, least, most in (
        ("epsilon", privacy.epsilon, privacy.epsilon + privacy.bounds_epsilon),
        ("delta", privacy.delta, privacy.delta),
    ):
        total, before, after = (getattr(cost, name) for cost in (account.total, account.before, account.after))
        slack = _TOLERANCE * max(after, least)
        if not least - slack <= after - before <= most + slack:
            yield f"the account was not charged the {name} of the release"
        if after > total + _TOLERANCE * max(total, after):
            yield f"the account is overdrawn: its {name} is more than its total"


def _budget_faults(release: Release, budget: ChargedAccount) -> Iterator[str]:
    """Yield what the account of the data set says otherwise."""
    digest = release.digest()
    paid = [entry for entry in budget.entries if entry.release == digest]
    if len(paid) != 1:
        yield (
            "the budget file has no charge for a release with this digest"
            if not paid
            else ("the budget file has several charges for this digest")
        )
        return
    if paid[0].unit != release.privacy.unit:
        yield "the budget file was charged for another unit of privacy"
    if budget.data_set != release.origin.data_set:
        yield "the budget file is that of a data set with another name"
    if budget.account_of(paid[0].id) != release.origin.account:
        yield "the account in the release is not that of the budget file"


def _words_of_the_holder(release: Release, budget: ChargedAccount | None) -> Iterator[Check]:
    """Yield what no check can show."""
    yield Check("noise", OPEN, "that the values were drawn as the ledger says, from rows, is the word of the publisher")
    yield Check(
        "errors",
        OPEN,
        "the standard errors of sizes and centres, and the strengths of cuts, are the word of the publisher",
    )
    known = "day, version" if budget is not None else "day, name of the data set, version"
    yield Check("origin", OPEN, f"{known} and number of earlier fits are the word of the publisher")
    if release.privacy.bounds_epsilon == 0.0:
        yield Check("bounds", OPEN, "that bounds and categories were public knowledge is the word of the publisher")
