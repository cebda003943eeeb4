"""Compiled kernels equal the plain ones, and clipped rows are never too long."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dpmondrian.dpm.scores import Score
from dpmondrian.engines.grid import Grid
from dpmondrian.kernels import compiled, lines, reference, scores, tiles
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE
from dpmondrian.schema.columns import Column, Schema

LAST_PLACE = 2**16 - 1
SIZES = (0, 1, 7, 2500)
"""None, one, few, and more rows than two of the tiles in which the compiled kernels read."""
LAYOUTS = {
    "bytes": (np.uint8, np.uint8, 256),
    "long rests": (np.uint8, np.uint16, 2048),
    "long codes": (np.uint16, np.uint8, 32),
    "both long": (np.uint16, np.uint16, 218),
}
"""Types of codes and rests, and places per code."""
EVERY_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


class Rows(NamedTuple):
    """Random rows in the layout of the kernels: nodes 0, 2 and 3 are groups, 1 is an empty group, 4 takes no part."""

    places: np.ndarray
    coded: tuple[np.ndarray, ...]
    node: np.ndarray
    slot_of: np.ndarray
    n_groups: int

    @property
    def ordered(self) -> tuple[np.ndarray, np.ndarray]:
        return reference.order_rows(self.node, self.slot_of, self.n_groups)


def coded(places: np.ndarray, layout: str = "bytes") -> tuple[np.ndarray, ...]:
    """Return places, shape (n_columns, n_rows), as the kernels take them; codes have one more column, without rests."""
    code_type, rest_type, width = LAYOUTS[layout]
    codes = np.vstack([places // width, np.full((1, places.shape[1]), 9)]).astype(code_type, order="C")
    n_columns = len(places)
    return codes, (places % width).astype(rest_type, order="C"), np.full(n_columns, float(width)), np.ones(n_columns)


def together(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order and starts of rows that are one group."""
    return np.arange(n_rows, dtype=np.uint32), np.array([0, n_rows])


def random_rows(n_rows: int, n_columns: int, layout: str = "bytes", seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, LAST_PLACE + 1, (n_columns, n_rows))
    node = rng.choice([0, 2, 3, 4], n_rows).astype(np.int16)
    slot_of = np.array([0, 1, 2, 3, 4, 4], dtype=np.int16)
    return Rows(places, coded(places, layout), node, slot_of, 4)


def random_centres(n_groups: int, n_columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, LAST_PLACE + 1, (n_groups, n_columns))


