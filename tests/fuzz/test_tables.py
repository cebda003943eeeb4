"""Whatever is given as a table: it is clustered, or refused by an error of this package."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dpmondrian import DPM, DPMondrianError, suggest_bounds

NUMBER_TYPES = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.unsigned_integer_dtypes(endianness="?"),
    npst.floating_dtypes(endianness="?"),
)
OTHER_TYPES = st.one_of(
    npst.complex_number_dtypes(), npst.datetime64_dtypes(), npst.timedelta64_dtypes(), npst.byte_string_dtypes(),
    npst.unicode_string_dtypes(), npst.array_dtypes(max_size=2),
)  # fmt: skip
SHAPES = npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=12)
TABLE_SHAPES = st.tuples(st.integers(0, 40), st.integers(1, 4))
ODD = st.sampled_from(
    [
        *(None, True, 0, -1, 2**63, 10**400, 1e308, -0.0, 5e-324, float("nan"), float("inf"), "", "1", "ZX", b"1", 1j),
        *(Decimal(1), Decimal("NaN"), Fraction(1, 3), pd.NA, pd.NaT, np.datetime64("NaT", "ns"), np.ma.masked),
        *((), [1], {"a": 1}, object),
    ]
)


@st.composite
def arrays(draw):
    """Return arrays of all types and shapes, most of them tables of numbers, laid out in memory in all ways."""
    usual = draw(st.integers(0, 4)) > 0
    dtype = draw(NUMBER_TYPES if usual else OTHER_TYPES)
    array = draw(npst.arrays(dtype, draw(TABLE_SHAPES if usual else SHAPES)))
    layout = draw(
        st.sampled_from(["as it is", "transposed", "reversed", "every second", "broadcast", "read-only", "list"])
    )
    if layout == "transposed":
        return array.T
    if layout == "reversed":
        return array[::-1, ::-1] if array.ndim == 2 else array[::-1]
    if layout == "every second":
        return array[::2]
    if layout == "broadcast" and array.ndim == 2 and len(array):
        return np.broadcast_to(array[:1], (30, array.shape[1]))
    if layout == "list":
        return array.tolist()
    array.setflags(write=layout != "read-only")
    return array


@st.composite
def odd_lists(draw):
    """Return lists of lists with anything in them."""
    rows = draw(st.lists(st.lists(ODD, max_size=3), max_size=4))
    return np.array([*rows, None], dtype=object)[:-1].tolist() if draw(st.booleans()) else rows


@st.composite
def frames(draw):
    """Return tables of three libraries with columns of all types, and names that may be odd or the same."""
    n_rows = draw(st.integers(0, 30))
    n_columns = draw(st.integers(0, 4))
    names = draw(
        st.lists(st.sampled_from(["a", "b", "c", "d", "", "a b", "é", "\n"]), min_size=n_columns, max_size=n_columns)
    )
    columns = [draw(column_values(n_rows)) for _ in names]
    library = draw(st.sampled_from(["pandas", "polars", "arrow"]))
    try:
        if library == "pandas":
            frame = pd.concat([pd.Series(values) for values in columns], axis=1) if columns else pd.DataFrame()
            frame.columns = names if draw(st.booleans()) else range(n_columns)
            return frame
        arrow = pa.table([pa.array(values, from_pandas=draw(st.booleans())) for values in columns], names=names)
        return pl.from_arrow(arrow) if library == "polars" else arrow
    except Exception:  # the library itself does not take it
        return pd.DataFrame({"a": [1.0]})


@st.composite
def column_values(draw, n_rows):
    kind = draw(st.sampled_from(["number", "number", "number", "odd", "text", "nested", "category", "time"]))
    if kind == "number":
        values = draw(npst.arrays(draw(NUMBER_TYPES), n_rows))
        with np.errstate(all="ignore"):
            return values.astype(draw(st.sampled_from(["=f8", "=f4", "=i8", "=u1", "?"])), casting="unsafe")
    if kind == "odd":
        return draw(st.lists(ODD, min_size=n_rows, max_size=n_rows))
    if kind == "nested":
        return [[1, 2]] * n_rows if draw(st.booleans()) else [{"a": 1}] * n_rows
    if kind == "time":
        return np.full(n_rows, np.datetime64("2020-01-01", "ns"))
    texts = draw(st.lists(st.sampled_from(["x", "y", "other", "", "ZX"]), min_size=n_rows, max_size=n_rows))
    return texts if kind == "text" else pd.Categorical(texts)


PARAMETERS = st.fixed_dictionaries(
    {
        "on_missing": st.sampled_from(["error", "drop", "middle"]),
        "bounds": st.sampled_from(
            [
                (0, 10),
                (1, 1e6, "log"),
                (-1e100, 1e100),
                {"a": (0, 1), "b": ["x", "y"]},
                {"a": ["x"], "b": (0, 1)},
                [(0, 1)] * 2,
            ]
        ),
        "person_id": st.sampled_from([None, None, None, "a", "c"]),
        "n_clusters": st.sampled_from([None, 2]),
        "max_depth": st.integers(0, 3),
    }
)


def outcome(table, parameters):
    """Fit, predict and transform; any error but those of this package is passed on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy and pandas, about values that cannot be cast
        try:
            model = DPM(epsilon=5.0, random_state=0, **parameters).fit(table)
        except DPMondrianError:
            return
        labels, distances = model.predict(table), model.transform(table)
    assert len(labels) == len(distances) == len(model.labels_)
    assert np.all(np.isfinite(model.cluster_centers_))
    model.release_.to_json()


@settings(settings.get_profile("fuzz"))
@given(table=arrays(), parameters=PARAMETERS)
def test_arrays(table, parameters):
    outcome(table, parameters)


@settings(settings.get_profile("fuzz"))
@given(table=odd_lists(), parameters=PARAMETERS)
def test_lists(table, parameters):
    outcome(table, parameters)


@settings(settings.get_profile("fuzz"))
@given(table=frames(), parameters=PARAMETERS)
def test_frames(table, parameters):
    outcome(table, parameters)


@settings(settings.get_profile("fuzz"))
@given(table=arrays() | frames(), epsilon=ODD | st.just(1.0), person_id=st.sampled_from([None, "a"]))
def test_suggested_bounds(table, epsilon, person_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            suggested = suggest_bounds(table, epsilon, person_id=person_id, random_state=0)
        except DPMondrianError:
            return
    suggested.to_json()


@pytest.mark.parametrize(
    "thing", [None, 0, "text", b"bytes", object(), iter([[1.0]]), {"a": [1.0]}, np.float64(1), [], [[]], int, print]
)
def test_things_that_are_no_tables(thing):
    with pytest.raises(DPMondrianError):
        DPM(bounds=(0, 1)).fit(thing)


def test_a_file_mapped_into_memory_is_a_table(tmp_path):
    rows = np.random.default_rng(0).uniform(0, 1, (500, 2))
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    fits = [
        DPM(bounds=(0, 1), random_state=0).fit(table).release_.to_json()
        for table in (rows, mapped, np.asfortranarray(rows))
    ]
    assert fits[0] == fits[1] == fits[2]


def test_many_columns_and_few_rows():
    outcome(np.zeros((3, 2000)), {"bounds": (0, 1), "max_depth": 1})
