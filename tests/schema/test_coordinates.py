"""Log scales: public maps of single rows, and the way back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian import BoundsError, Column, Schema
from dpmondrian.engines.coded import view_of
from dpmondrian.schema.coordinates import Coordinates, _log
from dpmondrian.tables import frames
from dpmondrian.tables.frames import read_table

LINEAR = Schema((Column("age", 0, 120), Column("bmi", 10, 60), Column("children", 0, 12, whole=True)))
LOG = Schema((Column("age", 0, 120), Column("income", 100, 1e6, log=True), Column("dose", 1e-9, 1e-2, log=True)))
WHOLE = Schema((Column("cost", 1, 1e6, log=True), Column("children", 0, 12, whole=True), Column("bmi", 10, 60)))
VIEWS = {"log": Coordinates(LOG), "log beside whole numbers": Coordinates(WHOLE)}
every_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


def rows_of(schema: Schema, n_rows: int, seed: int = 0) -> np.ndarray:
    """Return rows within and beyond the bounds, on the columns' scales, some on the bounds."""
    share = np.random.default_rng(seed).uniform(-0.1, 1.1, (n_rows, len(schema.columns)))
    share[::7] = np.rint(share[::7])
    columns = [
        column.lower * (column.upper / column.lower) ** part
        if column.log
        else column.lower + part * (column.upper - column.lower)
        for part, column in zip(share.T, schema.columns, strict=True)
    ]
    return np.column_stack(columns)


def inside(schema: Schema, rows: np.ndarray) -> np.ndarray:
    return np.clip(rows, schema.lower, schema.upper)


def bits(values: np.ndarray) -> list[bytes]:
    """Return the bytes of every row."""
    return [row.tobytes() for row in values]


# Without log columns nothing happens


def test_plain_coordinates_are_the_values_themselves():
    plain = Coordinates(LINEAR)
    rows = rows_of(LINEAR, 50)
    table = read_table(rows)
    assert plain.plain
    assert plain.schema is LINEAR
    assert view_of(table, plain, "error") is table
    assert plain.of_rows(rows) is rows
    assert plain.rule_ranges == LINEAR.ranges
    assert plain.values(rows) is rows
    assert plain.errors(rows, rows) is rows


@every_view
def test_other_coordinates_are_not_plain(view):
    assert not view.plain


# Log scale


@pytest.mark.parametrize("lower", [1e-100, 1e-9, 0.5, 1.0, 100.0])
def test_the_logarithm_is_right_to_the_last_bits(lower):
    values = lower * np.exp(np.random.default_rng(0).uniform(0, math.log(1e100) / 2, 20_000))
    values[:4] = [1.0, 2.0, 0.5, np.nextafter(1.0, 2.0)]
    expected = np.array([math.log(value) for value in values])
    assert np.all(np.abs(_log(values) - expected) <= 4 * np.spacing(np.abs(expected)))
    assert np.isnan(_log(np.array([np.nan]))).all()


def test_equal_ratios_are_equal_distances():
    schema = Schema((Column("income", 100, 1e6, log=True),))
    coordinates = Coordinates(schema).of_rows(np.array([[500.0], [5000.0], [50_000.0]]))
    np.testing.assert_allclose(np.diff(coordinates[:, 0]), math.log(10), rtol=1e-14)


def test_log_columns_are_clipped_first_and_others_stay_as_they_are():
    rows = np.array([[-3.0, -5.0, 1e-3], [np.inf, 0.0, 7.0], [130.0, 1e300, -np.inf], [np.nan, np.nan, 1e-12]])
    coordinates = VIEWS["log"].of_rows(rows)
    np.testing.assert_array_equal(coordinates[:, 0], rows[:, 0])
    low, high = math.log(100), math.log(1e6)
    np.testing.assert_allclose(coordinates[:, 1], [low, low, high, np.nan], rtol=1e-15)
    np.testing.assert_allclose(coordinates[:, 2], [math.log(1e-3), math.log(1e-2), np.nan, math.log(1e-9)], rtol=1e-15)


