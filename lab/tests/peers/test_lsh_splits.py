"""LSH-Splits: its budget, thresholds and tree against a plain reading of the method, and the published variant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpmondrian.privacy.door import Door
from dpmondrian_lab.peers import lsh_splits
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK
from dpmondrian_lab.peers.lsh_splits import COUNT, LEAF_SUMS, MEAN_COUNT, MEAN_SUM, LSHSplits, leaf_noise, mean_noise

# --- budget -------------------------------------------------------------------------------------------------------


def plan_of(epsilon=1.0, delta=1e-7, variant="default", d=3):
    model = LSHSplits(5, epsilon, delta, (0, 1), variant=variant)
    return model._plan(model._settings(), d)


def test_the_plan_has_the_published_shares():
    plan = plan_of()
    assert [draw.name for draw in plan.draws] == ["mean count", "mean sum", *["count"] * 21, "leaf sums"]
    assert [draw.level for draw in plan.draws if draw.name == "count"] == list(range(21))
    assert plan.find(MEAN_COUNT, 0).cost == pytest.approx(0.02, rel=1e-5)
    assert plan.find(MEAN_SUM).multiplier == pytest.approx(mean_noise(1.0, 1e-7), rel=1e-5)
    assert plan.find(LEAF_SUMS).multiplier == pytest.approx(leaf_noise(1.0, 1e-7), rel=1e-5)
    for level in range(21):
        ratio = plan.find(COUNT, level).multiplier / plan.find(LEAF_SUMS).multiplier
        assert ratio == pytest.approx(20.0)
    assert 0.85 < plan.spent() <= 1.0
    assert plan.find(LEAF_SUMS).multiplier > leaf_noise(1.0, 1e-7) * (1 + 0.5 * GAUSSIAN_SLACK)


# --- thresholds ---------------------------------------------------------------------------------------------------

LEAST_NODES = [  # d, k, n, least size of a node
    (10, 64, 100_000, 176),
    (100, 64, 100_000, 556),
    (40, 10, 60_000, 341),
    (16, 26, 18_720, 200),
    (11, 2, 36_733, 173),
]


@pytest.mark.parametrize(("d", "k", "n", "expected"), LEAST_NODES)
def test_the_least_node_of_the_papers_data_sets(d, k, n, expected):
    door = Door(plan_of(1.0, n**-1.5), seed=0)
    assert lsh_splits._least_node(door, n, d, k) == expected


@pytest.mark.parametrize(("total", "expected"), [(1000, 100), (999, 99), (9, 1), (0, 1), (-5, 1), (-5000, 1)])
def test_the_least_node_of_few_rows(total, expected):
    assert lsh_splits._least_node(Door(plan_of(), seed=0), total, 10, 5) == expected


# --- tree ---------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a run asked and got, level by level, and its leaves."""

    counts: dict
    beyond: np.ndarray
    leaves: object


@pytest.fixture
def grow(monkeypatch):
    """Return a function that fits and tells what `_grow` did."""
    asked, grown = {}, []
    counts, true_grow = Door.counts, lsh_splits._grow

    def note_counts(self, draw, level, exact_counts):
        released = counts(self, draw, level, exact_counts)
        if draw == COUNT:
            asked[level] = (np.array(exact_counts), released)
        return released

    def note_grow(rows, door, settings):
        normals = np.rint(door.public_randomness("hyperplanes").normal(size=(20, rows.grid.n_columns)) * 4096)
        leaves = true_grow(rows, door, settings)
        least = lsh_splits._least_node(door, int(asked[0][1][0]), rows.grid.n_columns, settings.n_clusters)
        grown.append((rows.displacement @ normals.T < 0, leaves, least))
        return leaves

    monkeypatch.setattr(Door, "counts", note_counts)
    monkeypatch.setattr(lsh_splits, "_grow", note_grow)

    def fit(rows, k=4, epsilon=5.0, seed=0, **parameters):
        asked.clear()
        grown.clear()
        model = LSHSplits(k, epsilon, 1e-6, (-100, 100), random_state=seed, **parameters).fit(rows)
        [(beyond, leaves, least)] = grown
        return model, Seen(dict(asked), beyond, leaves), least

    return fit


def plain_tree(seen, least):
    """Return the leaves as (rows, noisy count), reading the method node by node with the counts that were released."""
    members = np.arange(len(seen.beyond))
    nodes = [(members, max(1.0, float(seen.counts[0][1][0])))]
    assert seen.counts[0][0].tolist() == [len(members)]
    leaves = []
    for level in range(21):
        children, following, position = [], [], 0
        for rows, count in nodes:
            kept = []
            if level < 20 and count >= 3 * least:
                for side in (0, 1):
                    child = rows[seen.beyond[rows, level] == side]
                    exact, noisy = (int(values[position]) for values in seen.counts[level + 1])
                    assert exact == len(child)
                    position += 1
                    if noisy >= least:
                        kept.append((child, float(noisy)))
            children.append(kept)
            following += kept
        leaves += [node for node, kept in zip(nodes, children, strict=True) if not kept]
        if position:
            assert position == len(seen.counts[level + 1][0])
        nodes = following
    return leaves


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.3, 5.0, 200.0])
def test_the_tree_is_that_of_a_plain_reading(blobs, grow, seed, epsilon):
    _, seen, least = grow(blobs, epsilon=epsilon, seed=seed)
    leaves = plain_tree(seen, least)
    assert len(leaves) == len(seen.leaves.noisy_counts)
    expected = {frozenset(rows.tolist()): count for rows, count in leaves if len(rows)}
    label = seen.leaves.leaf_of_row
    found = {
        frozenset(np.flatnonzero(label == leaf).tolist()): count
        for leaf, count in enumerate(seen.leaves.noisy_counts)
        if np.any(label == leaf)
    }
    assert found == expected
    assert sorted(seen.leaves.noisy_counts) == sorted(count for _, count in leaves)


