"""Progress bars on standard error, with the time left and the runs that failed."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpmondrian_lab.experiments.rows import Row

__all__ = ["FitBars", "ProgressBars", "TransferBars"]


class _Bars:
    """Shown while the context lasts."""

    _progress: Progress

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # no thread to draw the bars: the work goes on without them
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()


class ProgressBars(_Bars):
    """One bar per piece of work; listens to the runner."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None
        self._told: set[tuple[str, str]] = set()

    def start(self, title: str, total: int, done: int) -> None:
        """Begin a bar, if there is something to do."""
        self._task = self._progress.add_task(title, total=total, completed=done) if done < total else None

    def advance(self, row: Row | None = None) -> None:
        """Move the bar; of each algorithm and data set the first failure is told."""
        if self._task is not None:
            self._progress.advance(self._task)
        if row is None or not row.failed or (row.run.algorithm, row.run.data_set) in self._told:
            return
        self._told.add((row.run.algorithm, row.run.data_set))
        message = f"Failed and kept: {row.run.algorithm} on {row.run.data_set}. {row.error}"
        self._progress.console.print(message, markup=False, highlight=False, soft_wrap=True)


class TransferBars(_Bars):
    """One bar per file that is downloaded or network that is trained; a callback of `datasets.fetch`."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True))
        self._tasks: dict[str, TaskID] = {}

    def advance(self, what: str, done: int, total: int | None) -> None:
        """Move the bar of a piece of work to where it is."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)


class FitBars(_Bars):
    """A bar for reading and one for clustering, without a number of rows. Nothing where nobody looks: times tell of the data."""

    def __init__(self, quiet: bool = False) -> None:
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

    def read(self, done: int, total: int | None) -> None:
        """Move the bar of reading; a callback of `Resources` and of `write_labels`."""
        if self._reading is None:
            self._reading = self._progress.add_task("reading", total=total)
        self._progress.update(self._reading, completed=done, total=total)

    def draw(self, name: str, done: int, total: int) -> None:
        """Move the bar of clustering to what is drawn next; a callback of `DPM.fit`."""
        if self._drawing is None:
            self._drawing = self._progress.add_task("clustering", total=total)
        self._progress.update(self._drawing, completed=done, total=total, description=f"clustering: {name}")
