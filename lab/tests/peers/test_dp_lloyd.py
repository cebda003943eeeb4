"""DP-Lloyd: its budget, its start, its steps, and the published variant with its defects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpmondrian import BudgetError
from dpmondrian.privacy.plan import PlannedDraw
from dpmondrian_lab.peers.base import PeerSettings
from dpmondrian_lab.peers.dp_lloyd import BOUNDED_SUMS, DPLloyd, StepBudget, bounded_laplace_scale
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import BOUNDED_LAPLACE, LabPlan
from dpmondrian_lab.peers.packing import packed_points

# --- budget -------------------------------------------------------------------------------------------------------

DATA_SETS = [  # k, d, n, c, the least useful epsilon per step, steps at epsilon 1
    (64, 10, 100_000, 1.2651, 4.329, 2),
    (64, 100, 100_000, 2.7257, 119.2, 2),
    (10, 40, 60_000, 2.0083, 3.209, 2),
    (26, 16, 18_720, 1.4797, 11.57, 2),
    (2, 11, 36_733, 1.3060, 0.0743, 7),
]


def budget(epsilon, k, d, n):
    return StepBudget.of(PeerSettings(k, epsilon, 0.0, "default", n), d)


@pytest.mark.parametrize(("k", "d", "n", "weight", "least", "steps"), DATA_SETS)
def test_number_of_steps(k, d, n, weight, least, steps):
    one = budget(1.0, k, d, n)
    assert one.n_steps == steps
    assert one.count / one.coordinate == pytest.approx(weight, abs=5e-5)
    for wanted in (3, 4, 7):  # each step gets at least the least useful epsilon
        assert budget(wanted * least * 1.001, k, d, n).n_steps == wanted
        assert budget(wanted * least * 0.999, k, d, n).n_steps == wanted - 1
    assert budget(1e6, k, d, n).n_steps == 7
    assert budget(1e-6, k, d, n).n_steps == 2


@pytest.mark.parametrize("d", [1, 2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_a_step_costs_its_share(d, epsilon):
    one = budget(epsilon, 5, d, 10_000)
    assert one.count + d * one.coordinate == pytest.approx(epsilon / one.n_steps, rel=1e-8)
    assert one.n_steps * (one.count + d * one.coordinate) <= epsilon


# --- start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 1), (7, 1), (3, 2), (40, 2), (64, 10), (64, 100)])
def test_start_centres_are_apart_from_each_other_and_from_the_faces(k, d):
    points = packed_points(k, d, np.random.default_rng(0))
    assert points.shape == (k, d)
    distances = np.sqrt(((points[:, None, :] - points) ** 2).sum(axis=2)) + 1e9 * np.eye(k)
    possible = [2.0**-i for i in range(30)]
    radius = next(r for r in possible if distances.min() >= 2 * r - 1e-9 and np.abs(points).max() <= 1 - r + 1e-9)
    assert radius > 0.3 / k ** (1 / d) / math.sqrt(d) / 4


def test_the_start_of_wide_boxes_is_as_far_apart_as_expected():
    """Half of the half width for 64 points in ten columns, all of it in a hundred."""
    for d, radius in ((10, 0.25), (100, 0.5)):
        points = packed_points(64, d, np.random.default_rng(1))
        distances = np.sqrt(((points[:, None, :] - points) ** 2).sum(axis=2)) + 1e9 * np.eye(64)
        assert distances.min() >= 2 * radius
        assert np.abs(points).max() <= 1 - radius


def recorded(monkeypatch, method):
    """Note the arguments of every call of one of the door's methods."""
    calls, original = [], getattr(LabDoor, method)

    def note(self, *arguments, **named):
        calls.append(arguments)
        return original(self, *arguments, **named)

    monkeypatch.setattr(LabDoor, method, note)
    return calls


@pytest.mark.slow
def test_the_start_does_not_depend_on_rows(monkeypatch, blobs, no_noise):
    """The cells of the first step are those of the packed points, whatever the other rows are."""
    calls = recorded(monkeypatch, "counts")
    model = DPLloyd(4, 1.0, (-100, 100), random_state=5)
    for rows in (blobs[:1], blobs[:2000]):
        model.fit(rows)
    [first, second] = [call[2] for call in calls if call[1] == 0]
    assert np.flatnonzero(first).size == 1
    assert second[np.flatnonzero(first)] >= 1


