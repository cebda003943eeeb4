"""Max cover draws lattice vectors from the law of its proof, however the lattice is divided on the way."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpmondrian.privacy.mechanisms.bits import SeededBits
from dpmondrian.privacy.mechanisms.exact import exp_bounds
from dpmondrian_lab.peers.cover import envelope as cover_envelope
from dpmondrian_lab.peers.cover import max_cover
from dpmondrian_lab.peers.cover.envelope import ACCEPTED, IN_DOUBT, REJECTED, Target, make_envelope
from dpmondrian_lab.peers.cover.max_cover import CoverScale
from dpmondrian_lab.peers.cover.records import make_records, remove_covered, snap

FITS, DIFFERS = 1e-6, 1e-12


def lattice(scale, n_columns):
    """Return all vectors of a small lattice."""
    side = np.arange(-scale.largest, scale.largest + 1)
    return np.stack(np.meshgrid(*[side] * n_columns, indexing="ij"), axis=-1).reshape(-1, n_columns)


def covers(points, scale, vectors):
    """Return which records cover which vectors, by the definition."""
    cells = np.clip(np.rint(points / scale.step), -scale.largest, scale.largest)
    return ((cells[:, None, :] - vectors[None]) ** 2).sum(axis=2) <= scale.limit


def law(points, scale, exponent, vectors):
    """Return the probability of every vector."""
    weights = np.exp(exponent * covers(points, scale, vectors).sum(axis=0))
    return weights / weights.sum()


def clustered(n_rows, n_columns, seed=0):
    """Return records in the unit ball: two clusters, some on its surface, some repeated."""
    generator = np.random.default_rng(seed)
    points = np.array([[-0.5] * n_columns, [0.3] * n_columns])[generator.integers(0, 2, n_rows)]
    points = points + generator.normal(size=points.shape) * 0.15
    points[::10] *= 100.0
    points[1::10] = points[0]
    return points / np.maximum(1.0, np.sqrt((points**2).sum(axis=1)))[:, None]


def target_of(points, scale, exponent):
    records = make_records(points)
    return Target(records, snap(records, scale.step, scale.largest), scale.limit, exponent)


def draws_of(target, scale, n_draws, fresh, seed=0):
    """Return many draws from the same records: from one envelope that gets better, or from a fresh one each."""
    words = max_cover.Words(SeededBits(seed))
    vector, found = np.empty(target.records.points.shape[1]), np.empty(target.records.alive.size, dtype=np.int64)
    vectors = np.empty((n_draws, vector.size))
    envelope = make_envelope(scale.largest, target)
    for i in range(n_draws):
        if fresh and i:
            words.drop(int(envelope.state[cover_envelope.CURSOR]))
            envelope = make_envelope(scale.largest, target)
        envelope = max_cover.draw_vector(target, envelope, words, vector, found)
        vectors[i] = vector
    return vectors


def count(drawn, scale):
    """Return how often each vector of the lattice was drawn."""
    sides = [2 * scale.largest + 1] * drawn.shape[1]
    index = np.ravel_multi_index((drawn + scale.largest).astype(int).T, sides)
    return np.bincount(index, minlength=math.prod(sides))


def p_value(observed, probability):
    """Return the chi-square p-value of counts; classes too rare for the approximation are put together."""
    order = np.argsort(probability)
    expected = observed.sum() * probability[order]
    group = np.floor(np.cumsum(expected) / 10.0).astype(int)  # about ten expected draws each, or more
    expected = np.bincount(group, expected)
    observed = np.bincount(group, observed[order])
    observed, expected = observed[expected > 0], expected[expected > 0]
    if expected[-1] < 5.0:  # the last group holds what was left over
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1)


def assert_law(observed, probability, n_draws):
    """The draws fit the law of the right exponent and no other; `probability` is a function of the exponent's factor."""
    assert observed.sum() == n_draws
    assert p_value(observed, probability(1.0)) > FITS
    assert p_value(observed, probability(0.7)) < DIFFERS
    assert p_value(observed, probability(1.4)) < DIFFERS


