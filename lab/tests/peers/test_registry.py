"""The one registry of algorithms: whoever shows, runs or audits one takes it from there."""

from __future__ import annotations

import pytest

from dpmondrian_lab.audit.catalogue import SUBJECTS
from dpmondrian_lab.pages.names import DAGGER, algorithm_name, style
from dpmondrian_lab.peers.registry import ALGORITHMS, EVALUATED

FACTS = {"epsilon": 0.5, "delta": 1e-6, "bounds": (0, 1), "n_clusters": 4, "expected_rows": 100, "random_state": 7}


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_algorithm_is_made_from_the_same_facts(key):
    algorithm = ALGORITHMS[key]
    made = algorithm.make(FACTS).get_params()
    assert {name: made[name] for name in algorithm.fixed} == dict(algorithm.fixed)
    open_facts = {name: value for name, value in FACTS.items() if name in made and name not in algorithm.fixed}
    assert {name: made[name] for name in open_facts} == open_facts


def test_own_parameters_must_be_right():
    with pytest.raises(TypeError):
        ALGORITHMS["dp_lloyd"].make(FACTS, {"n_iterations": 3})


def test_audit_and_evaluation_use_the_same_names():
    assert {key: subject.name for key, subject in SUBJECTS.items()} == {key: ALGORITHMS[key].name for key in SUBJECTS}
    assert {key: algorithm_name(key).removesuffix(DAGGER) for key in EVALUATED} == {
        key: algorithm.name for key, algorithm in EVALUATED.items()
    }
    assert len({algorithm.name for algorithm in ALGORITHMS.values()}) == len(ALGORITHMS)


def test_what_is_not_sound_is_marked():
    assert {key for key in ALGORITHMS if algorithm_name(key).endswith(DAGGER)} == {
        key for key in ALGORITHMS if key.endswith("_published")
    }


def test_what_is_evaluated_has_a_look_of_its_own():
    assert all(style(key) != style("no such algorithm") for key in EVALUATED)
