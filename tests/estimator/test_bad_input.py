"""Bad input gets an error that names parameter, rule, value and way out, and nothing is drawn."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from dpmondrian import DPM, BoundsError, DataError, DPMondrianError, ParameterError
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.mechanisms.sampler import Sampler


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch):
    """Fail when noise is drawn or a value passes the door, whatever error follows."""

    def refuse(*args, **kwargs):
        raise AssertionError("something was drawn")

    for owner, names in ((Sampler, ("noise", "select")), (Door, ("counts", "select", "box_sums", "ball_sums"))):
        for name in names:
            monkeypatch.setattr(owner, name, refuse)


def assert_refused(error: type[Exception], fragments: list[str], X, **params) -> None:
    with pytest.raises(error) as caught:
        DPM(**({"bounds": (-100, 100)} | params)).fit(X)
    assert isinstance(caught.value, DPMondrianError)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_fit_without_fault_does_draw(blobs):
    with pytest.raises(AssertionError, match="something was drawn"):
        DPM(bounds=(-100, 100)).fit(blobs)


def short(value) -> str:
    return repr(value)[:30]


def quoted(value) -> str:
    """Return how an error quotes a value: cut off, and nothing of an array, which may be a table."""
    return type(value).__name__ if isinstance(value, np.ndarray) else repr(value)[:200]


NOT_NUMBERS = [None, "1", True, np.True_, 1j, [1.0], np.array([1.0, 2.0]), Decimal(1)]


@pytest.mark.parametrize(
    "value", [0, 0.0, -1, -1e-300, 1e-7, math.inf, -math.inf, math.nan, 10**400, *NOT_NUMBERS], ids=short
)
def test_epsilon(blobs, value):
    assert_refused(
        ParameterError, ["'epsilon'", "finite number", quoted(value), "between 0.1 and 3"], blobs, epsilon=value
    )


@pytest.mark.parametrize("epsilon", [1e12, 1e100, 1e300, 1.7e308])
@pytest.mark.parametrize("params", [{"delta": 0}, {}, {"variant": "paper"}], ids=str)
def test_a_huge_epsilon_is_refused_or_planned(blobs, epsilon, params):
    with pytest.raises((ParameterError, AssertionError), match=r"'epsilon'|something was drawn"):
        DPM(epsilon=epsilon, bounds=(-100, 100), **params).fit(blobs)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.0, 2, math.inf, math.nan, *NOT_NUMBERS], ids=repr)
def test_delta(blobs, value):
    assert_refused(ParameterError, ["'delta'", "[0, 1)", quoted(value), "such as 1e-7"], blobs, delta=value)


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.999999])
@pytest.mark.parametrize("variant", ["default", "paper"])
def test_an_extreme_delta_is_refused_or_planned(blobs, delta, variant):
    with pytest.raises((ParameterError, AssertionError), match=r"'delta'|something was drawn"):
        DPM(delta=delta, bounds=(-100, 100), variant=variant).fit(blobs)


def test_the_papers_variant_needs_a_delta(blobs):
    assert_refused(ParameterError, ["'delta'", "positive", "variant='default'"], blobs, delta=0, variant="paper")


@pytest.mark.parametrize(
    ("bounds", "fragments"),
    [
        (None, ["'bounds'", "missing", "known without the data"]),
        ((5, -5), ["'x0'", "lower < upper", "(5, -5)", "Swap"]),
        ((5, 5), ["'x0'", "lower < upper", "(5, 5)"]),
        ((0, math.inf), ["'x0'", "finite", "inf"]),
        ((math.nan, 1), ["'x0'", "finite", "nan"]),
        ([(0, 1)], ["2 columns", "1 pair instead"]),
        ([(0, 1)] * 5, ["2 columns", "5 pairs"]),
        ({"x0": (0, 1), "y1": (0, 1)}, ["['y1']", "['x0', 'x1']"]),
        ({"x0": (0, 1)}, ["every column", "['x1']"]),
        ("0-1", ["'bounds'"]),
    ],
)
def test_bounds(blobs, bounds, fragments):
    assert_refused(BoundsError, fragments, blobs, bounds=bounds)


@pytest.mark.parametrize(
    ("given", "fragments"),
    [
        ({"k": 8}, ["no parameter called 'k'.", "Its parameters are epsilon, delta, bounds, n_clusters,"]),
        ({"eps": 1.0}, ["no parameter called 'eps'. Did you mean 'epsilon' instead of 'eps'? Its parameters"]),
        ({"n_cluster": 3, "bound": 2}, ["'n_cluster', 'bound'", "'n_clusters' instead of 'n_cluster'"]),
    ],
)
def test_unknown_parameters_are_listed_beside_the_known_ones(blobs, given, fragments):
    assert_refused(ParameterError, fragments, blobs, **given)


def test_bounds_of_a_frame_suggest_near_names(blobs):
    frame = pd.DataFrame(blobs, columns=["age", "income"])
    bounds = {"age": (0, 120), "incone": (0, 1e6)}
    assert_refused(BoundsError, ["['incone']", "Did you mean 'income'"], frame, bounds=bounds)


def test_the_column_of_people_has_no_bounds(blobs):
    frame = pd.DataFrame({"age": blobs[:, 0], "patient": range(len(blobs))})
    fragments = ["'person_id'", "Got 'patient' (which has bounds)", "Remove it from the bounds."]
    bounds = {"age": (0, 120), "patient": (0, 1e6)}
    assert_refused(ParameterError, fragments, frame, bounds=bounds, person_id="patient")


@pytest.mark.parametrize("value", [-1, 13, 2.0, 2.5, True, "7", math.nan], ids=repr)
def test_max_depth(blobs, value):
    assert_refused(ParameterError, ["'max_depth'", "from 0 to 12", repr(value), "Use None"], blobs, max_depth=value)


@pytest.mark.parametrize("value", [0, -1, 10**6 + 1, 1.5, True, None, "1"], ids=repr)
def test_rows_per_person(blobs, value):
    fragments = ["'rows_per_person'", "from 1 to 1000000", repr(value), "maximum number of rows"]
    assert_refused(ParameterError, fragments, blobs, rows_per_person=value)


@pytest.mark.parametrize("value", [0, 1, -3, 2**14 + 1, 16.0, False], ids=repr)
def test_windows(blobs, value):
    assert_refused(
        ParameterError,
        ["'windows'", "from 2 to 16384", repr(value), "Use None to let DPM choose"],
        blobs,
        windows=value,
    )


@pytest.mark.parametrize("name", ["n_clusters", "min_cluster_size"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", math.nan], ids=repr)
def test_optional_numbers(blobs, name, value):
    assert_refused(ParameterError, [f"'{name}'", "an integer", repr(value), "Use None"], blobs, **{name: value})


@pytest.mark.parametrize("value", [2**14, 10**6, 10**30])
def test_more_clusters_than_can_be_counted(few_rows, value):
    assert_refused(ParameterError, ["'n_clusters'", repr(value)], few_rows, n_clusters=value)


@pytest.mark.parametrize(
    ("params", "fragments"),
    [
        ({"t": 0.1}, ["'t'", "2q <= t <= 1", "0.1", "Increase 't' or decrease 'q'"]),
        ({"t": 0.3, "q": 0.2}, ["'t'", "2q <= t <= 1", "q = 0.2"]),
        ({"t": 1.5}, ["'t'", "1.5"]),
        ({"t": math.nan}, ["'t'", "nan"]),
        ({"t": None}, ["'t'", "None"]),
        ({"q": 0.0}, ["'q'", "0 < q < 0.5", "1/12"]),
        ({"q": -0.1}, ["'q'", "-0.1"]),
        ({"q": 0.5, "t": 1.0}, ["'q'", "0.5"]),
        ({"q": "1/12"}, ["'q'", "'1/12'"]),
        ({"alpha": 0, "n_clusters": 2}, ["'alpha'", "positive", "0"]),
        ({"alpha": -5.0, "n_clusters": 2}, ["'alpha'", "-5.0"]),
        ({"alpha": math.inf, "variant": "paper"}, ["'alpha'", "inf"]),
        ({"alpha": True, "n_clusters": 2}, ["'alpha'", "True"]),
    ],
    ids=str,
)
def test_score_parameters(blobs, params, fragments):
    assert_refused(ParameterError, fragments, blobs, **params)


@pytest.mark.parametrize("params", [{"alpha": 1e13}, {"alpha": 1e300}, {"q": 1e-13}, {"q": 1e-300}], ids=str)
def test_scores_that_would_not_fit_an_integer(blobs, params):
    """A score that overflows 64 bits has no sensitivity, so it may not be selected by."""
    assert_refused(ParameterError, [f"'{next(iter(params))}'"], blobs, **params)


def test_noise_that_would_not_fit_an_integer(blobs):
    assert_refused(DPMondrianError, ["'epsilon'"], blobs, epsilon=1e-6, delta=0, rows_per_person=10**6)


@pytest.mark.parametrize(
    ("shares", "fragments"),
    [
        ({"splits": 0.4, "counts": 0.2, "cells": 0.1, "clusters": 0.2}, ["sum to one", "0.9"]),
        ({"splits": 0.4, "counts": 0.2, "cells": 0.1, "clusters": 0.4}, ["sum to one", "1.1"]),
        ({"splits": 0.5, "counts": 0.5}, ["keys", "clusters"]),
        ({"splits": 0.4, "counts": 0.2, "cells": 0.1, "centers": 0.3}, ["keys", "'centers'"]),
        ({"splits": 0.5, "counts": 0.2, "cells": 0.1, "clusters": 0.1, "interval": 0.1}, ["keys", "'interval'"]),
        ({"splits": 0.01, "counts": 0.2, "cells": 0.39, "clusters": 0.4}, ["at least 0.02", "0.01"]),
        ({"splits": 1.1, "counts": -0.5, "cells": 0.1, "clusters": 0.3}, ["positive", "-0.5"]),
        ({"splits": 1.0, "counts": 0.0, "cells": 0.0, "clusters": 0.0}, ["positive"]),
        ({"splits": math.nan, "counts": 0.5, "cells": 0.1, "clusters": 0.5}, ["positive", "nan"]),
        ({"splits": "half", "counts": 0.5, "cells": 0.1, "clusters": 0.5}, ["positive", "'half'"]),
        ([0.3, 0.3, 0.4], ["mapping", "[0.3, 0.3, 0.4]"]),
        (1.0, ["mapping", "1.0"]),
    ],
    ids=str,
)
def test_budget_shares(blobs, shares, fragments):
    assert_refused(
        ParameterError, ["'budget_shares'", "The default is", *fragments], blobs, budget_shares=shares, profiles=False
    )


def test_the_papers_variant_has_a_share_more(blobs):
    shares = {"splits": 0.35, "counts": 0.2, "clusters": 0.45}
    assert_refused(ParameterError, ["'budget_shares'", "'interval'"], blobs, budget_shares=shares, variant="paper")


@pytest.mark.parametrize("name", ["variant", "on_missing"])
@pytest.mark.parametrize("value", ["", "PAPER", None, 3, ["drop"]], ids=repr)
def test_choices(blobs, name, value):
    assert_refused(ParameterError, [f"'{name}'", "one of", repr(value)], blobs, **{name: value})


@pytest.mark.parametrize(
    ("params", "suggestion"),
    [({"variant": "papre"}, "'paper'"), ({"on_missing": "dorp"}, "'drop'"), ({"on_missing": "midle"}, "'middle'")],
)
def test_choices_suggest_near_names(blobs, params, suggestion):
    assert_refused(ParameterError, [f"Did you mean {suggestion}"], blobs, **params)


@pytest.mark.parametrize("value", [-1, 1.5, "seed", True, [1]], ids=repr)
def test_random_state(blobs, value):
    assert_refused(ParameterError, ["'random_state'", repr(value), "Use None for results"], blobs, random_state=value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("variant", ["default", "paper"])
def test_missing_values(blobs, value, variant):
    rows = blobs.copy()
    rows[-1, 1] = value
    assert_refused(DataError, ["on_missing='error'", "on_missing='drop'", "on_missing='middle'"], rows, variant=variant)


@pytest.mark.parametrize(
    ("X", "fragments"),
    [
        (np.empty((5, 0)), ["0 feature(s)", "Pass at least one column"]),
        (pd.DataFrame(index=range(5)), ["no columns", "at least one"]),
        (pl.DataFrame(), ["no columns", "at least one"]),
        (pa.table({}), ["no columns", "at least one"]),
        ([], ["2D"]),
        (np.arange(5.0), ["2D", "1D", "reshape(-1, 1)"]),
        (np.zeros((2, 2, 2)), ["2D", "3D"]),
        (5.0, ["2D", "0D"]),
        (None, ["2D", "0D"]),
        (pd.Series([1.0, 2.0]), ["2D", "1D"]),
        (np.zeros((3, 2), dtype=complex), ["Complex", "two columns"]),
        ([[1.0, 2.0], [3.0]], []),
        (np.array([["a", "b"]]), ["numbers", "0/1 column per category"]),
        (np.array([["a", 1.0]], dtype=object), ["numbers", "0/1 column per category"]),
        (np.array([[10**400, 1.0]], dtype=object), ["numbers"]),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), ["datetime64", "numbers"]),
        (np.zeros(3, dtype=[("a", float)]), ["2D"]),
        (nw.from_native(pl.DataFrame({"x": [1.0, 2.0]}).lazy()), ["collect()"]),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_used(X, fragments):
    assert_refused(DataError, fragments, X)


TEXT = ["x", "y", "x"]
DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"number": [1, 2, 3], "kind": TEXT}),
        pd.DataFrame({"number": [1, 2, 3], "kind": pd.Categorical(TEXT)}),
        pd.DataFrame({"number": [1, 2, 3], "kind": pd.Categorical(TEXT, ordered=True)}),
        pd.DataFrame({"number": [1, 2, 3], "kind": pd.Series([1, "x", None], dtype=object)}),
        pd.DataFrame({"number": [1, 2, 3], "kind": pd.to_datetime(DAYS)}),
        pl.DataFrame({"number": [1, 2, 3], "kind": TEXT}),
        pl.DataFrame({"number": [1, 2, 3], "kind": DAYS}),
        pl.DataFrame({"number": [1, 2, 3], "kind": [[1], [2], [3]]}),
        pa.table({"number": [1, 2, 3], "kind": TEXT}),
        pa.table({"number": [1, 2, 3], "kind": pa.array(TEXT).dictionary_encode()}),
    ],
    ids=range(10),
)
def test_columns_that_are_not_numbers_say_how_to_encode(frame):
    fragments = ["Column 'kind'", "Convert it to numbers or remove it", "declare its categories", "not from the data"]
    assert_refused(DataError, fragments, frame)


def test_columns_with_the_same_name(blobs):
    frame = pd.DataFrame(blobs, columns=["age", "age"])
    assert_refused(DPMondrianError, ["'age'"], frame)


@pytest.mark.parametrize("rows", [[[1.0, 0.0], [0.0, 1.0]]])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_tables_say_how_to_make_them_dense(rows, kind):
    with pytest.raises(TypeError, match=r"[Ss]parse.*toarray\(\)"):
        DPM(bounds=(0, 1)).fit(kind(rows))


def test_parameters_are_checked_before_the_table_is_read():
    class Unreadable:
        def __array__(self, *args, **kwargs):
            raise AssertionError("the table was read")

    with pytest.raises(ParameterError):
        DPM(epsilon=-1, bounds=(0, 1)).fit(Unreadable())


def test_a_refused_fit_leaves_the_estimator_unfitted(blobs):
    model = DPM(epsilon=-1, bounds=(-100, 100))
    before = dict(vars(model))
    with pytest.raises(ParameterError):
        model.fit(blobs)
    assert vars(model) == before
