"""The parameters of a run, and the rules of all of them: one place for a fit, the planner, the command line and releases that are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from dpmondrian.common import checks as check
from dpmondrian.common.checks import is_number
from dpmondrian.dpm.plan import DEFAULT_SHARES, DEFAULT_SHARES_WITH_K, PAPER_SHARES
from dpmondrian.engines import MISSING_RULES
from dpmondrian.exceptions import ParameterError, WayOut
from dpmondrian.schema import MOST_DIRECTIONS, Bounds, GivenBounds, Schema

__all__ = ["DEFAULTS", "Settings", "check_columns", "checked_settings"]

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
        "windows": 128,
        "t": 0.3,
        "q": 1 / 12,
        "alpha": None,
        "min_cluster_size": None,
        "budget_shares": None,
        "directions": 0,
        "accountant": "zcdp",
    }
)
"""The parameters of `DPM` where nothing else is said: all that a run needs besides bounds."""

ALPHA, ALPHA_WITH_K = 5.0, 3.0
"""Weight of emptiness: the paper's, and a lower one that cuts more often where leaves will be merged.

The lower one was chosen on UCI Letters; on other data it made no clear difference (README, "How good")."""

DEPTH, DEPTH_WITH_K = 12, 7
"""Levels of the tree: the paper's 7, and more where nodes may try again and the tree need not be even."""

LARGEST_SCORE_SLOPE = 31.0
"""With counts up to 2**40 this keeps every score within 64 bits (``docs/privacy/splits.md``)."""


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a run; all public. `categories` says whether "none", "some" or "all" columns hold categories."""

    epsilon: float
    delta: float
    variant: str
    shares: Mapping[str, float]
    max_depth: int
    windows: int
    t: float
    q: float
    alpha: float | None
    min_cluster_size: int | None
    n_clusters: int | None
    rows_per_person: int
    person_id: str | None = None
    directions: int = 0
    categories: str = "none"
    accountant: str = "zcdp"

    def beyond_privacy(self) -> dict[str, Any]:
        """Return the estimator's parameters that the privacy statement does not hold, by their names there.

        Directions are named where there are any.
        """
        values = asdict(self)
        values["budget_shares"] = dict(values.pop("shares"))
        stated = ["epsilon", "delta", "variant", "rows_per_person", "accountant", "categories"]
        if not self.directions:
            stated.append("directions")
        return {name: value for name, value in values.items() if name not in stated}

    @property
    def paper(self) -> bool:
        """Whether the paper's composition, scores and constants are used."""
        return self.variant == "paper"

    @property
    def finds_k(self) -> bool:
        """Whether the data decides about the number of clusters by valleys and bridges."""
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
    directions: Any = 0,
    accountant: Any,
) -> Settings:
    """Return checked parameters of `DPM`; raise `ParameterError` if one breaks its rule. Bounds are checked with a table."""
    variant = check.check_choice("variant", variant, ("default", "paper"))
    check.check_choice("on_missing", on_missing, tuple(MISSING_RULES))
    finds_k = n_clusters is None and variant == "default"
    delta = _checked_delta(delta, variant)
    t, q, alpha = _checked_score(t, q, alpha, n_clusters, variant)
    return Settings(
        epsilon=check.check_epsilon(epsilon),
        delta=delta,
        variant=variant,
        shares=_checked_shares(budget_shares, _default_shares(n_clusters, variant)),
        max_depth=_limited(
            "max_depth", (DEPTH if finds_k else DEPTH_WITH_K) if max_depth is None else max_depth, 0, 12
        ),
        windows=check.check_integer("windows", windows, 2, 2**14, "The default is 128."),
        t=t,
        q=q,
        alpha=alpha,
        min_cluster_size=None if min_cluster_size is None else _limited("min_cluster_size", min_cluster_size, 1),
        n_clusters=None if n_clusters is None else _limited("n_clusters", n_clusters, 1, 10_000),
        rows_per_person=check.check_integer(
            "rows_per_person", rows_per_person, 1, 10**6, "Give the maximum number of rows that one person can have."
        ),
        person_id=_checked_person_id(person_id),
        directions=_checked_directions(directions, variant),
        categories=GivenBounds(bounds).category_use,
        accountant=_checked_accountant(accountant, delta, variant),
    )


