"""The rules of all parameters of `DPM` together: for a fit, for the planner, and for releases that are read."""

from __future__ import annotations

from typing import Any

from dpmondrian.common import checks as check
from dpmondrian.dpm.algorithm import ALPHA, ALPHA_WITH_K, DEPTH, DEPTH_WITH_K, Settings
from dpmondrian.engines.missing import MISSING_RULES
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy.plan import DEFAULT_SHARES, DEFAULT_SHARES_WITH_K, PAPER_SHARES
from dpmondrian.schema.bounds import GivenBounds
from dpmondrian.schema.columns import Bounds, Schema

__all__ = ["check_columns", "checked_settings"]


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
    directions: Any = 0,
) -> Settings:
    """Return checked parameters of `DPM`; raise `ParameterError` if one breaks its rule. Bounds are checked with a table."""
    variant = check.check_choice("variant", variant, ("default", "paper"))
    check.check_choice("on_missing", on_missing, tuple(MISSING_RULES))
    delta = check.check_delta(delta)
    if variant == "paper" and delta == 0.0:
        raise ParameterError(
            "The 'delta' parameter of DPM must be positive with variant='paper', whose averages need it. Got 0 instead. "
            "Use variant='default' for pure epsilon."
        )
    default_shares = (
        PAPER_SHARES if variant == "paper" else DEFAULT_SHARES if n_clusters is None else DEFAULT_SHARES_WITH_K
    )
    finds_k = n_clusters is None and variant == "default"
    if finds_k and alpha is not None:
        raise ParameterError(
            "The 'alpha' parameter of DPM weighs emptiness, which is scored with 'n_clusters' and in variant='paper' only. "
            f"Got {alpha!r}. Leave alpha=None."
        )
    if person_id is not None and not isinstance(person_id, str):
        raise ParameterError(
            f"The 'person_id' parameter must be None or the name of a column. Got {person_id!r} instead."
        )
    if alpha is None:
        alpha = ALPHA if n_clusters is None or variant == "paper" else ALPHA_WITH_K
    t, q, alpha = check.check_score_parameters(t, q, alpha)
    if max_depth is None:
        max_depth = DEPTH if finds_k else DEPTH_WITH_K
    optional = {
        name: None if value is None else check.check_integer(name, value, 1, most, "Use None to let DPM choose.")
        for name, value, most in (("n_clusters", n_clusters, 10_000), ("min_cluster_size", min_cluster_size, None))
    }
    return Settings(
        epsilon=check.check_epsilon(epsilon),
        delta=delta,
        variant=variant,
        shares=check.check_shares(budget_shares, default_shares),
        max_depth=check.check_integer("max_depth", max_depth, 0, 12, "Use None to let DPM choose."),
        windows=check.check_integer("windows", windows, 2, 2**14, "The default is 128."),
        t=t,
        q=q,
        alpha=None if finds_k else alpha,
        rows_per_person=check.check_integer(
            "rows_per_person", rows_per_person, 1, 10**6, "Give the most rows that one person can have."
        ),
        person_id=person_id,
        directions=check.check_directions(directions, variant),
        categories=GivenBounds(bounds).category_use,
        accountant=check.check_accountant(accountant, delta, variant),
        **optional,
    )


def check_columns(schema: Schema, settings: Settings) -> None:
    """Refuse columns of categories where they cannot be used."""
    if schema.categories and settings.paper:
        raise ParameterError(
            f"The 'variant' parameter must be 'default' with categories. Got 'paper', and categories in columns "
            f"{list(schema.categories)!r}. The paper knows numbers only."
        )
    if settings.finds_k and not any(getattr(column, "cut", True) for column in schema.columns):
        raise ParameterError(
            "The 'bounds' parameter holds only categories along which nothing may be cut, so there would be one cluster. Add "
            "a numeric column, or allow cuts between categories: Category(name, categories, cut=True), in a schema file "
            "'cut = true'; or give 'n_clusters'."
        )
