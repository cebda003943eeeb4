"""The membership game: whoever sees one release is to tell which of two neighbouring tables it came from.

A black box, run many times on both tables. A distinguisher is trained on one half of the releases; what it achieves on the
other half gives a lower bound on epsilon that holds with the stated confidence, whatever the black box is. A bound above the
claimed epsilon refutes the claim. A bound below it proves nothing: the distinguisher may be too weak.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmondrian.common.checks import check_integer
from dpmondrian.exceptions import NotReleasableWarning, ParameterError

__all__ = [
    "GameResult",
    "ReleaseFeatures",
    "Run",
    "added_row",
    "epsilon_lower_bound",
    "fit_with_seed",
    "membership_game",
    "rate_bounds",
]

Run: TypeAlias = Callable[[Any, int], Any]
"""From a table and a seed to what is released."""

_LEAST_RUNS = 40
_MOST_THRESHOLDS = 200
_CONFIDENCE_OF_CHOICE = 0.95
"""Sets of releases are compared by bounds of this confidence, so that lucky small ones do not win."""


@dataclass(frozen=True)
class GameResult:
    """What a distinguisher achieved on releases that it was not trained on.

    Attributes
    ----------
    epsilon_lower : float
        Epsilon is at least this, with the stated confidence. 0 if nothing was found.
    delta, confidence : float
    distinguisher : str
        What it decides by, such as "total size" or "logistic regression".
    true_positives, false_positives : float
        Part of the releases of the neighbour, and of the table, that it takes for the neighbour's.
    n_runs, n_tested : int
        Releases of each table in all, and of those that the bound comes from.
    """

    epsilon_lower: float
    delta: float
    confidence: float
    distinguisher: str
    true_positives: float
    false_positives: float
    n_runs: int
    n_tested: int

    def refutes(self, epsilon: float) -> bool:
        """Return whether the claim of this epsilon is wrong, with the stated confidence."""
        return self.epsilon_lower > epsilon

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon_lower:.3g} at delta = {self.delta:g} with {100 * self.confidence:g} % confidence: by "
            f"{self.distinguisher}, {100 * self.true_positives:.3g} % of the neighbour's releases are recognised and "
            f"{100 * self.false_positives:.3g} % of the others mistaken for them ({self.n_tested} of each)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return asdict(self)


Score: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From features, shape (n_releases, n_features), to one number per release."""


@dataclass(frozen=True)
class _Event:
    """A set of releases, ``sign * score >= threshold``, that the neighbour's are expected in."""

    name: str
    score: Score
    sign: float
    threshold: float

    def hits(self, features: NDArray[np.float64]) -> int:
        """Return how many of the releases are in the set."""
        return int((self.sign * self.score(features) >= self.threshold).sum())


