"""EM-MC: its budget and lattices against the published numbers, neighbours, noise, and the published variant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import chi2

from dpmondrian import BudgetError, Schema
from dpmondrian.privacy.mechanisms.bits import SeededBits
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.peers import em_mc
from dpmondrian_lab.peers.cover import published_cover
from dpmondrian_lab.peers.cover.max_cover import CoverScale
from dpmondrian_lab.peers.em_mc import AVERAGES, CANDIDATES, EMMC, Budget, Lattices
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import max_cover_epsilon
from dpmondrian_lab.peers.rows import FixedPointRows

VARIANTS = ("default", "tight", "as_published")
SOUND = ("default", "tight")
every_variant = pytest.mark.parametrize("variant", VARIANTS)
every_sound = pytest.mark.parametrize("variant", SOUND)


def settings_of(k=5, epsilon=1.0, delta=1e-7, variant="default", n=6000):
    return EMMC(k, epsilon, delta, (0, 1), variant=variant, expected_rows=n)._settings()


def plan_of(d=3, **parameters):
    return EMMC()._plan(settings_of(**parameters), d)


def rows_of(values, bounds=(-100, 100), clip=True):
    table = read_table(np.asarray(values, dtype=np.float64))
    return FixedPointRows.of(table, Schema.from_bounds(bounds, table.names, [False] * table.n_columns), clip)


# --- budget and lattices ------------------------------------------------------------------------------------------

PAPER = [  # n, d, k, projected columns, scales, picks, least size of a cluster, diameter, sigma of clusters of equal size
    (100_000, 10, 64, 5, 18, 45, 155, 632.456, 5.8),
    (60_000, 40, 10, 4, 17, 7, 149, 82.219, 0.18),
    (18_720, 16, 26, 4, 16, 19, 135, 60.0, 1.2),
    (36_733, 11, 2, 4, 17, 2, 143, 3671.9, 2.5),
]


@pytest.mark.parametrize(("n", "d", "k", "kept", "scales", "picks", "offset", "diameter", "sigma"), PAPER)
def test_constants_of_the_papers_data_sets(n, d, k, kept, scales, picks, offset, diameter, sigma):
    settings = settings_of(k, 1.0, n**-1.5, n=n)
    lattices, budget = Lattices.of(settings, d), Budget.of(settings)
    assert (lattices.n_columns, len(lattices.steps), lattices.picks) == (kept, scales, picks)
    assert lattices.steps[0] == pytest.approx(0.99 / (n * math.sqrt(kept)))
    assert lattices.steps[-1] / lattices.steps[-2] == pytest.approx(1.99)
    assert lattices.limit == pytest.approx(kept * (1 + 1 / 0.99) ** 2)
    assert budget.offset == pytest.approx(offset, abs=0.6)
    assert budget.average_noise * diameter / (n / k - budget.offset) == pytest.approx(sigma, rel=0.03)


def test_exponents():
    n = 100_000
    published, tight = (Budget.of(settings_of(64, 1.0, n**-1.5, variant)).exponent for variant in SOUND)
    assert published == pytest.approx(0.00527, rel=1e-3)
    assert tight == pytest.approx(0.01107, rel=1e-3)


def test_tight_noise_is_a_quarter_smaller():
    default, tight = (Budget.of(settings_of(64, 1.0, 1e5**-1.5, variant)).average_noise for variant in SOUND)
    assert 0.74 < tight / default < 0.8


@every_sound
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.3, 1.0, 2.0, 5.0, 100.0, 1e6])
@pytest.mark.parametrize("delta", [1e-100, 1e-7, 1e-3, 0.9])
def test_the_plan_keeps_its_budget(variant, epsilon, delta):
    plan = plan_of(epsilon=epsilon, delta=delta, variant=variant)
    plan.verify()
    assert plan.spent() <= epsilon
    assert not plan.defects
    assert [draw.name for draw in plan.draws] == ["candidates", "candidate count", "cluster size", "averages"]
    cover = plan.find(CANDIDATES)
    assert cover.cost == pytest.approx(max_cover_epsilon(1 / cover.multiplier, cover.delta))
    assert cover.cost <= 0.2 * epsilon
    assert math.fsum(draw.delta for draw in plan.draws) <= delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_published_constants_leave_some_of_the_budget_unused(epsilon):
    spent = [plan_of(epsilon=epsilon, delta=1e-7, variant=variant).spent() / epsilon for variant in SOUND]
    assert 0.5 < spent[0] < 0.8
    assert spent[0] < spent[1] <= 1.0


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 7.3, 90.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_sizes_exceed_the_true_ones_with_the_probability_set_aside(epsilon, delta):
    """P(noise >= j) = q**j / (1 + q) for discrete Laplace noise, q = exp(-1 / scale)."""
    budget = Budget.of(settings_of(epsilon=epsilon, delta=delta))
    q = math.exp(-budget.size)
    too_large = math.ceil(budget.offset) + 1
    assert q**too_large / (1 + q) <= budget.overshoot
    assert q ** (too_large - 3) / (1 + q) > budget.overshoot * q  # and hardly less


# --- projection ---------------------------------------------------------------------------------------------------


def project(values, n_kept=3, seed=0, **parameters):
    door = LabDoor(plan_of(), seed=seed)
    return em_mc._projection(rows_of(values, **parameters), door, n_kept)


def uniform_rows(n_rows, n_columns, seed=0):
    return np.random.default_rng(seed).uniform(-100, 100, (n_rows, n_columns))


@pytest.mark.parametrize(("n_columns", "n_kept"), [(2, 2), (1, 1), (10, 3), (100, 5)])
def test_a_projected_row_depends_on_that_row_alone(n_columns, n_kept):
    table = uniform_rows(1000, n_columns)
    whole = project(table, n_kept)
    assert np.array_equal(project(table[::-1], n_kept)[::-1], whole)
    for size in (1, 2, 3, 17, 999):
        assert np.array_equal(project(table[:size], n_kept), whole[:size])
    assert np.array_equal(whole, np.rint(whole))


def test_projected_rows_lie_in_the_unit_ball():
    corners = np.array([[100.0] * 10, [-1e9] * 10, [1e300] * 10, [-100.0, 100.0] * 5])
    for seed in range(20):
        norm = np.sqrt((project(corners, 4, seed) ** 2).sum(axis=1)) / em_mc._UNIT
        assert norm.max() <= 1 + 1e-6
    whole = project(corners[:, :2], 2)  # nothing to project: corners are on the sphere
    assert np.sqrt((whole**2).sum(axis=1)) / em_mc._UNIT == pytest.approx(1.0, abs=1e-4)


def test_rows_outside_the_box_are_clipped_first():
    table = uniform_rows(100, 6) * 3.0
    assert np.array_equal(project(table), project(np.clip(table, -100, 100)))


@pytest.mark.slow
def test_projection_keeps_distances_on_average():
    table = uniform_rows(50, 30)
    exact = ((table[:25] - table[25:]) ** 2).sum(axis=1) / (30 * 100.0**2)
    found = np.mean(
        [((p[:25] - p[25:]) ** 2).sum(axis=1) / em_mc._UNIT**2 for p in (project(table, 4, s) for s in range(400))],
        axis=0,
    )
    assert np.mean(found / exact) == pytest.approx(1.0, abs=0.15)  # rows beyond the unit ball are shortened


# --- neighbours ---------------------------------------------------------------------------------------------------


@dataclass
class ScriptedDoor(LabDoor):
    """A door that hands over chosen values and notes the exact ones."""

    plan: object
    sizes: np.ndarray | None = None
    script: dict = field(default_factory=dict)
    seen: dict = field(default_factory=dict)

    def __post_init__(self):
        super().__init__(self.plan, seed=1)

    def cover(self, draw, exact_points, steps, limit, picks_per_scale):
        self.seen[draw.name] = (exact_points, tuple(steps), limit, picks_per_scale)
        return self.script.setdefault(draw.name, super().cover(draw, exact_points, steps, limit, picks_per_scale))

    def counts(self, draw, level, exact_counts):
        self.seen[draw.name] = np.array(exact_counts)
        released = super().counts(draw, level, exact_counts)
        if draw.name == "cluster size" and self.sizes is not None:
            released = self.sizes
        return self.script.setdefault(draw.name, released)

    def means(self, draw, exact_means, reach, published_scales=None):
        self.seen[draw.name] = (exact_means, reach)
        return self.script.setdefault(draw.name, super().means(draw, exact_means, reach, published_scales))


def run(model, values, sizes=None, script=None):
    settings = model._settings()
    rows = rows_of(values, clip=model._published_code_clips or not settings.published)
    door = ScriptedDoor(model._plan(settings, rows.grid.n_columns), sizes, script or {})
    return door, model._cluster(rows, door, settings)


def groups(seed=0, d=3):
    generator = np.random.default_rng(seed)
    middles = generator.uniform(-80, 80, (4, d))
    return middles[generator.integers(0, 4, 2000)] + generator.normal(size=(2000, d)) * 5.0


CORNERS = np.array([[x, y, z] for x in (-100.0, 100.0) for y in (-100.0, 100.0) for z in (-100.0, 100.0)])
ADDED = [*CORNERS, np.zeros(3), np.full(3, 1e300), np.array([-1e9, 3.0, 100.0])]


@pytest.mark.slow
@every_sound
@pytest.mark.parametrize("added", range(len(ADDED)))
def test_one_row_more_changes_what_is_paid_for_and_no_more(variant, added):
    """The same released values are replayed on the neighbour."""
    model = EMMC(4, 20.0, 1e-6, (-100, 100), variant=variant, expected_rows=2000)
    table = groups(added)
    one, result = run(model, table)
    script = {name: one.script[name] for name in ("candidates", "candidate count", "cluster size", "averages")}
    other, again = run(model, np.insert(table, 700, ADDED[added], axis=0), script=script)
    assert np.array_equal(np.delete(other.seen["candidates"][0], 700, axis=0), one.seen["candidates"][0])
    assert other.seen["candidates"][1:] == one.seen["candidates"][1:]
    for name in ("candidate count", "cluster size"):
        change = other.seen[name] - one.seen[name]
        assert sorted(change[change != 0]) == [1]
    (means, reach), (other_means, other_reach) = one.seen["averages"], other.seen["averages"]
    assert np.array_equal(reach, other_reach)
    length = np.sqrt(((other_means - means).astype(float) ** 2).sum(axis=1))
    assert np.count_nonzero(length) <= 1
    assert (length <= reach).all()
    assert result.displacement.tobytes() == again.displacement.tobytes()
    assert result.sizes.tobytes() == again.sizes.tobytes()
    assert one.close() == other.close()


def label_all(rows, sizes_of, d=3):
    """Return what reaches the door for rows that are all in one cluster, taken to be as large as `sizes_of` says."""
    model = EMMC(1, 1.0, 1e-6, (-100, 100))
    budget = Budget.of(model._settings())
    sizes = np.array([sizes_of + math.ceil(budget.offset)])
    door = ScriptedDoor(model._plan(model._settings(), d), sizes)
    em_mc._averages(rows_of(rows), np.zeros(len(rows), dtype=np.int64), 1, door, budget)
    means, reach = door.seen["averages"]
    return means[0].astype(float), int(reach[0])


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3, 7, 100, 5000])
def test_the_reach_of_a_mean_is_what_the_worst_row_needs(n_rows):
    """Even when the size is not underestimated at all: the larger of the two true sizes is taken."""
    used = 0.0
    for home, row in [(0, 7), (7, 0), (3, 4), (0, 0), (1, 2)]:
        table = np.repeat(CORNERS[home : home + 1], n_rows, axis=0).reshape(-1, 3)
        before, reach = label_all(table, n_rows + 1)
        after, same_reach = label_all(np.vstack([table, CORNERS[row]]), n_rows + 1)
        assert reach == same_reach
        length = np.sqrt(((after - before) ** 2).sum())
        assert length <= reach
        used = max(used, length / reach)
    # The rest is rounding, and without rows the mean starts in the middle.
    assert used > (0.49 if n_rows == 0 else 0.9)


def test_a_size_taken_too_large_would_not_be_covered():
    table = np.repeat(CORNERS[:1], 50, axis=0)
    before, reach = label_all(table, 60)
    after, _ = label_all(np.vstack([table, CORNERS[7]]), 60)
    assert np.sqrt(((after - before) ** 2).sum()) > reach


def test_means_are_rounded_to_the_nearest_part():
    rng = np.random.default_rng(0)
    counts, sums = rng.integers(1, 50, 200), rng.integers(-(10**6), 10**6, (200, 3))
    found = em_mc._exact_means(counts, sums)
    assert np.abs(found - em_mc._FINE * sums / counts[:, None]).max() <= 0.5
    assert em_mc._exact_means(np.array([0]), np.zeros((1, 2), dtype=np.int64)).tolist() == [[0, 0]]


@every_sound
@pytest.mark.parametrize("n_rows", [0, 1, 2000])
def test_draws_do_not_depend_on_the_number_of_rows(variant, n_rows):
    """All m k' vectors are drawn, and an exact size decides nothing."""
    model = EMMC(4, 1.0, 1e-6, (-100, 100), variant=variant, expected_rows=2000)
    door, _ = run(model, groups()[:n_rows])
    lattices = Lattices.of(model._settings(), 3)
    assert [len(drawn) for drawn in door.script["candidates"]] == [lattices.picks] * len(lattices.steps)
    assert door.close()[0].n_draws == lattices.picks * len(lattices.steps)