def check_columns(schema: Schema, settings: Settings) -> None:
    """Refuse columns of categories where they cannot be used."""
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
            rule="holds only categories along which nothing may be cut, so there would be one cluster",
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
            rule="must be positive with variant='paper', whose averages need it",
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
    chosen = check.check_choice("accountant", accountant, ("zcdp", "pld"))
    if chosen == "pld" and (delta == 0.0 or variant == "paper"):
        reason = "delta=0, where epsilons add up" if delta == 0.0 else "variant='paper', which adds epsilons up"
        raise ParameterError(
            parameter="accountant",
            rule=f"must be 'zcdp' with {reason}",
            value=chosen,
            way_out="Leave accountant='zcdp'.",
        )
    return chosen


def _checked_directions(directions: Any, variant: str) -> int:
    """Return the number of public directions along which cuts may be made; the paper's variant has none."""
    number = check.check_integer("directions", directions, 0, MOST_DIRECTIONS, "Use 0 to cut along columns only.")
    if number and variant == "paper":
        raise ParameterError(
            parameter="directions",
            rule="must be 0 with variant='paper', which cuts along columns only",
            value=number,
            way_out="Use variant='default' for other directions.",
        )
    return number


def _checked_score(t: Any, q: Any, alpha: Any, n_clusters: Any, variant: str) -> tuple[float, float, float | None]:
    """Return t, q and alpha with ``0 < 2q <= t <= 1``, ``q < 1/2``, ``alpha > 0``, not too steep; no alpha where it has no use."""
    finds_k = n_clusters is None and variant == "default"
    if finds_k and alpha is not None:
        raise ParameterError(
            parameter="alpha",
            of="DPM",
            rule="is the weight of emptiness, which is scored only with 'n_clusters' and in variant='paper'",
            value=alpha,
            way_out="Leave alpha=None.",
        )
    if alpha is None:
        alpha = ALPHA if finds_k or variant == "paper" else ALPHA_WITH_K
    if not is_number(q) or not 0.0 < q < 0.5:
        raise ParameterError(
            parameter="q", rule="must be a number with 0 < q < 0.5", value=q, way_out="The default is 1/12."
        )
    if not is_number(t) or not 2.0 * q <= t <= 1.0:
        raise ParameterError(
            parameter="t",
            rule=f"must be a number with 2q <= t <= 1, and q = {q:g}",
            value=t,
            way_out="Raise 't' or lower 'q'; the defaults are 0.3 and 1/12.",
        )
    if not is_number(alpha) or alpha <= 0:
        raise ParameterError(
            parameter="alpha",
            rule="must be None or a positive finite number",
            value=alpha,
            way_out="The default is None, which means 5, or 3 with n_clusters.",
        )
    if alpha + t / q > LARGEST_SCORE_SLOPE:
        name, value = ("q", q) if t / q > LARGEST_SCORE_SLOPE / 2 else ("alpha", alpha)
        raise ParameterError(
            parameter=name,
            rule=f"must be such that alpha + t / q <= {LARGEST_SCORE_SLOPE:g}, so that scores are exact (alpha is {alpha:g}, "
            f"t / q is {t / q:g})",
            value=value,
            way_out="Lower 'alpha', or raise 'q'; the defaults are 5 and 1/12.",
        )
    return float(t), float(q), None if finds_k else float(alpha)


def _default_shares(n_clusters: Any, variant: str) -> Mapping[str, float]:
    if variant == "paper":
        return PAPER_SHARES
    return DEFAULT_SHARES if n_clusters is None else DEFAULT_SHARES_WITH_K


def _checked_shares(shares: Any, default: Mapping[str, float]) -> dict[str, float]:
    """Return budget shares by name: all names of `default`, positive, summing to one."""
    if shares is None:
        return dict(default)
    if not isinstance(shares, Mapping) or set(shares) != set(default):
        raise _refused_shares(f"must be a mapping with the keys {sorted(default)}", shares, default)
    if not all(is_number(share) and share > 0 for share in shares.values()):
        raise _refused_shares("must be a mapping to positive numbers", dict(shares), default)
    total = math.fsum(shares.values())
    if abs(total - 1.0) > 1e-9:
        raise _refused_shares(f"must be shares that sum to one (they sum to {total:g})", dict(shares), default)
    return {name: float(shares[name]) for name in default}


def _refused_shares(rule: str, shares: Any, default: Mapping[str, float]) -> ParameterError:
    way_out = f"The default is {dict(default)}."
    return ParameterError(parameter="budget_shares", rule=rule, value=shares, way_out=way_out)