def test_ranges_and_weights_are_those_of_the_logarithms():
    assert LOG.ranges == (120.0, math.log(1e6) - math.log(100), math.log(1e-2) - math.log(1e-9))
    np.testing.assert_allclose(LOG.weights * LOG.ranges, np.mean(LOG.ranges))
    assert VIEWS["log"].schema.ranges == LOG.ranges
    decades = Schema((Column("a", 1, 1000, log=True), Column("b", 1, 1000, log=True)))
    assert decades.weights.tolist() == [1.0, 1.0]


def test_thresholds_come_back_in_own_units_and_on_the_side_of_the_rows():
    schema = Schema((Column("x", 0, 1), Column("income", 1, 1e6, log=True)))
    coordinates = Coordinates(schema)
    column, limits = np.array([1, 0, -1, 1, 1]), np.array([math.log(1e6) / 2, 0.25, np.nan, 1e-9, 13.8])
    thresholds = coordinates.thresholds(column, limits)
    np.testing.assert_allclose(thresholds, [1000.0, 0.25, np.nan, 1 + 1e-9, math.exp(13.8)], rtol=1e-12)
    for node in (0, 3, 4):
        value = thresholds[node]
        for _ in range(50):
            value = np.nextafter(value, 0.0)
        for _ in range(100):
            [[_, logarithm]] = coordinates.of_rows(np.array([[0.5, value]]))
            assert (logarithm <= limits[node]) == (value <= thresholds[node])
            value = np.nextafter(value, np.inf)


# One row's coordinates are a function of that row


@every_view
@pytest.mark.parametrize("fill_missing", [False, True])
def test_coordinates_of_a_row_are_the_same_bits_in_every_block(view, fill_missing):
    rows = rows_of(view.given, 3001)
    rows[5::97] = np.nan
    rows[8::89, 0] = np.inf
    expected = bits(view.of_rows(rows, fill_missing))
    generator = np.random.default_rng(1)
    for _ in range(30):
        start, size = generator.integers(0, 3000), generator.integers(1, 70)
        assert bits(view.of_rows(rows[start : start + size], fill_missing)) == expected[start : start + size]
    for i in range(0, 3001, 13):
        assert bits(view.of_rows(rows[i : i + 1], fill_missing)) == expected[i : i + 1]
    order = generator.permutation(3001)
    assert bits(view.of_rows(rows[order], fill_missing)) == [expected[i] for i in order]
    assert bits(view.of_rows(np.asfortranarray(rows), fill_missing)) == expected
    assert bits(view.of_rows(rows[::3], fill_missing)) == expected[::3]


@every_view
def test_a_changed_row_changes_its_own_coordinates_only(view):
    rows = rows_of(view.given, 2000)
    expected = bits(view.of_rows(rows))
    for i, new in ((0, 0.3), (777, np.nan), (1024, -1e300), (1999, np.inf)):
        neighbour = rows.copy()
        neighbour[i] = new
        changed = [j for j, (a, b) in enumerate(zip(bits(view.of_rows(neighbour)), expected, strict=True)) if a != b]
        assert changed == [i]


@every_view
def test_blocks_of_a_view_are_the_coordinates_of_the_rows(view, monkeypatch):
    monkeypatch.setattr(frames, "BLOCK_ROWS", 64)
    rows = rows_of(view.given, 500)
    table = view_of(read_table(rows), view, "error")
    assert (table.n_rows, table.names) == (500, view.schema.names)
    blocks = list(table.blocks())
    assert len(blocks) == 8
    assert all(block.flags.c_contiguous and block.dtype == np.float64 for block in blocks)
    assert bits(np.concatenate(blocks)) == bits(view.of_rows(rows))


# The way back


