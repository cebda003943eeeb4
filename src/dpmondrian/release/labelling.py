"""The cluster of every row by the released rule: for the holder of the rows, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_choice
from dpmondrian.common.interrupts import undisturbed
from dpmondrian.dpm import Divided, Partition
from dpmondrian.engines import (
    MISSING_RULES,
    EngineSource,
    Grid,
    LocalSource,
    Resources,
    clipped_rows,
    coded_blocks,
    open_source,
    view_of,
    with_thread_context,
)
from dpmondrian.exceptions import DataError
from dpmondrian.schema import Coordinates
from dpmondrian.tables import Reader, Table

if TYPE_CHECKING:
    from dpmondrian.release.every_k import Clusters
    from dpmondrian.release.release import Release


@dataclass(frozen=True)
class Labeller:
    """Finds the cluster of rows; made of released and public values only, so it may be sent to where rows are.

    Attributes
    ----------
    coordinates : Coordinates
        What stands for the values of a row.
    grid : Grid
        On whose places the rule is.
    rule : Partition
        Which of several parts a row belongs to.
    cluster_of_part : int32 array
        The cluster that each part stands for.
    centres : float64 array of shape (n_clusters, n_columns)
        In the columns' own units.
    on_missing : str
        What happens to missing values; with "drop" such rows get -1.
    named : bool
        Whether columns have names of their own.
    person_id : str or None
        A column that may be there and is not looked at.
    """

    coordinates: Coordinates
    grid: Grid
    rule: Partition | Divided
    cluster_of_part: NDArray[np.int32]
    centres: NDArray[np.float64]
    on_missing: str
    named: bool
    person_id: str | None

    @classmethod
    def of(cls, release: Release, on_missing: str | None = None, clusters: Clusters | None = None) -> Labeller:
        """Return the labeller of a release, or of other clusters made of its cells."""
        own = release if clusters is None else clusters
        on_missing = release.parameters["on_missing"] if on_missing is None else on_missing
        return cls(
            coordinates=Coordinates(release.schema),
            grid=release.grid,
            rule=own.rule,
            cluster_of_part=own.cluster_of_part.astype(np.int32),
            centres=own.centres,
            on_missing=check_choice("on_missing", on_missing, tuple(MISSING_RULES)),
            named=release.named,
            person_id=release.parameters["person_id"],
        )

    def predict(self, X: Any) -> Any:
        """Return the cluster of every row of any table; see `DPM.predict`."""
        return undisturbed(with_thread_context(X, lambda: self._source(X).labels(self.labels, Resources())))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of every row of a table on this machine to every centre; see `DPM.transform`."""
        return undisturbed(partial(self._all_distances, X))

    def _all_distances(self, X: Any) -> NDArray[np.float64]:
        source = self._source(X)
        if not isinstance(source, LocalSource):
            raise DataError(
                "Distances are not computed for tables on a cluster.",
                "Call predict, or transform with a part of the table in memory.",
            )
        return source.mapped(self.distances, np.empty((0, len(self.centres))), Resources())

    def _source(self, X: Any) -> EngineSource:
        """Return a table with its columns in the order of the release."""
        schema = self.coordinates.given
        names = schema.names if self.named else None
        reader = Reader(schema.written, self.person_id, person_needed=False, order=names)
        source = open_source(X, reader, names)
        n_columns, n_expected = source.head.n_columns, len(schema.columns)
        if n_columns != n_expected:
            raise DataError(f"X has {n_columns} features, but DPM is expecting {n_expected} features as input.")
        return source

    def labels(self, table: Table) -> NDArray[np.int32]:
        """Return the cluster of every row of a table."""
        move, found = self.rule.move(), [np.empty(0, dtype=np.int16)]
        for block in coded_blocks(table, self.coordinates, self.on_missing, self.grid):
            node = np.zeros(block.n_rows, dtype=np.int16)
            move.move(block, node)
            found.append(node)
        labels = self.cluster_of_part[np.concatenate(found)]
        return labels if len(labels) == table.n_rows else self._with_missing(table, labels)

    def _with_missing(self, table: Table, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the labels of all rows from those of the rows that lack no value."""
        blocks = view_of(table, self.coordinates, self.on_missing).blocks()
        whole = np.concatenate([np.isfinite(block).all(axis=1) for block in blocks])
        every = np.full(table.n_rows, -1, dtype=np.int32)
        every[whole] = labels
        return every

    def distances(self, table: Table) -> NDArray[np.float64]:
        """Return the distance of every row of a table to every centre."""
        view, schema = view_of(table, self.coordinates, self.on_missing), self.coordinates.schema
        centres = self.coordinates.of_centres(self.centres)
        distances = np.empty((table.n_rows, len(centres)))
        for start, block in zip(view.starts(), view.blocks(), strict=True):
            rows = clipped_rows(block, schema, MISSING_RULES[self.on_missing])
            for c, centre in enumerate(centres):
                distances[start : start + len(rows), c] = np.sqrt((((rows - centre) * schema.weights) ** 2).sum(axis=1))
        return distances
