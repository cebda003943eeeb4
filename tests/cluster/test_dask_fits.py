"""Fits and labels on Dask: the same as in memory, byte for byte, whatever happens to workers, and nothing exact gets out."""

import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM, DataError
from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.dpm import paper
from dpmondrian.engines import on_dask

from ..engines.test_same_release import SETTINGS, columns_of, digest, parameters_of, patients  # noqa: TID252
from ..privacy.kept_rows import kept_per_value  # noqa: TID252
from ..privacy.test_identities import ALIKE, visits_of  # noqa: TID252
from .counting import counted, times_made
from .helpers import VALUE, WORD, at_draw, error_of, fit_error, n_draws_of, noted_draws, two_groups

dask = pytest.importorskip("dask", reason="Needs the extra 'dask'.")
dd = pytest.importorskip("dask.dataframe", reason="Needs the extra 'dask'.")
da = pytest.importorskip("dask.array", reason="Needs the extra 'dask'.")

PARAMETERS = {"bounds": {"x": (0, 100), "y": (0, 100)}, "random_state": 1, "epsilon": 2.0}


@pytest.fixture(params=["threads", "workers"])
def scheduler(request):
    """Run the test on threads of this process, and then on the workers of a cluster."""
    if request.param == "threads":
        with dask.config.set(scheduler="threads"):
            yield
    else:
        with request.getfixturevalue("dask_client").as_current():
            yield


@pytest.fixture
def workers(dask_client):
    """Run the test on the workers of a cluster, and return its client."""
    with dask_client.as_current():
        yield dask_client


def table_for(parameters, n_rows=3000):
    return patients(n_rows, missing="on_missing" in parameters).select(columns_of(parameters))


def groups(n_rows=2000):
    return pd.DataFrame(two_groups(n_rows), columns=["x", "y"])


def logs(client):
    return "\n".join(words for log in client.get_worker_logs().values() for _, words in log)


def marks_in_logs(client):
    return {mark for mark in (WORD, str(VALUE)) if mark in logs(client)}


@pytest.mark.parametrize("setting", SETTINGS)
def test_any_number_of_parts_gives_the_release_of_memory(setting, monkeypatch):
    monkeypatch.setattr(paper, "MOST_SORTED", 1000)  # of which the paper's variant looks at a share
    parameters = parameters_of(setting)
    table = table_for(parameters)
    frame, expected = table.to_pandas(), digest(table, parameters)
    with dask.config.set(scheduler="threads"):
        for n_parts in (1, 11) if setting in ("paper", "persons, drop") else (11,):
            assert digest(dd.from_pandas(frame, npartitions=n_parts), parameters) == expected


@pytest.mark.parametrize("setting", ["default", "paper", "persons, drop"])
def test_workers_give_the_release_of_memory(setting, workers):
    parameters = parameters_of(setting)
    table = table_for(parameters)
    assert digest(dd.from_pandas(table.to_pandas(), npartitions=5), parameters) == digest(table, parameters)


def test_parts_may_be_empty(scheduler):
    parameters = parameters_of("persons")
    table = table_for(parameters)
    frame = dd.from_pandas(table.to_pandas().sort_values("age"), npartitions=6, sort=False)
    young = frame[frame["age"] < 30]  # which leaves nothing of the last parts
    assert digest(young, parameters) == digest(young.compute(), parameters)


@pytest.mark.parametrize("setting", ["default", "paper", "persons"])
def test_all_parts_may_be_empty(setting):
    parameters = parameters_of(setting)
    table = table_for(parameters).slice(0, 0)
    with dask.config.set(scheduler="threads"):
        parts = dd.from_map(lambda _: table.to_pandas(), range(3), meta=table.to_pandas())
        assert digest(parts, parameters) == digest(table, parameters)


def test_arrays_may_be_in_chunks_along_both_axes(scheduler):
    rows = two_groups(3000)
    parameters = PARAMETERS | {"bounds": (0, 100)}
    model = DPM(**parameters).fit(rows)
    chunks = da.from_array(rows, chunks=(700, 1))
    unknown = dd.from_pandas(pd.DataFrame(rows), npartitions=3).to_dask_array()
    for array in (chunks, unknown):
        assert digest(array, parameters) == model.release_.digest()
        labels = model.predict(array)
        assert labels.dtype == np.int32
        assert labels.compute().tolist() == model.labels_.tolist()


