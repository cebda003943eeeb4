"""Errors about tables and parameters tell nothing of the rows."""

from __future__ import annotations

import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpmondrian import DPM, DPMondrianError

NAMES = ["spend", "visits"]
BOUNDS = (0, 20_000)
WORD, VALUE = "ZXCANARY", 12345.678901


@pytest.fixture(scope="module")
def numbers(rows) -> np.ndarray:
    return rows[NAMES].to_numpy()


@pytest.fixture(scope="module")
def fitted(numbers) -> DPM:
    return DPM(epsilon=0.3, bounds=BOUNDS, random_state=0).fit(pd.DataFrame(numbers, columns=NAMES))


def a_hole(rows: np.ndarray, value: float = np.nan) -> np.ndarray:
    rows = rows.copy()
    rows[5, 0] = value
    return rows


def words(rows: np.ndarray) -> np.ndarray:
    return rows.astype(str)


BAD_TABLES = {
    "masked texts": lambda rows: np.ma.masked_array([[f"ZXCANARY {value}" for value in rows[0]]], mask=False),
    "missing": a_hole,
    "infinite": lambda rows: a_hole(rows, np.inf),
    "missing in pandas": lambda rows: pd.DataFrame(a_hole(rows), columns=NAMES),
    "missing in polars": lambda rows: pl.DataFrame(a_hole(rows), schema=NAMES),
    "missing in arrow": lambda rows: pa.table(dict(zip(NAMES, a_hole(rows).T.copy(), strict=True))),
    "text": words,
    "text objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, WORD, rows.astype(object)),
    "other objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, {VALUE: 1}, rows.astype(object)),
    "huge objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, 10**400, rows.astype(object)),
    "lists of different length": lambda rows: [*rows.tolist(), [VALUE]],
    "lists of text": lambda rows: [*rows.tolist(), [VALUE, f"{WORD} {VALUE}"]],
    "complex": lambda rows: rows * 1j,
    "one column as a vector": lambda rows: rows[:, 0],
    "three axes": lambda rows: rows[:, :, None],
    "no columns": lambda rows: rows[:, :0],
    "a frame without columns": lambda rows: pd.DataFrame(rows, columns=NAMES)[[]],
    "text in pandas": lambda rows: pd.DataFrame(words(rows), columns=NAMES),
    "objects in pandas": lambda rows: pd.DataFrame(rows, columns=NAMES).astype(object),
    "categories in pandas": lambda rows: pd.DataFrame({"a": pd.Categorical(rows[:, 0]), "b": rows[:, 1]}),
    "ordered categories in pandas": lambda rows: pd.DataFrame({"a": pd.Categorical(rows[:, 0].astype(str), ordered=True), "b": rows[:, 1]}),
    "text in polars": lambda rows: pl.DataFrame(words(rows), schema=NAMES),
    "categories in polars": lambda rows: pl.DataFrame(words(rows), schema=NAMES).cast(pl.Categorical),
    "fixed categories in polars": lambda rows: pl.DataFrame({"a": words(rows)[:, 0]}).cast(pl.Enum(sorted(set(words(rows)[:, 0])))),
    "lists in polars": lambda rows: pl.DataFrame({"a": rows.tolist()}),
    "fixed lists in polars": lambda rows: pl.DataFrame({"a": [rows[:, 0].tolist()]}, schema={"a": pl.Array(pl.Float64, len(rows))}),
    "text in arrow": lambda rows: pa.table({"a": pa.array(words(rows)[:, 0].tolist())}),
    "the same name twice": lambda rows: pd.DataFrame(rows, columns=["a", "a"]),
    "a series": lambda rows: pd.Series(rows[:, 0]),
    "a lazy frame": lambda rows: nw.from_native(pl.DataFrame(rows, schema=NAMES).lazy()),
}  # fmt: skip


