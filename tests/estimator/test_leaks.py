"""Nothing exact leaves: not in fitted attributes, pickles, copies, files, texts, errors or warnings."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import struct
import traceback
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from dpmondrian import DPM

CANARY = 37.1234567890123
"""A value that only the rows hold; no grid point or noise looks like it."""

N_ROWS = 4327
GROUPS = (1733, 2594)
NAMES = ["a", "b"]
SETTINGS = [{}, {"delta": 0}, {"variant": "paper"}, {"n_clusters": 4}, {"max_depth": 0}, {"on_missing": "drop"}]


def table() -> np.ndarray:
    """Return two groups of rows of which the first value of each holds the canary."""
    rng = np.random.default_rng(11)
    rows = np.vstack([rng.normal(middle, 4.0, (n, 2)) for middle, n in zip((-50.0, 37.0), GROUPS, strict=True)])
    rows[0, 0] = rows[-1, 1] = CANARY
    return rows


def exact_numbers(rows: np.ndarray) -> set[float]:
    """Return numbers that only a look at the rows can give: counts, extremes, means, sums and the canary."""
    numbers = {CANARY, float(len(rows)), *map(float, GROUPS)}
    for statistic in (np.min, np.max, np.mean, np.sum, np.median, np.std):
        numbers |= set(statistic(rows, axis=0).tolist())
    for start, stop in ((0, GROUPS[0]), (GROUPS[0], N_ROWS)):
        numbers |= set(rows[start:stop].mean(axis=0).tolist())
    return numbers


def numbers_in(thing, seen: set[int] | None = None) -> Iterator[float]:
    """Yield every number that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return
    seen.add(id(thing))
    if isinstance(thing, bool | np.bool_ | str | bytes | None):
        return
    if isinstance(thing, int | float | np.number):
        yield float(thing)
    elif isinstance(thing, np.ndarray) and thing.dtype != object:
        yield from thing.astype(float).ravel().tolist()
        yield from map(float, thing.shape)
    elif isinstance(thing, dict):
        for item in (*thing.keys(), *thing.values()):
            yield from numbers_in(item, seen)
    elif isinstance(thing, list | tuple | set | frozenset | np.ndarray):
        yield float(len(thing))
        for item in thing:
            yield from numbers_in(item, seen)
    elif hasattr(thing, "__dict__") or dataclasses.is_dataclass(thing):
        yield from numbers_in(vars(thing), seen)


def assert_nothing_exact(thing, rows: np.ndarray) -> None:
    found = np.array(list(numbers_in(thing)))
    assert len(found) > 10
    for number in exact_numbers(rows):
        assert not np.any(np.abs(found - number) <= 1e-9 * abs(number)), number


def assert_silent(text: str) -> None:
    """No canary to six digits, no exact count as a number of its own."""
    assert f"{CANARY:.9g}"[:8] not in text
    for count in (N_ROWS, *GROUPS):
        assert not re.search(rf"(?<![\d.]){count}(?![\d]|\.[1-9])", text), count


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return table()


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request, rows) -> DPM:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DPM(0.3, bounds=(-100, 100), random_state=5).set_params(**request.param).fit(rows)


def test_the_search_finds_what_it_should(rows):
    holder = DPM(bounds=(0, 1))
    holder.kept_ = {"deep": [np.array([1.0, CANARY])]}
    assert CANARY in numbers_in(holder)
    holder.kept_ = rows
    assert float(N_ROWS) in numbers_in(holder)
    with pytest.raises(AssertionError):
        assert_silent(f"there are {N_ROWS} rows")
    with pytest.raises(AssertionError):
        assert_silent(f"value {CANARY}")


