"""Made data sets whose clusters are known, to judge whether the right ones are found; the same seed gives the same rows.

Some are easy (separated clusters), some must not be cut at all (one cluster), and some have no cut that is right
(clusters that overlap in every column), so that it shows where finding ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from dpmondrian_lab.exceptions import DatasetError

__all__ = [
    "Shape",
    "broad",
    "diagonal",
    "one_exponential",
    "one_flat",
    "one_gaussian",
    "one_student",
    "one_uniform",
    "separated",
    "touching",
    "two_moons",
    "unequal_sizes",
    "unequal_spreads",
    "whole_numbers",
]

N_ROWS = 50_000
"""How many rows a shape has, unless it is told otherwise."""

_BOUNDS = (0.0, 100.0)
_MOST_DRAWS = 10_000


@dataclass(frozen=True, eq=False)
class Shape:
    """A made data set and its truth.

    Attributes
    ----------
    rows : array (n, d)
        float64, or int64 if the columns hold whole numbers.
    truth : array (n,)
        The cluster that each row was drawn from.
    bounds : tuple of two floats
        Of every column, known without looking at a row. A few rows may lie outside.
    n_clusters : int
        Clusters that rows were drawn from; a small one may have got none.
    """

    rows: NDArray[np.float64] | NDArray[np.int64]
    truth: NDArray[np.int64]
    bounds: tuple[float, float]
    n_clusters: int


def one_gaussian(n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return one round Gaussian of standard deviation 10: there is nothing to cut."""
    return _one(np.random.default_rng(seed).normal(50.0, 10.0, (n_rows, n_columns)))


def one_uniform(n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return rows that fill [10, 90] evenly: no place is sparser than another, except by chance."""
    return _one(np.random.default_rng(seed).uniform(10.0, 90.0, (n_rows, n_columns)))


def one_student(n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return one cluster with heavy tails, t with 5 degrees of freedom: its outskirts are sparse, but no gap."""
    return _one(50.0 + 5.0 * np.random.default_rng(seed).standard_t(5, (n_rows, n_columns)))


def one_exponential(n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return one cluster that begins at 5 in every column, where it is densest, and thins out: skewed, but without a gap."""
    return _one(5.0 + np.random.default_rng(seed).exponential(10.0, (n_rows, n_columns)))


def one_flat(n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return whole numbers from 0 to 4, all equally frequent: between two values there is nothing, but that is no gap."""
    rows = np.random.default_rng(seed).integers(0, 5, (n_rows, n_columns))
    return Shape(rows, np.zeros(n_rows, dtype=np.int64), (0.0, 4.0), 1)


def separated(n_clusters: int, n_columns: int, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return Gaussians of standard deviation 0.5 with centres in [5, 95], at least 10 deviations apart.

    They are as narrow for their bounds as those of the paper's Synth sets. The distance keeps the truth beyond doubt:
    without it two of many centres can fall together.
    """
    generator = np.random.default_rng(seed)
    deviations = np.full(n_clusters, 0.5)
    centres = _apart(generator, (5.0, 95.0), n_columns, 5.0 * (deviations[:, None] + deviations))
    return _gaussians(generator, centres, deviations, n_rows)


def unequal_sizes(n_columns: int = 5, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return 9 separated Gaussians, of which the largest has half of the rows and the smallest one in a hundred."""
    generator = np.random.default_rng(seed)
    shares = np.array([0.5, 0.2, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01])
    deviations = np.full(len(shares), 3.0)
    centres = _apart(generator, (10.0, 90.0), n_columns, 4.0 * (deviations[:, None] + deviations))
    return _gaussians(generator, centres, deviations, n_rows, shares)


def unequal_spreads(n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return 8 separated Gaussians, of which the widest is six times as wide as the narrowest."""
    generator = np.random.default_rng(seed)
    deviations = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    centres = _apart(generator, (15.0, 85.0), 5, 4.0 * (deviations[:, None] + deviations))
    return _gaussians(generator, centres, deviations, n_rows)


def whole_numbers(n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return counts such as visits to four places in a year, from 6 kinds of people.

    Rounded Gaussians of standard deviation 2, so that a cluster takes a dozen values in each column; counts are
    never negative, and at most 60.
    """
    generator = np.random.default_rng(seed)
    deviations = np.full(6, 2.0)
    centres = _apart(generator, (6.0, 54.0), 4, 5.0 * (deviations[:, None] + deviations))
    reals = _gaussians(generator, centres, deviations, n_rows)
    bounds = (0.0, 60.0)
    return Shape(np.clip(np.rint(reals.rows), *bounds).astype(np.int64), reals.truth, bounds, reals.n_clusters)


def two_moons(n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return two crescents, each around an end of the other: no clustering by centres can follow them."""
    rows, truth = make_moons(n_rows, noise=0.06, random_state=seed)
    return Shape(rows, truth.astype(np.int64), (-1.5, 2.5), 2)


def touching(gap: float = 4.0, n_columns: int = 2, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return two Gaussians whose centres lie `gap` standard deviations apart, in one column."""
    return _pair(gap, np.eye(n_columns)[0], n_rows, seed)


def diagonal(gap: float = 6.0, n_columns: int = 8, n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return two Gaussians whose centres lie `gap` standard deviations apart on the diagonal: no column shows the gap."""
    return _pair(gap, np.full(n_columns, n_columns**-0.5), n_rows, seed)


def broad(n_rows: int = N_ROWS, seed: int = 0) -> Shape:
    """Return 20 Gaussians in 10 columns so wide that they overlap in every single column, but not in all together."""
    generator = np.random.default_rng(seed)
    centres = generator.uniform(15.0, 85.0, (20, 10))
    return _gaussians(generator, centres, np.full(20, 8.0), n_rows)


def _one(rows: NDArray[np.float64]) -> Shape:
    return Shape(rows, np.zeros(len(rows), dtype=np.int64), _BOUNDS, 1)


def _pair(gap: float, direction: NDArray[np.float64], n_rows: int, seed: int) -> Shape:
    """Return two Gaussians of standard deviation 6, `gap` of these apart along a direction of length 1."""
    centres = 50.0 + np.outer([-0.5, 0.5], gap * 6.0 * direction)
    return _gaussians(np.random.default_rng(seed), centres, np.full(2, 6.0), n_rows)


def _gaussians(
    generator: np.random.Generator,
    centres: NDArray[np.float64],
    deviations: NDArray[np.float64],
    n_rows: int,
    shares: NDArray[np.float64] | None = None,
) -> Shape:
    """Return round Gaussians; the cluster of every row is drawn with these shares, by default equal ones."""
    truth = generator.choice(len(centres), n_rows, p=shares)
    rows = centres[truth] + deviations[truth, None] * generator.normal(size=(n_rows, centres.shape[1]))
    return Shape(rows, truth, _BOUNDS, len(centres))


def _apart(
    generator: np.random.Generator, box: tuple[float, float], n_columns: int, gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return centres from the box, centre i no nearer to centre j than gaps[i, j].

    They are drawn one after the other, and a centre is drawn again while it is too near to an earlier one.
    """
    centres = np.empty((len(gaps), n_columns))
    for c in range(len(gaps)):
        for _ in range(_MOST_DRAWS):
            centres[c] = generator.uniform(*box, n_columns)
            if np.all(np.linalg.norm(centres[:c] - centres[c], axis=1) >= gaps[c, :c]):
                break
        else:
            raise DatasetError(f"There is no room for {len(gaps)} clusters this far apart in {n_columns} columns.")
    return centres
