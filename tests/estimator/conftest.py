"""Rows that several tests cluster."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def middles() -> np.ndarray:
    """Return the middles of the three groups of `blobs`."""
    return np.array([[-60.0, -40.0], [0.0, 30.0], [60.0, -20.0]])


@pytest.fixture(scope="session")
def blobs(middles: np.ndarray) -> np.ndarray:
    """Return 900 rows in three well separated groups of 400, 300 and 200, within [-100, 100]; not writable."""
    rng = np.random.default_rng(7)
    rows = np.vstack([rng.normal(middle, 3.0, (n, 2)) for middle, n in zip(middles, (400, 300, 200), strict=True)])
    rng.shuffle(rows)
    rows.setflags(write=False)
    return rows


@pytest.fixture(scope="session")
def few_rows(blobs: np.ndarray) -> np.ndarray:
    """Return the first 60 of them."""
    return blobs[:60]


@pytest.fixture(scope="session")
def leaf_of():
    """Return a function from a tree and rows to the leaf of every row by the released thresholds."""

    def leaf_of(tree, rows: np.ndarray) -> np.ndarray:
        node = np.zeros(len(rows), dtype=np.int64)
        for _ in range(len(tree.column)):
            inner = np.flatnonzero(tree.column[node] >= 0)
            parent = node[inner]
            below = rows[inner, tree.column[parent]] <= tree.threshold[parent]
            node[inner] = np.where(below, tree.left[parent], tree.right[parent])
        return node

    return leaf_of