def marks_told_by_failure(marks, use, bad) -> set[str]:
    """Return the marks that an error and the warnings before it tell."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it must be silent
            use(bad)
    return marks.error(raised.value) | marks.object([str(warning.message) for warning in caught])


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_TABLES)
def test_errors_of_bad_tables(numbers, fitted, marks, name):
    bad = BAD_TABLES[name](numbers)
    for use in (DPM(bounds=BOUNDS).fit, fitted.predict, fitted.transform):
        assert marks_told_by_failure(marks, use, bad) == set()


def test_errors_of_persons_and_categories(rows, marks):
    frame = rows[["spend", "plan", "person"]]
    bounds = {"spend": BOUNDS, "plan": ["basic"]}
    mixed = frame.assign(plan=np.where(np.arange(len(frame)) == 3, VALUE, frame["plan"].astype(object)))
    lost = frame.assign(person=frame["person"].where(frame["spend"] != VALUE))
    odd = frame.assign(person=[{"name": WORD}] * len(frame))
    uses = [
        (DPM(bounds=bounds, person_id="person").fit, lost),
        (DPM(bounds=bounds, person_id="person").fit, odd),
        (DPM(bounds=bounds, person_id="nobody").fit, frame),
        (DPM(bounds=bounds).fit, frame),
        (DPM(bounds={"spend": BOUNDS}).fit, frame[["spend", "plan"]]),
        (DPM(bounds={"spend": BOUNDS, "plan": (0, 1)}).fit, mixed[["spend", "plan"]]),
    ]
    for use, table in uses:
        assert marks_told_by_failure(marks, use, table) == set()


def test_the_length_of_a_text_is_not_told():
    """The type of a text array names the longest text of all rows."""
    texts = []
    for width in (11, 29):
        with pytest.raises(ValueError, match="numbers") as raised:
            DPM(bounds=(-100, 100)).fit(np.array([["x"], ["y" * width]]))
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


BAD_PARAMETERS = [
    {"epsilon": -1}, {"delta": 2}, {"bounds": None}, {"bounds": (1, 0)}, {"bounds": [(0, 1)] * 3}, {"bounds": {"q": (0, 1)}},
    {"n_clusters": 0}, {"variant": "x"}, {"rows_per_person": 0}, {"on_missing": "x"}, {"max_depth": -1}, {"windows": 1},
    {"t": 0.01}, {"q": 0.9}, {"alpha": -1, "n_clusters": 2}, {"min_cluster_size": 0}, {"budget_shares": {}}, {"random_state": -1},
]  # fmt: skip


@pytest.mark.parametrize("params", BAD_PARAMETERS, ids=str)
def test_errors_of_bad_parameters(numbers, marks, params):
    with pytest.raises(ValueError, match=r"must|missing|names") as raised:
        DPM(**({"bounds": BOUNDS} | params)).fit(numbers)
    assert marks.error(raised.value) == set()


def test_errors_of_other_columns(numbers, fitted, marks):
    for other in (numbers[:, :1], np.hstack([numbers, numbers]), pd.DataFrame(numbers, columns=["spend", "c"])):
        with pytest.raises(ValueError, match=r"features|columns") as raised:
            fitted.predict(other)
        assert marks.error(raised.value) == set()


def test_an_error_that_quotes_a_value_is_caught(marks):
    def quote(rows):
        return float(rows)

    assert marks_told_by_failure(marks, quote, WORD) == {WORD}


@pytest.mark.parametrize("parameter", ["epsilon", "delta", "n_clusters", "random_state"])
@pytest.mark.parametrize(
    "table",
    [
        [[34.125, 87.25], [35.5, 1.0]],
        {"age": [34.125, 87.25], "cost": [1.0, 2.0]},
        [34.125] * 9,
        [(34.125,), (87.25,)],
    ],
    ids=["rows", "columns", "column", "pairs"],
)
def test_a_table_in_place_of_a_parameter_is_not_quoted(parameter, table):
    with pytest.raises(DPMondrianError) as caught:
        DPM(**({"bounds": (0, 100)} | {parameter: table})).fit(np.zeros((5, 2)))
    assert "34.125" not in str(caught.value)
