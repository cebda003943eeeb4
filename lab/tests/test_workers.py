"""Workers: groups, errors, deaths, early ends. Tasks are functions that a fresh process can import."""

from __future__ import annotations

import multiprocessing
import os

import pytest
from threadpoolctl import threadpool_info

from dpmondrian_lab.exceptions import WorkerDiedError
from dpmondrian_lab.workers import Task, Workers


@pytest.mark.slow
def test_a_worker_keeps_its_group_lives_on_and_computes_with_one_thread():
    tasks = [Task(group, os.getpid, ()) for _ in range(3) for group in ("a", "b")]
    with Workers(2) as workers:
        first = list(workers.work_through(tasks))
        ((_, libraries),) = workers.work_through([Task("a", threadpool_info, ())])
    processes = {group: {outcome for task, outcome in first if task.group == group} for group in ("a", "b")}
    assert len(first) == len(tasks)
    assert sum(map(len, processes.values())) <= 3  # the one that is ready first may help the other
    assert {library["num_threads"] for library in libraries} == {1}


@pytest.mark.slow
def test_a_death_is_the_outcome_of_its_task_alone():
    tasks = [Task("", abs, (-1,)), Task("", os._exit, (3,)), Task("", abs, (-2,))]
    with Workers(1) as workers:
        outcomes = [outcome for _, outcome in workers.work_through(tasks)]
    assert (outcomes[0], outcomes[2]) == (1, 2)
    assert isinstance(outcomes[1], WorkerDiedError)
    assert "code 3" in str(outcomes[1])


@pytest.mark.slow
def test_errors_come_through_and_nothing_is_left_running():
    before = multiprocessing.active_children()  # of other tests, such as the workers of a Dask cluster
    with Workers(1) as workers, pytest.raises(ValueError, match="seven"):
        list(workers.work_through([Task("", int, ("seven",))]))
    assert set(multiprocessing.active_children()) <= set(before)
