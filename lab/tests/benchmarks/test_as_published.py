"""The step-by-step comparison with the paper's reference code; its figures are in ``docs/paper/errata.md``, U18."""

import numpy as np
import pytest

from dpmondrian_lab.benchmarks.as_published import LINES, Choices, ReferenceDPM, gaussian_multiplier


def run(table, low, high, choices=LINES[0][1], seed=0):
    return ReferenceDPM(table, low, high, choices, np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("choices", [Choices(), Choices(pooled=True)])
def test_whole_numbers_leave_one_cut_in_the_units_of_the_data(choices):
    table = np.random.default_rng(0).integers(0, 16, (18_720, 16)).astype(np.float64)
    runs = [run(table, 0.0, 15.0, choices, seed) for seed in range(3)]
    assert [list(one.cuts) for one in runs] == [[7.375]] * 3


def test_each_line_makes_one_choice_more():
    n_made = [sum(vars(choices).values()) for _, choices in LINES]
    assert n_made == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("choices", [choices for _, choices in LINES])
def test_far_clusters_are_found_whatever_is_chosen(choices):
    """On bounds from -100 to 100, for which the paper's parameters were made."""
    truth = np.array([[-60.0, -60.0], [-60.0, 60.0], [60.0, -60.0], [60.0, 60.0]])
    table = np.repeat(truth, 5_000, axis=0) + np.random.default_rng(0).normal(size=(20_000, 2))
    centres = run(table, -100.0, 100.0, choices).centres()
    to_nearest = np.linalg.norm(truth[:, None] - centres, axis=2).min(axis=1)
    assert to_nearest.max() < 5.0


def test_the_gaussian_noise_is_the_least_that_is_private():
    assert gaussian_multiplier(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-3)  # Balle and Wang (2018), analytic Gaussian
