"""Directions that cells propose: where they can expect a valley, and where none."""

import numpy as np
import pytest

from dpmondrian.dpm.finding.proposals import Candidates, PartCells, candidates_of, is_one_hump, propose

SPREAD = 10.0


def cells_around(places, generator):
    places = np.asarray(places, dtype=np.float64)
    sizes = generator.uniform(50.0, 5000.0, size=len(places))
    return PartCells(places, np.full_like(places, 0.1), sizes)


def proposals(cells, candidates):
    columns = np.zeros(cells.places.shape[1])
    return propose(
        cells,
        SPREAD,
        Candidates.along(candidates, cells, SPREAD),
        columns,
        1.0,
        [],
        [],
        4,
        is_root=False,
        every_column=False,
    )


@pytest.mark.parametrize("n_columns", [2, 5, 30])
@pytest.mark.parametrize("seed", range(5))
def test_cells_of_one_hump_expect_no_valley_in_any_direction(n_columns, seed):
    """So looking for directions would be in vain: the shortcut changes nothing."""
    generator = np.random.default_rng(seed)
    away = generator.normal(size=(40, n_columns))
    cells = cells_around(100.0 + SPREAD * away / np.sqrt((away**2).sum(axis=1, keepdims=True)), generator)
    assert is_one_hump(cells, SPREAD)
    random = generator.normal(size=(50, n_columns))
    candidates = np.vstack([candidates_of(cells, SPREAD), random / np.sqrt((random**2).sum(axis=1, keepdims=True))])
    assert proposals(cells, candidates) == []


def test_cells_farther_apart_may_expect_one():
    generator = np.random.default_rng(0)
    cells = cells_around([[0.0, 0.0], [6.0 * SPREAD, 0.0]], generator)
    assert not is_one_hump(cells, SPREAD)
    assert proposals(cells, candidates_of(cells, SPREAD))


def test_a_box_shorter_than_two_spreads_may_still_be_too_long_across():
    corners = 1.9 * SPREAD * np.array(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])).reshape(3, -1).T
    assert not is_one_hump(cells_around(corners, np.random.default_rng(0)), SPREAD)