def test_clusters_are_kept_by_their_noisy_sizes_alone():
    model = EMMC(4, 20.0, 1e-6, (-100, 100), expected_rows=2000)
    offset = math.ceil(Budget.of(model._settings()).offset)
    table = groups()
    _, all_small = run(model, table, np.array([offset, offset - 5, offset - 1, -3]))
    assert len(all_small.displacement) == 1
    _, two = run(model, table, np.array([offset + 1, offset, 10**6, 0]))
    assert two.sizes.tolist() == [offset + 1, 10**6]
    _, none_there = run(model, table[:0], np.array([offset + 1, offset, 10**6, 0]))
    assert none_there.sizes.tolist() == [offset + 1, 10**6]
    assert np.abs(none_there.displacement[1]).max() < 10  # the middle of the box, and hardly any noise


# --- noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SOUND)
def test_noise_of_a_centre_has_the_planned_deviation(variant):
    plan = plan_of(d=5, variant=variant)
    reach = np.random.default_rng(0).integers(300, 10**6, 4000)
    noisy = LabDoor(plan, seed=3).means(AVERAGES, np.zeros((4000, 5), dtype=np.int64), reach)
    squares = ((noisy / reach[:, None]) ** 2).sum()

    def p_value(multiplier):
        tail = chi2.cdf(squares / multiplier**2, 20_000)
        return min(tail, 1 - tail)

    multiplier = Budget.of(settings_of(variant=variant)).average_noise
    assert p_value(multiplier) > 1e-6
    assert p_value(0.95 * multiplier) < 1e-12
    assert p_value(1.05 * multiplier) < 1e-12


