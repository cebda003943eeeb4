"""Checks of single parameters. Each error names parameter, rule, value and way out."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

from dpmondrian.exceptions import ParameterError, WayOut

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
"""Below there is only noise, above there is none; both ends are far beyond any use."""

LEAST_DELTA = 1e-300
"""The least delta other than 0: below, what underflow takes away is no longer small beside it (``docs/privacy/pld.md``)."""


def is_number(value: Any) -> bool:
    """Return whether a value is a finite real number (and not a truth value)."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def nearest_names(unknown: Sequence[Any], known: Sequence[str]) -> str:
    """Return " Did you mean ...?" for names that resemble known ones, upper and lower case apart, else an empty string."""
    hints, written = [], {str(name).casefold(): str(name) for name in known}
    for name in map(str, unknown):
        close = difflib.get_close_matches(name.casefold(), written, n=1)
        if close:
            hints.append(f"{written[close[0]]!r} instead of {name!r}")
    return f" Did you mean {', '.join(hints)}?" if hints else ""


def check_epsilon(epsilon: Any) -> float:
    """Return an epsilon in the range in which plans can be made."""
    if not is_number(epsilon) or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            parameter="epsilon",
            rule=f"must be a finite number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}",
            value=epsilon,
            way_out="Common values are between 0.1 and 3.",
        )
    return float(epsilon)


def check_delta(delta: Any) -> float:
    """Return a delta of 0, or one that is large enough to be accounted for and less than 1."""
    if not is_number(delta) or not (delta == 0.0 or LEAST_DELTA <= delta < 1.0):
        raise ParameterError(
            parameter="delta",
            rule=f"must be 0, or a number in [0, 1) of at least {LEAST_DELTA:g}",
            value=delta,
            way_out="Choose a value well below 1 / (number of people), such as 1e-7, or 0 for pure epsilon.",
        )
    return float(delta)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a value that is one of the choices."""
    if value not in choices:
        hint = nearest_names([value], choices)
        raise ParameterError.broken(
            name, f"must be one of {list(choices)}", value, "" if hint else "Choose one of these.", hint=hint
        )
    return str(value)


def check_integer(name: str, value: Any, least: int, most: int | None, way_out: str | WayOut) -> int:
    """Return a whole number within [least, most]."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or value < least or (most is not None and value > most):
        limits = f">= {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(parameter=name, rule=f"must be an integer {limits}", value=value, way_out=way_out)
    return int(value)


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
    raise ParameterError(
        parameter="random_state",
        rule="must be None, an integer >= 0, or a NumPy generator",
        value=random_state,
        way_out="Use None for results that you want to release.",
    )


def check_fit_options(budget: Any, progress: Any, resources: Any) -> None:
    """Refuse options of a fit that are of a wrong kind, before anything is spent."""
    if budget is not None and not isinstance(budget, str | PathLike) and not hasattr(budget, "charge"):
        raise ParameterError.broken(
            "budget", "must be a Budget, the path of its file, or None", budget, "Create one with Budget.create."
        )
    if progress is not None and not callable(progress):
        raise ParameterError.broken("progress", "must be a function, or None", progress, "Omit it.")
    if resources is not None and not hasattr(resources, "streamed_memory"):
        raise ParameterError.broken(
            "resources", "must be Resources, or None", resources, "For example Resources(memory=2**30, threads=2)."
        )
