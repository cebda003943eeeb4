"""Which cluster a row belongs to: a public rule for every row by itself, in places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines import AllTogether, ByMap, CutAlong, CutAndName, Move, Named, ToNearest

__all__ = ["Cuts", "Divided", "Everything", "GridMap", "Nearest", "Partition", "Regions", "partition_from_dict"]

_ROWS_AT_ONCE = 2**14
_MOST_PARTS = 2**14
"""Of a rule in a file: rows are told apart by 16 bits."""
_LARGEST_NUMBER, _LARGEST_THRESHOLD, _LARGEST_WIDTH, _MOST_BINS = 2**11, 2**47, 2**16, 2**20
"""Of a direction in a file, and of a threshold along it: projections are exact in 64 bits (`dpmondrian.kernels.lines`)."""


@dataclass(frozen=True)
class Nearest:
    """A row belongs to the cluster of its nearest centre: squared distance in places, the lowest number on ties."""

    centres: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centres)

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places."""
        found = np.empty(len(places), dtype=np.int64)
        for start in range(0, len(places), _ROWS_AT_ONCE):
            rows = places[start : start + _ROWS_AT_ONCE]
            distances = [((rows - centre) ** 2).sum(axis=1) for centre in self.centres]
            found[start : start + _ROWS_AT_ONCE] = np.argmin(distances, axis=0)
        return found

    def move(self) -> Move:
        """Return the move that brings rows to the nodes numbered like their clusters."""
        return ToNearest(self.centres)

    def renumbered(self, rank: NDArray[np.int64]) -> Nearest:
        """Return the same rule, with cluster c called ``rank[c]``."""
        return Nearest(self.centres[np.argsort(rank)])


@dataclass(frozen=True)
class Everything:
    """All rows are one cluster."""

    n_clusters: int = 1

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places."""
        return np.zeros(len(places), dtype=np.int64)

    def move(self) -> Move:
        """Return the move that brings rows to the nodes numbered like their clusters."""
        return AllTogether()

    def renumbered(self, rank: NDArray[np.int64]) -> Everything:
        """Return the same rule."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON values."""
        return {"kind": "everything"}


