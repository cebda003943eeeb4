"""DPM on a log scale, and clusters that no column separates: what is found, in which units, and that it can be saved."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from dpmondrian import DPM, BoundsError, Column, DataError, Release, ReleaseFileError, Schema
from dpmondrian_lab.peers import FastLloyd

INCOMES = np.array([500.0, 5000.0, 50_000.0])
INCOME_BOUNDS = {"income": (100, 1e6, "log"), "age": (0, 120)}
SETTINGS = {
    "log": {"bounds": INCOME_BOUNDS},
    "log, pure, k": {"bounds": INCOME_BOUNDS, "delta": 0, "n_clusters": 3},
    "log, paper": {"bounds": INCOME_BOUNDS, "variant": "paper"},
    "log, middle": {"bounds": INCOME_BOUNDS, "on_missing": "middle"},
}
every_setting = pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)


@pytest.fixture(scope="module")
def earners() -> pd.DataFrame:
    """Return 6,000 people in three groups whose incomes differ by ratios."""
    rng = np.random.default_rng(3)
    income = np.concatenate(
        [rng.lognormal(np.log(middle), 0.2, n) for middle, n in zip(INCOMES, (3000, 2000, 1000), strict=True)]
    )
    return pd.DataFrame({"income": income, "age": rng.normal(45, 4, 6000)}).sample(frac=1, random_state=0)


def ellipses(n_rows=20_000, length=10.0, width=1.0, gap=10.0, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two thin parallel ellipses at 45 degrees, and which of the two each row is of."""
    rng = np.random.default_rng(seed)
    group = (np.arange(n_rows) < 0.55 * n_rows).astype(int)
    along, across = rng.normal(0, length, n_rows), rng.normal(np.where(group == 1, gap / 2, -gap / 2), width)
    return 50 + np.column_stack([along + across, along - across]) / np.sqrt(2), group


def fit(rows, **params) -> DPM:
    return DPM(**({"epsilon": 2.0, "random_state": 0} | params)).fit(rows)


# Log scale


def test_groups_that_differ_by_ratios_are_found_on_a_log_scale(earners):
    model = fit(earners, bounds=INCOME_BOUNDS, n_clusters=3)
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(model.cluster_centers_[order, 0], INCOMES, rtol=0.03)
    np.testing.assert_allclose(model.cluster_centers_[:, 1], 45, atol=1.5)
    nearest = np.abs(np.log(earners["income"].to_numpy()[:, None] / INCOMES)).argmin(axis=1)
    assert adjusted_rand_score(nearest, model.labels_) > 0.99
    # Of the range of incomes as they are, the two lower groups are half a percent.
    plain = fit(earners, bounds={"income": (100, 1e6), "age": (0, 120)}, n_clusters=3)
    assert adjusted_rand_score(nearest, plain.labels_) < 0.9


def test_their_number_is_found_too(earners):
    assert fit(earners, bounds=INCOME_BOUNDS).n_clusters_ == 3


def test_a_centre_is_the_geometric_mean_and_its_error_is_in_own_units(earners):
    model = fit(earners, bounds=INCOME_BOUNDS, n_clusters=3, epsilon=1e5)
    for cluster, centre in enumerate(model.cluster_centers_):
        rows = earners[model.labels_ == cluster]
        assert centre[0] == pytest.approx(np.exp(np.log(rows["income"]).mean()), rel=0.01)
    noisy = fit(earners, bounds=INCOME_BOUNDS, n_clusters=3).release_
    ratios = noisy.centre_errors[:, 0] / noisy.centres[:, 0]
    # Noise is even in the logarithms, so relative errors on both columns differ by their ranges only.
    np.testing.assert_allclose(ratios / np.log(1e4), noisy.centre_errors[:, 1] / 120, rtol=1e-9)


def test_other_numbers_of_clusters_have_centres_in_own_units(tmp_path, earners):
    model = fit(earners, bounds=INCOME_BOUNDS)
    model.save(tmp_path / "release.json")
    for fitted in (model, DPM.load(tmp_path / "release.json")):
        one = fitted.clusters(1)
        expected = [np.exp(np.log(earners["income"]).mean()), earners["age"].mean()]
        assert np.all(np.abs(one.centres - expected) < 5.0 * one.centre_errors)
        assert np.all(one.centre_errors < 0.1 * one.centres)


