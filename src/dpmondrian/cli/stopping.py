"""How a command ends before its time: interrupts, signals, and output that nobody takes."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmondrian.cli.show import say

if TYPE_CHECKING:
    from dpmondrian.files.budget import Budget
    from dpmondrian.files.checkpoint import Checkpoint

__all__ = [
    "charges_told",
    "draws_told",
    "prepare_streams",
    "printed",
    "release_told",
    "signals_stop",
    "stop",
    "stoppable",
]

NOTHING_WRITTEN = "Stopped. Nothing was written."


class _SignalledError(KeyboardInterrupt):
    """A signal that asks to end; cleaned up after like an interrupt by the keyboard."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def stoppable(command: Callable[..., None], sentence: str = NOTHING_WRITTEN) -> Callable[..., None]:
    """Return the command, which an interrupt ends with a sentence and exit code 130."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as interrupt:
            stop(interrupt, sentence)

    return run


def stop(interrupt: KeyboardInterrupt, sentence: str = NOTHING_WRITTEN) -> None:
    """Leave with a sentence, the interrupt's own if it has one, and 128 plus the number of the signal."""
    with suppress(OSError):  # the terminal may be gone
        say(interrupt.args[0] if interrupt.args else sentence, err=True)
    raise SystemExit(128 + getattr(interrupt, "number", signal.SIGINT)) from None


@contextmanager
def signals_stop() -> Iterator[None]:
    """Let signals that ask to end, or that the terminal is gone, clean up like an interrupt; ignored ones stay ignored."""

    def raise_it(number: int, _: object) -> None:
        raise _SignalledError(number)

    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                    stack.callback(signal.signal, number, signal.signal(number, raise_it))
        yield


@contextmanager
def charges_told(ledger: Budget | None) -> Iterator[None]:
    """Say that the budget was charged if the block ends before its time and its charge stays."""
    from dpmondrian.exceptions import BudgetError

    before = set() if ledger is None else _charges(ledger)
    try:
        yield
    except BaseException:
        try:
            charged = ledger is not None and not _charges(ledger) <= before
        except BudgetError:
            charged = True  # not to be known, so rather told
        if charged and ledger is not None:
            say(f"Note: the budget {str(ledger.path)!r} was charged for this run, and stays charged.", err=True)
        raise


def _charges(ledger: Budget) -> set[str]:
    return {entry.id for entry in ledger.read().entries}


@contextmanager
def draws_told(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Say how to continue if the block ends before its time and has drawn something."""
    from dpmondrian.exceptions import CheckpointError

    before = 0 if checkpoint is None else _n_draws(checkpoint)
    try:
        yield
    except BaseException:
        if checkpoint is not None:
            with suppress(CheckpointError):
                if _n_draws(checkpoint) > before:
                    path = str(checkpoint.path)
                    say(
                        f"Note: what was drawn is kept in {path!r}. The same command continues, and spends nothing twice.",
                        err=True,
                    )
        raise


def _n_draws(checkpoint: Checkpoint) -> int:
    state = checkpoint.read()
    return 0 if state is None else len(state.draws)


@contextmanager
def release_told(folder: Path) -> Iterator[None]:
    """Say that the release is complete if the block, which only adds to it, ends before its time."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            error.args = ("Stopped. The labels are not written.",)
        release = shlex.quote(str(folder / "release.json"))
        say(
            f"Note: the release in {str(folder)!r} is complete; only the labels are missing. To write them: dpm predict {release} "
            "FILES --out labels.parquet",
            err=True,
        )
        raise


def prepare_streams() -> None:
    """Let standard output take every character, also where its encoding lacks it, and be there even if it was closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lasts
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def printed(written: str = "") -> Iterator[None]:
    """Print to the end; if standard output takes no more, say on standard error what is done all the same, and leave.

    A reader that went away, such as ``head``, is no failure.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        gone = error.errno == errno.EPIPE
        _silence_stdout()
        if written or not gone:
            name = errno.errorcode.get(error.errno or 0, "unknown error")
            say(f"Printing failed ({name}). {written}".rstrip(), err=True)
        raise SystemExit(0 if gone else 1) from None


def _silence_stdout() -> None:
    """Throw away what is still to be printed, so that the end of the process does not fail on it again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # not a file of the system
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