def test_the_door_refuses_what_is_not_planned():
    means, reach = np.zeros((2, 3), dtype=np.int64), np.array([10**5, 10**5])
    with pytest.raises(BudgetError, match="repeat published code"):
        LabDoor(plan_of(), seed=0).means(AVERAGES, means, reach, np.full((2, 3), 1e6))
    with pytest.raises(BudgetError, match="one row per person"):
        LabDoor(plan_of(), rows_per_person=2, seed=0).cover(CANDIDATES, np.zeros((5, 2)), [0.1], 1.0, 3)
    door = LabDoor(plan_of(), seed=0)
    door.cover(CANDIDATES, np.zeros((5, 2)), [0.1], 1.0, 3)
    with pytest.raises(BudgetError, match="not open"):
        door.cover(CANDIDATES, np.zeros((5, 2)), [0.1], 1.0, 3)


def test_noise_too_large_to_represent_is_refused_before_anything_is_drawn():
    model = EMMC(2, 1e-6, 1e-7, (0, 1), expected_rows=100, random_state=0)
    with pytest.raises(BudgetError, match="nothing was drawn"):
        model.fit(np.zeros((100, 2)))


# --- use ----------------------------------------------------------------------------------------------------------


@every_sound
def test_much_epsilon_finds_the_means_of_the_clusters(blobs, middles, variant):
    model = EMMC(4, 100.0, 1e-6, (-100, 100), variant=variant, expected_rows=6000, random_state=0).fit(blobs)
    distances = np.sqrt(((model.cluster_centers_[:, None] - middles) ** 2).sum(axis=2))
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2, 3]
    assert distances.min(axis=1).max() < 2.0


