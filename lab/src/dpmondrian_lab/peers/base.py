"""What all peers share: parameters and their checks, the door, the statement, the fitted attributes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from dpmondrian.common import checks as check
from dpmondrian.common.interrupts import undisturbed
from dpmondrian.exceptions import BoundsError, DataError, NotReleasableWarning, ParameterError
from dpmondrian.release import PrivacyStatement
from dpmondrian.schema import Bounds, Schema
from dpmondrian.tables import Table, read_table
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import LabPlan
from dpmondrian_lab.peers.rows import FixedPointRows, finite, nearest_centre
from dpmondrian_lab.peers.statements import peer_statement

__all__ = ["Centres", "Peer", "PeerSettings"]


@dataclass(frozen=True)
class PeerSettings:
    """Checked public parameters of a peer."""

    n_clusters: int
    epsilon: float
    delta: float
    variant: str
    expected_rows: int

    @property
    def published(self) -> bool:
        """Whether the mistakes of the published code are repeated."""
        return self.variant == "as_published"


@dataclass(frozen=True)
class Centres:
    """Released centres as displacements from the middle of the box, and released sizes where there are any.

    ``clip=False`` leaves centres outside the bounds where they are, as some published code does.
    """

    displacement: NDArray[np.float64]
    sizes: NDArray[np.float64] | None = None
    clip: bool = True


class Peer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A private clustering algorithm that is told the number of clusters.

    A peer is a subclass with two methods: `_plan`, all draws with their noise from public parameters, before a row is
    read; and `_cluster`, which asks rows for exact sums and hands them to the door.

    Parameters
    ----------
    n_clusters : int, default=8
    epsilon : float, default=1.0
    delta : float, default=1e-7
    bounds : as in `DPM`
        Range of every column, known without looking at the data. Values beyond are clipped.
    variant : {"default", "as_published"}, default="default"
        "as_published" repeats the mistakes of the published code: for comparisons only, never for a release.
    expected_rows : int, default=100_000
        About how many rows there are, known without looking at the data. Some peers choose constants by it.
    random_state : int, RandomState, Generator or None, default=None
        None draws secure noise. Anything else makes a reproducible research run that must not be released.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features_in_)
    cluster_sizes_ : ndarray of shape (n_clusters_,)
        Only where the algorithm releases sizes.
    n_clusters_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only where the table has column names.
    privacy_ : PrivacyStatement
    """

    _variants: tuple[str, ...] = ("default", "as_published")
    _published_code_clips = True
    _most_rows = 10**12

    def __init__(
        self,
        n_clusters: int = 8,
        epsilon: float = 1.0,
        delta: float = 1e-7,
        bounds: Bounds = None,
        *,
        variant: str = "default",
        expected_rows: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.variant = variant
        self.expected_rows = expected_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X`. Spends the budget once.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : ignored
        """
        settings = self._settings()
        seed = check.seed_of(self.random_state)
        undisturbed(partial(self._fit, X, settings, seed))
        if not self.privacy_.releasable:
            warnings.warn(
                "This run has a seed or repeats mistakes of published code, so its result protects nobody and must not be "
                "released.",
                NotReleasableWarning,
                stacklevel=2,
            )
        return self

    def _fit(self, X: Any, settings: PeerSettings, seed: int | None) -> None:
        """Cluster the rows and set the fitted attributes."""
        table = read_table(X)
        schema = Schema.from_bounds(self.bounds, table.names, [False] * table.n_columns)
        if schema.categories or any(column.log for column in schema.centre_columns):
            raise BoundsError(
                parameter="bounds",
                of=type(self).__name__,
                rule="must not hold 'log' or categories: the peers work with numbers only",
                value=self.bounds,
                way_out="Give the logarithms of the values and of the bounds, or 0/1 columns for categories.",
            )
        door = LabDoor(self._plan(settings, table.n_columns), seed=seed)
        rows = FixedPointRows.of(table, schema, clip=self._published_code_clips or not settings.published)
        centres = self._cluster(rows, door, settings)
        self.cluster_centers_ = rows.values(centres.displacement, centres.clip)
        self.__dict__.pop("cluster_sizes_", None)
        if centres.sizes is not None:
            self.cluster_sizes_ = centres.sizes
        self.n_clusters_ = len(self.cluster_centers_)
        self._take_columns(table, schema)
        self.privacy_: PrivacyStatement = peer_statement(door, schema, settings.variant)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of every row: sensitive, stays with the holder of the rows.

        Rows are clipped to the bounds first, and differences are brought to a common scale by the columns' ranges, as in
        the fit. Columns of a named table may come in any order.
        """
        check_is_fitted(self)
        table = read_table(X)
        if self._named:
            table = table.reordered(self._schema.names)
        if table.n_columns != self.n_features_in_:
            raise DataError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
            )
        lower, upper, weights = self._schema.lower, self._schema.upper, self._schema.weights
        centres = self.cluster_centers_ * weights
        blocks = (np.clip(finite(block), lower, upper) * weights for block in table.blocks())
        return np.concatenate([np.empty(0, dtype=np.int64), *(nearest_centre(block, centres) for block in blocks)])

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.int64]:
        """Cluster the rows and return the nearest centre of each: sensitive."""
        return self.fit(X).predict(X)

    def _take_columns(self, table: Table, schema: Schema) -> None:
        """Keep what is public about the columns, for `predict`."""
        self.n_features_in_ = table.n_columns
        self._schema, self._named = schema, table.named
        self.__dict__.pop("feature_names_in_", None)
        if table.named and table.text_names:  # scikit-learn's convention: feature names are text or not there
            self.feature_names_in_ = np.array(table.names, dtype=object)

    def _settings(self) -> PeerSettings:
        """Check every parameter; nothing is read or spent before all are right."""
        return PeerSettings(
            n_clusters=check.check_integer("n_clusters", self.n_clusters, 1, 10_000, "Give the number of clusters."),
            epsilon=check.check_epsilon(self.epsilon),
            delta=self._check_delta(),
            variant=check.check_choice("variant", self.variant, self._variants),
            expected_rows=check.check_integer(
                "expected_rows", self.expected_rows, 2, self._most_rows, "Give a public guess of the number of rows."
            ),
        )

    def _check_delta(self) -> float:
        delta = check.check_delta(self.delta)
        if delta == 0.0:
            raise ParameterError(
                parameter="delta",
                of=type(self).__name__,
                rule="must be positive, because it draws Gaussian noise",
                value=0,
                way_out="Choose one well below 1 / (number of people), such as 1e-7.",
            )
        return delta

    def _plan(self, settings: PeerSettings, n_columns: int) -> LabPlan:
        raise NotImplementedError

    def _cluster(self, rows: FixedPointRows, door: LabDoor, settings: PeerSettings) -> Centres:
        raise NotImplementedError
