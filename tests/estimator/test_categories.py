"""Columns of categories: declared ones become shares, others become "other", and nothing else gets out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, BoundsError, Category, Column, DataError, ParameterError, Schema
from dpmondrian.engines.grid import PLACES, Grid
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.peers import DPLloyd

BOUNDS = {"age": (0, 100), "income": (0, 100), "plan": ["basic", "premium"]}
SHARES = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])


def customers(n_rows=20_000, seed=0):
    """Return three groups of customers, of whom some have a plan that is not declared."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n_rows)
    plan = (generator.random(n_rows)[:, None] > np.cumsum(SHARES, axis=1)[group]).sum(axis=1)
    return {
        "age": np.array([25, 45, 70])[group] + generator.normal(0, 3, n_rows),
        "income": np.array([20, 60, 30])[group] + generator.normal(0, 3, n_rows),
        "plan": np.array(["basic", "premium", "ZXCANARY"])[plan],
    }


def by_age(model):
    return model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 3}, {"delta": 0.0}, {"n_clusters": 3, "delta": 0.0}])
def test_centres_hold_the_shares_of_categories(parameters):
    model = DPM(bounds=BOUNDS, random_state=0, **parameters).fit(pd.DataFrame(customers()))
    assert model.release_.schema.centre_names == ("age", "income", "plan=basic", "plan=premium", "plan=other")
    assert model.n_clusters_ == 3
    assert model.n_features_in_ == 3
    centres = by_age(model)
    np.testing.assert_allclose(centres[:, :2], [[25, 20], [45, 60], [70, 30]], atol=0.6)
    np.testing.assert_allclose(centres[:, 2:], SHARES, atol=0.04)
    np.testing.assert_allclose(centres[:, 2:].sum(axis=1), 1.0)


@pytest.mark.slow
def test_errors_of_shares_are_those_that_show():
    """Over repeated fits, shares vary as much as their standard errors say, up to what shrinkage and clipping take away."""
    table = pd.DataFrame(customers(6000))
    models = [DPM(bounds=BOUNDS, random_state=seed).fit(table) for seed in range(12)]
    fits = [model for model in models if model.n_clusters_ == 3]
    assert len(fits) > 8
    spread = np.std([by_age(model)[:, 2:] for model in fits], axis=0)
    stated = np.mean([model.release_.centre_errors[:, 2:] for model in fits])
    assert 0.3 < spread.mean() / stated < 1.5


@pytest.mark.slow
def test_cuts_between_categories_are_made_only_if_asked_for():
    table = pd.DataFrame(customers())
    quiet = DPM(bounds=BOUNDS, random_state=0).fit(table)
    assert not any("plan" in rule for rule in quiet.tree_.rules())
    cut = DPM(bounds=BOUNDS | {"plan": Category("plan", ("basic", "premium"), cut=True)}, random_state=0).fit(table)
    assert cut.n_clusters_ == 9
    rules = cut.tree_.rules()
    assert all("plan is" in rule for rule in rules)
    assert any("plan is basic" in rule for rule in rules)
    # What follows from a category is not said twice.
    assert not any("plan is basic" in rule and "is not" in rule for rule in rules)
    shares = cut.cluster_centers_[:, 2:]
    assert np.all(shares.max(axis=1) > 0.85)


def test_release_files_hold_categories(tmp_path):
    table = pd.DataFrame(customers(5000))
    bounds = BOUNDS | {"plan": Category("plan", ("basic", "premium"), cut=True)}
    model = DPM(bounds=bounds, random_state=0).fit(table)
    model.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    assert str(loaded.tree_) == str(model.tree_)
    assert loaded.release_.schema == model.release_.schema
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    assert loaded.transform(table[:5]).shape == (5, model.n_clusters_)
    assert "plan {basic, premium}" in str(loaded.privacy_)
    assert loaded.clusters(2).centres.shape == (2, 5)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["basic", "premium", "x", None]),
        pa.array(["basic", "premium", "x", None]).dictionary_encode(),
        pa.array(["basic", "premium", "x", None], pa.large_string()),
        pl.Series(["basic", "premium", "x", None]),
        pl.Series(["basic", "premium", "x", None], dtype=pl.Categorical),
        pd.Series(["basic", "premium", "x", None]),
        pd.Series(["basic", "premium", "x", np.nan]),
        pd.Series(["basic", "premium", "x", None], dtype="category"),
        pd.Series(["basic", "premium", "x", None], dtype="string"),
    ],
)
def test_texts_of_every_library_become_numbers(column):
    frame = {"arrow": pa.table, "polars": pl.DataFrame, "pandas": pd.DataFrame}
    make = frame[type(column).__module__.split(".")[0].replace("pyarrow", "arrow")]
    table = read_table(make({"plan": column}), {"plan": Category("plan", ("premium", "basic"))})
    np.testing.assert_array_equal(next(table.blocks())[:, 0], [1, 0, 2, np.nan])


@pytest.mark.parametrize(("values", "levels"), [([1, 2, 7], ("1", "2")), ([True, False, True], ("true", "false"))])
def test_numbers_and_truths_are_matched_as_texts(values, levels):
    table = read_table(pa.table({"c": values}), {"c": Category("c", levels)})
    expected = [levels.index(str(v).lower()) if str(v).lower() in levels else len(levels) for v in values]
    assert next(table.blocks())[:, 0].tolist() == expected


