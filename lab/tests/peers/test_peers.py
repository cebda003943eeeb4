"""What holds for every peer: parameters, inputs, statements, reproducibility, no leaks, some use."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import struct
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpmondrian import BoundsError, DataError, NotReleasableWarning, ParameterError
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian_lab.peers.base import Peer
from dpmondrian_lab.peers.dp_lloyd import DPLloyd
from dpmondrian_lab.peers.em_mc import EMMC
from dpmondrian_lab.peers.fast_lloyd import FastLloyd
from dpmondrian_lab.peers.lsh_splits import LSHSplits
from dpmondrian_lab.peers.noisy_grid import NoisyGrid
from dpmondrian_lab.peers.pe_means import PEMeans
from dpmondrian_lab.peers.statements import UnsoundStatement

SOUND = {
    "DP-Lloyd": DPLloyd,
    "LSH-Splits": LSHSplits,
    "FastLloyd": FastLloyd,
    "PE-means": PEMeans,
    "EM-MC": EMMC,
    "Noisy grid": NoisyGrid,
}
UNSOUND = ("DP-Lloyd", "LSH-Splits", "EM-MC")
VARIANTS = [*((name, "default") for name in SOUND), *((name, "as_published") for name in UNSOUND), ("EM-MC", "tight")]
every_peer = pytest.mark.parametrize("name", SOUND)
every_variant = pytest.mark.parametrize(("name", "variant"), VARIANTS)
BOUNDS = (-100, 100)
NAMES = ["a", "b"]


def peer(name, **parameters) -> Peer:
    return SOUND[name](**({"n_clusters": 4, "epsilon": 2.0, "bounds": BOUNDS, "expected_rows": 6000} | parameters))


@pytest.fixture(scope="module")
def fitted(blobs):
    """Return a function from a peer's name to a seeded model of `blobs`, which is fitted once: look, do not change."""
    models = {}

    def of(name, variant="default") -> Peer:
        if (name, variant) not in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotReleasableWarning)
                models[name, variant] = peer(name, variant=variant, random_state=0).fit(blobs)
        return models[name, variant]

    return of


def result(model) -> tuple[bytes, bytes, str]:
    return model.cluster_centers_.tobytes(), model.cluster_sizes_.tobytes(), model.privacy_.to_json()


# --- parameters ---------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_is_drawn(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("something was drawn")

    monkeypatch.setattr(Sampler, "noise", refuse)


BAD_PARAMETERS = [
    ("epsilon", 0), ("epsilon", -1.0), ("epsilon", math.inf), ("epsilon", math.nan), ("epsilon", "1"), ("epsilon", None),
    ("n_clusters", 0), ("n_clusters", 2.0), ("n_clusters", True), ("n_clusters", None), ("n_clusters", 10_001),
    ("variant", "paper"), ("variant", None), ("expected_rows", 1), ("expected_rows", 0.5), ("random_state", -1),
    ("random_state", "seed"), ("random_state", True),
]  # fmt: skip


