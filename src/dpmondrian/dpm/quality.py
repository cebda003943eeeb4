"""How good clusters are, measured on the rows: how far these lie from their own centre, and their centre-based silhouettes.

One draw of a few sums over all rows, each of values within known limits. The clusters that a release makes of its cells for other k are
measured along with its own, for a public list of k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.draws import QUALITY
from dpmondrian.dpm.merging import FEW_GROUPS, MANY_GROUPS, groups_for, means_of_groups
from dpmondrian.dpm.partition import Nearest, Partition
from dpmondrian.engines import PLACES, DistanceSums, Engine, Grid
from dpmondrian.privacy import Door

__all__ = ["MEASURED_K", "Figures", "draw_figures", "noise_of_silhouettes"]

MEASURED_K = range(2, MANY_GROUPS + 1)
"""The k whose silhouettes are measured, as far as there are so many cells."""

_OWN_WIDTH, _FEW_WIDTH, _MANY_WIDTH, _MANY_WIDTH_PURE = 2**15, 2**13, 2**10, 2**8
"""Largest values of rows: of the own clusters, which count most, so that they have the least noise; of up to 20 others; and of more, which have
2.8 times the noise of few, or 10 times with Laplace noise, to which many small values add more. So those of more than 20 make the noise of
the others a tenth larger, or a fifth. Widths are fine enough that rounding to whole numbers is lost in noise."""
_LARGEST = 2.0**60
"""Of a number in a file; noise is never larger."""
_FARTHEST = 8.0
"""Squared distances count at least up to so many times their mean, as known from the last step: of normal rows, even in one column, one of
200 is farther."""
_NOISE_OF_FAR = 0.05
"""They count as far as their noise is no more than this part of their mean: a few rows that are very far may be a tenth of it."""


@dataclass(frozen=True)
class Figures:
    """Measured means over all rows, with the standard errors of their noise.

    Attributes
    ----------
    within, within_error : float
        Mean squared distance of rows from their own centre, in squared ranges of the columns.
    silhouette, silhouette_error : float
        Of the clusters; 0 if there is one.
    groups : tuple of int64 arrays of shape (n_cells,)
        The clusters that were made of the cells for every other k that was measured.
    silhouettes : float64 array
        Theirs, with rows belonging to the nearest centre.
    silhouettes_error : float
        Of those of up to 20 clusters.
    many_silhouettes_error : float or None
        Of those of more clusters, if any were measured.
    """

    within: float
    within_error: float
    silhouette: float
    silhouette_error: float
    groups: tuple[NDArray[np.int64], ...]
    silhouettes: NDArray[np.float64]
    silhouettes_error: float
    many_silhouettes_error: float | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The k whose silhouettes were measured."""
        return _numbers(self.groups)

    @property
    def errors(self) -> NDArray[np.float64]:
        """The standard error of every silhouette."""
        few, many = self.silhouettes_error, self.many_silhouettes_error or 0.0
        return np.array([few if number <= FEW_GROUPS else many for number in self.numbers])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        groups = [group.tolist() for group in self.groups]
        return asdict(self) | {"groups": groups, "silhouettes": self.silhouettes.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_cells: int) -> Figures:
        """Return the figures that `to_dict` described; raise ValueError, TypeError or KeyError if they are none."""
        lists = [list(group) for group in values["groups"]]
        if any(len(own) != n_cells or max(own) >= n_cells or set(own) != set(range(max(own) + 1)) for own in lists):
            raise ValueError("the quality is that of other cells")
        if any(max(less) >= max(more) for less, more in pairwise([[0], *lists])):
            raise ValueError("the quality is that of other numbers of clusters")
        names = ["within", "within_error", "silhouette", "silhouette_error", "silhouettes_error"]
        if lists and max(lists[-1]) >= FEW_GROUPS:
            names.append("many_silhouettes_error")
        numbers, silhouettes = {name: float(values[name]) for name in names}, [float(v) for v in values["silhouettes"]]
        limits = all(0.0 <= numbers[name] <= _LARGEST for name in names if name != "silhouette")
        if not limits or not all(-1.0 <= value <= 1.0 for value in [numbers["silhouette"], *silhouettes]):
            raise ValueError("a number of the quality is beyond its limits")
        if len(silhouettes) != len(lists):
            raise ValueError("the quality is that of other numbers of clusters")
        groups = tuple(np.array(group, dtype=np.int64) for group in lists)
        return cls(groups=groups, silhouettes=np.array(silhouettes), **numbers)


def _numbers(groups: Iterable[NDArray[np.int64]]) -> tuple[int, ...]:
    """Return how many groups there are, each time."""
    return tuple(int(group.max()) + 1 for group in groups)


def _widths(numbers: Iterable[int], is_gaussian: bool) -> NDArray[np.int64]:
    """Return the largest values of rows: of the distance, of the silhouette of the clusters, and of those of other numbers of clusters."""
    many = _MANY_WIDTH if is_gaussian else _MANY_WIDTH_PURE
    others = [_FEW_WIDTH if number <= FEW_GROUPS else many for number in numbers]
    return np.array([_OWN_WIDTH, _OWN_WIDTH, *others], dtype=np.int64)