def test_fitted_attributes_hold_nothing_exact(model, rows):
    attributes = {name: value for name, value in vars(model).items() if name != "_labels"}
    assert_nothing_exact(attributes, rows)
    assert N_ROWS not in {np.size(value) for value in attributes.values() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_nothing_exact(model, rows, protocol):
    content = pickle.dumps(model, protocol)
    assert b"_labels" not in content
    assert b"labels_" not in content
    for order in "<>":
        assert struct.pack(f"{order}d", CANARY) not in content
    assert repr(CANARY).encode() not in content
    assert len(content) < N_ROWS * 8
    again = pickle.loads(content)
    assert not hasattr(again, "labels_")
    assert_nothing_exact(again, rows)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_leave_the_labels_behind(model, rows, copied):
    twin = copied(model)
    assert not hasattr(twin, "labels_")
    assert_nothing_exact(twin, rows)


def test_texts_hold_nothing_exact(model):
    release = model.release_
    for text in (
        repr(model), str(model), repr(model.get_params()), release.to_json(), repr(release), str(release),
        str(model.tree_), repr(model.tree_), "\n".join(model.tree_.rules()), model.privacy_.to_json(),
        str(model.privacy_), repr(model.privacy_),
    ):  # fmt: skip
        assert text
        assert_silent(text)
        assert "labels_" not in text


def test_what_a_notebook_shows_holds_nothing_exact(model):
    """scikit-learn shows all fitted attributes of an estimator with their shapes, and notebooks are published."""
    assert_silent(model._repr_html_())
    assert_silent(make_pipeline(model)._repr_html_())
    assert_silent(str(model._repr_mimebundle_()))


def test_a_saved_file_holds_nothing_exact(tmp_path, model, rows):
    model.save(tmp_path / "release.json")
    text = (tmp_path / "release.json").read_text()
    assert_silent(text)
    assert_nothing_exact(json.loads(text), rows)
    assert_nothing_exact(DPM.load(tmp_path / "release.json"), rows)


def test_warnings_hold_nothing_exact(rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPM(bounds=(-100, 100), random_state=0, n_clusters=3).fit(rows)
    assert caught
    for warning in caught:
        assert_silent(str(warning.message))


def a_hole(rows: np.ndarray, value: float = np.nan) -> np.ndarray:
    rows = rows.copy()
    rows[5, 0] = value
    return rows


def words(rows: np.ndarray) -> np.ndarray:
    return rows.astype(str)


BAD_TABLES = {
    "missing": a_hole,
    "infinite": lambda rows: a_hole(rows, np.inf),
    "missing in pandas": lambda rows: pd.DataFrame(a_hole(rows), columns=NAMES),
    "missing in polars": lambda rows: pl.DataFrame(a_hole(rows), schema=NAMES),
    "missing in arrow": lambda rows: pa.table(dict(zip(NAMES, a_hole(rows).T.copy(), strict=True))),
    "text": words,
    "text objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, "canary", rows.astype(object)),
    "other objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, {CANARY: 1}, rows.astype(object)),
    "huge objects": lambda rows: np.where(np.arange(len(rows))[:, None] == 7, 10**400, rows.astype(object)),
    "lists of different length": lambda rows: [*rows.tolist(), [CANARY]],
    "lists of text": lambda rows: [*rows.tolist(), [CANARY, f"canary {CANARY}"]],
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
    "a lazy frame": lambda rows: pl.DataFrame(rows, schema=NAMES).lazy(),
}  # fmt: skip


def complete_text(error: BaseException) -> str:
    """Return what a log would show of an error and all that led to it, without the lines of code."""
    lines = traceback.TracebackException.from_exception(error, lookup_lines=False).format(chain=True)
    return "\n".join(line for line in lines if not line.lstrip().startswith("File ")) + repr(error)


def told_by_failure(use, bad) -> str:
    """Return all that an error and the warnings before it tell."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            use(bad)
        except Exception as error:
            return "\n".join([complete_text(error), *(str(warning.message) for warning in caught)])
    pytest.fail("a bad table was accepted")


@pytest.mark.parametrize("name", BAD_TABLES)
def test_errors_of_bad_tables_hold_nothing_exact(rows, name):
    bad = BAD_TABLES[name](rows)
    fitted = DPM(0.3, bounds=(-100, 100)).fit(pd.DataFrame(rows, columns=NAMES))
    for use in (DPM(bounds=(-100, 100)).fit, fitted.predict, fitted.transform):
        text = told_by_failure(use, bad)
        assert_silent(text)
        assert "canary" not in text


def test_the_length_of_a_text_is_not_told(rows):
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
def test_errors_of_bad_parameters_hold_nothing_exact(rows, params):
    with pytest.raises(ValueError, match=r"must|missing|names") as raised:
        DPM(**({"bounds": (-100, 100)} | params)).fit(rows)
    assert_silent(complete_text(raised.value))


def test_errors_of_other_columns_hold_nothing_exact(rows):
    fitted = DPM(0.3, bounds=(-100, 100)).fit(pd.DataFrame(rows, columns=NAMES))
    for other in (rows[:, :1], np.hstack([rows, rows]), pd.DataFrame(rows, columns=["a", "c"])):
        with pytest.raises(ValueError, match=r"features|columns") as raised:
            fitted.predict(other)
        assert_silent(complete_text(raised.value))


def test_labels_are_there_after_fit_and_only_there(model, rows):
    assert model.labels_.shape == (N_ROWS,)
    assert N_ROWS not in {
        float(number) for number in numbers_in({k: v for k, v in vars(model).items() if k != "_labels"})
    }
