"""Values, places, codes and cuts come from one formula and agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.engines.grid import PLACES, Grid
from dpmondrian.kernels import compiled
from dpmondrian.schema.columns import Category, Column, Schema

RANGES = [(0, 1), (0, 120), (10, 60), (-100, 100), (-6.23, 1100.9), (0, 0.1), (0.1, 0.7), (1e6, 1e6 + 1), (-1e-9, 1e-9)]
WHOLE_SIZES = [2, 3, 16, 127, 128, 129, 255, 256, 257, 1000, 2**10, 2**10 + 1, 2**15, 40_000]


def one_column(lower: float, upper: float, whole: bool = False) -> Schema:
    return Schema((Column("a", lower, upper, whole=whole),))


def codes_and_rests(grid: Grid, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a run keeps of values, shape (n_columns, n_rows)."""
    codes = np.empty(columns.shape, dtype=grid.code_type)
    rests = np.empty((grid.n_columns, columns.shape[1]), dtype=grid.rest_type)
    schema = grid.schema
    compiled.quantise(
        columns, schema.lower, schema.upper, grid.origin, grid.inverse_step, grid.on_value, grid.last_place,
        grid.places_per_code, grid.rest_step, 0, codes, rests, 0,
    )  # fmt: skip
    return codes, rests


