"""The exact law of private choices: right by definition, and within the promise for all small tables there are."""

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dpmondrian.dpm.paper import choose_n_intervals, gap_score_change
from dpmondrian.dpm.scores import Score, VarianceScore
from dpmondrian.engines.local import LocalEngine
from dpmondrian.exceptions import ParameterError
from dpmondrian.schema.columns import Column, Schema
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.audit import log_law, worst_small_table
from dpmondrian_lab.audit.exact_law import law_change

EPSILON = 0.5
MECHANISMS = ("exponential mechanism", "permute-and-flip")
both_mechanisms = pytest.mark.parametrize("mechanism", MECHANISMS)
T, Q, ALPHA = 0.3, 1 / 12, 5.0


# --- the laws -----------------------------------------------------------------------------------------------------


def by_definition(mechanism, weights):
    """Return the exact probabilities of candidates with rational weights, the largest of which is 1."""
    if mechanism == "exponential mechanism":
        return [weight / sum(weights) for weight in weights]
    law = [Fraction(0)] * len(weights)
    orders = list(permutations(range(len(weights))))
    for order in orders:
        reached = Fraction(1, len(orders))
        for i in order:
            law[i] += reached * weights[i]
            reached *= 1 - weights[i]
    return law


@both_mechanisms
@pytest.mark.parametrize("scores", [[0], [0, 0], [3, 0, 1], [0, -2, -2, -5, 0], [-7, 1, 0, 1, -3, -3]])
def test_laws_are_those_of_the_definition(mechanism, scores):
    """With a scale of 1 / ln 2 the weights are powers of one half."""
    weights = [Fraction(1, 2 ** (max(scores) - score)) for score in scores]
    law = log_law(mechanism, scores, 1 / math.log(2))
    assert law == pytest.approx([math.log(p) for p in by_definition(mechanism, weights)], abs=1e-13)


@both_mechanisms
def test_many_candidates_and_hopeless_ones(mechanism):
    """Sums of alternating terms as large as binomial coefficients, and probabilities below every float."""
    scores = [-(j % 7) for j in range(120)] + [-(10**9), 10]
    law = log_law(mechanism, scores, 2.5)
    assert math.fsum(math.exp(value) for value in law) == pytest.approx(1.0, abs=1e-13)
    assert law[-2] < -400
    assert np.argmax(law) == len(scores) - 1


def test_permute_and_flip_is_the_integral_for_equal_candidates():
    assert np.exp(log_law("permute-and-flip", [5] * 40, 1.0)) == pytest.approx([1 / 40] * 40, abs=1e-14)


def test_unknown_mechanism():
    with pytest.raises(ParameterError, match="discrete Laplace"):
        log_law("discrete Laplace", [1], 1.0)


def test_changes_of_several_groups_add_up():
    one = law_change("q", MECHANISMS[0], [([0, 0], [1, 0], 2.0)], 1.0)
    two = law_change("q", MECHANISMS[0], [([0, 0], [1, 0], 2.0), ([5], [6], 2.0), ([0, 0], [0, 1], 2.0)], 1.0)
    assert two.largest == pytest.approx(2 * one.largest)
    assert (one.n_candidates, two.n_candidates) == (2, 5)
    assert one.width == pytest.approx(0.5)
    assert one.ok
    assert not law_change("q", MECHANISMS[0], [([0, 0], [1, 0], 2.0)], 0.49).ok


# --- the scores of DPM, for all small tables ----------------------------------------------------------------------

CODES = 5
ONE_COLUMN = [(code,) for code in range(CODES)]
TWO_COLUMNS = list(product(range(3), range(3)))


def node_scores(of_nodes, n_columns, n_codes, noisy_count):
    """Return a function from a table of codes to the scores of all cuts of a node with that noisy count."""
    low, high = np.zeros((1, n_columns), dtype=np.int64), np.full((1, n_columns), n_codes)

    def score(table):
        codes = np.array(table, dtype=np.int64).reshape(len(table), n_columns)
        histogram = np.array([np.bincount(column, minlength=n_codes) for column in codes.T], dtype=np.int64)
        [cuts] = of_nodes(histogram[None], np.array([noisy_count]), low, high)
        return cuts.exact_scores

    return score


