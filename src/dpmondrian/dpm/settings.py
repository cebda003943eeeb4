"""The parameters of a run, and the rules of all of them: one place for a fit, the planner, the command line and releases that are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from dpmondrian.common import checks as check
from dpmondrian.common.checks import is_number
from dpmondrian.dpm.plan import MOST_LEVELS, PAPER_SHARES, default_shares
from dpmondrian.engines import MISSING_RULES
from dpmondrian.exceptions import ParameterError, WayOut
from dpmondrian.schema import Bounds, GivenBounds, Schema

__all__ = ["DEFAULTS", "MOST_CLUSTERS", "Settings", "check_columns", "checked_settings"]

MOST_CLUSTERS = 10_000
"""Rows are told apart by 16 bits, and a clustering of so many says nothing of any of them."""

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "epsilon": 1.0,
        "delta": 1e-7,
        "n_clusters": None,
        "variant": "default",
        "rows_per_person": 1,
        "person_id": None,
        "on_missing": "error",
        "max_depth": None,
        "windows": None,
        "t": 0.3,
        "q": 1 / 12,
        "alpha": None,
        "min_cluster_size": None,
        "budget_shares": None,
        "accountant": "auto",
        "profiles": True,
    }
)
"""The parameters of `DPM` where nothing else is said: all that a run needs besides bounds."""

ALPHA, PAPER_ALPHA = 3.0, 5.0
"""Weight of emptiness: the paper's, and a lower one that cuts more often, since leaves are only a start for the cells."""

PAPER_DEPTH = 7

_CODES = 2048
"""Windows of all columns together, as long as each gets between 128 and 1,024: one pass over the rows should fit the processor's cache."""

LEAST_SHARE = 0.02
"""Least share of the budget that may be given: less, and draws that are planned on the way might have nothing left."""