@pytest.mark.slow
@every_variant
def test_time_of_a_fit_is_no_matter_of_hours(variant):
    """All scales of a table that fits no lattice: rows on a line, rows in one point, rows far apart."""
    line = np.linspace(-100, 100, 4000)[:, None] * np.ones(4)
    for table in (line, np.zeros((4000, 4)), uniform_rows(4000, 4)):
        model = EMMC(3, 1.0, 1e-6, (-100, 100), variant=variant, expected_rows=4000, random_state=0).fit(table)
        assert np.isfinite(model.cluster_centers_).all()


# --- as published -------------------------------------------------------------------------------------------------


def published(**parameters):
    return EMMC(4, 1.0, 1e-6, (-100, 100), variant="as_published", expected_rows=2000, random_state=0, **parameters)


def test_published_noise_is_the_square_of_sigma(monkeypatch):
    scales = []
    true_means = LabDoor.means

    def note(self, draw, exact_means, reach, published_scales=None):
        scales.append((reach, published_scales))
        return true_means(self, draw, exact_means, reach, published_scales)

    monkeypatch.setattr(LabDoor, "means", note)
    model = published().fit(groups())
    [(_, used)] = scales
    budget = Budget.of(model._settings())
    sigma = budget.average_noise * 200 * math.sqrt(3) / (model.cluster_sizes_ - budget.offset)
    in_units = used / (em_mc._FINE * 2**16 / 200)
    assert in_units == pytest.approx(np.repeat(sigma[:, None] ** 2, 3, axis=1), rel=1e-3)