# --- one draw -----------------------------------------------------------------------------------------------------


CASES = {
    "11 x 11": (CoverScale(0.19, 4.0), clustered(60, 2), 0.15),
    "line": (CoverScale(0.01, 9.0), clustered(200, 1), 0.1),
    "a peak": (CoverScale(0.19, 8.1), clustered(200, 2), 0.1),
    "9 x 9 x 9": (CoverScale(0.22, 5.0), clustered(80, 3), 0.1),
    "cells only": (CoverScale(0.19, 0.0), clustered(60, 2), 0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False], ids=["first draw", "refined envelope"])
@pytest.mark.parametrize("case", CASES)
def test_law_of_a_draw(case, fresh):
    scale, points, exponent = CASES[case]
    vectors = lattice(scale, points.shape[1])
    n_draws = 4_000 if fresh else 15_000
    drawn = draws_of(target_of(points, scale, exponent), scale, n_draws, fresh)
    assert_law(count(drawn, scale), lambda factor: law(points, scale, factor * exponent, vectors), n_draws)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False], ids=["first draw", "refined envelope"])
def test_law_of_a_draw_from_a_lattice_too_large_to_list(fresh):
    """Of 4 * 10**6 vectors few are covered; the number of records that cover a vector drawn must have the right law."""
    scale, points, exponent = CoverScale(0.001, 30.0), np.repeat(clustered(12, 2), 40, axis=0), 0.1
    n_draws = 2_000 if fresh else 10_000
    drawn = draws_of(target_of(points, scale, exponent), scale, n_draws, fresh)
    observed = np.bincount(covers(points, scale, drawn).sum(axis=0), minlength=len(points) + 1)
    n_vectors = covered_by(points, scale)

    def probability(factor):
        weights = n_vectors * np.exp(factor * exponent * np.arange(n_vectors.size))
        return weights / weights.sum()

    assert 0.2 < probability(1.0)[0] < 0.8  # uniform draws and peaks both matter
    assert_law(observed, probability, n_draws)


def covered_by(points, scale):
    """Return how many vectors of the lattice are covered by how many records."""
    cells = np.clip(np.rint(points / scale.step), -scale.largest, scale.largest)
    reach = math.isqrt(int(scale.limit))
    offsets = np.array(list(itertools.product(range(-reach, reach + 1), repeat=points.shape[1])))
    offsets = offsets[(offsets**2).sum(axis=1) <= scale.limit]
    near = (cells[:, None, :] + offsets[None]).reshape(-1, points.shape[1])
    near = near[np.abs(near).max(axis=1) <= scale.largest]
    counts = np.unique(near, axis=0, return_counts=True)[1]
    n_vectors = np.bincount(counts, minlength=len(points) + 1)
    n_vectors[0] = (2 * scale.largest + 1) ** points.shape[1] - counts.size
    return n_vectors


def test_law_in_five_dimensions_after_records_were_removed():
    """Bounds of boxes are too high after a removal; the law must not notice."""
    scale, points, exponent = CoverScale(0.32, 5.0 * (1 + 1 / 0.99) ** 2), clustered(150, 5), 0.05
    target = target_of(points, scale, exponent)
    words, vector, found = max_cover.Words(SeededBits(5)), np.empty(5), np.empty(150, dtype=np.int64)
    envelope = make_envelope(scale.largest, target)
    for _ in range(200):
        envelope = max_cover.draw_vector(target, envelope, words, vector, found)
    corner = np.full(5, 2.0)
    gone = covers(points, scale, corner[None])[:, 0]
    assert remove_covered(target.records, target.cells, scale.limit, corner, 0) == gone.sum()
    assert 30 < gone.sum() < 120
    drawn = np.empty((8_000, 5))
    for row in drawn:
        envelope = max_cover.draw_vector(target, envelope, words, row, found)
    left, vectors = points[~gone], lattice(scale, 5)
    n_covering = covers(left, scale, vectors).sum(axis=0)
    observed = np.bincount(n_covering, count(drawn, scale), minlength=len(left) + 1)

    def probability(factor):
        return np.bincount(n_covering, law(left, scale, factor * exponent, vectors), minlength=len(left) + 1)

    assert_law(observed, probability, len(drawn))


