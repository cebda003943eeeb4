"""How small a cluster may be, against real fits with one small cluster among larger ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpmondrian.estimator import DPM
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning import make_design, smallest_cluster
from dpmondrian.planning.finding import peak_share
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_rows", "n_clusters", "n_columns", "parameters"),
    [
        (20_000, 10, 5, {"epsilon": 1.0}),
        (20_000, 10, 5, {"epsilon": 0.3}),
        (20_000, 6, 3, {"epsilon": 2.0, "delta": 0.0}),
        (8_000, 5, 3, {"epsilon": 1.0, "n_clusters": 5}),
    ],
)
def test_clusters_of_this_size_are_found_and_much_smaller_ones_are_not(n_rows, n_clusters, n_columns, parameters):
    design = make_design(n_rows, columns(n_columns), expected_clusters=n_clusters, **parameters)
    rows = smallest_cluster(design, spread=DEVIATION / 100).rows
    assert share_found(design, round(1.6 * rows), 12) >= 0.8
    assert share_found(design, round(0.35 * rows), 12) <= 0.4


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_rule_of_thumb_of_the_documentation(epsilon):
    """About 500 / epsilon rows at 50,000 rows, unless the least share of all rows is more."""
    design = make_design(50_000, columns(5), epsilon)
    assert max(250 / epsilon, 260) <= smallest_cluster(design).rows <= max(1_000 / epsilon, 400)


def test_the_least_share_of_all_rows_is_a_limit():
    few, many = (smallest_cluster(make_design(n_rows, columns(3))) for n_rows in (10_000, 10_000_000))
    assert many.for_size == pytest.approx(10_000_000 / 192)
    assert many.rows > many.for_size > few.rows


def test_a_changed_constant_changes_the_estimate(monkeypatch):
    monkeypatch.setattr("dpmondrian.dpm.algorithm.LEAST_SHARE", 0.1)
    assert smallest_cluster(make_design(50_000, columns(3))).for_size == pytest.approx(5_000)


def test_the_parameters_of_the_estimator_count():
    usual = smallest_cluster(make_design(50_000, columns(3)))
    larger = smallest_cluster(make_design(50_000, columns(3), min_cluster_size=4_000))
    per_person = smallest_cluster(make_design(50_000, columns(3), rows_per_person=4))
    assert larger.for_size == 4_000
    assert larger.rows > 4_000 > usual.rows
    assert per_person.rows > 3 * usual.rows


def test_surer_needs_more_rows():
    design = make_design(50_000, columns(3))
    rows = [smallest_cluster(design, probability=probability).rows for probability in (0.2, 0.5, 0.95, 0.999)]
    assert rows == sorted(rows)
    assert rows[0] < 0.8 * rows[-1]


def test_without_cuts_nothing_is_found():
    assert math.isinf(smallest_cluster(make_design(50_000, columns(3), max_depth=0)).rows)


def test_the_peak_of_a_gaussian(schema):
    """Against rows in the windows of a real grid, wherever the cluster lies."""
    design = make_design(50_000, schema)
    width, codes = 16, 256  # the widest windows: a sixteenth of the range
    generator = np.random.default_rng(0)
    shares = []
    for middle in generator.uniform(40.0, 60.0, 30):
        values = np.clip(generator.normal(middle, 5.0, 4_000), 0.0, 99.999)
        histogram = np.bincount((values / 100.0 * codes).astype(int), minlength=codes)
        windows = [histogram[start : start + width].sum() for start in range(0, codes - width + 1, width // 2)]
        shares.append(max(windows) / 4_000)
    assert np.quantile(shares, 0.1) > 0.95 * peak_share(design)
    assert np.mean(shares) < 1.15 * peak_share(design)


@pytest.mark.parametrize("probability", [0.0, 1.0, "sure"])
def test_a_wrong_probability_is_refused(schema, probability):
    with pytest.raises(ParameterError, match="'probability'"):
        smallest_cluster(make_design(1_000, schema), probability=probability)
