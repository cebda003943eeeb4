"""Compiled kernels equal the plain ones, clipped rows are never too long, threads and blocks change nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpmondrian import frames
from dpmondrian.domain import Column, Schema
from dpmondrian.engines import threads
from dpmondrian.engines.base import Splits
from dpmondrian.engines.memory import MemoryEngine
from dpmondrian.exceptions import DataError
from dpmondrian.frames import read_table
from dpmondrian.grid import Grid
from dpmondrian.kernels import compiled, reference
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE
from dpmondrian.scoring.combine import Score

LAST_PLACE = 2**16 - 1
SIZES = (0, 1, 7, 2500)
"""None, one, few, and more rows than two of the tiles in which the compiled kernels read."""


class Rows(NamedTuple):
    """Random rows in the layout of the kernels: nodes 0, 2 and 3 are groups, 1 is an empty group, 4 takes no part."""

    places: np.ndarray
    codes: np.ndarray
    node: np.ndarray
    slot_of: np.ndarray
    n_groups: int


def random_rows(n_rows: int, n_columns: int, code_type: Any = np.uint8, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    n_codes = 300 if code_type is np.uint16 else 256
    places = rng.integers(0, LAST_PLACE + 1, (n_columns, n_rows)).astype(np.uint16)
    codes = rng.integers(0, n_codes, (n_columns, n_rows)).astype(code_type)
    node = rng.choice([0, 2, 3, 4], n_rows).astype(np.int16)
    slot_of = np.array([0, 1, 2, 3, 4, 4], dtype=np.int16)
    return Rows(places, codes, node, slot_of, 4)


def grouped(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return reference.group_rows(rows.places, rows.node, rows.slot_of, rows.n_groups)


def random_centres(n_groups: int, n_columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, LAST_PLACE + 1, (n_groups, n_columns))


def a_grid(windows: int) -> tuple[Schema, Grid]:
    columns = (
        Column("a", -1.5, 2.0),
        Column("few", 0, 5, whole=True),
        Column("many", -500.5, 499, whole=True),
        Column("b", 1e6, 1e6 + 1),
    )
    schema = Schema(columns)
    return schema, Grid.with_windows(schema, windows)


def a_block(schema: Schema, n_rows: int, missing: bool) -> np.ndarray:
    """Return values within and beyond the bounds, on the bounds, and on multiples of the range."""
    rng = np.random.default_rng(n_rows)
    width = schema.upper - schema.lower
    share = rng.uniform(-0.2, 1.2, (n_rows, len(width)))
    share[::3] = np.rint(share[::3] * 64) / 64
    block = schema.lower + share * width
    if missing and n_rows:
        for value in (np.nan, np.inf, -np.inf):
            block[rng.integers(n_rows), rng.integers(len(width))] = value
    return block


def run_quantise(kernel: Any, schema: Schema, grid: Grid, block: np.ndarray, missing: int) -> tuple[Any, ...]:
    code_type = np.uint8 if grid.most_codes <= 256 else np.uint16
    start = 3
    places = np.full((grid.n_measured, start + len(block)), 7, dtype=np.uint16)
    codes = np.full((grid.n_columns, start + len(block)), 7, dtype=code_type)
    inverse_step = np.where(grid.on_value, np.rint(1.0 / grid.step), 1.0 / grid.step)
    stop = kernel.quantise(
        block, schema.lower, schema.upper, grid.origin, inverse_step, grid.on_value,
        grid.last_place, grid.places_per_code, missing, places, codes, start,
    )  # fmt: skip
    return stop, places[:, : max(stop, 0)].tolist(), codes[:, : max(stop, 0)].tolist()


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("windows", [2, 16, 128, 1000])
@pytest.mark.parametrize("rule", [ERROR, DROP, MIDDLE])
@pytest.mark.parametrize("missing", [False, True])
def test_quantise_equals_reference(n_rows, windows, rule, missing):
    schema, grid = a_grid(windows)
    block = a_block(schema, n_rows, missing)
    got = run_quantise(compiled, schema, grid, block, rule)
    assert got == run_quantise(reference, schema, grid, block, rule)
    if missing and n_rows and rule == ERROR:
        assert got[0] == -1


@pytest.mark.parametrize("n_measured", [1, 2, 3])
@pytest.mark.parametrize("rule", [DROP, MIDDLE])
def test_last_columns_may_get_codes_only(n_measured, rule):
    schema, grid = a_grid(16)
    block = a_block(schema, 300, missing=True)
    stop, places, codes = run_quantise(compiled, schema, grid, block, rule)
    fewer = replace(grid, n_measured=n_measured)
    for kernel in (compiled, reference):
        assert run_quantise(kernel, schema, fewer, block, rule) == (stop, places[:n_measured], codes)


@pytest.mark.parametrize("rule", [DROP, MIDDLE])
def test_a_block_with_nothing_but_missing_values(rule):
    schema, grid = a_grid(16)
    block = np.full((5, 4), np.nan)
    stop, places, codes = run_quantise(compiled, schema, grid, block, rule)
    assert stop == (3 if rule == DROP else 8)
    assert (stop, places, codes) == run_quantise(reference, schema, grid, block, rule)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
def test_route_equals_reference(n_rows, code_type):
    rows = random_rows(n_rows, 3, code_type)
    split_column = np.array([2, -1, 0, -1, 1])
    cut = np.array([100, 0, 1, 0, 255])
    left, right = np.array([[5, 0, 7, 0, 9], [6, 0, 8, 0, 10]], dtype=np.int16)
    nodes = []
    for kernel in (compiled, reference):
        node = rows.node.copy()
        kernel.route(rows.codes, node, split_column, cut, left, right)
        nodes.append(node.tolist())
    assert nodes[0] == nodes[1]
    assert all(new == 3 for old, new in zip(rows.node.tolist(), nodes[0], strict=True) if old == 3)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_histograms_equal_reference(n_rows, code_type, n_columns):
    rows = random_rows(n_rows, n_columns, code_type)
    n_codes = 300 if code_type is np.uint16 else 256
    args = (rows.codes, rows.node, rows.slot_of, rows.n_groups, n_codes)
    counts = compiled.histograms(*args)
    np.testing.assert_array_equal(counts, reference.histograms(*args))
    assert counts.sum() == n_columns * np.isin(rows.node, [0, 2, 3]).sum()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_cut_scores_equal_the_plain_score(stride, two_sided, n_rows):
    rng = np.random.default_rng(n_rows)
    n_codes = 12
    histograms = np.stack(
        [np.stack([np.bincount(rng.integers(0, n_codes, n_rows), minlength=n_codes) for _ in range(3)]) for _ in "ab"]
    )
    low, high = np.array([[0, 0, 0], [3, 4, 11]]), np.array([[12, 12, 12], [9, 5, 12]])
    noisy = np.array([max(1, n_rows + 20), max(1, n_rows - 40)])
    score = Score(0.3, 1 / 12, 5.0, two_sided)
    for k, cuts in enumerate(score.of_nodes(histograms, noisy, low, high, stride)):
        plain = score.of_histogram(histograms[k], int(noisy[k]))
        inside = [
            (column, cut)
            for column in range(3)
            for cut in range(1, n_codes, stride)
            if low[k, column] < cut < high[k, column]
        ]
        assert [cuts.position(pick) for pick in range(len(cuts.exact_scores))] == inside
        assert cuts.exact_scores.tolist() == [plain[place] for place in inside]
        for column, cut in inside:
            below = int(histograms[k, column, :cut].sum())
            assert cuts.exact_sides(column, cut) == (below, n_rows - below)


@pytest.mark.parametrize(("low", "stride", "first"), [(0, 1, 1), (4, 1, 5), (0, 2, 1), (1, 2, 3), (2, 2, 3), (3, 2, 5)])
def test_first_cut_is_the_first_above_the_box(low, stride, first):
    assert compiled.first_cut(low, stride) == first
    assert first == min(cut for cut in range(1, 20, stride) if cut > low)


@pytest.mark.parametrize("n_rows", SIZES)
def test_group_rows_equals_reference(n_rows):
    rows = random_rows(n_rows, 3)
    got = compiled.group_rows(rows.places, rows.node, rows.slot_of, rows.n_groups)
    expected = grouped(rows)
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_columns", [1, 5])
def test_box_sums_equal_reference(n_rows, n_columns):
    rows = random_rows(n_rows, n_columns)
    middle = random_centres(rows.n_groups, n_columns)
    sums = compiled.box_sums(*grouped(rows), middle)
    np.testing.assert_array_equal(sums, reference.box_sums(*grouped(rows), middle))


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("reach", ["none", "all", "some", "ties"])
def test_radius_counts_equal_reference(n_rows, norm, reach):
    rows = random_rows(n_rows, 3)
    places, starts = grouped(rows)
    centre = random_centres(rows.n_groups, 3)
    if reach == "ties":  # whole rows at the same distance, which equals a threshold
        places = (centre[0][:, None] ^ 1).astype(np.uint16).repeat(places.shape[1], axis=1)
    radii = {"none": [0, 1, 2], "all": [10**6, 10**7], "ties": [0, 1, 2, 3]}.get(reach, [0, 20_000, 40_000, 80_000])
    thresholds = np.tile(np.array(radii, dtype=np.int64) ** (norm if reach != "ties" else 1), (rows.n_groups, 1))
    counts = compiled.radius_counts(places, starts, centre, thresholds, norm)
    np.testing.assert_array_equal(counts, reference.radius_counts(places, starts, centre, thresholds, norm))
    assert counts.sum() == places.shape[1]
    if reach == "all":
        assert counts[0] == places.shape[1]


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("radius", [1, 2, 1000, 40_000, 10**6])
def test_clipped_sums_equal_reference(n_rows, norm, radius):
    rows = random_rows(n_rows, 3)
    centre = random_centres(rows.n_groups, 3)
    radii = np.array([radius, 1, radius + 1, 2 * radius], dtype=np.int64)
    sums = compiled.clipped_sums(*grouped(rows), centre, radii, norm)
    np.testing.assert_array_equal(sums, reference.clipped_sums(*grouped(rows), centre, radii, norm))
    if radius == 10**6:
        centre_only = [0, 2, 3]  # group 1 is empty, and its radius clips
        np.testing.assert_array_equal(sums[centre_only], reference.box_sums(*grouped(rows), centre)[centre_only])


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 60])
@pytest.mark.parametrize("radius", [1, 2, 3, 17, 1000, 65_535, 200_000])
def test_a_clipped_row_is_never_longer_than_the_radius(norm, n_columns, radius):
    rng = np.random.default_rng(radius)
    n_rows = 400
    places = rng.integers(0, LAST_PLACE + 1, (n_columns, n_rows)).astype(np.uint16)
    places[:, :3] = [[0] * 3, [LAST_PLACE] * 3][radius % 2]  # corners of the domain, as far away as a row can be
    centre = rng.choice([0, LAST_PLACE, LAST_PLACE // 2, LAST_PLACE // 3], (n_rows, n_columns)).astype(np.int64)
    centre[3:20] = np.clip(places[:, 3:20].T.astype(np.int64) + rng.integers(-2, 3, (17, n_columns)), 0, LAST_PLACE)
    starts = np.arange(n_rows + 1)  # every row is a group of its own, so a sum is one clipped row
    clipped = compiled.clipped_sums(places, starts, centre, np.full(n_rows, radius), norm)
    for short, full in zip(clipped.tolist(), (places.T.astype(np.int64) - centre).tolist(), strict=True):
        length = sum(x * x for x in short) if norm == 2 else sum(map(abs, short))
        full_length = sum(x * x for x in full) if norm == 2 else sum(map(abs, full))
        limit = radius**norm
        assert length <= limit
        if full_length <= limit:
            assert short == full
        else:  # rounding towards zero loses less than one place per column, twice at most
            assert length ** (1 / norm) >= radius - 2 * n_columns ** (1 / norm)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_columns", [1, 4])
def test_regroup_equals_reference(n_rows, n_columns):
    rows = random_rows(n_rows, n_columns)
    centres = random_centres(6, n_columns)
    centres[4] = centres[1]  # a tie for all rows near it
    nodes = [np.full(n_rows, -1, dtype=np.int16) for _ in range(2)]
    compiled.regroup(rows.places, centres, nodes[0])
    reference.regroup(rows.places, centres, nodes[1])
    np.testing.assert_array_equal(*nodes)
    assert 4 not in nodes[0]


def test_regroup_gives_a_tie_to_the_lowest_number():
    node = np.full(3, -1, dtype=np.int16)
    compiled.regroup(np.array([[0, 10, 20]], dtype=np.uint16), np.array([[20], [0]]), node)
    assert node.tolist() == [1, 0, 0]


def random_pairs(n_centres: int) -> tuple[np.ndarray, int]:
    """Return numbers for about two thirds of the pairs of centres, the same both ways, -1 for the others; and how many."""
    first, second = np.nonzero(np.triu(np.random.default_rng(2).random((n_centres, n_centres)) < 0.7, 1))
    pair_of = np.full((n_centres, n_centres), -1, dtype=np.int64)
    pair_of[first, second] = pair_of[second, first] = np.arange(len(first))
    return pair_of, len(first)


def centres_of_a_kind(kind: str, n_centres: int, n_columns: int) -> np.ndarray:
    """Return random centres, some the same, all the same, or few places so that most rows are as near to several."""
    centres = random_centres(n_centres, n_columns)
    if kind == "ties":
        return centres % 2 * LAST_PLACE
    if kind == "identical":
        centres[:] = centres[0]
    if kind == "twins":
        centres[-1] = centres[0]
    return centres


CENTRES = pytest.mark.parametrize("kind", ["random", "twins", "ties", "identical"])


@CENTRES
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_columns", [1, 4])
@pytest.mark.parametrize("n_centres", [2, 3, 9])
@pytest.mark.parametrize("n_bins", [2, 5])
def test_bridge_counts_equal_reference(kind, n_rows, n_columns, n_centres, n_bins):
    places = random_rows(n_rows, n_columns).places
    places[:, ::3] = places[:, ::3] // 2**15 * LAST_PLACE  # corners, as far from one centre as from another
    centres = centres_of_a_kind(kind, n_centres, n_columns)
    pair_of, n_pairs = random_pairs(n_centres)
    counts = compiled.bridge_counts(places, centres, pair_of, n_pairs, n_bins)
    np.testing.assert_array_equal(counts, reference.bridge_counts(places, centres, pair_of, n_pairs, n_bins))
    assert counts.shape == (n_pairs * n_bins + n_centres,)
    assert counts.sum() == n_rows  # every row counts once
    assert counts.min() >= 0
    if kind == "identical":
        assert counts[-n_centres:].tolist() == [n_rows, *[0] * (n_centres - 1)]


@pytest.mark.parametrize("kernel", [compiled, reference])
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_bins_of_a_bridge_run_from_the_lower_number_to_the_higher(kernel, order):
    rows = {10: "behind", 20: 0, 31: 0, 32: 1, 43: 1, 44: 2, 50: 2, 56: 2, 57: 3, 68: 3, 69: 4, 80: 4, 81: "behind"}
    centres, pair_of = np.array([[20], [80]])[order], np.array([[-1, 0], [0, -1]])
    for place, expected in rows.items():
        counts = kernel.bridge_counts(np.array([[place]], dtype=np.uint16), centres, pair_of, 1, 5)
        if expected == "behind":
            expected = 5 + (place > 50 if order == [0, 1] else place < 50)
        elif order == [1, 0]:
            expected = 4 - expected
        assert counts.tolist() == np.eye(7, dtype=int)[int(expected)].tolist()


@pytest.mark.parametrize("kernel", [compiled, reference])
def test_a_pair_without_a_number_counts_for_the_nearest_centre(kernel):
    places, centres = np.array([[25, 45, 55, 95]], dtype=np.uint16), np.array([[20], [80]])
    counts = kernel.bridge_counts(places, centres, np.full((2, 2), -1), 0, 5)
    assert counts.tolist() == [2, 2]


@CENTRES
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_columns", [1, 4])
@pytest.mark.parametrize("n_centres", [2, 9])
@pytest.mark.parametrize("steps", [1, 1000, 2**16])
def test_silhouettes_equal_reference(kind, n_rows, n_columns, n_centres, steps):
    places = random_rows(n_rows, n_columns).places
    centres = centres_of_a_kind(kind, n_centres, n_columns)
    if n_rows:
        places[:, 0] = centres[0]
    taken = np.random.default_rng(3).random((6, n_centres)) < 0.5
    taken[:, :2] = True
    sums = compiled.silhouettes(places, centres, taken, steps)
    assert sums.tolist() == reference.silhouettes(places, centres, taken, steps).tolist()
    assert np.all((sums >= 0) & (sums <= steps * n_rows))
    if kind == "identical":
        assert not sums.any()
    elif kind == "random" and n_rows and steps > 1:
        assert sums.min() >= steps  # the row on the first centre


@pytest.mark.parametrize("kernel", [compiled, reference])
def test_silhouettes_of_single_rows(kernel):
    """From 0, midway, to all steps, on a centre; of the centres that are taken only."""
    centres, taken = np.array([[0], [100], [60]]), np.array([[True, True, False], [True, False, True]])

    def found(place: int) -> list[int]:
        sums: list[int] = kernel.silhouettes(np.array([[place]], dtype=np.uint16), centres, taken, 1000).tolist()
        return sums

    assert found(0) == [1000, 1000]
    assert found(50) == [0, 800]
    assert found(20) == [750, 500]
    assert found(60) == [333, 1000]
    assert found(100) == [1000, 600]


@CENTRES
def test_parts_of_the_rows_add_up(kind):
    places = random_rows(2500, 3).places
    centres, (pair_of, n_pairs) = centres_of_a_kind(kind, 6, 3), random_pairs(6)
    taken = np.array([[True] * k + [False] * (6 - k) for k in range(2, 7)])
    whole = (
        compiled.bridge_counts(places, centres, pair_of, n_pairs, 5),
        compiled.silhouettes(places, centres, taken, 2**16),
    )
    for edges in ([0, 1, 2500], [0, 1023, 1024, 1025, 2500], [0, 700, 700, 1900, 2500]):
        parts = [places[:, a:b] for a, b in pairwise(edges)]
        bridges = sum(compiled.bridge_counts(part, centres, pair_of, n_pairs, 5) for part in parts)
        scores = sum(compiled.silhouettes(part, centres, taken, 2**16) for part in parts)
        np.testing.assert_array_equal(bridges, whole[0])
        np.testing.assert_array_equal(scores, whole[1])


def run_nearest(kernel: Any, block: np.ndarray, centres: np.ndarray, rule: int, hints: bool = False) -> tuple[Any, Any]:
    lower, upper, weights = np.array([-50.0, 0.0]), np.array([50.0, 10.0]), np.array([0.5, 5.0])
    scaled = centres * weights
    distance = np.sqrt(((scaled[:, None] - scaled) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    half_gap = distance.min(axis=1) / 2 * (1 - 1e-9)
    rng = np.random.default_rng(0)
    node = rng.integers(0, 9, len(block) + 2).astype(np.int16) if hints else np.empty(0, dtype=np.int16)
    labels = np.full(len(block) + 2, -7, dtype=np.int32)
    cluster_of_node = rng.integers(0, len(centres), 9)
    done = kernel.nearest_centre(
        block, lower, upper, rule, centres, weights, half_gap, node, cluster_of_node, labels, 2
    )  # fmt: skip
    return done, labels.tolist()


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_centres", [1, 2, 12])
@pytest.mark.parametrize("rule", [ERROR, DROP, MIDDLE])
@pytest.mark.parametrize("missing", [False, True])
def test_nearest_centre_equals_reference_whatever_the_hint(n_rows, n_centres, rule, missing):
    rng = np.random.default_rng(n_rows)
    block = rng.uniform([-80, -2], [80, 12], (n_rows, 2))
    centres = rng.uniform([-50, 0], [50, 10], (n_centres, 2))
    centres[-1] = centres[0]  # a tie
    if missing and n_rows:
        block[0, 0], block[-1, 1] = np.nan, np.inf
    expected = run_nearest(reference, block, centres, rule)
    assert run_nearest(compiled, block, centres, rule) == expected
    assert run_nearest(compiled, block, centres, rule, hints=True) == expected
    assert expected[0] is not (missing and n_rows > 0 and rule == ERROR)


def small_parts(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    monkeypatch.setattr(threads, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(frames, "BLOCK_ROWS", block_rows)


def answers(rows: np.ndarray, on_missing: str, n_threads: int) -> list[Any]:
    """Return what an engine answers to every question, in the order in which a run asks them."""
    schema, grid = a_grid(16)
    splits = Splits(3)
    splits.add(0, 0, 9, 1, 2)
    middle = np.array([[30_000, 100, 200, 9], [1, 2, 3, 4]])
    thresholds = np.array([[10**8, 10**9, 10**10]] * 2)
    radius = np.array([20_000, 30_000])
    with MemoryEngine(read_table(rows), schema, on_missing, n_threads) as engine:
        assert engine.threads.n_parts == n_threads
        result: list[Any] = [engine.encode(grid), engine.histograms([0])]
        gap_counts, n_gaps = engine.gap_counts(np.array([1e-3, 1e-2, 1e-1]))
        result += [gap_counts, n_gaps]
        engine.route(splits)
        result += [engine.histograms([2, 1]), engine.histograms([0, 2])]
        result += [engine.box_sums([1, 2], middle), engine.box_sums([2, 1], middle)]
        for norm in (1, 2):
            result += [engine.radius_counts([1, 2], middle, thresholds, norm)]
            result += [engine.clipped_sums([1, 2], middle, radius, norm)]
        result += [engine.nodes_of_rows()]
        result += [engine.regroup(random_centres(5, 4)), engine.box_sums([0, 3], middle), engine.nodes_of_rows()]
        pair_of, n_pairs = random_pairs(6)
        result += [engine.bridge_counts(random_centres(6, 4), pair_of, n_pairs, 5)]
        result += [engine.silhouettes(random_centres(6, 4), np.tri(5, 6, 1, dtype=bool), 2**16)]
        result += [engine.encode(grid), engine.histograms([0])]
    return [answer.tolist() if isinstance(answer, np.ndarray) else answer for answer in result]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("block_rows", [1, 37, 10**6])
@pytest.mark.parametrize("on_missing", ["error", "drop", "middle"])
def test_threads_and_blocks_change_nothing(monkeypatch, n_threads, block_rows, on_missing):
    schema, _ = a_grid(16)
    rows = a_block(schema, 203, missing=on_missing != "error")
    expected = answers(rows, on_missing, 1)
    small_parts(monkeypatch, block_rows)
    assert answers(rows, on_missing, n_threads) == expected


def test_engine_answers_are_those_of_the_reference_kernels():
    schema, grid = a_grid(16)
    rows = a_block(schema, 203, missing=True)
    stop, places, codes = run_quantise(reference, schema, grid, rows, DROP)
    kept, places, codes = stop - 3, np.array(places)[:, 3:], np.array(codes)[:, 3:]
    node = np.where(codes[0] < 9, 1, 2)
    slot_of = np.array([2, 0, 1])
    parts = reference.group_rows(places, node, slot_of, 2)
    middle = np.array([[30_000, 100, 200, 9], [1, 2, 3, 4]])
    got = answers(rows, "drop", 1)
    assert got[0] == kept < 203
    assert got[4] == reference.histograms(codes, node, np.array([2, 1, 0]), 2, grid.most_codes).tolist()
    assert got[6] == reference.box_sums(*parts, middle).tolist()
    assert got[9] == reference.clipped_sums(*parts, middle, np.array([20_000, 30_000]), 1).tolist()
    assert got[11] == reference.clipped_sums(*parts, middle, np.array([20_000, 30_000]), 2).tolist()
    centres = random_centres(6, 4)
    pair_of, n_pairs = random_pairs(6)
    assert got[16] == reference.bridge_counts(places, centres, pair_of, n_pairs, 5).tolist()
    assert got[17] == reference.silhouettes(places, centres, np.tri(5, 6, 1, dtype=bool), 2**16).tolist()


def test_rows_that_moved_are_asked_anew():
    schema, grid = a_grid(16)
    zero = np.zeros((1, 4), dtype=np.int64)
    first, second = Splits(3), Splits(5)
    first.add(0, 0, 9, 1, 2)
    second.add(1, 3, 16, 3, 4)
    with MemoryEngine(read_table(a_block(schema, 203, missing=False)), schema, "error") as engine:
        engine.encode(grid)
        whole = engine.box_sums([0], zero)
        engine.route(first)
        assert not engine.box_sums([0], zero).any()
        left, right = engine.box_sums([1], zero), engine.box_sums([2], zero)
        left_again = engine.box_sums([1], zero)
        engine.route(second)
        assert not engine.box_sums([1], zero).any()
        np.testing.assert_array_equal(engine.box_sums([3], zero) + engine.box_sums([4], zero), left)
        np.testing.assert_array_equal(left + right, whole)
        np.testing.assert_array_equal(left_again, left)
        engine.regroup(np.zeros((1, 4), dtype=np.int64))
        np.testing.assert_array_equal(engine.box_sums([0], zero), whole)
        engine.regroup(np.array([[10**6] * 4, [0] * 4]))
        assert not engine.box_sums([0], zero).any()
        engine.encode(grid)
        np.testing.assert_array_equal(engine.box_sums([0], zero), whole)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("row", [0, 202])
def test_a_missing_value_in_any_block_is_an_error(monkeypatch, n_threads, row):
    small_parts(monkeypatch, 37)
    schema, grid = a_grid(16)
    rows = a_block(schema, 203, missing=False)
    rows[row, 1] = np.nan
    with MemoryEngine(read_table(rows), schema, "error", n_threads) as engine, pytest.raises(DataError):
        engine.encode(grid)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_an_engine_of_no_or_one_row_answers_everything(n_rows):
    schema, _ = a_grid(16)
    got = answers(a_block(schema, n_rows, missing=False), "error", 1)
    assert got[0] == np.sum(got[4]) / 4 == n_rows