def added(kernel: Any, name: str, *args: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a kernel adds to numbers that are there already."""
    before = np.random.default_rng(9).integers(1, 1000, shape)
    total = before.copy()
    assert getattr(kernel, name)(*args, total) is None
    return total - before


def by_both(name: str, *args: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what the compiled kernel adds, if the plain one adds the same."""
    result = added(compiled, name, *args, shape=shape)
    np.testing.assert_array_equal(result, added(reference, name, *args, shape=shape))
    return result


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
    start = 3
    codes = np.full((grid.n_columns, start + len(block)), 7, dtype=grid.code_type)
    rests = np.full((grid.n_columns, start + len(block)), 7, dtype=grid.rest_type)
    stop = kernel.quantise(
        block.T, schema.lower, schema.upper, grid.origin, grid.inverse_step, grid.on_value, grid.last_place,
        grid.places_per_code, grid.rest_step, missing, codes, rests, start,
    )  # fmt: skip
    return stop, codes[:, : max(stop, 0)].tolist(), rests[:, : max(stop, 0)].tolist()


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


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("rule", [ERROR, DROP, MIDDLE])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("value_type", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [False, True])
def test_quantise_takes_rows_or_columns_and_short_numbers(n_rows, rule, order, value_type, missing):
    schema, grid = a_grid(128)
    block = a_block(schema, n_rows, missing).astype(value_type)
    expected = run_quantise(reference, schema, grid, block.astype(np.float64), rule)
    assert run_quantise(compiled, schema, grid, np.asarray(block, order=order), rule) == expected


@pytest.mark.parametrize("rule", [DROP, MIDDLE])
def test_a_block_with_nothing_but_missing_values(rule):
    schema, grid = a_grid(16)
    block = np.full((5, 4), np.nan)
    stop, codes, rests = run_quantise(compiled, schema, grid, block, rule)
    assert stop == (3 if rule == DROP else 8)
    assert (stop, codes, rests) == run_quantise(reference, schema, grid, block, rule)


@pytest.mark.parametrize("n_rows", SIZES)
@EVERY_LAYOUT
def test_route_equals_reference(n_rows, layout):
    rows = random_rows(n_rows, 3, layout)
    split_column = np.array([2, -1, 0, -1, 1])
    cut = np.array([20, 0, 1, 0, 31])
    left, right = np.array([[5, 0, 7, 0, 9], [6, 0, 8, 0, 10]], dtype=np.int16)
    nodes = []
    for kernel in (compiled, reference):
        node = rows.node.copy()
        kernel.route(rows.coded[0], node, split_column, cut, left, right)
        nodes.append(node.tolist())
    assert nodes[0] == nodes[1]
    assert all(new == 3 for old, new in zip(rows.node.tolist(), nodes[0], strict=True) if old == 3)


def node_map(n_nodes: int, n_slots: int) -> np.ndarray:
    """Return slots of the first nodes, in another order; the others take no part."""
    slot_of = np.full(n_nodes, n_slots, dtype=np.int16)
    slot_of[:n_slots] = np.random.default_rng(5).permutation(n_slots)
    return slot_of


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [0, 7, 6001])
@EVERY_LAYOUT
@pytest.mark.parametrize("n_columns", [1, 4])
@pytest.mark.parametrize(("n_nodes", "n_slots"), [(1, 1), (1, 0), (3, 3), (3, 2), (40, 2), (400, 400), (3000, 30)])
def test_histograms_equal_reference(n_rows, layout, n_columns, n_nodes, n_slots):
    """With few and many slots, all rows or few of them taking part."""
    places = np.random.default_rng(n_rows).integers(0, LAST_PLACE + 1, (n_columns, n_rows))
    places[:, : n_rows // 2] //= 2**13  # many neighbours in the same cell
    codes = coded(places, layout)[0]
    node = np.random.default_rng(1).integers(0, n_nodes, n_rows).astype(np.int16)
    shape = (n_slots, n_columns + 1, int(codes.max(initial=0)) + 3)
    counts = by_both("histograms", codes, node, node_map(n_nodes, n_slots), shape=shape)
    assert counts.sum() == (n_columns + 1) * (node < n_slots).sum()


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
    assert scores.first_cut(low, stride) == first
    assert first == min(cut for cut in range(1, 20, stride) if cut > low)


@pytest.mark.parametrize("n_rows", SIZES)
def test_order_rows_equals_reference(n_rows):
    rows = random_rows(n_rows, 1)
    order, starts = compiled.order_rows(rows.node, rows.slot_of, rows.n_groups)
    assert (order.dtype, starts.dtype) == (np.uint32, np.int64)
    assert (order.tolist(), starts.tolist()) == tuple(part.tolist() for part in rows.ordered)
    assert starts[-1] == (rows.node < 4).sum()


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("n_columns", [1, 5])
@EVERY_LAYOUT
def test_box_sums_equal_reference(n_rows, n_columns, layout):
    rows = random_rows(n_rows, n_columns, layout)
    middle = random_centres(rows.n_groups, n_columns)
    sums = by_both("box_sums", rows.coded, *rows.ordered, middle, shape=(4, n_columns))
    for slot, node in enumerate([0, 1, 2, 3]):
        of_node = rows.places[:, rows.node == node].T - middle[slot]
        assert sums[slot].tolist() == of_node.sum(axis=0).tolist()


@pytest.mark.parametrize("n_rows", SIZES)
def test_rests_may_be_worth_several_places(n_rows):
    rng = np.random.default_rng(n_rows)
    codes, rests = rng.integers(0, 5, (3, n_rows)).astype(np.uint8), rng.integers(0, 3, (2, n_rows)).astype(np.uint8)
    rows = (codes, rests, np.array([9000.0, 65536.0]), np.array([3000.0, 20_000.0]))
    codes[1] = 0
    expected = [codes[0] * 9000.0 + rests[0] * 3000.0, rests[1] * 20_000.0]
    sums = by_both("box_sums", rows, *together(n_rows), np.zeros((1, 2), dtype=np.int64), shape=(1, 2))
    assert sums.tolist() == [[values.sum() for values in expected]]
    nodes = np.zeros((2, n_rows), dtype=np.int16)
    centres = np.array([[0, 0], [45_000, 40_000], [20_000, 20_000]])
    compiled.regroup(rows, centres, nodes[0])
    reference.regroup(rows, centres, nodes[1])
    assert nodes[0].tolist() == nodes[1].tolist()


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("reach", ["none", "all", "some", "ties"])
@EVERY_LAYOUT
def test_distance_counts_equal_reference(n_rows, norm, reach, layout):
    rows = random_rows(n_rows, 3, layout)
    places, (order, starts) = rows.coded, rows.ordered
    centre, columns = random_centres(rows.n_groups, 3), np.arange(3)
    if reach == "ties":  # whole rows at the same distance, which equals a threshold
        places = coded((centre[0][:, None] ^ 1).repeat(n_rows, axis=1), layout)
    radii = {"none": [0, 1, 2], "all": [10**6, 10**7], "ties": [0, 1, 2, 3]}.get(reach, [0, 20_000, 40_000, 80_000])
    thresholds = np.array(radii, dtype=np.int64) ** (norm if reach != "ties" else 1)
    args = (places, columns, order, starts, centre, thresholds, norm)
    counts = by_both("distance_counts", *args, shape=(len(radii) + 1,))
    assert counts.sum() == len(order)
    if reach == "all":
        assert counts[0] == len(order)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("radius", [1, 2, 1000, 40_000, 10**6])
def test_clipped_sums_equal_reference(n_rows, norm, radius):
    rows = random_rows(n_rows, 3)
    centre, columns = random_centres(rows.n_groups, 3), np.arange(3)
    radii = np.array([radius, 1, radius + 1, 2 * radius], dtype=np.int64)
    sums = by_both("clipped_sums", rows.coded, columns, *rows.ordered, centre, radii, norm, shape=(4, 3))
    if radius == 10**6:
        centre_only = [0, 2, 3]  # group 1 is empty, and its radius clips
        whole = added(compiled, "box_sums", rows.coded, *rows.ordered, centre, shape=(4, 3))
        np.testing.assert_array_equal(sums[centre_only], whole[centre_only])


@pytest.mark.parametrize("n_rows", [0, 1, 7, 700])
@pytest.mark.parametrize("n_columns", [1, 10, 32, 33])
@pytest.mark.parametrize("largest", [3, 1024])
def test_line_counts_equal_reference(n_rows, n_columns, largest):
    rows, rng = random_rows(n_rows, n_columns), np.random.default_rng(n_columns)
    line_of = np.array([2, 0, 2, 1, 2])
    directions = rng.integers(-largest, largest + 1, (5, n_columns))
    directions[0], directions[1] = largest, -largest  # sums are as far from 0 as they can be
    widths = np.array([2, 1, 1, 1, 3]) * 16 * (1 + largest * LAST_PLACE * n_columns // 256)
    shapes = [np.zeros(1, dtype=np.int64)] * 3 + [np.array([0, 100, 256])] * 2
    begins = directions.clip(max=0).sum(axis=1) * LAST_PLACE + widths // 3
    args = (rows.coded, *rows.ordered, line_of, directions, begins, widths, shapes)
    counts = np.zeros((2, 5, 12), dtype=np.int64)
    for kernels, found in zip((lines, reference), counts, strict=True):
        kernels.line_counts(*args, found)
    assert counts[0].tolist() == counts[1].tolist()
    assert n_rows < 100 or counts[0].any(axis=1).sum() == 4  # group 1 is empty


@pytest.mark.parametrize("n_columns", [1, 10, 33])
@pytest.mark.parametrize("number", [1, -3])
def test_line_counts_along_single_columns_equal_reference(n_columns, number):
    rows, line_of = random_rows(700, n_columns), np.array([2, 0, 2])
    directions = np.zeros((3, n_columns), dtype=np.int64)
    directions[:, n_columns // 2] = number
    widths, shapes = np.array([1, 2, 1]) * 16 * 1000, [np.zeros(1, dtype=np.int64)] * 3
    args = (rows.coded, *rows.ordered, line_of, directions, np.full(3, min(number, 0) * LAST_PLACE), widths, shapes)
    counts = np.zeros((2, 3, 12), dtype=np.int64)
    for kernels, found in zip((lines, reference), counts, strict=True):
        kernels.line_counts(*args, found)
    assert counts[0].tolist() == counts[1].tolist()
    assert counts[0].any(axis=1).all()


@pytest.mark.parametrize("norm", [1, 2])
@EVERY_LAYOUT
def test_columns_that_are_not_asked_for_do_not_matter(norm, layout):
    rows, columns = random_rows(2500, 4, layout), np.array([3, 1])
    centre = random_centres(rows.n_groups, 2)
    alone = coded(rows.places[columns], layout)
    radii, thresholds = np.full(4, 30_000), np.array([20_000, 30_000, 50_000]) ** norm
    counts = by_both("distance_counts", rows.coded, columns, *rows.ordered, centre, thresholds, norm, shape=(4,))
    sums = by_both("clipped_sums", rows.coded, columns, *rows.ordered, centre, radii, norm, shape=(4, 2))
    both = np.arange(2)
    assert counts.tolist() == added(
        compiled, "distance_counts", alone, both, *rows.ordered, centre, thresholds, norm, shape=(4,)
    ).tolist()  # fmt: skip
    assert sums.tolist() == added(
        compiled, "clipped_sums", alone, both, *rows.ordered, centre, radii, norm, shape=(4, 2)
    ).tolist()  # fmt: skip


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 60])
@pytest.mark.parametrize("radius", [1, 2, 3, 17, 1000, 65_535, 200_000])
def test_a_clipped_row_is_never_longer_than_the_radius(norm, n_columns, radius):
    rng = np.random.default_rng(radius)
    n_rows = 400
    places = rng.integers(0, LAST_PLACE + 1, (n_columns, n_rows))
    places[:, :3] = [[0] * 3, [LAST_PLACE] * 3][radius % 2]  # corners of the domain, as far away as a row can be
    centre = rng.choice([0, LAST_PLACE, LAST_PLACE // 2, LAST_PLACE // 3], (n_rows, n_columns)).astype(np.int64)
    centre[3:20] = np.clip(places[:, 3:20].T + rng.integers(-2, 3, (17, n_columns)), 0, LAST_PLACE)
    order, starts = np.arange(n_rows, dtype=np.uint32), np.arange(n_rows + 1)  # every row is a group of its own
    args = (coded(places), np.arange(n_columns), order, starts, centre, np.full(n_rows, radius), norm)
    clipped = added(compiled, "clipped_sums", *args, shape=(n_rows, n_columns))
    for short, full in zip(clipped.tolist(), (places.T - centre).tolist(), strict=True):
        length = sum(x * x for x in short) if norm == 2 else sum(map(abs, short))
        full_length = sum(x * x for x in full) if norm == 2 else sum(map(abs, full))
        limit = radius**norm
        assert length <= limit
        if full_length <= limit:
            assert short == full
        else:  # rounding towards zero loses less than one place per column, twice at most
            assert length ** (1 / norm) >= radius - 2 * n_columns ** (1 / norm)


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


def clusters(kind: str, n_rows: int, n_columns: int, centres: np.ndarray) -> np.ndarray:
    """Return places of rows around centres, anywhere, or in corners that are as far from one centre as from another."""
    rng = np.random.default_rng(n_rows)
    if kind == "anywhere":
        return rng.integers(0, LAST_PLACE + 1, (n_columns, n_rows))
    if kind == "corners":
        return rng.integers(0, 2, (n_columns, n_rows)) * LAST_PLACE
    near = centres[rng.integers(0, len(centres), n_rows)] + rng.integers(-2000, 2001, (n_rows, n_columns))
    near[::17] = rng.integers(0, LAST_PLACE + 1, near[::17].shape)  # a few are far from the others
    return np.clip(near, 0, LAST_PLACE).T


ROWS_AND_CENTRES = pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("clusters", "random"),
        ("clusters", "twins"),
        ("anywhere", "random"),
        ("anywhere", "identical"),
        ("corners", "ties"),
    ],
)
SHAPES = pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_centres"), [(0, 1, 2), (1, 4, 3), (7, 1, 9), (700, 1, 40), (700, 4, 9), (700, 12, 70)]
)
"""The longer ones have more rows than two of the tiles in which nearest centres are searched."""