# --- series of draws ----------------------------------------------------------------------------------------------


SCALES = (CoverScale(0.4, 1.0), CoverScale(0.6, 1.0))
POINTS = np.array([[-0.9], [-0.5], [-0.45], [0.0], [0.1], [0.9], [0.95]])


def series_law(points, scales, picks, exponent, removed=True):
    """Return the probabilities of all series of picks, by recursion over the definition."""
    steps = [scale for scale in scales for _ in range(picks)]

    def follow(alive, number):
        if number == len(steps):
            return {(): 1.0}
        vectors = lattice(steps[number], points.shape[1])
        covered = covers(points, steps[number], vectors)
        weights = np.exp(exponent * covered[alive].sum(axis=0))
        result = {}
        for g in range(len(vectors)):
            rest = follow(alive & ~covered[:, g] if removed else alive, number + 1)
            result.update({(g, *key): weights[g] / weights.sum() * value for key, value in rest.items()})
        return result

    return follow(np.ones(len(points), dtype=bool), 0)


@pytest.mark.slow
def test_law_of_a_series_of_draws_on_two_scales():
    """What is covered is removed for good, for the next scale too."""
    exponent, n_runs = 0.6, 3_000
    exact = series_law(POINTS, SCALES, 2, exponent)
    keys = {key: number for number, key in enumerate(exact)}
    observed = np.zeros(len(keys))
    for run in range(n_runs):
        picks = max_cover.max_cover(POINTS, SCALES, 2, exponent, SeededBits(run))
        series = np.concatenate([p[:, 0] + s.largest for p, s in zip(picks, SCALES, strict=True)])
        observed[keys[tuple(series.tolist())]] += 1
    assert p_value(observed, np.array(list(exact.values()))) > FITS
    wrong = series_law(POINTS, SCALES, 2, exponent, removed=False)
    assert p_value(observed, np.array(list(wrong.values()))) < DIFFERS
    for factor in (0.6, 1.6):
        wrong = series_law(POINTS, SCALES, 2, factor * exponent)
        assert p_value(observed, np.array(list(wrong.values()))) < DIFFERS


@pytest.mark.parametrize("n_rows", [0, 1, 2, 33, 500])
@pytest.mark.parametrize("n_columns", [1, 2, 4, 7])
def test_number_of_draws_and_range_of_vectors(n_rows, n_columns):
    scales = [CoverScale(step, 4.0 * n_columns) for step in (1e-5, 0.03, 0.4, 1.7)]
    picks = max_cover.max_cover(clustered(500, n_columns)[:n_rows], scales, 6, 0.05, SeededBits(1))
    assert [array.shape for array in picks] == [(6, n_columns)] * 4
    for array, scale in zip(picks, scales, strict=True):
        assert array.dtype == np.int64
        assert np.abs(array).max() <= scale.largest
    assert not picks[3].any()  # a step above one leaves the middle alone


@pytest.mark.slow
@pytest.mark.parametrize("points", [np.empty((0, 2)), np.zeros((300, 2))], ids=["no records", "all covered at once"])
def test_without_records_draws_are_uniform(points):
    scales = [CoverScale(2.0, 1.0), CoverScale(0.19, 4.0)]  # the first lattice has one vector, which all cover
    picks = max_cover.max_cover(points, scales, 10_000, 0.5, SeededBits(2))[1]
    assert p_value(count(picks, scales[1]), np.full(121, 1 / 121)) > FITS


