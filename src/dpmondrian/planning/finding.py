"""What could be found without k: the smallest cluster and the least gap that the tests of `dpmondrian.dpm.finding` prove, nine times in ten.

The tests are asked themselves, with the rows that are expected in every window in place of noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm import COUNT
from dpmondrian.dpm.finding import (
    DEPTH,
    LEAST_SHARE,
    N_BINS,
    clearest,
    has_grid,
    region_deviation,
    threshold,
    windows_of_hills,
)
from dpmondrian.planning.design import Design
from dpmondrian.planning.errors import SPREAD, Spread, column_spreads

_POWER = 1.28
"""A normal number lies above its mean less this many deviations in nine of ten cases."""
_ASIDE = 1.08
"""Cells point a little past the line between two clusters, about 20 degrees, so that clusters seem this much nearer to each other."""
_REACH = 4.0
"""Along a line rows are counted up to this many deviations of a cluster beyond its centre."""
_FAR = 10.0
"""Distance of a small cluster from all others, in its standard deviations: nothing is left between them."""
_WIDEST = 50.0
_WAY_THROUGH = {1: 0.0, 2: 0.3, 3: 1.3}
"""How high a way through noise leads, in its deviations, by the number of columns: above this level lies the share of windows at which they
percolate, 0.41 of a plane and 0.1 of space, with diagonals. On a line there is no way around."""


@dataclass(frozen=True)
class Findable:
    """What is found in nine of ten runs, if it is there. An estimate for Gaussian clusters.

    Attributes
    ----------
    rows, share : float
        The smallest cluster, far from all others; infinite if none is found that holds half of the rows.
    gap : float
        Least distance between the centres of two clusters that hold half of the rows each, in standard deviations of a cluster;
        infinite if none is found.
    """

    rows: float
    share: float
    gap: float


def findable(design: Design, spread: Spread = SPREAD) -> Findable:
    """Return what could be found in a run without `n_clusters`; of public and released numbers alone.

    Parameters
    ----------
    design : Design
    spread : float or mapping, default=0.05
        As in `centre_errors`. It matters in few columns, where windows are parts of the columns' ranges.

    Notes
    -----
    A valley is proven if it is deeper than its threshold, in deviations of noise and sampling error together. Its expected depth must
    exceed that by 1.28 deviations to be proven in nine of ten cases. A small cluster must also hold the least share of all rows that
    is called a cluster, and in many columns a leaf of the tree, without which nothing points at it.
    """
    least_rows, margin, aside = (_rows_in_grid, _margin_in_grid, 1.0)
    if not has_grid(design.grid):
        least_rows, margin, aside = (_rows_along_line, _margin_along_line, _ASIDE)
    half, spreads = design.n_rows / 2.0, np.array(column_spreads(design, spread))

    def finds(left: float, right: float, gap: float) -> bool:
        return margin(design, spreads, left, right, gap) >= _POWER

    rows = _least(lambda rows: rows >= least_rows(design, rows) and finds(2 * half - rows, rows, _FAR), 1.0, half)
    gap = aside * _least(lambda gap: finds(half, half, gap), 1.0, _WIDEST)
    return Findable(rows, rows / design.n_rows, gap)


def _rows_along_line(design: Design, rows: float) -> float:
    """Return the rows that a small cluster needs to be proposed and to be called one."""
    own_bins = N_BINS * _REACH / (_FAR + 2.0 * _REACH)
    noise = math.sqrt(own_bins * design.door.deviation_at(design.round_costs[0]) ** 2 + rows)
    leaf = design.size_limit + _POWER * design.door.deviation(COUNT, design.levels)
    return max(LEAST_SHARE * design.n_rows + _POWER * noise, leaf)


def _margin_along_line(design: Design, spreads: NDArray[np.float64], left: float, right: float, gap: float) -> float:
    """Return by how much the valley between two clusters is expected to exceed its threshold, on a line of the first round.

    A line on which little is expected gets all of the round's cost. It is as long as the rows lie apart, so spreads do not matter.
    """
    if design.n_cells < 2.0:  # a single cell points nowhere
        return -math.inf
    edges = np.linspace(-_REACH, gap + _REACH, N_BINS + 1)
    expected = left * np.diff(_below(edges)) + right * np.diff(_below(edges - gap))
    [depth], _ = clearest(expected[None], design.door.deviation_at(design.round_costs[0]))
    return float(depth) - threshold(1)


def _rows_in_grid(design: Design, rows: float) -> float:
    """Return the rows that a small cluster needs to be called one, if it lies in as many bins as each of the others."""
    door, grid, share = design.door, design.grid, 1.0 / design.expected_clusters
    deviation = region_deviation(door, grid, design.n_rows, design.finding_cost, share)
    return LEAST_SHARE * design.n_rows + _POWER * math.hypot(deviation, math.sqrt(rows))


def _margin_in_grid(design: Design, spreads: NDArray[np.float64], left: float, right: float, gap: float) -> float:
    """Return by how much the pass between two clusters, apart in the first column, is expected to exceed its threshold."""
    best, along = -math.inf, np.linspace(0.0, gap, 101)
    windows, least_z = windows_of_hills(design.door, design.grid, design.n_rows, design.finding_cost)
    for widths, deviation in windows:
        reach = 0.5 * widths / spreads
        across = float(np.prod(2.0 * _below(reach[1:]) - 1.0))
        rows = across * (left * _within(along, reach[0]) + right * _within(along - gap, reach[0]))
        lowest = int(rows.argmin())
        valley, hill = float(rows[lowest]), float(min(rows[: lowest + 1].max(), rows[lowest:].max()))
        noise = math.sqrt(2.0 * deviation**2 + hill + valley)
        valley += _WAY_THROUGH[len(spreads)] * math.sqrt(deviation**2 + valley)
        if valley < (1.0 - DEPTH) * hill:
            best = max(best, (hill - valley) / noise)
    return best - least_z


def _within(distances: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Return the share of a Gaussian's rows in windows at these distances from its centre."""
    return _below(distances + reach) - _below(distances - reach)


def _below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal distribution function."""
    from scipy.special import ndtr

    return np.asarray(ndtr(values), dtype=np.float64)


def _least(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least number in an interval that is enough, within a thousandth; infinity if none is."""
    if not high > low or not is_enough(high):
        return math.inf
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
