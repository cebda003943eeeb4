"""Shares of categories in cells come to those of their clusters."""

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM

LEVELS = ["a", "b", "c", "d"]


def table(seed, n_rows=20_000):
    """Return rows of four groups, most of which have a category of their own, and the number of each row's group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n_rows)
    level = np.where(rng.random(n_rows) < 0.8, group, rng.integers(0, 4, n_rows))
    columns = {f"x{j}": np.clip(0.2 + 0.2 * (group + j) % 0.9 + rng.normal(0, 0.05, n_rows), 0, 1) for j in range(3)}
    return pd.DataFrame(columns | {"level": np.array(LEVELS)[level]})


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_shares_of_segments_are_those_of_their_rows(n_clusters):
    rows = table(0)
    bounds = {"x0": (0, 1), "x1": (0, 1), "x2": (0, 1), "level": LEVELS}
    model = DPM(bounds=bounds, n_clusters=n_clusters, random_state=0).fit(rows)
    for k in (2, 4, 8):
        segments = model.clusters(k)
        label = segments.predict(rows)
        exact = np.array([[np.mean(rows["level"][label == c] == level) for level in LEVELS] for c in range(k)])
        weight = np.bincount(label, minlength=k) / len(rows)
        assert np.sqrt(weight @ ((segments.centres[:, 3:7] - exact) ** 2).mean(axis=1)) < 0.03
        np.testing.assert_allclose(segments.centres[:, 3:].sum(axis=1), 1.0)


def test_all_rows_have_the_shares_that_are_counted():
    rows = table(1, 4000)
    model = DPM(bounds={"x0": (0, 1), "level": LEVELS}, random_state=1).fit(rows[["x0", "level"]])
    segments = model.clusters(3)
    exact = [np.mean(rows["level"] == level) for level in LEVELS]
    assert segments.sizes @ segments.centres[:, 1:5] / segments.sizes.sum() == pytest.approx(exact, abs=0.05)
