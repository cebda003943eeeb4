"""Whatever is given as a parameter or as public facts: taken, or refused by an error of this package."""

import warnings
from datetime import date
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, Budget, Category, Column, DPMondrianError, Schema
from dpmondrian.schema import bounds_from_options

ROWS = np.random.default_rng(0).uniform(0, 1, (40, 2))

ODD = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 2, 3, 10**400, -(10**400), 2**63, 0.1, 0.5, 0.3, 1e-320, 1e308, 1e100, 1e-100),
        *(float("nan"), float("inf"), -float("inf"), 1j, Decimal(1), np.float32(1), np.int8(1), np.bool_(True)),
        *(
            "",
            "1",
            "int",
            "log",
            "default",
            "paper",
            "error",
            "drop",
            "a",
            "x0",
            "\ud800",
            "\x00",
            b"1",
            date(2020, 1, 1),
        ),
        *((), [], {}, set(), object(), int, print, np.zeros(0), np.zeros((2, 2)), range(3), slice(1)),
        *((0, 1), [0, 1], ("a", "b"), [(0, 1), (0, 1)], {"a": (0, 1)}, {"x0": (0, 1), "x1": (0, 1)}, {1: 2}),
        *(Column("x0", 0, 1), Category("x0", ("a",)), Schema((Column("x0", 0, 1), Column("x1", 0, 1)))),
    ]
)
NESTED = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner)
        | st.dictionaries(st.sampled_from(["x0", "x1", "a", "splits", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = sorted(DPM().get_params())


@settings(settings.get_profile("fuzz"))
@given(parameters=st.dictionaries(st.sampled_from(NAMES), NESTED, min_size=1, max_size=3))
def test_parameters(parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = DPM(**{"bounds": (0, 1), "random_state": 0, "max_depth": 2, **parameters}).fit(ROWS)
        except DPMondrianError:
            return
    model.predict(ROWS)
    model.release_.to_json()


@settings(settings.get_profile("fuzz quick things"))
@given(bounds=NESTED, names=st.sampled_from([("x0",), ("x0", "x1"), ("a", "x0", "x1")]))
def test_bounds(bounds, names):
    try:
        schema = Schema.from_bounds(bounds, names, [False] * len(names))
    except DPMondrianError:
        return
    assert schema.names == names
    assert Schema.from_dict(schema.to_dict()).to_dict() == schema.to_dict()


@settings(settings.get_profile("fuzz quick things"))
@given(kind=st.sampled_from([Column, Category]), values=st.lists(NESTED, min_size=2, max_size=6))
def test_facts_about_columns(kind, values):
    least, most = (3, 6) if kind is Column else (2, 4)
    values = (values * 2)[: max(least, min(most, len(values)))]
    try:
        schema = Schema((kind(*values),), values[0])
    except DPMondrianError:
        return
    assert Schema.from_dict(schema.to_dict()).names == schema.names


@settings(settings.get_profile("fuzz quick things"))
@given(texts=st.lists(st.text(alphabet="ab01=:|.-e,intlog \x00é", max_size=12), max_size=3))
def test_bounds_as_options(texts):
    try:
        bounds_from_options(texts)
    except DPMondrianError:
        return


@settings(settings.get_profile("fuzz"))
@given(epsilon=ODD, delta=ODD, purpose=ODD)
def test_charges(tmp_path_factory, epsilon, delta, purpose):
    path = tmp_path_factory.mktemp("budget") / "budget.json"
    budget = Budget.create(path, epsilon=1.0, delta=1e-6)
    for use in (
        lambda: budget.charge(epsilon, delta, purpose),
        lambda: budget.charge(0.1, 1e-9, purpose),
        lambda: budget.finish(purpose, epsilon),
        lambda: Budget.create(path.with_name("other.json"), epsilon, delta, purpose),
    ):
        try:
            use()
        except DPMondrianError:
            continue
    state = budget.read()
    assert state.spent_epsilon <= 1.0
    assert state.spent_delta <= 1e-6