def membership_game(
    run: Run,
    table: Any,
    neighbour: Any,
    *,
    n_runs: int,
    features: Callable[[Any], Sequence[float]],
    seed: int = 0,
    delta: float = 0.0,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
    progress: Callable[[], None] | None = None,
) -> GameResult:
    """Return a lower bound on the epsilon of a black box, from its releases of two neighbouring tables.

    Parameters
    ----------
    run : callable
        From a table and a seed to a release; each seed gives independent noise. `fit_with_seed` makes one of an estimator.
    table, neighbour : Any
        Two neighbouring tables: invented rows.
    n_runs : int
        Releases of each table. Half of them train the distinguisher, half give the bound.
    features : callable
        From a release to numbers, always as many: `ReleaseFeatures`, or your own.
    seed : int
        The runs have seeds of their own that follow from it.
    delta : float
        The delta of the claim.
    confidence : float
        Probability with which the bound holds.
    feature_names : sequence of str, optional
        For words in the result; `ReleaseFeatures` has its own.
    progress : callable, optional
        Called after every run.

    Notes
    -----
    For a set E of releases, an (epsilon, delta)-private algorithm has ``P'(E) <= exp(epsilon) P(E) + delta``, and the same for
    the complement of E with the tables exchanged. E is chosen on the first half of the releases. On the second half both
    probabilities are bounded as Clopper and Pearson (1934) do, each with half of the error probability; both inequalities
    need the same two bounds.

    Examples
    --------
    A count with Laplace noise of scale 1/2 has epsilon = 2:

    >>> import numpy as np
    >>> noisy = lambda rows, seed: len(rows) + np.random.default_rng(seed).laplace(scale=0.5)
    >>> result = membership_game(noisy, [1], [1, 2], n_runs=2000, features=lambda released: [released])
    >>> 1.5 < result.epsilon_lower < 2.0
    True
    """
    n_runs = check_integer("n_runs", n_runs, _LEAST_RUNS, 10**7, "A thousand give a useful bound.")
    check_probabilities(delta, confidence)
    seeds = np.random.SeedSequence(seed).generate_state(2 * n_runs, np.uint64) >> np.uint64(1)
    seen = [
        _play(run, rows, own_seeds, features, progress)
        for rows, own_seeds in ((table, seeds[:n_runs]), (neighbour, seeds[n_runs:]))
    ]
    names = feature_names or getattr(features, "names", None) or [f"feature {j}" for j in range(seen[0].shape[1])]
    half, quarter = n_runs // 2, n_runs // 4
    event = _best_event([part[:quarter] for part in seen], [part[quarter:half] for part in seen], names, delta)
    n_false, n_true = (event.hits(part[half:]) for part in seen)
    n_tested = n_runs - half
    epsilon = epsilon_lower_bound(n_true, n_tested, n_false, n_tested, delta, confidence)
    return GameResult(epsilon, delta, confidence, event.name, n_true / n_tested, n_false / n_tested, n_runs, n_tested)


def check_probabilities(delta: float, confidence: float) -> None:
    for name, value, low in (("delta", delta, "[0"), ("confidence", confidence, "(0")):
        if not (0.0 <= value < 1.0 and (value > 0.0 or low == "[0")):
            raise ParameterError(
                parameter=name,
                rule=f"must be a number in {low}, 1)",
                value=value,
                way_out="Use 0.95 for confidence, and for delta the one that is claimed.",
            )


def fit_with_seed(make_estimator: Callable[[int], Any]) -> Run:
    """Return the run that fits a new estimator, made from a seed, to a table.

    Examples
    --------
    >>> from dpmondrian import DPM
    >>> run = fit_with_seed(lambda seed: DPM(epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=seed))
    >>> run(np.full((100, 2), 20.0), 0).n_clusters_
    1
    """

    def run(table: Any, seed: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotReleasableWarning)  # an audit publishes nothing
            return make_estimator(seed).fit(table)

    return run


def _play(
    run: Run,
    table: Any,
    seeds: NDArray[np.uint64],
    features: Callable[[Any], Sequence[float]],
    progress: Callable[[], None] | None,
) -> NDArray[np.float64]:
    """Return the features of many releases of a table, shape (n_runs, n_features)."""
    seen = []
    for seed in seeds.tolist():
        seen.append(np.asarray(features(run(table, seed)), dtype=np.float64))
        if progress is not None:
            progress()
    return np.nan_to_num(np.array(seen), nan=-1.0, posinf=1e300, neginf=-1e300)


def _best_event(
    fitting: list[NDArray[np.float64]], choosing: list[NDArray[np.float64]], names: Sequence[str], delta: float
) -> _Event:
    """Return the set of releases that promises the largest bound; scores are fitted and chosen on different releases."""
    best, most = None, -math.inf
    for name, score in _scores(fitting, names):
        values = [score(part) for part in choosing]
        for sign in (1.0, -1.0):
            threshold, promise = _best_threshold(np.sort(sign * values[0]), np.sort(sign * values[1]), delta)
            if best is None or promise > most:
                best, most = _Event(name, score, sign, threshold), promise
    assert best is not None
    return best