def test_a_covered_record_never_counts_again():
    scale = CoverScale(0.1, 9.0)
    points = clustered(400, 3)
    target = target_of(points, scale, 1.0)
    alive = np.ones(400, dtype=bool)
    [picks] = max_cover.max_cover(points, [scale], 8, 1.0, SeededBits(3))
    for g in picks.astype(float):
        covered = covers(target.records.points, scale, g[None])[:, 0]
        newly = remove_covered(target.records, target.cells, scale.limit, g, 0)
        assert newly == np.count_nonzero(covered & alive)
        alive &= ~covered
        assert np.array_equal(target.records.alive, alive)
        sums = [alive[a:b].sum() for a, b in zip(target.records.starts, target.records.stops, strict=True)]
        assert target.records.n_alive.tolist() == sums
    assert alive.sum() < 300  # at this exponent the picks are where the records are


def test_same_bits_same_vectors():
    points, scales = clustered(500, 3), [CoverScale(0.01 * 2**i, 12.0) for i in range(6)]

    def run(seed):
        return np.concatenate(max_cover.max_cover(points, scales, 5, 0.05, SeededBits(seed))).tobytes()

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_order_of_records_does_not_matter_for_the_law():
    """The tree's shape may differ, the counts may not."""
    points, scale = clustered(300, 3), CoverScale(0.2, 6.0)
    shuffled = np.random.default_rng(0).permutation(points)
    found = np.empty(300, dtype=np.int64)
    one, other = target_of(points, scale, 1.0), target_of(shuffled, scale, 1.0)
    for g in lattice(scale, 3)[::7].astype(float):
        counts = [cover_envelope.touching(t.records, t.cells, t.limit, g, g, found) for t in (one, other)]
        assert counts[0] == counts[1] == (covers(points, scale, g[None]).sum(), 0)


# --- the envelope -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [64, 4096])
def test_boxes_divide_the_lattice_and_bound_the_counts(monkeypatch, room):
    """Also when tables had to grow in between."""
    monkeypatch.setattr(cover_envelope, "_FIRST_ROOM", room)
    scale, points, exponent = CoverScale(0.06, 12.0), clustered(2000, 2), 0.05
    target = target_of(points, scale, exponent)
    words, vector, found = max_cover.Words(SeededBits(6)), np.empty(2), np.empty(2000, dtype=np.int64)
    envelope = make_envelope(scale.largest, target)
    for _ in range(300):
        envelope = max_cover.draw_vector(target, envelope, words, vector, found)
    n_boxes = int(envelope.state[cover_envelope.N_BOXES])
    assert n_boxes > 100
    box_of = np.full((33, 33), -1)
    for box in range(n_boxes):
        low, size = envelope.low[box] + scale.largest, envelope.size[box]
        part = box_of[low[0] : low[0] + size[0], low[1] : low[1] + size[1]]
        assert part.size == size.prod()
        assert (part == -1).all()
        part[:] = box
    assert (box_of >= 0).all()
    counts = covers(points, scale, lattice(scale, 2)).sum(axis=0).reshape(33, 33)
    assert (counts <= envelope.upper[box_of]).all()
    volume = envelope.size[:n_boxes].astype(float).prod(axis=1)
    assert (volume * np.exp(exponent * envelope.upper[:n_boxes]) <= 2.0 ** envelope.exponent[:n_boxes]).all()
    for bucket in range(envelope.first.size):
        start = envelope.first[bucket]
        listed = envelope.pool[start : start + envelope.members[bucket]]
        assert sorted(listed) == np.flatnonzero(envelope.exponent[:n_boxes] == bucket).tolist()
        assert envelope.place[listed].tolist() == list(range(len(listed)))


