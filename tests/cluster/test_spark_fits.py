"""Fits and labels on Spark: the same as in memory, byte for byte, whatever happens to executors, and nothing exact gets out."""

import decimal
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpmondrian import DPM, Budget, DataError
from dpmondrian.dpm import paper
from dpmondrian.engines import base, on_spark
from dpmondrian.engines.grid import Grid
from dpmondrian.schema.columns import Column, Schema

from ..engines.test_same_release import columns_of, digest, parameters_of, patients  # noqa: TID252
from ..privacy.kept_rows import kept_per_value  # noqa: TID252
from ..privacy.test_identities import ALIKE, visits_of  # noqa: TID252
from .counting import counted_batches, times_made
from .helpers import (
    VALUE,
    WORD,
    at_draw,
    error_of,
    fit_error,
    n_draws_of,
    noted_draws,
    two_groups,
)

JOINS_PARTS = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
PARAMETERS = {"bounds": {"x": (0, 100), "y": (0, 100)}, "random_state": 1, "epsilon": 2.0}


@pytest.fixture
def many_tasks(monkeypatch):
    """Make every part a task of its own, and every record a few rows."""
    monkeypatch.setattr(on_spark, "PART_ROWS", 1)
    monkeypatch.setattr(on_spark, "_RECORD_BYTES", 1000)


@pytest.fixture
def answers_in_a_tree(monkeypatch):
    """Have executors add up every two answers."""
    monkeypatch.setattr(on_spark, "FAN_IN", 2)
    monkeypatch.setattr(on_spark, "_COLLECTED_BYTES", 0)