def test_rules_are_in_own_units_and_hold_for_the_rows(earners, leaf_of):
    model = fit(earners, bounds=INCOME_BOUNDS, epsilon=1e6)
    tree = model.tree_
    assert "income" in str(tree)
    cuts = tree.threshold[tree.column == 0]
    assert len(cuts) >= 2
    assert np.all((cuts > 100) & (cuts < 1e6))
    leaves = leaf_of(tree, earners.to_numpy())
    for leaf in np.flatnonzero(tree.column < 0):
        assert (leaves == leaf).sum() == pytest.approx(tree.size[leaf], abs=0.5)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_a_value_on_a_cut_lies_on_the_side_that_the_rule_says(variant, leaf_of):
    """The middle of (1, 1e6) on a log scale is 1,000: rounding decides, and must decide alike."""
    rows = np.repeat([1.0, 1000.0, 1e6], 500)[:, None]
    model = fit(rows, bounds=(1, 1e6, "log"), epsilon=1e5, variant=variant)
    leaves = leaf_of(model.tree_, rows)
    for leaf in np.flatnonzero(model.tree_.column < 0):
        assert (leaves == leaf).sum() == pytest.approx(model.tree_.size[leaf], abs=0.5)


def test_rules_show_small_values_of_a_log_column():
    rows = np.repeat([1e-5, 1.0], 2000)[:, None]
    model = fit(rows, bounds=(1e-6, 1e3, "log"), max_depth=1)
    [rule, _] = model.tree_.rules()
    shown = float(rule.split(":")[0].split()[-1])
    assert shown == pytest.approx(model.tree_.threshold[0], rel=1e-3)
    assert 1e-5 <= model.tree_.threshold[0] < 1.0


def test_distances_are_those_of_logarithms(earners):
    model = fit(earners, bounds=INCOME_BOUNDS, n_clusters=3)
    ranges = np.array([np.log(1e4), 120.0])
    rows, centres = earners.to_numpy().copy(), model.cluster_centers_.copy()
    rows[:, 0], centres[:, 0] = np.log(rows[:, 0]), np.log(centres[:, 0])
    expected = np.linalg.norm((rows[:, None] - centres) / ranges, axis=2) * ranges.mean()
    np.testing.assert_allclose(model.transform(earners), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, expected.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(earners), model.labels_)


def test_whole_numbers_may_have_a_log_scale(earners):
    whole = earners.round().astype(np.int64)
    model = fit(whole, bounds=INCOME_BOUNDS, n_clusters=3)
    assert model.release_.schema.columns == (Column("income", 100, 1e6, log=True), Column("age", 0, 120, whole=True))


# Clusters that no column separates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "width", "gap"),
    [(8.0, 0.8, 8.0), (10.0, 1.0, 14.0)],
    ids=["8, 8", "10, 14"],
)
def test_what_no_column_separates_is_found(length, width, gap):
    apart = 0
    for seed in range(10):
        rows, group = ellipses(length=length, width=width, gap=gap, seed=seed)
        model = fit(rows, bounds=(0, 100), epsilon=1.0, random_state=seed)
        apart += model.n_clusters_ == 2 and adjusted_rand_score(group, model.labels_) > 0.9
    assert apart >= 8


def test_slanted_clusters_have_centres_in_columns():
    rows, group = ellipses()
    model = fit(rows, bounds=(0, 100))
    assert adjusted_rand_score(group, model.labels_) > 0.99
    expected = [rows[group == 1].mean(axis=0), rows[group == 0].mean(axis=0)]  # the larger one first
    np.testing.assert_allclose(model.cluster_centers_, expected, atol=1.0)
    assert model.release_.centre_errors.shape == (2, 2)
    assert np.all(model.release_.centre_errors > 0)
    distances = np.linalg.norm(np.clip(rows, 0, 100)[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(rows), distances)


def test_few_whole_numbers_do_not_become_clusters():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(50, 10, (20_000, 2)), rng.binomial(10, 0.5, (20_000, 2))])
    bounds = [(0, 100), (0, 100), (0, 10, "int"), (0, 10, "int")]
    assert fit(rows, bounds=bounds).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [2, 5])
def test_clusters_that_columns_show_are_found_too(n_columns):
    middles = np.array([20.0, 50.0, 80.0])
    rows = np.repeat(middles, 4000)[:, None] + np.random.default_rng(1).normal(0, 3, (12_000, n_columns))
    model = fit(rows, bounds=(0, 100))
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), middles, atol=0.5)


def test_the_number_of_clusters_may_be_given():
    rows, _ = ellipses()
    model = fit(rows, bounds=(0, 100), n_clusters=2)
    best = KMeans(2, n_init=3, random_state=0).fit(rows)
    assert np.square(rows - model.cluster_centers_[model.labels_]).sum() < 1.02 * best.inertia_