def test_leaves_are_disjoint_and_few_rows_are_lost(blobs, grow):
    model, seen, least = grow(blobs)
    label = seen.leaves.leaf_of_row
    assert label.shape == (len(blobs),)
    assert label.min() >= -1
    assert label.max() < len(seen.leaves.noisy_counts)
    assert np.mean(label == -1) < 0.1
    assert seen.leaves.noisy_counts.min() >= least
    assert len(seen.leaves.noisy_counts) > 8
    assert model.n_clusters_ == 4


@pytest.mark.parametrize("value", [90.0, -3.0])
def test_empty_children_get_noise_too(grow, value):
    """All rows are equal, so one child of every node is empty; twice as many counts as branching nodes are drawn."""
    model, seen, least = grow(np.full((3000, 2), value))
    branching = 1
    for level in range(1, 21):
        exact, noisy = seen.counts[level]
        assert len(exact) == 2 * branching
        assert np.count_nonzero(exact) <= 1
        branching = np.count_nonzero(noisy >= 3 * least)
    assert model.n_clusters_ >= 1
    assert np.abs(model.cluster_centers_ - value).min() < 10


def test_the_tree_ends_at_the_last_level(grow):
    _, seen, _ = grow(np.full((3000, 2), 50.0), epsilon=100.0)
    assert max(seen.counts) == 20


def test_a_short_tree_is_charged_like_a_deep_one(grow):
    short, deep = (grow(rows)[0].privacy_ for rows in (np.zeros((0, 2)), np.full((3000, 2), 50.0)))
    assert [entry.cost for entry in short.entries] == [entry.cost for entry in deep.entries]
    assert sum(entry.n_draws == 0 for entry in short.entries) >= 15
    assert all(entry.n_draws > 0 for entry in deep.entries)


@pytest.mark.parametrize("k", [1, 4, 30, 500])
def test_there_are_no_more_centres_than_leaves(blobs, grow, k):
    model, seen, _ = grow(blobs, k=k)
    assert model.n_clusters_ == min(k, len(seen.leaves.noisy_counts))


# --- means --------------------------------------------------------------------------------------------------------


def test_without_noise_centres_are_means_of_leaves(blobs, no_noise, grow):
    model, seen, _ = grow(blobs, k=500)
    label = seen.leaves.leaf_of_row
    means = np.array([blobs[label == leaf].mean(axis=0) for leaf in range(label.max() + 1)])
    assert model.cluster_centers_ == pytest.approx(means, abs=0.02)
    assert model.cluster_sizes_.tolist() == np.bincount(label[label >= 0]).tolist()


@pytest.fixture
def means_found(monkeypatch):
    """Return a list that collects the private means of all fits, in the units of the data."""
    found, original = [], lsh_splits._private_mean

    def note(*arguments):
        mean = original(*arguments)
        found.append(mean * 100 / 2**15)
        return mean

    monkeypatch.setattr(lsh_splits, "_private_mean", note)
    return found


@pytest.mark.slow
def test_the_private_mean_is_within_the_box_and_right_on_average(blobs, means_found):
    for seed in range(30):
        for rows in (blobs, blobs[:2]):
            LSHSplits(2, 1.0, 1e-6, (-100, 100), random_state=seed).fit(rows)
    assert np.abs(means_found).max() <= 100
    means = np.array(means_found[::2])
    error = mean_noise(1.0, 1e-6) * 100 * math.sqrt(2) / len(blobs)
    assert np.abs(means.mean(axis=0) - blobs.mean(axis=0)).max() < 4 * error / math.sqrt(30)
    assert means.std(axis=0) == pytest.approx([error] * 2, rel=0.5)


# --- as published -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "expected"), [("default", 0.0), ("as_published", 1e6 / 6001)])
def test_published_rows_are_not_clipped_before_the_mean(blobs, no_noise, means_found, variant, expected):
    """One row far outside moves the mean, which the sound variant does not let it do."""
    for rows in (blobs, np.vstack([blobs, [1e6, 0.0]])):
        LSHSplits(4, 5.0, 1e-6, (-100, 100), variant=variant, random_state=0).fit(rows)
    assert means_found[1][0] - means_found[0][0] == pytest.approx(expected, rel=0.01, abs=0.1)


def test_the_published_draws_themselves_keep_the_budget(blobs):
    statement = LSHSplits(4, 1.0, 1e-6, (-100, 100), variant="as_published", random_state=0).fit(blobs).privacy_
    assert 0.85 < statement.drawn_epsilon <= 1.0
    assert len(statement.defects) == 1


def test_a_published_mean_may_be_far_away(blobs):
    """With hardly any rows the mean is divided by a count that is mostly noise: strange, but it works."""
    for seed in range(20):
        model = LSHSplits(3, 0.5, 1e-6, (50, 60), variant="as_published", random_state=seed).fit(blobs[:3])
        assert np.isfinite(model.cluster_centers_).all()