LARGEST_SCORE_SLOPE = 31.0
"""With counts up to 2**40 this keeps every score within 64 bits (``docs/privacy/splits.md``)."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a run; all public. `categories` says whether "none", "some" or "all" columns hold categories."""

    epsilon: float
    delta: float
    variant: str
    shares: Mapping[str, float] | None
    max_depth: int
    windows: int | None
    t: float
    q: float
    alpha: float
    min_cluster_size: int | None
    n_clusters: int | None
    rows_per_person: int
    person_id: str | None = None
    categories: str = "none"
    accountant: str = "auto"
    profiles: bool | tuple[str, ...] = False

    @property
    def chosen_shares(self) -> Mapping[str, float]:
        """Shares of the budget, after `for_columns` has chosen them."""
        assert self.shares is not None
        return self.shares

    def for_columns(self, n_columns: int) -> Settings:
        """Return the settings of a run on so many columns: what nobody chose is chosen by public rules."""
        shares = default_shares(self.n_clusters, self.variant, n_columns, bool(self.profiles))
        windows = min(max(_CODES // n_columns, 128), 1024)
        return replace(self, shares=self.shares or shares, windows=self.windows or 2 ** round(math.log2(windows)))

    def beyond_privacy(self) -> dict[str, Any]:
        """Return the estimator's parameters that the privacy statement does not hold, by their names there."""
        values = asdict(self)
        values["budget_shares"] = values.pop("shares")
        values["profiles"] = self.profiles if isinstance(self.profiles, bool) else list(self.profiles)
        stated = ["epsilon", "delta", "variant", "rows_per_person", "accountant", "categories"]
        return {name: value for name, value in values.items() if name not in stated}

    @property
    def profile_names(self) -> tuple[str, ...] | None:
        """The columns that have profiles; None where all have, or none."""
        return None if isinstance(self.profiles, bool) else self.profiles

    @property
    def paper(self) -> bool:
        """Whether the paper's composition, scores and constants are used."""
        return self.variant == "paper"

    @property
    def finds_k(self) -> bool:
        """Whether the data decides about the number of clusters."""
        return self.n_clusters is None and not self.paper


def checked_settings(
    *,
    epsilon: Any,
    delta: Any,
    bounds: Bounds,
    n_clusters: Any,
    variant: Any,
    rows_per_person: Any,
    person_id: Any,
    on_missing: Any,
    max_depth: Any,
    windows: Any,
    t: Any,
    q: Any,
    alpha: Any,
    min_cluster_size: Any,
    budget_shares: Any,
    accountant: Any,
    profiles: Any = True,
) -> Settings:
    """Return checked parameters of `DPM`; raise `ParameterError` if one breaks its rule. Bounds are checked with a table."""
    variant = check.check_choice("variant", variant, ("default", "paper"))
    check.check_choice("on_missing", on_missing, tuple(MISSING_RULES))
    delta = _checked_delta(delta, variant)
    t, q, alpha = _checked_score(t, q, alpha, variant)
    profiles = _checked_profiles(profiles, variant)
    return Settings(
        epsilon=check.check_epsilon(epsilon),
        delta=delta,
        variant=variant,
        shares=_checked_shares(budget_shares, default_shares(n_clusters, variant, 4, bool(profiles))),
        max_depth=_limited("max_depth", _depth(n_clusters, variant) if max_depth is None else max_depth, 0, 12),
        windows=None if windows is None else _limited("windows", windows, 2, 2**14),
        t=t,
        q=q,
        alpha=alpha,
        min_cluster_size=None if min_cluster_size is None else _limited("min_cluster_size", min_cluster_size, 1),
        n_clusters=None if n_clusters is None else _limited("n_clusters", n_clusters, 1, MOST_CLUSTERS),
        rows_per_person=check.check_integer(
            "rows_per_person", rows_per_person, 1, 10**6, "Pass the maximum number of rows per person."
        ),
        person_id=_checked_person_id(person_id),
        categories=GivenBounds(bounds).category_use,
        accountant=_checked_accountant(accountant, delta, variant),
        profiles=profiles,
    )


def _checked_profiles(profiles: Any, variant: str) -> bool | tuple[str, ...]:
    """Return of which columns there are histograms: True for all, False for none, as always in the paper's variant, or names."""
    if isinstance(profiles, bool):
        return profiles and variant != "paper"
    names = isinstance(profiles, list | tuple) and all(isinstance(name, str) for name in profiles)
    if not names or not profiles or len(set(profiles)) < len(profiles):
        raise ParameterError(
            parameter="profiles",
            rule="must be True (all columns), False (none), or a list of different column names",
            value=profiles,
            way_out="Leave profiles=True for histograms of all columns.",
        )
    if variant == "paper":
        raise ParameterError(
            parameter="profiles",
            rule="must be True or False with variant='paper', which has none",
            value=profiles,
            way_out="Use variant='default' for profiles.",
        )
    return tuple(profiles)


def _depth(n_clusters: Any, variant: str) -> int:
    """Return the most levels of a tree: the paper's, or as many as give every cluster a few leaves."""
    many = isinstance(n_clusters, int) and n_clusters > 2 ** (MOST_LEVELS - 3)
    return PAPER_DEPTH if variant == "paper" else MOST_LEVELS + 2 * many


def check_columns(schema: Schema, settings: Settings) -> None:
    """Refuse columns of categories where they cannot be used, and profiles of columns that there are not."""
    unknown = [name for name in settings.profile_names or () if name not in schema.names]
    if unknown:
        raise ParameterError(
            parameter="profiles",
            rule="must name columns of the table",
            value=unknown,
            hint=f"{check.nearest_names(unknown, schema.names)} Available columns: {list(schema.names)!r}.",
        )
    if schema.categories and settings.paper:
        raise ParameterError(
            parameter="variant",
            rule="must be 'default' with categories",
            got=f"'paper', and categories in columns {list(schema.categories)!r}",
            way_out="The paper's variant works with numbers only.",
        )
    if settings.finds_k and not any(getattr(column, "cut", True) for column in schema.columns):
        raise ParameterError(
            parameter="bounds",
            rule="contains only categories that cannot be cut, so there would be a single cluster",
            way_out=WayOut.ALLOW_CUTS,
        )


def _limited(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number within limits, for which None would let DPM choose."""
    return check.check_integer(name, value, least, most, WayOut.LET_DPM_CHOOSE)


def _checked_delta(delta: Any, variant: str) -> float:
    checked = check.check_delta(delta)
    if variant == "paper" and checked == 0.0:
        raise ParameterError(
            parameter="delta",
            of="DPM",
            rule="must be positive with variant='paper', whose averages require it",
            got="0",
            way_out="Use variant='default' for pure epsilon.",
        )
    return checked


def _checked_person_id(person_id: Any) -> str | None:
    if person_id is not None and not isinstance(person_id, str):
        raise ParameterError(parameter="person_id", rule="must be None or the name of a column", value=person_id)
    return person_id


def _checked_accountant(accountant: Any, delta: float, variant: str) -> str:
    """Return how costs become an epsilon; the composed privacy loss is for Gaussian noise in the default variant."""
    chosen = check.check_choice("accountant", accountant, ("auto", "zcdp", "pld"))
    if chosen == "pld" and (delta == 0.0 or variant == "paper"):
        reason = "delta=0, where epsilons add up" if delta == 0.0 else "variant='paper', which adds epsilons up"
        raise ParameterError(
            parameter="accountant",
            rule=f"must be 'auto' or 'zcdp' with {reason}",
            value=chosen,
            way_out="Leave accountant='auto'.",
        )
    return chosen


def _checked_score(t: Any, q: Any, alpha: Any, variant: str) -> tuple[float, float, float]:
    """Return t, q and alpha with ``0 < 2q <= t <= 1``, ``q < 1/2``, ``alpha > 0``, not too steep."""
    if alpha is None:
        alpha = PAPER_ALPHA if variant == "paper" else ALPHA
    if not is_number(q) or not 0.0 < q < 0.5:
        raise ParameterError(
            parameter="q", rule="must be a number with 0 < q < 0.5", value=q, way_out="The default is 1/12."
        )
    if not is_number(t) or not 2.0 * q <= t <= 1.0:
        raise ParameterError(
            parameter="t",
            rule=f"must be a number with 2q <= t <= 1, and q = {q:g}",
            value=t,
            way_out="Increase 't' or decrease 'q'; the defaults are 0.3 and 1/12.",
        )
    if not is_number(alpha) or alpha <= 0:
        raise ParameterError(
            parameter="alpha",
            rule="must be None or a positive finite number",
            value=alpha,
            way_out="The default is None, which means 3, or 5 in the paper's variant.",
        )
    if alpha + t / q > LARGEST_SCORE_SLOPE:
        name, value = ("q", q) if t / q > LARGEST_SCORE_SLOPE / 2 else ("alpha", alpha)
        raise ParameterError(
            parameter=name,
            rule=f"must be such that alpha + t / q <= {LARGEST_SCORE_SLOPE:g}, so that scores are exact (alpha is {alpha:g}, "
            f"t / q is {t / q:g})",
            value=value,
            way_out="Decrease 'alpha', or increase 'q'; the defaults are 3 and 1/12.",
        )
    return float(t), float(q), float(alpha)


def _checked_shares(shares: Any, default: Mapping[str, float]) -> dict[str, float] | None:
    """Return budget shares by name: all names of `default`, positive, summing to one. None leaves them to `for_columns`."""
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or set(shares) != set(default):
        raise _refused_shares(f"must be a mapping with the keys {sorted(default)}", shares, default)
    if not all(is_number(share) and share > 0 for share in shares.values()):
        raise _refused_shares("must be a mapping to positive numbers", dict(shares), default)
    if default is not PAPER_SHARES and min(shares.values()) < LEAST_SHARE:
        raise _refused_shares(f"must be a mapping to shares of at least {LEAST_SHARE:g}", dict(shares), default)
    total = math.fsum(shares.values())
    if abs(total - 1.0) > 1e-9:
        raise _refused_shares(f"must be shares that sum to one (they sum to {total:g})", dict(shares), default)
    return {name: float(shares[name]) for name in default}


def _refused_shares(rule: str, shares: Any, default: Mapping[str, float]) -> ParameterError:
    way_out = f"The default is {dict(default)}."
    return ParameterError(parameter="budget_shares", rule=rule, value=shares, way_out=way_out)
