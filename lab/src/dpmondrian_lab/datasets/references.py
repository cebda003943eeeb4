"""The reference clusterings that centres are compared with, see `metrics.kmeans_distance`.

The paper keeps the 20 runs of KMeans with the best silhouette, over a range of k that it does not state. Here: KMeans
once for every k from 2 to 128 on 10,000 of the rows, to find the five k with the best silhouette; then on all rows with
20 seeds for each of these k; of the 100 runs the 20 with the best silhouette (of 10,000 rows) are kept. KMeans runs once
from k-means++ with one thread, so that the result repeats. Those of the registered files come with the package, others are
computed once and kept in the cache folder.

The clusters of made data are known, and the best runs all find their means: one reference is enough there.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.quality import silhouette
from dpmondrian_lab.datasets.data_set import DataSet
from dpmondrian_lab.datasets.files import Progress, cache_folder, find_file, staging
from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError

__all__ = ["SEARCH", "Search", "reference_centres", "search_references"]

Centres = NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """How references are searched for; part of the name of the cached file, so a change is computed anew."""

    smallest_k: int = 2
    largest_k: int = 128
    first_rows: int = 10_000
    best: int = 5
    seeds: int = 20
    kept: int = 20
    silhouette_rows: int = 10_000
    version: int = 1


SEARCH = Search()
_SHIPPED = Path(__file__).parent / "shipped"


def reference_centres(data_set: DataSet, progress: Progress | None = None, search: Search = SEARCH) -> list[Centres]:
    """Return the reference clusterings of a data set, each an array (k, d).

    Parameters
    ----------
    data_set : DataSet
    progress : callable, optional
        Told the number of runs of KMeans, if they must be computed: up to five minutes for one data set.
    search : Search
        How they are searched for.
    """
    rows, classes = data_set.load()
    if data_set.source == "made" and classes is not None:
        return [_class_means(data_set)]
    name = _cached_name(data_set, search)
    if (_SHIPPED / name).is_file():
        return _load(_SHIPPED / name)
    try:
        return _load(find_file(name))
    except DatasetNotFoundError:
        found = search_references(rows, search, progress)
        _save(name, found, search)
        return [centres for _, centres in found]


def search_references(
    rows: NDArray[np.float64], search: Search = SEARCH, progress: Progress | None = None
) -> list[tuple[float, Centres]]:
    """Return the best runs of KMeans with their silhouettes, best first."""
    total = search.largest_k - search.smallest_k + 1 + search.best * search.seeds
    steps = count(1)

    def run(part: NDArray[np.float64], k: int, seed: int) -> tuple[float, Centres]:
        result = _run(part, k, seed, search.silhouette_rows)
        if progress is not None:
            progress("searching references", next(steps), total)
        return result

    part = rows[np.random.RandomState(0).permutation(len(rows))[: search.first_rows]]
    first = {k: run(part, k, 0)[0] for k in range(search.smallest_k, search.largest_k + 1)}
    best = sorted(first, key=lambda k: -first[k])[: search.best]
    runs = [run(rows, k, seed) for k, seed in product(best, range(search.seeds))]
    return sorted(runs, key=lambda run: -run[0])[: search.kept]


# Kept, because every evaluation asks for them.
@lru_cache(maxsize=8)
def _class_means(data_set: DataSet) -> Centres:
    rows, classes = data_set.load()
    assert classes is not None
    means = np.array([rows[classes == number].mean(axis=0) for number in np.unique(classes)])
    means.setflags(write=False)
    return means


def _run(rows: NDArray[np.float64], k: int, seed: int, silhouette_rows: int) -> tuple[float, Centres]:
    """Return silhouette and centres of one run of KMeans."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # With several threads sums are added in another order each time.
    with threadpool_limits(limits=1):
        model = KMeans(n_clusters=k, n_init=1, random_state=seed).fit(rows)
        return silhouette(rows, model.labels_, silhouette_rows), model.cluster_centers_


def _cached_name(data_set: DataSet, search: Search) -> str:
    recipe = hashlib.sha256(json.dumps(asdict(search)).encode()).hexdigest()
    return f"references/{data_set.key}-{data_set.content_checksum()[:12]}-{recipe[:8]}.npz"


def _save(name: str, found: list[tuple[float, Centres]], search: Search) -> None:
    arrays: dict[str, Any] = {f"centres_{number:02}": centres for number, (_, centres) in enumerate(found)}
    arrays["silhouettes"] = np.array([value for value, _ in found])
    arrays["recipe"] = np.array(json.dumps(asdict(search)))
    path = cache_folder() / name
    with staging() as unfinished:
        file = unfinished / path.name
        np.savez_compressed(file, **arrays)
        path.parent.mkdir(exist_ok=True)
        os.replace(file, path)


def _load(path: Path) -> list[Centres]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return list(_in_order(arrays))
    except (zipfile.BadZipFile, ValueError, TypeError, OSError, EOFError):
        raise DatasetError(f"The file {path} is damaged. Delete it, and it is computed anew.") from None


def _in_order(arrays: np.lib.npyio.NpzFile) -> Iterator[Centres]:
    for name in sorted(arrays.files):
        if name.startswith("centres_"):
            yield arrays[name]