@pytest.mark.slow
def test_the_scale_of_the_columns_does_not_matter():
    rows, _ = ellipses()
    rows -= 50
    model = fit(rows, bounds=(-64, 64))
    scaled = fit(rows * [1.0, 1024.0], bounds=[(-64, 64), (-(2**16), 2**16)])
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    np.testing.assert_allclose(scaled.cluster_centers_, model.cluster_centers_ * [1.0, 1024.0])


# Missing values


missing_values = pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])


@missing_values
def test_the_middle_of_a_log_scale_is_that_of_the_logarithms(value):
    rows = np.column_stack([np.where(np.arange(2000) % 2 == 0, 5e5, value), np.full(2000, 1e4)])
    params = {"bounds": (100, 1e6, "log"), "on_missing": "middle", "n_clusters": 2}
    model = fit(rows, **params, epsilon=100.0)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [1e4, 5e5], rtol=0.01)


def test_rows_with_missing_values_are_left_out(earners):
    rows = earners.copy()
    rows.iloc[::9, 0], rows.iloc[3::10, 1] = np.nan, np.inf
    lost = ~np.isfinite(rows.to_numpy()).all(axis=1)
    model = fit(rows, bounds=INCOME_BOUNDS, on_missing="drop")
    without = fit(rows[~lost], bounds=INCOME_BOUNDS, on_missing="drop")
    assert model.release_.to_json() == without.release_.to_json()
    np.testing.assert_array_equal(model.labels_ == -1, lost)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("use", ["fit", "predict", "transform"])
def test_missing_values_are_an_error_otherwise(earners, use):
    rows = earners.copy()
    rows.iloc[-1, 0] = np.inf
    model = fit(earners, bounds=INCOME_BOUNDS)
    with pytest.raises(DataError, match="on_missing='error'"):
        getattr(model, use)(rows)


# Saved releases


@pytest.mark.slow
@every_setting
@pytest.mark.parametrize("named", [True, False])
def test_a_saved_model_predicts_the_same(tmp_path, earners, params, named):
    X = earners if named else earners.to_numpy()
    if not named:
        params = params | {"bounds": list(params["bounds"].values())}
    model = fit(X, **params)
    model.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    assert loaded.release_.to_json() == model.release_.to_json()
    assert str(loaded.tree_) == str(model.tree_)
    assert loaded.tree_.names == model.tree_.names
    assert loaded.release_.schema == model.release_.schema
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    again = loaded.set_params(random_state=0).fit(X)
    assert again.release_.to_json() == model.release_.to_json()


def test_releases_without_a_log_scale_do_not_speak_of_it(earners):
    text = fit(earners, bounds={"income": (100, 1e6), "age": (0, 120)}).release_.to_json()
    assert '"log"' not in text


@pytest.fixture(scope="module")
def valid(earners) -> dict:
    return json.loads(fit(earners, **SETTINGS["log"]).release_.to_json())


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("columns", 0, "log"), False),
        (("columns", 0, "log"), 1),
        (("columns", 0, "log"), "log"),
        (("columns", 0, "log"), None),
        (("columns", 1, "log"), True),
        (("columns", 0, "whole"), True),
        (("columns", 0, "lower"), 0.0),
        (("columns", 0, "lower"), -1.0),
        (("privacy", "bounds", 0, "log"), False),
        (("clusters", 0, "centre"), [-5.0, 40.0]),
        (("clusters", 0, "centre"), [0.0, 40.0]),
        (("cells", "centres", 0), [-5.0, 40.0]),
        (("cells", "centres", 0), [500.0, 40.0, 0.1, 0.1, 0.1, 0.1]),
        (("tree", "column", 0), 2),
        (("parameters",), None),
        (("parameters",), [4]),
    ],
    ids=str,
)
def test_damaged_files_are_refused(valid, path, new):
    values = copy.deepcopy(valid)
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    with pytest.raises(ReleaseFileError):
        Release.from_json(json.dumps(values))


# Bad input


@pytest.mark.parametrize("bounds", [(0, 1e6, "log"), (1, 1e6, "int", "log")], ids=str)
def test_bad_log_scales_are_refused(earners, bounds):
    with pytest.raises(BoundsError, match=r"'income'.*log.*Got"):
        DPM(bounds={"income": bounds, "age": (0, 120)}).fit(earners)


def test_peers_refuse_a_log_scale_instead_of_ignoring_it(earners):
    schema = Schema((Column("income", 100, 1e6, log=True), Column("age", 0, 120)))
    with pytest.raises(BoundsError, match=r"'bounds'.*FastLloyd.*log"):
        FastLloyd(3, bounds=schema).fit(earners)
