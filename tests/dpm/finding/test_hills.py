"""How deep a pass between two hills of a grid must be: deeper, the more places there are for a low one by chance."""

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.dpm.finding import windows_of_hills
from dpmondrian.dpm.finding.hills import _BOXES, _along_a_line, _weights, _windows
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


@pytest.mark.parametrize("width", _BOXES)
def test_windows_see_slanted_curves_as_they_see_others(width):
    """A square window sees 1.41 times as much of a diagonal as of a line along its side."""
    along, slanted = np.zeros((41, 41)), np.sqrt(2.0) * np.eye(41)  # so much of the diagonal lies in a bin
    along[20] = 1.0
    seen = [_windows(rows, _weights(width, 2))[20, 20] for rows in (along, slanted)]
    assert max(seen) < 1.2 * min(seen)


@pytest.mark.parametrize("width", _BOXES)
def test_counts_in_windows_vary_like_their_number(width):
    weights = _weights(width, 2)
    assert (weights**2).sum() == pytest.approx(weights.sum())


def binned(rows, n_bins=128):
    return np.histogram2d(*rows.T, bins=n_bins, range=[[-1, 1], [-1, 1]])[0]


def test_bands_are_lines_to_windows_that_are_wide_enough():
    generator = np.random.default_rng(0)
    turn = 2 * np.pi * generator.random(20_000)
    ring = 0.8 * np.c_[np.cos(turn), np.sin(turn)]
    blobs = generator.choice([-0.6, -0.2, 0.2, 0.6], (20_000, 2)) + generator.normal(0, 0.05, (20_000, 2))
    planes = (generator.uniform(-1, 1, (20_000, 2)), generator.normal(0, 0.2, (20_000, 2)), blobs)
    rings = (ring + generator.normal(0, sd, ring.shape) for sd in (0.0, 0.02, 0.05))
    nothing = np.zeros((128, 128))
    line, narrow, wide = (_along_a_line(binned(rows), nothing, 4) for rows in rings)
    most_of_planes = max(_along_a_line(binned(rows), nothing, width) for rows in planes for width in (2, 4, 8))
    assert 1.0 > line > narrow > wide > 5.0 * most_of_planes


@pytest.mark.slow
def test_rings_are_seldom_divided():
    """Of 20 rings, 16 to 20 were divided while windows were squares; now 2 to 6 are."""
    divided = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        turn = 2 * np.pi * generator.random(4_000)
        ring = np.c_[np.cos(turn), np.sin(turn)] + generator.normal(0, 0.02, (4_000, 2))
        divided += DPM(epsilon=4.0, bounds=(-1.2, 1.2), delta=1e-6, random_state=seed).fit(ring).n_clusters_ > 1
    assert divided < 12
