"""How good a release is beside KMeans on the true rows. Sensitive: for the holder of the rows, never for publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines import MISSING_RULES, clipped_rows, view_of
from dpmondrian.exceptions import DataError
from dpmondrian.quality.evaluate import evaluate
from dpmondrian.release import Release
from dpmondrian.schema import Coordinates
from dpmondrian.tables import Table, read_table

__all__ = ["Comparison", "compare_with_kmeans"]


@dataclass(frozen=True)
class Comparison:
    """Metrics by name, of the release and of KMeans with as many clusters. Sensitive.

    Distances are those of the release: every column is divided by its range and multiplied by the mean range.
    """

    release: dict[str, float]
    kmeans: dict[str, float]


def compare_with_kmeans(release: Release, table: Any, classes: str | None = None, seed: int = 0) -> Comparison:
    """Return all metrics of a release and of KMeans on the rows of a table. Sensitive.

    Parameters
    ----------
    release : Release
    table : data frame or array
        The rows, with the columns of the release.
    classes : str, optional
        Column with the true class of every row.
    seed : int
        Of KMeans and of the silhouette's subsample.
    """
    from sklearn.cluster import KMeans

    coordinates = Coordinates(release.schema)
    rows, kept = _scaled_rows(table, release, coordinates)
    if len(rows) < len(release.centres):
        raise DataError(
            "The table has fewer rows than the release has clusters: nothing can be compared. Give the table."
        )
    true_class = None if classes is None else _classes(table, classes)[kept]
    weights = coordinates.schema.weights
    kmeans = KMeans(len(release.centres), n_init=10, random_state=seed).fit(rows).cluster_centers_
    diameter = float(np.linalg.norm((coordinates.schema.upper - coordinates.schema.lower) * weights))
    own = coordinates.of_centres(release.centres) * weights
    return Comparison(*(evaluate(rows, true_class, centres, [kmeans], diameter, seed) for centres in (own, kmeans)))


def _scaled_rows(
    table: Any, release: Release, coordinates: Coordinates
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the clipped rows on the common scale of distances, and which rows of the table they are."""
    on_missing = str(release.parameters.get("on_missing"))
    view = view_of(_columns_of(table, release), coordinates, on_missing)
    schema = coordinates.schema
    rule = MISSING_RULES["middle" if on_missing == "middle" else "drop"]
    blocks = [clipped_rows(block, schema, rule) for block in view.blocks()]
    rows = np.concatenate([np.empty((0, len(schema.columns))), *blocks])
    kept: NDArray[np.bool_] = ~np.isnan(rows).any(axis=1)
    return rows[kept] * schema.weights, kept


def _columns_of(table: Any, release: Release) -> Table:
    if not release.named:
        return read_table(table)
    wanted = nw.from_native(table, eager_only=True).select(list(release.schema.names))
    return read_table(wanted.to_native(), release.schema.categories)


def _classes(table: Any, column: str) -> NDArray[np.int64]:
    values = nw.from_native(table, eager_only=True)[column].to_numpy()
    _, numbers = np.unique(values.astype(str), return_inverse=True)
    return numbers.astype(np.int64)
