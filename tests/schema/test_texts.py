"""The text of a value depends on that value alone, however the table is made and whatever stands beside it."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import Category, DataError
from dpmondrian.schema.texts import NoTextError, canonical, canonical_text, text_of, texts_of_arrow
from dpmondrian.tables.frames import read_table

values = st.one_of(
    st.text(max_size=5),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.decimals(allow_infinity=False),
    st.dates(),
    st.none(),
    st.floats(width=32).map(np.float32),
    st.integers(0, 255).map(np.uint8),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (np.int64(7), "7"),
        (1e10, "10000000000"),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.5"),
        (Decimal("100"), "100"),
        (True, "true"),
        (np.False_, "false"),
        (datetime.date(2020, 2, 29), "2020-02-29"),
        (b"abc", "abc"),
        (None, None),
        (float("nan"), None),
        (Decimal("NaN"), None),
        (pd.NA, None),
        (pd.NaT, None),
    ],
)
def test_texts(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"\xff", object()])
def test_values_without_a_text(value):
    with pytest.raises(NoTextError):
        text_of(value)


def numbers_of(column, levels):
    """Return the levels of a pandas column of any values."""
    table = read_table(pd.DataFrame({"c": pd.Series(column, dtype=object)}), {"c": Category("c", levels)})
    return np.concatenate([block[:, 0] for block in table.blocks()])


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(values, min_size=1, max_size=6), values)
def test_no_row_changes_the_category_of_another(column, added):
    """Not even where Arrow would find another type for the whole column."""
    levels = tuple(
        dict.fromkeys(canonical_text(text) for v in column if (text := text_of(v)) and canonical_text(text))
    ) or ("x",)
    before, after = numbers_of(column, levels), numbers_of([*column, added], levels)
    np.testing.assert_array_equal(before, after[:-1])


def test_the_pair_that_broke_it():
    """One more digit in one row turned 1.5 into "1.50" in all others."""
    column = [Decimal("1.5")] * 10
    assert numbers_of(column, ("1.5", "2.0")).tolist() == [0] * 10
    assert numbers_of([*column, Decimal("1.55")], ("1.5", "2.0")).tolist() == [0] * 10 + [2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, None]),
        pa.array([1.0, 2.0, float("nan")]),
        pa.array(["1", " 2 ", None]),
        pa.array(["1.0", "2.00", None]),
        pa.array([Decimal("1.0"), Decimal("2.0"), None]),
        pa.array(["1", "2", None]).dictionary_encode(),
        pa.chunked_array([["1"], ["2", None]]),
        pl.Series(["1", "2", None], dtype=pl.Categorical),
        pl.Series([1, 2, None]),
        pd.Series([1, 2, None]),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series(["1", 2.0, None], dtype=object),
        pd.Series([1, 2, None], dtype="category"),
    ],
    ids=lambda column: (
        f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', getattr(column, 'type', ''))}"
    ),
)
def test_one_value_has_one_text_in_every_library(column):
    frame = {"pyarrow": pa.table, "polars": pl.DataFrame, "pandas": pd.DataFrame}[type(column).__module__.split(".")[0]]
    table = read_table(frame({"c": column, "x": [0.0, 1.0, 2.0]}), {"c": Category("c", ("2", "1"))})
    np.testing.assert_array_equal(next(table.blocks())[:, 0], [1, 0, np.nan])


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()], ids=str)
def test_whole_numbers_of_arrow(kind):
    bits = np.iinfo(kind.to_pandas_dtype())
    column = [0, 1, 65, bits.min, bits.max, None]
    assert texts_of_arrow(pa.array(column, kind)).to_pylist() == [text_of(value) for value in column]


@pytest.mark.parametrize("text", [" a", "a\n", "-0", "12.00", "-7.0", "True", "TRUE", "False", "FALSE"])
def test_one_text_that_is_written_otherwise_among_others(text):
    texts = ["a b", "1.5", text, "0", "true", None]
    expected = [None if one is None else canonical_text(one) for one in texts]
    assert expected[2] != text
    assert canonical(pa.array(texts, pa.large_string())).to_pylist() == expected


@settings(derandomize=True, deadline=None)
@given(st.lists(st.text(alphabet=" 01.-TtrueFalsé\t", max_size=8), max_size=10))
def test_both_ways_to_write_texts_agree(texts):
    assert canonical(pa.array(texts, pa.large_string())).to_pylist() == [canonical_text(text) for text in texts]
    assert [canonical_text(canonical_text(text)) for text in texts] == [canonical_text(text) for text in texts]


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"\xff"])])
def test_columns_without_texts_are_refused_without_a_value(column):
    table = read_table(pa.table({"c": column}), {"c": Category("c", ("a",))})
    with pytest.raises(DataError, match="neither strings nor numbers") as refused:
        next(table.blocks())
    assert refused.value.__cause__ is None


def test_arrow_and_python_agree_on_numbers():
    floats = [0.1, 1e-7, 1.5e300, 2.0**53, -1e22, 3.0]
    assert texts_of_arrow(pa.array(floats)).to_pylist() == [text_of(value) for value in floats]