# --- steps --------------------------------------------------------------------------------------------------------


def test_all_clusters_get_noise_whatever_the_rows(monkeypatch):
    counts, sums = recorded(monkeypatch, "counts"), recorded(monkeypatch, "box_sums")
    for rows in (np.zeros((0, 2)), np.full((100, 2), 90.0)):
        model = DPLloyd(20, 3.0, (-100, 100), random_state=0).fit(rows)
        assert {entry.n_draws for entry in model.privacy_.entries if entry.name == "cell count"} == {20}
        assert {entry.n_draws for entry in model.privacy_.entries if entry.name == "coordinate sums"} == {40}
        assert model.n_clusters_ == 20
    assert {len(call[2]) for call in counts} == {20}
    assert {call[2].shape for call in sums} == {(20, 2)}


@pytest.mark.parametrize("variant", ["default", "as_published"])
def test_sizes_are_not_below_zero_and_folded_only_as_published(variant):
    model = DPLloyd(50, 0.05, (-100, 100), variant=variant, random_state=0).fit(np.zeros((3, 2)))
    assert (model.cluster_sizes_.min() >= 1) == (variant == "as_published")
    assert model.cluster_sizes_.min() >= 0
    assert np.all(model.cluster_sizes_ == np.rint(model.cluster_sizes_))


