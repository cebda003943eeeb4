"""Processes that work through tasks. Each keeps to one group of tasks as long as it can.

Tasks go out one at a time over a pipe of each worker's own. So it is known which task a dying worker took with it, an
interrupt loses only what is running, and workers end by themselves when their parent is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from dpmondrian_lab.exceptions import WorkerDiedError

__all__ = ["Task", "Workers"]

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """A call ``function(*arguments)``; tasks of a group share what is costly to load."""

    group: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Workers:
    """Up to `jobs` processes, started when there is work for them, ended with the context."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._idle: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._idle:
            worker.end()

    def work_through(self, tasks: Iterable[Task]) -> Generator[tuple[Task, Any], None, None]:
        """Yield every task with what its function returned, as they end, or with a `WorkerDiedError`.

        An error that the function raises is raised here. Tasks that run when the caller stops early are ended.
        """
        waiting = _by_group(tasks)
        busy: list[_Worker] = []
        try:
            while (n_waiting := sum(map(len, waiting.values()))) or busy:
                for _ in range(min(self.jobs - len(busy), n_waiting)):
                    worker = self._idle.pop() if self._idle else _Worker()
                    worker.send(_next_task(worker, busy, waiting))
                    busy.append(worker)
                for worker in _answered(busy):
                    outcome = worker.receive()
                    busy.remove(worker)
                    if worker.process.is_alive():
                        self._idle.append(worker)
                    yield worker.task, outcome
        finally:
            for worker in busy:
                worker.end()


class _Worker:
    """One process with its end of the pipe, the group it has loaded and the task it was given last."""

    task: Task

    def __init__(self) -> None:
        # Not forked: a fork copies the state of thread pools without their threads.
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()
        self.group = ""

    def send(self, task: Task) -> None:
        self.task, self.group = task, task.group
        with suppress(BrokenPipeError):  # a worker that died is noticed when its answer is waited for
            self.connection.send(task)

    def receive(self) -> Any:
        """Return the result of the task, or an error if the process has died."""
        try:
            succeeded, outcome = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.end()
            return WorkerDiedError(f"the process ended with code {self.process.exitcode}")
        if not succeeded:
            raise outcome
        return outcome

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


def _by_group(tasks: Iterable[Task]) -> dict[str, deque[Task]]:
    waiting: dict[str, deque[Task]] = {}
    for task in tasks:
        waiting.setdefault(task.group, deque()).append(task)
    return waiting


def _next_task(worker: _Worker, busy: list[_Worker], waiting: dict[str, deque[Task]]) -> Task:
    """Take the next task: of the worker's own group, else of one that nobody works on, else of the longest."""
    groups = [group for group, queue in waiting.items() if queue]
    if worker.group in groups:
        return waiting[worker.group].popleft()
    taken = {other.group for other in busy}
    free = [group for group in groups if group not in taken]
    return waiting[free[0] if free else max(groups, key=lambda group: len(waiting[group]))].popleft()


def _answered(busy: list[_Worker]) -> list[_Worker]:
    """Wait for answers, and return the workers that have one (or have died)."""
    ready = wait([worker.connection for worker in busy])
    return [worker for worker in busy if worker.connection in ready]


def _serve(connection: Connection) -> None:
    """Work until the parent says no more, by closing its end or by being killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    _one_thread()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            connection.send(_outcome(connection.recv()))


def _outcome(task: Task) -> tuple[bool, Any]:
    try:
        return True, task.function(*task.arguments)
    except Exception as error:
        return False, error


def _one_thread() -> None:
    """Keep numerical libraries to one thread: sums in another order would give other last digits."""
    for name in _THREAD_VARIABLES:
        os.environ[name] = "1"
    import scipy.linalg  # noqa: F401
    import sklearn.cluster  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
