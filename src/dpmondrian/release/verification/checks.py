"""What a release says, checked against itself, the rules of this package, and the account of its data set.

The plan is made again from the parameters and compared with the ledger, the ledger is priced again by the accountants, and
tree, sizes and centres must fit together. One list of checks serves whoever reads a release (`Release.load` refuses one that
contradicts itself) and ``dpm verify``.

None of this shows that the values were *drawn* as the ledger says, or from which rows: that is the word of whoever published
them. A release that was made up as a whole, with a price of its own, does not contradict itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from dpmondrian.dpm import Settings, check_columns, checked_settings, make_plan
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.privacy import Plan
from dpmondrian.release.statement import SECURE, make_statement
from dpmondrian.release.verification.ledger import ledger_faults, price_faults
from dpmondrian.release.verification.shape import (
    Fault,
    cell_faults,
    centre_faults,
    partition_faults,
    profile_faults,
    size_faults,
    tree_faults,
)

if TYPE_CHECKING:
    from dpmondrian.release.release import Release

OK, FAILED, OPEN = "ok", "failed", "not checkable"

_TOLERANCE = 1e-9
"""Sums of up to 10^5 floats are off by less, and no promise changes by more than a billionth of itself."""


class ChargedAccount(Protocol):
    """The account of a data set, which lies in a room above this one."""

    def faults(self, release: Release) -> Iterator[Fault]:
        """Yield what it says otherwise than a release."""
        ...


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it is "ok", "failed" or "not checkable", and why, as a key of the catalogue with its values."""

    name: str
    state: str
    key: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Why, in a sentence without its full stop."""
        from dpmondrian.show.texts import check_text

        return check_text(self)


@dataclass(frozen=True)
class Verification:
    """What was checked of a release."""

    digest: str | None  # of what the file holds; None if it has not even the form of a release
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.state == FAILED)

    @property
    def verdict(self) -> str:
        """What follows, in one sentence."""
        from dpmondrian.show.texts import verdict_text

        return verdict_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        checks = [{"name": check.name, "state": check.state, "words": check.words} for check in self.checks]
        return {"holds": not self.failed, "verdict": self.verdict, "digest": self.digest, "checks": checks}


def refused(reason: str) -> Verification:
    """Return the result for a file that has not the form of a release."""
    return Verification(None, (_result("form", [reason.rstrip(".")]),))


def verify(release: Release, stated_digest: str, budget: ChargedAccount | None = None) -> Verification:
    """Return what holds of a release of the right form, as `Release.parsed` returns it with the digest in its file."""
    digest = release.digest()
    checks = [_result("form"), _result("digest", [] if digest == stated_digest else [Fault("digest")])]
    settings = _settings_or_fault(release)
    if isinstance(settings, Settings):
        checks += _checks_of_content(release, settings)
    else:
        checks.append(_result("parameters", [settings]))
    charged = release.origin.account is not None
    checks.append(_result("account", _account_faults(release)) if charged else _left_open("account"))
    if budget is not None:
        checks.append(_result("budget", budget.faults(release)))
    checks += [_left_open("noise"), _left_open("errors"), _left_open("origin", "" if budget is None else ".charged")]
    if release.privacy.bounds_epsilon == 0.0:
        checks.append(_left_open("bounds"))
    return Verification(digest, tuple(checks))


def _result(name: str, faults: Iterable[Fault | str] = ()) -> Check:
    """Return a check that fails for its first fault; some come in words."""
    fault = next(iter(faults), None)
    if fault is None:
        return Check(name, OK, f"verify.{name}")
    fault = Fault("sentence", {"sentence": fault}) if isinstance(fault, str) else fault
    return Check(name, FAILED, f"fault.{fault.key}", fault.values)


def _left_open(name: str, case: str = "") -> Check:
    """Return what no check can show: it rests on the publisher's word."""
    return Check(name, OPEN, f"verify.open.{name}{case}")


def settings_of(release: Release) -> Settings:
    """Return the checked parameters of the run; raise `DPMondrianError` or TypeError if they are none."""
    settings = checked_settings(**release.all_parameters)
    check_columns(release.schema, settings)
    return settings.for_columns(len(release.schema.centre_columns))


def _settings_or_fault(release: Release) -> Settings | Fault:
    """Return the checked parameters of the run, or why they are none."""
    try:
        return settings_of(release)
    except TypeError:
        return Fault("parameters")
    except DPMondrianError as error:
        return Fault("rule", {"error": f"{str(error).rstrip('.'):.200}"})


def _checks_of_content(release: Release, settings: Settings) -> Iterator[Check]:
    try:
        plan = make_plan(settings)
    except (DPMondrianError, ArithmeticError, ValueError):
        yield _result("parameters", [Fault("plan")])
        return
    stated = release.parameters == {"on_missing": release.parameters["on_missing"]} | settings.beyond_privacy()
    yield _result("parameters", [] if stated else [Fault("stated")])
    faults: dict[str, Callable[[], Iterable[Fault | str]]] = {
        "statement": lambda: _statement_faults(release, settings, plan),
        "ledger": lambda: ledger_faults(release, settings, plan),
        "price": lambda: price_faults(release.privacy, plan),
        "tree": lambda: tree_faults(release, settings),
        "sizes": lambda: size_faults(release, settings),
        "centres": lambda: centre_faults(release, settings),
        "cells": lambda: cell_faults(release, settings),
        "rule": lambda: partition_faults(release, settings),
        "profiles": lambda: profile_faults(release, settings),
    }
    for name, faults_of in faults.items():
        yield _result(name, faults_of())


def _statement_faults(release: Release, settings: Settings, plan: Plan) -> Iterator[Fault]:
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
    for name in (item.name for item in fields(privacy) if item.name not in ("entries", "rho", "version")):
        if getattr(privacy, name) != getattr(expected, name):
            yield Fault("statement", {"field": repr(name)})
    if (privacy.rho is None) != (expected.rho is None):
        yield Fault("rho")


def _account_faults(release: Release) -> Iterator[Fault]:
    """Yield what is wrong with the account; the charge may hold the price of bounds estimated before, or a part of it."""
    account, privacy = release.origin.account, release.privacy
    assert account is not None
    for name, least, most in (
        ("epsilon", privacy.epsilon, privacy.total_epsilon),
        ("delta", privacy.delta, privacy.delta),
    ):
        total, before, after = (getattr(cost, name) for cost in (account.total, account.before, account.after))
        slack = _TOLERANCE * max(after, least)
        if not least - slack <= after - before <= most + slack:
            yield Fault("not_charged", {"cost": name})
        if after > total + _TOLERANCE * max(total, after):
            yield Fault("overdrawn", {"cost": name})