def lloyd(rows, centres, n_steps):
    """Plain Lloyd steps; a centre without rows stays."""
    for _ in range(n_steps):
        label = ((rows[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array(
            [rows[label == c].mean(axis=0) if np.any(label == c) else centres[c] for c in range(len(centres))]
        )
    return centres


@pytest.mark.parametrize("variant", ["default", "as_published"])
def test_without_noise_it_is_lloyds_algorithm(blobs, no_noise, variant):
    model = DPLloyd(6, 1e4, (-100, 100), variant=variant, random_state=3).fit(blobs)
    start = packed_points(6, 2, LabDoor(model._plan(model._settings(), 2), seed=3).public_randomness("start"))
    expected = lloyd(blobs, 100 * start, 7)
    assert model.cluster_centers_ == pytest.approx(expected, abs=0.05)


def test_a_centre_stays_where_its_count_may_be_noise(blobs):
    """With hardly any rows nothing moves: the start is released as it was."""
    model = DPLloyd(3, 0.1, (-100, 100), random_state=1).fit(blobs[:5])
    start = packed_points(3, 2, LabDoor(model._plan(model._settings(), 2), seed=1).public_randomness("start"))
    same = np.abs(model.cluster_centers_ - 100 * start).max(axis=1) < 0.01
    assert same.sum() >= 2


# --- as published -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("d", "factor"), [(10, 1.21), (11, 1.25), (16, 1.41), (40, 1.94), (100, 2.66)])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_the_published_draws_cost_more_than_promised(d, factor, epsilon):
    rows = np.random.default_rng(0).uniform(0, 1, (50, d))
    statement = DPLloyd(3, epsilon, (0, 1), variant="as_published", random_state=0).fit(rows).privacy_
    assert statement.drawn_epsilon == pytest.approx(epsilon * factor, abs=0.005 * epsilon)
    c = (4 * d * 0.225**2) ** (1 / 3)
    assert statement.drawn_epsilon == pytest.approx(epsilon * (1 + d * c) / (d + c), rel=1e-8)
    assert statement.claimed_epsilon == epsilon
    assert any("(1 + d c) / (d + c)" in defect for defect in statement.defects)


def test_the_published_code_leaves_empty_clusters_alone():
    """The leak: one row in a cluster of its own makes that centre move, else it stays bit for bit."""
    settings = {"n_clusters": 8, "epsilon": 1.0, "bounds": (-100, 100), "variant": "as_published", "random_state": 4}
    few = DPLloyd(**settings).fit(np.full((200, 2), 90.0))
    start = 100 * packed_points(8, 2, LabDoor(few._plan(few._settings(), 2), seed=4).public_randomness("start"))
    stayed = np.abs(few.cluster_centers_ - start).max(axis=1) < 0.01
    assert stayed.sum() >= 5
    lonely = start[np.flatnonzero(stayed)[0]]
    more = DPLloyd(**settings).fit(np.vstack([np.full((200, 2), 90.0), lonely]))
    moved = np.abs(more.cluster_centers_ - start).max(axis=1) >= 0.01
    assert moved[np.flatnonzero(stayed)[0]]


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("width", [1.0, 2.0, 17.0, 1e5])
def test_the_scale_of_bounded_noise_is_a_fixed_point(epsilon, width):
    [scale] = bounded_laplace_scale(np.array([width]), epsilon)
    a = (2 - math.exp(-1 / scale) - math.exp(-(width - 1) / scale)) / (1 - math.exp(-width / scale))
    assert scale == pytest.approx(1 / (epsilon - math.log(a)), rel=1e-6)
    assert 1 / epsilon * (1 - 1e-9) <= scale <= 2.001 / epsilon
    if width == 1.0:
        assert scale == pytest.approx(1 / epsilon, rel=1e-9)


def published_door(n_values, epsilon=1.0):
    draw = PlannedDraw(BOUNDED_SUMS, 0, BOUNDED_LAPLACE, 1 / epsilon, epsilon)
    return LabDoor(LabPlan(epsilon, 0.0, "epsilon", (draw,), defects=("on purpose",)), seed=2)


def bounded_p_value(draws, exact, low, high, scale, n_bins=20):
    """Return the chi-square p-value of draws against Laplace noise conditioned on an interval."""
    x = np.arange(low, high + 1)
    weights = np.exp(-np.abs(x - exact) / scale)
    p = weights / weights.sum()
    bin_of = np.minimum((n_bins * (np.cumsum(p) - p / 2)).astype(int), n_bins - 1)
    expected = draws.size * np.bincount(bin_of, p, minlength=n_bins)
    observed = np.bincount(bin_of[draws - low], minlength=n_bins)
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), n_bins - 1)


def test_bounded_noise_has_its_law_and_keeps_within_the_bounds():
    shape, low, high, exact, scale = (20_000, 1), -120, 300, 250, 80.0
    limits = np.full(shape, float(low)), np.full(shape, float(high))
    draws = (
        published_door(20_000)
        .bounded_sums(BOUNDED_SUMS, 0, np.full(shape, exact), limits, np.full(shape, scale))
        .ravel()
    )
    assert draws.min() >= low
    assert draws.max() <= high
    assert bounded_p_value(draws, exact, low, high, scale) > 1e-6
    for wrong in (0.85, 1.15):
        assert bounded_p_value(draws, exact, low, high, wrong * scale) < 1e-12


def test_bounded_noise_clips_first():
    """A sum beyond the bounds counts as the bound itself."""
    limits = np.full((1, 1), 5.0), np.full((1, 1), 5.9)
    noisy = published_door(1).bounded_sums(BOUNDED_SUMS, 0, np.array([[10**6]]), limits, np.full((1, 1), 3.0))
    assert noisy.tolist() == [[5]]


def test_bounded_noise_is_for_published_variants_only():
    door = LabDoor(LabPlan(1.0, 0.0, "epsilon", (PlannedDraw(BOUNDED_SUMS, 0, BOUNDED_LAPLACE, 1.0, 1.0),)), seed=0)
    limits = np.zeros((1, 1)), np.ones((1, 1))
    with pytest.raises(BudgetError, match="published code"):
        door.bounded_sums(BOUNDED_SUMS, 0, np.zeros((1, 1), dtype=np.int64), limits, np.ones((1, 1)))


def test_published_centres_stay_in_the_box(blobs):
    for bounds in ((-100, 100), (-300, -90), (50, 60)):
        model = DPLloyd(5, 0.1, bounds, variant="as_published", random_state=0).fit(blobs)
        assert model.cluster_centers_.min() >= bounds[0]
        assert model.cluster_centers_.max() <= bounds[1]
