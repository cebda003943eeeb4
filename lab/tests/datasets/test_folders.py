"""Folders of tables that describe themselves: made-up ones, and the real ones where they are."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from dpmondrian_lab.datasets import files, folders, get
from dpmondrian_lab.datasets.tables import write_table
from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError

README = """
| file | what | rows | d | classes (k) | class sizes | noise rows (label 0) | bounds for every column | source |
|---|---|---:|---:|---:|---|---:|---|---|
| `dots.parquet` | two dots | 1,000 | 2 | 2 | 400 to 500 | 100 | -2.5:2.5 | made here |
| `mixed.parquet` | several units | 6 | 4 | 3 | 2 to 2 | 0 | see below | made here |

`mixed.parquet` by column: x0, x2 0:255 (place); x1 always 9; x3 -3.15:3.15. Two rows repeat.
"""
ENTRY = {
    "file": "people.parquet",
    "what": "People",
    "rows": 5,
    "bounds": {"age": [0, 120], "income": [0, 1e5]},
    "k": 3,
    "ari": 0.4,
}


@pytest.fixture
def two_folders(tmp_path, monkeypatch):
    """Return a data folder with one real table and a suite of two sets."""
    monkeypatch.setenv(files.DATA_VARIABLE, str(tmp_path))
    for name in ("real", "suite"):
        (tmp_path / name).mkdir()
    people = {
        "name": np.array(["a", "b", "c", "d", "e"]),
        "age": np.array([30, 40, 200, 20, 50], dtype=np.int16),
        "income": np.array([1.0, np.nan, 2e5, -5.0, 3.0]),
        "label": np.array(["x", "x", "y", "y", "x"]),
    }
    write_table(people, tmp_path / "real" / "people.parquet")
    (tmp_path / "real" / "tables.json").write_text(json.dumps([ENTRY]))
    generator = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], [100, 400, 500])
    dots = {f"x{j}": (label - 1.0 + 0.01 * generator.normal(size=1000)).astype(np.float32) for j in range(2)}
    write_table({**dots, "label": label}, tmp_path / "suite" / "dots.parquet")
    mixed = {f"x{j}": np.arange(6.0) for j in range(4)}
    write_table({**mixed, "label": np.array([0, 0, 1, 1, 2, 2])}, tmp_path / "suite" / "mixed.parquet")
    (tmp_path / "suite" / "README.md").write_text(README)
    return tmp_path


def test_a_table_is_clipped_complete_and_knows_its_whole_numbers(two_folders):
    people = get("real-people")
    rows, classes = people.load()
    np.testing.assert_array_equal(rows, [[30, 1], [120, 1e5], [20, 0], [50, 3]])
    assert classes.tolist() == [0, 1, 1, 0]
    assert [(column.lower, column.upper, column.whole) for column in people.bounds.columns] == [
        (0, 120, True),
        (0, 1e5, False),
    ]
    assert (people.n_rows, people.n_columns, people.n_clusters) == (5, 2, 3)
    assert people.delta == 5**-1.5
    assert folders.real_keys() == ("real-people",)


def test_distances_are_measured_on_a_common_scale(two_folders):
    people = get("real-people")
    corners = people.scaled(np.array([[0.0, 0.0], [120.0, 0.0], [0.0, 1e5]]))
    assert np.linalg.norm(corners[1]) == pytest.approx(np.linalg.norm(corners[2]))
    assert people.diameter == pytest.approx(np.linalg.norm(corners[1] + corners[2]))


def test_another_k_is_the_same_table(two_folders):
    other = get("real-people-k20")
    assert (other.key, other.n_clusters) == ("real-people-k20", 20)
    np.testing.assert_array_equal(other.load()[0], get("real-people").load()[0])
    assert pickle.loads(pickle.dumps(other)) == other


def test_a_label_that_no_clustering_follows_is_no_class(two_folders):
    path = two_folders / "real" / "tables.json"
    folders._real.cache_clear()
    path.write_text(json.dumps([ENTRY | {"ari": 0.1}]))
    try:
        assert get("real-people-k4").load()[1] is None
    finally:
        folders._real.cache_clear()


def test_a_set_has_its_truth_and_its_noise(two_folders):
    dots = get("suite-dots")
    rows, classes = dots.load()
    assert rows.shape == (1000, 2)
    assert np.unique_counts(classes).counts.tolist() == [100, 400, 500]
    assert classes.min() == -1
    assert dots.n_clusters == 2
    assert folders.suite_keys() == ("suite-dots", "suite-mixed")


def test_columns_with_bounds_of_their_own_and_without_any_variation(two_folders):
    mixed = get("suite-mixed")
    assert [(column.lower, column.upper) for column in mixed.bounds.columns] == [(0, 255), (0, 255), (-3.15, 3.15)]
    np.testing.assert_array_equal(mixed.load()[0][:, :2], np.repeat(np.arange(6.0), 2).reshape(6, 2))


@pytest.mark.slow
def test_enlarged_rows_are_near_to_rows_but_no_copies(two_folders):
    large, own = get("suite-dots-n5000"), get("suite-dots")
    rows, classes = large.load()
    assert rows.shape == (5000, 2)
    assert large.n_rows == 5000
    assert set(classes) == set(own.load()[1])
    assert len(np.unique(rows, axis=0)) == 5000
    distance = np.abs(rows[:, None] - own.load()[0]).sum(axis=2).min(axis=1)
    assert np.median(distance) < 0.01
    np.testing.assert_array_equal(rows, folders.enlarged(own, 5000)[0])


def test_a_set_that_is_large_enough_stays_as_it_is(two_folders):
    np.testing.assert_array_equal(get("suite-dots-n500").load()[0], get("suite-dots").load()[0])


def test_what_is_not_there_is_told_with_a_way_out(two_folders, monkeypatch, tmp_path):
    with pytest.raises(DatasetError, match="There are people in real"):
        get("real-nobody")
    monkeypatch.setenv(files.DATA_VARIABLE, str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DatasetNotFoundError, match=files.DATA_VARIABLE):
        get("suite-dots")


def test_shapes_have_keys():
    flat = get("one_flat-500x3-s2")
    assert flat.load()[0].shape == (500, 3)
    assert flat.n_clusters == 1
    assert all(column.whole for column in flat.bounds.columns)
    assert get("separated-500x2-7-s0").n_clusters == 7
    far, near = get("touching-500x3-5-s0").load()[0], get("touching-500x3-3.5-s0").load()[0]
    assert np.ptp(far[:, 0]) > np.ptp(near[:, 0])
    with pytest.raises(DatasetError):
        get("no_shape-500x2-s0")


@pytest.mark.slow
def test_the_real_tables_are_all_there(data_file):
    data_file("real/tables.json")
    assert len(folders.real_keys()) == 16
    labelled = {key for key in folders.real_keys() if get(key).load()[1] is not None}
    assert labelled == {"real-pendigits", "real-dry_bean", "real-flow_gvhd_s9", "real-occupancy"}
    for key in folders.real_keys():
        data_set = get(key)
        rows, _ = data_set.load()
        assert 0.95 * data_set.n_rows < len(rows) <= data_set.n_rows
        assert np.all((rows >= data_set.bounds.lower) & (rows <= data_set.bounds.upper))


@pytest.mark.slow
def test_the_suite_is_all_there(data_file):
    data_file("suite/README.md")
    assert len(folders.suite_keys()) == 29
    for key in folders.suite_keys():
        data_set = get(key)
        rows, classes = data_set.load()
        assert rows.shape == (data_set.n_rows, data_set.n_columns)
        assert len(np.unique(classes[classes >= 0])) == data_set.n_clusters
    noisy = {key for key in folders.suite_keys() if get(key).load()[1].min() < 0}
    assert noisy == {"suite-chameleon_t4_8k", "suite-chameleon_t7_10k", "suite-hdbscan"}
