"""The price of a plan by other people's code: dp-accounting (extra ``accounting``)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import Plan
from dpmondrian.privacy.accountants import Composition, bounded_range_delta, n_steps

__all__ = ["composed_loss", "recomputed_epsilon"]


def recomputed_epsilon(plan: Plan, step: float | None = None) -> float:
    """Return the epsilon, at the plan's delta, that dp-accounting's privacy loss distributions give for a plan.

    Gaussian noise is taken as continuous noise, pure draws and draws with a delta of their own as nothing but that, and
    selections of bounded range by `bounded_range_delta`.

    Parameters
    ----------
    plan : Plan
        Any plan that is held to its budget.
    step : float, optional
        The grid of losses, upwards of which dp-accounting rounds. None: one part in 10,000 of the plan's epsilon.
    """
    loss = composed_loss(plan.composition(), step or 1e-4 * plan.epsilon)
    return float(loss.get_epsilon_for_delta(plan.delta))


def composed_loss(composition: Composition, step: float) -> Any:
    """Return dp-accounting's privacy loss distribution of a composition; zCDP costs have none and are left out."""
    distributions, parameters = _module("privacy_loss_distribution"), _module("common").DifferentialPrivacyParameters
    loss = distributions.identity(step)
    for epsilon in composition.pure:
        loss = loss.compose(distributions.from_privacy_parameters(parameters(epsilon, 0.0), step))
    for epsilon in composition.ranges:
        loss = loss.compose(_bounded_range_loss(epsilon, step))
    if composition.mu > 0.0:
        scale = 1.0 / composition.mu
        loss = loss.compose(distributions.from_gaussian_mechanism(scale, value_discretization_interval=step))
    if composition.failure > 0.0:
        loss = loss.compose(distributions.from_privacy_parameters(parameters(0.0, composition.failure), step))
    return loss


def _bounded_range_loss(epsilon: float, step: float) -> Any:
    """Return dp-accounting's distribution of a selection, from its deltas on the grid."""
    n = n_steps(epsilon, step)
    grid = np.arange(-n, n + 1)
    deltas = [bounded_range_delta(x, epsilon) for x in grid * step]
    probabilities = _module("pld_pmf").create_pmf_pessimistic_connect_dots(step, grid, deltas)
    return _module("privacy_loss_distribution").PrivacyLossDistribution(probabilities)


def _module(name: str) -> Any:
    """Return a module of dp-accounting; raise `ParameterError` where it is not installed."""
    try:
        return import_module(f"dp_accounting.pld.{name}")
    except ImportError:
        raise ParameterError(
            "A second accountant needs the package dp-accounting, which is not installed. Install it with: pip install "
            "'dpmondrian-lab[accounting]'."
        ) from None
