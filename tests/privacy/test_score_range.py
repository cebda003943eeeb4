"""What one row can change about the scores of cuts: searched for the worst, and equal to the price that is paid."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, Column, Schema
from dpmondrian.dpm.paper import paper_rule
from dpmondrian.dpm.plan import make_plan
from dpmondrian.dpm.scores import STEPS, Score, centreness, emptiness
from dpmondrian.engines.grid import Grid
from dpmondrian.privacy.door import Door

T, Q, ALPHA = 0.3, 1 / 12, 5.0
quick = settings(derandomize=True, deadline=None, max_examples=300)
both_ways = pytest.mark.parametrize("two_sided", [True, False])


def histogram_of(codes, n_codes):
    """Return rows per column and code of an integer array (n_rows, n_columns)."""
    return np.array([np.bincount(column, minlength=n_codes) for column in codes.T], dtype=np.int64)


def changes(score, codes, row, n_codes, noisy_count):
    """Return how the scores of all cuts move when a row is added, at a fixed released count."""
    before = score.of_histogram(histogram_of(codes, n_codes), noisy_count)
    after = score.of_histogram(histogram_of(np.vstack([codes, row]), n_codes), noisy_count)
    return (after - before)[:, 1:]


@st.composite
def neighbours(draw):
    """Return codes of a node's rows, one more row, and a released count that may be far from the truth."""
    n_columns, n_codes = draw(st.integers(1, 3)), draw(st.integers(2, 7))
    one_row = st.lists(st.integers(0, n_codes - 1), min_size=n_columns, max_size=n_columns)
    kinds = draw(st.lists(st.tuples(one_row, st.integers(1, 15)), max_size=6))  # rows, some of them many times
    rows = [row for row, times in kinds for _ in range(times)]
    codes = np.array(rows, dtype=np.int64).reshape(-1, n_columns)
    noisy_count = draw(st.integers(1, 120) | st.sampled_from([1, 2, max(1, len(rows)), 10 * len(rows) + 1, 10**9]))
    return codes, np.array(draw(one_row)), n_codes, noisy_count


@st.composite
def scores(draw):
    """Return a score with the defaults or any other valid parameters."""
    two_sided = draw(st.booleans())
    if draw(st.booleans()):
        return Score(T, Q, ALPHA, two_sided)
    q = draw(st.floats(0.001, 0.49))
    assume(2 * q <= 1)
    return Score(draw(st.floats(2 * q, 1.0)), q, draw(st.floats(0.001, 100.0)), two_sided)


@pytest.mark.slow
@quick
@given(scores(), neighbours())
def test_one_row_moves_scores_within_the_declared_interval(score, case):
    moved = changes(score, *case)
    low, high = score.change
    assert low <= moved.min()
    assert moved.max() <= high
    assert np.ptp(moved) <= score.range
    assert np.abs(moved).max() <= score.sensitivity


@pytest.mark.slow
@quick
@given(scores())
def test_range_is_the_formula_up_to_rounding(score):
    slope, weight = score.t / score.q, score.alpha
    formula = weight + (slope if score.two_sided else 2 * slope)
    assert abs(score.range - STEPS * formula) <= 2
    assert abs(score.sensitivity - STEPS * (max(slope, weight) if score.two_sided else slope + weight)) <= 2
    assert score.range <= 2 * score.sensitivity


@both_ways
def test_range_is_attained(two_sided):
    """One row falls into the window of a cut in one column and on the smaller side of a cut in the other."""
    score = Score(T, Q, ALPHA, two_sided)
    many, few, row, noisy_count = ([0, 0], [7, 7], [0, 7], 120) if two_sided else ([0, 7], [7, 0], [0, 0], 88)
    codes = np.array([many] * 84 + [few] * 2)
    moved = changes(score, codes, np.array(row), 8, noisy_count)
    assert (moved.min(), moved.max()) == score.change
    assert np.ptp(moved) == score.range


@both_ways
def test_a_search_finds_the_ends_of_the_interval(two_sided):
    """So an interval that is declared a little too narrow would be noticed."""
    score = Score(T, Q, ALPHA, two_sided)
    generator = np.random.default_rng(0)
    moved = []
    for _ in range(400):
        codes = generator.integers(0, 6, size=(generator.integers(1, 60), 1)) ** 2 // 6
        row = generator.integers(0, 6, size=2)
        moved.append(changes(score, np.hstack([codes, 5 - codes]), row, 6, int(generator.integers(1, 200))))
    assert min(change.min() for change in moved) == score.change[0]
    assert max(change.max() for change in moved) == score.change[1]
    assert max(np.ptp(change) for change in moved) > 0.8 * score.range


