"""What one row can change about the scores of valleys: searched for the worst, and equal to the price that is paid.

The score is written down a second time in plain Python, window by window. The compiled kernel must equal it, and scores
that are broken on purpose must be caught by the search that the true one passes.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, Column, Schema
from dpmondrian.dpm.algorithm import split_rule
from dpmondrian.dpm.plan import make_plan
from dpmondrian.dpm.scores import STEPS
from dpmondrian.dpm.scores.valley import CENTRENESS_WEIGHT, VALLEY_WEIGHT, ValleyScore, window_widths
from dpmondrian.engines.grid import Grid
from dpmondrian.privacy.door import Door

T, Q = 0.3, 1 / 12
SCORE = ValleyScore(T, Q)
LAYOUTS = (3, 5, 31, 32, 33, 64, 255, 256)
"""Numbers of codes: of whole-number columns, which have odd numbers of them, and of continuous ones."""
quick = settings(derandomize=True, deadline=None, max_examples=200)
quicker = settings(quick, max_examples=60)


def true_peaks(rows, start, below, above):
    """Return the rows in the fullest windows left and right of a window that do not overlap it.

    `rows` lists the rows per window, each half a width from the next. Where there is no whole window on a side, all rows there
    are taken.
    """
    return max(rows[: max(start - 1, 0)] or [below]), max(rows[start + 2 :] or [above])


def overlapping_peaks(rows, start, below, above):
    """Return peaks that may overlap the window by half: another score, of the same range."""
    return max(rows[:start] or [below]), max(rows[start + 1 :] or [above])


def two_windows_per_peak(rows, start, below, above):
    """Return peaks of the two fullest windows each: these overlap one another, so a row counts twice."""
    left, right = rows[: max(start - 1, 0)] or [below], rows[start + 2 :] or [above]
    return sum(sorted(left)[-2:]), sum(sorted(right)[-2:])


def exact_sides(below, total, noisy_count):
    """Return the rows on both sides of a cut, both counted."""
    return below, total - below


def one_counted_side(below, total, noisy_count):
    """Return the sides as in the paper: one more row below means one less above."""
    return below, noisy_count - below


def plain_scores(histograms, noisy_count, score=SCORE, peaks=true_peaks, sides=exact_sides, low=None, high=None):
    """Return {(column, width, cut): score} of a node in integers without end; `histograms` has a list per column."""
    scores = {}
    for j, histogram in enumerate(histograms):
        n_codes, total = len(histogram), sum(histogram)
        for width in window_widths(n_codes):
            weight = CENTRENESS_WEIGHT * min(1.0, 16 * width / n_codes) ** 2
            outer = round(STEPS * score.t / score.q)
            inner = min(outer, round(STEPS * (1.0 - score.t) / (0.5 - score.q)))
            start = weight * (STEPS * (score.t - 2.0 * score.q) / (1.0 - 2.0 * score.q))
            half = width // 2
            rows = [sum(histogram[s * half : (s + 2) * half]) for s in range(-(-n_codes // half) - 1)]
            for s, valley in enumerate(rows):
                cut = (s + 1) * half
                if not (0 if low is None else low[j]) < cut < (n_codes if high is None else high[j]):
                    continue
                side = min(sides(sum(histogram[:cut]), total, noisy_count))
                central = min(
                    round(weight * outer) * side,
                    round(start * noisy_count) + round(weight * inner) * side,
                    round(weight * STEPS) * noisy_count,
                )
                peak = min(peaks(rows, s, sum(histogram[: s * half]), sum(histogram[(s + 2) * half :])))
                scores[j, width, cut] = STEPS * peak - round(VALLEY_WEIGHT * STEPS) * valley + central
    return scores


def table(histograms):
    """Return histograms of different lengths as one array with zeros behind the last code."""
    array = np.zeros((1, len(histograms), max(map(len, histograms))), dtype=np.int64)
    for column, histogram in enumerate(histograms):
        array[0, column, : len(histogram)] = histogram
    return array


def compiled_cuts(histograms, noisy_count, score=SCORE):
    """Return the cuts of a node whose box is the whole domain, as the tree sees them."""
    n_codes = np.array([len(histogram) for histogram in histograms])
    low, high = np.zeros((1, len(n_codes)), dtype=np.int64), n_codes[None]
    [cuts] = score.of_nodes(table(histograms), np.array([noisy_count]), low, high, n_codes)
    return cuts


def with_row(histograms, row):
    """Return the histograms with one more row."""
    return [[rows + (code == where) for code, rows in enumerate(h)] for h, where in zip(histograms, row, strict=True)]


def compiled_moves(histograms, row, noisy_count, score=SCORE):
    """Return how the compiled scores of all cuts move when a row is added, at a fixed released count."""
    after = compiled_cuts(with_row(histograms, row), noisy_count, score).exact_scores
    return after - compiled_cuts(histograms, noisy_count, score).exact_scores


def plain_moves(histograms, row, noisy_count, **variant):
    """Return the same of the plain score, or of one that is broken on purpose."""
    before = plain_scores(histograms, noisy_count, **variant)
    after = plain_scores(with_row(histograms, row), noisy_count, **variant)
    return np.array([after[key] - value for key, value in before.items()])


def histograms_of(rows, n_codes):
    """Return the histograms of rows given as tuples of codes."""
    histograms = [[0] * codes for codes in n_codes]
    for row in rows:
        for histogram, code in zip(histograms, row, strict=True):
            histogram[code] += 1
    return histograms


@st.composite
def neighbours(draw, layouts=LAYOUTS):
    """Return histograms of a node, one more row, and a released count that may be far from the truth."""
    n_codes = draw(st.lists(st.sampled_from(layouts), min_size=1, max_size=3))
    near_ends = [st.integers(0, codes - 1) | st.sampled_from([0, codes // 2, codes - 1]) for codes in n_codes]
    kinds = draw(st.lists(st.tuples(st.tuples(*near_ends), st.integers(1, 15)), max_size=6))  # rows, some many times
    rows = [row for row, times in kinds for _ in range(times)]
    known = [st.tuples(*near_ends)] + ([st.sampled_from([row for row, _ in kinds])] if kinds else [])
    noisy_count = draw(st.integers(1, 120) | st.sampled_from([1, 2, max(1, len(rows)), 10 * len(rows) + 1, 2**40]))
    return histograms_of(rows, n_codes), draw(st.one_of(known)), noisy_count


@st.composite
def scores(draw):
    """Return the score with its defaults or any other valid parameters."""
    if draw(st.booleans()):
        return SCORE
    q = draw(st.floats(0.04, 0.49))
    return ValleyScore(draw(st.floats(2 * q, 1.0)), q)


def assert_within(moved, score=SCORE):
    low, high = score.change
    assert low <= moved.min()
    assert moved.max() <= high
    assert np.ptp(moved) <= score.range


@pytest.mark.slow
@quick
@given(scores(), neighbours())
def test_one_row_moves_scores_within_the_declared_interval(score, case):
    assert_within(compiled_moves(*case, score), score)


@quicker
@given(scores())
def test_the_range_is_the_formula_up_to_rounding(score):
    formula = VALLEY_WEIGHT + 1.0 + CENTRENESS_WEIGHT * score.t / score.q
    assert abs(score.range - STEPS * formula) <= 2


@pytest.mark.parametrize("n_codes", [32, 256])
def test_the_range_is_attained(n_codes):
    """One row falls into the window of a cut in one column; in the other it raises the lower peak and the smaller side."""
    unit = n_codes // 32
    few, many = [(2 * unit, 2 * unit)] * 5, [(20 * unit, 20 * unit)] * 50
    moved = compiled_moves(histograms_of(few + many, [n_codes] * 2), (20 * unit, 2 * unit), 200)
    assert (moved.min(), moved.max()) == SCORE.change
    assert np.ptp(moved) == SCORE.range


@pytest.mark.parametrize("n_codes", [31, 32, 256])
def test_every_row_of_random_and_of_adversarial_nodes(n_codes):
    """Both ends of the interval are found too, where the widest windows are as wide as they get.

    So an interval that is declared a little too narrow would be noticed.
    """
    generator = np.random.default_rng(0)
    humps = generator.normal([[0.2], [0.7]], 0.06, size=(2, 30)).ravel()
    flat, point, ends = generator.random(60), np.full(40, 0.5), np.repeat([0.0, 1.0], 20)
    moved = []
    for places in (humps, flat, point, ends, np.empty(0)):
        codes = (np.clip(places, 0, 0.999) * n_codes).astype(int).tolist()
        histograms = histograms_of([(code, n_codes - 1 - code) for code in codes], [n_codes, n_codes])
        for code in range(0, n_codes, max(1, n_codes // 32)):
            for noisy_count in (1, 10**6):
                moved.append(compiled_moves(histograms, (code, code), noisy_count))
                assert_within(moved[-1])
    found = (min(change.min() for change in moved), max(change.max() for change in moved))
    widest = max(window_widths(n_codes))
    assert found[0] == SCORE.change[0]
    assert (found[1] == SCORE.change[1]) == (16 * widest >= n_codes)
    assert found[1] > SCORE.change[1] - round(CENTRENESS_WEIGHT * STEPS * T / Q)


@quicker
@given(neighbours(layouts=(3, 5, 31, 32, 33)))
def test_windows_of_the_peak_may_overlap_the_valley(case):
    """What the proof needs is that a peak is the number of rows in one window, not where that window lies."""
    assert_within(plain_moves(*case, peaks=overlapping_peaks))


def is_caught(**variant):
    """Return whether the search above finds neighbours that break a score."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        n_codes = generator.choice([5, 31, 32, 33], size=2).tolist()
        codes = (generator.random((generator.integers(1, 40), 2)) ** 2 * n_codes).astype(int)
        row = tuple((generator.random(2) ** 2 * n_codes).astype(int).tolist())
        case = histograms_of([tuple(pair) for pair in codes.tolist()], n_codes), row, int(generator.integers(1, 80))
        try:
            assert_within(plain_moves(*case, **variant))
        except AssertionError:
            return True
    return False


