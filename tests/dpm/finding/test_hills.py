"""How deep a pass between two hills of a grid must be: deeper, the more places there are for a low one by chance."""

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.dpm.finding import windows_of_hills
from dpmondrian.planning import make_design
from dpmondrian.schema import Schema

pytestmark = pytest.mark.filterwarnings("ignore")


def least_z(n_rows, n_columns):
    schema = Schema.from_bounds((0, 1), list("abc")[:n_columns], [False] * n_columns)
    design = make_design(n_rows, schema)
    return windows_of_hills(design.door, design.grid, n_rows, design.finding_cost)[1]


def test_larger_tables_ask_for_deeper_passes():
    for n_columns in (2, 3):
        depths = [least_z(n_rows, n_columns) for n_rows in (100, 10_000, 1_000_000)]
        assert depths == sorted(depths)
        assert depths[0] < depths[-1]


def test_ways_around_low_places_are_rarer_in_fewer_columns():
    assert least_z(10_000, 1) > least_z(10_000, 2) > least_z(10_000, 3)


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [2, 3])
@pytest.mark.parametrize("n_rows", [500, 4_000])
def test_chance_divides_few_flat_tables_of_any_size(n_rows, n_columns):
    """About 1 % at most are meant to be divided; 4 of 60 would be so in 3 of 1,000 cases."""
    divided = sum(
        DPM(bounds=(0.0, 1.0), delta=1e-6, random_state=seed)
        .fit(np.random.default_rng(seed).random((n_rows, n_columns)))
        .n_clusters_
        > 1
        for seed in range(60)
    )
    assert divided <= 3
