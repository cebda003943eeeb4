"""How many rows a cluster needs to be found: enough for the size limit, and enough to win the selection of cuts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpmondrian.common.checks import is_number
from dpmondrian.dpm import COUNT
from dpmondrian.dpm.scores import STEPS, centreness_slopes, window_widths
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning.centres import SPREAD, Spread, column_spreads
from dpmondrian.planning.design import Design
from dpmondrian.schema import Indicator

__all__ = ["SmallestCluster", "peak_share", "smallest_cluster"]

_GOOD_CUTS = 1.0 / 32.0
"""Share of the candidates that lie in the gap around a small cluster: that of the runs on which the estimate was tried
out, 3 to 20 Gaussians in 2 to 10 columns, 8 standard deviations apart or more."""

_MOST_ROWS = 2.0**50


@dataclass(frozen=True)
class SmallestCluster:
    """How many rows a cluster needs to be found, an estimate.

    Attributes
    ----------
    rows : float
        Rows with which it is found with the probability asked for; infinite if no number of rows is enough.
    for_size : float
        The least size of a side of a cut, before noise, on the first level on which the cluster may be cut off.
    for_selection : float
        Rows with which its cut wins the selection of that level alone with the probability asked for. It may be more than
        `rows`, because a node may try again on the next levels.
    """

    rows: float
    for_size: float
    for_selection: float


def smallest_cluster(design: Design, spread: Spread = SPREAD, probability: float = 0.95) -> SmallestCluster:
    """Return the rows that a well separated cluster needs to be found with this probability: an estimate, no guarantee.

    Parameters
    ----------
    design : Design
    spread : float or mapping, default=0.05
        As in `centre_errors`.
    probability : float, default=0.95

    Notes
    -----
    A cluster is found when a cut around it wins the selection, and when its noisy count then reaches the size limit. Both are
    tried as often as a node may try, from the level on where an even tree has as many leaves as there are clusters.
    The cluster is taken to be compact and apart from all others, with a gap as wide as the widest window in some
    column. Clusters that touch are not found at any size. Among 3 to 20 separate Gaussians in 2 to 10 columns, with 5,000 to
    100,000 rows, epsilon 0.3 and 1, with and without delta and `n_clusters`, the size that was found in 95 % of 24 runs
    was between 0.6 and 1.5 times the estimate.
    """
    if not is_number(probability) or not 0.0 < probability < 1.0:
        raise ParameterError(
            parameter="probability",
            rule="must be a number between 0 and 1",
            value=probability,
            way_out="The default is 0.95.",
        )
    if not design.has_cuts:
        return SmallestCluster(math.inf, math.inf, math.inf)
    per_row, level = _gain_per_row(design, spread), _first_level(design)
    odds = probability / (1.0 - probability) * (1.0 - _GOOD_CUTS) / _GOOD_CUTS
    return SmallestCluster(
        rows=_least(lambda rows: _chance(design, rows, per_row, level) >= probability),
        for_size=design.size_limit(level + 1),
        for_selection=design.split_scale(level) * max(math.log(odds), 0.0) / per_row,
    )


def peak_share(design: Design, spread: Spread = SPREAD) -> float:
    """Return the share of a cluster's rows in the fullest window, in the column where that is least.

    Windows begin at multiples of half their width, so the middle of the best one is at most a quarter of it off.
    """
    shares = [
        _share_in_window(window_widths(int(codes))[-1] / int(codes), deviation)
        for codes, deviation, column in zip(
            design.grid.n_codes, column_spreads(design, spread), design.schema.centre_columns, strict=False
        )
        if not isinstance(column, Indicator)
    ]
    return min(shares, default=1.0)


def _share_in_window(width: float, deviation: float) -> float:
    """Return the share of a Gaussian in a window whose middle is a quarter of its width off."""
    near, far = 0.25 * width / deviation, 0.75 * width / deviation
    return 0.5 * (math.erf(near / math.sqrt(2.0)) + math.erf(far / math.sqrt(2.0)))


def _gain_per_row(design: Design, spread: Spread) -> float:
    """Return by how much each row of the cluster raises the score of its own cut above that of an empty tail, in rows."""
    if design.settings.finds_k:
        return peak_share(design, spread)
    return centreness_slopes(design.settings.t, design.settings.q)[0] / STEPS


def _first_level(design: Design) -> int:
    """Return the first selection in which a cluster may be alone with one other."""
    return min(max(math.ceil(math.log2(design.expected_clusters)) - 1, 0), design.settings.max_depth - 1)


def _chance(design: Design, rows: float, per_row: float, level: int) -> float:
    """Return the probability that one of the attempts from this level on cuts the cluster off."""
    missed = 1.0
    for attempt in range(level, min(level + design.rule.attempts, design.settings.max_depth)):
        weight = _GOOD_CUTS / (1.0 - _GOOD_CUTS) * math.exp(min(per_row * rows / design.split_scale(attempt), 700.0))
        wins = weight / (1.0 + weight)
        noise = design.deviation(COUNT, attempt + 1)
        large = 0.5 * math.erfc((design.size_limit(attempt + 1) - rows) / (noise * math.sqrt(2.0)))
        missed *= 1.0 - wins * large
    return 1.0 - missed


def _least(is_enough: Callable[[float], bool]) -> float:
    """Return the least number that is enough, within a thousandth; infinity if none is."""
    low, high = 0.0, 1.0
    while not is_enough(high):
        low, high = high, 2.0 * high
        if high > _MOST_ROWS:
            return math.inf
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
