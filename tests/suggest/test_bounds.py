"""Suggested bounds: how good they are, how they are rounded, what they say, and the command that drafts schemas."""

import json
import math
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dpmondrian import DPM, BoundsError, DataError, NotReleasableWarning, ParameterError
from dpmondrian.accounts.budget import Budget
from dpmondrian.cli.schema import schema
from dpmondrian.exceptions import DPMondrianError
from dpmondrian.schema.files import read_schema
from dpmondrian.suggest import bounds
from dpmondrian.suggest.bounds import SuggestedBounds, suggest_bounds

N_ROWS = 20_000
SEEDS = range(10)


def generator():
    return np.random.default_rng(0)


COLUMNS = {
    "ages": generator().integers(0, 101, N_ROWS),
    "adults": np.clip(generator().normal(42, 15, N_ROWS), 18, 95).round().astype(int),
    "years": generator().integers(1950, 2021, N_ROWS),
    "dates": generator().uniform(1950.0, 2020.0, N_ROWS),
    "incomes": generator().lognormal(10.3, 0.6, N_ROWS),
    "waiting times": generator().exponential(2.0, N_ROWS),
    "debts": generator().normal(-300.0, 40.0, N_ROWS),
    "temperatures": generator().normal(15.0, 9.0, N_ROWS),
    "differences": generator().normal(0.0, 1.0, N_ROWS),
    "tiny": generator().normal(3e-6, 5e-7, N_ROWS),
    "shares": generator().random(N_ROWS),
    "spending": np.where(generator().random(N_ROWS) < 0.3, 0.0, generator().lognormal(10.0, 0.6, N_ROWS)),
    "children": generator().poisson(2.0, N_ROWS),
}


def one_column(values, epsilon, **options):
    return suggest_bounds(np.asarray(values).reshape(-1, 1), epsilon, **options).bounds["x0"]


def held(values, pair):
    return np.mean((values >= pair[0]) & (values <= pair[1]))


# --- quality --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COLUMNS)
def test_bounds_hold_the_rows_and_are_not_much_too_wide(name):
    values = COLUMNS[name]
    pairs = [one_column(values, 0.1, random_state=seed) for seed in SEEDS]
    assert min(held(values, pair) for pair in pairs) >= 0.99
    tight = [pair[1] - pair[0] <= 4 * np.ptp(values) for pair in pairs]
    assert np.mean(tight) >= 0.8  # noise widens the bounds of years further in one of thirty runs
    assert all(len(pair) == (3 if values.dtype.kind == "i" else 2) for pair in pairs)


def test_the_second_round_is_what_makes_bounds_tight(monkeypatch):
    years = COLUMNS["years"]
    tight = one_column(years, 0.1, random_state=0)
    monkeypatch.setattr(bounds, "_bounds", lambda rough, *_: (rough.low, rough.high))
    loose = one_column(years, 0.1, random_state=0)
    assert loose == (1000.0, 5000.0)
    assert 10 * (tight[1] - tight[0]) < loose[1] - loose[0]


@pytest.mark.parametrize("constant", [7.0, -1234.5, 0.0, 1e-7, 3e12, 100.0, -0.25])
def test_constants(constant):
    lower, upper = one_column(np.full(N_ROWS, constant), 0.1, random_state=0)
    assert lower <= constant <= upper
    assert upper - lower <= max(0.5 * abs(constant), 1e-8)


@pytest.mark.parametrize("constant", [-10, -1, 0, 1, 7, 10, 2**40, -(2**62)])
def test_whole_constants(constant):
    lower, upper, kind = one_column(np.full(N_ROWS, constant), 0.1, random_state=0)
    assert kind == "int"
    assert lower <= constant <= upper
    assert lower < upper
    assert lower.is_integer()
    assert upper.is_integer()
    assert upper - lower <= max(0.5 * abs(constant), 1)


def test_far_groups_count_if_they_are_not_rare():
    for share, counts in ((0.02, True), (0.001, False)):
        values = np.where(generator().random(N_ROWS) < share, 1e9, COLUMNS["ages"])
        assert (one_column(values, 0.5, random_state=0)[1] >= 1e9) == counts


