"""Ward's hierarchy of cells, against SciPy's, and with weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage
from scipy.cluster.hierarchy import ward as scipy_ward

from dpmondrian.release.every_k import ward


def hierarchy(n_cells: int, n_columns: int = 3, weighted: bool = True):
    rng = np.random.default_rng(n_cells)
    places, sizes = rng.normal(size=(n_cells, n_columns)), rng.uniform(1, 50, n_cells) if weighted else np.ones(n_cells)
    return places, ward(places, sizes, np.zeros(n_cells, dtype=np.int64))


@pytest.mark.parametrize("n_cells", [2, 3, 10, 200])
def test_equal_cells_are_joined_as_by_scipy(n_cells):
    places, found = hierarchy(n_cells, weighted=False)
    expected = scipy_ward(places)
    np.testing.assert_allclose(found.linkage[:, 3], expected[:, 3])
    np.testing.assert_array_equal(np.sort(found.linkage[:, :2], axis=1), np.sort(expected[:, :2], axis=1))
    np.testing.assert_allclose(found.height / found.height[-1], expected[:, 2] / expected[-1, 2])


@pytest.mark.parametrize("n_cells", [1, 2, 5, 60])
def test_joins_are_a_hierarchy_and_divide_the_variance(n_cells):
    _, found = hierarchy(n_cells)
    assert len(found.first) == n_cells - 1
    if n_cells > 1:
        assert is_valid_linkage(found.linkage)
        assert is_monotonic(found.linkage)
        assert (found.height**2).sum() == pytest.approx(1.0)


def test_a_heavy_cell_counts_like_many_light_ones():
    places = np.array([[0.0], [1.0], [10.0], [11.0]])
    whole = ward(np.repeat(places, [1, 3, 1, 1], axis=0), np.ones(6), np.zeros(6, dtype=np.int64))
    weighted = ward(places, np.array([1.0, 3.0, 1.0, 1.0]), np.zeros(4, dtype=np.int64))
    np.testing.assert_allclose(weighted.height, whole.height[2:])
    assert fcluster(weighted.linkage, 2, "maxclust").tolist() in ([1, 1, 2, 2], [2, 2, 1, 1])


def test_cells_in_one_place_are_joined_first():
    found = ward(np.zeros((4, 2)), np.ones(4), np.zeros(4, dtype=np.int64))
    assert found.height.tolist() == [0.0, 0.0, 0.0]
    assert is_valid_linkage(found.linkage)
