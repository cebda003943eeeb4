"""What an engine answers: the same for all threads, blocks and limits, as plain NumPy says, and after every move anew."""

import numpy as np
import pytest

from dpmondrian.common import threads
from dpmondrian.engines import coded, local
from dpmondrian.engines import questions as ask
from dpmondrian.engines.coded import CodedBlock
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.local import LocalEngine
from dpmondrian.engines.questions import Splits
from dpmondrian.engines.remote import PlacedPart, PlacedRows
from dpmondrian.engines.store import Resources
from dpmondrian.exceptions import DataError, ParameterError
from dpmondrian.kernels import reference
from dpmondrian.schema.columns import Column, Schema
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import read_table

SCHEMA = Schema(
    (
        Column("a", -1.5, 2.0),
        Column("few", 0, 5, whole=True),
        Column("many", -500.5, 499, whole=True),
        Column("b", 1e6, 1e6 + 1),
    )
)
GRID = Grid.with_windows(SCHEMA, 16)
MIDDLE = np.array([[30_000, 100, 200, 9], [1, 2, 3, 4]])
RADIUS = np.array([20_000, 30_000])
THRESHOLDS = np.array([10**8, 10**9, 10**10])
EVERY = np.arange(4)
CENTRES = np.random.default_rng(1).integers(0, 2**16, (6, 4))
LINES = ask.LineCounts(
    [1, 2],
    np.array([0, 1, 1]),
    np.array([[1, 0, 0, 0], [3, -1, 0, 2], [0, 5, 7, 1]]),
    np.array([0, -40_000, 100]),
    np.array([2000, 16 * 700, 16 * 2000]),
    [np.zeros(1, dtype=np.int64), np.array([0, 64, 200, 256]), np.array([0, 256])],
    12,
)
WIDTHS, SHAPE = np.array([20_000, 12_000, 9000, 30_000]), (4, 6, 8, 3)


def some_rows(n_rows, missing=False):
    """Return values within, on and beyond the bounds."""
    rng = np.random.default_rng(n_rows)
    rows = SCHEMA.lower + rng.uniform(-0.2, 1.2, (n_rows, 4)) * (SCHEMA.upper - SCHEMA.lower)
    if missing:
        rows[rng.integers(n_rows, size=9), rng.integers(4, size=9)] = np.nan
    return rows


def engine_of(rows, on_missing="error", resources=None):
    return LocalEngine(read_table(rows), Coordinates(SCHEMA), on_missing, resources)


def first_cut():
    splits = Splits(3)
    splits.add(0, 0, 9, 1, 2)
    return splits


def answers(rows, on_missing="error", resources=None):
    """Return what an engine answers to every question, in the order in which a run asks them."""
    with engine_of(rows, on_missing, resources) as engine:
        result = {"rows": engine.encode(GRID), "root": engine.histograms([0])}
        result["gaps"], result["number of gaps"] = engine.gap_counts(np.array([1e-3, 1e-2, 1e-1]), 1.0)
        result["some gaps"], _ = engine.gap_counts(np.array([1e-3, 1e-2, 1e-1]), 0.4)
        engine.route(first_cut())
        result["children"] = engine.histograms([2, 1])
        result["box"] = engine.box_sums([1, 2], MIDDLE)
        for norm in (1, 2):
            result[f"distances {norm}"] = engine.distance_counts([1, 2], MIDDLE, THRESHOLDS, norm, EVERY)
            result[f"clipped {norm}"] = engine.clipped_sums([1, 2], MIDDLE, RADIUS, norm, EVERY)
        result["few columns"] = engine.clipped_sums([1, 2], MIDDLE[:, [0, 3]], RADIUS, 2, np.array([0, 3]))
        result["lines"] = engine.line_counts(LINES)
        result["grid"] = engine.grid_counts(WIDTHS, SHAPE)
        result["cells"] = engine.regroup(CENTRES[:5])
        result["cell box"] = engine.box_sums([0, 3], MIDDLE)
        result["nodes"] = engine.nodes_of_rows()
        result["again"] = engine.encode(GRID), engine.histograms([0]).tolist()
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in result.items()}


