"""Progress bars of the laboratory, with the time left and the runs that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmondrian.cli.progress import Bars

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dpmondrian_lab.experiments.rows import Row

__all__ = ["ProgressBars", "TransferBars"]


class ProgressBars(Bars):
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


class TransferBars(Bars):
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
