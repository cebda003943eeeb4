"""Suggested bounds on neighbouring tables: what reaches the door moves no more than is paid for, and nothing else leaves.

A run on one table is recorded; the run on its neighbour is given the same released counts. Then everything public (which
histograms, how many bins, what noise, the bounds that come out) must be the same, and the exact counts may differ by the
declared sensitivity and no more. The same check must catch code that is broken on purpose.
"""

import math
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dpmondrian import BudgetError, DataError, ParameterError
from dpmondrian.accounts.budget import Budget
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.draws import Draw
from dpmondrian.suggest import bounds
from dpmondrian.suggest.bounds import suggest_bounds
from dpmondrian.suggest.draws import bounds_plan
from dpmondrian.tables import frames

CANARY = 37.1234567890123
INTERESTING = [
    0.0,
    -0.0,
    1.0,
    2.0,
    5.0,
    -1.0,
    -2.0,
    1e-9,
    -1e-9,
    1e-12,
    1e19,
    -1e19,
    1e300,
    -1e300,
    1999.0,
    2000.0,
    0.3,
]
NOT_NUMBERS = [math.nan, math.inf, -math.inf]


class SpySampler:
    """Draws like the door's own sampler and notes what it was asked for."""

    def __init__(self, sampler):
        self._sampler = sampler
        self.calls = []

    def noise(self, mechanism, scales, *purpose):
        self.calls.append((mechanism, np.ravel(scales).tolist(), purpose))
        return self._sampler.noise(mechanism, scales, *purpose)

    def person_key(self):
        return self._sampler.person_key()


@dataclass
class Query:
    draw: Draw
    level: int
    noise: list
    exact: np.ndarray
    released: np.ndarray

    @property
    def name(self):
        return self.draw.name


class RecordingDoor(Door):
    """A door that notes every passage and, given a script, hands over the values of an earlier run."""

    script = None

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._sampler = SpySampler(self._sampler)
        self.queries = []
        type(self).latest = self

    def counts(self, draw, level, exact_counts):
        released = super().counts(draw, level, exact_counts)
        if self.script is not None:
            assert len(self.script) > len(self.queries), "the neighbour's run asks more questions"
            released = self.script[len(self.queries)].released
            assert released.shape == np.shape(exact_counts), "the number of bins depends on exact rows"
        self.queries.append(Query(draw, level, self._sampler.calls, np.array(exact_counts), released))
        self._sampler.calls = []
        return released


def run(table, script=None, seed=0, **options):
    """Return the recorded door and the result of a run."""
    recording = type("Recording", (RecordingDoor,), {"script": script})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "Door", recording)
        suggested = suggest_bounds(table, options.pop("epsilon", 20.0), random_state=seed, **options)
    return recording.latest, suggested


def compare(table, neighbour, most=1, same_keys=False, **options):
    """Record a run, replay what it released on the neighbour, compare; return the largest part of a price that was used."""
    one, suggested = run(table, **options)
    other, again = run(neighbour, one.queries, seed=0 if same_keys else 1, **options)
    assert len(one.queries) == len(other.queries) == len(one.plan.draws)
    used = 0.0
    for before, after in zip(one.queries, other.queries, strict=True):
        assert (before.name, before.level, before.noise) == (after.name, after.level, after.noise)
        change = np.abs(after.exact - before.exact)
        assert change.sum() <= most
        [(mechanism, scales, _)] = before.noise
        draw = one.plan.find(before.draw, before.level)
        assert mechanism == draw.mechanism == "discrete Laplace"
        used = max(used, (change / scales).sum() / draw.cost)
    assert used <= most / one.rows_per_person * (1 + 1e-9)
    assert dict(suggested.bounds) == dict(again.bounds), "the bounds depend on more than released values"
    assert suggested.privacy == again.privacy
    return used


def base_rows(n_rows=400):
    generator = np.random.default_rng(0)
    years, incomes = generator.integers(1950, 2020, n_rows), generator.lognormal(10, 0.5, n_rows)
    return np.column_stack([years, incomes, generator.normal(0, 1, n_rows)])


@pytest.mark.parametrize("number", [*INTERESTING, *NOT_NUMBERS])
def test_one_row_more_or_less(number):
    rows = base_rows()
    neighbour = np.insert(rows, 100, [number, 30_000.0, number], axis=0)
    assert compare(rows, neighbour) == pytest.approx(
        1.0
    )  # all that is paid for is used: a smaller price would be noticed
    assert compare(neighbour, rows) == pytest.approx(1.0)