@pytest.mark.slow
@every_peer
@pytest.mark.parametrize(("parameter", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_before_anything_is_drawn(nothing_is_drawn, blobs, name, parameter, value):
    with pytest.raises(ParameterError) as caught:
        peer(name, **{parameter: value}).fit(blobs)
    assert f"'{parameter}'" in str(caught.value)
    assert repr(value) in str(caught.value)
    assert "DPM" not in str(caught.value)


@pytest.mark.parametrize("name", ["LSH-Splits", "FastLloyd"])
@pytest.mark.parametrize("value", [0, 0.0, -1e-9, 1.0, math.nan, "1e-7", None])
def test_gaussian_noise_needs_a_delta(nothing_is_drawn, blobs, name, value):
    with pytest.raises(ParameterError, match="'delta'"):
        peer(name, delta=value).fit(blobs)


def test_dp_lloyd_takes_no_delta():
    with pytest.raises(TypeError):
        DPLloyd(delta=1e-7)


def test_fast_lloyd_has_no_published_variant(blobs):
    with pytest.raises(ParameterError, match="'variant'"):
        peer("FastLloyd", variant="as_published").fit(blobs)


@every_peer
def test_bounds_are_required(nothing_is_drawn, blobs, name):
    with pytest.raises(BoundsError, match="'bounds' parameter is missing"):
        peer(name, bounds=None).fit(blobs)
    with pytest.raises(BoundsError, match="one pair for each"):
        peer(name, bounds=[(0, 1)] * 3).fit(blobs)


EXPECTED_FAILURES = {
    "check_estimators_empty_data_messages": "A table without rows must be as private as any other.",
    "check_dtype_object": "The check wants an error that quotes a value of the data.",
    "check_clustering": "Labels are of single rows: the holder asks predict for them, no attribute keeps them.",
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        DPLloyd(3, 1e4, (-100, 100), random_state=0),
        LSHSplits(3, 1e3, bounds=(-100, 100), random_state=0),
        FastLloyd(3, 1e3, bounds=(-100, 100), random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_common_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@every_variant
def test_scikit_learn_can_copy_it(blobs, name, variant):
    model = peer(name, variant=variant, random_state=3)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(epsilon=5.0).epsilon == 5.0
    assert repr(model).startswith(type(model).__name__)
    assert result(clone(model).fit(blobs)) == result(model.fit(blobs))
    assert not hasattr(clone(model), "cluster_centers_")


@pytest.mark.slow
@every_variant
def test_fit_changes_no_parameter_and_no_row(blobs, name, variant):
    model, rows = peer(name, variant=variant, random_state=0), blobs.copy()
    before = model.get_params()
    model.fit(rows)
    assert model.get_params() == before
    assert np.array_equal(rows, blobs)


# --- statements ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_variant
def test_a_seed_reproduces_a_run_byte_for_byte(blobs, name, variant):
    with pytest.warns(NotReleasableWarning):
        one = peer(name, variant=variant, random_state=1).fit(blobs)
    again = peer(name, variant=variant, random_state=1).fit(blobs)
    other = peer(name, variant=variant, random_state=2).fit(blobs)
    assert result(one) == result(again)
    assert result(one)[0] != result(other)[0]
    assert not one.privacy_.releasable
    assert "NOT RELEASABLE" in str(one.privacy_)


@pytest.mark.slow
@every_peer
def test_a_secure_run_may_be_released(blobs, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = (peer(name).fit(blobs) for _ in range(2))
    assert one.privacy_.releasable
    assert type(one.privacy_) is not UnsoundStatement
    assert "NOT RELEASABLE" not in str(one.privacy_)
    assert one.cluster_centers_.tobytes() != other.cluster_centers_.tobytes()
    assert one.privacy_.epsilon == 2.0


@pytest.mark.parametrize("name", ["DP-Lloyd", "LSH-Splits"])
@pytest.mark.parametrize("seed", [None, 0])
def test_a_published_variant_is_never_releasable(blobs, name, seed):
    with pytest.warns(NotReleasableWarning):
        statement = peer(name, variant="as_published", random_state=seed).fit(blobs).privacy_
    assert isinstance(statement, UnsoundStatement)
    assert not statement.releasable
    assert statement.epsilon == math.inf
    assert statement.claimed_epsilon == 2.0
    assert statement.defects
    assert all(defect in str(statement) for defect in statement.defects)
    assert "NOT RELEASABLE" in str(statement)
    assert "Claimed: epsilon = 2" in str(statement)


@pytest.mark.slow
@every_variant
def test_a_statement_is_text_for_people_and_machines(fitted, name, variant):
    statement = fitted(name, variant).privacy_
    values = json.loads(statement.to_json())
    assert values["epsilon"] == (None if variant == "as_published" else 2.0)
    named = sum(str(statement).count(mechanism) for mechanism in {entry.mechanism for entry in statement.entries})
    assert len(values["entries"]) == len(statement.entries) == named
    for entry in statement.entries:
        assert entry.name in str(statement)
        assert entry.cost > 0
        assert entry.scale > 0


def second_opinion(statement) -> float:
    """Return the epsilon of a statement's entries by privacy loss distributions."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    make = {
        "discrete Laplace": lambda cost: pld.from_discrete_laplace_mechanism(cost, value_discretization_interval=1e-4),
        "discrete Gaussian": lambda cost: pld.from_gaussian_mechanism(1 / cost, value_discretization_interval=1e-4),
    }
    laws = [(entry.mechanism, entry.sensitivity / entry.scale) for entry in statement.entries]
    composed = pld.identity(value_discretization_interval=1e-4)
    for mechanism, cost in sorted(set(laws)):
        composed = composed.compose(make[mechanism](cost).self_compose(laws.count((mechanism, cost))))
    return composed.get_epsilon_for_delta(statement.delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LSH-Splits", "FastLloyd"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-7), (3.0, 1e-5)])
def test_a_second_accountant_finds_no_more_than_is_stated(blobs, name, epsilon, delta):
    statement = peer(name, epsilon=epsilon, delta=delta, random_state=0).fit(blobs).privacy_
    assert {entry.mechanism for entry in statement.entries} <= {"discrete Laplace", "discrete Gaussian"}
    found = second_opinion(statement)
    assert found <= epsilon * (1 + 2e-3)  # they round losses up
    # The tree's budget and the mean's are added as published, though together they cost a tenth less.
    assert found > epsilon * (0.85 if name == "LSH-Splits" else 0.999)


def test_the_costs_of_dp_lloyd_add_up(fitted):
    statement = fitted("DP-Lloyd").privacy_
    spent = math.fsum(entry.sensitivity / entry.scale for entry in statement.entries)
    assert 2.0 * (1 - 1e-6) < spent <= 2.0
    assert statement.delta == 0.0


@pytest.mark.slow
@every_peer
def test_the_ledger_depends_on_public_things_only(blobs, name):
    """Rows, seed and order may be what they like: names, laws, scales and costs are those of the plan."""
    facts = [
        [
            (e.name, e.level, e.mechanism, e.scale, e.cost)
            for e in peer(name, random_state=seed).fit(rows).privacy_.entries
        ]
        for rows, seed in ((blobs, 0), (blobs[:10], 1), (np.zeros((0, 2)), 2), (np.full((50, 2), 99.0), None))
    ]
    assert all(other == facts[0] for other in facts[1:])


# --- inputs -------------------------------------------------------------------------------------------------------

CONTAINERS = {
    "list": np.ndarray.tolist,
    "fortran": np.asfortranarray,
    "single": lambda rows: rows.astype(np.float32).astype(np.float64),
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "arrow": lambda rows: pa.table(dict(zip(NAMES, rows.T.copy(), strict=True))),
}


@pytest.mark.slow
@every_peer
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_container_does_not_matter(blobs, name, container):
    rows = blobs[:500].astype(np.float32).astype(np.float64)
    expected = peer(name, random_state=0, expected_rows=500).fit(rows)
    held = CONTAINERS[container](rows)
    model = peer(name, random_state=0, expected_rows=500).fit(held)
    assert model.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    assert model.predict(held).tolist() == expected.predict(rows).tolist()
    named = container in ("pandas", "polars", "arrow")
    assert hasattr(model, "feature_names_in_") is named
    assert [bound["name"] for bound in model.privacy_.bounds] == (NAMES if named else ["x0", "x1"])


@pytest.mark.slow
@every_peer
def test_columns_may_come_in_another_order_later(blobs, name):
    frame = pd.DataFrame(blobs, columns=NAMES)
    model = peer(name, bounds={"b": (-100, 100), "a": (-200, 100)}, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.predict(frame[["b", "a"]]).tolist() == model.predict(frame).tolist()
    with pytest.raises(DataError, match="lacks columns"):
        model.predict(frame.rename(columns={"a": "c"}))
    model.set_params(bounds=BOUNDS).fit(blobs)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.slow
@every_peer
@pytest.mark.parametrize("n_columns", [1, 3])
def test_another_number_of_columns_is_refused(fitted, name, n_columns):
    model = fitted(name)
    with pytest.raises(DataError, match=f"X has {n_columns} features.*expecting 2 features"):
        model.predict(np.zeros((5, n_columns)))


@pytest.mark.slow
@every_peer
def test_rows_outside_the_bounds_act_like_clipped_rows(blobs, name):
    rows = blobs.copy()
    rows[::10] *= 1e6
    rows[5] = [1e300, -1e300]
    model, clipped = (peer(name, random_state=0).fit(table) for table in (rows, np.clip(rows, *BOUNDS)))
    assert result(model) == result(clipped)
    assert model.predict(rows).tolist() == model.predict(np.clip(rows, *BOUNDS)).tolist()
    assert np.all(np.abs(model.cluster_centers_) <= 100)


@pytest.mark.slow
@every_variant
@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_hardly_any_rows_go_the_same_way_as_many(blobs, name, variant, n_rows, seed):
    model = peer(name, variant=variant, random_state=seed).fit(blobs[:n_rows])
    assert np.isfinite(model.cluster_centers_).all()
    assert 1 <= model.n_clusters_ == len(model.cluster_centers_) == len(model.cluster_sizes_) <= 4
    assert model.predict(blobs[:n_rows]).shape == (n_rows,)
    assert model.predict(blobs).shape == (len(blobs),)


@pytest.mark.slow
@every_variant
@pytest.mark.parametrize("value", [0.0, -100.0, 12.3456])
def test_equal_rows_just_work(name, variant, value):
    model = peer(name, variant=variant, epsilon=50.0, random_state=0).fit(np.full((2000, 2), value))
    assert np.isfinite(model.cluster_centers_).all()
    assert np.all(np.abs(model.cluster_centers_) <= 100)


@pytest.mark.slow
@every_peer
@pytest.mark.parametrize("n_columns", [1, 7])
def test_any_number_of_columns(name, n_columns):
    if name == "Noisy grid" and n_columns > 3:
        pytest.skip("A grid is for up to three columns; more are refused.")
    rows = np.random.default_rng(0).uniform(-100, 100, (400, n_columns))
    model = peer(name, random_state=0, expected_rows=400).fit(rows)
    assert model.cluster_centers_.shape[1] == model.n_features_in_ == n_columns


@pytest.mark.slow
@every_peer
def test_unequal_bounds_and_whole_numbers(blobs, name):
    """A column in other units gives the same clusters in these units."""
    units = np.array([1.0, 1e-3])
    model = peer(name, bounds=[(-100, 100), (-100, 100)], random_state=0).fit(blobs)
    other = peer(name, bounds=[(-100, 100), (-0.1, 0.1)], random_state=0).fit(blobs * units)
    assert other.cluster_centers_ / units == pytest.approx(model.cluster_centers_, abs=0.1)
    assert np.mean(other.predict(blobs * units) == model.predict(blobs)) > 0.99
    whole = peer(name, bounds=(-100, 100, "int"), random_state=0).fit(np.rint(blobs))
    assert np.all(np.abs(whole.cluster_centers_) <= 100)


CANARY = 37.1234567890123


def complete_text(error: BaseException) -> str:
    """Return what a log would show of an error and all that led to it, without the lines of code."""
    lines = traceback.TracebackException.from_exception(error, lookup_lines=False).format(chain=True)
    return "\n".join(line for line in lines if not line.lstrip().startswith("File ")) + repr(error)


@every_variant
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_values_are_refused_without_a_word_about_them(nothing_is_drawn, blobs, name, variant, value):
    rows = blobs.copy()
    rows[17], rows[18, 1] = CANARY, value
    with pytest.raises(DataError, match="missing or infinite") as caught:
        peer(name, variant=variant).fit(rows)
    text = complete_text(caught.value)
    assert "37.1234" not in text
    assert "6000" not in text
    assert "17" not in str(caught.value)
    assert "on_missing" not in text


@every_peer
def test_predict_refuses_missing_values(fitted, name):
    model = fitted(name)
    with pytest.raises(DataError, match="missing or infinite"):
        model.predict([[0.0, np.nan]])


@every_peer
def test_predict_needs_a_fit(blobs, name):
    with pytest.raises(ValueError, match="not fitted"):
        peer(name).predict(blobs)


@pytest.mark.slow
@every_peer
def test_predict_returns_the_nearest_centre(fitted, blobs, name):
    model = fitted(name)
    distances = ((blobs[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2)
    assert model.predict(blobs).tolist() == distances.argmin(axis=1).tolist()
    assert peer(name, random_state=0).fit_predict(blobs).tolist() == model.predict(blobs).tolist()


# --- leaks --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_variant
def test_nothing_exact_is_kept(name, variant):
    n_rows = 4327
    rows = np.random.default_rng(0).uniform(-90, 90, (n_rows, 2))
    rows[0, 0] = CANARY
    model = peer(name, variant=variant, epsilon=0.5, random_state=0).fit(rows)
    assert not hasattr(model, "labels_")
    sizes = {np.size(value) for value in vars(model).values() if isinstance(value, np.ndarray)}
    assert max(sizes) < 20
    for thing in (model, copy.deepcopy(model)):
        content = pickle.dumps(thing)
        assert len(content) < 20_000
        assert not any(struct.pack(f"{order}d", CANARY) in content for order in "<>")
    texts = [repr(model), str(model), repr(vars(model)), model.privacy_.to_json(), str(model.privacy_)]
    assert not any("37.1234" in text or re.search(rf"(?<![\d.]){n_rows}(?!\d)", text) for text in texts)
    assert pickle.loads(pickle.dumps(model)).predict(rows).tolist() == model.predict(rows).tolist()


# --- use ----------------------------------------------------------------------------------------------------------


def inertia(rows, centres) -> float:
    return float(((rows[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1).mean())


@pytest.mark.slow
@every_variant
def test_clusters_are_found(blobs, middles, name, variant):
    """Better by far than four centres that saw no row, on average over fixed seeds."""
    found = [
        inertia(blobs, peer(name, variant=variant, random_state=seed).fit(blobs).cluster_centers_) for seed in range(5)
    ]
    rng = np.random.default_rng(0)
    trivial = [inertia(blobs, rng.uniform(-100, 100, (4, 2))) for _ in range(200)]
    assert np.mean(found) < 0.5 * np.mean(trivial)
    assert np.mean(found) < inertia(blobs, np.zeros((1, 2))) / 3


@pytest.mark.slow
@every_peer
def test_a_larger_epsilon_helps(blobs, name):
    errors = [
        np.mean([inertia(blobs, peer(name, epsilon=e, random_state=s).fit(blobs).cluster_centers_) for s in range(4)])
        for e in (0.01, 20.0)
    ]
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.slow
@every_peer
def test_sizes_are_about_right(blobs, name):
    model = peer(name, epsilon=50.0, random_state=1).fit(blobs)
    assert model.cluster_sizes_.sum() == pytest.approx(6000, rel=0.15)
    assert np.all(model.cluster_sizes_ >= 0)
