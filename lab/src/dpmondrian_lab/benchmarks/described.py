"""What a release says about its clusters, beside exact values: ``python -m dpmondrian_lab.benchmarks.described``.

Five questions, all at epsilon 1 with secure noise and the defaults:

features   of clusters of 1,000 rows or more on real tables: are the (up to) three columns that the release says set a cluster apart those of the exact values?
cost       what profiles cost: inertia with profiles relative to that without, on the data sets of the paper, with k and without
quality    do the 95 % intervals of silhouette and explained variance hold the exact values of the released clusters, and those of the silhouettes the
           values of every other k that was measured, on real tables?
centres    are the exact means of clusters within one and two stated errors of the released centres, on real tables, without k and with six?
synthetic  KMeans on synthetic rows of a release: its inertia on true rows, relative to that of KMeans on true rows
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from dpmondrian import DPM
from dpmondrian.quality import inertia
from dpmondrian.release import MOST_K
from dpmondrian.schema import Schema
from dpmondrian_lab.datasets.data_set import DataSet
from dpmondrian_lab.datasets.folders import real_keys
from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.experiments.catalogue import PAPER_DATA_SETS

__all__ = ["main", "right_features"]

LEAST_ROWS, N_FEATURES = 1_000, 3
TIE = 0.01
"""Columns whose exact differences are this near to each other, in shares of the range, may stand for each other."""
_STARTS, _MOST_ROWS = 10, 100_000


def _fitted(data_set: DataSet, n_clusters: int | None, **parameters: object) -> DPM:
    rows, _ = data_set.load()
    given = {"bounds": data_set.bounds, "delta": data_set.delta, "n_clusters": n_clusters}
    return DPM(**given, **parameters).fit(rows)


def right_features(
    rows: NDArray[np.float64], widths: NDArray[np.float64], is_own: NDArray[np.bool_], told: list[int]
) -> bool:
    """Return whether the columns that are told are the first ones by exact values, up to near ties."""
    differences = np.abs(rows[is_own].mean(axis=0) - rows.mean(axis=0)) / widths
    least = np.sort(differences)[-min(N_FEATURES, len(differences))]
    return bool((differences[told] >= least - TIE).all())


def features(n_runs: int) -> Iterator[str]:
    """Yield a line for each table, and one for all."""
    yield "| table | clusters | columns told | right |\n|---|---|---|---|"
    every: list[bool] = []
    for key in real_keys():
        data_set = get(key)
        schema = data_set.bounds
        assert isinstance(schema, Schema)
        rows = np.clip(data_set.load()[0], schema.lower, schema.upper)
        right, n_told = [], 0
        for model in (_fitted(data_set, k) for _ in range(n_runs) for k in (None, data_set.n_clusters)):
            profiles = model.release_.profiles
            assert profiles is not None
            for cluster in range(model.n_clusters_ if model.n_clusters_ > 1 else 0):
                is_own = model.labels_ == cluster
                told = [schema.names.index(one.name) for one in profiles.differences(cluster, N_FEATURES)]
                if is_own.sum() >= LEAST_ROWS and told:
                    n_told += len(told)
                    right.append(right_features(rows, schema.upper - schema.lower, is_own, told))
        every += right
        yield f"| {key} | {len(right)} | {n_told} | {np.mean(right) if right else np.nan:.1%} |"
    yield f"| all | {len(every)} | | {np.mean(every):.1%} (asked 90 %) |"


def cost(n_runs: int) -> Iterator[str]:
    """Yield a line for each data set of the paper."""
    yield "| data set | with k | without |\n|---|---|---|"
    for key in PAPER_DATA_SETS:
        data_set = get(key)
        points = data_set.load()[0]
        ratios = []
        for k in (data_set.n_clusters, None):
            both = [
                np.mean([inertia(points, _fitted(data_set, k, profiles=p).cluster_centers_) for _ in range(n_runs)])
                for p in (True, False)
            ]
            ratios.append(float(both[0] / both[1]))
        yield f"| {key} | {ratios[0]:.3f} | {ratios[1]:.3f} |"


def quality(n_runs: int) -> Iterator[str]:
    """Yield a line for each table, and one for all."""
    yield "| table | silhouette | explained | silhouettes of other k: to 20 | of more |\n|---|---|---|---|---|"
    every: list[list[bool]] = []
    of_k: list[tuple[int, bool]] = []
    for key in real_keys():
        data_set = get(key)
        schema = data_set.bounds
        assert isinstance(schema, Schema)
        rows = data_set.scaled(np.clip(data_set.load()[0], schema.lower, schema.upper))
        models = [_fitted(data_set, data_set.n_clusters) for _ in range(n_runs)]
        held = [_holds(model, rows, data_set) for model in models]
        own_k = [one for model in models for one in _hold_of_other_k(model, rows, data_set)]
        every, of_k = every + held, of_k + own_k
        parts = [[own[0] for own in held], [own[1] for own in held], *_few_and_many(own_k)]
        yield f"| {key} " + "".join(f"| {sum(part)} of {len(part)} " for part in parts) + "|"
    shares = [*np.mean(every, axis=0), *map(np.mean, _few_and_many(of_k))]
    yield "| all (stated 95 %) " + "".join(f"| {share:.0%} " for share in shares) + "|"


def _few_and_many(held: list[tuple[int, bool]]) -> list[list[bool]]:
    """Return what holds of up to 20 clusters, and of more."""
    return [[one for k, one in held if (k > MOST_K) == is_many] for is_many in (False, True)]


def _hold_of_other_k(model: DPM, rows: NDArray[np.float64], data_set: DataSet) -> Iterator[tuple[int, bool]]:
    """Yield for every k that was measured whether the interval of its silhouette holds the exact value, with rows at the nearest centre."""
    some = np.random.default_rng(0).permutation(len(rows))[:_MOST_ROWS]
    for k in range(2, int(model.qualities().k[-1]) + 1):
        clusters = model.clusters(k)
        if clusters.silhouette is not None:
            centres = data_set.scaled(clusters.centres)
            squares = (rows[some] ** 2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * rows[some] @ centres.T
            a, b = np.sqrt(np.maximum(np.partition(squares, 1, axis=1)[:, :2], 0.0)).T
            exact = float(np.mean((b - a) / np.maximum(b, 1e-300)))
            yield k, clusters.silhouette.low <= exact <= clusters.silhouette.high


def _holds(model: DPM, rows: NDArray[np.float64], data_set: DataSet) -> list[bool]:
    """Return whether the intervals of the silhouette and of the explained variance hold the exact values."""
    centres, labels = data_set.scaled(model.cluster_centers_), model.labels_
    squares = np.stack([((rows - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
    own = squares[np.arange(len(rows)), labels]
    squares[np.arange(len(rows)), labels] = np.inf
    a, b = np.sqrt(own), np.sqrt(squares.min(axis=1))
    exact = (
        float(np.mean((b - a) / np.maximum(np.maximum(a, b), 1e-300))),
        1.0 - float(own.mean() / rows.var(axis=0).sum()),
    )
    told = model.release_.quality
    assert told is not None
    both = zip((told.silhouette, told.explained), exact, strict=True)
    return [one is not None and one.low <= value <= one.high for one, value in both]


def centres(n_runs: int) -> Iterator[str]:
    """Yield a line for each number of clusters."""
    yield "| clusters | within one error | within two | largest |\n|---|---|---|---|"
    for k in (None, 6):
        errors = np.concatenate([_errors_of_centres(get(key), k) for key in real_keys() for _ in range(n_runs)])
        within = [f"{(errors <= limit).mean():.1%}" for limit in (1.0, 2.0)]
        yield f"| {k or 'found'} | {' | '.join(within)} | {errors.max():.1f} |"


def _errors_of_centres(data_set: DataSet, k: int | None) -> NDArray[np.float64]:
    """Return how far exact means are from released centres, in stated errors, over all clusters with rows and all columns."""
    schema = data_set.bounds
    assert isinstance(schema, Schema)
    model, rows = _fitted(data_set, k), np.clip(data_set.load()[0], schema.lower, schema.upper)
    own = [model.labels_ == cluster for cluster in range(model.n_clusters_)]
    off = [
        np.abs(centre - rows[is_own].mean(axis=0)) / error
        for centre, error, is_own in zip(model.cluster_centers_, model.release_.centre_errors, own, strict=True)
        if is_own.any()
    ]
    return np.concatenate(off)


def synthetic(n_runs: int) -> Iterator[str]:
    """Yield a line for each data set."""
    yield "| data set | KMeans on synthetic rows / on true rows | worst |\n|---|---|---|"
    for key in ("synth_10d", "real-adult"):
        data_set = get(key)
        true = data_set.scaled(data_set.load()[0])
        best = _of_kmeans(true, true, data_set.n_clusters)
        ratios = []
        for _ in range(n_runs):
            columns = _fitted(data_set, None).release_.sample(len(true))
            made = data_set.scaled(np.column_stack([*columns.values()]).astype(np.float64))
            ratios.append(_of_kmeans(made, true, data_set.n_clusters) / best)
        yield f"| {key} | {np.mean(ratios):.3f} | {max(ratios):.3f} |"


def _of_kmeans(rows: NDArray[np.float64], true: NDArray[np.float64], k: int) -> float:
    return float(inertia(true, KMeans(k, n_init=_STARTS, random_state=0).fit(rows).cluster_centers_))


QUESTIONS = {"features": features, "cost": cost, "quality": quality, "centres": centres, "synthetic": synthetic}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(QUESTIONS)}; by default all")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.questions or QUESTIONS:
        for line in QUESTIONS[name](options.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