def variance(n_columns, n_codes, noisy_count):
    score = VarianceScore(2.0, np.ones(n_columns, dtype=np.int64))
    return node_scores(score.of_nodes, n_columns, n_codes, noisy_count), score.range


def emptiness(n_columns, n_codes, noisy_count, two_sided=True):
    score = Score(T, Q, ALPHA, two_sided)
    return node_scores(lambda *node: score.of_nodes(*node, stride=1), n_columns, n_codes, noisy_count), score.range


def published(n_columns, n_codes, noisy_count):
    return emptiness(n_columns, n_codes, noisy_count, two_sided=False)


NODES = {
    "one column": (ONE_COLUMN, 1, CODES, 6),
    "two columns": (TWO_COLUMNS, 2, 3, 4),
}


@pytest.mark.slow
@both_mechanisms
@pytest.mark.parametrize("rows", NODES)
@pytest.mark.parametrize("noisy_count", [2, 12])
@pytest.mark.parametrize("make", [variance, emptiness, published])
def test_scores_of_cuts(make, noisy_count, rows, mechanism):
    """Of all tables up to six rows; the noisy count may be far from the true one."""
    all_rows, n_columns, n_codes, most_rows = NODES[rows]
    score, width = make(n_columns, n_codes, noisy_count)
    worst = worst_small_table(
        score, all_rows, most_rows, mechanism=mechanism, scale=width / EPSILON, promised=EPSILON, query="split"
    )
    assert worst.ok, str(worst.finding())
    assert len(worst.neighbour) == len(worst.table) + 1
    assert worst.measured > 0.3 * EPSILON


@pytest.mark.parametrize("noisy_count", [3, 4])
def test_the_papers_score_without_the_factor_is_caught(noisy_count):
    """Charged for its largest change in one direction, as in definition 4 of the paper, it costs up to 1.42 times as much."""
    score, width = published(2, 3, noisy_count)
    sensitivity = Score(T, Q, ALPHA, two_sided=False).sensitivity
    worst = worst_small_table(
        score, TWO_COLUMNS, 4, mechanism=MECHANISMS[0], scale=sensitivity / EPSILON, promised=EPSILON
    )
    assert not worst.ok
    assert 1.1 < worst.measured / EPSILON <= width / sensitivity + 1e-9 < 1.42


class CatchingDoor:
    """Keeps the scores that a selection would have been told."""

    plan = type("Plan", (), {"currency": "rho"})

    def select(self, draw, level, exact_scores, score_ranges):
        [self.scores], [self.range] = exact_scores, score_ranges
        return [0]


VALUES = [(value,) for value in (0.0, 1.0, 3.0, 6.0, 10.0)]
SCHEMA = Schema((Column("x", 0.0, 10.0),))


def engine_of(table):
    return LocalEngine(read_table(np.array(table, dtype=np.float64).reshape(-1, 1)), Coordinates(SCHEMA), "error")


def gap_scores(table):
    door = CatchingDoor()
    choose_n_intervals(engine_of(table), door, 5, 1)
    return door.scores


@pytest.mark.slow
@both_mechanisms
def test_scores_of_gaps(mechanism):
    """Through the engine, for all tables of up to four rows with values between and on the bounds."""
    width = 2 * gap_score_change(1)
    worst = worst_small_table(gap_scores, VALUES, 4, mechanism=mechanism, scale=width / EPSILON, promised=EPSILON)
    assert worst.ok, str(worst.finding())
    assert worst.measured > 0.2 * EPSILON


def test_scores_that_are_worth_more_than_paid_are_caught():
    width = gap_score_change(1) / 4
    worst = worst_small_table(gap_scores, VALUES, 3, mechanism=MECHANISMS[0], scale=width / EPSILON, promised=EPSILON)
    assert worst.measured > EPSILON
    assert not worst.ok