def test_published_noise_below_one_costs_more_than_is_claimed():
    """Where sigma is small its square is smaller: the statement says what was drawn."""
    table = groups()
    large, small = (
        EMMC(4, 1.0, 1e-6, (-width, width), variant="as_published", expected_rows=2000, random_state=0)
        .fit(table * width / 100)
        .privacy_.drawn_epsilon
        for width in (100.0, 0.1)
    )
    assert small > 10 > large
    assert small > 100 * large


def test_published_scaling_is_that_of_the_largest_row():
    table = groups()
    far = np.vstack([table, [1e4, 0.0, 0.0]])
    own, shrunk = (
        em_mc._published_projection(rows_of(values, clip=False), LabDoor(plan_of(), seed=0), 3)[:2000]
        for values in (table, far)
    )
    norm = np.sqrt((own**2).sum(axis=1).max())
    assert norm == pytest.approx(em_mc._UNIT, rel=1e-6)
    assert np.abs(shrunk).max() < 0.05 * em_mc._UNIT


def test_published_centres_may_leave_the_box():
    centres = [
        EMMC(9, 0.3, 1e-6, (-100, 100), variant=variant, expected_rows=2000, random_state=3)
        .fit(groups())
        .cluster_centers_
        for variant in VARIANTS
    ]
    assert np.abs(centres[0]).max() <= 100
    assert np.abs(centres[1]).max() <= 100
    assert np.abs(centres[2]).max() > 1000


