"""Work that no signal can break: done in a thread of its own, and stopped between its steps.

Python handles signals in the main thread, between any two of its instructions. An interrupt that is raised there while a library
holds a lock may leave it held for ever; raised under C code it may come out as another error. So the main
thread only waits, where an interrupt does no harm, and the work is told to stop.

Where it stops is known: before its next draw, before the next part of the rows, and never within a step that lasts, such as
a charge. Work that is busy otherwise is left behind; its thread keeps the process from ending for a second at most, and does nothing that lasts.

The thread waits for the next piece of work instead of ending. A thread that ends clears up what libraries keep for it, OpenSSL under
a lock; a process forked at that moment, as ``multiprocessing`` and joblib do, would find the lock held for ever.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import RLock, Thread, current_thread, main_thread
from typing import Any, NamedTuple, TypeVar

Answer = TypeVar("Answer")

_PATIENCE = 0.5  # seconds for which a stop waits for a step that lasts, and its caller for the work to end by itself
_LAST_PATIENCE = 1.0  # seconds for which the end of the process waits for it: on a busy machine an import takes so long
_LONGEST_WAIT = 0.5  # seconds between two looks for signals, on systems where these do not end a wait


class StoppedError(KeyboardInterrupt):
    """Ends work that was stopped, in its own thread; whoever stopped it does not wait to see it."""


class Work:
    """A piece of work, and what an end before its time must know about it."""

    def __init__(self) -> None:
        self.results: list[Path] = []  # what it has put in its place
        self.unfinished: set[Path] = set()  # files and folders that it is still making
        self._cancels: list[Callable[[], object]] = []
        self._gate = RLock()
        self._stopped = False
        self._ended: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def do(self, function: Callable[[], Answer]) -> Answer:
        """Return what a function returns, which another thread calls while this one waits.

        What is raised in this thread meanwhile, by the handler of a signal, stops the work and is raised.
        """
        context = copy_context()
        context.run(_CURRENT.set, self)
        try:
            outcome = self._wait() if _begun(_Task(context, function, self._ended)) else None
        except BaseException:
            self.stop()
            if not self.ends_soon():  # it may hold files that the caller wants to use
                _LEFT.append(self)
            raise
        if outcome is None:  # a system that gives no thread; better so than not at all
            return context.run(function)
        answer: Answer = _given(*outcome)
        return answer

    def _wait(self) -> tuple[bool, Any]:
        while True:
            with suppress(Empty):
                return self._ended.get(timeout=_LONGEST_WAIT)

    def ends_soon(self, patience: float = _PATIENCE) -> bool:
        """Wait some seconds for work that was stopped, and return whether it has ended."""
        try:
            self._ended.get(timeout=patience)
        except Empty:
            return False
        return True

    def stop(self) -> bool:
        """Let nothing begin any more that lasts; return whether nothing of the kind is under way."""
        self._stopped = True
        is_quiet = self._gate.acquire(timeout=_PATIENCE)
        if is_quiet:
            self._gate.release()
        for cancel in tuple(self._cancels):
            beside(_quietly, cancel)
        return is_quiet

    def check(self) -> None:
        """Raise `StoppedError` if the work was stopped."""
        if self._stopped:
            raise StoppedError


class _Task(NamedTuple):
    """A function to call in a context, and the queue that takes what it returns or raises."""

    context: Context
    function: Callable[[], Any]
    ended: SimpleQueue[tuple[bool, Any]]

    def outcome(self) -> tuple[bool, Any]:
        try:
            return True, self.context.run(self.function)
        except BaseException as error:
            return False, error


class _Worker:
    """A thread that does one task after the other and holds nothing of them in between."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[_Task] = SimpleQueue()
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            task = self.tasks.get()
            ended, outcome = task.ended, task.outcome()
            del task
            _IDLE.append(self)
            ended.put(outcome)
            del ended, outcome


_IDLE: list[_Worker] = []
_LEFT: list[Work] = []  # stopped, and not seen to end
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)  # threads stay with the parent
    os.register_at_fork(after_in_child=_LEFT.clear)


@atexit.register
def _wait_for_what_was_left() -> None:
    """Give work that was left behind a little more time.

    A thread that wants the interpreter back while that ends is ended where it is, which a library in C++ may answer by aborting the process.
    """
    while _LEFT:
        _LEFT.pop().ends_soon(_LAST_PATIENCE)


def _begun(task: _Task) -> bool:
    """Give a task to an idle worker, or to a new one; return False if the system gives no thread."""
    try:
        worker = _IDLE.pop() if _IDLE else _Worker()
    except RuntimeError:  # "can't start new thread"
        return False
    worker.tasks.put(task)
    return True


_CURRENT: ContextVar[Work | None] = ContextVar("work under way", default=None)


def undisturbed(function: Callable[[], Answer]) -> Answer:
    """Return what a function returns, out of reach of signals: in a thread of its own, unless this one is out of their reach."""
    return Work().do(function) if current_thread() is main_thread() else function()


def current_work() -> Work | None:
    """Return the work that this code is part of."""
    return _CURRENT.get()


def check() -> None:
    """Raise `StoppedError` if the work under way was stopped: called where it may end."""
    work = _CURRENT.get()
    if work is not None:
        work.check()


@contextmanager
def lasting(result: Path | None = None, finished: Path | None = None) -> Iterator[None]:
    """Do something that outlasts the process, such as a charge: not after a stop, and a stop waits for it.

    `result` is what it puts in its place; `finished` was named by `making`, and is to be kept from here on.
    """
    work = _CURRENT.get()
    if work is None:
        yield
        return
    with work._gate:
        work.check()
        if finished is not None:
            work.unfinished.discard(finished)
        yield
        if result is not None and not any(result.absolute().is_relative_to(other) for other in work.unfinished):
            work.results.append(result)


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Name a file or folder that is to be taken away if the process ends before the block does."""
    work = _CURRENT.get()
    if work is None:
        yield
        return
    work.unfinished.add(path)
    try:
        yield
    finally:
        work.unfinished.discard(path)


@contextmanager
def cancelled_by_a_stop(cancel: Callable[[], object]) -> Iterator[None]:
    """Wait for somebody else, such as a cluster, who is told by `cancel` if the work is stopped meanwhile, or was before."""
    work = _CURRENT.get()
    if work is None:
        yield
        return
    work._cancels.append(cancel)
    try:
        if work._stopped:  # after the others had been told, and before this one was among them
            beside(_quietly, cancel)
        work.check()
        yield
    finally:
        work._cancels.remove(cancel)


def beside(function: Callable[..., object], *arguments: Any) -> bool:
    """Call a function in a thread that does not keep the process from ending; return False if the system gives none."""
    try:
        Thread(target=function, args=arguments, daemon=True).start()
    except RuntimeError:  # "can't start new thread"
        return False
    return True


def _given(succeeded: bool, outcome: Any) -> Any:
    if succeeded:
        return outcome
    try:
        raise outcome
    finally:
        del outcome  # else it would hold this frame, which holds it


def _quietly(function: Callable[[], object]) -> None:
    with suppress(Exception):
        function()
