"""The store: torn lines, last line counts, exact rows in CSV."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian_lab.exceptions import RowsError
from dpmondrian_lab.experiments.rows import Row, read_rows, write_rows
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.experiments.store import Store

RUNS = [Run("kopt", "blobs-2000x5-4", "dpm", iteration) for iteration in range(3)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_a_torn_last_line_is_dropped_and_the_next_one_is_whole(store, kept):
    for run in RUNS[:2]:
        store.append(Row(run, {"inertia": 0.1}))
    path = store.lines_path("kopt")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept] if kept > 0 else first + second[:-2])
    assert list(store.finished("kopt")) == [RUNS[0].key]
    store.append(Row(RUNS[2], {"inertia": 0.3}))
    store.append(Row(RUNS[1], {"inertia": 0.2}))
    assert {row.run: row.metrics["inertia"] for row in store.finished("kopt").values()} == dict(
        zip(RUNS, (0.1, 0.2, 0.3), strict=True)
    )


def test_the_last_line_of_a_run_counts(store):
    store.append(Row(RUNS[0], error="ValueError: no"))
    store.append(Row(RUNS[0], {"inertia": 2.0}))
    assert store.finished("kopt")[RUNS[0].key] == Row(RUNS[0], {"inertia": 2.0})


def test_an_empty_folder_has_no_rows(store):
    assert store.finished("kopt") == {}
    assert store.published("kopt") == []


def test_rows_that_were_published_elsewhere_stay_until_they_are_repeated(store):
    write_rows([Row(run, {"inertia": 1.0}) for run in RUNS[:2]], store.rows_path("kopt"))
    store.append(Row(RUNS[1], {"inertia": 2.0}))
    store.publish("kopt", RUNS)
    assert [row.metrics["inertia"] for row in store.published("kopt")] == [1.0, 2.0]
    store.publish("kopt", RUNS[1:])
    assert [row.run for row in store.published("kopt")] == [RUNS[1]]


def test_centres_come_back_bit_for_bit_and_nothing_else_is_left(store):
    centres = np.random.default_rng(0).normal(size=(4, 5))
    store.save_centres(RUNS[0], centres)
    assert np.array_equal(store.load_centres(RUNS[0]), centres)
    assert list(store.centres_path(RUNS[0]).parent.iterdir()) == [store.centres_path(RUNS[0])]


def test_rows_survive_csv_exactly_whatever_their_order(tmp_path):
    rows = [
        Row(RUNS[0], {"inertia": 0.1 + 0.2, "silhouette": -1.0}),
        Row(RUNS[1], error='ValueError: with a comma, a "quote" and all'),
        Row(Run("kopt", "blobs-2000x5-4", "kmeans", 0, None), {"inertia": math.pi}),
        Row(Run("kopt", "uci_gas", "dpm", 0, 0.5, '{"t": 0.3}', None), {"silhouette": 1e-17}),
    ]
    write_rows(rows, tmp_path / "kopt.csv")
    write_rows(rows[::-1], tmp_path / "again.csv")
    assert (tmp_path / "kopt.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert {row.run: row for row in read_rows(tmp_path / "kopt.csv")} == {row.run: row for row in rows}


def test_a_file_that_holds_no_rows_is_an_error(tmp_path):
    (tmp_path / "kopt.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RowsError, match="does not hold rows"):
        read_rows(tmp_path / "kopt.csv")
