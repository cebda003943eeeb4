"""How a command ends before its time: interrupts, signals, and output that nobody takes.

A command runs in a thread of its own, and signals reach the main thread, which only waits. So a signal ends the process from
there, whatever the command is doing: nothing that lasts begins any more, what is unfinished is taken away, and what was charged or
written is told. The command itself is not asked, because it may be anywhere, such as in a compiler for a minute.
"""

from __future__ import annotations

import atexit
import errno
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dpmondrian.cli.show import say, say_text
from dpmondrian.common.interrupts import Work, current_work
from dpmondrian.common.printable import printable

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget, Checkpoint

NOTHING_WRITTEN = "Stopped. Nothing was written."

_LONGEST_END = 1.5  # seconds after which the process ends, told and cleaned up or not


class Command(Work):
    """A command under way."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = ""  # what to say in the end if it is stopped; empty: what it has written
        self.notes: list[Callable[[], str]] = []  # each returns what to say besides, or an empty text

    def end(self, number: int) -> NoReturn:
        """End the process for a signal; at once if this is the second one, or if something does not answer."""
        code = 128 + number
        for other in _SIGNALS:
            signal.signal(other, lambda *_: os._exit(code))
        with suppress(RuntimeError):
            watch = threading.Timer(_LONGEST_END, os._exit, [code])
            watch.daemon = True
            watch.start()
        try:
            terminal = _silenced()
            notes = tuple(self.notes)  # the command drops them as it stops, while they are being told here
            is_quiet = self.stop()
            words = self._last_words(notes, is_quiet)
            self._clean_up()
            os.write(terminal, "\n".join(map(printable, words.split("\n"))).encode(errors="replace"))
        finally:
            os._exit(code)

    def last_words(self) -> str:
        """Return what to say if it is stopped now."""
        return self._last_words(tuple(self.notes), is_quiet=True)

    def _last_words(self, notes: tuple[Callable[[], str], ...], is_quiet: bool) -> str:
        lines = [f"{note}\n" for words in reversed(notes) if (note := _words(words))]
        if not is_quiet:
            lines.append(
                "Note: a file was being written at that moment. Check whether it exists before you continue.\n"
            )
        return "".join([*lines, self.sentence or _written_words(self.results), "\n"])

    def _clean_up(self) -> None:
        """Take away what is unfinished, and end the processes that work for this one."""
        if "multiprocessing" in sys.modules:
            for process in sys.modules["multiprocessing"].active_children():
                process.terminate()
        for path in tuple(self.unfinished):
            for _ in range(3):  # its maker may just be adding to it
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _words(note: Callable[[], str]) -> str:
    try:
        return note()
    except Exception:  # its file may be gone; an end is no time to tell of that
        return ""


def _written_words(results: list[Path]) -> str:
    if not results:
        return NOTHING_WRITTEN
    return f"Stopped. Already written: {', '.join(repr(str(result)) for result in results)}."


def _silenced() -> int:
    """Return a handle of standard error that nobody else has: what the command prints from here on is not seen."""
    terminal = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if os.isatty(terminal):
        os.write(terminal, b"\r\x1b[J\x1b[?25h")  # over the bars, and with the cursor that they hide
    return terminal


def stoppable(command: Callable[..., None], sentence: str = "") -> Callable[..., None]:
    """Return the command, with what to say if it is stopped, where that is more than what it has written."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        work = current_work()
        if isinstance(work, Command):
            work.sentence = sentence
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            stop()

    return run


def stop() -> NoReturn:
    """Leave with the last words of the command and the code of an interrupt."""
    work = current_work()
    with suppress(OSError):  # the terminal may be gone
        say_text(work.last_words() if isinstance(work, Command) else NOTHING_WRITTEN, err=True)
    raise SystemExit(128 + signal.SIGINT) from None


# Windows has no SIGHUP.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def signals_end(command: Command) -> Iterator[None]:
    """Let signals that ask to end, or that the terminal is gone, end the command; ignored ones stay ignored."""
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before = signal.signal(number, lambda number, _: command.end(number))
                    stack.callback(signal.signal, number, before)
            atexit.unregister(_leave_signals_to_the_system)
            atexit.register(_leave_signals_to_the_system)
        yield


def _leave_signals_to_the_system() -> None:
    """Let a signal end the process at once when all is done and said, and only the interpreter is still clearing up."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _noting(note: Callable[[], str]) -> Iterator[None]:
    """Say what a function returns if the block ends before its time, however that happens."""
    work = current_work()
    notes = work.notes if isinstance(work, Command) else []
    notes.append(note)
    try:
        yield
    except BaseException:
        if words := _words(note):
            say(words, err=True)
        raise
    finally:
        notes.remove(note)


@contextmanager
def noting_charges(ledger: Budget | None) -> Iterator[None]:
    """Say that the budget was charged if the block ends before its time and its charge stays."""
    from dpmondrian.exceptions import BudgetError

    if ledger is None:
        yield
        return
    before = _charges(ledger)

    def note() -> str:
        try:
            charged = not _charges(ledger) <= before
        except BudgetError:
            charged = True  # not to be known, so rather told
        return f"Note: the budget {str(ledger.path)!r} was charged for this run and remains charged." if charged else ""

    with _noting(note):
        yield


def _charges(ledger: Budget) -> set[str]:
    return {entry.id for entry in ledger.read().entries}


@contextmanager
def noting_draws(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Say how to continue if the block ends before its time and has drawn something."""
    if checkpoint is None:
        yield
        return
    before, path = _n_draws(checkpoint), str(checkpoint.path)

    def note() -> str:
        if _n_draws(checkpoint) == before:
            return ""
        return f"Note: the progress of this run is saved in {path!r}. Run the same command again to resume; nothing is spent twice."

    with _noting(note):
        yield


def _n_draws(checkpoint: Checkpoint) -> int:
    state = checkpoint.glance()
    return 0 if state is None else len(state.draws)


@contextmanager
def noting_release(folder: Path) -> Iterator[None]:
    """Say that the release is complete if the block, which only adds to it, ends before its time."""
    release = shlex.quote(str(folder / "release.json"))
    words = (
        f"Note: the release in {str(folder)!r} is complete; only the labels are missing. To write them: dpm predict {release} "
        "FILES --out labels.parquet"
    )
    with _noting(lambda: words):
        yield


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