def places_and_codes(grid: Grid, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a run turns the values of a single column into."""
    codes, rests = codes_and_rests(grid, np.ascontiguousarray(values, dtype=np.float64)[None])
    places = codes[0] * grid.places_per_code[0] + rests[0] * grid.rest_step[0]
    return places.astype(np.int64), codes[0].astype(np.int64)


def cut_values(grid: Grid) -> np.ndarray:
    return np.array([grid.cut_value(0, cut) for cut in range(1, grid.most_codes)])


def assert_same_side(grid: Grid, values: np.ndarray) -> None:
    """A row is below a cut by its code exactly if its value is at most the cut's value."""
    _, codes = places_and_codes(grid, values)
    by_code = codes[:, None] < np.arange(1, grid.most_codes)
    by_value = values[:, None] <= cut_values(grid)
    assert values[(by_code != by_value).any(axis=1)].tolist() == []


def grids(schema: Schema) -> list[Grid]:
    return [
        *(Grid.with_windows(schema, windows) for windows in (2, 16, 100, 128, 2**14)),
        *(Grid.with_intervals(schema, n) for n in (1, 13, 800)),
    ]


@pytest.mark.parametrize(("lower", "upper"), RANGES)
def test_a_value_comes_back_within_a_step(lower, upper):
    values = np.linspace(lower, upper, 1001)
    for grid in grids(one_column(lower, upper)):
        places, _ = places_and_codes(grid, values)
        assert places.min() == 0
        assert places.max() == grid.last_place[0] < PLACES
        assert np.abs(grid.values(places[:, None])[:, 0] - values).max() <= 0.5001 * grid.step[0]


@pytest.mark.parametrize(("lower", "upper"), RANGES)
def test_codes_and_cuts_agree_on_values_between_cuts(lower, upper):
    rng = np.random.default_rng(0)
    for grid in grids(one_column(lower, upper)):
        if grid.most_codes > 2000:
            continue  # cuts as close as places, nothing lies between them
        cuts = cut_values(grid)
        width = cuts[1] - cuts[0] if len(cuts) > 1 else upper - lower
        near = np.concatenate([cuts - 1e-5 * width, cuts + 1e-5 * width])
        assert_same_side(
            grid, np.clip(np.concatenate([near, rng.uniform(lower, upper, 500), [lower, upper]]), lower, upper)
        )


@pytest.mark.parametrize(("lower", "upper"), RANGES)
def test_a_value_on_a_cut_lies_below_it(lower, upper):
    grid = Grid.with_windows(one_column(lower, upper), 128)
    assert_same_side(grid, cut_values(grid))


@pytest.mark.parametrize("n_values", WHOLE_SIZES)
@pytest.mark.parametrize("lower", [0, -7, 0.4])
def test_codes_and_cuts_agree_on_whole_numbers(n_values, lower):
    for windows in (2, 16, 128):
        first = np.ceil(lower)
        grid = Grid.with_windows(one_column(lower, first + n_values - 1, whole=True), windows)
        assert_same_side(grid, first + np.arange(n_values))


@pytest.mark.parametrize("n_values", [size for size in WHOLE_SIZES if size <= 2**10])
@pytest.mark.parametrize("windows", [2, 16, 128])
def test_a_whole_number_comes_back_exactly(n_values, windows):
    grid = Grid.with_windows(one_column(5, 4 + n_values, whole=True), windows)
    values = 5.0 + np.arange(n_values)
    places, _ = places_and_codes(grid, values)
    np.testing.assert_allclose(grid.values(places[:, None])[:, 0], values, rtol=1e-12)
    assert len(set(places.tolist())) == n_values


@pytest.mark.parametrize("n_values", [size for size in WHOLE_SIZES if size <= 2**10])
@pytest.mark.parametrize("windows", [2, 16, 128])
def test_intervals_hold_equally_many_whole_numbers(n_values, windows):
    grid = Grid.with_windows(one_column(0, n_values - 1, whole=True), windows)
    _, codes = places_and_codes(grid, np.arange(n_values))
    per_code = np.bincount(codes, minlength=grid.most_codes)
    if n_values <= windows:  # a value in every other code: any window of two codes holds exactly one
        assert (per_code[1:] + per_code[:-1] == 1).all()
    else:
        assert len(set(per_code[:-1].tolist())) == 1
        assert 0 < per_code[-1] <= per_code[0]
        assert windows < grid.most_codes <= 2 * windows


def test_a_fraction_in_a_whole_number_column_counts_as_the_nearest_whole():
    grid = Grid.with_windows(one_column(0, 9, whole=True), 128)
    got = places_and_codes(grid, np.array([2.4, 2.6, -3.0, 99.0]))
    expected = places_and_codes(grid, np.array([2.0, 3.0, 0.0, 9.0]))
    assert [a.tolist() for a in got] == [a.tolist() for a in expected]


@pytest.mark.parametrize("whole", [False, True])
def test_values_beyond_the_bounds_count_as_the_bounds(whole):
    grid = Grid.with_windows(one_column(-3, 12, whole), 16)
    got = places_and_codes(grid, np.array([-1e300, -3.5, 12.5, 1e300]))
    expected = places_and_codes(grid, np.array([-3.0, -3.0, 12.0, 12.0]))
    assert [a.tolist() for a in got] == [a.tolist() for a in expected]


def test_the_largest_place_has_the_largest_code():
    for n_values in WHOLE_SIZES:
        for grid in (
            Grid.with_windows(one_column(0, n_values - 1, whole=True), 128),
            Grid.with_intervals(one_column(0, n_values - 1, whole=True), 40),
        ):
            assert grid.last_place[0] // grid.places_per_code[0] == grid.n_codes[0] - 1


def test_columns_have_grids_of_their_own():
    schema = Schema((Column("a", 0, 1), Column("b", 0, 3, whole=True)))
    grid = Grid.with_windows(schema, 16)
    assert grid.n_codes.tolist() == [32, 7]
    assert grid.most_codes == 32
    assert [grid.cut_value(1, cut) for cut in (1, 2, 3, 4)] == [0.0, 0.0, 1.0, 1.0]
    assert grid.cut_value(0, 16) == 0.5


EVERY_KIND = Schema((
    Column("continuous", -6.23, 1100.9),
    *(Column(f"{size} values", 5, 4 + size, whole=True) for size in WHOLE_SIZES),
    Category("cut", tuple("abc"), cut=True, weight=1.0),
    Category("not cut", tuple("abc"), weight=0.3),
))  # fmt: skip


def grids_of_every_kind() -> list[Grid]:
    schema = Schema(EVERY_KIND.centre_columns)
    numbers = Schema(tuple(column for column in EVERY_KIND.columns if isinstance(column, Column)))
    return [
        *(Grid.with_windows(schema, windows) for windows in (2, 16, 128, 1000, 2**14)),
        *(Grid.with_intervals(numbers, n_intervals) for n_intervals in (1, 13, 40, 128, 800)),
    ]


@pytest.mark.parametrize("grid", grids_of_every_kind(), ids=lambda grid: f"{grid.most_codes}-{grid.stride}")
def test_code_and_rest_make_the_place(grid):
    rng = np.random.default_rng(0)
    share = np.hstack([rng.uniform(-0.1, 1.1, (grid.n_columns, 3000)), np.repeat([[0.0, 0.5, 1.0]], grid.n_columns, 0)])
    values = grid.schema.lower[:, None] + share * (grid.schema.upper - grid.schema.lower)[:, None]
    codes, rests = codes_and_rests(grid, values)
    clipped = np.clip(values.T, grid.schema.lower, grid.schema.upper) - grid.origin
    whole, continuous = np.rint(clipped) * grid.inverse_step, np.ceil(clipped * grid.inverse_step) - 1
    places = np.clip(np.where(grid.on_value, whole, continuous), 0, grid.last_place).T
    np.testing.assert_array_equal(codes, places // grid.places_per_code[:, None])
    np.testing.assert_array_equal(codes * grid.places_per_code[:, None] + rests * grid.rest_step[:, None], places)


@pytest.mark.parametrize(
    ("columns", "windows", "code_type", "rest_type"),
    [
        ((Column("a", 0, 1),), 128, np.uint8, np.uint8),
        ((Column("a", 0, 1),), 127, np.uint8, np.uint16),
        ((Column("a", 0, 1),), 129, np.uint16, np.uint8),
        ((Column("a", 0, 1), Column("b", 0, 300, whole=True)), 200, np.uint16, np.uint8),
        ((Column("b", 0, 300, whole=True),), 16, np.uint8, np.uint8),
        ((Column("b", 0, 2**15 - 1, whole=True),), 2, np.uint8, np.uint16),
        ((Category("c", tuple("abc")),), 16, np.uint8, np.uint8),
        ((Category("c", tuple("abc"), cut=True), Column("b", 0, 5, whole=True)), 16, np.uint8, np.uint8),
    ],
)
def test_codes_and_rests_are_kept_in_small_types(columns, windows, code_type, rest_type):
    grid = Grid.with_windows(Schema(Schema(columns).centre_columns), windows)
    assert (grid.code_type, grid.rest_type) == (code_type, rest_type)


@pytest.mark.parametrize("n_values", [2, 3, 5, 31, 120, 1024, 1025, 20_001, 30_001])
def test_whole_numbers_are_as_far_apart_as_their_bounds_say(n_values):
    """Half of a column's range is half of the distance, whether or not the column is one of whole numbers."""
    schema = Schema((Column("whole", 0, n_values - 1, whole=True), Column("number", 0.0, 1.0)))
    last = Grid.with_windows(schema, 256).last_place
    assert (
        abs(int(last[0]) - int(last[1])) <= 0.016 * last[1]
    )  # rounding to a whole number of places, at least 64, for each value