@every_view
def test_centres_come_back_in_the_columns_units(view):
    points = inside(view.given, rows_of(view.given, 200))
    np.testing.assert_allclose(view.values(view.of_rows(points)), points, rtol=1e-11, atol=1e-11)


@every_view
def test_centres_beyond_the_bounds_are_clipped(view):
    lower, upper = view.schema.lower, view.schema.upper
    far = np.array([5.0 * upper, 5.0 * lower, 7.0 * np.abs(upper)])
    centres = view.values(far)
    assert np.all((centres >= view.given.lower) & (centres <= view.given.upper))
    assert np.all(np.isfinite(view.errors(np.ones_like(far), centres)))


def test_errors_come_back_by_the_delta_method():
    view = VIEWS["log"]
    centres = view.values(np.array([[50.0, math.log(2e3), math.log(1e-5)]]))
    np.testing.assert_allclose(centres, [[50.0, 2e3, 1e-5]])
    errors = view.errors(np.array([[2.0, 0.1, 0.3]]), centres)
    np.testing.assert_allclose(errors, [[2.0, 200.0, 3e-6]])


# Declaring


@pytest.mark.parametrize(
    "bounds",
    [
        {"age": (0, 120), "income": (100, 1e6, "log")},
        [(0, 120), (100, 1e6, "log")],
        [("age", 0, 120), ("income", 100, 1e6, "log")],
        [(0, 120), (100, 1e6, "float", "log")],
        Schema((Column("income", 100, 1e6, log=True), Column("age", 0, 120))),
    ],
    ids=str,
)
def test_a_log_scale_is_declared_in_the_bounds_and_overrides_the_type(bounds):
    schema = Schema.from_bounds(bounds, ("age", "income"), (False, True))
    assert schema.columns == (Column("age", 0, 120), Column("income", 100, 1e6, whole=False, log=True))


def test_a_schema_names_the_log_scale_only_where_there_is_one():
    schema = Schema((Column("age", 0, 120), Column("income", 100, 1e6, log=True)))
    assert schema.to_dict() == [
        {"name": "age", "lower": 0.0, "upper": 120.0, "whole": False},
        {"name": "income", "lower": 100.0, "upper": 1e6, "whole": False, "log": True},
    ]
    assert Schema(tuple(Column(**column) for column in schema.to_dict())) == schema


@pytest.mark.parametrize(
    ("bounds", "fragments"),
    [
        ((0, 1e6, "log"), ["'income'", "positive on a log scale", "(0, 1e+06)", "Raise the lower bound"]),
        ((-5, 1e6, "log"), ["'income'", "positive on a log scale", "(-5, 1e+06)"]),
        ((100, 10, "log"), ["'income'", "lower < upper"]),
        ((1, 100, "int", "log"), ["'income'", "'int' or 'log', not both", "windows on a log scale", "Omit 'int'"]),
        ((1, 100, "log", "whole"), ["'income'", "not both"]),
        ([("income", 1, 100, "int", "log")], ["'income'", "not both"]),
        ((1, 100, "log", "log"), ["'income'", "pair (lower, upper)", "'log' as an optional third item"]),
        ((1, 100, "int", "float"), ["'income'", "pair (lower, upper)"]),
        ((1, 100, "ln"), ["'income'", "pair (lower, upper)", "'ln'"]),
        ((1e99, np.nextafter(1e99, 1e100), "log"), ["'income'", "different logarithms", "Omit 'log'"]),
    ],
    ids=str,
)
def test_bad_log_scales_are_refused_with_rule_value_and_way_out(bounds, fragments):
    with pytest.raises(BoundsError) as caught:
        Schema.from_bounds(bounds, ("income",), (False,))
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("log", [1, "log", None, 0.0], ids=repr)
def test_the_log_scale_of_a_column_is_a_truth_value(log):
    with pytest.raises(BoundsError, match="true or false for 'whole' and 'log'"):
        Column("income", 100, 1e6, log=log)