@pytest.mark.slow
def test_boxes_that_may_not_be_split_leave_the_law_alone():
    """A limit on memory costs time only."""
    scale, points, exponent = CoverScale(0.19, 4.0), clustered(20, 2), 0.25
    target = target_of(points, scale, exponent)
    words, found = max_cover.Words(SeededBits(8)), np.empty(20, dtype=np.int64)
    envelope = make_envelope(scale.largest, target, most_boxes=1)
    drawn = np.empty((6_000, 2))
    for row in drawn:
        envelope = max_cover.draw_vector(target, envelope, words, row, found)
    assert envelope.state[cover_envelope.N_BOXES] == 1
    assert_law(count(drawn, scale), lambda factor: law(points, scale, factor * exponent, lattice(scale, 2)), 6_000)


# --- exact decisions ----------------------------------------------------------------------------------------------


def exact_threshold(volume, exponent, count, log_envelope):
    """Return the number of words below ``volume * exp(exponent * count) / 2**log_envelope`` of 2**64, rounded down."""
    low, _ = exp_bounds(Fraction(exponent) * count, 60)
    return math.floor(2**64 * volume / (low * 2**log_envelope))


@pytest.mark.parametrize(
    ("volume", "exponent", "count"),
    [(7, 0.1, 3), (1, 0.0053, 100_000), (450_001**5, 0.0053, 90_000), (3, 0.7, 900), (1, 0.3, 0), (12345, 1e-9, 1)],
)
def test_certain_decisions_are_right_and_doubtful_ones_are_settled(volume, exponent, count):
    log_volume = math.log(volume)
    log_envelope = int(cover_envelope._bucket(exponent, count, log_volume)) + 1
    threshold = exact_threshold(volume, exponent, count, log_envelope)
    distances = [0, 1, -1, 2**8, -(2**8), 2**20, -(2**20), 2**34, -(2**34), 2**60, -(2**60)]
    statuses = []
    for distance in distances:
        word = threshold + distance
        if not 0 <= word < 2**64:
            continue
        status = cover_envelope._compare(np.uint64(word), exponent, count, log_volume, log_envelope)
        assert status in (IN_DOUBT, ACCEPTED if distance < 0 else REJECTED)
        statuses.append(status)
        assert settled(word, volume, exponent, count, log_envelope) == (distance < 0) or distance == 0
    assert statuses[0] == IN_DOUBT
    assert statuses[-1] != IN_DOUBT


def settled(word, volume, exponent, count, log_envelope):
    """Return what `_settle` makes of a try in doubt."""
    target = Target(None, None, 0.0, exponent)
    sides = np.array([[450_001] * 5 if volume > 2**31 else [volume]])
    state = np.zeros(cover_envelope.WORD + 1, dtype=np.int64)
    state[cover_envelope.COUNT], state[cover_envelope.EXPONENT] = count, log_envelope
    envelope = cover_envelope.Envelope(None, sides, *[None] * 7, state)
    words = max_cover.Words(SeededBits(0))
    words.block = np.array([word], dtype=np.uint64)
    return max_cover._settle(target, envelope, words)


def test_everything_in_doubt_has_the_same_law(monkeypatch):
    """With every try settled exactly the draws are those of the fast path."""
    scale, points, exponent = CASES["11 x 11"]
    fast = draws_of(target_of(points, scale, exponent), scale, 300, fresh=True)
    true_propose, n_settled = max_cover.propose, []

    def doubtful(target, envelope, words, vector, found):
        status = true_propose(target, envelope, words, vector, found)
        return IN_DOUBT if status == ACCEPTED else status

    def counted(*arguments):
        n_settled.append(true_settle(*arguments))
        return n_settled[-1]

    true_settle = max_cover._settle
    monkeypatch.setattr(max_cover, "propose", doubtful)
    monkeypatch.setattr(max_cover, "_settle", counted)
    assert draws_of(target_of(points, scale, exponent), scale, 300, fresh=True).tolist() == fast.tolist()
    assert n_settled == [True] * 300


