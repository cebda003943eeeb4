"""What is measured of labels and centres, and experiments that take only part of what is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.exceptions import DatasetNotFoundError
from dpmondrian_lab.experiments import perform
from dpmondrian_lab.experiments.catalogue import BEYOND, make_experiment
from dpmondrian_lab.experiments.measures import measure_centres, measure_labels, real_clusters
from dpmondrian_lab.experiments.spec import Experiment, Grid, Run, Selection
from dpmondrian_lab.experiments.store import Store

BLOBS = "blobs-2000x2-4"


def model(labels, **attributes):
    return SimpleNamespace(labels_=np.asarray(labels), cluster_centers_=np.zeros((max(labels) + 1, 2)), **attributes)


@pytest.mark.parametrize(
    ("classes", "labels", "real"),
    [
        ([0, 0, 0, 1, 1, 1], [5, 5, 5, 7, 7, 7], [5, 7]),
        ([0, 0, 0, 0], [0, 0, 1, 1], []),  # halves of one class
        ([0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0]),
        ([0, 0, 1, 1], [0, 0, 0, 0], []),  # two classes as one cluster
        ([0, 0, 0, 1], [0, 0, 0, 0], [0]),
    ],
)
def test_a_cluster_is_real_if_it_and_a_class_are_mostly_the_same(classes, labels, real):
    assert real_clusters(np.array(classes), np.array(labels)).tolist() == real


def test_labels_are_judged_without_noise():
    rows, classes = np.zeros((6, 2)), np.array([-1, -1, 0, 0, 1, 1])
    data_set = SimpleNamespace(load=lambda: (rows, classes))
    assert measure_labels(data_set, model([0, 1, 0, 0, 1, 1]))["adjusted_rand"] == 1.0


def test_two_fits_are_compared_and_certain_clusters_counted():
    data_set = SimpleNamespace(load=lambda: (np.zeros((4, 2)), np.array([0, 0, 1, 1])))
    one = model([0, 0, 1, 1], release_=SimpleNamespace(certainty=[0.99, 0.5]))
    found = measure_labels(data_set, one, model([1, 1, 0, 0]))
    assert found == {"n_centres": 2.0, "adjusted_rand": 1.0, "between_runs": 1.0, "n_certain": 1.0, "n_real": 1.0}
    assert measure_labels(data_set, model([0, 1, 2, 3]), one)["between_runs"] < 0.5


def test_a_model_without_labels_predicts_them():
    rows = np.array([[0.0], [1.0]])
    data_set = SimpleNamespace(load=lambda: (rows, None))
    peer = SimpleNamespace(cluster_centers_=np.zeros((2, 1)), predict=lambda X: X[:, 0].astype(int))
    assert measure_labels(data_set, peer, model([0, 1])) == {"n_centres": 2.0, "between_runs": 1.0}


def test_inertia_is_measured_on_the_common_scale():
    flat = get("one_flat-500x2-s0")
    rows, _ = flat.load()
    found = measure_centres(flat, np.full((1, 2), 2.0), "inertia")
    assert found["inertia"] == pytest.approx(((rows - 2.0) ** 2).sum())
    assert set(found) == {"inertia", "n_centres"}


def test_a_run_that_is_compared_with_itself_fits_twice(tmp_path, monkeypatch):
    seeds = []

    def fitted(estimator, data_set):
        seeds.append(estimator.random_state)
        return model(np.zeros(2000, dtype=int))

    monkeypatch.setattr(perform, "_fitted", fitted)
    row = perform.fit_and_measure(Run("real_found", BLOBS, "dpm", 3), Store(tmp_path), "twice")
    assert row.metrics["between_runs"] == 1.0
    assert len(set(seeds)) == 2


def test_a_closed_grid_takes_nothing_in():
    grid = Grid((BLOBS, "blobs-500x2-4"), ("dpm", "dpm_k"), 1, closed=True)
    runs = Experiment("suite", "", (grid,)).runs(selection=Selection((BLOBS, "blobs-9x1-2"), ("dpm_k", "kmeans")))
    assert [(run.data_set, run.algorithm) for run in runs] == [(BLOBS, "dpm_k")]


def test_algorithms_run_where_they_can(monkeypatch):
    grid = Grid(("blobs-500x3-4", "blobs-500x4-4"), ("noisy_grid", "mst", "dpm_k"), 1)
    monkeypatch.setattr("dpmondrian_lab.peers.synthetic.why_missing", lambda: "It is not there.")
    runs = Experiment("real_k", "", (grid,)).runs()
    assert [(run.data_set[10], run.algorithm) for run in runs] == [("3", "noisy_grid"), ("3", "dpm_k"), ("4", "dpm_k")]


@pytest.mark.parametrize("name", BEYOND)
def test_quick_runs_beyond_the_paper_are_some_of_all(name):
    try:
        runs, quick = make_experiment(name).runs(), make_experiment(name, quick=True).runs()
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    assert len({run.key for run in runs}) == len(runs)
    assert 0 < len(quick) < 40
    assert set(quick) <= set(runs)
