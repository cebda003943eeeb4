"""At most so many rows of a person are kept: one person more changes the kept rows by no more than that."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpmondrian import DPM, Budget, DataError, ParameterError
from dpmondrian.accounting.plan import DEFAULT_SHARES, zcdp_plan
from dpmondrian.frames import first_of_each, read_table
from dpmondrian.release import Door

people = st.lists(st.integers(0, 6), max_size=40)


def kept_numbers(ids, most, keys, on_missing="drop"):
    """Return the numbers of the rows that are kept of a table with these persons."""
    frame = pa.table({"who": ids, "row": pa.array(range(len(ids)), pa.float64())})
    table = read_table(frame, person_id="who").limited(most, np.asarray(keys, dtype=np.uint64), on_missing)
    assert table.names == ("row",)
    rows = [int(row) for block in table.blocks() for row in block[:, 0]]
    assert table.n_rows == len(rows)
    return rows


@settings(derandomize=True, deadline=None, max_examples=200)
@given(people, st.integers(1, 4), st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 12))
def test_one_person_more_adds_no_more_than_allowed_and_changes_nobody_else(ids, most, seed, place, n_added):
    keys = np.random.default_rng(seed).integers(0, 2**64, len(ids) + n_added, dtype=np.uint64)
    place = min(place, len(ids))
    added = [*ids[:place], *[99] * n_added, *ids[place:]]
    theirs = np.arange(place, place + n_added)
    others = np.delete(np.arange(len(added)), theirs)
    before = others[kept_numbers(pa.array(ids, pa.int64()), most, keys[others])].tolist()
    after = kept_numbers(pa.array(added, pa.int64()), most, keys)
    assert [row for row in after if row not in theirs] == before
    assert len([row for row in after if row in theirs]) == min(n_added, most)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(people, st.integers(1, 4), st.integers(0, 2**32))
def test_everyone_keeps_as_many_rows_as_they_have_or_may(ids, most, seed):
    keys = np.random.default_rng(seed).integers(0, 2**64, len(ids), dtype=np.uint64)
    kept = first_of_each(np.array(ids, dtype=np.int64), keys, most)
    for person in set(ids):
        theirs = np.array(ids) == person
        assert (kept & theirs).sum() == min(most, theirs.sum())
        assert keys[kept & theirs].max() <= keys[~kept & theirs].min(initial=2**64 - 1)


def test_every_row_of_a_person_is_kept_equally_often():
    """The rows that are kept are a random choice: not the first, not the last, not the same each time."""
    generator = np.random.default_rng(0)
    counts = np.zeros(5)
    for _ in range(2000):
        keys = generator.integers(0, 2**64, 8, dtype=np.uint64)
        for row in kept_numbers([1, 1, 2, 1, 1, 2, 1, 2], 2, keys):
            if row in (0, 1, 3, 4, 6):
                counts[[0, 1, 3, 4, 6].index(row)] += 1
    assert counts.sum() == 4000
    assert chisquare(counts).pvalue > 1e-6


def customers(frame=pa.table):
    generator = np.random.default_rng(1)
    who = np.repeat(np.arange(4000), generator.integers(1, 9, 4000))
    home = np.where(who % 2, 20.0, 70.0) + generator.normal(0, 3, len(who))
    return frame({"who": who, "x": home, "y": home})


@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_fit_keeps_so_many_rows_per_person(frame):
    table = customers(frame)
    bounds = {"x": (0, 100), "y": (0, 100)}
    one = DPM(epsilon=5.0, bounds=bounds, person_id="who", random_state=0).fit(table)
    assert one.n_clusters_ == 2
    assert one.cluster_sizes_.sum() == pytest.approx(4000, abs=100)
    two = DPM(epsilon=5.0, bounds=bounds, person_id="who", rows_per_person=2, random_state=0).fit(table)
    assert two.cluster_sizes_.sum() == pytest.approx(4000 * (1 + 7 / 8), abs=250)
    assert len(two.labels_) == len(table)
    assert "told by column 'who'" in str(two.privacy_)
    assert "at most 2 of them were kept" in str(two.privacy_)
    assert two.release_.parameters["person_id"] == "who"


def test_predict_takes_tables_with_and_without_the_persons(tmp_path):
    table = customers(pd.DataFrame)
    model = DPM(epsilon=5.0, bounds={"x": (0, 100), "y": (0, 100)}, person_id="who", random_state=0).fit(table)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(model.predict(table.drop(columns="who")), model.labels_)
    model.save(tmp_path / "release.json")
    np.testing.assert_array_equal(DPM.load(tmp_path / "release.json").predict(table), model.labels_)


@pytest.mark.parametrize("ids", [[1, None, 2], [1.0, float("nan"), 2.0], ["a", None, "b"]])
def test_rows_of_nobody(ids):
    keys = np.arange(3)
    assert kept_numbers(ids, 1, keys) == [0, 2]
    assert kept_numbers(ids, 1, keys, "middle") == [0, 2]
    with pytest.raises(DataError, match="person_id"):
        kept_numbers(ids, 1, keys, "error")


def test_wrong_uses():
    table = customers(pd.DataFrame)
    bounds = {"x": (0, 100), "y": (0, 100)}
    with pytest.raises(DataError, match="Did you mean 'who'"):
        DPM(bounds=bounds, person_id="whom").fit(table)
    with pytest.raises(DataError, match="column names"):
        DPM(bounds=(0, 1), person_id="who").fit(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="name of a column"):
        DPM(bounds=bounds, person_id=3).fit(table)
    mixed = pd.DataFrame({"who": [1, "a", (2, 3)], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="neither texts nor numbers"):
        DPM(bounds={"x": (0, 100)}, person_id="who").fit(mixed)


def test_the_keys_of_rows_are_random():
    """Uniform over all words, different in every run unless there is a seed."""
    plan = zcdp_plan(1.0, 1e-7, 2, DEFAULT_SHARES)
    keys = [Door(plan).row_keys(20_000) for _ in range(2)]
    assert not np.any(keys[0] == keys[1])
    for own in keys:
        assert len(np.unique(own)) == len(own)
        assert chisquare(np.bincount((own >> np.uint64(58)).astype(np.int64), minlength=64)).pvalue > 1e-9
    seeded = [Door(plan, seed=1).row_keys(100), Door(plan, seed=1).row_keys(100), Door(plan, seed=2).row_keys(100)]
    assert np.array_equal(seeded[0], seeded[1])
    assert not np.any(seeded[0] == seeded[2])


def test_a_missing_value_in_a_row_that_was_not_kept_does_not_matter(tmp_path):
    """Otherwise the budget would be spent and the result lost, depending on which rows were kept."""
    budget = Budget.create(tmp_path / "budget.json", 100, 1e-3)
    frame = pd.DataFrame({"who": np.repeat(np.arange(500), 2), "x": 20.0})
    frame.loc[7, "x"] = np.nan
    outcomes = set()
    for seed in range(12):
        model = DPM(bounds={"x": (0, 100)}, person_id="who", random_state=seed)
        try:
            model.fit(frame, budget=budget)
            outcomes.add(int(model.labels_[7]))
        except DataError:
            outcomes.add("refused")
    assert outcomes == {-1, "refused"}
    assert all(entry.state == "released" for entry in budget.read().entries)