def test_columns_of_parts_may_come_in_another_order():
    frame = groups()
    frame["y"] /= 2
    turned = dd.from_map(lambda i: frame[i::2][["y", "x"] if i else ["x", "y"]], [0, 1], meta=frame[:0])
    with dask.config.set(scheduler="threads"):
        assert digest(turned, PARAMETERS) == digest(frame, PARAMETERS)


def test_rows_of_a_person_are_limited_though_parts_change_their_order():
    """As after a shuffle: whoever reads hashes first and rows later would choose other rows."""
    table = table_for(parameters_of("persons")).to_pandas()
    generator = np.random.default_rng()

    def shuffled(i):
        return table[i::3].sample(frac=1.0, random_state=generator)

    parts = dd.from_map(shuffled, range(3), meta=table[:0])
    with dask.config.set(scheduler="threads"):
        for setting in ("persons", "persons, drop"):
            assert digest(parts, parameters_of(setting)) == digest(table, parameters_of(setting))


def kill_worker(client):
    """Kill the worker that holds most of the coded rows."""
    blocks = {worker: sum("dpm_blocks" in str(key) for key in keys) for worker, keys in client.has_what().items()}
    worker = max(blocks, key=blocks.get)
    assert blocks[worker]
    os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)


def test_a_lost_worker_changes_nothing(mortal_dask_client, tmp_path, monkeypatch):
    """The release is that of memory, and no noise is drawn twice."""
    parameters = parameters_of("persons")
    table = table_for(parameters)
    frame, folder = table.to_pandas(), tmp_path / "made"
    folder.mkdir()
    parts = dd.from_pandas(frame, npartitions=4).map_partitions(counted, str(folder), meta=frame[:0])
    made, expected, draws = [], digest(table, parameters), noted_draws(monkeypatch)

    def kill():
        made.append(times_made(folder))
        kill_worker(mortal_dask_client)

    with mortal_dask_client.as_current():
        model = DPM(**parameters).fit(parts, progress=at_draw(9, kill))
    assert made == [4]
    assert times_made(folder) > 4  # what the worker held was made again
    assert len(set(draws)) == len(draws) == n_draws_of(model)
    assert model.release_.digest() == expected


def test_errors_of_fits_are_those_of_memory_and_tell_nothing(workers):
    holes, persons = groups(), groups()
    holes.loc[77, "y"] = np.nan
    holes.loc[78, "y"] = VALUE
    persons["who"] = [f"{WORD} {i}" for i in range(len(persons))]
    persons.loc[5, "who"] = None
    lists = persons.assign(who=[[WORD]] * len(persons))
    of_persons = PARAMETERS | {"person_id": "who"}
    cases = [(holes, PARAMETERS), (persons, PARAMETERS), (persons, of_persons), (lists, of_persons)]
    with dask.config.set({"dataframe.convert-string": False}):  # which would make texts of the lists
        for table, parameters in cases:
            assert fit_error(dd.from_pandas(table, npartitions=3), parameters) == fit_error(table, parameters)
    assert marks_in_logs(workers) == set()


def test_errors_of_labels_are_those_of_memory_and_tell_nothing(workers):
    model, holes = DPM(**PARAMETERS).fit(groups()), groups()
    holes.loc[77, "y"] = np.nan
    holes.loc[78, "y"] = VALUE
    expected = error_of(model.predict, holes)
    assert error_of(model.predict(dd.from_pandas(holes, npartitions=3)).compute) == expected
    assert error_of(model.predict(da.from_array(holes.to_numpy(), chunks=(300, 2))).compute) == expected
    assert "Compute Failed" in logs(workers)  # so what is said of it is among the logs
    assert marks_in_logs(workers) == set()


def test_errors_of_the_callers_own_tasks_tell_nothing(scheduler):
    def failing(part):
        raise ValueError("could not convert string to float: 'QXPARROT'")

    parts = dd.from_pandas(groups(), npartitions=2).map_partitions(failing, meta=groups(0))
    words = fit_error(parts, PARAMETERS)
    assert "ValueError" in words
    assert "QXPARROT" not in words


def test_parts_of_another_type_than_promised_are_refused(workers):
    table = groups()
    parts = dd.from_map(lambda i: table.astype({"y": str}) if i else table, [0, 1], meta=table[:0])
    assert "'y'" in fit_error(parts, PARAMETERS)
    assert marks_in_logs(workers) == set()