def test_broken_scores_are_caught():
    assert not is_caught()
    assert is_caught(peaks=two_windows_per_peak)
    assert is_caught(sides=one_counted_side)


@quicker
@given(scores(), neighbours(), st.data())
def test_compiled_scores_are_the_plain_ones_inside_the_boxes(score, case, data):
    histograms, row, noisy_count = case
    n_codes = np.array([len(histogram) for histogram in histograms])
    bound = st.tuples(*(st.integers(0, int(codes)) for codes in n_codes))
    boxes = [(data.draw(bound), data.draw(bound)) for _ in range(2)] + [((0,) * len(n_codes), n_codes.tolist())]
    nodes = [histograms, with_row(histograms, row), histograms]
    counts = [noisy_count, noisy_count + 7, 1]
    found = score.of_nodes(
        np.concatenate([table(node) for node in nodes]),
        np.array(counts),
        np.array([low for low, _ in boxes]),
        np.array([high for _, high in boxes]),
        n_codes,
    )
    for node, count, (low, high), cuts in zip(nodes, counts, boxes, found, strict=True):
        plain = plain_scores(node, count, score, low=low, high=high)
        assert cuts.exact_scores.tolist() == list(plain.values())
        picks = range(len(plain))
        assert [cuts.position(pick) for pick in picks] == [(column, cut) for column, _, cut in plain]
        for column, cut in {cuts.position(pick) for pick in picks}:
            assert cuts.exact_sides(column, cut) == (sum(node[column][:cut]), sum(node[column][cut:]))
    assert set(plain) == {
        (column, width, cut)
        for column, codes in enumerate(n_codes.tolist())
        for width in window_widths(codes)
        for cut in range(width // 2, codes, width // 2)
    }


@pytest.mark.parametrize("noisy_count", [1, 10**5, 2**40])
@pytest.mark.parametrize("n_codes", [5, 256])
def test_scores_do_not_overflow_at_the_largest_parameters(noisy_count, n_codes):
    """The steepest allowed score of a table as large as it may be, in 64 bits, equals that in integers without end."""
    score = ValleyScore(1.0, 1 / 26)
    rows = 2**32 // 3
    histogram = [0] * n_codes
    for code, count in ((0, rows), (n_codes // 2, rows // 2), (n_codes - 1, rows)):
        histogram[code] = count
    cuts, plain = compiled_cuts([histogram], noisy_count, score), plain_scores([histogram], noisy_count, score)
    assert cuts.exact_scores.tolist() == list(plain.values())
    assert max(map(abs, plain.values())) > 2**46


@pytest.mark.parametrize(
    ("n_codes", "widths"),
    [(1, [2]), (3, [2]), (31, [2]), (63, [2]), (64, [2, 4]), (255, [2, 4, 8]), (256, [2, 4, 8, 16])],
)
def test_windows_are_at_most_a_sixteenth_of_the_range(n_codes, widths):
    assert window_widths(n_codes) == widths


@pytest.mark.parametrize("rows_per_person", [1, 5])
def test_the_selection_pays_for_the_whole_range(rows_per_person):
    run = DPM(bounds=(0, 1), rows_per_person=rows_per_person)._settings()
    grid = Grid.with_windows(Schema((Column("x", 0, 1), Column("z", 0, 4, whole=True))), run.windows)
    rule = split_rule(Door(make_plan(run), rows_per_person, seed=0), run, grid)
    for level in range(run.max_depth):
        assert {rule.selection_range(noisy_count, level) for noisy_count in (1, 100, 2**40)} == {SCORE.range}
    histogram = table([[3] * int(codes) for codes in grid.n_codes])
    [cuts] = rule.score_cuts(histogram, np.array([50]), np.zeros((1, 2), dtype=np.int64), grid.n_codes[None])
    expected = ValleyScore(run.t, run.q).of_nodes(
        histogram, np.array([50]), np.zeros((1, 2), dtype=np.int64), grid.n_codes[None], grid.n_codes
    )[0]
    assert cuts.exact_scores.tolist() == expected.exact_scores.tolist()
