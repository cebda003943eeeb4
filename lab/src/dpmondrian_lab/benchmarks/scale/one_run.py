"""One run in this process, and its measurement as JSON: ``python -m dpmondrian_lab.benchmarks.scale.one_run CONTENDER FILE SMALL_FILE``."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from dpmondrian_lab.benchmarks.scale.contenders import CONTENDERS
from dpmondrian_lab.benchmarks.scale.data import inertia_ratio
from dpmondrian_lab.benchmarks.scale.memory import PeakMemory
from dpmondrian_lab.benchmarks.scale.passes import watched


def measure(name: str, path: Path, small: Path) -> dict[str, Any]:
    """Return what a run on a file took, after one on a small file in which everything is compiled."""
    started = time.perf_counter()
    with CONTENDERS[name]() as contender:
        with watched():
            contender.run(contender.spread(contender.load(small)))
        start_up = time.perf_counter() - started
        table = contender.load(path)
        with PeakMemory() as memory, watched() as passes:
            started = time.perf_counter()
            centres = contender.run(table)
            seconds = time.perf_counter() - started - passes.extra
    found = {} if centres is None else {"n_clusters": len(centres), "inertia_ratio": inertia_ratio(centres)}
    return {
        "seconds": seconds,
        "start_up": start_up,
        "before": memory.before,
        "peak": memory.peak,
        "workers": memory.workers,
        **dataclasses.asdict(passes),
        **found,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
