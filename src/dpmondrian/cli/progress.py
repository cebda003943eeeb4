"""Progress bars on standard error."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bars:
    """Bars that are shown while the context lasts; a subclass makes `_progress`."""

    _progress: Progress

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # no thread to draw the bars: the work goes on without them
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()


_SECONDS_BETWEEN_NOTES = 0.1


class FitBars(Bars):
    """A bar for reading and one for clustering, without a number of rows. Nothing where nobody looks: times tell of the data.

    With a file, what is done and which share of it also stands there, for a front end that shows a bar of its own.
    """

    def __init__(self, quiet: bool = False, file: Path | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description:24}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self._reading: TaskID | None = None
        self._drawing: TaskID | None = None
        self._file, self._noted = file, 0.0

    def read(self, done: int, total: int | None) -> None:
        """Move the bar of reading; a callback of `Resources` and of `write_labels`."""
        if self._reading is None:
            self._reading = self._progress.add_task("reading", total=total)
        self._progress.update(self._reading, completed=done, total=total)
        self._note("reading", done, total)

    def draw(self, name: str, done: int, total: int) -> None:
        """Move the bar of clustering to what is drawn next; a callback of `DPM.fit`."""
        if self._drawing is None:
            self._drawing = self._progress.add_task("clustering", total=total)
        self._progress.update(self._drawing, completed=done, total=total, description=f"clustering: {name}")
        self._note("clustering", done, total)

    def _note(self, step: str, done: int, total: int | None) -> None:
        """Write how far a step is, a few times a second and whole; a bar that cannot be written stops nothing."""
        if self._file is None or time.monotonic() - self._noted < _SECONDS_BETWEEN_NOTES:
            return
        self._noted = time.monotonic()
        new = self._file.with_name(f"{self._file.name}.new")
        with suppress(OSError):
            new.write_text(json.dumps([step, done / total if total else 0.0]), encoding="ascii")
            os.replace(new, self._file)