def nodes_of_a_kind(kind: str, places: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return nodes that know the nearest centre, halves of the table, large random numbers, or one node for all rows."""
    n_rows = places.shape[1]
    if kind == "nearest":
        node = np.zeros(n_rows, dtype=np.int16)
        reference.regroup(coded(places), centres, node)
        return node
    rng = np.random.default_rng(4)
    kinds = {"one": np.zeros(n_rows), "random": rng.integers(0, 2**14, n_rows), "halves": places[0] >= 2**15}
    return kinds[kind].astype(np.int16)


NODES = pytest.mark.parametrize("nodes", ["nearest", "halves", "random", "one"])


@pytest.mark.slow
@ROWS_AND_CENTRES
@NODES
@SHAPES
def test_regroup_equals_reference(kind, where, nodes, n_rows, n_columns, n_centres):
    centres = centres_of_a_kind(kind, n_centres, n_columns)
    places = clusters(where, n_rows, n_columns, centres)
    node = nodes_of_a_kind(nodes, places, centres)
    expected = node.copy()
    compiled.regroup(coded(places), centres, node)
    reference.regroup(coded(places), centres, expected)
    assert node.tolist() == expected.tolist()
    if kind == "twins":
        assert n_centres - 1 not in node


def test_a_single_centre_is_the_nearest_of_all_rows():
    rows = random_rows(700, 3)
    compiled.regroup(rows.coded, random_centres(1, 3), rows.node)
    assert not rows.node.any()


@EVERY_LAYOUT
def test_regroup_reads_every_layout(layout):
    rows, centres = random_rows(2500, 3, layout), random_centres(9, 3)
    node, expected = rows.node.copy(), rows.node.copy()
    compiled.regroup(rows.coded, centres, node)
    reference.regroup(rows.coded, centres, expected)
    assert node.tolist() == expected.tolist()


def test_regroup_gives_a_tie_to_the_lowest_number():
    for nodes in ([0, 0, 0], [0, 1, 2], [3, 3, 1]):
        node = np.array(nodes, dtype=np.int16)
        compiled.regroup(coded(np.array([[0, 10, 20]])), np.array([[20], [0]]), node)
        assert node.tolist() == [1, 0, 0]


@pytest.mark.parametrize("n_columns", [1, 3])
def test_regroup_next_to_the_border_between_two_centres(n_columns):
    """Places on both sides of the middle, and on it, where the guess is right by one place or not at all."""
    centres = np.array([[1000] * n_columns, [1100] * n_columns, [1301] * n_columns])
    places = np.tile(np.arange(900, 1400), (n_columns, 1))
    for start in (0, 149, 150, 151, 300):  # the first row of a node decides what is guessed
        rows = coded(np.roll(places, -start, axis=1))
        node, expected = np.zeros((2, 500), dtype=np.int16)
        compiled.regroup(rows, centres, node)
        reference.regroup(rows, centres, expected)
        assert node.tolist() == expected.tolist()


def test_regroup_where_single_precision_cannot_tell_two_centres_apart():
    """Far from all centres, whose squared distances differ by a few units in 2**33."""
    rng = np.random.default_rng(9)
    centres, places = rng.integers(0, 4, (40, 5)), rng.integers(65_000, 65_536, (5, 3000))
    node, expected = np.zeros((2, 3000), dtype=np.int16)
    compiled.regroup(coded(places), centres, node)
    reference.regroup(coded(places), centres, expected)
    assert node.tolist() == expected.tolist()


@pytest.mark.parametrize("n_columns", [3, 40])
def test_centres_far_outside_have_exact_distances_too(n_columns):
    """Squared distances are so large that numbers of centres do not fit beside them, or few do; with many ties."""
    rows, rng = random_rows(700, n_columns), np.random.default_rng(8)
    # Rows on the diagonal are as far from a centre as from one with the same numbers in another order.
    rows.places[:, ::2] = rows.places[0, ::2]
    centres = rng.permuted(np.tile(np.arange(n_columns) % 7 + 10**7, (70, 1)), axis=1)
    places = coded(rows.places)
    node, expected = rows.node.copy(), rows.node.copy()
    compiled.regroup(places, centres, node)
    reference.regroup(places, centres, expected)
    assert node.tolist() == expected.tolist()


@pytest.mark.parametrize("n_columns", [1, 8, 11])
def test_rows_are_written_in_any_order(n_columns):
    rng = np.random.default_rng(n_columns)
    codes = rng.integers(0, 256, (n_columns, 700)).astype(np.uint8)
    rests = rng.integers(0, 16, (n_columns, 700)).astype(np.uint8)
    rows = codes, rests, np.full(n_columns, 256.0), np.full(n_columns, 16.0)
    order = rng.permutation(700).astype(np.uint32)
    written = tiles.by_row(rows, order)
    assert written.shape == (700, tiles.cells_of(n_columns))
    assert np.array_equal(written, tiles.by_row(rows)[order])
    places = codes.astype(np.int64) * 256 + rests.astype(np.int64) * 16
    assert np.array_equal(written[:, :n_columns].T + np.int64(2**15), places[:, order])
    assert not written[:, n_columns:].any()
