"""Bounds in every form that is allowed, and a helpful error for every form that is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian import BoundsError, Category, Column, ParameterError, Schema
from dpmondrian.schema.bounds import GivenBounds

NAMES = ("age", "children")
WHOLE = (False, True)


def facts(schema: Schema) -> list[tuple[str, float, float, bool]]:
    return [(column.name, column.lower, column.upper, column.whole) for column in schema.columns]


@pytest.mark.parametrize(
    "bounds",
    [
        [(0, 120), (0, 12)],
        [[0, 120], [0, 12]],
        ((0, 120), (0, 12)),
        np.array([[0, 120], [0, 12]]),
        np.array([[0.0, 120.0], [0.0, 12.0]], dtype=np.float32),
        {"age": (0, 120), "children": (0, 12)},
        {"children": (0, 12), "age": np.array([0, 120])},
        {"age": (0, 120, "float"), "children": (0, 12, "int")},
        [("age", 0, 120, "float"), ("children", 0, 12, "int")],
        [("age", 0, 120), ("children", 0, 12)],
        [(0, 120, "real"), (0, 12, "whole")],
        Schema((Column("age", 0, 120), Column("children", 0, 12, whole=True))),
        Schema((Column("children", 0, 12, whole=True), Column("age", 0, 120))),
    ],
)
def test_every_form_of_bounds_gives_the_same_schema(bounds):
    schema = Schema.from_bounds(bounds, NAMES, WHOLE)
    assert facts(schema) == [("age", 0.0, 120.0, False), ("children", 0.0, 12.0, True)]


@pytest.mark.parametrize(
    "pair", [(-1, 2), [-1, 2], np.array([-1, 2]), np.array([-1.0, 2.0]), (np.int8(-1), np.float32(2))]
)
def test_one_pair_serves_all_columns(pair):
    assert facts(Schema.from_bounds(pair, NAMES, WHOLE)) == [("age", -1.0, 2.0, False), ("children", -1.0, 2.0, True)]


@pytest.mark.parametrize(
    ("word", "whole"), [("int", True), ("whole", True), ("integer", True), ("float", False), ("real", False)]
)
def test_a_word_overrides_the_type_of_the_column(word, whole):
    assert [column.whole for column in Schema.from_bounds((0, 9, word), NAMES, WHOLE).columns] == [whole, whole]


def test_a_schema_decides_about_whole_numbers_itself():
    schema = Schema((Column("age", 0, 120, whole=True), Column("children", 0, 12)))
    assert [column.whole for column in Schema.from_bounds(schema, NAMES, WHOLE).columns] == [True, False]


@pytest.mark.parametrize(
    ("bounds", "fragments"),
    [
        (None, ["'bounds'", "missing", "without the data", "bounds=(0, 1)"]),
        (5, ["'bounds'", "a pair, a list of pairs, a mapping or a Schema", "5"]),
        (object, ["'bounds'", "object"]),
        ((1, 0), ["'age'", "lower < upper", "(1, 0)", "Swap"]),
        ((3, 3), ["'age'", "lower < upper", "(3, 3)"]),
        ((-1.7e308, 1.7e308), ["'age'", "must", "1.7e+308"]),
        ((math.nan, 1), ["'age'", "finite", "nan"]),
        ((0, math.inf), ["'age'", "finite", "inf"]),
        ((0, 10**400), ["'age'", "finite"]),
        ((None, 1), ["'age'", "finite", "None"]),
        ((0, None), ["'age'", "finite", "None"]),
        ((True, 5), ["'age'", "finite", "True"]),
        ((0, 1, "maybe"), ["'age'", "pair (lower, upper)", "maybe"]),
        ((0, 1, 2), ["'age'", "pair (lower, upper)", "(0, 1, 2)"]),
        ([(0, 1)], ["'bounds'", "2 columns", "1 pair instead", "single pair (lower, upper)"]),
        ([(0, 1)] * 3, ["'bounds'", "2 columns", "3 pairs"]),
        ([(0, 1), (1, 0)], ["'children'", "lower < upper", "(1, 0)"]),
        ([(0, 1), (0,)], ["'children'", "pair (lower, upper)", "(0,)"]),
        ([(0, 1), 7], ["'children'", "pair (lower, upper)", "7"]),
        ([(0, 1), "ab"], ["'children'"]),
        ([(0, 1), ("children", 0, "x", "int")], ["'children'", "finite", "'x'"]),
        ([("children", 0, 12), ("age", 0, 120)], ["'bounds'", "'children'", "'age'"]),
        (np.zeros((2, 3)), ["'age'", "pair (lower, upper)"]),
        (np.zeros((2, 2, 2)), ["'age'"]),
        ({"age": (0, 120)}, ["'bounds'", "every column", "['children']"]),
        ({"age": (0, 120), "children": (0, 12), "bmi": (1, 2)}, ["'bounds'", "['bmi']", "['age', 'children']"]),
        ({"aeg": (0, 120), "children": (0, 12)}, ["['aeg']", "Did you mean 'age'"]),
        ({"AGE": (0, 120), "children": (0, 12)}, ["['AGE']", "Did you mean 'age'"]),
        ({}, ["'bounds'", "every column"]),
        (Schema((Column("age", 0, 1),)), ["'bounds'", "['children']"]),
        (Schema((Column("age", 0, 1), Column("childern", 0, 1))), ["['childern']", "Did you mean 'children'"]),
    ],
)  # fmt: skip
def test_bad_bounds_are_refused_with_rule_value_and_way_out(bounds, fragments):
    with pytest.raises(BoundsError) as caught:
        Schema.from_bounds(bounds, NAMES, WHOLE)
    assert isinstance(caught.value, ParameterError)
    for fragment in fragments:
        assert fragment in str(caught.value)


@pytest.mark.parametrize("columns", [(), (Column("a", 0, 1), Column("a", 0, 2))])
def test_a_schema_has_columns_with_different_names(columns):
    with pytest.raises(BoundsError):
        Schema(columns)


def test_a_column_cannot_be_changed():
    with pytest.raises(AttributeError):
        Column("a", 0, 1).lower = -1


@pytest.mark.parametrize(
    ("lower", "upper", "n_values"), [(0, 1, 2), (0, 12, 13), (0.5, 3.5, 3), (-2.5, 2, 5), (0.1, 0.9, 0)]
)
def test_n_values_counts_whole_numbers_within_the_bounds(lower, upper, n_values):
    assert Column("a", lower, upper, whole=True).n_values == n_values


def test_weights_are_one_for_equal_ranges_and_even_out_others():
    assert Schema((Column("a", 0, 5), Column("b", 5, 10))).weights.tolist() == [1.0, 1.0]
    schema = Schema((Column("grams", 0, 3000), Column("kilograms", 0, 3)))
    assert schema.weights[0] * 3000 == pytest.approx(schema.weights[1] * 3)
    assert (schema.weights * (schema.upper - schema.lower)).mean() == pytest.approx(1501.5)


def test_a_schema_written_as_plain_values_reads_back():
    schema = Schema((Column("a", 0, 5), Column("b", 5, 10, whole=True)))
    assert Schema(tuple(Column(**column) for column in schema.to_dict())) == schema


def test_two_dates_are_not_taken_for_categories():
    days = ("2023-01-01", "2024-12-31")
    with pytest.raises(
        BoundsError, match=r"must say whether these dates are bounds.*'date': 'days', 'lower': '2023-01-01'"
    ):
        GivenBounds({"admitted": days}).schema(["admitted"], [False])
    [column] = GivenBounds({"admitted": {"categories": list(days)}}).schema(["admitted"], [False]).columns
    assert column == Category("admitted", days)
