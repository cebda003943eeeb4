"""A centre that got no rows, because noise made the cell it started from, is put to use."""

import numpy as np

from dpmondrian.dpm.algorithm import _put_to_use
from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.steps import Centres

PLACES = np.array([[10.0, 10.0], [12.0, 10.0], [90.0, 10.0], [92.0, 10.0], [11.0, 95.0], [50.0, 990.0]])
SIZES = np.array([500.0, 500.0, 400.0, 400.0, 300.0, 20.0])
CELLS = Cells(PLACES, np.ones_like(PLACES), SIZES, size_error=12.0, spread=1.0)
FAR = PLACES[5]


def put(*places, empty):
    centres = Centres(np.array(places), np.zeros((len(places), 2)))
    return _put_to_use(centres, np.array(empty), CELLS).places


def test_an_empty_centre_shares_the_cells_of_the_one_that_serves_them_worst():
    moved = put([50.0, 10.0], [11.0, 95.0], FAR, empty=[False, False, True])
    assert sorted(moved[[0, 2]].tolist()) == [[11.0, 10.0], [91.0, 10.0]]
    assert moved[1].tolist() == [11.0, 95.0]


def test_two_empty_centres_serve_different_cells():
    moved = put([40.0, 30.0], FAR, FAR + 1.0, empty=[False, True, True])
    assert {tuple(np.rint(place)) for place in moved} == {(11.0, 10.0), (91.0, 10.0), (11.0, 95.0)}


def test_centres_with_rows_stay():
    centres = Centres(PLACES[:3], np.zeros((3, 2)))
    assert _put_to_use(centres, np.zeros(3, dtype=bool), CELLS) is centres


def test_nothing_moves_if_no_centre_has_rows_or_no_cell_is_sure():
    assert put(FAR, FAR + 1.0, empty=[True, True]).tolist() == [FAR.tolist(), (FAR + 1.0).tolist()]
    doubtful = Cells(PLACES, np.ones_like(PLACES), SIZES, size_error=200.0, spread=1.0)
    centres = Centres(np.array([[50.0, 10.0], FAR]), np.zeros((2, 2)))
    assert _put_to_use(centres, np.array([False, True]), doubtful).places.tolist() == centres.places.tolist()
