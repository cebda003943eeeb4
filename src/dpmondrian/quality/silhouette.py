"""The silhouette of a clustering, on all rows or on a seeded subsample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK_CELLS = 1 << 20  # distances that are held at a time: 8 MiB


def silhouette(
    rows: NDArray[np.float64], label: NDArray[np.int64], sample_size: int | None = 10_000, seed: int = 0
) -> float:
    """Return the mean silhouette coefficient, in [-1, 1], of the rows or of a random subsample, with Euclidean distances. Sensitive.

    By the paper's rule the value is -1 if the rows, or those drawn, share one cluster. A row that is alone in its cluster counts 0.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    label : array of shape (n_rows,)
        The cluster of every row.
    sample_size : int or None, default=10_000
        Rows of the subsample; None takes all rows, in n^2 time.
    seed : int, default=0
        Chooses the same subsample as scikit-learn's ``silhouette_score(..., random_state=seed)``.

    Returns
    -------
    silhouette : float

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian.quality import silhouette
    >>> silhouette(np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1]))
    0.89974937...
    """
    if sample_size is not None:
        chosen = np.random.RandomState(seed).permutation(len(rows))[:sample_size]
        rows, label = rows[chosen], label[chosen]
    order = np.argsort(label, kind="stable")
    sizes = np.unique_counts(label).counts
    if len(sizes) < 2:
        return -1.0
    # The mean is taken off because distances come from inner products, which lose digits far from the origin.
    centred = np.asarray(rows[order], dtype=np.float64)
    return float(_coefficients(centred - centred.mean(axis=0), sizes).mean())


def _coefficients(rows: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the silhouette coefficient of every row; rows of a cluster stand together, clusters in the order of sizes."""
    own = np.repeat(np.arange(len(sizes)), sizes)
    squares = np.einsum("ij,ij->i", rows, rows)
    result = np.empty(len(rows))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    step = max(1, _BLOCK_CELLS // len(rows))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        distances = _distances(rows, squares, block)
        result[block] = _of_block(np.add.reduceat(distances, starts, axis=1), own[block], sizes)
    return result


def _distances(rows: NDArray[np.float64], squares: NDArray[np.float64], block: slice) -> NDArray[np.float64]:
    """Return the distances of the rows of the block to all rows; `squares` are the squared lengths of all rows."""
    result = (-2.0 * rows[block]) @ rows.T
    result += squares
    result += squares[block, None]
    np.maximum(result, 0.0, out=result)
    np.sqrt(result, out=result)
    within = np.arange(len(result))
    result[within, block.start + within] = 0.0
    return result


def _of_block(sums: NDArray[np.float64], own: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (b - a) / max(a, b): a the mean distance within the own cluster, b that to the nearest other one."""
    within = np.arange(len(own))
    a = sums[within, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[within, own] = np.inf
    b = means.min(axis=1)
    largest = np.maximum(a, b)
    alone_or_same = (sizes[own] == 1) | (largest == 0.0)
    return np.where(alone_or_same, 0.0, (b - a) / np.where(largest == 0.0, 1.0, largest))
