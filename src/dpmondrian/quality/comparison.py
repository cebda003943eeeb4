"""How good a release is beside KMeans on the true rows. Sensitive: for the holder of the rows, never for publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines import MISSING_RULES, clipped_rows, view_of
from dpmondrian.exceptions import DataError
from dpmondrian.quality.measures import evaluate
from dpmondrian.release import Release
from dpmondrian.schema import Coordinates
from dpmondrian.tables import Reader, Table, read_table

_SAMPLE_ROWS = 20_000  # of which KMeans finds good starts


@dataclass(frozen=True)
class Comparison:
    """Metrics by name, of the release and of KMeans with as many clusters. Sensitive.

    Distances are those of the release: every column is divided by its range and multiplied by the mean range.
    """

    release: dict[str, float]
    kmeans: dict[str, float]


def compare_with_kmeans(
    release: Release, table: Any, classes: str | None = None, seed: int = 0, *, decoded: bool = False
) -> Comparison:
    """Return all metrics of a release and of KMeans on the rows of a table. Sensitive.

    Parameters
    ----------
    release : Release
    table : table in memory
        The rows that the release was made of.
    classes : str, optional
        The column with the true class of every row, for "accuracy" and "adjusted_rand".
    seed : int, default=0
        That of KMeans and of the silhouette's subsample.
    decoded : bool, default=False
        Whether dates, bands and other notations have been turned into numbers before, as in files that the command line reads.

    Returns
    -------
    comparison : Comparison
        Metrics by name: ``comparison.release`` and ``comparison.kmeans``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import compare_with_kmeans
    >>> from dpmondrian import DPM
    >>> rows = np.random.default_rng(0).normal(np.repeat([[20.0], [80.0]], 5000, axis=0), 5.0)
    >>> comparison = compare_with_kmeans(DPM(bounds=(0, 100)).fit(rows).release_, rows)
    >>> round(comparison.release["inertia"] / comparison.kmeans["inertia"], 1)
    1.0
    """
    coordinates = Coordinates(release.schema)
    rows, kept = _scaled_rows(_columns_of(table, release, decoded), release, coordinates)
    if len(rows) < len(release.centres):
        raise DataError(
            "The table has fewer rows than the release has clusters: nothing can be compared.", "Pass the whole table."
        )
    true_class = None if classes is None else _classes(table, classes)[kept]
    weights = coordinates.schema.weights
    kmeans = _kmeans(rows, len(release.centres), seed)
    diameter = float(np.linalg.norm((coordinates.schema.upper - coordinates.schema.lower) * weights))
    own = coordinates.of_centres(release.centres) * weights
    return Comparison(*(evaluate(rows, true_class, centres, [kmeans], diameter, seed) for centres in (own, kmeans)))


def _kmeans(rows: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.float64]:
    """Return the centres of KMeans: the best of ten starts, on a sample where there are many rows, moved on all rows."""
    from sklearn.cluster import KMeans

    sample = rows
    if len(rows) > _SAMPLE_ROWS:
        sample = rows[np.random.default_rng(seed).choice(len(rows), max(_SAMPLE_ROWS, n_clusters), replace=False)]
    centres = KMeans(n_clusters, n_init=10, random_state=seed).fit(sample).cluster_centers_
    if sample is not rows:
        centres = KMeans(n_clusters, init=centres, n_init=1).fit(rows).cluster_centers_
    return np.asarray(centres)


def _scaled_rows(
    table: Table, release: Release, coordinates: Coordinates
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the clipped rows on the common scale of distances, and which rows of the table they are."""
    on_missing = str(release.parameters.get("on_missing"))
    view = view_of(table, coordinates, on_missing)
    schema = coordinates.schema
    rule = MISSING_RULES["middle" if on_missing == "middle" else "drop"]
    blocks = [clipped_rows(block, schema, rule) for block in view.blocks()]
    rows = np.concatenate([np.empty((0, len(schema.columns))), *blocks])
    kept: NDArray[np.bool_] = ~np.isnan(rows).any(axis=1)
    return rows[kept] * schema.weights, kept


def _columns_of(table: Any, release: Release, decoded: bool) -> Table:
    if not release.named:
        return read_table(table)
    wanted = nw.from_native(table, eager_only=True).select(list(release.schema.names))
    reader = Reader(release.schema.written)
    return (reader.of_streams if decoded else reader).table(wanted.to_native())


def _classes(table: Any, column: str) -> NDArray[np.int64]:
    values = nw.from_native(table, eager_only=True)[column].to_numpy()
    _, numbers = np.unique(values.astype(str), return_inverse=True)
    return numbers.astype(np.int64)
