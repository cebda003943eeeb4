"""The interval size: pooled gaps have a small sensitivity, the paper's averaged gaps have none."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmondrian.dpm.paper import (
    GAP_PERCENTILE,
    SIGMAS,
    choose_n_intervals,
    gap_score_change,
    standard_gap,
)
from dpmondrian.engines.local import LocalEngine
from dpmondrian.schema.columns import Column, Schema
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table

quick = settings(derandomize=True, deadline=None, max_examples=150)
UPPER = 10.0


class CatchingDoor:
    """Keeps what a selection would have been told."""

    def select(self, draw, level, exact_scores, score_ranges):
        [self.scores], [self.range] = exact_scores, score_ranges
        return [0]


def engine_of(rows):
    schema = Schema(tuple(Column(f"x{j}", 0.0, UPPER) for j in range(rows.shape[1])))
    return LocalEngine(read_table(rows), Coordinates(schema), "error")


def scores_of(rows, noisy_total):
    """Return the scores of all candidates, as they arrive at the door, and the range that is paid for."""
    door = CatchingDoor()
    choose_n_intervals(engine_of(rows), door, noisy_total, rows.shape[1])
    return door.scores, door.range


@st.composite
def tables(draw):
    """Return rows and one more, with ties, values at the bounds and values far outside."""
    n_columns = draw(st.integers(1, 4))
    value = st.sampled_from([-5.0, 0.0, 0.1, 0.3, 1.0, 2.0, 5.0, 9.9, 10.0, 1e9]) | st.floats(-1.0, 11.0)
    row = st.lists(value, min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, max_size=12))
    return np.array(rows, dtype=np.float64).reshape(-1, n_columns), np.array(draw(row))


@pytest.mark.slow
@quick
@example((np.empty((0, 2)), np.array([1.0, 2.0])), 1)
@example((np.array([[5.0, 5.0]]), np.array([5.0, 5.0])), 1)
@given(tables(), st.integers(-5, 100))
def test_one_row_changes_the_score_by_no_more_than_declared(case, noisy_total):
    rows, row = case
    before, paid = scores_of(rows, noisy_total)
    after, _ = scores_of(np.vstack([rows, row]), noisy_total)
    assert before.size == after.size == SIGMAS.size
    assert np.abs(after - before).max() <= gap_score_change(rows.shape[1])
    assert np.ptp(after - before) <= paid


@pytest.mark.slow
@quick
@given(tables(), st.lists(st.floats(0.0, 1.2), min_size=1, max_size=5))
def test_gaps_are_counted_as_defined(case, thresholds):
    rows, _ = case
    scaled = np.clip(rows, 0.0, UPPER) / UPPER
    gaps = [gap for column in scaled.T for gap in np.diff(np.sort(column))]
    counts, n_gaps = engine_of(rows).gap_counts(np.array(thresholds), 1.0)
    assert n_gaps == len(gaps)
    assert counts.tolist() == [sum(gap <= threshold for gap in gaps) for threshold in thresholds]


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_declared_change_is_attained(n_columns):
    """A row in the middle of a long gap of every column leaves two short ones."""
    rows = np.repeat([*np.linspace(0, 1, 200), 4.0], n_columns).reshape(-1, n_columns)

    def score(table):
        [within], n_gaps = engine_of(table).gap_counts(np.array([0.25]), 1.0)
        return -abs(100 * within - GAP_PERCENTILE * n_gaps)

    change = score(np.vstack([rows, np.full(n_columns, 2.5)])) - score(rows)
    assert abs(change) == gap_score_change(n_columns)


def test_candidates_move_both_ways_so_the_range_is_wider_than_the_change():
    """A row that halves a long gap raises the score of candidates between half and whole, and lowers the others."""
    rows = np.arange(10.0)[:, None]
    noisy_total = round(SIGMAS[-1] * standard_gap() / 0.075)  # the largest candidate stands for 3/4 of a gap
    before, paid = scores_of(rows, noisy_total)
    after, _ = scores_of(np.vstack([rows, [4.5]]), noisy_total)
    assert gap_score_change(1) < np.ptp(after - before) <= paid


def alternating_gaps(n_rows):
    """Return two columns whose gaps are 0, 2, 0, 2, ... and 2, 0, 2, 0, ..., and a row at both far ends."""
    steps = np.tile([0.0, 2.0], n_rows)[: n_rows - 1]
    columns = [np.concatenate([[2.0], 2.0 + np.cumsum(gaps)]) for gaps in (steps, 2.0 - steps)]
    return np.column_stack(columns), np.array([columns[0].min() - 2.0, columns[1].max() + 2.0])


@pytest.mark.parametrize("n_rows", [51, 501])
def test_one_row_turns_over_half_of_the_papers_averaged_gaps(n_rows):
    """The published claim is that one row changes ranks by at most 2."""
    rows, row = alternating_gaps(n_rows)

    def averaged_gaps(table):
        return np.diff(np.sort(table, axis=0), axis=0).mean(axis=1)

    before, after = averaged_gaps(rows), averaged_gaps(np.vstack([rows, row]))
    rank_change = abs(int((after <= 1.0).sum()) - int((before <= 1.0).sum()))
    assert rank_change > n_rows / 2 - 2
    assert np.percentile(before, GAP_PERCENTILE) == 1.0
    assert np.percentile(after, GAP_PERCENTILE) == 2.0


@pytest.mark.parametrize("n_rows", [51, 501])
def test_the_same_row_moves_the_pooled_score_by_no_more_than_declared(n_rows):
    rows, row = alternating_gaps(n_rows)
    span = max(rows.max(), row.max())
    rows, row = rows / span * UPPER, row / span * UPPER  # into the bounds
    for noisy_total in (1, n_rows, 10 * n_rows):
        before, _ = scores_of(rows, noisy_total)
        after, _ = scores_of(np.vstack([rows, row]), noisy_total)
        assert np.abs(after - before).max() <= gap_score_change(2)


def test_standard_gap_is_the_percentile_of_simulated_gaps():
    n_rows = 200_000
    gaps = n_rows * np.diff(np.sort(np.random.default_rng(0).normal(size=n_rows)))

    def share(gap):
        return (gaps <= gap).mean()

    five_errors = 5 * np.sqrt(0.65 * 0.35 / n_rows)
    assert abs(share(standard_gap()) - 0.65) < five_errors
    for wrong in (0.95, 1.05):
        assert abs(share(wrong * standard_gap()) - 0.65) > five_errors


@pytest.mark.parametrize("sigma", [0.02, 0.1])
def test_the_best_candidate_is_the_true_standard_deviation(sigma):
    """Without noise the score leads to the right interval: beta = sigma / 2."""
    n_rows = 50_000
    rows = UPPER * (0.5 + sigma * np.random.default_rng(1).normal(size=(n_rows, 2)))
    scores, _ = scores_of(rows, n_rows)
    assert SIGMAS[np.argmax(scores)] == pytest.approx(sigma, abs=2 / 400)
