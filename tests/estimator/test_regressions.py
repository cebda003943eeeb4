"""Holes and faults that reviews found; each test failed before its repair."""

import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpmondrian import DPM
from dpmondrian.dpm.draws import COUNT
from dpmondrian.dpm.plan import PAPER_SHARES, paper_plan
from dpmondrian.exceptions import BoundsError, BudgetError
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.mechanisms.bits import SecureBits

BIG = 2**53 + 1  # Arrow refuses to round it to a float, and its error quotes it


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": [BIG, 1, 2]}),
        pa.table({"a": [BIG, 1, None]}),
        pd.DataFrame({"a": pd.array([BIG, 1, 2], dtype="int64[pyarrow]")}),
    ],
    ids=["arrow", "arrow with null", "pandas on arrow"],
)
def test_large_integers_of_arrow_are_rounded_and_not_quoted(table):
    assert DPM(bounds=(0, 1e18), on_missing="middle", random_state=0).fit(table).labels_.shape == (3,)


def test_a_forked_process_draws_other_bits():
    bits = SecureBits()
    bits.words(1)  # a page is in memory now
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, bits.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 32) != bits.words(4).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("variant", ["default", "paper"])
def test_no_rule_contradicts_itself(variant, seed):
    rows = np.random.default_rng(0).integers(0, 6, size=(5000, 2))
    model = DPM(epsilon=2.0, bounds=(0, 5), variant=variant, min_cluster_size=1, random_state=seed).fit(rows)
    for low, high in re.findall(r"([-\d.]+) < \w+ <= ([-\d.]+)", str(model.tree_)):
        assert float(low) < float(high)


def test_a_ledger_that_lacks_a_planned_draw_is_refused():
    door = Door(paper_plan(1.0, 1e-7, 3, PAPER_SHARES), seed=0)
    door.counts(COUNT, 0, [10])
    with pytest.raises(BudgetError, match="interval size"):
        door.close()


def test_a_loaded_release_keeps_its_parameters(tmp_path):
    rows = np.random.default_rng(0).normal(50, 10, size=(500, 2))
    model = DPM(bounds=(0, 100), on_missing="drop", max_depth=3, windows=32, n_clusters=2, random_state=0).fit(rows)
    model.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    assert (loaded.on_missing, loaded.max_depth, loaded.windows, loaded.n_clusters) == ("drop", 3, 32, 2)
    assert loaded.predict([[np.nan, 1.0]]).tolist() == [-1]


def test_numbered_columns_may_come_in_another_order():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(np.c_[generator.choice([20, 80], 800), generator.normal(70, 1, 800)])
    model = DPM(epsilon=5.0, bounds={0: (0, 100), 1: (0, 100)}, n_clusters=2, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame[[1, 0]]))


def test_masked_values_are_missing_values():
    rows = np.ma.masked_array(np.full((400, 1), 90.0), mask=np.arange(400)[:, None] % 2 == 0)
    model = DPM(epsilon=50.0, bounds=(0, 100), on_missing="middle", random_state=0).fit(rows)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [50.0, 90.0], atol=0.5)


def test_a_range_that_cannot_be_divided_is_refused_before_a_draw():
    with pytest.raises(BoundsError, match="apart"):
        DPM(bounds=(0, 1e-305)).fit(np.zeros((3, 1)))


@pytest.mark.slow
def test_wide_tables_have_their_clusters():
    """Bridges between centres that noise moved farther than they are apart joined right leaves to one or two clusters."""
    rng = np.random.default_rng(1)
    middles = rng.uniform(0.1, 0.9, (8, 200))
    owner = rng.integers(0, 8, 8000)
    model = DPM(bounds=(0, 1), random_state=1).fit(middles[owner] + rng.normal(0, 0.01, (8000, 200)))
    assert model.n_clusters_ >= 6


def test_a_strict_error_state_does_not_tell_about_scores():
    rows = np.repeat([[10.0], [90.0]], 200, axis=0)
    with np.errstate(all="raise"):
        DPM(epsilon=1e5, delta=0, bounds=(0, 100), random_state=0).fit(rows)
