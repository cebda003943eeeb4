"""The nearest released centre of every row: for the holder of the rows, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.threads import Threads
from dpmondrian.engines import MISSING_RULES, clipped_rows, missing_value_error, view_of
from dpmondrian.kernels import compiled
from dpmondrian.release.release import Release
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PART_ROWS, Table

__all__ = ["Labeller"]

_NO_NODES, _NO_CLUSTERS = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Labeller:
    """Finds the nearest centre of rows; made of released and public values only, so it may be sent to where rows are.

    Attributes
    ----------
    coordinates : Coordinates
        Scales on which distances are taken; directions play no part.
    centres : float64 array of shape (n_clusters, n_columns)
        On these scales.
    on_missing : str
        What happens to missing values; with "drop" such rows get -1.
    """

    coordinates: Coordinates
    centres: NDArray[np.float64]
    on_missing: str

    @classmethod
    def of(cls, release: Release, on_missing: str) -> Labeller:
        """Return the labeller of a release."""
        coordinates = Coordinates(release.schema)
        return cls(coordinates, coordinates.of_centres(release.centres), on_missing)

    def labels(self, table: Table) -> NDArray[np.int32]:
        """Return the nearest centre of every row of a table."""
        return self._labels(table, _NO_NODES, _NO_CLUSTERS)

    def hinted_labels(
        self, table: Table, threads: Threads, nodes: NDArray[np.int16] | None, cluster_of_node: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the nearest centre of every row; the nodes that rows are in, if known, are hints that save time."""

        def part(start: int) -> NDArray[np.int32]:
            stop = start + PART_ROWS
            rows = table.between(start, stop)
            return self.labels(rows) if nodes is None else self._labels(rows, nodes[start:stop], cluster_of_node)

        parts = threads.map(part, range(0, table.n_rows, PART_ROWS))
        return np.concatenate([np.empty(0, dtype=np.int32), *parts])

    def _labels(self, table: Table, nodes: NDArray[np.int16], cluster_of_node: NDArray[np.int64]) -> NDArray[np.int32]:
        view, schema = view_of(table, self.coordinates, self.on_missing), self.coordinates.schema
        labels = np.empty(table.n_rows, dtype=np.int32)
        for start in view.starts():
            if not compiled.nearest_centre(
                np.ascontiguousarray(view.block(start)), schema.lower, schema.upper, MISSING_RULES[self.on_missing], self.centres,
                schema.weights, self._half_gaps, nodes, cluster_of_node, labels, start,
            ):  # fmt: skip
                raise missing_value_error()
        return labels

    def distances(self, table: Table) -> NDArray[np.float64]:
        """Return the distance of every row of a table to every centre."""
        view, schema = view_of(table, self.coordinates, self.on_missing), self.coordinates.schema
        distances = np.empty((table.n_rows, len(self.centres)))
        for start, block in zip(view.starts(), view.blocks(), strict=True):
            rows = clipped_rows(block, schema, MISSING_RULES[self.on_missing])
            for c, centre in enumerate(self.centres):
                distances[start : start + len(rows), c] = np.sqrt((((rows - centre) * schema.weights) ** 2).sum(axis=1))
        return distances

    @cached_property
    def _half_gaps(self) -> NDArray[np.float64]:
        """Half the distance of each centre to its nearest other, a little less against rounding."""
        points = self.centres * self.coordinates.schema.weights
        gaps = np.full(len(points), np.inf)
        for c, point in enumerate(points):
            squares = ((points - point) ** 2).sum(axis=1)
            squares[c] = np.inf
            gaps[c] = np.sqrt(squares.min())
        return 0.5 * (1.0 - 1e-9) * gaps