values = st.sampled_from(INTERESTING + NOT_NUMBERS) | st.floats() | st.floats(1990, 2010)
rows_of_two = st.tuples(values, values)
search = settings(derandomize=True, deadline=None, max_examples=150)


@pytest.mark.slow
@search
@given(st.lists(rows_of_two, max_size=30), rows_of_two, st.integers(1, 40), st.booleans())
def test_search_for_a_row_that_breaks_the_promise(rows, row, repeated, remove):
    rows = np.repeat(np.array(rows, dtype=np.float64).reshape(-1, 2), repeated, axis=0)
    neighbour = np.insert(rows, len(rows) // 2, row, axis=0)
    compare(*((neighbour, rows) if remove else (rows, neighbour)))


@pytest.mark.slow
@search
@given(st.lists(rows_of_two, min_size=1, max_size=30), rows_of_two)
def test_a_replaced_row_changes_twice_as_much_and_no_more(rows, row):
    neighbour = np.array(rows, dtype=np.float64)
    neighbour[0] = row
    compare(np.array(rows, dtype=np.float64), neighbour, most=2)


@pytest.mark.slow
@search
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), max_size=20), st.integers(-(2**63), 2**63 - 1))
def test_search_with_whole_numbers(numbers, number):
    rows = np.array(numbers, dtype=np.int64).reshape(-1, 1).repeat(20, axis=0)
    compare(rows, np.insert(rows, 0, [number], axis=0))


