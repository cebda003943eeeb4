"""Specifications: keys, seeds, grids."""

from __future__ import annotations

import json

import pytest

from dpmondrian_lab.experiments.catalogue import CENTRENESS_PAIRS, EXPERIMENTS, make_experiment
from dpmondrian_lab.experiments.spec import Run, Selection, parameters_text
from dpmondrian_lab.peers.registry import EVALUATED


def test_keys_and_seeds_are_stable():
    run = Run("kopt", "synth_10d", "dpm", 3)
    assert run.key == '["kopt", "synth_10d", "dpm", 1.0, "{}", 0, 3]'
    assert (run.digest, run.seed) == ("d6ebaf61edd3cad2624af8b8", 3605770081)


def test_secure_runs_have_no_seed():
    assert Run("timing", "synth_10d", "dpm", 0, base_seed=None).seed is None


def test_parameters_do_not_depend_on_their_order():
    assert parameters_text(t=0.3, q=0.1) == parameters_text(q=0.1, t=0.3)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_runs_are_distinct_and_quick_runs_are_some_of_them(name):
    runs = make_experiment(name).runs()
    quick = make_experiment(name, quick=True).runs()
    assert len({run.key for run in runs}) == len(runs)
    if name != "timing":
        assert len({run.seed for run in runs}) == len(runs)
    assert 0 < len(quick) < len(runs)
    assert set(quick) <= set(runs)


def test_another_seed_shares_no_run():
    experiment = make_experiment("clusters")
    assert not {run.key for run in experiment.runs(0)} & {run.key for run in experiment.runs(1)}


def test_the_papers_grids():
    assert len(CENTRENESS_PAIRS) == 16
    assert all(t >= 2 * q for t, q in CENTRENESS_PAIRS)
    shares = [run.options["budget_shares"] for run in make_experiment("budget").runs() if run.iteration == 0]
    assert sorted(map(len, shares)) == [4] * 168
    assert all(abs(sum(share.values()) - 1.0) < 1e-9 and min(share.values()) >= 0.1 for share in shares)


def test_kopt_has_all_algorithms_twenty_times():
    runs = [run for run in make_experiment("kopt").runs() if run.data_set == "uci_gas"]
    repetitions = {key: 2 if algorithm.slow else 20 for key, algorithm in EVALUATED.items()}
    assert {(run.algorithm, run.iteration) for run in runs} == {
        (a, i) for a in EVALUATED for i in range(repetitions[a])
    }


def test_what_takes_too_long_is_left_out():
    assert not [
        run for run in make_experiment("kopt").runs() if (run.algorithm, run.data_set) == ("pe_means", "synth_100d")
    ]


def test_what_is_not_private_runs_once_and_not_for_every_epsilon():
    runs = [run for run in make_experiment("epsilon").runs() if run.data_set == "uci_gas" and run.iteration == 0]
    assert [run.epsilon for run in runs if run.algorithm == "kmeans"] == [None]
    assert [run.epsilon for run in runs if run.algorithm == "dpm"] == [0.1, 0.2, 0.5, 1.0, 2.0, 4.0]


def test_timing_takes_algorithms_in_turn():
    runs = [run for run in make_experiment("timing").runs() if run.data_set == "uci_gas"]
    assert [run.algorithm for run in runs[: len(EVALUATED)]] == list(EVALUATED)
    assert max(run.iteration for run in runs if run.algorithm == "em_mc") == 9
    assert max(run.iteration for run in runs if run.algorithm == "pe_means") == 0


def test_a_selection_replaces_data_sets_and_algorithms():
    selection = Selection(("blobs-2000x5-4",), ("kmeans", "dpm"))
    runs = make_experiment("kopt").runs(selection=selection)
    assert {(run.data_set, run.algorithm) for run in runs} == {("blobs-2000x5-4", a) for a in ("kmeans", "dpm")}


def test_parameters_are_only_for_the_algorithms_they_were_made_for():
    assert make_experiment("budget").runs(selection=Selection(algorithms=("kmeans", "dpm_k"))) == []
    runs = make_experiment("budget").runs(selection=Selection(algorithms=("dpm",)))
    assert {tuple(sorted(json.loads(run.parameters)["budget_shares"])) for run in runs} == {
        ("cells", "clusters", "counts", "splits")
    }