def test_rare_outliers_are_left_out_however_large_epsilon_is():
    values = np.append(COLUMNS["incomes"], [1e15] * 5)
    assert one_column(values, 1e6)[1] < 1e6


def test_values_beyond_every_bin_say_nothing():
    assert one_column(np.full(N_ROWS, 1e30), 1.0) is None


@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_too_few_rows_say_nothing(n_rows):
    assert one_column(COLUMNS["incomes"][:n_rows], 0.1, random_state=0) is None


def test_missing_values_do_not_count():
    values = COLUMNS["incomes"].copy()
    values[::2] = np.nan
    values[1::4] = np.inf
    assert held(values[np.isfinite(values)], one_column(values, 0.5, random_state=0)) >= 0.99
    assert one_column(np.full(N_ROWS, np.nan), 1e6) is None
    assert one_column(np.full(N_ROWS, -np.inf), 1e6) is None


def test_more_epsilon_gives_tighter_bounds_of_years():
    pairs = [[one_column(COLUMNS["years"], epsilon, random_state=s) for s in SEEDS] for epsilon in (0.02, 1.0)]
    little, much = ([upper - lower for lower, upper, _ in of_epsilon] for of_epsilon in pairs)
    assert np.mean(little) > 1.5 * np.mean(much)


def noise(n_bins, scale, n_columns):
    p = 1 - math.exp(-1 / scale)
    return generator().geometric(p, (n_columns, n_bins)) - generator().spawn(1)[0].geometric(p, (n_columns, n_bins))


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_noise_alone_is_rarely_taken_for_rows(whole):
    edges = bounds._magnitude_edges(whole)
    alarms = [bounds._rough_range(counts, edges, 20.0) is not None for counts in noise(len(edges) + 1, 20.0, 5000)]
    assert np.mean(alarms) <= 2 * bounds.FALSE_ALARM
    too_small = [bounds._rough_range(counts, edges, 10.0) is not None for counts in noise(len(edges) + 1, 20.0, 2000)]
    assert np.mean(too_small) > 0.02  # with half of the threshold they would be frequent


def test_the_exponent_of_runs_is_on_the_safe_side():
    x = bounds._RUN_EXPONENT
    assert 1 / (1 - x * x) <= math.exp(bounds.EMPTY_BIN * x)
    assert 1 / (1 - (x + 0.005) ** 2) > math.exp(bounds.EMPTY_BIN * (x + 0.005))


# --- bins and rounding ------------------------------------------------------------------------------------------------------


def test_magnitudes():
    edges = bounds._magnitude_edges(whole=False)
    assert np.all(np.diff(edges) > 0)
    assert np.array_equal(edges, -edges[::-1])
    assert {1e-9, 2e-9, 5e-9, 0.1, 0.2, 0.5, 1.0, 2000.0, 1e19} <= set(edges.tolist())
    assert not {0.1, 1e-9} & set(bounds._magnitude_edges(whole=True).tolist())


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
def test_the_best_run_is_the_best(values):
    start, stop, total = bounds._best_run(np.array(values))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    best = max(sums[j] - sums[i] for i in range(len(sums)) for j in range(i, len(sums)))
    assert total == best == sums[stop] - sums[start]


finite = st.floats(-1e19, 1e19, allow_subnormal=False)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(finite, finite, st.booleans())
def test_steps_are_round_and_cover(one, other, whole):
    low, high = min(one, other), max(one, other)
    if high - low < 1e-300:
        return
    step = bounds._Step.at_least((high - low) / 50, whole)
    assert step.digit in (1, 2, 5)
    assert step.times(step.below(low)) <= low
    assert step.times(step.above(high)) >= high
    assert (high - low) / 50 <= step.times(1) * (1 + 1e-12)
    assert step.times(1) <= max(2.5 * (high - low) / 50 * (1 + 1e-12), whole)


