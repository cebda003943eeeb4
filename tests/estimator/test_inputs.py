"""The same values give the same result, whatever holds them; awkward but honest tables just work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpmondrian import DPM, DataError
from dpmondrian.tables.frames import read_table

NAMES = ["a", "b"]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "pandas-own-index": lambda rows: pd.DataFrame(rows, columns=NAMES, index=np.arange(len(rows))[::-1] % 7),
    "pandas-pyarrow": lambda rows: pd.DataFrame(rows, columns=NAMES).astype("float64[pyarrow]"),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES, orient="row"),
    "pyarrow": lambda rows: pa.table(
        {name: np.ascontiguousarray(column) for name, column in zip(NAMES, rows.T, strict=True)}
    ),
}
ARRAYS = {
    "array": lambda rows: rows,
    "list": lambda rows: rows.tolist(),
    "tuple": lambda rows: tuple(map(tuple, rows)),
    "objects": lambda rows: rows.astype(object),
    "fortran": np.asfortranarray,
    "longdouble": lambda rows: rows.astype(np.longdouble),
    "every-other-row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "every-other-column": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "backwards": lambda rows: np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1],
    "big-endian": lambda rows: rows.astype(">f8"),
}
CONTAINERS = ARRAYS | FRAMES


def model(**params) -> DPM:
    return DPM(**({"epsilon": 5.0, "bounds": (-100, 100, "float"), "random_state": 3} | params))


def result(fitted: DPM) -> tuple:
    tree = fitted.tree_.to_dict()
    return fitted.cluster_centers_.tolist(), fitted.cluster_sizes_.tolist(), tree, fitted.privacy_.to_dict()["entries"]


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"variant": "paper"}, {"n_clusters": 4}])
def test_the_container_does_not_matter(blobs, params):
    expected = model(**params).fit(blobs)
    labels, distances = expected.predict(blobs).tolist(), expected.transform(blobs).tolist()
    for name, container in CONTAINERS.items():
        held = container(blobs)
        fitted = model(**params).fit(held)
        assert result(fitted) == result(expected), name
        assert fitted.labels_.tolist() == expected.labels_.tolist(), name
        assert fitted.predict(held).tolist() == labels, name
        assert fitted.transform(held).tolist() == distances, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "bool"]
)
def test_the_number_type_does_not_matter(blobs, dtype):
    rows = np.rint(np.abs(blobs)).astype(dtype)
    expected = model().fit(rows.astype(np.float64))
    for held in (rows, pd.DataFrame(rows, columns=NAMES), pl.DataFrame(rows, schema=NAMES)):
        assert result(model().fit(held)) == result(expected)


def test_integer_types_mean_whole_numbers_unless_bounds_say_otherwise(blobs):
    whole = np.rint(blobs).astype(np.int64)
    by_type = model(bounds=(-100, 100)).fit(whole)
    by_word = model(bounds=(-100, 100, "int")).fit(whole.astype(float))
    neither = model(bounds=(-100, 100)).fit(whole.astype(float))
    assert result(by_type) == result(by_word)
    assert [column.whole for column in by_type.release_.schema.columns] == [True, True]
    assert [column.whole for column in neither.release_.schema.columns] == [False, False]
    assert all(cut == round(cut) for cut in by_type.tree_.threshold if not np.isnan(cut))


def test_a_table_may_mix_types(blobs):
    frame = pd.DataFrame({
        "whole": np.rint(blobs[:, 0]).astype("int32"),
        "nullable": pd.array(np.rint(blobs[:, 1]), dtype="Int64"),
        "single": blobs[:, 0].astype("float32"),
        "flag": blobs[:, 1] > 0,
        "nullable flag": pd.array(blobs[:, 1] > 0, dtype="boolean"),
    })  # fmt: skip
    fitted = model(bounds=(-100, 100)).fit(frame)
    assert [column.whole for column in fitted.release_.schema.columns] == [True, True, False, True, True]
    plain = frame.astype("float64").to_numpy()
    words = [(-100, 100, "int"), (-100, 100, "int"), (-100, 100), (-100, 100, "int"), (-100, 100, "int")]
    assert result(model(bounds=words).fit(plain)) == result(fitted)
    assert result(model(bounds=(-100, 100)).fit(pl.from_pandas(frame))) == result(fitted)
    assert result(model(bounds=(-100, 100)).fit(pa.Table.from_pandas(frame))) == result(fitted)


@pytest.mark.parametrize("container", FRAMES)
def test_column_names_are_kept(blobs, container):
    fitted = model(bounds={"b": (-100, 100), "a": (-100, 100)}).fit(FRAMES[container](blobs))
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.n_features_in_ == 2
    assert fitted.tree_.names == ("a", "b")


@pytest.mark.slow
@pytest.mark.parametrize("container", ARRAYS)
def test_arrays_have_no_column_names(blobs, container):
    fitted = model().fit(ARRAYS[container](blobs))
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.tree_.names == ("x0", "x1")


@pytest.mark.slow
@pytest.mark.parametrize("fit_with", FRAMES)
@pytest.mark.parametrize("ask_with", FRAMES)
def test_columns_may_come_in_another_order_and_container_later(few_rows, fit_with, ask_with):
    fitted = model(bounds={"a": (-100, 100), "b": (-90, 100)}).fit(FRAMES[fit_with](few_rows))
    turned = FRAMES[ask_with](few_rows)
    turned = turned.select(NAMES[::-1]) if hasattr(turned, "select") else turned[NAMES[::-1]]
    assert fitted.predict(turned).tolist() == fitted.labels_.tolist()
    assert fitted.transform(turned).tolist() == fitted.transform(FRAMES[fit_with](few_rows)).tolist()


def test_bounds_by_name_do_not_depend_on_the_order_of_columns(blobs):
    bounds = {"a": (-100, 100), "b": (-80, 60)}
    frame = pd.DataFrame(blobs, columns=NAMES)
    first, second = model(bounds=bounds).fit(frame), model(bounds=dict(reversed(bounds.items()))).fit(frame)
    assert first.release_.to_json() == second.release_.to_json()


def test_a_model_of_a_frame_predicts_on_an_array_by_position(blobs):
    fitted = model().fit(pd.DataFrame(blobs, columns=NAMES))
    assert fitted.predict(blobs).tolist() == fitted.labels_.tolist()


def test_integer_column_names_count_as_none(blobs):
    fitted = model().fit(pd.DataFrame(blobs))
    assert not hasattr(fitted, "feature_names_in_")
    assert result(fitted)[:2] == result(model().fit(blobs))[:2]
    assert fitted.predict(pd.DataFrame(blobs)).tolist() == fitted.predict(blobs).tolist()


@pytest.mark.parametrize("bounds", [{0: (-100, 100), 1: (-100, 100)}, {"0": (-100, 100), "1": (-100, 100)}])
def test_bounds_may_name_integer_columns(blobs, bounds):
    assert result(model(bounds=bounds).fit(pd.DataFrame(blobs)))[:2] == result(model().fit(blobs))[:2]


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda frame: frame.rename(columns={"b": "bb"}), ["['b']", "Did you mean 'bb'"]),
        (lambda frame: frame[["a"]], ["['b']", "['a']"]),
        (lambda frame: frame.assign(c=1.0), ["c"]),
        (lambda frame: frame.to_numpy()[:, :1], ["1 features", "2 features"]),
        (lambda frame: frame.assign(c=1.0).to_numpy(), ["3 features", "2 features"]),
    ],
)
def test_other_columns_than_fitted_are_refused(few_rows, change, fragments):
    frame = pd.DataFrame(few_rows, columns=NAMES)
    fitted = model().fit(frame)
    for use in (fitted.predict, fitted.transform):
        with pytest.raises(DataError) as caught:
            use(change(frame))
        for fragment in fragments:
            assert fragment in str(caught.value)


MISSING = {
    "array-nan": lambda rows, holes: np.where(holes, np.nan, rows),
    "array-inf": lambda rows, holes: np.where(holes, np.inf, rows),
    "array-minus-inf": lambda rows, holes: np.where(holes, -np.inf, rows),
    "float32-nan": lambda rows, holes: np.where(holes, np.nan, rows).astype(np.float32),
    "list-none": lambda rows, holes: np.where(holes, None, rows).tolist(),
    "pandas-nan": lambda rows, holes: pd.DataFrame(np.where(holes, np.nan, rows), columns=NAMES),
    "pandas-inf": lambda rows, holes: pd.DataFrame(np.where(holes, np.inf, rows), columns=NAMES),
    "pandas-Float64": lambda rows, holes: pd.DataFrame(rows, columns=NAMES).astype("Float64").mask(holes),
    "pandas-Int64": lambda rows, holes: pd.DataFrame(rows, columns=NAMES).astype("Int64").mask(holes),
    "pandas-int64-pyarrow": lambda rows, holes: pd.DataFrame(rows, columns=NAMES).astype("int64[pyarrow]").mask(holes),
    "polars-null": lambda rows, holes: pl.DataFrame(np.where(holes, None, rows).tolist(), schema=dict.fromkeys(NAMES, pl.Float64), orient="row"),
    "polars-int-null": lambda rows, holes: pl.DataFrame(np.where(holes, None, rows.astype(int)).tolist(), schema=dict.fromkeys(NAMES, pl.Int32), orient="row"),
    "polars-nan": lambda rows, holes: pl.DataFrame(np.where(holes, np.nan, rows), schema=NAMES),
    "pyarrow-null": lambda rows, holes: pa.table({n: pa.array(c, mask=h) for n, c, h in zip(NAMES, rows.T.copy(), holes.T.copy(), strict=True)}),
    "pyarrow-int-null": lambda rows, holes: pa.table({n: pa.array(c, mask=h) for n, c, h in zip(NAMES, rows.T.astype("int16"), holes.T.copy(), strict=True)}),
    "pyarrow-inf": lambda rows, holes: pa.table({n: np.where(h, np.inf, c) for n, c, h in zip(NAMES, rows.T, holes.T, strict=True)}),
}  # fmt: skip


@pytest.fixture
def whole_rows(blobs):
    return np.rint(blobs)


@pytest.fixture
def holes(blobs):
    rng = np.random.default_rng(5)
    holes = rng.random(blobs.shape) < 0.05
    holes[3] = True  # a row without any value
    return holes


@pytest.mark.slow
@pytest.mark.parametrize("container", MISSING)
def test_missing_values_are_an_error_by_default(whole_rows, holes, container):
    held = MISSING[container](whole_rows, holes)
    with pytest.raises(DataError, match=r"on_missing='drop'.*on_missing='middle'"):
        model().fit(held)
    fitted = model().fit(whole_rows)
    with pytest.raises(DataError, match="on_missing"):
        fitted.predict(held)
    with pytest.raises(DataError, match="on_missing"):
        fitted.transform(held)


@pytest.mark.slow
@pytest.mark.parametrize("container", MISSING)
def test_drop_leaves_the_row_out(whole_rows, holes, container):
    held = MISSING[container](whole_rows, holes)
    lost = holes.any(axis=1)
    fitted = model(on_missing="drop").fit(held)
    expected = model().fit(whole_rows[~lost])
    assert result(fitted) == result(expected)
    assert np.all(fitted.labels_[lost] == -1)
    assert fitted.labels_[~lost].tolist() == expected.labels_.tolist()
    assert fitted.predict(held).tolist() == fitted.labels_.tolist()
    assert np.isnan(fitted.transform(held)[lost]).any(axis=1).all()
    assert fitted.transform(held)[~lost].tolist() == expected.transform(whole_rows[~lost]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("container", MISSING)
def test_middle_takes_the_middle_of_the_bounds(whole_rows, holes, container):
    bounds = [(-100, 100, "float"), (-100, 80, "float")]
    held = MISSING[container](whole_rows, holes)
    filled = np.where(holes, [0.0, -10.0], whole_rows)
    fitted = model(on_missing="middle", bounds=bounds).fit(held)
    expected = model(bounds=bounds).fit(filled)
    assert result(fitted) == result(expected)
    assert fitted.labels_.tolist() == fitted.predict(held).tolist() == expected.predict(filled).tolist()
    assert fitted.transform(held).tolist() == expected.transform(filled).tolist()


@pytest.mark.parametrize("rule", ["drop", "middle"])
@pytest.mark.parametrize("variant", ["default", "paper"])
def test_a_table_of_missing_values_only(rule, variant):
    rows = np.full((40, 2), np.nan)
    fitted = model(on_missing=rule, variant=variant).fit(rows)
    other = np.empty((0, 2)) if rule == "drop" else np.zeros((40, 2))
    assert result(fitted) == result(model(variant=variant).fit(other))


@pytest.mark.parametrize("params", [{}, {"variant": "paper"}, {"delta": 0}, {"n_clusters": 3}], ids=str)
@pytest.mark.parametrize("value", [0.0, -100.0, 100.0, 12.3456])
def test_constant_columns_just_work(params, value):
    rows = np.full((200, 2), value)
    fitted = model(epsilon=100, **params).fit(rows)
    assert np.isfinite(fitted.cluster_centers_).all()
    assert np.abs(fitted.cluster_centers_).max() <= 100
    assert set(fitted.labels_) <= set(range(fitted.n_clusters_))


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"variant": "paper"}, {"delta": 0}, {"n_clusters": 3}], ids=str)
def test_no_or_one_row_go_the_same_way_as_many(blobs, params):
    many = model(**params).fit(blobs)
    plan = [(entry.name, entry.level, entry.mechanism, entry.cost) for entry in many.privacy_.entries]
    containers = [name for name in CONTAINERS if name not in ("list", "tuple")]  # of which no rows have no columns
    for n_rows in (0, 1):
        few = model(**params).fit(blobs[:n_rows])
        assert few.labels_.shape == (n_rows,)
        assert few.predict(blobs).shape == (len(blobs),)
        assert np.isfinite(few.cluster_centers_).all()
        assert few.privacy_.rho == many.privacy_.rho
        assert few.privacy_.entries[0] == many.privacy_.entries[0]
        if "variant" in params:  # else draws are planned on the way, from released numbers
            assert [(entry.name, entry.level, entry.mechanism, entry.cost) for entry in few.privacy_.entries] == plan
        for container in () if "delta" in params or "n_clusters" in params else containers:
            same = model(**params).fit(CONTAINERS[container](blobs[:n_rows]))
            assert result(same) == result(few), container
            assert same.labels_.tolist() == few.labels_.tolist(), container


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [0, 1])
@pytest.mark.parametrize("params", [{}, {"variant": "paper"}, {"delta": 0}, {"n_clusters": 3}], ids=str)
def test_no_or_one_row_get_secure_noise_too(blobs, n_rows, params):
    sizes = {DPM(bounds=(-100, 100), **params).fit(blobs[:n_rows]).tree_.size[0] for _ in range(5)}
    assert len(sizes) > 1


def test_a_loaded_release_predicts_on_every_container(tmp_path, blobs):
    fitted = model(bounds={"a": (-100, 100), "b": (-90, 100)}).fit(pd.DataFrame(blobs, columns=NAMES))
    fitted.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    for container in CONTAINERS.values():
        assert loaded.predict(container(blobs)).tolist() == fitted.labels_.tolist()
    assert loaded.predict(pl.DataFrame(blobs[:, ::-1], schema=["b", "a"])).tolist() == fitted.labels_.tolist()


def test_a_read_table_is_a_view_of_the_rows(blobs):
    assert np.shares_memory(read_table(blobs).block(0), blobs)


def test_fit_does_not_change_the_table(blobs):
    rows, frame = blobs.copy(), pd.DataFrame(blobs.copy(), columns=NAMES)
    rows[0, 0] = np.nan
    frame.iloc[0, 0] = np.nan
    before = rows.copy()
    for rule in ("drop", "middle"):
        model(on_missing=rule).fit(rows)
        model(on_missing=rule).fit(frame)
    np.testing.assert_array_equal(rows, before)
    np.testing.assert_array_equal(frame.to_numpy(), before)
