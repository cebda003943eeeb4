"""One run: rows, stored centres, failures."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.experiments import perform
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.experiments.timing import machine, measure_times
from dpmondrian_lab.peers.registry import ALGORITHMS, EVALUATED, Algorithm

RUN = Run("kopt", "blobs-2000x5-4", "dpm", 0)


class Broken:
    @staticmethod
    def _get_param_names():
        return []

    def fit(self, rows):
        raise ValueError("this\nalways fails")


@pytest.fixture
def broken(monkeypatch):
    entry = Algorithm("dpm", "Broken", "ours", f"{__name__}:Broken")
    monkeypatch.setattr(perform, "ALGORITHMS", {**ALGORITHMS, "dpm": entry})


def test_a_run_gives_metrics_and_keeps_its_centres(tmp_path):
    store = Store(tmp_path)
    row = perform.fit_and_measure(RUN, store)
    assert not row.failed
    assert set(row.metrics) >= {"inertia", "silhouette", "accuracy", "kmeans_distance", "n_centres"}
    assert store.load_centres(RUN).shape == (4, 5)
    assert perform.measure_again(RUN, store) == row


def test_measuring_again_uses_the_stored_centres(tmp_path):
    store = Store(tmp_path)
    store.save_centres(RUN, np.zeros((1, 5)))
    assert perform.measure_again(RUN, store).metrics["n_centres"] == 1.0


def test_a_failure_becomes_a_row_with_class_and_message(tmp_path, broken):
    row = perform.fit_and_measure(RUN, Store(tmp_path))
    assert row.failed
    assert row.error == "ValueError: this always fails"
    assert row.metrics == {}


def test_times_are_of_the_fit_and_failures_are_kept(broken):
    runs = [Run("timing", "blobs-2000x5-4", algorithm, 0, base_seed=None) for algorithm in ("kmeans", "dpm")]
    fine, failed = measure_times(runs)
    assert 0.0 < fine.metrics["seconds"] < 60.0
    assert failed.error == "ValueError: this always fails"


def test_the_machine_is_described_without_names():
    facts = machine()
    assert facts["cores"].isdigit()
    assert all(isinstance(value, str) for value in facts.values())


@pytest.mark.parametrize("key", list(EVALUATED))
def test_algorithms_get_what_they_need(key):
    data_set = get("blobs-2000x5-4")
    run = Run("kopt", data_set.key, key, 0, epsilon=None if key == "kmeans" else 0.5)
    given = perform.make_estimator(run, data_set).get_params()
    assert given["random_state"] == run.seed
    assert given["n_clusters"] == (None if key in ("dpm", "dpm_paper") else 4)
    assert given.get("variant", "default") == (
        "as_published" if key.endswith("_published") else "paper" if key == "dpm_paper" else "default"
    )
    if key != "kmeans":
        assert given["epsilon"] == 0.5
    if "delta" in given:  # DP-Lloyd has none
        assert given["delta"] == data_set.delta