def test_several_rows_of_one_person():
    rows = base_rows()
    person = [[2000.0, 1e4, 0.0]] * 3
    assert compare(rows, np.vstack([rows, person]), most=3, rows_per_person=3) == pytest.approx(1.0)
    with pytest.raises(AssertionError):
        compare(rows, np.vstack([rows, person]))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_person_with_more_rows_than_are_kept(library):
    rows = base_rows().T
    table = {"year": rows[0], "income": rows[1], "who": np.arange(len(rows[0])) // 3}
    person = {"year": [1960.0] * 50, "income": [1e6] * 50, "who": [10**6] * 50}
    neighbour = {name: np.concatenate([table[name], person[name]]) for name in table}
    used = compare(
        library(table), library(neighbour), most=2, same_keys=True, person_id="who", rows_per_person=2, epsilon=40.0
    )
    assert used == pytest.approx(1.0)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_tiny_tables_are_asked_the_same(n_rows):
    rows = base_rows(n_rows)
    compare(rows, np.vstack([rows, [[2000.0, math.nan, math.inf]]]))
    door, suggested = run(rows, epsilon=0.1)
    assert [(query.name, query.level) for query in door.queries] == [
        (name, column) for name in ("magnitudes", "places") for column in range(3)
    ]
    assert set(suggested.bounds.values()) == {None}


def test_order_and_blocks_change_nothing(monkeypatch):
    rows = base_rows()
    rows[::7, 1] = math.nan
    one, _ = run(rows)
    monkeypatch.setattr(frames, "BLOCK_ROWS", 37)
    other, _ = run(np.random.default_rng(1).permutation(rows))
    assert [query.exact.tolist() for query in one.queries] == [query.exact.tolist() for query in other.queries]


def test_the_second_round_asks_where_the_first_one_found_rows():
    """Otherwise the replays above would compare nothing of interest."""
    door, suggested = run(base_rows(20_000))
    assert [query.exact.sum() for query in door.queries] == pytest.approx([20_000] * 6, rel=0.01)
    assert all(pair is not None for pair in suggested.bounds.values())


# --- the check notices what is broken ---------------------------------------------------------------------------------


def counts_twice(original):
    return lambda *arguments: [2 * counts for counts in original(*arguments)]


def counts_only_complete_blocks(original):
    """Leave a block out if a value in it is missing: one row decides about others."""

    def histograms(rows, places, edges):
        kept = [block for block in rows.blocks() if np.isfinite(block).all()]
        return original(frames.read_table(np.concatenate([np.empty((0, rows.n_columns)), *kept])), places, edges)

    return histograms


def by_quantiles(original):
    """Count in bins between quantiles of the rows."""

    def histograms(rows, places, edges):
        columns = np.concatenate([*rows.blocks()]).T[places]
        own = [np.nanquantile(column, np.linspace(0, 1, len(e))) for column, e in zip(columns, edges, strict=True)]
        return original(rows, places, own)

    return histograms


def cumulated(original):
    return lambda *arguments: [np.cumsum(counts) for counts in original(*arguments)]


@pytest.mark.parametrize("broken", [counts_twice, counts_only_complete_blocks, by_quantiles, cumulated])
def test_broken_histograms_are_caught(monkeypatch, broken):
    rows = base_rows()
    neighbour = np.insert(rows, 0, [1e6, math.nan, -40.0], axis=0)
    compare(rows, neighbour)
    monkeypatch.setattr(bounds, "_histograms", broken(bounds._histograms))
    with pytest.raises(AssertionError):
        compare(rows, neighbour)


def test_a_second_round_within_exact_extremes_is_caught(monkeypatch):
    rows = base_rows()
    neighbour = np.insert(rows, 0, [1e6, 1e9, -40.0], axis=0)
    original, seen = bounds._estimate, {}

    def peeking(table, *others):
        seen["high"] = max(block.max() for block in table.blocks())
        return original(table, *others)

    monkeypatch.setattr(bounds, "_estimate", peeking)
    compare(rows, neighbour)
    monkeypatch.setattr(bounds, "_even_edges", lambda *_: np.linspace(0, seen["high"], 50))
    with pytest.raises(AssertionError):
        compare(rows, neighbour)


def test_skipping_the_second_round_of_empty_columns_is_caught(monkeypatch):
    def skipping(table, wanted, door):
        original_counts = door.counts
        door.counts = lambda draw, level, exact: (
            original_counts(draw, level, exact) if np.any(exact) else np.asarray(exact)
        )
        return original(table, wanted, door)

    original = bounds._estimate
    monkeypatch.setattr(bounds, "_estimate", skipping)
    with pytest.raises((AssertionError, BudgetError)):
        compare(np.empty((0, 1)), np.array([[0.5]]))


# --- cost and noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 500.0])
@pytest.mark.parametrize("n_columns", [1, 3, 50])
def test_the_plan_adds_up_to_epsilon(epsilon, n_columns):
    plan = bounds_plan(epsilon, n_columns)
    plan.verify()
    assert len(plan.draws) == 2 * n_columns
    spent = math.fsum(1 / draw.multiplier for draw in plan.draws)
    assert epsilon * (1 - 1e-8) < spent <= epsilon
    assert len({draw.multiplier for draw in plan.draws}) == 1


@pytest.mark.parametrize("rows_per_person", [1, 4])
def test_the_ledger_equals_the_plan(rows_per_person):
    rows = base_rows()
    privacy = suggest_bounds(rows, 0.5, rows_per_person=rows_per_person).privacy
    assert (privacy.epsilon, privacy.delta, privacy.rho, privacy.releasable) == (0.5, 0.0, None, True)
    assert 0.5 * (1 - 1e-8) < math.fsum(entry.cost for entry in privacy.entries) <= 0.5
    for entry in privacy.entries:
        assert entry.sensitivity == rows_per_person
        assert entry.scale == pytest.approx(rows_per_person * 2 * 3 / 0.5)
        assert entry.n_draws >= 1  # how many bins the second round has depends on the noise of the first


def p_value(draws, scale, n_bins=30):
    """Return the chi-square p-value of draws against discrete Laplace noise, in about equally likely bins."""
    x = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    weights = np.exp(-np.abs(x) / scale)
    p = weights / weights.sum()
    bin_of = np.clip(np.floor(n_bins * (np.cumsum(p) - p / 2)), 0, n_bins - 1)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    expected = draws.size * np.add.reduceat(p, starts)
    observed = np.bincount(np.searchsorted(x[starts[1:]], draws, side="right"), minlength=starts.size)
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), starts.size - 1)