def _best_threshold(negative: NDArray[np.float64], positive: NDArray[np.float64], delta: float) -> tuple[float, float]:
    """Return the threshold of sorted scores that promises the largest bound, and that bound."""
    candidates = np.unique(np.concatenate([negative, positive]))
    if len(candidates) > _MOST_THRESHOLDS:
        candidates = candidates[np.linspace(0, len(candidates) - 1, _MOST_THRESHOLDS).astype(int)]
    n_false, n_true = (len(part) - np.searchsorted(part, candidates, side="left") for part in (negative, positive))
    promises = _bounds(n_true, len(positive), n_false, len(negative), delta, _CONFIDENCE_OF_CHOICE)
    best = int(np.argmax(promises))
    return float(candidates[best]), float(promises[best])


def _scores(fitting: list[NDArray[np.float64]], names: Sequence[str]) -> Iterator[tuple[str, Score]]:
    """Return what a distinguisher may decide by: each feature alone, and two classifiers of all of them."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    features = np.concatenate(fitting)
    changing = np.flatnonzero(np.ptp(features, axis=0) > 0.0)
    for j in changing.tolist() or [0]:
        yield names[j], partial(_feature, j)
    if len(changing) < 2:
        return
    truth = np.repeat([0, 1], [len(part) for part in fitting])
    ranks = QuantileTransformer(n_quantiles=min(100, len(features)), output_distribution="normal", random_state=0)
    models = {
        "logistic regression": make_pipeline(ranks, LogisticRegression(C=0.1, max_iter=1000)),
        "gradient boosting": GradientBoostingClassifier(n_estimators=40, max_depth=2, subsample=0.8, random_state=0),
    }
    for name, model in models.items():
        model.fit(features[:, changing], truth)
        yield name, partial(_prediction, model, changing)


def _feature(number: int, features: NDArray[np.float64]) -> NDArray[np.float64]:
    return features[:, number]


def _prediction(model: Any, columns: NDArray[np.int64], features: NDArray[np.float64]) -> NDArray[np.float64]:
    predicted: NDArray[np.float64] = model.predict_proba(features[:, columns])[:, 1]
    return predicted


def rate_bounds(n_hits: ArrayLike, n_trials: int, error: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper bounds of probabilities, each wrong with at most this probability (Clopper, Pearson).

    Examples
    --------
    >>> low, high = rate_bounds(0, 100, 0.05)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0295)
    """
    from scipy.special import betaincinv

    hits = np.asarray(n_hits, dtype=np.float64)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), n_trials - hits + 1, error), 0.0)
    high = np.where(hits < n_trials, betaincinv(hits + 1, np.maximum(n_trials - hits, 1), 1.0 - error), 1.0)
    return low, high


