"""What clusters are compared with, all rows together, and how far they are from that."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release import Clusters, Release
from dpmondrian.schema import Coordinates, Indicator

Groups = Release | Clusters
"""Clusters that were found, or segments for some k."""

MOST_LEVELS = 4
_FROM = np.array([0.2, 0.5, 1.0, 1.5])
"""From how many standard deviations on a difference counts as a level: small, medium, large and very large."""
_BY_NOISE = 0.05
"""Probability that noise alone makes any of the differences that are levels, in all groups and columns of a table."""


@dataclass(frozen=True)
class Everyone:
    """All rows in the columns of centres: means and their standard errors, and on the scale of each column mean and deviation."""

    centres: NDArray[np.float64]
    errors: NDArray[np.float64]
    place: NDArray[np.float64]
    deviation: NDArray[np.float64]


def everyone(release: Release) -> Everyone:
    """Return all rows together, from the clusters by their sizes."""
    coordinates, weight = Coordinates(release.schema), _weights(release.sizes)
    places = coordinates.of_centres(release.centres)
    errors = coordinates.of_errors(release.centre_errors, release.centres)
    place, error = _with_shares_of_all(release, weight @ places), np.sqrt(weight**2 @ errors**2)
    centres = coordinates.values(place[None])
    return Everyone(centres[0], coordinates.errors(error[None], centres)[0], place, _deviation(release, place))


def _with_shares_of_all(release: Release, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the centre of all rows with shares of categories as profiles count them, where there are any.

    They are known better than from the centres of clusters: noise that would make a share negative is cut off there, which adds up.
    """
    centre = centre.copy()
    if release.profiles is None:
        return centre
    for j, column in enumerate(release.schema.centre_columns):
        if isinstance(column, Indicator) and column.of in release.profiles.names:
            centre[j] = release.profiles.everyone[column.of].share_of[column.category].value
    return centre


def _weights(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    positive: NDArray[np.float64] = np.maximum(sizes, 1e-9) / np.maximum(sizes, 1e-9).sum()
    return positive


def _deviation(release: Release, place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of all rows: as cells imply, or in the paper's variant the centres; of categories as shares imply."""
    parts = release if release.cells is None else release.cells
    around = Coordinates(release.schema).of_centres(parts.centres) - place
    within = 0.0 if release.cells is None else release.cells.spread
    columns = release.schema.centre_columns
    variance = _weights(parts.sizes) @ around**2 + (within * np.array([column.range for column in columns])) ** 2
    shares = np.clip(place, 0.0, 1.0)
    of_category = np.array([isinstance(column, Indicator) for column in columns])
    return np.sqrt(np.where(of_category, shares * (1.0 - shares), variance))


def levels(release: Release, every: Everyone, groups: Groups) -> NDArray[np.int64]:
    """Return by how much groups differ from all rows, from -4 (far below) to 4; 0 where that is little, or could be noise."""
    coordinates = Coordinates(release.schema)
    shift = coordinates.of_centres(groups.centres) - every.place
    errors = coordinates.of_errors(groups.centre_errors, groups.centres)
    distance = np.abs(shift) / np.maximum(every.deviation, np.finfo(np.float64).tiny)
    certain = NormalDist().inv_cdf(1.0 - _BY_NOISE / (2.0 * shift.size))
    level = np.searchsorted(_FROM, distance, side="right") * np.sign(shift) * (np.abs(shift) > certain * errors)
    return level.astype(np.int64)
