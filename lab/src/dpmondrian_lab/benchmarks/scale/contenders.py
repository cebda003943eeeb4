"""Who is measured: the engines, KMeans on the same rows, and simply reading the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset
import pyarrow.parquet as pq
from sklearn.cluster import KMeans, MiniBatchKMeans

from dpmondrian.engines import Resources
from dpmondrian_lab.benchmarks.scale.clusters import dask_cluster, spark_session
from dpmondrian_lab.benchmarks.scale.data import N_CLUSTERS, read_array
from dpmondrian_lab.benchmarks.speed import model

SMALL_PARTS = 4


@dataclass(frozen=True)
class Contender:
    """How a file is given (not timed), and what is done with it (timed), which returns centres if it clusters.

    `spread` brings a small table to all workers, so that a run on it leaves none of them unprepared.
    """

    load: Callable[[Path], Any]
    run: Callable[[Any], np.ndarray | None]
    spread: Callable[[Any], Any] = lambda table: table


def _dpm(table: Any, resources: Resources | None = None) -> np.ndarray:
    return model().fit(table, resources=resources).cluster_centers_


def _spilled(path: Path) -> np.ndarray:
    return _dpm(path, Resources(memory=0))


@contextmanager
def _on_dask() -> Iterator[Contender]:
    import dask.dataframe

    with dask_cluster():
        yield Contender(
            load=lambda path: dask.dataframe.read_parquet(path, split_row_groups=True),
            run=_dpm,
            spread=lambda frame: frame.repartition(npartitions=SMALL_PARTS),
        )


@contextmanager
def _on_spark() -> Iterator[Contender]:
    with spark_session() as session:
        yield Contender(
            load=lambda path: session.read.parquet(str(path)),
            run=_dpm,
            spread=lambda frame: frame.repartition(SMALL_PARTS),
        )


def _kmeans(rows: np.ndarray) -> np.ndarray:
    return KMeans(N_CLUSTERS, n_init=1).fit(rows).cluster_centers_


def _minibatch(rows: np.ndarray) -> np.ndarray:
    return MiniBatchKMeans(N_CLUSTERS, n_init=1).fit(rows).cluster_centers_


def _scan_dataset(path: Path) -> None:
    for _ in pyarrow.dataset.dataset(path).to_batches():
        pass


def _scan_file(path: Path) -> None:
    for _ in pq.ParquetFile(path).iter_batches():
        pass


CONTENDERS: dict[str, Callable[[], AbstractContextManager[Contender]]] = {
    "memory": lambda: nullcontext(Contender(read_array, _dpm)),
    "parquet": lambda: nullcontext(Contender(Path, _dpm)),
    "spill": lambda: nullcontext(Contender(Path, _spilled)),
    "dask": _on_dask,
    "spark": _on_spark,
    "kmeans": lambda: nullcontext(Contender(read_array, _kmeans)),
    "minibatch": lambda: nullcontext(Contender(read_array, _minibatch)),
    "scan dataset": lambda: nullcontext(Contender(Path, _scan_dataset)),
    "scan file": lambda: nullcontext(Contender(Path, _scan_file)),
}
SCANS = ("scan dataset", "scan file")
READ_A_FILE = ("parquet", "spill", "dask", "spark", *SCANS)
