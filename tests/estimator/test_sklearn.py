"""DPM is a scikit-learn estimator: the common checks, cloning, pipelines, pickles and copies."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpmondrian import DPM, Column, ParameterError, Schema

NO_ROWS = "A table without rows must be as private as any other, so it goes the same way with the same noise."
OWN_ERROR = (
    "The check wants the TypeError that quotes the value which is not a number; DPM quotes no value of the data."
)


def expected_failures(estimator: DPM) -> dict[str, str]:
    return {"check_estimators_empty_data_messages": NO_ROWS, "check_dtype_object": OWN_ERROR}


@pytest.mark.slow
@parametrize_with_checks(
    [
        DPM(epsilon=1e4, bounds=(-100, 100), random_state=0),
        DPM(epsilon=1e4, delta=0, bounds=(-100, 100), on_missing="middle", random_state=0),
        DPM(epsilon=1e4, bounds=(-100, 100), variant="paper", random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_common_checks(estimator, check):
    check(estimator)


def same_release(a: DPM, b: DPM) -> bool:
    return a.release_.to_json() == b.release_.to_json()


def test_a_clone_has_the_parameters_and_nothing_that_was_fitted(blobs):
    schema = Schema((Column("x0", -100, 100), Column("x1", -100, 100)))
    model = DPM(epsilon=2.0, delta=1e-6, bounds=schema, n_clusters=2, max_depth=3, random_state=4).fit(blobs)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not [name for name in vars(twin) if name.endswith("_")]
    assert same_release(twin.fit(blobs), model)


def test_fit_does_not_change_parameters(blobs):
    params = {
        "bounds": {"x0": (-100, 100), "x1": [-100, 100]},
        "budget_shares": {"splits": 0.3, "counts": 0.2, "cells": 0.1, "clusters": 0.3, "profiles": 0.1},
    }
    before = copy.deepcopy(params)
    model = DPM(**params, random_state=0).fit(blobs)
    assert params == before
    assert model.bounds is params["bounds"]
    assert model.budget_shares is params["budget_shares"]


def test_the_constructor_only_stores():
    nonsense = object()
    model = DPM(**dict.fromkeys(DPM().get_params(), nonsense))
    assert set(map(id, model.get_params().values())) == {id(nonsense)}
    assert sorted(vars(model)) == sorted(DPM().get_params())


def test_parameters_can_be_set_and_misspelt_ones_are_refused(blobs):
    model = DPM(bounds=(-100, 100), random_state=0).set_params(epsilon=3.0, max_depth=1)
    assert model.fit(blobs).privacy_.epsilon == 3.0
    assert model.tree_.n_leaves <= 2
    with pytest.raises(ValueError, match="epsilonn"):
        model.set_params(epsilonn=1.0)
    with pytest.raises(ParameterError, match=r"epsilonn.* Did you mean 'epsilon'"):
        DPM(epsilonn=1.0)


def test_parameters_are_named_and_the_error_says_that_the_first_is_not_k():
    """And it quotes nothing of what was given: that may be a table."""
    for places in ((5,), (1.0, 1e-7, (0, 1)), (np.array([[123.25]]),)):
        with pytest.raises(ParameterError, match=r"DPM\(n_clusters=5\)") as caught:
            DPM(*places)
        assert "123.25" not in str(caught.value)
    assert {p.kind for p in inspect.signature(DPM).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_works_as_a_step_of_a_pipeline(blobs):
    scaled = make_pipeline(FunctionTransformer(lambda X: X / 100), DPM(epsilon=50, bounds=(-1, 1), random_state=0))
    labels = scaled.fit_predict(blobs)
    np.testing.assert_array_equal(labels, scaled.predict(blobs))
    distances = scaled.transform(blobs)
    assert distances.shape == (len(blobs), scaled[-1].n_clusters_)
    assert scaled.set_params(dpm__epsilon=1.0)[-1].epsilon == 1.0
    assert list(scaled[-1].get_feature_names_out()) == [f"dpm{i}" for i in range(distances.shape[1])]


def test_transform_may_answer_with_a_data_frame(blobs):
    model = DPM(epsilon=50, bounds=(-100, 100), random_state=0).set_output(transform="pandas").fit(blobs)
    frame = model.transform(pd.DataFrame(blobs, columns=["x0", "x1"], index=np.arange(len(blobs)) + 5))
    assert list(frame.columns) == list(model.get_feature_names_out())


@pytest.mark.parametrize(
    "copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_a_copy_predicts_the_same(blobs, copied):
    model = DPM(epsilon=5, bounds=(-100, 100), random_state=0).fit(blobs)
    twin = copied(model)
    assert same_release(twin, model)
    np.testing.assert_array_equal(twin.predict(blobs), model.predict(blobs))
    np.testing.assert_array_equal(twin.transform(blobs), model.transform(blobs))
    assert hasattr(model, "labels_")


@pytest.mark.parametrize(
    "use", [lambda m, x: m.predict(x), lambda m, x: m.transform(x), lambda m, x: m.save("never-written.json")]
)
def test_nothing_works_before_fit(blobs, use):
    with pytest.raises(NotFittedError):
        use(DPM(bounds=(-100, 100)), blobs)


def test_is_a_clusterer_and_says_whether_missing_values_are_allowed():
    assert is_clusterer(DPM())
    allowed = {
        rule: DPM(on_missing=rule).__sklearn_tags__().input_tags.allow_nan for rule in ("error", "drop", "middle")
    }
    assert allowed == {"error": False, "drop": True, "middle": True}


@pytest.mark.slow
@pytest.mark.parametrize("params", list(ParameterGrid({"variant": ["default", "paper"], "n_clusters": [None, 2]})))
def test_fitting_again_forgets_the_first_fit(blobs, params):
    model = DPM(epsilon=20, bounds=(-100, 100), random_state=0, **params)
    frame = pd.DataFrame(blobs, columns=["a", "b"])
    model.fit(frame).fit(blobs)
    assert not hasattr(model, "feature_names_in_")
    assert same_release(model, clone(model).fit(blobs))
