"""Fewer cells than clusters: where the clusters start."""

import numpy as np
import pytest

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.dividing import divided_along_axes
from dpmondrian.engines import Grid
from dpmondrian.schema import Category, Column, Coordinates, Schema

GRID = Grid.with_windows(Schema(tuple(Column(name, 0.0, 1.0) for name in "abc")), 16)


def cells(places, sizes, spread=2000.0):
    places = np.array(places, dtype=np.float64)
    return Cells(places, np.full(places.shape, 10.0), np.array(sizes, dtype=np.float64), size_error=5.0, spread=spread)


ON_A_DIAGONAL = cells([[10_000, 50_000, 30_000], [20_000, 40_000, 30_100], [30_000, 30_000, 29_900]], [300, 1000, 500])


def test_the_largest_cell_is_halved_along_the_axis_on_which_cells_lie():
    places, cell = divided_along_axes(ON_A_DIAGONAL, GRID, 4)
    assert sorted(cell.tolist()) == [0, 1, 1, 2]
    halves = places[cell == 1]
    assert np.allclose(halves.mean(axis=0), ON_A_DIAGONAL.places[1])
    way = np.diff(halves, axis=0)[0]
    assert abs(way @ [1.0, -1.0, 0.0]) / np.linalg.norm(way) == pytest.approx(np.sqrt(2.0), rel=0.01)


def test_cells_that_are_not_divided_stay():
    places, cell = divided_along_axes(ON_A_DIAGONAL, GRID, 4)
    for number in (0, 2):
        assert places[cell == number].tolist() == [ON_A_DIAGONAL.places[number].tolist()]


@pytest.mark.parametrize("spread", [0.0, 2000.0, 30_000.0])
@pytest.mark.parametrize("n_parts", [2, 5, 64])
def test_one_cell_becomes_any_number_of_places_within_the_bounds(n_parts, spread):
    places, cell = divided_along_axes(cells([[100, 32_000, 65_000]], [1000], spread), GRID, n_parts)
    assert places.shape == (n_parts, 3)
    assert not cell.any()
    assert places.min() >= 0.0
    assert (places <= GRID.last_place).all()
    assert spread == 0.0 or len(np.unique(places, axis=0)) == n_parts


def test_categories_that_rows_of_a_cell_do_not_share_are_a_way_apart():
    schema = Schema((Column("a", 0.0, 1.0), Category("kind", ("x", "y"))))
    grid = Grid.with_windows(Coordinates(schema).schema, 16)
    last = float(grid.last_place[1])
    few = cells([[30_000, last, 0, 0], [30_000, 0.5 * last, 0.5 * last, 0]], [500, 1000], spread=100.0)
    places, cell = divided_along_axes(few, grid, 3)
    first, second = places[cell == 1]
    assert abs(first[1] - second[1]) > 0.3 * last
    assert (first - second)[1] == pytest.approx(-(first - second)[2], rel=0.01)
