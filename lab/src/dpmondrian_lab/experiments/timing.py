"""Measuring the time of fits: one process, one fit after the other, algorithms in turn, each warmed up first."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from dpmondrian_lab.experiments.perform import timed_fit
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Run

__all__ = ["machine", "measure_times"]

WARM_UP_ROWS = 2_000
"""Enough to load and compile everything that a fit uses."""


def measure_times(runs: list[Run]) -> Iterator[Row]:
    """Yield the rows of the runs, in their order. They share a data set for as long as the order allows."""
    from dpmondrian_lab.datasets.registry import get

    warm: set[tuple[str, str]] = set()
    for run in runs:
        data_set = get(run.data_set)
        rows, _ = data_set.load()
        if (run.data_set, run.algorithm) not in warm:
            timed_fit(replace(run, iteration=-1), data_set, rows[:WARM_UP_ROWS])
            warm.add((run.data_set, run.algorithm))
        yield timed_fit(run, data_set, rows)


def machine() -> dict[str, str]:
    """Return what running times depend on: processor, memory, system and versions, no names."""
    packages = ("numpy", "scipy", "scikit-learn", "opendp", "dpmondrian")
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def _processor() -> str:
    """Return the model of the processor where the system says it."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError):  # not on every system
        return "not known"
