"""What a user may rely on: limits, reproducibility, exact k, distances, clipping, and the ledger's units."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.common import threads
from dpmondrian.tables import frames

SETTINGS = [{}, {"delta": 0}, {"variant": "paper"}, {"n_clusters": 2}, {"n_clusters": 5}, {"rows_per_person": 2}]


def fit(rows, **params) -> DPM:
    return DPM(**({"bounds": (-100, 100), "random_state": 0} | params)).fit(rows)


# Limits


@pytest.mark.slow
@pytest.mark.parametrize(("params", "tolerance"), [({}, 0.3), ({"delta": 0}, 0.3), ({"variant": "paper"}, 0.01)])
def test_much_epsilon_gives_true_counts_and_means(blobs, params, tolerance, leaf_of):
    model = fit(blobs, epsilon=1e6, **params)
    leaves = leaf_of(model.tree_, blobs)
    for leaf in np.flatnonzero(model.tree_.column < 0):
        assert model.tree_.size[leaf] == pytest.approx((leaves == leaf).sum(), abs=0.01)
    of_row = model.tree_.cluster[leaves] if "variant" in params else model.labels_
    assert model.n_clusters_ >= 3
    for cluster in range(model.n_clusters_):
        inside = blobs[of_row == cluster]
        assert model.cluster_sizes_[cluster] == pytest.approx(len(inside), abs=0.01)
        np.testing.assert_allclose(model.cluster_centers_[cluster], inside.mean(axis=0), atol=tolerance)


def test_much_epsilon_and_k_give_nearly_the_inertia_of_kmeans(blobs):
    from sklearn.cluster import KMeans

    model = fit(blobs, epsilon=1e6, n_clusters=3)
    inertia = (model.transform(blobs).min(axis=1) ** 2).sum()
    assert inertia <= 1.02 * KMeans(3, n_init=5, random_state=0).fit(blobs).inertia_


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"delta": 0}, {"n_clusters": 3}])
def test_more_epsilon_means_less_error(blobs, middles, params):
    def error(epsilon: float) -> float:
        errors = []
        for seed in range(8):
            model = fit(blobs, epsilon=epsilon, random_state=seed, **params)
            distance = np.linalg.norm(middles[:, None] - model.cluster_centers_, axis=2)
            errors.append(distance.min(axis=1).mean())
        return float(np.mean(errors))

    errors = [error(epsilon) for epsilon in (0.05, 1.0, 5.0)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] > 10 * errors[2]


@pytest.mark.slow
def test_noise_of_sizes_shrinks_with_epsilon(blobs):
    spread = [
        np.std([fit(blobs, epsilon=e, max_depth=0, random_state=s).cluster_sizes_[0] for s in range(20)])
        for e in (0.1, 10)
    ]
    assert spread[0] > 10 * spread[1] > 0


@pytest.mark.slow
def test_the_stated_errors_are_those_that_occur(blobs):
    """One cluster of all rows: its size and centre miss the truth by about the standard errors in the release."""
    misses = []
    for seed in range(40):
        release = fit(blobs, max_depth=0, random_state=seed).release_
        misses.append((release.sizes[0] - len(blobs)) / release.size_errors[0])
    assert 0.6 < np.std(misses) < 1.5


# Reproducibility


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_the_same_seed_gives_the_same_release(blobs, params):
    first = fit(blobs, **params).release_.to_json()
    assert fit(blobs, **params).release_.to_json() == first
    assert fit(blobs, **params, random_state=1).release_.to_json() != first


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_may_serve_as_seed(few_rows, make):
    releases = [fit(few_rows, random_state=make(seed)).release_.to_json() for seed in (3, 3, 4)]
    assert releases[0] == releases[1] != releases[2]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_the_order_of_rows_does_not_matter(blobs, params):
    order = np.random.default_rng(3).permutation(len(blobs))
    turned, straight = fit(blobs[order], **params), fit(blobs, **params)
    assert turned.release_.to_json() == straight.release_.to_json()
    assert turned.labels_.tolist() == straight.labels_[order].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("on_missing", ["error", "drop", "middle"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_and_blocks_do_not_matter(monkeypatch, blobs, params, on_missing, n_threads):
    rows = blobs.copy()
    if on_missing != "error":
        rows[::50, 0] = np.nan
    expected = fit(rows, on_missing=on_missing, **params)
    monkeypatch.setattr(threads, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr(threads, "_MOST_THREADS", n_threads)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(frames, "BLOCK_ROWS", 101)
    got = fit(rows, on_missing=on_missing, **params)
    assert got.release_.to_json() == expected.release_.to_json()
    assert got.labels_.tolist() == expected.labels_.tolist()
    assert got.predict(rows).tolist() == expected.predict(rows).tolist()
    np.testing.assert_array_equal(got.transform(rows), expected.transform(rows))


def test_the_global_generator_is_left_alone(few_rows):
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    fit(few_rows)
    DPM(bounds=(-100, 100)).fit(few_rows)
    np.testing.assert_equal(np.random.get_state(legacy=False), before)  # noqa: NPY002


# The number of clusters


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("params", [{}, {"delta": 0}, {"max_depth": 0}, {"variant": "paper"}], ids=str)
def test_k_clusters_are_k_clusters(blobs, k, params):
    model = fit(blobs, epsilon=3.0, n_clusters=k, **params)
    if "variant" in params:  # the paper's variant merges leaves and can make no new ones
        k = min(k, model.tree_.n_leaves)
    assert model.n_clusters_ == k
    assert model.cluster_centers_.shape == (k, 2)
    assert model.cluster_sizes_.shape == (k,)
    assert len({tuple(centre) for centre in model.cluster_centers_.tolist()}) == k
    assert set(model.labels_.tolist()) <= set(range(k))
    assert set(model.tree_.cluster[model.tree_.column < 0].tolist()) <= set(range(k))
    assert model.labels_.tolist() == model.predict(blobs).tolist()


@pytest.mark.parametrize("params", [{}, {"delta": 0}, {"variant": "paper"}], ids=str)
def test_there_are_runs_with_more_leaves_than_clusters(blobs, params):
    model = fit(blobs, epsilon=100.0, n_clusters=2, **params)
    assert model.tree_.n_leaves > model.n_clusters_ == 2
    assert len(set(model.tree_.cluster[model.tree_.column < 0].tolist())) == 2


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("params", [{}, {"delta": 0}, {"variant": "paper"}], ids=str)
def test_sizes_of_k_clusters_add_up_to_the_total(blobs, k, params):
    model = fit(blobs, epsilon=20.0, n_clusters=k, **params)
    leaves = model.tree_.column < 0
    assert model.cluster_sizes_.sum() == pytest.approx(model.tree_.size[leaves].sum(), rel=1e-9)
    assert model.cluster_sizes_.sum() == pytest.approx(len(blobs), rel=0.05)
    assert np.all(np.diff(model.cluster_sizes_) <= 0)


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_without_depth_there_is_one_leaf(blobs, params):
    model = fit(blobs, max_depth=0, **params)
    assert model.tree_.n_leaves == 1
    assert model.n_clusters_ == params.get("n_clusters", model.n_clusters_)
    assert model.tree_.rules()[0].startswith("everyone: about")
    assert all(entry.name != "split" for entry in model.privacy_.entries)


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_depth_limits_the_path_to_a_leaf(blobs, depth):
    tree = fit(blobs, epsilon=100, max_depth=depth, min_cluster_size=5).tree_
    level = np.zeros(len(tree.column), dtype=int)
    for node in np.flatnonzero(tree.column >= 0):
        level[[tree.left[node], tree.right[node]]] = level[node] + 1
    assert min(depth, 2) <= level.max() <= depth


def test_no_leaf_is_smaller_than_asked_for(blobs):
    tree = fit(blobs, epsilon=1e5, min_cluster_size=250).tree_
    assert tree.size.min() >= 249
    assert tree.n_leaves > 1
    assert fit(blobs, epsilon=1e5, min_cluster_size=10**9).tree_.n_leaves == 1


def test_sizes_add_up_along_the_released_tree(blobs):
    tree = fit(blobs, epsilon=1.0).tree_
    for node in np.flatnonzero(tree.column >= 0):
        assert tree.size[tree.left[node]] + tree.size[tree.right[node]] == pytest.approx(tree.size[node], rel=1e-9)


# Distances and labels


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_transform_predict_and_labels_agree(blobs, params):
    model = fit(blobs, **params)
    distances = model.transform(blobs)
    expected = np.linalg.norm(blobs[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    assert model.predict(blobs).tolist() == model.labels_.tolist()
    if model.release_.partition is None:  # labels are those of the nearest centre, up to the places of a grid
        assert np.mean(distances.argmin(axis=1) == model.labels_) > 0.999
    assert (
        fit(blobs, **params).labels_.tolist()
        == DPM(bounds=(-100, 100), random_state=0, **params).fit_predict(blobs).tolist()
    )


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_fit_transform_is_fit_and_transform(blobs, params):
    model = DPM(bounds=(-100, 100), random_state=0, **params)
    np.testing.assert_array_equal(model.fit_transform(blobs), fit(blobs, **params).transform(blobs))


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_units_of_a_column_do_not_matter(blobs, params):
    """A column in grams counts like one in kilograms."""
    factors = np.array([1.0, 1024.0])
    plain = fit(blobs, bounds=[(-100, 100), (-100, 100)], **params)
    scaled = fit(blobs * factors, bounds=[(-100, 100), (-102400, 102400)], **params)
    np.testing.assert_allclose(scaled.cluster_centers_, plain.cluster_centers_ * factors)
    assert scaled.cluster_sizes_.tolist() == plain.cluster_sizes_.tolist()
    assert scaled.labels_.tolist() == plain.labels_.tolist()
    share = scaled.transform(blobs * factors) / plain.transform(blobs)
    np.testing.assert_allclose(share, share[0, 0])


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_values_beyond_the_bounds_count_as_the_bounds(blobs, params):
    bounds = [(-62, 61), (-41, 29)]
    clipped = np.clip(blobs, [-62, -41], [61, 29])
    assert np.mean(np.any(clipped != blobs, axis=1)) > 0.2
    outside, inside = fit(blobs, bounds=bounds, **params), fit(clipped, bounds=bounds, **params)
    assert outside.release_.to_json() == inside.release_.to_json()
    assert outside.labels_.tolist() == inside.labels_.tolist()
    np.testing.assert_array_equal(outside.transform(blobs), inside.transform(clipped))
    extreme = np.where(blobs > 0, 1e300, -1e300)
    assert np.isfinite(outside.transform(extreme)).all()


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_centres_lie_within_the_bounds(few_rows, params, epsilon):
    for seed in range(3):
        centres = fit(
            few_rows, bounds=[(-60, 50), (-30, 90)], epsilon=epsilon, random_state=seed, **params
        ).cluster_centers_
        assert np.all(centres >= [-60, -30])
        assert np.all(centres <= [50, 90])


def test_whole_number_columns_are_cut_between_whole_numbers(blobs):
    rows = np.column_stack([np.rint(blobs[:, 0] / 30) + 3, blobs[:, 1]])
    model = fit(rows, epsilon=100, bounds=[(0, 6, "int"), (-100, 100)])
    cuts = model.tree_.threshold[model.tree_.column == 0]
    assert len(cuts) > 0
    assert np.all(cuts == np.rint(cuts))


# The ledger


@pytest.mark.parametrize("params", [{}, {"delta": 0}, {"variant": "paper"}, {"n_clusters": 4}], ids=str)
@pytest.mark.parametrize("most", [2, 5])
def test_rows_per_person_scales_every_sensitivity(blobs, params, most):
    one = fit(blobs, epsilon=1e4, max_depth=2, **params).privacy_
    many = fit(blobs, epsilon=1e4, max_depth=2, rows_per_person=most, **params).privacy_
    assert len(one.entries) == len(many.entries)
    for a, b in zip(one.entries, many.entries, strict=True):
        assert (a.name, a.level, a.mechanism, a.cost) == (b.name, b.level, b.mechanism, b.cost)
        if b.n_draws and a.name != "split":
            assert b.sensitivity == most * a.sensitivity
            assert b.scale == pytest.approx(most * a.scale)
        if b.n_draws:
            assert a.sensitivity / a.scale == pytest.approx(b.sensitivity / b.scale)
    splits = [
        [entry.sensitivity for entry in p.entries if entry.name == "split" and entry.n_draws] for p in (one, many)
    ]
    assert splits[0]
    if "variant" not in params:  # the paper's range also depends on the noisy count of the node
        assert splits[1] == [most * sensitivity for sensitivity in splits[0]]
    else:
        assert all(b >= most * a * 0.9 for a, b in zip(*splits, strict=True))


def test_pure_epsilon_draws_no_gaussian_noise(blobs):
    privacy = fit(blobs, delta=0).privacy_
    assert {entry.mechanism for entry in privacy.entries} == {"discrete Laplace", "permute-and-flip"}
    assert (privacy.rho, privacy.delta, privacy.currency) == (None, 0.0, "epsilon")


def test_the_default_draws_gaussian_noise_and_exponential_choices(blobs):
    privacy = fit(blobs).privacy_
    assert {entry.mechanism for entry in privacy.entries} == {"discrete Gaussian", "exponential mechanism"}
    assert privacy.rho > 0
    assert privacy.currency == "rho"


def test_the_papers_variant_follows_the_paper(blobs):
    privacy = fit(blobs, variant="paper").privacy_
    shares = {
        name: sum(entry.cost for entry in privacy.entries if entry.name == name)
        for name in ("interval size", "count", "split", "sums")
    }
    expected = {"interval size": 0.04, "count": 0.18, "split": 0.18, "sums": 0.60}
    assert shares == pytest.approx(expected, rel=1e-6)
    assert len([entry for entry in privacy.entries if entry.name == "split"]) == 7
    assert privacy.variant == "paper"


def test_budget_shares_are_followed(blobs):
    """As far as draws are made; what others would have cost goes to the cells."""
    shares = {"splits": 0.1, "counts": 0.2, "cells": 0.3, "clusters": 0.4}
    privacy = fit(blobs, budget_shares=shares, n_clusters=3, profiles=False).privacy_
    spent = dict.fromkeys(["split", "count", "coarse sums"], 0.0)
    for entry in privacy.entries:
        of_clusters = entry.level is not None and entry.level > 2 and entry.name not in ("split", "count")
        name = "clusters" if of_clusters else entry.name if entry.name in spent else "cells"
        spent[name] = spent.get(name, 0.0) + entry.cost / privacy.rho
    assert spent["clusters"] == pytest.approx(shares["clusters"], rel=1e-6)
    assert spent["split"] <= shares["splits"] + 1e-9
    assert spent["count"] <= shares["counts"] + 1e-9
    assert spent["cells"] + spent["coarse sums"] >= shares["cells"] - 1e-9


def test_a_short_tree_leaves_its_budget_to_others(few_rows):
    privacy = fit(few_rows, epsilon=0.1, accountant="zcdp").privacy_
    assert any(entry.n_draws == 0 for entry in privacy.entries)
    assert all(entry.cost == 0.0 for entry in privacy.entries if entry.n_draws == 0)
    assert sum(entry.cost for entry in privacy.entries) == pytest.approx(privacy.rho, rel=1e-6)


@pytest.mark.slow
def test_a_finer_grid_and_other_score_parameters_are_used(blobs):
    plain = fit(blobs).release_.to_json()
    for params in ({"windows": 16}, {"windows": 1000}, {"t": 0.5}, {"q": 0.05}, {"max_depth": 3}):
        assert fit(blobs, **params).release_.to_json() != plain
    assert fit(blobs, n_clusters=3, alpha=1.0).release_.to_json() != fit(blobs, n_clusters=3).release_.to_json()
