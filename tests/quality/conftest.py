"""Rows, and rows with the numbers of their clusters."""

import numpy as np
import pytest


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(9000, 4))


@pytest.fixture
def clustered():
    """Rows of five clusters of different sizes, one of a single row, far from the origin."""
    generator = np.random.default_rng(1)
    label = generator.permutation(np.repeat(np.arange(5), [1, 40, 200, 700, 559]))
    return generator.normal(size=(1500, 7)) + 2.0 * label[:, None] + 50.0, label
