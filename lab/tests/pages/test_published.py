"""The paper's numbers are all there."""

from __future__ import annotations

import pytest

from dpmondrian_lab.experiments.catalogue import PAPER_DATA_SETS
from dpmondrian_lab.pages.names import DIRECTIONS, PAPER_METRICS
from dpmondrian_lab.pages.published import PUBLISHED, REPEATS, TABLE_DATA_SETS, published
from dpmondrian_lab.peers.registry import EVALUATED

COLUMNS = ("kmeans", "dp_lloyd", "em_mc", "lsh_splits", "dpm")


def test_every_cell_is_there():
    expected = {(d, m, a) for d in PAPER_DATA_SETS for m in PAPER_METRICS for a in COLUMNS}
    expected -= {("uci_gas", "accuracy", a) for a in COLUMNS}
    assert set(PUBLISHED) == expected
    assert {key for keys in TABLE_DATA_SETS.values() for key in keys} == set(PAPER_DATA_SETS)


def test_columns_are_repeated_by_algorithms_that_exist():
    assert set(REPEATS) <= set(EVALUATED)
    assert set(REPEATS.values()) == set(COLUMNS)


@pytest.mark.parametrize(
    ("place", "mean", "deviation", "rounding"),
    [
        (("synth_10d", "inertia", "kmeans"), 1.0e6, 2.0e-10, 5e4),
        (("synth_10d", "kmeans_distance", "em_mc"), 14.19, 43.27, 0.005),
        (("fashion_embs", "silhouette", "dp_lloyd"), -0.10, 0.61, 0.005),
        (("uci_gas", "inertia", "dpm"), 3.7e7, 1.6e7, 5e5),
    ],
)
def test_numbers_are_read_right(place, mean, deviation, rounding):
    cell = PUBLISHED[place]
    assert (cell.mean, cell.deviation) == (mean, deviation)
    assert cell.rounding == pytest.approx(rounding)


@pytest.mark.parametrize(("data_set", "metric"), sorted({(d, m) for d, m, _ in PUBLISHED}))
def test_bold_is_the_best_private_number(data_set, metric):
    private = {a: PUBLISHED[data_set, metric, a] for a in COLUMNS[1:]}
    best = max(DIRECTIONS[metric] * cell.mean for cell in private.values())
    assert {a for a, cell in private.items() if cell.bold} == {
        a for a, cell in private.items() if DIRECTIONS[metric] * cell.mean == best
    }


def test_only_columns_that_repeat_the_paper_have_its_number():
    assert published("synth_10d", "inertia", "dp_lloyd") is None
    assert published("synth_10d", "inertia", "dpm_paper").text == "1.8e7 (2.7e7)"
    assert published("blobs-2000x5-4", "inertia", "kmeans") is None