def test_labels_are_those_of_memory_and_wait_until_they_are_asked_for(scheduler, tmp_path):
    parameters = parameters_of("persons, drop")
    table = table_for(parameters)
    model = DPM(**parameters).fit(table)
    frame = table.to_pandas().set_index(np.arange(table.num_rows) * 3)
    parts = dd.from_pandas(frame, npartitions=4).map_partitions(counted, str(tmp_path), meta=frame[:0])
    labels = model.predict(parts[["plan", "visits", "who", "age", "income"]])
    assert times_made(tmp_path) == 0
    found = labels.compute()
    assert times_made(tmp_path) == 4
    assert found.name == "cluster"
    assert found.dtype == labels.dtype == np.int32
    assert found.index.equals(frame.index)
    assert found.tolist() == model.predict(table).tolist()
    assert -1 in found.tolist()  # where a value is missing


def test_the_driver_sees_answers_that_do_not_grow_with_the_rows(workers, monkeypatch):
    sizes = []

    def noting(*tasks):
        answers = compute(*tasks)
        sizes.append(len(pickle.dumps(answers)))
        return answers

    compute = on_dask.compute
    monkeypatch.setattr(on_dask, "compute", noting)
    for n_rows in (1000, 30_000):
        parts = dd.from_map(lambda i, n: groups(n), range(3), n=n_rows, meta=groups(0))
        DPM(**PARAMETERS | {"max_depth": 1, "n_clusters": 2, "profiles": False}).fit(parts)
    few, many = np.split(np.array(sizes), 2)
    assert few.tolist() == many.tolist()
    assert max(sizes) < 100_000, "that of the public grid, not of the rows"


def test_a_question_is_sent_once_and_not_with_every_task(workers, monkeypatch):
    asked, sent = [], []

    def noting(self):
        sent.append(self)
        return {"question": self.question, "moves": self.moves}

    total = on_dask.DaskEngine.total
    monkeypatch.setattr(
        on_dask.DaskEngine, "total", lambda self, question: asked.append(question) or total(self, question)
    )
    monkeypatch.setattr(on_dask._Asked, "__getstate__", noting, raising=False)
    DPM(**PARAMETERS | {"max_depth": 1}).fit(dd.from_pandas(groups(), npartitions=9))
    assert len(asked) > 2
    assert len(sent) <= 2 * len(asked)  # to the scheduler, which is in this process, and from there


@pytest.mark.parametrize("n_draws", [1, 6])
def test_a_fit_that_was_begun_here_is_continued_in_memory(n_draws, tmp_path):
    class Killed(BaseException):
        pass

    def kill():
        raise Killed

    path, frame = tmp_path / "run.ckpt", groups()
    with dask.config.set(scheduler="threads"), pytest.raises(Killed):
        DPM(**PARAMETERS).fit(dd.from_pandas(frame, npartitions=3), checkpoint=path, progress=at_draw(n_draws, kill))
    assert len(Checkpoint(path).read().draws) == n_draws
    assert DPM(**PARAMETERS).fit(frame, checkpoint=path).release_.digest() == digest(frame, PARAMETERS)


@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # by Dask itself
def test_files_that_dask_reads(scheduler, tmp_path):
    parameters = parameters_of("default")
    table = table_for(parameters)
    dd.from_pandas(table.to_pandas(), npartitions=3).to_parquet(tmp_path)
    assert digest(dd.read_parquet(tmp_path), parameters) == digest(table, parameters)


@pytest.mark.parametrize(
    "table",
    [da.ones(10), da.ones((2, 2, 2)), dask.delayed(1), dd.from_pandas(pd.Series([1.0]), npartitions=1)],
    ids=["vector", "cube", "delayed", "series"],
)
def test_what_is_not_a_table_is_refused(table):
    with pytest.raises(DataError, match=r"rows and columns|2D"):
        DPM(**PARAMETERS).fit(table)


def test_ids_that_look_alike_are_different_people(scheduler):
    """As in memory (tests/privacy/test_identities.py), though people are divided among tasks."""
    table = visits_of(ALIKE)
    assert kept_per_value(dd.from_pandas(table.to_pandas(), npartitions=4), 2) == kept_per_value(table, 2)


def test_ids_of_different_kinds_in_parts_are_refused(scheduler):
    """One person would keep the rows of two; parts of objects and of numbers have one type for Dask."""
    parts = [pd.DataFrame({"who": pd.Series([own] * 5, dtype=object), "x": 1.0}) for own in (7, "7")]
    with dask.config.set({"dataframe.convert-string": False}):  # or Dask itself would make texts of all objects
        table = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)
        with pytest.raises(DataError, match="ids of several types"):
            kept_per_value(table, 2)
