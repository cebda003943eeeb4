"""The guaranteed bounds, each against real draws of the door: they hold, and half of them would not."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.dpm.draws import COUNT, SPLIT
from dpmondrian.dpm.scores import STEPS
from dpmondrian.dpm.scores.valley import ValleyScore
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning import GoodCut, central_cut, count_bound, cut_bound, make_design
from dpmondrian.privacy.door import Door
from dpmondrian.schema.columns import Schema

KINDS = [{}, {"n_clusters": 4}, {"delta": 0.0}, {"delta": 0.0, "n_clusters": 4}, {"rows_per_person": 3}]
BETA = 0.1
N_DRAWS = 3_000


def door_of(design, seed: int = 0) -> Door:
    return Door(design.plan, design.settings.rows_per_person, seed)


@pytest.mark.parametrize("parameters", KINDS)
@pytest.mark.parametrize("level", [0, 3])
def test_noisy_counts_are_close(schema, parameters, level):
    design = make_design(20_000, schema, **parameters)
    misses = np.abs(door_of(design).counts(COUNT, level, [5_000] * N_DRAWS) - 5_000)
    bound = count_bound(design, level, BETA)
    assert np.mean(misses > bound) <= BETA * 1.2
    assert np.mean(misses > 0.6 * bound) > BETA


@pytest.mark.parametrize("parameters", KINDS)
def test_many_noisy_counts_are_close_together(schema, parameters):
    design = make_design(20_000, schema, **parameters)
    misses = np.abs(door_of(design).counts(COUNT, 2, [0] * N_DRAWS)).reshape(-1, 10).max(axis=1)
    assert np.mean(misses > count_bound(design, 2, BETA, n_counts=10)) <= BETA * 1.2
    assert np.mean(misses > count_bound(design, 2, BETA)) > BETA, "the bound for one count must not hold for ten"


def picks(design, exact_scores: np.ndarray, level: int, n_draws: int = 600) -> np.ndarray:
    """Return the candidates that the door chooses in so many nodes with these scores."""
    width = design.rule.selection_range(design.n_rows, level)
    return np.array(door_of(design).select(SPLIT, level, [exact_scores] * n_draws, [width] * n_draws))


@pytest.mark.parametrize("parameters", KINDS)
def test_the_chosen_cut_is_nearly_the_best(schema, parameters):
    """In the worst case, one good cut among as many as the grid has: just within the bound it wins, at half of it it fails."""
    design = make_design(20_000, schema, **parameters)
    bound = cut_bound(design, 1, BETA)

    def share_missed(gap: float) -> float:
        scores = np.zeros(design.n_candidates, dtype=np.int64)
        scores[17] = round(STEPS * gap)
        return float(np.mean(picks(design, scores, 1) != 17))

    assert share_missed(bound) <= BETA * 1.3
    assert share_missed(0.5 * bound) > 0.4


def two_humps(n_large: int, n_small: int, n_columns: int, codes: int) -> np.ndarray:
    """Return the histogram of a node with an empty gap between two humps in its first column, and one hump in the others."""
    generator = np.random.default_rng(1)
    values = generator.normal(0.5, 0.08, (n_columns, n_large + n_small))
    values[0] = np.concatenate([generator.normal(0.25, 0.04, n_large), generator.normal(0.8, 0.04, n_small)])
    return np.array([np.bincount(np.clip(v * codes, 0, codes - 1).astype(int), minlength=codes) for v in values])


def peak_of_small_hump(histogram: np.ndarray, width: int = 16) -> int:
    """Return the rows in the fullest of the widest windows within the small hump."""
    return max(int(histogram[0, start : start + width].sum()) for start in range(144, 256 - width + 1, width // 2))


@pytest.mark.parametrize(
    ("parameters", "n_small"),
    [({}, 4_000), ({"delta": 0.0, "epsilon": 3.0}, 4_000), ({"n_clusters": 4}, 3_000), ({"rows_per_person": 2}, 9_000)],
)
def test_the_chosen_cut_is_central(schema, parameters, n_small):
    n_rows = 40_000
    design = make_design(n_rows, schema, **parameters)
    histogram = two_humps(n_rows - n_small, n_small, 3, 256)
    zeros, codes = np.zeros((1, 3), dtype=np.int64), design.grid.n_codes[None, :].copy()
    [cuts] = design.rule.score_cuts(histogram[None], np.array([n_rows]), zeros, codes)
    best = GoodCut(peak=peak_of_small_hump(histogram), smaller_side=n_small)
    least = central_cut(design, best, 0, BETA, node_rows=n_rows)
    sides = np.array([min(cuts.exact_sides(*cuts.position(pick))) for pick in picks(design, cuts.exact_scores, 0)])
    assert np.mean(sides < least) <= BETA
    assert 100 <= least <= n_small, "the bound says nothing"
    score = cuts.exact_scores.max() - cuts.exact_scores[picks(design, cuts.exact_scores, 0)]
    assert np.mean(score / STEPS > cut_bound(design, 0, BETA)) <= BETA


def test_a_central_cut_needs_a_gap(schema):
    """With rows in the window of the best cut less is guaranteed, and with many nothing."""
    for parameters in ({}, {"n_clusters": 4}):
        design = make_design(40_000, schema, **parameters)
        least = [central_cut(design, GoodCut(5_000, 10_000, valley)) for valley in (0, 500, 20_000)]
        assert least[0] > least[1] > least[2] == 0


def test_no_score_is_above_what_its_smaller_side_allows(schema):
    """What the bound on central cuts rests on, searched for counter-examples among random and spiky nodes."""
    design = make_design(5_000, schema)
    low, high = np.zeros((1, 3), dtype=np.int64), design.grid.n_codes[None, :].copy()
    generator = np.random.default_rng(0)
    most_per_row = ValleyScore(design.settings.t, design.settings.q).change[1]
    for trial in range(30):
        spikes = generator.integers(0, 256, (3, generator.integers(1, 9)))
        histogram = np.zeros((1, 3, 256), dtype=np.int64)
        for column in range(3):
            rows = generator.choice(spikes[column], 5_000) if trial % 2 else generator.integers(0, 256, 5_000)
            histogram[0, column] = np.bincount(rows, minlength=256)
        [cuts] = design.rule.score_cuts(histogram, np.array([generator.choice([1, 3_000, 5_000, 9_000])]), low, high)
        for candidate in generator.integers(0, cuts.exact_scores.size, 200):
            smaller = min(cuts.exact_sides(*cuts.position(int(candidate))))
            assert cuts.exact_scores[candidate] <= most_per_row * smaller


def test_bounds_shrink_with_epsilon_and_not_with_rows(schema):
    usual, larger = make_design(20_000, schema), make_design(40_000, schema)
    for bound in (count_bound, cut_bound):
        assert bound(usual.times(epsilon=2)) < 0.6 * bound(usual)
        assert bound(larger) == bound(usual)


def test_a_wider_table_has_more_candidates_to_go_wrong():
    bounds = [
        cut_bound(make_design(20_000, Schema.from_bounds((0, 1), [f"x{j}" for j in range(d)], [False] * d)))
        for d in (1, 10, 100)
    ]
    assert bounds[0] < bounds[1] < bounds[2] < 2 * bounds[0]


@pytest.mark.parametrize("beta", [0.0, 1.0, -1, "often"])
def test_a_wrong_beta_is_refused(schema, beta):
    design = make_design(1_000, schema)
    for bound in (count_bound, cut_bound):
        with pytest.raises(ParameterError, match="'beta'"):
            bound(design, 0, beta)


def test_wrong_levels_and_cuts_are_refused(schema):
    design = make_design(1_000, schema)
    with pytest.raises(ParameterError, match="'level'"):
        count_bound(design, 13)
    with pytest.raises(ParameterError, match="'level'"):
        cut_bound(design, 12)
    with pytest.raises(ParameterError, match="no cut"):
        cut_bound(make_design(1_000, schema, max_depth=0))
    with pytest.raises(ParameterError, match="smaller side"):
        GoodCut(peak=10, smaller_side=5)
    with pytest.raises(ParameterError, match="row counts >= 0"):
        GoodCut(peak=-1, smaller_side=5)