def test_steps_are_the_numbers_that_people_write():
    step = bounds._Step.at_least(0.07, whole=False)
    assert step.times(3) == 0.3
    assert (step.below(0.3), step.above(0.3)) == (3, 3)
    assert bounds._Step.at_least(0.07, whole=True).times(1) == 1.0
    assert bounds._Step.at_least(20.0, whole=False).times(1) == 20.0


# --- what comes back ----------------------------------------------------------------------------------------------------------


def table(n_rows=N_ROWS):
    return {
        "age": COLUMNS["ages"][:n_rows],
        "income": COLUMNS["incomes"][:n_rows],
        "member": COLUMNS["shares"][:n_rows] < 0.5,
        "plan": ["basic", "premium"] * (n_rows // 2),
        "who": [str(number) for number in range(n_rows)],
    }


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames(library):
    suggested = suggest_bounds(library(table()), 1.0)
    assert list(suggested.bounds) == ["age", "income", "member"]
    assert suggested.bounds["member"] == (0.0, 1.0, "int")
    assert len(suggested.bounds["age"]) == 3
    assert len(suggested.privacy.entries) == 4  # nothing is spent on truth values
    one = suggest_bounds(library(table()), 1.0, columns=["income"], person_id="who")
    assert list(one.bounds) == ["income"]
    assert one.privacy.unit.of == "person"


def test_all_tables_of_the_same_rows_give_the_same():
    rows = {name: table()[name] for name in ("age", "income")}
    found = [
        dict(suggest_bounds(library(rows), 1.0, random_state=1).bounds)
        for library in (pd.DataFrame, pl.DataFrame, pa.table)
    ]
    assert found[0] == found[1] == found[2]


def test_columns_of_an_array():
    rows = np.column_stack([COLUMNS["incomes"], COLUMNS["tiny"]])
    assert list(suggest_bounds(rows, 1.0, columns=["x1"]).bounds) == ["x1"]


def test_a_schema_that_dpm_takes():
    suggested = suggest_bounds(pd.DataFrame(table()), 0.5, columns=["age", "income", "member"])
    known = suggested.schema()
    assert known.bounds_epsilon() == 0.5
    assert [column.whole for column in known.columns] == [True, False, True]
    rows = pd.DataFrame(table())[["age", "income", "member"]]
    assert DPM(bounds=known).fit(rows).privacy_.bounds_epsilon == 0.5
    DPM(bounds=dict(suggested.bounds)).fit(rows)


def test_no_schema_without_bounds():
    suggested = suggest_bounds(COLUMNS["incomes"][:10].reshape(-1, 1), 0.1, random_state=0)
    with pytest.raises(BoundsError, match="x0"):
        suggested.schema()
    assert "no bounds found" in str(suggested)


def test_in_words_and_for_machines():
    suggested = suggest_bounds(pd.DataFrame(table()), 0.5, columns=["age", "income"], random_state=0)
    words = str(suggested)
    assert "age: 0 to" in words
    assert "whole numbers" in words
    assert "Differential privacy with epsilon = 0.5 (pure)." in words
    read = json.loads(suggested.to_json())
    assert read["privacy"]["epsilon"] == 0.5
    assert read["bounds"]["age"][2] == "int"


def test_a_seeded_run_is_not_releasable():
    with pytest.warns(NotReleasableWarning):
        seeded = suggest_bounds(COLUMNS["incomes"].reshape(-1, 1), 1.0, random_state=1)
    assert not seeded.privacy.releasable
    assert "NOT RELEASABLE" in str(seeded)
    assert suggest_bounds(COLUMNS["incomes"].reshape(-1, 1), 1.0).privacy.releasable


WRONG = [
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": "1"}, "epsilon"),
    ({"epsilon": math.inf}, "epsilon"),
    ({"rows_per_person": 0}, "rows_per_person"),
    ({"rows_per_person": 1.5}, "rows_per_person"),
    ({"columns": "age"}, "columns"),
    ({"columns": []}, "columns"),
    ({"columns": ["age", "age"]}, "columns"),
    ({"columns": ["agee"]}, "Did you mean 'age'"),
    ({"columns": ["who"], "person_id": "who"}, "person column"),
    ({"person_id": "whoo"}, "person_id"),
    ({"columns": ["plan"]}, "plan"),
    ({"columns": ["member"]}, "boolean columns"),
    ({"random_state": -1}, "random_state"),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG)
def test_wrong_parameters(wrong, told):
    with pytest.raises((ParameterError, DataError), match=told):
        suggest_bounds(pd.DataFrame(table(10)), **({"epsilon": 1.0} | wrong))


def test_a_result_is_frozen():
    with pytest.raises(AttributeError):
        SuggestedBounds({}, None, None).bounds = {}


# --- dpm schema -----------------------------------------------------------------------------------------------------------------


def dpm_schema(*arguments):
    """Run the command; return its exit code (as `dpm` gives them), and what it wrote to both outputs."""
    app = typer.Typer(rich_markup_mode=None)
    app.command()(schema)
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, DPMondrianError), done.exception
        return 2 if isinstance(done.exception, ParameterError) else 1, done.stdout, str(done.exception)
    return done.exit_code, done.stdout, " ".join(done.stderr.replace("\u2502", " ").split())


