"""Work on the rows, done by the command that a terminal user would type, in a process of its own.

What the command says and how far it is are files in the private folder of the clustering, so a server that is started again finds a job
where it is: under way, finished or stopped. A job holds a lock while it runs, which its process inherits and the system gives back
when that ends; so no click, tab or second server starts it twice. A charge is the command's own: its checkpoint makes it once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from dpmondrian.common import locks

RUNNING, DONE, STOPPED, NEW = "running", "done", "stopped", "new"
_LONGEST_MESSAGE = 20_000
_ONE_AT_A_TIME = RLock()  # to look at a lock is to hold it for a moment


@dataclass(frozen=True)
class Job:
    """A command that works for one clustering; `name` is "run" or "bounds"."""

    folder: Path
    name: str

    @property
    def checkpoint(self) -> Path:
        """Where its draws are kept until its results are written."""
        return self.folder / f"{self.name}.checkpoint"

    @property
    def progress(self) -> Path:
        """Where the command writes how far it is."""
        return self.folder / f"{self.name}.progress"

    @property
    def _answer(self) -> Path:
        return self.folder / f"{self.name}.answer"

    @property
    def _messages(self) -> Path:
        return self.folder / f"{self.name}.messages"

    @property
    def _lock(self) -> Path:
        return self.folder / f"{self.name}.lock"

    def start(self, arguments: Callable[[], Sequence[str]], folder: Path) -> bool:
        """Start ``dpm`` in a folder, with arguments that are asked for once nobody else can start it.

        Return False if it is under way or done, and so is not started again.
        """
        with _ONE_AT_A_TIME:
            lock = self._take_lock()
            if lock is None:
                return False
            try:
                if self.answer() is not None:
                    return False
                given = arguments()
                self.progress.unlink(missing_ok=True)
                self._begin(given, folder, lock)
            finally:
                os.close(lock)  # the process has its own copy
            return True

    def _begin(self, arguments: Sequence[str], folder: Path, lock: int) -> None:
        command = [sys.executable, "-m", "dpmondrian", *arguments]
        out, err = (
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for path in (self._answer, self._messages)
        )
        try:
            inherited = (lock,) if os.name != "nt" else ()
            process = subprocess.Popen(  # noqa: S603 - the arguments are a list, and no shell reads them
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=inherited
            )
        finally:
            os.close(out)
            os.close(err)
        _PROCESSES[self._key] = process
        (self.folder / f"{self.name}.pid").write_text(str(process.pid))

    @property
    def _key(self) -> tuple[Path, str]:
        return self.folder, self.name

    def _take_lock(self) -> int | None:
        """Return the handle of the held lock; None if somebody else holds it."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        if not locks.CAN_LOCK:  # pragma: no cover - a server only knows of its own jobs there
            process = _PROCESSES.get(self._key)
            return None if process is not None and process.poll() is None else handle
        if locks.lock(handle):
            return handle
        os.close(handle)
        return None

    @property
    def state(self) -> str:
        """Whether it is new, running, done or stopped."""
        if not self._messages.exists():
            return NEW
        if (process := _PROCESSES.get(self._key)) is not None:
            process.poll()  # a child that has ended is taken off the system's list
        with _ONE_AT_A_TIME:
            lock = self._take_lock()
            if lock is None:
                return RUNNING
            os.close(lock)
        return STOPPED if self.answer() is None else DONE

    def answer(self) -> dict[str, Any] | None:
        """Return what the finished command printed, None before."""
        try:
            found = json.loads(self._answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def messages(self) -> list[str]:
        """Return the sentences that the command has said besides."""
        try:
            text = self._messages.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return [line for line in text[-_LONGEST_MESSAGE:].splitlines() if line.strip()]

    def fraction(self) -> tuple[str, float]:
        """Return what it does now, "reading" or "clustering", and how much of that is done."""
        try:
            step, share = json.loads(self.progress.read_text(encoding="ascii"))
            return str(step), min(max(float(share), 0.0), 1.0)
        except (OSError, ValueError, TypeError):
            return "starting", 0.0

    def stop(self) -> None:
        """Interrupt the command, as Ctrl-C does in a terminal: it says what was charged and ends."""
        if self.state != RUNNING:
            return
        with suppress(OSError, ValueError):
            os.kill(int((self.folder / f"{self.name}.pid").read_text()), signal.SIGINT)

    def wait(self, seconds: float) -> None:
        """Wait until a job of this server has ended, but not longer."""
        process = _PROCESSES.get(self._key)
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)


_PROCESSES: dict[tuple[Path, str], subprocess.Popen[bytes]] = {}
