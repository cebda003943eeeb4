"""Threads over parts of the rows. The kernels release the interpreter's lock, so parts run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Self, TypeVar

__all__ = ["Threads"]

_MOST_THREADS = 8
_ROWS_PER_THREAD = 25_000
"""Fewer rows than this are not worth a thread."""

Part = TypeVar("Part")
Answer = TypeVar("Answer")


class Threads:
    """As many threads as `n_rows` are worth (None: an unknown number of rows, many). Use it as a context manager.

    Parts are taken one after the other by whichever thread is free, so no more of them are in memory than there are threads.
    """

    def __init__(self, n_rows: int | None, most: int | None = None) -> None:
        available = min(most or _MOST_THREADS, os.cpu_count() or 1)
        self.n_threads = available if n_rows is None else max(1, min(available, n_rows // _ROWS_PER_THREAD))
        # The calling thread takes a share of the parts itself.
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

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
        if self._pool is None:
            return [work(iter(parts))]
        taken = _Taken(iter(parts))

        def one_thread() -> Answer:
            try:
                return work(taken)
            except BaseException:
                taken.stop()
                raise

        waiting = [self._pool.submit(one_thread) for _ in range(self.n_threads - 1)]
        try:
            own = one_thread()
        finally:
            failures = [failure for future in waiting if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [own] + [future.result() for future in waiting]


class _Taken(Iterator[Part]):
    """Hands the items of an iterator out to several threads, each to one of them."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self._parts = parts
        self._lock = Lock()
        self._stopped = False

    def __next__(self) -> Part:
        with self._lock:
            if self._stopped:
                raise StopIteration
            return next(self._parts)

    def stop(self) -> None:
        """Hand out no more."""
        self._stopped = True
