"""DPM on a log scale and with cuts along directions: what is found, in which units, and that it can be saved."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from dpmondrian import DPM, BoundsError, Column, DataError, ParameterError, Release, ReleaseFileError, Schema
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.local import LocalEngine
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.peers import FastLloyd

INCOMES = np.array([500.0, 5000.0, 50_000.0])
INCOME_BOUNDS = {"income": (100, 1e6, "log"), "age": (0, 120)}
SETTINGS = {
    "log": {"bounds": INCOME_BOUNDS},
    "directions": {"bounds": {"income": (100, 1e5), "age": (0, 120)}, "directions": 3},
    "both": {"bounds": INCOME_BOUNDS, "directions": 4},
    "both, pure, k": {"bounds": INCOME_BOUNDS, "directions": 4, "delta": 0, "n_clusters": 3},
    "log, paper": {"bounds": INCOME_BOUNDS, "variant": "paper"},
    "both, middle": {"bounds": INCOME_BOUNDS, "directions": 4, "on_missing": "middle"},
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


@pytest.mark.parametrize("directions", [0, 4])
def test_other_cuts_of_the_tree_have_centres_in_own_units(tmp_path, earners, directions):
    model = fit(earners, bounds=INCOME_BOUNDS, directions=directions)
    model.save(tmp_path / "release.json")
    for tree in (model.tree_, DPM.load(tmp_path / "release.json").tree_):
        [[income, age]] = tree.cut(1).centres
        assert income == pytest.approx(np.exp(np.log(earners["income"]).mean()), rel=0.05)
        assert age == pytest.approx(earners["age"].mean(), abs=1.0)


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


# Directions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "width", "gap"),
    [(10.0, 1.0, 10.0), (8.0, 0.8, 8.0), (10.0, 1.0, 14.0)],
    ids=["10, 10", "8, 8", "10, 14"],
)
def test_directions_separate_what_no_column_does(length, width, gap):
    apart = {0: 0, 16: 0}
    for seed in range(10):
        rows, group = ellipses(length=length, width=width, gap=gap, seed=seed)
        for directions in apart:
            model = fit(rows, bounds=(0, 100), directions=directions, epsilon=1.0, random_state=seed)
            apart[directions] += model.n_clusters_ == 2 and adjusted_rand_score(group, model.labels_) > 0.9
    assert apart[16] >= 8
    assert apart[0] <= 1


def test_clusters_along_a_direction_have_centres_in_columns():
    rows, group = ellipses()
    model = fit(rows, bounds=(0, 100), max_depth=1, directions=16)
    assert adjusted_rand_score(group, model.labels_) > 0.99
    expected = [rows[group == 1].mean(axis=0), rows[group == 0].mean(axis=0)]  # the larger one first
    np.testing.assert_allclose(model.cluster_centers_, expected, atol=1.0)
    assert model.release_.centre_errors.shape == (2, 2)
    assert np.all(model.release_.centre_errors > 0)
    assert model.tree_.leaf_centres.shape == (2, 2)
    distances = np.linalg.norm(np.clip(rows, 0, 100)[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(rows), distances)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))


def test_rules_name_columns_and_directions_and_hold_for_the_rows(leaf_of):
    rows, _ = ellipses()
    rows[::4, 0] = 1.0  # a third group, beside the others
    model = fit(rows, bounds=(0, 100), directions=4, epsilon=1e6, n_clusters=5)
    tree, schema = model.tree_, model.release_.schema
    assert tree.names == ("x0", "x1", "direction 1", "direction 2", "direction 3", "direction 4")
    assert schema.names == ("x0", "x1")
    assert model.release_.parameters["directions"] == 4
    assert {"x", "d"} <= {tree.names[column][0] for column in tree.column[tree.column >= 0]}
    assert model.release_.directions.shape == (4, 2)
    cube = (np.clip(rows, 0, 100) - 50) / 100
    directions = sum(cube[:, [j]] * model.release_.directions[:, j] for j in range(2))
    leaves = leaf_of(tree, np.column_stack([rows, directions]))
    for leaf in np.flatnonzero(tree.column < 0):
        assert (leaves == leaf).sum() == pytest.approx(tree.size[leaf], abs=0.5)
    for cluster, box in tree.boxes(schema.lower, schema.upper):
        assert len(box) == 2
        assert 0 <= cluster < model.n_clusters_
        assert all(0 <= low < high <= 100 for low, high in box)


@pytest.mark.parametrize("n_columns", [2, 5])
def test_one_hump_stays_one_cluster(n_columns):
    rows = np.random.default_rng(n_columns).normal(50, 10, (50_000, n_columns))
    assert [fit(rows, bounds=(0, 100), directions=16, random_state=s).n_clusters_ for s in range(3)] == [1, 1, 1]
    assert fit(rows.round(), bounds=(0, 200, "int"), directions=16).n_clusters_ == 1


def test_few_whole_numbers_do_not_become_clusters():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(50, 10, (20_000, 2)), rng.binomial(10, 0.5, (20_000, 2))])
    bounds = [(0, 100), (0, 100), (0, 10, "int"), (0, 10, "int")]
    assert fit(rows, bounds=bounds, directions=16).n_clusters_ == 1


@pytest.mark.parametrize("n_columns", [2, 5])
def test_clusters_that_columns_show_are_found_too(n_columns):
    middles = np.array([20.0, 50.0, 80.0])
    rows = np.repeat(middles, 4000)[:, None] + np.random.default_rng(1).normal(0, 3, (12_000, n_columns))
    model = fit(rows, bounds=(0, 100), directions=16)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), middles, atol=0.5)


def test_the_number_of_clusters_may_be_given():
    rows, group = ellipses()
    model = fit(rows, bounds=(0, 100), directions=16, n_clusters=2, max_depth=1)
    assert model.n_clusters_ == 2
    assert "direction" in str(model.tree_)
    assert adjusted_rand_score(group, model.labels_) > 0.99


def test_the_scale_of_the_columns_does_not_matter_to_directions():
    rows, _ = ellipses()
    rows -= 50
    model = fit(rows, bounds=(-64, 64), directions=8)
    scaled = fit(rows * [1.0, 1024.0], bounds=[(-64, 64), (-(2**16), 2**16)], directions=8)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    np.testing.assert_allclose(scaled.cluster_centers_, model.cluster_centers_ * [1.0, 1024.0])


def test_directions_cost_nothing():
    rows, _ = ellipses(5000)
    plain, with_directions = (fit(rows, bounds=(0, 100), directions=r).privacy_ for r in (0, 5))
    for name in ("epsilon", "delta", "rho", "bounds"):
        assert getattr(with_directions, name) == getattr(plain, name)


def test_places_of_directions_are_not_kept():
    rows, _ = ellipses(1000)
    coordinates = Coordinates(Schema((Column("x", 0, 100), Column("y", 0, 100))), 7)
    with LocalEngine(read_table(rows), coordinates, "error") as engine:
        engine.encode(Grid.with_windows(coordinates.schema, 128, 2))
        assert engine.histograms([0]).shape == (1, 9, 256)
        assert engine.places().shape == (2, 1000)


# Missing values


three_settings = pytest.mark.parametrize("params", [SETTINGS[name] for name in ("log", "directions", "both")], ids=str)
missing_values = pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])


@missing_values
def test_missing_values_become_the_middle_in_directions_too(earners, value):
    missing, filled = earners.copy(), earners.copy()
    missing.iloc[::9, 0], filled.iloc[::9, 0] = value, (100 + 1e5) / 2
    missing.iloc[::11, 1], filled.iloc[::11, 1] = value, 60.0
    params = SETTINGS["directions"] | {"on_missing": "middle"}
    model = fit(missing, **params)
    expected = fit(filled, **params)
    assert model.release_.to_json() == expected.release_.to_json()
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(missing), model.labels_)


@missing_values
@pytest.mark.parametrize("directions", [0, 3])
def test_the_middle_of_a_log_scale_is_that_of_the_logarithms(value, directions):
    rows = np.column_stack([np.where(np.arange(2000) % 2 == 0, 5e5, value), np.full(2000, 1e4)])
    params = {"bounds": (100, 1e6, "log"), "on_missing": "middle", "n_clusters": 2}
    model = fit(rows, **params, directions=directions, epsilon=100.0)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [1e4, 5e5], rtol=0.01)


@three_settings
def test_rows_with_missing_values_are_left_out(earners, params):
    rows = earners.copy()
    rows.iloc[::9, 0], rows.iloc[3::10, 1] = np.nan, np.inf
    lost = ~np.isfinite(rows.to_numpy()).all(axis=1)
    model = fit(rows, **params, on_missing="drop")
    without = fit(rows[~lost], **params, on_missing="drop")
    assert model.release_.to_json() == without.release_.to_json()
    np.testing.assert_array_equal(model.labels_ == -1, lost)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@three_settings
@pytest.mark.parametrize("use", ["fit", "predict", "transform"])
def test_missing_values_are_an_error_otherwise(earners, params, use):
    rows = earners.copy()
    rows.iloc[-1, 0] = np.inf
    model = fit(earners, **params)
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
    assert loaded.directions == model.directions
    np.testing.assert_array_equal(loaded.release_.directions, model.release_.directions)
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    again = loaded.set_params(random_state=0).fit(X)
    assert again.release_.to_json() == model.release_.to_json()


def test_releases_without_coordinates_do_not_speak_of_them(earners):
    text = fit(earners, bounds={"income": (100, 1e6), "age": (0, 120)}).release_.to_json()
    assert '"log"' not in text
    assert "direction" not in text


@pytest.fixture(scope="module")
def valid(earners) -> dict:
    return json.loads(fit(earners, **SETTINGS["both"]).release_.to_json())


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
        (("tree", "leaf_centres", 0), [-5.0, 40.0]),
        (("tree", "leaf_centres", 0), [500.0, 40.0, 0.1, 0.1, 0.1, 0.1]),
        (("tree", "column", 0), 6),
        (("parameters", "directions"), 0),
        (("parameters", "directions"), -1),
        (("parameters", "directions"), 65),
        (("parameters", "directions"), 4.0),
        (("parameters", "directions"), True),
        (("parameters", "directions"), "4"),
        (("parameters", "directions"), [4]),
        (("parameters", "directions"), None),
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


@pytest.mark.parametrize("directions", [-1, 65, 0.5, True, None, "diagonal"], ids=repr)
def test_directions_that_are_no_number_are_refused_before_the_table_is_read(directions):
    with pytest.raises(ParameterError, match=r"'directions'.*integer from 0 to 64.*Use 0") as caught:
        DPM(bounds=(0, 1), directions=directions).fit(None)
    assert repr(directions) in str(caught.value)


def test_the_paper_has_no_directions():
    with pytest.raises(ParameterError, match=r"'directions'.*0 with variant='paper'.*Got 3.*variant='default'"):
        DPM(bounds=(0, 1), variant="paper", directions=3).fit(None)


def test_a_saved_release_of_the_paper_has_none_either(tmp_path, valid):
    values = copy.deepcopy(valid)
    values["privacy"]["variant"] = "paper"
    (tmp_path / "release.json").write_text(json.dumps(values))
    with pytest.raises(ReleaseFileError):
        DPM.load(tmp_path / "release.json")


@pytest.mark.parametrize("bounds", [(0, 1e6, "log"), (1, 1e6, "int", "log")], ids=str)
def test_bad_log_scales_are_refused(earners, bounds):
    with pytest.raises(BoundsError, match=r"'income'.*log.*Got"):
        DPM(bounds={"income": bounds, "age": (0, 120)}).fit(earners)


def test_peers_refuse_a_log_scale_instead_of_ignoring_it(earners):
    schema = Schema((Column("income", 100, 1e6, log=True), Column("age", 0, 120)))
    with pytest.raises(BoundsError, match=r"'bounds'.*FastLloyd.*log"):
        FastLloyd(3, bounds=schema).fit(earners)
