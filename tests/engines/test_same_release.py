"""One table, one seed: the same release, byte for byte, however the rows are stored, divided, spilled and shared out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, Budget, Resources
from dpmondrian.common import threads
from dpmondrian.dpm import paper
from dpmondrian.engines import coded, local
from dpmondrian.exceptions import ParameterError

BOUNDS = {"age": (0, 100), "income": (1.0, 1e6, "log"), "visits": (0, 10, "int"), "plan": ["basic", "premium"]}
SETTINGS = {
    "default": {},
    "k": {"n_clusters": 4},
    "more k than leaves": {"n_clusters": 30},
    "pure": {"delta": 0.0},
    "zcdp": {"accountant": "zcdp"},
    "paper": {"variant": "paper", "bounds": {"age": (0, 100), "income": (1.0, 1e6), "visits": (0, 10)}},
    "many windows": {"windows": 700},
    "few windows": {"windows": 9},
    "drop": {"on_missing": "drop"},
    "middle": {"on_missing": "middle"},
    "persons": {"person_id": "who", "rows_per_person": 2},
    "persons, drop": {"person_id": "who", "on_missing": "drop"},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)
EVERY_WAY = ("default", "paper", "drop", "persons, drop")
"""Settings that read a table differently; how it lies in memory or on a disk is tried with all ways for these only."""


def patients(n_rows, seed=0, missing=False):
    """Return a table with four kinds of columns, and several rows of the same people."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    age = np.array([20.0, 50.0, 80.0])[group] + rng.normal(0, 3, n_rows)
    if missing:
        age[rng.random(n_rows) < 0.1] = np.nan
    return pa.table(
        {
            "age": age.astype(np.float32),
            "income": np.exp(rng.normal(9 + group, 0.3)),
            "visits": rng.integers(0, 11, n_rows),
            "plan": pa.array(np.array(["basic", "premium", "gold"])[rng.integers(0, 3, n_rows)]),
            "who": rng.integers(0, max(1, n_rows // 2), n_rows),
        }
    )


def parameters_of(setting):
    return {"bounds": BOUNDS, "random_state": 7, "epsilon": 4.0} | SETTINGS[setting]


def columns_of(parameters):
    return [*parameters["bounds"], *([parameters["person_id"]] if "person_id" in parameters else [])]


def digest(table, parameters, resources=None):
    return DPM(**parameters).fit(table, resources=resources).release_.digest()


def readers(table, sizes):
    """Return a function that makes readers of record batches of these sizes, over and over."""

    def batches():
        start, turn = 0, 0
        while start < table.num_rows:
            size = sizes[turn % len(sizes)]
            yield from table.slice(start, size).combine_chunks().to_batches()
            start, turn = start + size, turn + 1

    return lambda: pa.RecordBatchReader.from_batches(table.schema, batches())


@pytest.mark.slow
@every_setting
def test_every_way_to_hand_over_a_table_gives_the_same_release(setting, tmp_path):
    parameters = parameters_of(setting)
    table = patients(4000, missing="on_missing" in parameters).select(columns_of(parameters))
    expected = digest(table, parameters)
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=700)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate(range(0, 4000, 1500)):
        pq.write_table(table.slice(start, 1500), tmp_path / "parts" / f"{number}.parquet", row_group_size=333)
    with pa.OSFile(str(tmp_path / "all.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=501)
    same = {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "file": str(tmp_path / "all.parquet"),
        "folder": tmp_path / "parts",
        "glob": str(tmp_path / "parts" / "*.parquet"),
        "list": sorted((tmp_path / "parts").iterdir()),
        "arrow": tmp_path / "all.arrow",
        "readers": readers(table, [17, 1000, 3]),
    }
    asked = same if setting in EVERY_WAY else {name: same[name] for name in ("polars", "folder", "readers")}
    assert {name: digest(other, parameters) for name, other in asked.items()} == dict.fromkeys(asked, expected)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=24)
@given(
    setting=st.sampled_from(sorted(SETTINGS)),
    n_rows=st.integers(0, 400),
    seed=st.integers(0, 100),
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    n_threads=st.integers(1, 4),
    block_rows=st.integers(1, 200),
    memory=st.none() | st.integers(0, 20_000),
    order=st.randoms(use_true_random=False),
)
def test_no_division_of_the_rows_changes_a_byte(setting, n_rows, seed, sizes, n_threads, block_rows, memory, order):
    parameters = parameters_of(setting) | {"min_cluster_size": 3, "epsilon": 50.0}  # so that small tables are cut
    table = patients(n_rows, seed, missing="on_missing" in parameters).select(columns_of(parameters))
    positions = list(range(n_rows))
    order.shuffle(positions)
    shuffled = table.take(pa.array(positions, pa.int64()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "MOST_SORTED", 100)  # so that of some tables a share is looked at
        expected = digest(table, parameters)
        patch.setattr(threads, "_ROWS_PER_THREAD", 10)
        patch.setattr(threads.os, "cpu_count", lambda: 8)
        patch.setattr(local, "PART_ROWS", block_rows)
        patch.setattr(coded, "PART_ROWS", max(1, block_rows // 2))
        resources = Resources(memory=memory, threads=n_threads)
        assert digest(shuffled, parameters, resources) == expected
        assert digest(readers(shuffled, sizes), parameters, resources) == expected


@pytest.mark.parametrize("setting", ["default", "paper", "persons"])
def test_labels_are_the_same_too(setting, tmp_path):
    parameters = parameters_of(setting)
    table = patients(3000).select(columns_of(parameters))
    model = DPM(**parameters).fit(table)
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=411)
    from_file = model.predict(tmp_path / "all.parquet")
    assert from_file.dtype == np.int32
    assert from_file.tolist() == model.labels_.tolist() == model.predict(table).tolist()
    assert model.transform(readers(table, [100])).tolist() == model.transform(table).tolist()


def test_a_fit_on_a_stream_keeps_no_labels(tmp_path):
    table = patients(500).select(list(BOUNDS))
    pq.write_table(table, tmp_path / "all.parquet")
    model = DPM(bounds=BOUNDS, random_state=0).fit(table)
    model.fit(tmp_path / "all.parquet")
    with pytest.raises(AttributeError, match="predict"):
        _ = model.labels_


def test_rows_may_lie_in_pandas_with_any_index():
    frame = patients(1000).select(list(BOUNDS)).to_pandas()
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert digest(frame, parameters_of("default")) == digest(shuffled, parameters_of("default"))
    assert isinstance(frame, pd.DataFrame)


def test_fit_predict_on_a_stream_returns_what_predict_does(tmp_path):
    table = patients(500).select(list(BOUNDS))
    pq.write_table(table, tmp_path / "all.parquet")
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)
    model = DPM(bounds=BOUNDS)
    labels = model.fit_predict(tmp_path / "all.parquet", budget=budget)
    assert labels.tolist() == model.predict(table).tolist()
    assert model.fit_predict(table).tolist() == model.labels_.tolist()
    assert len(budget.read().entries) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("progress", 3), ("resources", 3), ("resources", {"memory": 5}), ("budget", 3)]
)
def test_wrong_options_of_a_fit_cost_nothing(name, value, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        DPM(bounds=BOUNDS).fit(patients(50).select(list(BOUNDS)), **({"budget": budget} | {name: value}))
    assert budget.read().entries == ()