@pytest.mark.parametrize("memory", [0, 1500, 4000, 10**6])
def test_rows_that_are_kept_in_memory_are_no_more_than_allowed(monkeypatch, memory):
    monkeypatch.setattr(local, "PART_ROWS", 37)
    with engine_of(some_rows(203), resources=Resources(memory=memory)) as engine:
        engine.encode(GRID)
        engine.box_sums([0], MIDDLE[:1])
        parts = engine._parts
        kept = [array.get().nbytes for part in parts for array in (part.codes, part.rests) if array.in_memory]
        assert sum(kept) + sum(part.rows.nbytes for part in parts if part.rows is not None) <= memory


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 5])
@pytest.mark.parametrize("block_rows", [1, 37, 10**6])
@pytest.mark.parametrize(("on_missing", "memory"), [("error", 0), ("drop", 1500), ("middle", 0), ("drop", None)])
def test_threads_blocks_and_memory_change_nothing(monkeypatch, n_threads, block_rows, on_missing, memory):
    rows = some_rows(203, missing=on_missing != "error")
    expected = answers(rows, on_missing)
    monkeypatch.setattr(threads, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(local, "PART_ROWS", block_rows)
    monkeypatch.setattr(coded, "PART_ROWS", max(1, block_rows // 2))
    assert answers(rows, on_missing, Resources(memory=memory, threads=n_threads)) == expected


def test_answers_are_those_of_the_plain_kernels():
    with engine_of(some_rows(203)) as engine:
        engine.encode(GRID)
        [part] = engine._parts
        rows = engine._block(part, needs_rests=True).coded
    node = np.where(rows[0][0] < 9, 1, 2).astype(np.int16)
    grouped = reference.order_rows(node, np.array([2, 0, 1]), 2)
    got = answers(some_rows(203))

    def added(name, *args, shape):
        total = np.zeros(shape, dtype=np.int64)
        getattr(reference, name)(*args, total)
        return total.tolist()

    assert got["children"] == added("histograms", rows[0], node, np.array([2, 1, 0]), shape=(2, 4, GRID.most_codes))
    assert got["box"] == added("box_sums", rows, *grouped, MIDDLE, shape=(2, 4))
    assert got["distances 1"] == added("distance_counts", rows, EVERY, *grouped, MIDDLE, THRESHOLDS, 1, shape=4)
    assert got["clipped 2"] == added("clipped_sums", rows, EVERY, *grouped, MIDDLE, RADIUS, 2, shape=(2, 4))
    along = LINES.line_of, LINES.directions, LINES.begins, LINES.widths, LINES.shapes
    assert got["lines"] == added("line_counts", rows, *grouped, *along, shape=(3, 12))
    places = rows[0] * rows[2][:, None] + rows[1] * rows[3][:, None]
    bins = [np.minimum(places[j] // WIDTHS[j], SHAPE[j] - 1) for j in range(4)]
    edges = [np.arange(n + 1) for n in SHAPE]
    assert got["grid"] == np.histogramdd(np.array(bins).T, edges)[0].astype(int).tolist()


def test_rows_that_moved_are_asked_anew():
    zero, second = np.zeros((1, 4), dtype=np.int64), Splits(5)
    second.add(1, 3, 16, 3, 4)
    with engine_of(some_rows(203)) as engine:
        engine.encode(GRID)
        whole = engine.box_sums([0], zero)
        engine.route(first_cut())
        assert not engine.box_sums([0], zero).any()
        left, right = engine.box_sums([1], zero), engine.box_sums([2], zero)
        engine.route(second)
        assert not engine.box_sums([1], zero).any()
        assert np.array_equal(engine.box_sums([3], zero) + engine.box_sums([4], zero), left)
        assert np.array_equal(left + right, whole)
        engine.regroup(np.zeros((1, 4), dtype=np.int64))
        assert np.array_equal(engine.box_sums([0], zero), whole)
        engine.regroup(np.array([[10**6] * 4, [0] * 4]))
        assert not engine.box_sums([0], zero).any()
        engine.encode(GRID)
        assert np.array_equal(engine.box_sums([0], zero), whole)


def test_a_block_that_is_made_anew_is_brought_to_where_it_was():
    """Moves that were saved up, or made again from the beginning, lead to the same nodes as one after the other."""
    with engine_of(some_rows(203)) as engine:
        engine.encode(GRID)
        question = ask.BoxSums([0, 1, 2], np.zeros((3, 4), dtype=np.int64))
        of_codes = ask.Histograms([0, 1, 2], 4, GRID.most_codes)
        part = engine._parts[0]
        codes, rests = part.codes.get().copy(), part.rests.get().copy()
        anew = followed = PlacedRows.of(CodedBlock.of(GRID, codes, rests))
        regroups = [lambda: engine.regroup(CENTRES[3:]), lambda: engine.regroup(CENTRES[:3])]
        for move in (lambda: None, lambda: engine.route(first_cut()), *regroups):
            move()
            for asked in (of_codes, question, of_codes):
                expected = engine.total(asked)
                followed = followed.after(engine._moves, asked.needs_rests)
                for placed in (followed, anew.after(engine._moves, asked.needs_rests)):
                    total = asked.zero()
                    placed.add_answer(asked, total)
                    assert np.array_equal(total, expected)
            assert followed.n_bytes <= anew.n_bytes
        assert not anew.node.any()
        assert not anew.block.is_by_row
        kinds = [type(move) for move in engine.moves_since()]
        assert kinds == [Splits, ask.ToNearest]  # of the ways to nearest centres only the last one counts


def test_an_earlier_question_that_is_asked_again_is_answered_as_it_was():
    """A copy of a task may run late, when the rows that a worker holds have moved on; what it leaves behind must be true as well."""
    with engine_of(some_rows(203)) as engine:
        engine.encode(GRID)
        [part] = engine._parts
        block = CodedBlock.of(GRID, part.codes.get().copy(), part.rests.get().copy())
        question = ask.BoxSums([0, 1, 2], np.zeros((3, 4), dtype=np.int64))
        expected = [engine.total(question)]
        moves = first_cut(), ask.ToNearest(CENTRES[:3]), ask.Named(np.array([1, 2, 0], dtype=np.int16))
        for move in moves:
            engine.route(move)
            expected.append(engine.total(question))
        assert len({total.tobytes() for total in expected}) == len(expected)
        placed = PlacedPart([PlacedRows.of(block)])
        for n_moves in (3, 2, 3, 0, 1, 0, 2, 3):
            assert np.array_equal(placed.answer(question, engine._moves[:n_moves]), expected[n_moves]), n_moves


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("row", [0, 202])
def test_a_missing_value_in_any_block_is_an_error(monkeypatch, n_threads, row):
    monkeypatch.setattr(local, "PART_ROWS", 37)
    monkeypatch.setattr(threads, "_ROWS_PER_THREAD", 1)
    rows = some_rows(203)
    rows[row, 1] = np.nan
    with (
        engine_of(rows, resources=Resources(threads=n_threads)) as engine,
        pytest.raises(DataError, match="on_missing"),
    ):
        engine.encode(GRID)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_an_engine_of_no_or_one_row_answers_everything(n_rows):
    got = answers(some_rows(n_rows))
    assert got["rows"] == np.sum(got["children"]) / 4 == n_rows


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": -1},
        {"memory": 1.5},
        {"threads": 0},
        {"threads": True},
        {"memory": "2GB"},
        {"folder": 3},
        {"reading": 3},
    ],
)
def test_wrong_resources_are_told(wrong):
    with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}' parameter of Resources"):
        Resources(**wrong)
