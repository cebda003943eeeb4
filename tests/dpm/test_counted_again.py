"""Sizes of clusters: from the count of the last step and from the histograms of the final clusters, with errors that hold."""

from dataclasses import replace

import numpy as np
import pytest

from dpmondrian.dpm.algorithm import _Clusters, _counted_again
from dpmondrian.dpm.partition import Everything, Nearest
from dpmondrian.dpm.profiles import Histograms
from dpmondrian.dpm.steps import Centres, Groups

SIZES = np.array([4000.0, 2500.0, 1500.0, 900.0, 300.0])
COUNT_ERROR, BIN_ERROR, TOTAL_ERROR = 40.0, 35.0, 30.0
N_COLUMNS, N_BINS = 4, 8


def released(rng, sizes, moved=0.0, columns=N_COLUMNS):
    """Return clusters and their histograms with noise; `moved` rows, about, have come to each cluster since it was counted."""
    before = sizes + rng.normal(0, 1, len(sizes)) * moved + rng.normal(0, COUNT_ERROR, len(sizes))
    total = sizes.sum() + rng.normal(0, TOTAL_ERROR)
    before += (total - before.sum()) / len(sizes)
    exact = np.repeat(sizes / N_BINS, N_BINS).reshape(len(sizes), N_BINS)
    counts = [[own + rng.normal(0, BIN_ERROR, N_BINS) for _ in range(columns)] for own in exact]
    places = np.zeros((len(sizes), 2))
    nowhere = places.astype(np.int64)
    groups = Groups(list(range(len(sizes))), before, np.full(len(sizes), COUNT_ERROR), nowhere, nowhere)
    found = _Clusters(Centres(places, places), groups, Nearest(nowhere), None)
    return found, Histograms(tuple("abcd"[:columns]), (), [], counts, BIN_ERROR), total


def misses(moved, partition=None, sizes=SIZES):
    """Return how far sizes are off, in their stated errors, before and after the histograms count, over many releases."""
    rng, off = np.random.default_rng(0), []
    for _ in range(1000):
        found, histograms, total = released(rng, sizes, moved)
        found = replace(found, partition=partition or found.partition)
        again = _counted_again(found, histograms, total, TOTAL_ERROR).groups
        assert again.sizes.sum() == pytest.approx(total)
        off.append([found.groups.sizes - sizes, again.sizes - sizes, again.size_errors])
    return np.array(off).transpose(1, 0, 2)


@pytest.mark.parametrize("moved", [0.0, 40.0, 150.0])
def test_errors_are_those_that_occur_however_many_rows_have_moved(moved):
    counted, sizes, errors = misses(moved)
    assert 0.90 < np.mean(np.abs(sizes) < 1.96 * errors) < 0.97
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.std(sizes), rel=0.12)
    assert np.std(sizes) < 0.92 * np.std(counted)


def test_rows_that_stay_in_their_clusters_are_counted_twice():
    """Without k the rule is that of the count, so nothing is doubted."""
    counted, sizes, errors = misses(0.0, Everything(len(SIZES)))
    again = BIN_ERROR**2 * N_BINS / N_COLUMNS
    both = COUNT_ERROR**2 * again / (COUNT_ERROR**2 + again)
    assert errors == pytest.approx(np.sqrt(both * 0.8 + TOTAL_ERROR**2 / 25))
    assert np.std(sizes) == pytest.approx(errors[0, 0], rel=0.05)
    assert np.std(sizes) < 0.95 * np.std(counted)


def test_a_single_cluster_has_all_rows():
    found, histograms, total = released(np.random.default_rng(0), SIZES[:1])
    again = _counted_again(found, histograms, total, TOTAL_ERROR).groups
    assert again.sizes.tolist() == pytest.approx([total])
    assert again.size_errors.tolist() == [TOTAL_ERROR]


def test_histograms_with_much_more_noise_do_not_count_where_rows_may_have_moved():
    found, histograms, total = released(np.random.default_rng(0), SIZES)
    noisy = replace(histograms, deviation=3.0 * BIN_ERROR)
    assert _counted_again(found, noisy, total, TOTAL_ERROR) is found
    stays = replace(found, partition=Everything(len(SIZES)))
    assert _counted_again(stays, noisy, total, TOTAL_ERROR) is not stays


def test_without_histograms_nothing_changes():
    found, _, total = released(np.random.default_rng(0), SIZES)
    assert _counted_again(found, None, total, TOTAL_ERROR) is found
