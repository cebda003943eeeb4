"""How well sizes will be known: of all rows, of a leaf, of a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmondrian.common.checks import check_choice, check_integer
from dpmondrian.dpm import CELL_COUNT, COUNT
from dpmondrian.planning.design import Design

__all__ = ["SizeError", "count_error", "interval_factor"]

_GAUSSIAN_95 = 1.959964
_LAPLACE_95 = math.log(20.0) / math.sqrt(2.0)


@dataclass(frozen=True)
class SizeError:
    """How far a released size will be from the exact one, in rows.

    Attributes
    ----------
    standard_error : float
    half_width : float
        Of the 95 % interval.
    """

    standard_error: float
    half_width: float


def interval_factor(design: Design) -> float:
    """Return the half width of a 95 % interval per standard error: 1.96 for Gaussian, 2.12 for Laplace noise.

    A mean of several draws of Laplace noise is nearer to Gaussian: then the interval is a little too wide.
    """
    return _GAUSSIAN_95 if design.is_gaussian else _LAPLACE_95


def count_error(design: Design, of: str = "cluster", level: int | None = None) -> SizeError:
    """Return the expected error of a released size.

    Parameters
    ----------
    design : Design
    of : {"all", "leaf", "cluster"}, default="cluster"
        The number of all rows, the size of a leaf of the tree, or that of a final cluster, after the Lloyd steps.
    level : int, optional
        Level at which the leaf was made, 0 to ``max_depth``; None: that of an even tree.

    Notes
    -----
    Exact for the law of the noise, given the shape of the tree, which is a guess: even, with as many leaves as clusters
    are expected (with `n_clusters`: as may be cut), whose further attempts are rejected. The number of all rows is
    at least as well known as its own count says, whatever the tree. Of a leaf it is the standard error that the release will
    state; its size is fitted to its parent's as well, so the true error is up to a third smaller. Of a cluster the error
    depends on the tree only through the total, which hardly matters.
    """
    of = check_choice("of", of, ("all", "leaf", "cluster"))
    if level is not None:
        level = check_integer("level", level, 0, design.settings.max_depth, "Omit it for a balanced tree.")
    variance = {
        "all": lambda: _node_variance(design, 0, design.leaf_level),
        "leaf": lambda: _leaf_variance(design, design.leaf_level if level is None else level),
        "cluster": lambda: _cell_variance(design),
    }[of]()
    error = math.sqrt(variance)
    return SizeError(error, interval_factor(design) * error)


def _leaf_variance(design: Design, level: int) -> float:
    """Return the variance of a leaf's size from its own count and those of its rejected cuts."""
    rows = design.n_rows / 2.0**level
    precision = design.deviation(COUNT, level) ** -2
    for attempt in range(1, design.rule.attempts + 1):
        later = level + attempt
        if later <= design.settings.max_depth and rows >= 2.0 * design.size_limit(later):
            precision += 0.5 * design.deviation(COUNT, later) ** -2
    return 1.0 / precision


def _node_variance(design: Design, level: int, leaf_level: int) -> float:
    """Return the variance of a node's size in an even tree, from its own count and its children's."""
    if level == leaf_level:
        return _leaf_variance(design, level)
    children = 2.0 * _node_variance(design, level + 1, leaf_level)
    return 1.0 / (design.deviation(COUNT, level) ** -2 + 1.0 / children)


def _cell_variance(design: Design) -> float:
    """Return the variance of a cluster's size: its last count, corrected so that all add up to the total."""
    last = design.plan.steps(CELL_COUNT)[-1]
    total = _node_variance(design, 0, design.leaf_level)
    n_clusters = design.expected_clusters
    return design.deviation(CELL_COUNT, last) ** 2 * (1.0 - 1.0 / n_clusters) + total / n_clusters**2