@pytest.fixture
def parquet(tmp_path):
    columns = {"age": table()["age"], "cost": table()["income"], "steps": COLUMNS["children"], "plan": table()["plan"]}
    pa.parquet.write_table(pa.table(columns | {"who": table()["who"]}), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.fixture
def csv(tmp_path):
    pd.DataFrame({"cost": COLUMNS["incomes"][:5000], "plan": "basic"}).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


SUGGEST = ("--suggest-bounds", "--epsilon", "1.5")


def test_a_draft_is_printed_from_names_and_types(parquet):
    code, printed, errors = dpm_schema(parquet)
    assert (code, errors) == (0, "")
    assert tomllib.loads(printed)["columns"]["age"]["upper"] >= 100
    assert "fill in" in printed
    assert "bounds_epsilon" not in printed


def test_a_draft_does_not_depend_on_the_rows(parquet, tmp_path):
    nothing = pa.parquet.read_table(parquet).slice(0, 0)
    pa.parquet.write_table(nothing, tmp_path / "empty.parquet")
    assert dpm_schema(parquet) == dpm_schema(tmp_path / "empty.parquet")


def test_suggested_bounds_are_written_with_their_cost(parquet, tmp_path):
    out = tmp_path / "schema.toml"
    code, printed, _ = dpm_schema(parquet, *SUGGEST, "--out", out)
    assert code == 0
    assert "Differential privacy with epsilon = 1.5" in printed
    text = out.read_text()
    values = tomllib.loads(text)
    assert values["bounds_epsilon"] == 1.5
    assert held(COLUMNS["incomes"], (values["columns"]["cost"]["lower"], values["columns"]["cost"]["upper"])) > 0.98
    assert values["columns"]["steps"]["whole"] is True
    assert "estimated from the rows" in text
    assert "magnitudes  2" not in printed  # the age is known by its name: nothing was spent on it
    out.write_text(text.replace('# categories = ["...", "..."]  fill in', 'categories = ["basic", "premium"]'))
    assert read_schema(out).schema.bounds_epsilon() == 1.5


def test_without_a_file_the_schema_alone_is_on_standard_output(parquet):
    code, printed, errors = dpm_schema(parquet, *SUGGEST, "--columns", "age,cost")
    assert code == 0
    assert {"age", "cost"} <= set(tomllib.loads(printed)["columns"])
    assert "Differential privacy" in errors


def test_json(parquet):
    code, printed, errors = dpm_schema(parquet, *SUGGEST, "--json")
    assert (code, errors) == (0, "")
    read = json.loads(printed)
    assert list(read["bounds"]) == ["cost", "steps"]
    assert read["privacy"]["epsilon"] == 1.5
    assert tomllib.loads(read["schema"])["bounds_epsilon"] == 1.5
    assert set(json.loads(dpm_schema(parquet, "--json")[1])) == {"schema", "out"}


def test_persons(parquet):
    code, printed, errors = dpm_schema(parquet, *SUGGEST, "--person-id", "who", "--rows-per-person", 3)
    assert code == 0
    assert "one person, identified by column 'who'" in errors
    values = tomllib.loads(printed)
    assert (values["person_id"], values["rows_per_person"]) == ("who", 3)
    assert "who" not in values["columns"]


def test_the_budget_is_charged(parquet, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 2.0, 0.0)
    assert dpm_schema(parquet, *SUGGEST, "--budget", budget.path)[0] == 0
    assert budget.read().spent_epsilon == 1.5
    code, printed, errors = dpm_schema(parquet, *SUGGEST, "--budget", budget.path)
    assert (code, printed) == (1, "")
    assert "does not allow" in errors
    assert budget.read().spent_epsilon == 1.5


def test_nothing_is_spent_where_the_result_could_not_be_written(parquet, tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 2.0, 0.0)
    (tmp_path / "schema.toml").write_text("mine")
    for out in (tmp_path / "schema.toml", tmp_path / "nowhere" / "schema.toml"):
        code, printed, _ = dpm_schema(parquet, *SUGGEST, "--budget", budget.path, "--out", out)
        assert (code, printed) == (1, "")
    assert (tmp_path / "schema.toml").read_text() == "mine"
    assert budget.read().entries == ()


def test_a_result_that_was_paid_for_is_not_lost(parquet, tmp_path, monkeypatch):
    """The file appears while bounds are estimated: the schema is printed instead."""
    out = tmp_path / "schema.toml"
    original = bounds._estimate

    def slow(*arguments):
        out.write_text("mine")
        return original(*arguments)

    monkeypatch.setattr(bounds, "_estimate", slow)
    code, printed, errors = dpm_schema(parquet, *SUGGEST, "--out", out)
    assert code == 1
    assert tomllib.loads(printed)["bounds_epsilon"] == 1.5
    assert "already exists" in errors
    assert out.read_text() == "mine"


def test_a_file_without_types(csv):
    code, _, errors = dpm_schema(csv, *SUGGEST)
    assert code == 2
    assert "--columns cost,duration" in errors
    code, printed, _ = dpm_schema(csv, *SUGGEST, "--columns", "cost")
    assert code == 0
    assert tomllib.loads(printed)["columns"]["cost"]["upper"] > 30_000
    code, _, errors = dpm_schema(csv, *SUGGEST, "--columns", "plan")
    assert code == 1
    assert "basic" not in errors


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--epsilon", "0"), "--suggest-bounds"),
        (("--columns", "cost"), "--suggest-bounds"),
        (("--budget", "budget.json"), "--suggest-bounds"),
        (("--suggest-bounds",), "--epsilon 0.1"),
        (("--suggest-bounds", "--epsilon", "0"), "epsilon"),
        ((*SUGGEST, "--columns", "costt"), "Did you mean 'cost'"),
        ((*SUGGEST, "--columns", "plan"), "text"),
        ((*SUGGEST, "--person-id", "whoo"), "Did you mean 'who'"),
        ((*SUGGEST, "--columns", "cost", "--person-id", "cost"), "no column"),
    ],
)
def test_wrong_options(parquet, options, told):
    code, printed, errors = dpm_schema(parquet, *options)
    assert (code, printed) == (2, "")
    assert told in errors


def test_bounds_that_were_not_found_are_left_to_fill_in(tmp_path):
    pa.parquet.write_table(pa.table({"cost": [1.5, 2.5]}), tmp_path / "table.parquet")
    code, printed, _ = dpm_schema(tmp_path / "table.parquet", "--suggest-bounds", "--epsilon", "0.1")
    assert code == 0
    assert "# lower = ...  fill in" in printed
    assert tomllib.loads(printed)["bounds_epsilon"] == 0.1  # it was spent all the same


def test_nothing_is_estimated_of_columns_whose_bounds_are_known(tmp_path):
    pa.parquet.write_table(pa.table({"age": [1, 2]}), tmp_path / "table.parquet")
    code, _, errors = dpm_schema(tmp_path / "table.parquet", *SUGGEST)
    assert code == 2
    assert "known already" in errors