@pytest.fixture
def remote_functions(connect, monkeypatch):
    """Let functions of pyspark.sql make columns for Spark Connect, as in a process that has no other session."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


def table_for(parameters, n_rows=3000):
    return patients(n_rows, missing="on_missing" in parameters).select(columns_of(parameters))


def groups(n_rows=2000):
    return pd.DataFrame(two_groups(n_rows), columns=["x", "y"])


def in_parts(session, table, n_parts, folder=None):
    frame = session.createDataFrame(table).repartition(n_parts)
    if folder is None:
        return frame
    numbered = frame.toDF(*map(str, range(len(frame.columns))))
    return numbered.mapInArrow(partial(counted_batches, str(folder)), numbered.schema).toDF(*frame.columns)


def test_lost_executors_change_nothing(spark, executors, many_tasks, tmp_path, monkeypatch):
    """The release is that of memory, and no noise is drawn twice."""
    parameters = parameters_of("pure") | {
        "max_depth": 1,
        "profiles": False,
    }  # few questions: on Spark each takes a second
    table = table_for(parameters)
    made, expected, draws = [], digest(table, parameters), noted_draws(monkeypatch)

    def kill():
        made.append(times_made(tmp_path))
        for executor in executors():
            executor.kill()
            executor.wait(timeout=600)

    model = DPM(**parameters).fit(in_parts(spark, table, 4, tmp_path), progress=at_draw(4, kill))
    assert made == [4]
    assert times_made(tmp_path) > 4  # what the executors held was made again
    assert len(set(draws)) == len(draws) == n_draws_of(model)
    assert model.release_.digest() == expected


def test_persons_on_spark_connect(connect, tmp_path, monkeypatch):
    n_answers, checked = [], on_spark._checked_rows

    def noting(rows):
        n_answers.append(len(rows))
        return checked(rows)

    monkeypatch.setattr(on_spark, "_checked_rows", noting)
    parameters = parameters_of("persons, drop") | {"rows_per_person": 2, "max_depth": 3}
    table = table_for(parameters)
    connect.conf.set("spark.sql.shuffle.partitions", "50")
    before = connect.conf.getAll
    assert digest(in_parts(connect, table, 3, tmp_path), parameters) == digest(table, parameters)
    assert times_made(tmp_path) == 3  # so questions find the coded rows in the cache
    assert set(n_answers) == {1}  # so small parts were joined
    assert connect.conf.getAll == before | {JOINS_PARTS: "false"}


@pytest.fixture
def given(monkeypatch):
    """Return a list that gets the columns that tasks are given, of every table from which an answer is made."""
    noted, answer = [], on_spark.SparkEngine._answer

    def noting(self, blocks, given, question):
        noted.append(given)
        return answer(self, blocks, given, question)

    monkeypatch.setattr(on_spark.SparkEngine, "_answer", noting)
    return noted


def test_rows_travel_to_each_worker_once(spark, given):
    """Each of two executors may get the only task, and begins another worker now and then: rows travel 2 to 6 times for 20 questions."""
    table = groups()
    assert digest(in_parts(spark, table, 3), PARAMETERS) == digest(table, PARAMETERS)
    assert given[0] is on_spark._BLOCKS
    assert given.count(on_spark._BLOCKS) < given.count(on_spark._INDEX) / 2


def test_rows_that_no_worker_holds_travel_every_time(spark, many_tasks, given, monkeypatch):
    monkeypatch.setattr(on_spark, "_worker_bytes", lambda session: 0)
    monkeypatch.setattr(on_spark, "_MOST_IN_VAIN", 2)
    parameters = PARAMETERS | {"max_depth": 2, "profiles": False}
    table = groups()
    assert digest(in_parts(spark, table, 2), parameters) == digest(table, parameters)
    assert given.count(on_spark._INDEX) == 2
    assert given.count(on_spark._BLOCKS) > 3


def test_blocks_that_were_made_again_meanwhile_are_not_left_out(spark, given, monkeypatch):
    """Answers of fewer rows than there are count for nothing: all blocks are asked."""
    answer, n_short = on_spark.SparkEngine._answer, []

    def short(self, blocks, given, question):
        total, n_rows, missing = answer(self, blocks, given, question)
        if given is on_spark._INDEX and not n_short:
            n_short.append(n_rows)
            return total // 2, n_rows // 2, []
        return total, n_rows, missing

    monkeypatch.setattr(on_spark.SparkEngine, "_answer", short)
    parameters = PARAMETERS | {"max_depth": 1, "profiles": False}
    table = groups()
    assert digest(in_parts(spark, table, 1), parameters) == digest(table, parameters)
    assert n_short


@pytest.mark.parametrize(("text", "n_bytes"), [("512m", 2**29), ("2g", 2**31), ("64", 2**26), ("1kb", 2**10), ("?", 0)])
def test_memory_of_workers(text, n_bytes):
    assert on_spark._worker_bytes(SimpleNamespace(conf={on_spark._WORKER_MEMORY: text})) == n_bytes
    assert on_spark._worker_bytes(None) == 2**29


class Broken:
    """A question that cannot be answered about the second block."""

    needs_rests = False

    def zero(self):
        return np.zeros(1, dtype=np.int64)

    def add(self, block, node, total):
        total += 1
        if total > 1:
            raise ArithmeticError


def test_rows_of_questions_that_failed_are_forgotten_as_well(monkeypatch):
    """Two fits of a worker, each with its first question; nothing is held a minute later."""
    held = on_spark._Held()
    monkeypatch.setattr(on_spark, "_HELD", held)
    monkeypatch.setattr(on_spark, "_SECONDS_HELD", 0.01)
    grid = Grid.with_windows(Schema((Column("x", 0.0, 1.0),)), 16)
    blocks = {"codes": [bytes(3)] * 2, "rests": [bytes(6)] * 2, "n_rows": [3] * 2, "block": [1, 2]}
    for fit in (1, 2):
        with pytest.raises(ArithmeticError):
            list(on_spark._answered(grid, fit, 2**20, Broken(), (), iter([on_spark._BLOCKS.batch(**blocks)])))
        held._timer.join(60.0)
        assert not held._rows


def test_the_papers_variant_looks_at_a_share_of_one_part(spark, monkeypatch):
    monkeypatch.setattr(paper, "MOST_SORTED", 500)
    parameters = parameters_of("paper") | {"max_depth": 2}
    table = table_for(parameters)
    assert digest(in_parts(spark, table, 1), parameters) == digest(table, parameters)


def test_clusters_of_a_table_with_empty_parts(spark, many_tasks, answers_in_a_tree):
    parameters = parameters_of("pure") | {"max_depth": 1, "profiles": False}
    table = table_for(parameters)
    frame = spark.createDataFrame(table).repartitionByRange(4, "age").filter("age < 30")
    young = table.filter(pa.compute.less(table["age"], 30.0))
    assert digest(frame, parameters) == digest(young, parameters)


def test_an_empty_table(spark):
    parameters = parameters_of("paper") | {"max_depth": 1}
    table = table_for(parameters).slice(0, 0)
    frame = spark.createDataFrame(table.to_pandas(), "age float, income double, visits long")
    assert digest(frame, parameters) == digest(table, parameters)


def test_errors_of_fits_are_those_of_memory_and_tell_nothing(spark, spark_logs):
    holes, texts = groups(), groups()
    holes.loc[77, "y"] = np.nan
    holes.loc[78, "y"] = VALUE
    texts["who"] = [f"{WORD} {i}" for i in range(len(texts))]
    texts.loc[5, "who"] = None
    of_persons = PARAMETERS | {"person_id": "who"}
    for table, parameters in ((holes, PARAMETERS), (texts, PARAMETERS), (texts, of_persons)):
        assert fit_error(in_parts(spark, table, 2), parameters) == fit_error(table, parameters)
    assert WORD not in spark_logs()
    assert str(VALUE) not in spark_logs()


def test_errors_of_the_callers_own_query_tell_nothing(spark, connect):
    for session in (spark, connect):
        frame = session.createDataFrame([("QXPARROT", 1.0)], "x string, y double").selectExpr(
            "cast(x as double) x", "y"
        )
        words = fit_error(frame, PARAMETERS)
        assert "NumberFormat" in words
        assert "QXPARROT" not in words


def test_columns_may_have_any_names(spark):
    names = ["failure", "price.net", "plan`s"]
    table = pd.DataFrame(np.column_stack([two_groups(500), np.arange(500) % 7]), columns=names)
    parameters = PARAMETERS | {"bounds": dict.fromkeys(names, (0, 100)), "max_depth": 0}
    assert digest(in_parts(spark, table, 2), parameters) == digest(table, parameters)


def odd_table():
    """Return columns that pandas or Spark might turn into something else, with missing values."""
    generator = np.random.default_rng(2)
    n_rows, missing = 600, np.random.default_rng(3).random(600) < 0.1
    huge = 2**60 + generator.integers(0, 3, n_rows)
    return pa.table(
        {
            "price.net": pa.array([decimal.Decimal(int(c)).scaleb(-2) for c in generator.integers(0, 9999, n_rows)]),
            "visits": pa.array(generator.integers(0, 10, n_rows), mask=missing),
            "shop": pa.array(huge, mask=missing),
            "plan`s": pa.array(generator.choice(["basic", "1", "1.0"], n_rows), mask=missing),
            "agrees": pa.array(generator.random(n_rows) < 0.5, mask=missing),
            "share": pa.array(generator.choice([0.5, 1.0, 1e20], n_rows), mask=missing),
        }
    )


ODD_BOUNDS = {
    "price.net": (0, 100),
    "visits": (0, 10),
    "shop": [str(2**60), str(2**60 + 1)],
    "plan`s": ["basic", "1"],
    "agrees": ["true", "false"],
    "share": ["0.5", "1", "1e+20"],
}


def test_labels_are_those_of_memory_and_wait_until_they_are_asked_for(spark, tmp_path):
    table = odd_table()
    model = DPM(bounds=ODD_BOUNDS, n_clusters=5, epsilon=50.0, on_missing="middle", random_state=0).fit(table)
    assert model.n_clusters_ == 5
    frame = in_parts(spark, table, 1, tmp_path)
    column = model.predict(frame)
    assert times_made(tmp_path) == 0
    found = frame.withColumn("cluster", column).toArrow()
    assert times_made(tmp_path) == 1
    assert found["cluster"].type == pa.int32()
    assert found["cluster"].to_pylist() == model.predict(found.drop_columns("cluster")).tolist()
    assert sorted(found["cluster"].to_pylist()) == sorted(model.labels_.tolist())


def test_labels_on_spark_connect(connect, remote_functions):
    frame = groups(500)
    model = DPM(**PARAMETERS).fit(frame)
    parts = connect.createDataFrame(frame[["y", "x"]])
    found = parts.select("x", "y", model.predict(parts)).toArrow()
    assert found["cluster"].to_pylist() == model.predict(found.select(["x", "y"])).tolist()


def test_errors_of_labels_tell_nothing(spark, spark_logs):
    holes = groups(100)
    holes.loc[7, "y"] = np.nan
    holes.loc[8, "y"] = VALUE
    model = DPM(**PARAMETERS).fit(groups())
    expected = error_of(model.predict, holes)
    parts = in_parts(spark, holes, 1)
    with pytest.raises(Exception, match="on_missing='drop'") as raised:
        parts.select(model.predict(parts)).collect()
    assert expected in str(raised.value)
    assert str(VALUE) not in str(raised.value)
    assert expected in spark_logs()  # so what is said of it is among the logs
    assert str(VALUE) not in spark_logs()


def test_the_driver_sees_answers_that_do_not_grow_with_the_rows(spark, monkeypatch):
    collected = []
    frame_type = type(spark.range(1))
    collect = frame_type.collect

    def noting(self):
        rows = collect(self)
        collected.append([len(value) if isinstance(value, bytes) else 1 for row in rows for value in row])
        return rows

    def refused(self, *args):
        raise AssertionError("Rows would come to the driver.")

    for n_rows in (1000, 30_000):
        parts = in_parts(spark, groups(n_rows), 2)
        with monkeypatch.context() as patched:
            patched.setattr(frame_type, "collect", noting)
            for name in ("toArrow", "toPandas", "toLocalIterator", "take", "head"):
                patched.setattr(frame_type, name, refused)
            DPM(**PARAMETERS | {"max_depth": 1, "n_clusters": 2, "profiles": False}).fit(parts)
    half = len(collected) // 2
    assert collected[:half] == collected[half:]
    assert max(map(sum, collected)) < 100_000, "that of the public grid, not of the rows"


def test_what_is_not_a_table_is_refused(spark):
    with pytest.raises(DataError, match="DataFrame"):
        DPM(**PARAMETERS).fit(spark.range(3)["id"])


def test_too_many_rows_are_refused_before_anything_is_drawn(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(base, "MOST_ROWS", 2000)
    budget, drawn = Budget.create(tmp_path / "budget.json", 10, 1e-3), []
    with pytest.raises(DataError, match="too many rows"):
        DPM(**PARAMETERS).fit(spark.createDataFrame(groups(2000)), budget=budget, progress=drawn.append)
    assert drawn == []
    assert budget.read().entries == ()


def test_ids_that_look_alike_are_different_people(spark):
    """As in memory (tests/privacy/test_identities.py); a column of Spark has one type, so there are no others."""
    table = visits_of(ALIKE)
    assert kept_per_value(spark.createDataFrame(table.to_pandas()), 2) == kept_per_value(table, 2)
    numbers = pd.DataFrame({"who": [7, 7, 8], "x": [1.0, 1.0, 2.0]})
    for type_ in ("int", "bigint", "double", "decimal(10, 2)"):
        frame = spark.createDataFrame(numbers).selectExpr(f"CAST(who AS {type_}) AS who", "x")
        assert kept_per_value(frame, 1) == {1: 1, 2: 1}