@dataclass(frozen=True)
class Cuts:
    """Half-spaces: rows start in part 0 and go through cuts, in order; each sends the rows of one part to new ones.

    Attributes
    ----------
    parts, first : tuple of int
        The part that each cut divides, and the number of the first part behind it: the rows that reach i thresholds go to part
        ``first + i``.
    directions : tuple of int64 arrays of shape (n_columns,)
    thresholds : tuple of int64 arrays
        Ascending: a row reaches one with a projection at least as large.
    cluster_of_part : int64 array
        -1 for parts that were cut.
    """

    parts: tuple[int, ...]
    first: tuple[int, ...]
    directions: tuple[NDArray[np.int64], ...]
    thresholds: tuple[NDArray[np.int64], ...]
    cluster_of_part: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster_of_part.max()) + 1

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places."""
        return self.clusters_from(np.zeros(len(places), dtype=np.int64), places)

    def clusters_from(self, part: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places, where each starts in a part of its own."""
        part = part.copy()
        for number, first, direction, thresholds in zip(
            self.parts, self.first, self.directions, self.thresholds, strict=True
        ):
            rows = np.flatnonzero(part == number)
            part[rows] = first + np.searchsorted(thresholds, places[rows] @ direction, side="right")
        return self.cluster_of_part[part]

    def move(self) -> Move:
        """Return the move that brings rows to the nodes numbered like their clusters."""
        return CutAndName(self.rounds(), self.name().node_of)

    def rounds(self) -> tuple[CutAlong, ...]:
        """Return the cuts, those together that do not depend on each other."""
        rounds: list[CutAlong] = []
        for part, direction, thresholds, first in zip(
            self.parts, self.directions, self.thresholds, self.first, strict=True
        ):
            if not rounds or part >= rounds[-1].first[0]:  # a part that the last round has made
                rounds.append(CutAlong([], [], [], []))
            rounds[-1].add(part, direction, thresholds, first)
        return tuple(rounds)

    def name(self) -> Named:
        """Return the move that does so with rows that are in the nodes numbered like their parts."""
        return Named(np.maximum(self.cluster_of_part, 0).astype(np.int16))

    def renumbered(self, rank: NDArray[np.int64]) -> Cuts:
        """Return the same rule, with cluster c called ``rank[c]``."""
        named = np.where(self.cluster_of_part < 0, -1, rank[np.maximum(self.cluster_of_part, 0)])
        return replace(self, cluster_of_part=named)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON values; the parts behind a cut are numbered in the order of the cuts."""
        cuts = zip(self.parts, self.directions, self.thresholds, strict=True)
        return {
            "kind": "cuts",
            "cuts": [
                {"part": part, "direction": direction.tolist(), "thresholds": thresholds.tolist()}
                for part, direction, thresholds in cuts
            ],
            "cluster_of_part": self.cluster_of_part.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_columns: int) -> Cuts:
        """Return the rule that `to_dict` described; raise ValueError, TypeError or KeyError if it is none."""
        cuts, named = values["cuts"], _whole_numbers(values["cluster_of_part"], _MOST_PARTS)
        thresholds = tuple(_whole_numbers(cut["thresholds"], _LARGEST_THRESHOLD) for cut in cuts)
        first = np.cumsum([1, *(len(limits) + 1 for limits in thresholds)]).tolist()
        rule = cls(
            parts=tuple(_whole_numbers([cut["part"] for cut in cuts], _MOST_PARTS).tolist()),
            first=tuple(first[:-1]),
            directions=tuple(_whole_numbers(cut["direction"], _LARGEST_NUMBER) for cut in cuts),
            thresholds=thresholds,
            cluster_of_part=named,
        )
        rule._check(n_columns, n_parts=first[-1])
        return rule

    def _check(self, n_columns: int, n_parts: int) -> None:
        """Raise ValueError unless every part is cut at most once, after it was made, and all others have a cluster."""
        if not self.parts or len(self.cluster_of_part) != n_parts or n_parts > _MOST_PARTS:
            raise ValueError("the rule has no cuts, too many, or not one cluster for every part")
        made = all(0 <= part < first for part, first in zip(self.parts, self.first, strict=True))
        if not made or len(set(self.parts)) < len(self.parts):
            raise ValueError("the rule cuts a part twice, or before there is one")
        if np.flatnonzero(self.cluster_of_part < 0).tolist() != sorted(self.parts):
            raise ValueError("a part of the rule that is cut has a cluster, or one that is not cut has none")
        if np.unique(self.cluster_of_part).tolist() != list(range(-1, self.n_clusters)):
            raise ValueError("the rule leaves a cluster out")
        if any(len(direction) != n_columns or not direction.any() for direction in self.directions):
            raise ValueError("a direction of the rule does not have a number for every column")
        if any(not len(limits) or np.any(np.diff(limits) <= 0) for limits in self.thresholds):
            raise ValueError("the thresholds of the rule do not ascend")


@dataclass(frozen=True)
class Divided:
    """A row belongs to its nearest point, and there to one side of each cut that it meets: the cuts' parts are first those of the points."""

    nearest: Nearest
    cuts: Cuts

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.cuts.n_clusters

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places."""
        return self.cuts.clusters_from(self.nearest.clusters(places), places)

    def move(self) -> Move:
        """Return the move that brings rows to the nodes numbered like their clusters."""
        return CutAndName(self.cuts.rounds(), self.cuts.name().node_of, ToNearest(self.nearest.centres))

    def renumbered(self, rank: NDArray[np.int64]) -> Divided:
        """Return the same rule, with cluster c called ``rank[c]``."""
        return Divided(self.nearest, self.cuts.renumbered(rank))


@dataclass(frozen=True)
class GridMap:
    """A map of bins: a row belongs to the cluster of the bin in which it lies.

    Attributes
    ----------
    widths : int64 array of shape (n_columns,)
        Places of a bin along each column.
    labels : int64 array, one axis per column
        The cluster of every bin. Rows beyond the last bin of a column count as in it.
    """

    widths: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cluster of every row of places."""
        bins = np.minimum(places // self.widths, np.array(self.labels.shape) - 1)
        found: NDArray[np.int64] = self.labels[tuple(bins.T)]
        return found

    def move(self) -> Move:
        """Return the move that brings rows to the nodes numbered like their clusters."""
        return ByMap(self.widths, self.labels.astype(np.int16))

    def renumbered(self, rank: NDArray[np.int64]) -> GridMap:
        """Return the same rule, with cluster c called ``rank[c]``."""
        return GridMap(self.widths, rank[self.labels])

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON values; clusters of bins one after the other, each with the number of bins in a row."""
        flat = self.labels.ravel()
        begins = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))
        return {
            "kind": "map",
            "widths": self.widths.tolist(),
            "shape": list(self.labels.shape),
            "clusters": flat[begins].tolist(),
            "lengths": np.diff(begins, append=len(flat)).tolist(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made, for pickles: they hold as little as files do."""
        return GridMap.from_dict, (self.to_dict(), self.labels.ndim)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_columns: int) -> GridMap:
        """Return the rule that `to_dict` described; raise ValueError, TypeError or KeyError if it is none."""
        widths, shape = _whole_numbers(values["widths"], _LARGEST_WIDTH), _whole_numbers(values["shape"], _MOST_BINS)
        clusters, lengths = (
            _whole_numbers(values["clusters"], _MOST_PARTS),
            _whole_numbers(values["lengths"], _MOST_BINS),
        )
        if not len(widths) == len(shape) == n_columns or np.any(widths < 1) or np.any(shape < 1):
            raise ValueError("the map does not have a width and a number of bins for every column")
        n_bins = math.prod(shape.tolist())
        if n_bins > _MOST_BINS or len(clusters) != len(lengths) or np.any(lengths < 1) or lengths.sum() != n_bins:
            raise ValueError("the map has too many bins, or not one cluster for every bin")
        if np.any(clusters[1:] == clusters[:-1]) or np.unique(clusters).tolist() != list(
            range(int(clusters.max()) + 1)
        ):
            raise ValueError("the map leaves a cluster out, or names one twice in a row")
        return cls(widths, np.repeat(clusters, lengths).reshape(shape))


Regions = Everything | Cuts | GridMap
"""Rules that were found; they are released as they are. The nearest centre follows from the centres."""
Partition = Nearest | Regions


def partition_from_dict(values: Any, n_columns: int) -> Regions:
    """Return the rule that `to_dict` described, for so many columns; raise ValueError, TypeError or KeyError if it is none."""
    if values == Everything().to_dict():
        return Everything()
    kinds: dict[str, type[Cuts | GridMap]] = {"cuts": Cuts, "map": GridMap}
    if not isinstance(values, dict) or values["kind"] not in kinds:
        raise ValueError("the rule is of no known kind")
    return kinds[values["kind"]].from_dict(values, n_columns)


def _whole_numbers(values: Any, largest: int) -> NDArray[np.int64]:
    """Return a list of whole numbers as an array; raise ValueError if it holds something else, or a number is too large."""
    if not isinstance(values, list) or not all(type(value) is int and -largest <= value <= largest for value in values):
        raise ValueError("the rule holds something else than whole numbers, or one that is too large")
    return np.array(values, dtype=np.int64)