def test_a_declared_other_takes_the_undeclared():
    category = Category("c", ("other", "a"))
    assert category.levels == ("other", "a")
    table = read_table(pa.table({"c": ["a", "other", "z"]}), {"c": category})
    assert next(table.blocks())[:, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("weight", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("cut", [True, False])
def test_two_categories_are_as_far_apart_as_their_weight_says(weight, cut):
    category = Category("c", ("a", "b"), cut=cut, weight=weight)
    grid = Grid.with_windows(Schema(category.indicators), 128)
    distance = np.sqrt(2) * grid.last_place[0]
    assert distance == pytest.approx(weight * PLACES, rel=0.01)
    schema = Schema((Column("age", 0, 50), category))
    rows = Coordinates(schema).of_rows(np.array([[0.0, 0.0], [0.0, 1.0], [50.0, 1.0]]))
    scaled = rows * Coordinates(schema).schema.weights
    apart = np.linalg.norm(np.diff(scaled, axis=0), axis=1)
    assert apart[0] == pytest.approx(weight * apart[1])


@pytest.mark.parametrize(("on_missing", "expected"), [("middle", [0, 0, 1.0]), ("drop", [np.nan] * 3)])
def test_missing_categories(on_missing, expected):
    schema = Schema((Category("c", ("a", "b")),))
    got = Coordinates(schema).of_rows(np.array([[np.nan]]), fill_missing=on_missing == "middle")
    np.testing.assert_array_equal(got, [expected])
    table = pd.DataFrame({"x": np.r_[np.full(500, 20.0), np.full(500, 80.0)], "c": ["a"] * 999 + [None]})
    bounds = {"x": (0, 100), "c": ["a"]}
    last = DPM(bounds=bounds, on_missing=on_missing, random_state=0).fit(table).labels_[-1]
    assert bool(last == -1) is (on_missing == "drop")
    with pytest.raises(DataError, match="on_missing"):
        DPM(bounds=bounds).fit(table)


shares_of = st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=6)


@settings(derandomize=True, deadline=None)
@given(shares_of)
def test_released_shares_are_shares_and_none_is_nearer(noisy):
    schema = Schema((Category("c", ("a", "b"), weight=1.0),))
    noisy = np.clip(np.array(noisy), 0, 1)
    got = Coordinates(schema).values(noisy)
    assert np.all(got >= 0)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)
    generator = np.random.default_rng(0)
    for other in generator.dirichlet(np.ones(3), 50):
        assert np.all(np.linalg.norm(got - noisy, axis=1) <= np.linalg.norm(other - noisy, axis=1) + 1e-9)


def test_possible_boxes_of_categories():
    """What a row has in one indicator says something about the others."""
    schema = Schema((*Category("c", ("a", "b"), cut=True).indicators, Column("x", 0, 1)))
    grid = Grid.with_windows(schema, 16)
    one = grid.last_place[0]
    low, high = np.zeros((4, 4), dtype=np.int64), np.tile(grid.last_place, (4, 1))
    low[1, 0] = one // 2  # a is 1
    high[2, 0] = one // 2  # a is 0
    high[3, :2] = one // 2  # a and b are 0, so other is 1
    low, high = grid.possible(low, high)
    assert high[:, :3].tolist() == [[one] * 3, [one, 0, 0], [0, one, one], [0, 0, one]]
    assert low[:, :3].tolist() == [[0] * 3, [one, 0, 0], [0] * 3, [0, 0, one]]
    assert np.all(low[:, 3] == 0)
    assert np.all(high[:, 3] == grid.last_place[3])


def test_wrong_uses():
    table = pd.DataFrame(customers(1000))
    with pytest.raises(ParameterError, match="works with numbers only"):
        DPM(bounds=BOUNDS, variant="paper").fit(table)
    with pytest.raises(ParameterError, match="cut = true"):
        DPM(bounds={"plan": ["basic"]}).fit(table[["plan"]])
    assert DPM(bounds={"plan": ["basic"]}, n_clusters=2, random_state=0).fit(table[["plan"]]).n_clusters_ == 2
    with pytest.raises(BoundsError, match="numbers only"):
        DPLloyd(2, bounds={"age": (0, 100), "plan": ["basic"]}).fit(table[["age"]].assign(plan=1.0))
    with pytest.raises(DataError, match="declare its categories"):
        DPM(bounds={"age": (0, 1), "income": (0, 1), "plan": (0, 1)}).fit(table)
    for wrong in ("basic", (), ("a", "a"), ("a", 1), ("a", "")):
        with pytest.raises(BoundsError):
            Category("plan", wrong)
    for wrong in (0, 2.0, "much", float("nan")):
        with pytest.raises(BoundsError, match="weight"):
            Category("plan", ("a",), weight=wrong)
    with pytest.raises(BoundsError, match="under the name"):
        DPM(bounds={"age": (0, 1), "income": (0, 1), "plan": Category("plans", ("a",))}).fit(table)
    with pytest.raises(BoundsError, match="unique"):
        Schema((Category("a", ("b",)), Column("a=b", 0, 1)))


def test_undeclared_values_go_nowhere(tmp_path):
    model = DPM(bounds=BOUNDS).fit(pd.DataFrame(customers(3000)))
    model.save(tmp_path / "release.json")
    told = [repr(model), str(model.tree_), str(model.privacy_), (tmp_path / "release.json").read_text()]
    assert not any("CANARY" in text for text in told)