def test_words_that_run_out_in_the_middle_of_a_try_are_used(monkeypatch):
    """Blocks of any length give the same draws."""
    scale, points, exponent = CASES["9 x 9 x 9"]

    def run(block):
        monkeypatch.setattr(max_cover, "_BLOCK", block)
        return max_cover.max_cover(points, [scale, CoverScale(0.3, 5.0)], 30, exponent, SeededBits(7))

    first, second = run(4096), run(3)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# --- the promise --------------------------------------------------------------------------------------------------


def delta_between(one, other, epsilon):
    """Return the least delta for two laws over the same series, in both directions."""
    p, q = np.array(list(one.values())), np.array([other[key] for key in one])
    forth = np.maximum(p - math.exp(epsilon) * q, 0.0).sum()
    back = np.maximum(q - math.exp(epsilon) * p, 0.0).sum()
    return max(forth, back)


def exponent_for(epsilon, delta):
    return min(epsilon, math.log1p(epsilon / math.log(1.0 / delta)))


LINES = [np.random.default_rng(seed).choice([-0.9, -0.4, 0.0, 0.4, 0.9], size=(size, 1)) for seed, size in
         [(0, 0), (1, 1), (2, 3), (3, 6), (4, 30)]]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("points", LINES, ids=len)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (2.0, 0.1), (1.0, 0.01)])
def test_one_record_is_within_the_promise(points, epsilon, delta):
    scales = [CoverScale(0.4, 0.0), CoverScale(0.9, 0.0)]
    exponent = exponent_for(epsilon, delta)
    before = series_law(points, scales, 3, exponent)
    for record in (-0.9, -0.4, 0.0, 1.0):
        after = series_law(np.vstack([points, [[record]]]), scales, 3, exponent)
        assert delta_between(before, after, epsilon) <= delta


def test_a_record_that_is_covered_again_and_again_breaks_the_promise():
    """What goes wrong in published code. One record, three vectors, of which it covers one, and many draws."""
    epsilon, delta, n_draws = 0.5, 0.01, 400
    exponent = exponent_for(epsilon, delta)
    hit = math.exp(exponent) / (math.exp(exponent) + 2)
    # With removal a series tells of the record only when it was first covered; without, how often it was.
    first = [dict(enumerate([*(p * (1 - p) ** np.arange(n_draws)), (1 - p) ** n_draws])) for p in (hit, 1 / 3)]
    times = [dict(enumerate(binom.pmf(np.arange(n_draws + 1), n_draws, p))) for p in (hit, 1 / 3)]
    assert 0.0 < delta_between(*first, epsilon) <= delta
    assert delta_between(*times, epsilon) > 10 * delta


@pytest.mark.parametrize("rows", [2, 3])
def test_several_records_of_one_person(rows):
    """With ``epsilon / rows`` and ``delta / (rows * exp(epsilon))`` in the condition the promise holds for all of them."""
    epsilon, delta, scales = 1.0, 0.05, [CoverScale(0.4, 0.0), CoverScale(0.9, 0.0)]
    exponent = exponent_for(epsilon / rows, delta / (rows * math.exp(epsilon)))
    before = series_law(POINTS, scales, 2, exponent)
    for added in itertools.combinations_with_replacement([-0.9, 0.0, 0.4], rows):
        after = series_law(np.vstack([POINTS, np.array(added)[:, None]]), scales, 2, exponent)
        assert delta_between(before, after, epsilon) <= delta


# --- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "limit"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1e-10, 1.0), (1.0, -1.0), (1.0, math.inf)]
)
def test_a_lattice_checks_itself(step, limit):
    with pytest.raises(ValueError, match="must be"):
        CoverScale(step, limit)


@pytest.mark.parametrize("exponent", [0.0, -1.0, math.nan, math.inf, 1e5])
def test_exponents_that_cannot_be_drawn_are_refused(exponent):
    with pytest.raises(ValueError, match="exponent must be"):
        max_cover.max_cover(np.zeros((100, 2)), [CoverScale(0.1, 1.0)], 1, exponent, SeededBits(0))
