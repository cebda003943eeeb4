"""How small a cluster may be, and how near two may be, against real fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian.dpm.finding import LEAST_SHARE
from dpmondrian.estimator import DPM
from dpmondrian.planning import findable, make_design
from dpmondrian.schema.columns import Schema

DEVIATION = 3.0


def columns(n_columns: int) -> Schema:
    return Schema.from_bounds((0, 100), [f"x{j}" for j in range(n_columns)], [False] * n_columns)


def separate_centres(generator, n_clusters: int, n_columns: int) -> np.ndarray:
    """Return centres 8 standard deviations apart or more, drawn again until there is room for all."""
    while True:
        centres = generator.uniform(3 * DEVIATION, 100 - 3 * DEVIATION, (n_clusters, n_columns))
        distance = np.linalg.norm(centres[:, None] - centres[None, :], axis=2)
        if distance[np.triu_indices(n_clusters, 1)].min() >= 8 * DEVIATION:
            return centres


def share_found(design, size: int, n_runs: int) -> float:
    """Return in how many runs a cluster of this size is found: a centre near its own, and a size not far off."""
    found, settings = 0, design.settings
    n_clusters, n_columns = design.expected_clusters, design.grid.n_columns
    others = (design.n_rows - size) // (n_clusters - 1)
    truth = np.repeat(np.arange(n_clusters), [size] + [others] * (n_clusters - 1))
    for seed in range(n_runs):
        generator = np.random.default_rng(seed)
        centres = separate_centres(generator, n_clusters, n_columns)
        rows = centres[truth] + DEVIATION * generator.normal(size=(len(truth), n_columns))
        model = DPM(
            epsilon=settings.epsilon,
            delta=settings.delta,
            bounds=(0, 100),
            n_clusters=settings.n_clusters,
            random_state=seed,
        ).fit(rows)
        distance = np.linalg.norm(model.cluster_centers_ - centres[0], axis=1)
        near = int(distance.argmin())
        found += bool(distance[near] < 3 * DEVIATION and size / 2 < model.cluster_sizes_[near] < 2 * size)
    return found / n_runs


def share_told_apart(design, gap: float, n_runs: int) -> float:
    """Return in how many runs two halves are found, whose centres are so many deviations apart on the diagonal."""
    found, n_columns = 0, design.grid.n_columns
    shift = gap * DEVIATION / math.sqrt(n_columns)
    for seed in range(n_runs):
        rows = 40.0 + DEVIATION * np.random.default_rng(seed).normal(size=(design.n_rows, n_columns))
        rows[::2] += shift
        model = DPM(epsilon=design.settings.epsilon, delta=design.settings.delta, bounds=(0, 100), random_state=seed)
        found += model.fit(rows).n_clusters_ == 2
    return found / n_runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_clusters", "n_columns", "parameters"),
    [
        (20_000, 10, 5, {"epsilon": 1.0}),
        (20_000, 10, 5, {"epsilon": 0.3}),
        (20_000, 6, 3, {"epsilon": 2.0, "delta": 0.0}),
        (20_000, 6, 2, {"epsilon": 1.0}),
    ],
)
def test_clusters_of_this_size_are_found_and_much_smaller_ones_are_not(n_rows, n_clusters, n_columns, parameters):
    design = make_design(n_rows, columns(n_columns), expected_clusters=n_clusters, **parameters)
    rows = findable(design, spread=DEVIATION / 100).rows
    assert share_found(design, round(1.6 * rows), 12) >= 0.65  # found in 83 to 100 % of 30 runs
    assert share_found(design, round(0.35 * rows), 8) <= 0.4


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "epsilon"), [(2, 1.0), (10, 1.0), (10, 0.3)])
def test_halves_so_far_apart_are_told_apart_and_much_nearer_ones_are_not(n_columns, epsilon):
    design = make_design(20_000, columns(n_columns), epsilon)
    gap = findable(design, spread=DEVIATION / 100).gap
    assert share_told_apart(design, 1.2 * gap, 8) >= 0.8
    assert share_told_apart(design, 0.6 * gap, 8) <= 0.2


def test_the_least_share_of_all_rows_is_a_limit():
    for n_columns in (3, 5):
        few, many = (findable(make_design(n_rows, columns(n_columns))) for n_rows in (10_000, 10_000_000))
        assert 1.0 <= many.rows / (LEAST_SHARE * 10_000_000) < 1.1
        assert few.share > many.share


def test_a_changed_constant_changes_the_estimate(monkeypatch):
    monkeypatch.setattr("dpmondrian.planning.finding.LEAST_SHARE", 0.1)
    assert findable(make_design(50_000, columns(3))).rows >= 5_000


def test_the_parameters_of_the_estimator_count():
    usual = findable(make_design(50_000, columns(5)))
    assert findable(make_design(50_000, columns(5), min_cluster_size=4_000)).rows > 4_000 > usual.rows
    assert findable(make_design(50_000, columns(5), rows_per_person=4)).rows > 3 * usual.rows
    assert findable(make_design(50_000, columns(5), 0.3)).rows > 2 * usual.rows


def test_without_cuts_nothing_is_found():
    assert math.isinf(findable(make_design(50_000, columns(5), max_depth=0)).rows)


def test_too_few_rows_find_nothing():
    hopeless = findable(make_design(200, columns(5), 0.1))
    assert math.isinf(hopeless.rows)
    assert math.isinf(hopeless.gap)
