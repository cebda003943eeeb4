"""PE-means: its budget, its votes, its fast and exact search, its evolution."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dpmondrian import ParameterError, Schema
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.peers import PEMeans, nearest, pe_means
from dpmondrian_lab.peers.ball import drawn_into_ball, packed_in_ball
from dpmondrian_lab.peers.base import PeerSettings
from dpmondrian_lab.peers.joint import GAUSSIAN_SLACK, least_multiplier
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.nearest import Candidates
from dpmondrian_lab.peers.pe_means import _believed, _Course, _levy_steps, _mutated, weighted_means
from dpmondrian_lab.peers.rows import FixedPointRows, nearest_centre

BOX = (-100, 100)


def course(epsilon=1.0, delta=1e-7, k=5, n=100_000, d=4):
    return _Course.of(PeerSettings(k, epsilon, delta, "default", n), d)


def model_for(rows, k=4, epsilon=2.0, **parameters):
    return PEMeans(k, epsilon, 1e-6, BOX, **{"expected_rows": max(len(rows), 2), "random_state": 0} | parameters)


# --- the budget ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("d", [1, 10, 100])
def test_all_draws_together_are_one_gaussian_draw(epsilon, d):
    one = course(epsilon, d=d)
    spent = 1 / one.count_noise**2 + one.n_generations / one.vote_noise**2
    budget = 1 - 2 * GAUSSIAN_SLACK
    assert 1 / math.sqrt(spent) == pytest.approx(least_multiplier(epsilon * budget, 1e-7 * budget))


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 3.0, 1000.0])
@pytest.mark.parametrize("k", [1, 64])
def test_the_plan_costs_the_budget(epsilon, k):
    model = PEMeans(k, epsilon, 1e-7, BOX)
    plan = model._plan(model._settings(), 10)
    plan.verify()
    assert epsilon * (1 - 1e-5) <= plan.spent() <= epsilon


def test_generations_grow_with_columns_and_epsilon():
    assert [course(d=d).n_generations for d in (1, 2, 10, 16, 100)] == [4, 5, 12, 16, 40]
    assert [course(e, d=10).n_generations for e in (0.1, 1.0, 1.5, 4.0, 100.0)] == [12, 12, 18, 48, 48]


def test_mutants_are_the_authors_within_limits():
    assert course(k=64).n_mutants == 100_000 // (5 * 64)
    assert course(k=64, n=100).n_mutants == 4
    assert course(k=10, n=10**12).n_mutants == 2**16 // 10


def test_every_candidate_gets_noise_in_every_generation(blobs):
    model = model_for(blobs[:500], k=3, epsilon=1.0).fit(blobs[:3])
    entries = model.privacy_.entries
    assert [(entry.name, entry.level) for entry in entries] == [("row count", 0), *(("votes", g) for g in range(5))]
    assert entries[0].n_draws == 1
    assert entries[1].n_draws == 3 * (500 // 15 + 1)
    assert all(entry.n_draws % 3 == 0 and entry.n_draws >= 3 * 5 for entry in entries[1:])


# --- neighbours ---------------------------------------------------------------------------------------------------


class ScriptedDoor(LabDoor):
    """A door that notes exact values and hands over those that an earlier run released, if it is given them."""

    def __init__(self, plan, seed, script=None):
        super().__init__(plan, seed=seed)
        self.exact, self.released, self._script = {}, {}, script

    def fine_counts(self, draw, level, exact_counts):
        drawn = super().fine_counts(draw, level, exact_counts)
        self.exact[draw.name, level] = exact_counts.copy()
        self.released[draw.name, level] = drawn if self._script is None else self._script[draw.name, level]
        return self.released[draw.name, level]


def run(model, rows, seed, script=None):
    table = read_table(rows)
    schema = Schema.from_bounds(model.bounds, table.names, [False] * rows.shape[1])
    door = ScriptedDoor(model._plan(model._settings(), rows.shape[1]), seed, script)
    centres = model._cluster(FixedPointRows.of(table, schema), door, model._settings())
    return door, centres


def changes(model, rows, neighbour, seed):
    """Return the length of the change of every draw, both runs having released the same."""
    one, centres = run(model, rows, seed)
    other, again = run(model, neighbour, seed, one.released)
    assert centres.displacement.tobytes() == again.displacement.tobytes()
    assert centres.sizes.tobytes() == again.sizes.tobytes()
    assert one.close() == other.close()
    return [np.sqrt(((other.exact[draw] - exact) ** 2).sum()) for draw, exact in one.exact.items()]


ADDED = [[-100.0, -100.0], [100.0, 100.0], [1e300, -1e300], [0.0, 0.0], [-60.0, -40.0]]


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [0, 1, 40, 400])
@pytest.mark.parametrize("k", [1, 4])
def test_one_row_changes_one_vote_in_every_generation(blobs, n_rows, k):
    rows = blobs[:n_rows]
    for seed, row in enumerate(ADDED):
        neighbour = np.insert(rows, n_rows // 2, row, axis=0)
        model = model_for(blobs[:400], k)
        assert changes(model, rows, neighbour, seed) == [1.0] * (1 + 2 * 5)
        assert changes(model, neighbour, rows, seed) == [1.0] * (1 + 2 * 5)


def test_votes_that_depend_on_other_rows_are_caught(blobs, monkeypatch):
    rows = blobs[:100]
    neighbour = np.insert(rows, 0, [0.0, 0.0], axis=0)
    monkeypatch.setattr(Candidates, "nearest", lambda self, points: np.arange(len(points))[::-1] % 5)
    assert changes(model_for(rows), rows, neighbour, 0) == [1.0] * 11
    monkeypatch.setattr(Candidates, "nearest", lambda self, points: np.full(len(points), len(points) % 5))
    assert max(changes(model_for(rows), rows, neighbour, 0)) > 1.0


def test_the_order_of_rows_changes_nothing(blobs):
    one, _ = run(model_for(blobs), blobs[:900], 0)
    other, _ = run(model_for(blobs), blobs[:900][::-1], 0)
    assert all(np.array_equal(exact, other.exact[draw]) for draw, exact in one.exact.items())


# --- the nearest candidate ----------------------------------------------------------------------------------------


def by_whole_numbers(points, places):
    """The nearest candidate in integer arithmetic, the first on ties."""
    points, places = points.astype(np.int64), places.astype(np.int64)
    return np.array([((places - point) ** 2).sum(axis=1).argmin() for point in points], dtype=np.int64)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(nearest, "_BLOCK", 50)
    monkeypatch.setattr(nearest, "_SHELL", 4)


whole = st.integers(-4, 4).map(float)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data(), st.integers(1, 3), st.integers(1, 40), st.integers(0, 30))
def test_nearest_among_ties(data, n_columns, n_candidates, n_points):
    """Few places, so many candidates are equally near or the same."""
    places = data.draw(npst.arrays(np.float64, (n_candidates, n_columns), elements=whole))
    points = data.draw(npst.arrays(np.float64, (n_points, n_columns), elements=whole))
    n_pivots = data.draw(st.integers(1, n_candidates))
    found = Candidates.of(places, n_pivots).nearest(points)
    assert found.tolist() == by_whole_numbers(points, places).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 2, 10, 100])
@pytest.mark.parametrize("n_pivots", [1, 7, 60])
def test_nearest_as_in_a_run(small_pieces, n_columns, n_pivots):
    """Candidates of a first and of a later generation, and rows between, at and far from them, up to the corners."""
    rng = np.random.default_rng(n_columns)
    half = 2**15
    radius = half * math.sqrt(n_columns)
    first = np.rint(packed_in_ball(300, n_columns, radius, rng))
    later = _mutated(first[:60], 4, radius, rng)
    for places in (first, later):
        near = np.clip(places + rng.integers(-2000, 2000, places.shape), -half, half)
        corners = rng.choice([-half, half], (50, n_columns)).astype(float)
        between = np.rint((places[:60] + places[60:120]) / 2)
        points = np.vstack([near, corners, between, places[-20:]])
        found = Candidates.of(places, n_pivots).nearest(points)
        assert found.tolist() == by_whole_numbers(points, places).tolist()
        assert found.tolist() == nearest_centre(points, places).tolist()


class CountingForms:
    """The forms of a shell; notes how many pairs of points and candidates are measured."""

    __array_ufunc__ = None

    def __init__(self, forms, pairs):
        self.forms, self.pairs = forms, pairs

    def __rmatmul__(self, lifted):
        self.pairs.append(len(lifted) * self.forms.shape[1])
        return lifted @ self.forms


def test_most_candidates_are_not_looked_at():
    """Otherwise it would be easy to be exact."""
    rng = np.random.default_rng(0)
    centres = rng.integers(-30_000, 30_000, (30, 10)).astype(float)
    places = _mutated(centres, 200, 2**15 * math.sqrt(10), rng)
    points = np.repeat(centres, 50, axis=0) + rng.integers(-300, 300, (1500, 10))
    candidates, pairs = Candidates.of(places, 30), []
    shells = tuple(replace(shell, forms=CountingForms(shell.forms, pairs)) for shell in candidates.shells)
    found = Candidates(candidates.pivot_forms, shells).nearest(points)
    assert found.tolist() == by_whole_numbers(points, places).tolist()
    assert sum(pairs) < 0.1 * len(points) * len(places)


def test_the_result_of_a_row_depends_on_no_other_row(small_pieces):
    rng = np.random.default_rng(1)
    places = rng.integers(-500, 500, (200, 3)).astype(float)
    points = rng.integers(-500, 500, (130, 3)).astype(float)
    candidates = Candidates.of(places, 14)
    alone = [candidates.nearest(point[None])[0] for point in points]
    assert candidates.nearest(points).tolist() == alone
    assert candidates.nearest(points[::-1]).tolist() == alone[::-1]
    assert candidates.nearest(points[:0]).tolist() == []


# --- evolution ----------------------------------------------------------------------------------------------------


def test_the_largest_votes_up_to_the_total_are_believed():
    votes = np.array([5.0, -3.0, 40.0, 0.5, 30.0, 5.0])
    kept, weights = _believed(votes, 70.0, 1)
    assert kept.tolist() == [2, 4]
    assert weights.tolist() == [40.0, 30.0]
    assert _believed(votes, 71.0, 1)[0].tolist() == [2, 4, 0]
    assert _believed(votes, 1e9, 1)[0].tolist() == [2, 4, 0, 5, 3]
    assert _believed(votes, 1e9, 1)[1].tolist() == [40.0, 30.0, 5.0, 5.0, 1.0]


def test_some_candidates_are_kept_whatever_the_votes():
    for total in (-100.0, 0.0, 100.0):
        kept, weights = _believed(np.array([-5.0, -1.0, -2.0, -9.0]), total, 3)
        assert kept.tolist() == [1, 2, 0]
        assert weights.tolist() == [1.0, 1.0, 1.0]


def test_centres_are_weighted_means():
    places = np.array([[0.0, 0.0], [4.0, 0.0], [100.0, 90.0], [100.0, 100.0]])
    centres, sizes = weighted_means(places, np.array([3.0, 1.0, 5.0, 5.0]), 2, 3, 0)
    order = np.argsort(sizes)
    assert centres[order].tolist() == [[1.0, 0.0], [100.0, 95.0]]
    assert sizes[order].tolist() == [4.0, 10.0]


def test_mutants_are_around_their_centres_and_in_the_ball():
    radius = 1e5
    centres = np.array([[0.0, 0.0, 0.0], [7e4, 7e4, 1e4]])
    places = _mutated(centres, 500, radius, np.random.default_rng(0))
    assert places.shape == (2 * 501, 3)
    assert np.array_equal(places[:2], centres)
    assert np.array_equal(places, np.rint(places))
    assert np.sqrt((places**2).sum(axis=1)).max() <= radius + 2
    assert np.median(np.abs(places[0::2])) == pytest.approx(0.0043 * radius, rel=0.1)
    assert np.median(places[1::2], axis=0) == pytest.approx(centres[1], abs=0.005 * radius)


def test_steps_have_the_tail_of_a_stable_law():
    """Ten times as far, 10**1.75 times as rare; a Gaussian law would have no such steps at all."""
    steps = np.abs(_levy_steps((1_000_000, 1), np.random.default_rng(0)))
    assert np.mean(steps > 5) / np.mean(steps > 50) == pytest.approx(10**1.75, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("n_points", "n_columns"), [(1, 1), (300, 1), (300, 2), (1000, 8), (600, 50)])
def test_packed_points_keep_their_distance(n_points, n_columns):
    points = packed_in_ball(n_points, n_columns, 10.0, np.random.default_rng(0))
    assert points.shape == (n_points, n_columns)
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    gap = 10.0 - np.sqrt((points**2).sum(axis=1)).max()
    power = math.floor(math.log2(gap / 10.0 * (1 + 1e-9)))  # s is the largest power of two below the free margin
    assert np.sqrt(squares.min()) >= 2 * 10.0 * 2.0**power * (1 - 1e-9) or n_points == 1


def test_points_outside_are_drawn_to_the_sphere():
    points = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0], [0.0, -20.0]])
    assert drawn_into_ball(points, 5.0).tolist() == [[3.0, 4.0], [3.0, 4.0], [0.0, 0.0], [0.0, -5.0]]


# --- runs ---------------------------------------------------------------------------------------------------------


def result(model):
    return model.cluster_centers_.tobytes(), model.cluster_sizes_.tobytes(), model.privacy_.to_json()


@pytest.mark.slow
def test_a_seed_reproduces_a_run(blobs):
    one, again, other = (model_for(blobs, random_state=seed).fit(blobs) for seed in (1, 1, 2))
    assert result(one) == result(again)
    assert result(one)[0] != result(other)[0]


def test_there_is_one_variant(blobs):
    with pytest.raises(ParameterError, match="'variant'"):
        PEMeans(2, bounds=BOX, variant="as_published").fit(blobs)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [0, 1, 5])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 1000.0])
def test_hardly_any_rows(n_rows, k, epsilon):
    for seed in range(3):
        model = PEMeans(k, epsilon, 1e-6, (50, 60), expected_rows=2, random_state=seed)
        model.fit(np.full((n_rows, 3), 55.0))
        assert model.cluster_centers_.shape == (k, 3)
        assert model.cluster_centers_.min() >= 50
        assert model.cluster_centers_.max() <= 60
        assert model.cluster_sizes_.min() > 0


def test_clusters_are_found(blobs, middles):
    model = model_for(blobs, epsilon=1.0).fit(blobs)
    distance = np.sqrt(((middles[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    assert distance.min(axis=1).max() < 4
    assert model.cluster_sizes_[distance.argmin(axis=1)] == pytest.approx([2500, 1500, 1200, 800], abs=150)


@pytest.mark.slow
def test_a_wrong_guess_of_the_number_of_rows_does_little_harm(blobs, middles):
    for expected in (600, 60_000):
        model = model_for(blobs, expected_rows=expected).fit(blobs)
        distance = np.sqrt(((middles[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
        assert distance.min(axis=1).max() < 8
        assert model.cluster_sizes_.sum() == pytest.approx(6000, rel=0.05)


@pytest.mark.slow
def test_few_rows_make_a_smaller_population(blobs):
    """Where votes are mostly noise, the next generation has half as many mutants, but at least four a centre."""
    sizes = [entry.n_draws for entry in model_for(blobs, epsilon=0.05).fit(blobs[:50]).privacy_.entries[1:]]
    assert sizes[:4] == [4 * 301, 4 * 151, 4 * 76, 4 * 38]
    low = [entry.n_draws for entry in model_for(blobs, epsilon=0.01, expected_rows=50).fit(blobs[:9]).privacy_.entries]
    assert low[1:] == [4 * 5] * 5
    full = [entry.n_draws for entry in model_for(blobs, epsilon=10.0).fit(blobs).privacy_.entries[1:]]
    assert set(full) == {4 * 301}


@pytest.mark.slow
def test_without_noise_it_comes_near_to_k_means(blobs, no_noise, monkeypatch):
    monkeypatch.setattr(pe_means, "_KMEANS_STARTS", 3)
    model = model_for(blobs, epsilon=4.0).fit(blobs)
    squares = ((blobs[:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    assert squares.mean() < 1.05 * 2 * 4.0**2
