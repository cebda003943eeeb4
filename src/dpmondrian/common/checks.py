"""The one home of parameter checks. Each message names parameter, rule, value and way out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy.accountants.zcdp import LEAST_DELTA
from dpmondrian.schema.columns import is_number, nearest_names

__all__ = [
    "check_accountant",
    "check_choice",
    "check_delta",
    "check_directions",
    "check_epsilon",
    "check_fit_options",
    "check_integer",
    "check_score_parameters",
    "check_shares",
    "seed_of",
]

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
"""Below there is only noise, above there is none; both ends are far beyond any use."""
LARGEST_SCORE_SLOPE = 31.0
"""With counts up to 2**40 this keeps every score within 64 bits (``docs/privacy/splits.md``)."""
MOST_DIRECTIONS = 64
"""Every direction costs time and memory like a column, and one more place where noise may find a cut."""


def _refuse(name: str, rule: str, value: Any, way_out: str) -> ParameterError:
    return ParameterError(f"The '{name}' parameter must be {rule}. Got {value!r} instead. {way_out}")


def check_epsilon(epsilon: Any) -> float:
    """Return an epsilon in the range in which plans can be made."""
    if not is_number(epsilon) or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise _refuse(
            "epsilon",
            f"a finite number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}",
            epsilon,
            "Common choices lie between 0.1 and 3.",
        )
    return float(epsilon)


def check_delta(delta: Any) -> float:
    """Return a delta of 0, or one that is large enough to be accounted for and less than 1."""
    if not is_number(delta) or not (delta == 0.0 or LEAST_DELTA <= delta < 1.0):
        raise _refuse(
            "delta",
            f"a number in [0, 1), and 0 or at least {LEAST_DELTA:g}",
            delta,
            "Take one well below 1 / (number of people), such as 1e-7, or 0 for pure epsilon.",
        )
    return float(delta)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a value that is one of the choices."""
    if value not in choices:
        hint = nearest_names([value], choices).strip()
        raise _refuse(name, f"one of {list(choices)}", value, hint or "Choose one of these.")
    return str(value)


def check_accountant(accountant: Any, delta: float, variant: str) -> str:
    """Return how costs become an epsilon; the composed privacy loss is for Gaussian noise in the default variant."""
    chosen = check_choice("accountant", accountant, ("zcdp", "pld"))
    if chosen == "pld" and (delta == 0.0 or variant == "paper"):
        reason = "delta=0, where epsilons add up" if delta == 0.0 else "variant='paper', which adds epsilons up"
        raise _refuse("accountant", f"'zcdp' with {reason}", chosen, "Leave accountant='zcdp'.")
    return chosen


def check_integer(name: str, value: Any, least: int, most: int | None, way_out: str) -> int:
    """Return a whole number within [least, most]."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or value < least or (most is not None and value > most):
        rule = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
        raise _refuse(name, rule, value, way_out)
    return int(value)


def check_directions(directions: Any, variant: str = "default") -> int:
    """Return the number of public directions along which cuts may be made; the paper's variant has none."""
    number = check_integer("directions", directions, 0, MOST_DIRECTIONS, "Use 0 to cut along columns only.")
    if number and variant == "paper":
        raise _refuse(
            "directions",
            "0 with variant='paper', which cuts along columns only",
            number,
            "Use variant='default' for other directions.",
        )
    return number


def check_score_parameters(t: Any, q: Any, alpha: Any) -> tuple[float, float, float]:
    """Return t, q and alpha with ``0 < 2q <= t <= 1``, ``q < 1/2``, ``alpha > 0``, neither too steep."""
    if not is_number(q) or not 0.0 < q < 0.5:
        raise _refuse("q", "a number with 0 < q < 0.5", q, "The default is 1/12.")
    if not is_number(t) or not 2.0 * q <= t <= 1.0:
        raise _refuse(
            "t",
            f"a number with 2q <= t <= 1, and q = {q:g}",
            t,
            "Raise 't' or lower 'q'; the defaults are 0.3 and 1/12.",
        )
    if not is_number(alpha) or alpha <= 0:
        raise _refuse(
            "alpha",
            "None or a positive finite number",
            alpha,
            "The default is None, which means 5, or 3 with n_clusters.",
        )
    if alpha + t / q > LARGEST_SCORE_SLOPE:
        name, value = ("q", q) if t / q > LARGEST_SCORE_SLOPE / 2 else ("alpha", alpha)
        raise _refuse(
            name,
            f"such that alpha + t / q <= {LARGEST_SCORE_SLOPE:g}, so that scores are exact (alpha is {alpha:g}, t / q is {t / q:g})",
            value,
            "Lower 'alpha', or raise 'q'; the defaults are 5 and 1/12.",
        )
    return float(t), float(q), float(alpha)


def check_shares(shares: Any, default: Mapping[str, float]) -> dict[str, float]:
    """Return budget shares by name: all names of `default`, positive, summing to one."""
    if shares is None:
        return dict(default)
    if not isinstance(shares, Mapping) or set(shares) != set(default):
        raise _refuse(
            "budget_shares", f"a mapping with the keys {sorted(default)}", shares, f"The default is {dict(default)}."
        )
    if not all(is_number(share) and share > 0 for share in shares.values()):
        raise _refuse(
            "budget_shares", "a mapping to positive numbers", dict(shares), f"The default is {dict(default)}."
        )
    total = math.fsum(shares.values())
    if abs(total - 1.0) > 1e-9:
        raise _refuse(
            "budget_shares",
            f"shares that sum to one (they sum to {total:g})",
            dict(shares),
            f"The default is {dict(default)}.",
        )
    return {name: float(shares[name]) for name in default}


def seed_of(random_state: Any) -> int | None:
    """Return None for secure noise, or the seed of a research run."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral) and not isinstance(random_state, bool | np.bool_) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    raise _refuse(
        "random_state",
        "None, a whole number >= 0, or a NumPy generator",
        random_state,
        "Leave it at None for results to release.",
    )


def check_fit_options(budget: Any, progress: Any, resources: Any) -> None:
    """Refuse options of a fit that are of a wrong kind, before anything is spent."""
    if budget is not None and not isinstance(budget, str | PathLike) and not hasattr(budget, "charge"):
        raise _refuse("budget", "a Budget, the path of its file, or None", budget, "Budget.create makes one.")
    if progress is not None and not callable(progress):
        raise _refuse("progress", "a function, or None", progress, "Leave it out.")
    if resources is not None and not hasattr(resources, "streamed_memory"):
        raise _refuse("resources", "Resources, or None", resources, "For instance Resources(memory=2**30, threads=2).")
