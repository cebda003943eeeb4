"""What is taken as noise in a step of centres, and what is not."""

import numpy as np

from dpmondrian import DPM
from dpmondrian.dpm.steps import _without_noise
from dpmondrian.quality import adjusted_rand

N_GROUPS, N_COLUMNS = 20, 30
ROWS, ERRORS = np.full((N_GROUPS, 1), 100.0), np.full((N_GROUPS, N_COLUMNS), 5.0)


def noise():
    return 5.0 * np.random.default_rng(0).normal(size=(N_GROUPS, N_COLUMNS))


def test_groups_that_do_not_differ_move_together():
    moved = _without_noise(40.0 + noise(), ERRORS, ROWS)
    assert np.sqrt(((moved - 40.0) ** 2).mean()) < 0.5 * 5.0


def test_where_groups_differ_in_one_column_they_differ_in_this_one():
    shift = np.zeros((N_GROUPS, N_COLUMNS))
    shift[:, 3] = np.linspace(-50.0, 50.0, N_GROUPS)
    moved = _without_noise(shift + noise(), ERRORS, ROWS)
    assert np.corrcoef(moved[:, 3], shift[:, 3])[0, 1] > 0.95
    assert np.ptp(moved[:, 3]) > 80.0
    assert np.sqrt((np.delete(moved, 3, axis=1) ** 2).mean()) < 0.7 * 5.0


def test_a_shift_that_is_clearly_more_than_noise_is_kept():
    shift = np.zeros((N_GROUPS, N_COLUMNS))
    shift[7] = 60.0
    moved = _without_noise(shift + noise(), ERRORS, ROWS)
    assert np.abs(moved[7] - 60.0).max() < 16.0


def test_two_clusters_in_many_columns_with_wide_bounds():
    """Noise of a centre in 32 columns is longer than its way from the middle of the bounds: cells must not be lost there."""
    generator = np.random.default_rng(1)
    cluster = np.arange(2000) % 2
    rows = generator.normal(size=(2000, 32)) + 5.0 / np.sqrt(32.0) * cluster[:, None]
    for seed in range(3):
        labels = DPM(n_clusters=2, bounds=(-15.0, 25.0), random_state=seed).fit(rows).labels_
        assert adjusted_rand(cluster, labels) > 0.8


def test_wide_bounds_leave_enough_cells():
    """Cuts between public positions are too far apart for rows that fill a fiftieth of every column; cells are found nevertheless."""
    generator = np.random.default_rng(2)
    middles = 2.0 * generator.normal(size=(5, 20))
    cluster = generator.integers(0, 5, 20_000)
    rows = generator.normal(size=(20_000, 20)) + middles[cluster]
    model = DPM(bounds=(-200.0, 400.0), random_state=0).fit(rows)
    assert len(model.release_.cells.sizes) > 10
    assert adjusted_rand(cluster, model.labels_) > 0.9
