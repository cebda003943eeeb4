"""Peak memory of this process and of its workers (Linux)."""

from __future__ import annotations

import gc
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil
import pyarrow as pa

from dpmondrian_lab.benchmarks.speed import resident

_SECONDS_BETWEEN_LOOKS = 0.25


class PeakMemory:
    """Watches the memory while it is entered.

    Attributes
    ----------
    before, peak : int
        Bytes of this process before and at most, as the kernel counts them.
    workers : int
        Bytes of all processes that it started, at most, looked at now and then; what they share counts for each.
    """

    def __enter__(self) -> Self:
        gc.collect()
        pa.default_memory_pool().release_unused()
        self.before = resident()
        self.peak = self.workers = 0
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.peak = _peak_of_this_process()
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._done.wait(_SECONDS_BETWEEN_LOOKS):
            self.workers = max(self.workers, sum(map(_resident_of, own.children(recursive=True))))


def _resident_of(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):  # it has just ended
        return process.memory_info().rss
    return 0


def _peak_of_this_process() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return 1024 * int(peak)
