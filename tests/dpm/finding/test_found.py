"""What is apart is found, and nothing else: a few runs of each kind; the laboratory has many."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from dpmondrian import DPM

pytestmark = pytest.mark.filterwarnings("ignore")


def found(rows, seed=0, **options):
    return DPM(bounds=(0.0, 1.0), random_state=seed, delta=1e-6, **options).fit(rows)


def one_cloud(kind, n_rows, n_columns, generator):
    shapes = {
        "flat": generator.random((n_rows, n_columns)),
        "normal": generator.normal(0.5, 0.12, (n_rows, n_columns)),
        "heavy": 0.5 + 0.04 * generator.standard_t(3, (n_rows, n_columns)),
        "skewed": generator.exponential(0.12, (n_rows, n_columns)),
    }
    return np.clip(shapes[kind], 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flat", "normal", "heavy", "skewed"])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 6])
def test_one_cloud_is_one_cluster(kind, n_columns):
    clusters = [
        found(one_cloud(kind, 4000, n_columns, np.random.default_rng(seed)), seed, epsilon=epsilon).n_clusters_
        for seed, epsilon in enumerate((0.5, 2.0, 50.0))
    ]
    assert clusters == [1, 1, 1]


@pytest.mark.parametrize("n_columns", [1, 2, 6])
def test_flat_whole_numbers_are_one_cluster(n_columns):
    rows = np.random.default_rng(0).integers(0, 5, (4000, n_columns))
    assert DPM(bounds=(0, 4), random_state=0, epsilon=2.0).fit(rows).n_clusters_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 2, 8])
def test_two_clouds_that_touch(n_columns):
    generator = np.random.default_rng(n_columns)
    side = generator.integers(0, 2, 20_000)
    direction = np.ones(n_columns) / np.sqrt(n_columns)
    rows = 0.5 + 0.05 * generator.normal(size=(20_000, n_columns)) + np.outer(side - 0.5, direction) * 5 * 0.05
    model = found(np.clip(rows, 0, 1))
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(side, model.labels_) > 0.9
    assert model.certainty_.min() > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [2, 10])
def test_ten_clusters(n_columns):
    generator = np.random.default_rng(1)
    centres = np.stack(np.meshgrid(*[np.linspace(0.15, 0.85, 4)] * 2), -1).reshape(-1, 2)[:10]
    centres = np.hstack([centres] * (n_columns // 2))
    owner = generator.integers(0, 10, 30_000)
    model = found(np.clip(centres[owner] + 0.02 * generator.normal(size=(30_000, n_columns)), 0, 1))
    assert model.n_clusters_ == 10
    assert adjusted_rand_score(owner, model.labels_) > 0.97


@pytest.mark.slow
def test_rings_are_found_in_two_columns():
    generator = np.random.default_rng(2)
    owner, angle = generator.integers(0, 2, 20_000), generator.uniform(0, 2 * np.pi, 20_000)
    radius = np.where(owner, 0.42, 0.08) + 0.015 * generator.normal(size=20_000)
    rows = 0.5 + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    models = [DPM(bounds=(0.0, 1.0), delta=1e-6, random_state=seed).fit(rows) for seed in range(5)]
    agreed = [adjusted_rand_score(owner, model.labels_) for model in models]
    assert np.median(agreed) > 0.95  # in one run of five a ring is divided in two
    np.testing.assert_array_equal(models[0].predict(rows), models[0].labels_)


def test_rounded_values_are_not_clusters():
    """Most people say their blood pressure in tens."""
    generator = np.random.default_rng(3)
    exact = generator.normal(120, 18, (20_000, 5))
    rows = np.where(generator.random((20_000, 5)) < 0.7, 10 * np.rint(exact / 10), np.rint(exact)).astype(int)
    assert DPM(bounds=(40, 300), random_state=0).fit(rows).n_clusters_ == 1


@pytest.mark.parametrize("values", [100, 120])
def test_whole_numbers_that_nobody_declared_are_not_clusters(values):
    """Some bins of a grid hold one of them and others two."""
    rows = np.rint(np.random.default_rng(values).normal(0.5, 0.15, (50_000, 1)) * values) / values
    assert [found(np.clip(rows, 0, 1), seed).n_clusters_ for seed in range(3)] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_rows"), [("normal", 300_000), ("skewed", 100_000)])
def test_whole_numbers_are_not_clusters_where_bins_are_not_divided(kind, n_rows):
    """In the wider bins every fifth holds none of them."""
    rows = np.rint(one_cloud(kind, n_rows, 2, np.random.default_rng(0)) * 100) / 100
    assert max(found(rows, seed).n_clusters_ for seed in range(3)) <= 2


def test_whole_numbers_beside_a_category_are_not_clusters():
    """They are looked at along lines, whose bins hold one of them or none. The two plans may be apart, ages are not."""
    generator = np.random.default_rng(5)
    ages, plans = np.rint(generator.normal(50, 6, 20_000)), generator.choice(["a", "b"], 20_000)
    frame = pd.DataFrame({"age": ages, "plan": plans})
    models = [
        DPM(bounds={"age": (0, 100), "plan": ["a", "b"]}, delta=1e-6, random_state=seed).fit(frame) for seed in range(4)
    ]
    assert max(model.n_clusters_ for model in models) <= 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "spread"), [(4, 0.03), (6, 0.02), (10, 0.012)])
def test_clusters_at_equal_distances_are_no_values(n_clusters, spread):
    generator = np.random.default_rng(6)
    rows = generator.normal(0.5, 0.05, (20_000, 5))
    rows[:, 0] = generator.normal(np.linspace(0.1, 0.9, n_clusters)[generator.integers(0, n_clusters, 20_000)], spread)
    assert found(np.clip(rows, 0, 1)).n_clusters_ == n_clusters
