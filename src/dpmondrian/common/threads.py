"""Threads over parts of the rows. The kernels release the interpreter's lock, so parts run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from dpmondrian.common.interrupts import Work, beside, current_work

_MOST_THREADS = 8
_ROWS_PER_THREAD = 25_000  # fewer rows than this are not worth a thread

Part = TypeVar("Part")
Answer = TypeVar("Answer")


class Threads:
    """As many threads as `n_rows` are worth (None: an unknown number of rows, many), or as many as the system gives.

    Parts are taken one after the other by whichever thread is free, so no more of them are in memory than there are threads. None
    is taken once the work that this is part of was stopped, and no thread keeps the process from ending.
    """

    def __init__(self, n_rows: int | None, most: int | None = None) -> None:
        available = min(most or _MOST_THREADS, os.cpu_count() or 1)
        self.n_threads = available if n_rows is None else max(1, min(available, n_rows // _ROWS_PER_THREAD))

    def map(self, function: Callable[[Part], Answer], parts: Iterable[Part]) -> list[Answer]:
        """Return what the function answers on each part, in order."""

        def work(numbered: Iterator[tuple[int, Part]]) -> list[tuple[int, Answer]]:
            return [(number, function(part)) for number, part in numbered]

        answers = dict(pair for share in self.share(work, enumerate(parts)) for pair in share)
        return [answers[number] for number in range(len(answers))]

    def share(self, work: Callable[[Iterator[Part]], Answer], parts: Iterable[Part]) -> list[Answer]:
        """Return what `work` answers in each thread on the parts that fall to it.

        If it fails in one thread, the others get no more parts, and the error is raised when all have ended.
        """
        taken = _Taken(iter(parts), current_work())

        def one_thread() -> Answer:
            try:
                return work(taken)
            except BaseException:
                taken.stop()
                raise

        # The calling thread takes a share of the parts itself; all of them if there is no other.
        others = [other for _ in range(self.n_threads - 1) if (other := _begun(one_thread)) is not None]
        try:
            own = one_thread()
        finally:
            failures = [failure for other in others if (failure := other.exception()) is not None]
        if failures:
            raise failures[0]
        return [own] + [other.result() for other in others]


_LIMITING = Lock()


@contextmanager
def one_matrix_thread() -> Iterator[None]:
    """Let BLAS use one thread in this process: after a product in several these wait for the next one without sleep.

    That took a quarter of the processor time of a fit. Whoever comes while another thread has this leaves it to that one.
    """
    if not _LIMITING.acquire(blocking=False):
        yield
        return
    try:
        with _matrix_libraries().limit(limits=1):
            yield
    finally:
        _LIMITING.release()


@cache
def _matrix_libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _begun(function: Callable[[], Answer]) -> Future[Answer] | None:
    """Return what a function will return that another thread calls; None if there is no thread for it."""
    future: Future[Answer] = Future()
    return future if beside(_answer, future, function) else None


def _answer(future: Future[Any], function: Callable[[], Any]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
    finally:
        del future  # else an error would hold this frame, which holds it


class _Taken(Iterator[Part]):
    """Hands the items of an iterator out to several threads, each to one of them, until it or their work is stopped."""

    def __init__(self, parts: Iterator[Part], work: Work | None) -> None:
        self._parts = parts
        self._work = work
        self._lock = Lock()
        self._stopped = False

    def __next__(self) -> Part:
        with self._lock:
            if self._stopped:
                raise StopIteration
            if self._work is not None:
                self._work.check()
            return next(self._parts)

    def stop(self) -> None:
        """Hand out no more."""
        self._stopped = True