@pytest.mark.slow
@quick
@given(scores(), neighbours(), st.integers(1, 2), st.data())
def test_scores_of_nodes_are_those_of_the_histogram_inside_the_box(score, case, stride, data):
    codes, row, n_codes, noisy_count = case
    n_codes += n_codes % stride  # disjoint intervals have two codes each
    histograms = np.array([histogram_of(codes, n_codes), histogram_of(np.vstack([codes, row]), n_codes)])
    bound = st.lists(st.integers(0, n_codes), min_size=len(row), max_size=len(row))
    low, high = (np.array([data.draw(bound) for _ in range(2)], dtype=np.int64) for _ in range(2))
    counts = np.array([noisy_count, noisy_count + 7])
    for k, cuts in enumerate(score.of_nodes(histograms, counts, low, high, stride)):
        expected = score.of_histogram(histograms[k], int(counts[k]))
        inside = [
            (j, cut)
            for j in range(len(row))
            for cut in range(1, int(high[k, j]))
            if low[k, j] < cut and (cut - 1) % stride == 0
        ]
        assert [cuts.position(pick) for pick in range(cuts.exact_scores.size)] == inside
        assert cuts.exact_scores.tolist() == [expected[position] for position in inside]
        for column, cut in inside:
            below, above = cuts.exact_sides(column, cut)
            assert below == histograms[k][column, :cut].sum()
            assert above == histograms[k][column, cut:].sum()


@pytest.mark.parametrize("noisy_count", [1, 10**5, 2**40])
def test_scores_do_not_overflow_at_the_largest_parameters(noisy_count):
    """The compiled scores of the steepest allowed score, in 64 bits, equal those in integers without end."""
    score = Score(1.0, 1 / 26, 5.0)
    rows = 2**32 // 3
    histogram = np.array([[rows, 0, rows // 2, rows]], dtype=np.int64)
    [cuts] = score.of_nodes(histogram[None], np.array([noisy_count]), np.array([[0]]), np.array([[4]]), 1)
    outer, inner, weight = 26 * STEPS, 0, 5 * STEPS
    start = round(STEPS * (1.0 - 2.0 / 26) / (1.0 - 2.0 / 26) * noisy_count)
    for cut, ours in enumerate(cuts.exact_scores.tolist(), start=1):
        below, window = (sum(histogram[0, part].tolist()) for part in (slice(0, cut), slice(cut - 1, cut + 1)))
        side = min(below, sum(histogram[0].tolist()) - below)
        central = min(outer * side, start + inner * side, STEPS * noisy_count)
        assert ours == central + weight * (noisy_count - window)


@pytest.mark.parametrize("rows_per_person", [1, 5])
def test_the_papers_selection_pays_for_the_whole_range(rows_per_person):
    """Its offset only ever raises what is paid, also where it exceeds the count."""
    run = DPM(bounds=(0, 1), variant="paper", rows_per_person=rows_per_person)._settings().for_columns(1)
    grid = Grid.with_intervals(Schema((Column("x", 0, 1),)), 10)
    rule = paper_rule(Door(make_plan(run), rows_per_person, seed=0), run, grid)
    score = Score(T, Q, ALPHA, two_sided=False)
    for level in range(run.max_depth):
        paid = [rule.selection_range(noisy_count, level) for noisy_count in (1, 2, 100, 5000, 10**6, 2**40)]
        assert min(paid) >= score.range
        assert min(paid) >= 2 * score.sensitivity


def paper_centreness(rank, n):
    """Return the paper's centreness (definition 7) of a rank among n rows."""
    from_border = n / 2 - abs(rank - n / 2)
    if rank <= n * Q or rank >= n - n * Q:
        return from_border * T / (n * Q)
    return (T - 2 * Q) / (1 - 2 * Q) + from_border * (1 - T) / (n / 2 - n * Q)


@pytest.mark.parametrize("n", [1, 2, 7, 12, 24, 100, 1001, 10**6])
def test_integer_scores_are_the_papers_formulas(n):
    ranks = np.unique(np.linspace(0, n, 200).astype(np.int64))
    ours = centreness(np.minimum(ranks, n - ranks), n, T, Q) / (STEPS * n)
    assert ours == pytest.approx([paper_centreness(rank, n) for rank in ranks.tolist()], abs=1e-3)
    assert emptiness(ranks, n) / (STEPS * n) == pytest.approx(1 - ranks / n, abs=1e-3)


@both_ways
@pytest.mark.parametrize("seed", range(3))
def test_score_of_a_cut_is_the_papers_definition_on_rows(seed, two_sided):
    """From values to scores by the definitions: the rank of the cut, and the rows in the interval around it."""
    generator = np.random.default_rng(seed)
    n_codes = 12
    values = generator.beta(2, 3, size=500) * n_codes  # a code has width 1, an interval width 2
    ours = Score(T, Q, ALPHA, two_sided).of_histogram(histogram_of(values.astype(np.int64)[:, None], n_codes), 500)
    for cut in range(1, n_codes):
        rank = int((values < cut).sum())
        inside = int(((values >= cut - 1) & (values < cut + 1)).sum())
        published = paper_centreness(rank, 500) + ALPHA * (1 - inside / 500)
        assert ours[0, cut] / (STEPS * 500) == pytest.approx(published, abs=1e-3)


def test_centreness_is_capped_where_more_rows_are_counted_than_released():
    assert centreness(np.array([400, 10**6]), 500, T, Q).tolist() == [STEPS * 500] * 2


def test_the_papers_one_sided_centreness_pays_for_both_directions():
    """At a rank beyond half of the released count one more row lowers the paper's centreness."""
    one_sided, two_sided = Score(T, Q, ALPHA, False), Score(T, Q, ALPHA, True)
    codes, row = np.zeros((40, 1), dtype=np.int64), np.array([0])
    assert changes(one_sided, codes, row, 4, noisy_count=44).min() < -ALPHA * STEPS
    assert changes(two_sided, codes, row, 4, noisy_count=44).min() >= -ALPHA * STEPS