def epsilon_lower_bound(
    n_true: int, n_positive: int, n_false: int, n_negative: int, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the epsilon that true and false positives of one fixed test prove, with this confidence; 0 if none.

    Parameters
    ----------
    n_true, n_positive : int
        Releases of the neighbour that the test recognises, and all of them.
    n_false, n_negative : int
        Releases of the table that the test takes for the neighbour's, and all of them.
    delta, confidence : float

    Examples
    --------
    >>> round(epsilon_lower_bound(100, 100, 0, 100), 2)
    3.28
    """
    check_probabilities(delta, confidence)
    return max(0.0, float(_bounds(n_true, n_positive, n_false, n_negative, delta, confidence)))


def _bounds(
    n_true: ArrayLike, n_positive: int, n_false: ArrayLike, n_negative: int, delta: float, confidence: float
) -> NDArray[np.float64]:
    """Return the epsilons that tests prove, below 0 where they prove nothing."""
    error = 0.5 * (1.0 - confidence)
    least_true, _ = rate_bounds(n_true, n_positive, error)
    _, most_false = rate_bounds(n_false, n_negative, error)
    with np.errstate(divide="ignore"):
        by_true = np.log(np.maximum(least_true - delta, 0.0)) - np.log(most_false)
        by_false = np.log(np.maximum(1.0 - most_false - delta, 0.0)) - np.log(1.0 - least_true)
    bounds: NDArray[np.float64] = np.maximum(by_true, by_false)
    return bounds


def added_row(table: ArrayLike, neighbour: ArrayLike) -> NDArray[np.float64]:
    """Return the row that one of two arrays has more than the other, wherever it is."""
    one, other = np.asarray(table, dtype=np.float64), np.asarray(neighbour, dtype=np.float64)
    short, long = (one, other) if len(one) < len(other) else (other, one)
    if len(long) != len(short) + 1:
        raise ParameterError(parameter="neighbour", rule="must have one row more or less than the table")
    same = (short == long[: len(short)]).all(axis=1)
    return np.array(long[len(short) if same.all() else int(np.argmin(same))])


class ReleaseFeatures:
    """Numbers that may tell two neighbouring tables apart: sizes, centres, cuts, what is near the row that differs.

    For estimators with `cluster_centers_` and, where they release sizes and a tree, `cluster_sizes_` and `tree_`.

    Parameters
    ----------
    row : array of shape (n_columns,)
        The row that differs; whoever plays the game knows it.
    n_largest : int
        Clusters whose sizes and centres are looked at one by one.
    """

    def __init__(self, row: ArrayLike, n_largest: int = 3) -> None:
        self.row = np.asarray(row, dtype=np.float64)
        self.n_largest = n_largest
        columns = range(len(self.row))
        ranks = range(n_largest)
        self.names = (
            "number of clusters",
            "total size",
            *(f"size of cluster {k}" for k in ranks),
            "size of the nearest cluster",
            "distance of the nearest centre",
            *(f"column {j} of the nearest centre" for j in columns),
            *(f"column {j} of centre {k}" for k in ranks for j in columns),
            *(f"column {j} of the mean" for j in columns),
            "centres that are repeated",
            "nodes of the tree",
            "size of the root",
            "column of the first cut",
            "place of the first cut",
            "size of the leaf",
        )

    def __call__(self, model: Any) -> list[float]:
        """Return the features of a fitted estimator, as many as there are names."""
        centres = np.asarray(model.cluster_centers_, dtype=np.float64)
        sizes = np.asarray(getattr(model, "cluster_sizes_", np.ones(len(centres))), dtype=np.float64)
        order = np.argsort(-sizes, kind="stable")[: self.n_largest]
        missing = self.n_largest - len(order)
        with np.errstate(over="ignore"):
            distances = np.sqrt(((centres - self.row) ** 2).sum(axis=1))
        nearest = int(np.argmin(distances))
        weights = np.maximum(sizes, 1e-9)
        return [
            float(len(centres)),
            float(sizes.sum()),
            *sizes[order].tolist(),
            *[-1.0] * missing,
            float(sizes[nearest]),
            float(distances[nearest]),
            *centres[nearest].tolist(),
            *centres[order].ravel().tolist(),
            *[-1.0] * (missing * len(self.row)),
            *(weights @ centres / weights.sum()).tolist(),
            float(len(centres) - len(np.unique(centres, axis=0))),
            *_of_tree(getattr(model, "tree_", None), self.row),
        ]


def _of_tree(tree: Any, row: NDArray[np.float64]) -> list[float]:
    """Return what the tree says: its size, its first cut, and the size of the leaf that the row falls into."""
    if tree is None:
        return [-1.0] * 5
    node = 0
    while tree.column[node] >= 0 and tree.column[node] < len(row):
        below = row[tree.column[node]] <= tree.threshold[node]
        node = int(tree.left[node] if below else tree.right[node])
    return [
        float(len(tree.size)),
        float(tree.size[0]),
        float(tree.column[0]),
        float(np.nan_to_num(tree.threshold[0], nan=-1.0)),
        float(tree.size[node]),
    ]
