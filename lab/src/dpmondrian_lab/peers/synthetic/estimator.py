"""KMeans on synthetic data of a marginal-based generator: coding by the public bounds, the generator's process, decoding."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from dpmondrian.schema import Bounds, Schema
from dpmondrian.tables import read_table
from dpmondrian_lab.peers.rows import finite
from dpmondrian_lab.peers.synthetic.environment import environment_python, why_missing

__all__ = ["Codes", "SyntheticKMeans", "synthetic_rows"]

_KMEANS_STARTS = 10


class SyntheticKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Synthetic rows from dpmm's MST or AIM, then KMeans with k clusters on them.

    Privacy
    -------
    Released: the synthetic rows, as dpmm promises: (epsilon, delta), neighbours differ by one row added or removed. This is
    its promise as read from its code, not ours: the noise does not pass our door, is added in floating point, and comes
    with selections from a generator that is not meant for secrets. ``docs/privacy/peers.md`` says more. There is no statement.

    Parameters
    ----------
    n_clusters : int, default=8
    epsilon, delta : float, default=1.0, 1e-7
    bounds : as in `DPM`
        The domain of the generator. Nothing about it is learned from rows.
    generator : {"mst", "aim"}, default="mst"
    n_bins : int, default=64
        Equal bins of every column; a column of fewer whole numbers has one for each.
    random_state : int or None, default=None
        Of the generator's selections and of KMeans. The generator's noise has no seed, so runs do not repeat.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features_in_)
    n_clusters_, n_features_in_ : int
    """

    def __init__(
        self,
        n_clusters: int = 8,
        epsilon: float = 1.0,
        delta: float = 1e-7,
        bounds: Bounds = None,
        *,
        generator: str = "mst",
        n_bins: int = 64,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.generator = generator
        self.n_bins = n_bins
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Make synthetic rows from those of `X` and cluster them."""
        table = read_table(X)
        schema = Schema.from_bounds(self.bounds, table.names, [False] * table.n_columns)
        rows = finite(np.concatenate([np.empty((0, table.n_columns)), *table.blocks()]))
        synthetic = synthetic_rows(
            rows, schema, self.generator, self.epsilon, self.delta, self.n_bins, self.random_state
        )
        k = min(self.n_clusters, len(synthetic))
        kmeans = KMeans(k, n_init=_KMEANS_STARTS, random_state=self.random_state).fit(synthetic * schema.weights)
        self.cluster_centers_ = np.clip(kmeans.cluster_centers_ / schema.weights, schema.lower, schema.upper)
        self.n_clusters_, self.n_features_in_ = len(self.cluster_centers_), table.n_columns
        return self


def synthetic_rows(
    rows: NDArray[np.float64],
    schema: Schema,
    generator: str,
    epsilon: float,
    delta: float,
    n_bins: int = 64,
    seed: int | None = None,
) -> NDArray[np.float64]:
    """Return synthetic rows of a generator, see `SyntheticKMeans`."""
    codes = Codes(schema, n_bins)
    request = {
        "generator": generator,
        "epsilon": epsilon,
        "delta": delta,
        "n_codes": codes.n_codes.tolist(),
        "seed": seed,
    }
    return codes.decode(_generated(codes.encode(rows), request), np.random.default_rng(seed))


def _generated(exact_codes: NDArray[np.int64], request: dict[str, Any]) -> NDArray[np.int64]:
    """Return synthetic codes, made by a process of the environment."""
    if why_missing():
        raise OSError(why_missing())
    script = Path(__file__).with_name("generate.py")
    with tempfile.TemporaryDirectory(prefix="dpmondrian-synthetic-") as folder:
        np.save(Path(folder, "codes.npy"), exact_codes)
        Path(folder, "request.json").write_text(json.dumps(request), encoding="utf-8")
        command = [str(environment_python()), "-I", "-W", "ignore", str(script), folder]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
        if done.returncode:
            raise RuntimeError(f"The generator failed. {done.stderr.strip().rpartition(chr(10))[2]}")
        return np.asarray(np.load(Path(folder, "synthetic.npy")), dtype=np.int64)


@dataclass(frozen=True)
class Codes:
    """Equal bins of every column, from public bounds alone. A whole number takes up half a unit on either side."""

    schema: Schema
    n_bins: int

    @property
    def n_codes(self) -> NDArray[np.int64]:
        """Number of bins of every column."""
        return np.array(
            [min(self.n_bins, column.n_values) if column.whole else self.n_bins for column in self._columns]
        )

    @property
    def _columns(self) -> Any:
        return self.schema.centre_columns

    @property
    def _whole(self) -> NDArray[np.bool_]:
        return np.array([column.whole for column in self._columns])

    @property
    def _box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower ends and widths of what is divided into bins."""
        margin = np.where(self._whole, 0.5, 0.0)
        lower = np.where(self._whole, np.ceil(self.schema.lower), self.schema.lower) - margin
        upper = np.where(self._whole, np.floor(self.schema.upper), self.schema.upper) + margin
        return lower, upper - lower

    def encode(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of every value, after clipping."""
        lower, width = self._box
        codes = np.floor((np.clip(rows, self.schema.lower, self.schema.upper) - lower) / width * self.n_codes)
        return np.clip(codes, 0, self.n_codes - 1).astype(np.int64)

    def decode(self, codes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.float64]:
        """Return a place in every bin: any with the same chance, for whole numbers the middle."""
        lower, width = self._box
        inside = np.where(self._whole, 0.5, generator.random(codes.shape))
        return lower + (codes + inside) * width / self.n_codes