@pytest.mark.slow
@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_the_noise_of_every_count_has_the_stated_scale(rows_per_person):
    """The right scale passes, and one that is wrong by 5 % on either side fails."""
    n_columns, epsilon = 400, 100.0
    rows = np.random.default_rng(0).normal(100.0, 1.0, (50, n_columns))
    door, _ = run(rows, epsilon=epsilon, rows_per_person=rows_per_person)
    scale = rows_per_person * 2 * n_columns / epsilon
    for name, least in (("magnitudes", 60_000), ("places", 8_000)):
        draws = np.concatenate([query.released - query.exact for query in door.queries if query.name == name])
        assert draws.size >= least
        assert p_value(draws, scale) > 1e-6
        if name == "magnitudes":
            assert p_value(draws, 0.95 * scale) < 1e-12
            assert p_value(draws, 1.05 * scale) < 1e-12
        else:
            assert p_value(draws, 0.8 * scale) < 1e-12
            assert p_value(draws, 1.25 * scale) < 1e-12


def test_no_two_histograms_share_their_noise():
    door, _ = run(np.empty((0, 40)))
    noises = [tuple(query.released[:20]) for query in door.queries]
    assert len(set(noises)) == len(noises)


def test_noise_that_cannot_be_represented_is_refused_before_anything_is_drawn(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 1.0, 0.0)
    with pytest.raises(BudgetError, match="nothing was drawn"):
        suggest_bounds(np.zeros((5, 30)), 1e-6, rows_per_person=10**6, budget=budget)
    assert budget.read().entries == ()


# --- the budget file ------------------------------------------------------------------------------------------------------


def test_the_budget_is_charged_before_the_first_draw(tmp_path, monkeypatch):
    budget = Budget.create(tmp_path / "budget.json", 1.0, 0.0)
    charged = []
    original = RecordingDoor.counts

    def counts(self, *arguments):
        released = original(self, *arguments)
        charged.append(budget.read().spent_epsilon)
        return released

    monkeypatch.setattr(RecordingDoor, "counts", counts)
    run(base_rows(), epsilon=0.4, budget=str(budget.path))
    assert charged == [0.4] * 6
    [entry] = budget.read().entries
    assert (entry.epsilon, entry.delta, entry.state) == (0.4, 0.0, "released")


def test_nothing_is_drawn_when_the_budget_refuses(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 0.3, 0.0)
    with pytest.raises(BudgetError, match="does not allow"):
        run(base_rows(), epsilon=0.4, budget=budget)
    assert RecordingDoor.__subclasses__()[-1].latest.queries == []
    assert budget.read().entries == ()


def test_wrong_parameters_charge_nothing(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 1.0, 0.0)
    for options in ({"columns": ["z"]}, {"rows_per_person": 0}, {"random_state": "x"}, {"person_id": "who"}):
        with pytest.raises((ParameterError, DataError)):
            suggest_bounds(base_rows(), 0.1, budget=budget, **options)
    assert budget.read().entries == ()


# --- leaks ------------------------------------------------------------------------------------------------------------------


def silent(text):
    return str(CANARY)[:6] not in text and not re.search(r"(?<![\d.])4327(?!\d)", text)


def test_the_search_for_leaks_finds_some():
    assert not silent(f"got {CANARY}")
    assert not silent("there are 4327 rows")


def test_results_hold_nothing_exact():
    rows = np.full((4327, 2), CANARY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suggested = suggest_bounds(rows, 0.5, random_state=3)
    for text in (str(suggested), repr(suggested), suggested.to_json()):
        assert silent(text)


BAD_TABLES = [
    [[CANARY, "x"]] * 3,
    np.array([[CANARY, None, "x"]], dtype=object),
    pd.DataFrame({"a": [CANARY, "x"]}),
    pd.DataFrame({"a": pd.Series([CANARY, 10**400], dtype=object)}),
    pl.DataFrame({"a": [str(CANARY)]}),
    pa.table({"a": [str(CANARY)]}),
    np.full(3, CANARY),
    np.full((3, 1), CANARY, dtype=np.complex128),
    np.array([[10**400, CANARY]], dtype=object),
]


@pytest.mark.parametrize("table", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_errors_never_quote_values(table):
    with pytest.raises((DataError, ParameterError)) as caught:
        suggest_bounds(table, 1.0)
    assert silent(str(caught.value))
    assert str(10**400)[:20] not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "number", ["nan", "inf", "-inf", "1e308", "1e-320", "1e400"], ids=lambda number: f"value {number}"
)
def test_values_cause_no_warnings(number):
    """A warning would tell that a value is there: rows of all kinds are read without one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suggest_bounds(np.array([[number]] * 3).astype(np.longdouble), 1.0)
        suggest_bounds(pd.DataFrame({"a": [float(number), 1.0]}), 1.0)
