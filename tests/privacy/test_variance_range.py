"""What one row can change about the variance scores of cuts: searched for the worst, and no more than what is paid."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian.dpm.scores import SIDE_WEIGHT, STEPS, WINDOW_WEIGHT, VarianceScore

quick = settings(derandomize=True, deadline=None, max_examples=300)
LOWEST, HIGHEST = -STEPS - 1 - WINDOW_WEIGHT, STEPS + 1 + SIDE_WEIGHT


def histogram_of(codes, n_codes):
    """Return rows per column and code of an integer array (n_rows, n_columns)."""
    return np.array([np.bincount(column, minlength=n_codes) for column in codes.T], dtype=np.int64)


def all_scores(score, codes, low, high, n_codes):
    """Return the scores of all cuts of one node, one after the other."""
    return np.concatenate(score.of_histogram(histogram_of(codes, n_codes), low, high))


def moves(score, codes, row, low, high, n_codes):
    """Return how the scores of all cuts move when a row is added."""
    before = all_scores(score, codes, low, high, n_codes)
    return all_scores(score, np.vstack([codes, row]), low, high, n_codes) - before


@st.composite
def nodes(draw):
    """Return a score, the codes of a node's rows within its box, one more row, and the box."""
    n_columns, n_codes = draw(st.integers(1, 3)), draw(st.sampled_from([2, 3, 5, 9, 70, 200]))
    low = np.array([draw(st.integers(0, n_codes - 1)) for _ in range(n_columns)])
    high = np.array([draw(st.integers(int(a) + 1, n_codes)) for a in low])
    one_row = st.tuples(*[st.integers(int(a), int(b) - 1) for a, b in zip(low, high, strict=True)])
    kinds = draw(st.lists(st.tuples(one_row, st.integers(1, 40)), max_size=5))  # rows, some of them many times
    codes = np.array([row for row, times in kinds for _ in range(times)], dtype=np.int64).reshape(-1, n_columns)
    width = np.array([draw(st.sampled_from([1, 32, 256, 5000])) for _ in range(n_columns)])
    return VarianceScore(draw(st.floats(0.5, 60.0)), width), codes, np.array(draw(one_row)), low, high, n_codes


@pytest.mark.slow
@quick
@given(nodes())
def test_one_row_moves_every_score_within_the_interval(node):
    change = moves(*node)
    assert np.all((change >= LOWEST) & (change <= HIGHEST))
    assert VarianceScore.range == HIGHEST - LOWEST


def test_the_interval_is_nearly_used_up():
    """A row far from all others lowers one score by nearly 1 and raises another by nearly 3: a smaller price would be noticed."""
    score, low, high = VarianceScore(40.0, np.array([1, 1])), np.array([0, 0]), np.array([64, 64])
    crowd = np.array([[0, 0]] * 400 + [[63, 63]] * 4)
    raised = moves(score, crowd, np.array([63, 0]), low, high, 64).max()
    few = VarianceScore(1.0, np.array([1, 1]))  # here the smaller side is large enough already
    lowered = moves(few, np.array([[0, 0]] * 50 + [[63, 0]] * 5000), np.array([62, 0]), low, high, 64).min()
    assert raised > 0.9 * HIGHEST
    assert lowered < 0.9 * LOWEST


@pytest.mark.slow
@quick
@given(nodes())
def test_compiled_scores_are_the_plain_ones(node):
    score, codes, row, low, high, n_codes = node
    histograms = np.stack([histogram_of(codes, n_codes), histogram_of(np.vstack([codes, row]), n_codes)])
    boxes = np.stack([low, low]), np.stack([high, high])
    cuts = score.of_nodes(histograms, np.ones(2, dtype=np.int64), *boxes)
    for found, histogram in zip(cuts, histograms, strict=True):
        assert found.exact_scores.tolist() == np.concatenate(score.of_histogram(histogram, low, high)).tolist()
        assert found.exact_total == histogram[0].sum()


def test_positions_and_sides_of_candidates():
    score = VarianceScore(1.0, np.array([1, 1]))
    histogram = np.array([[[3, 0, 0, 5, 0], [1, 1, 1, 1, 4]]])
    [cuts] = score.of_nodes(histogram, np.ones(1, dtype=np.int64), np.array([[0, 1]]), np.array([[5, 5]]))
    assert [cuts.position(pick) for pick in range(cuts.exact_scores.size)] == [
        (0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4),
    ]  # fmt: skip
    assert cuts.exact_sides(0, 2) == (3, 5)


def test_the_gain_is_the_reduction_of_the_sum_of_squares():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 32, size=(500, 1))
    score = VarianceScore(1e-9, np.array([7]))  # the smaller side counts for one row at most
    [scores] = score.of_histogram(histogram_of(codes, 32), np.array([0]), np.array([32]))
    x = codes[:, 0] + 0.5
    for cut in (1, 11, 31):
        below, above = x[x < cut], x[x > cut]
        gain = (x.var() * len(x) - below.var() * len(below) - above.var() * len(above)) / 32**2
        near = np.sum(np.abs(x - cut) < 1)
        expected = STEPS * gain + SIDE_WEIGHT * min(1, len(below), len(above)) - WINDOW_WEIGHT * near
        assert scores[cut - 1] == pytest.approx(expected, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [2**20, 2**32 - 2])
def test_rounding_at_the_largest_counts(n_rows):
    """One row more, of four thousand million, moves scores within the interval: floating point loses less than a step."""
    score, box = VarianceScore(2.0**41, np.array([16])), (np.array([0]), np.array([4096]))
    histogram = np.zeros((1, 4096), dtype=np.int64)
    histogram[0, [0, 1, 2000, 4095]] = [n_rows // 2, n_rows // 4, 1, n_rows - n_rows // 2 - n_rows // 4 - 2]
    before = np.concatenate(score.of_histogram(histogram, *box))
    for code in (0, 1, 2047, 4095):
        more = histogram.copy()
        more[0, code] += 1
        change = np.concatenate(score.of_histogram(more, *box)) - before
        assert np.all((change >= LOWEST) & (change <= HIGHEST))


@dataclass(frozen=True)
class NotDividedByTheLongestSide(VarianceScore):
    """Relative to each column's own unit: a row may then move the gain by the square of the number of codes."""

    def of_histogram(self, exact_histogram, low, high):
        whole = int(exact_histogram[0].sum())
        return [self._of_column(exact_histogram[j, low[j] : high[j]], whole, 1.0) for j in range(len(low))]


def test_a_broken_score_is_caught():
    score = NotDividedByTheLongestSide(1.0, np.array([1]))
    change = moves(score, np.array([[0]] * 9), np.array([9]), np.array([0]), np.array([10]), 10)
    assert change.max() > HIGHEST