def five_points(n_rows=5000):
    generator = np.random.default_rng(0)
    middles = np.array([[0.9, 0, 0], [-0.9, 0, 0], [0, 0.9, 0], [0, -0.9, 0], [0, 0, 0.9]])
    group = generator.integers(0, 5, n_rows)
    return middles[group] + generator.normal(size=(n_rows, 3)) * 1e-4, group


def test_published_cover_sets_hold_a_fifth_of_the_rows_of_five_clusters():
    """A row takes part only if the row that the permutation put in its place is near."""
    points, group = five_points()
    place_of = np.random.default_rng(1).permutation(len(points))
    active = published_cover._near_both(points, points[place_of], CoverScale(0.01, 12.0))
    assert active.mean() == pytest.approx(0.2, abs=0.02)
    assert np.array_equal(active, group == group[place_of])


def test_published_draws_remove_other_rows_than_the_covered_ones():
    """With two cells per cluster, the row removed is as often in the other cell."""
    points, _ = five_points(400)
    points[::2, 2] += 0.05
    scale = CoverScale(0.01, 3.0)
    place_of = np.random.default_rng(2).permutation(len(points))
    cover = published_cover._Cover(points[place_of], scale, 1.0, published_cover.Words(SeededBits(0)))
    cover.remove(np.array([90.0, 0.0, 5.0]))
    gone = cover.removed()
    assert len(gone) > 20
    covered = np.abs(points - [0.9, 0.0, 0.05]).max(axis=1) < 0.02
    assert covered[place_of[gone]].all()
    assert covered[gone].mean() < 0.3


def test_published_draws_that_follow_no_row_are_in_one_orthant_and_end_early():
    scales = [CoverScale(1e-4, 12.0), CoverScale(0.01, 12.0), CoverScale(0.1, 12.0)]
    first, *rest = published_cover.published_cover(np.empty((0, 3)), scales, 30, 0.01, SeededBits(0))
    assert first.shape == (1, 3)
    assert [len(vectors) for vectors in rest] == [0, 0]
    spread, _ = five_points()
    many = published_cover.published_cover(spread, scales[:1], 200, 1e-9, SeededBits(0))[0]
    assert len(many) > 100
    assert many.min() >= 0
    assert many.max() <= scales[0].largest


def test_published_lattice_is_too_small():
    """Draws follow records 2**d times as often as they should where the lattice is large."""
    points = np.zeros((1, 3))
    scale, exponent = CoverScale(0.02, 12.0), 3.0
    cover = published_cover._Cover(points, scale, exponent, published_cover.Words(SeededBits(0)))
    generator = np.random.default_rng(0)
    followed = np.mean([cover.draw(generator) is not None for _ in range(1500)])
    n_covered = 35 * 8  # offsets of one orthant, times the orthants
    weight = n_covered * math.expm1(exponent)
    assert followed == pytest.approx(weight / (weight + 50**3), rel=0.25)
    assert followed > 4 * weight / (weight + 101**3)


def test_the_statement_of_the_published_variant_lists_its_defects():
    statement = published().fit(groups()).privacy_
    assert statement.epsilon == math.inf
    assert statement.claimed_epsilon == 1.0
    assert len(statement.defects) == 8
    for word in ("permutation", "orthant", "too small", "ends early", "largest norm", "clipped", "exact size", "sigma"):
        assert word in str(statement)