def noise_of_silhouettes(
    scale: float, is_gaussian: bool, is_nearest: bool, numbers: Iterable[int], total: float
) -> NDArray[np.float64]:
    """Return the standard errors of the silhouette of the clusters and of every other one that was measured, by the scale of the draw.

    For whoever checks a release: the door says the same of its noise, by the formulas of `docs/privacy/sums.md`.
    """
    widths = _widths(numbers, is_gaussian).astype(np.float64)
    if is_gaussian:
        deviations = scale * np.sqrt(widths * widths.sum())
    else:
        deviations = math.sqrt(2.0) * scale * np.cbrt(widths) * np.cbrt(widths**2).sum()
    errors: NDArray[np.float64] = deviations[1:] / (2.0 * widths[1:] * max(total, 1.0))
    errors[0] *= 1.0 - _least_silhouette(is_nearest)
    return errors


def _least_silhouette(is_nearest: bool) -> float:
    """Return the least that the silhouette of a row can be, which is negative only if it need not be in the nearest cluster."""
    return 0.0 if is_nearest else -1.0


def draw_figures(
    engine: Engine,
    door: Door,
    grid: Grid,
    partition: Partition,
    centres: NDArray[np.float64],
    cells: Cells,
    spread: float,
    total: float,
) -> Figures:
    """Return how good clusters with these centres are; the engine's rows are in the nodes numbered like their clusters.

    Privacy
    -------
    Released: sums of values of rows, each within its public half-width. Argument: ``docs/privacy/profiles.md``; tests that try to
    break it: ``tests/privacy/test_neighbours.py``.
    """
    groups = groups_for(cells.places, cells.sizes, [k for k in MEASURED_K if k <= len(cells.sizes)])
    sets = [centres, *(means_of_groups(cells.places, cells.sizes, group) for group in groups)]
    widths = _widths(_numbers(groups), door.plan.currency == "rho")
    largest = _largest_square(grid, spread, _how_far(door, widths, total))
    least = np.array([0.0, _least_silhouette(isinstance(partition, Nearest))] + [0.0] * len(groups))
    question = DistanceSums(*_numbered([np.rint(one).astype(np.int64) for one in sets]), largest, widths, least)
    noisy, deviations = door.box_sums(QUALITY, None, engine.distance_sums(question)[None], widths[None])
    scale = (1.0 - least) / 2.0 / (widths * max(total, 1.0))
    means, errors = np.clip((1.0 + least) / 2.0 + noisy[0] * scale, least, 1.0), deviations[0] * scale
    alone = len(centres) == 1
    return Figures(
        within=float(means[0]) * largest / PLACES**2,
        within_error=float(errors[0]) * largest / PLACES**2,
        silhouette=0.0 if alone else float(means[1]),
        silhouette_error=0.0 if alone else float(errors[1]),
        groups=tuple(groups),
        silhouettes=means[2:],
        silhouettes_error=float(errors[2]) if len(groups) else 0.0,
        many_silhouettes_error=float(errors[-1]) if len(groups) >= FEW_GROUPS else None,
    )


def _numbered(sets: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return all different centres, and their numbers in every set."""
    centres = np.concatenate(sets)
    as_bytes = _bytes_of_rows(centres)
    different = dict.fromkeys(as_bytes)
    number_of = dict(zip(different, range(len(different)), strict=True))
    numbers = np.fromiter(map(number_of.__getitem__, as_bytes), dtype=np.int64, count=len(as_bytes))
    by_set = np.split(numbers, np.cumsum([len(own) for own in sets])[:-1])
    return np.frombuffer(b"".join(different), dtype=np.int64).reshape(len(different), -1), by_set


def _bytes_of_rows(rows: NDArray[np.int64]) -> list[bytes]:
    """Return the bytes of every row."""
    whole, length = rows.tobytes(), rows.itemsize * rows.shape[1]
    return [whole[start : start + length] for start in range(0, len(whole), length)]


def _how_far(door: Door, widths: NDArray[np.int64], total: float) -> float:
    """Return up to how many times their mean squared distances count; noise is proportional to it. Public and released values only."""
    parts = widths / widths[0]
    others = math.sqrt(parts.sum()) if door.plan.currency == "rho" else float((parts ** (2.0 / 3.0)).sum())
    noise_of_mean = door.deviation(QUALITY, None) * others / (2.0 * max(total, 1.0))
    return max(_FARTHEST, _NOISE_OF_FAR / noise_of_mean)


def _largest_square(grid: Grid, spread: float, times: float) -> int:
    """Return the squared distance beyond which rows count as if they were there: so many times the mean, but no farther than rows can be."""
    numeric = ~grid.one_hot
    of_categories = float((grid.last_place[grid.block_begins][~numeric[grid.block_begins]] ** 2.0).sum())
    whole = float((grid.last_place[numeric] ** 2.0).sum()) + 2.0 * of_categories
    return max(1, int(min(times * (numeric.sum() * spread**2 + of_categories / 2.0), whole)))
