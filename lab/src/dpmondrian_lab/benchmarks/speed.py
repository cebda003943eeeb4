"""Time and peak memory of one fit, beside KMeans in the same process: ``python -m dpmondrian_lab.benchmarks.speed``.

Only the fit is timed, warm, and the median is reported; secure noise is included and its share shown. Peak memory is
measured in a fresh process that loads the rows from a file, fits a few rows to warm up, and then fits all of them.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from dpmondrian import DPM
from dpmondrian.common.whole_files import write_file
from dpmondrian.privacy.mechanisms import Sampler
from dpmondrian.samples import synthetic

BOUNDS = (-100.0, 100.0)
OUTPUT = Path(__file__).parent / "output"


def model() -> DPM:
    return DPM(epsilon=1.0, delta=1e-7, bounds=BOUNDS)


def median_time(function: Callable[[], object], repeats: int = 5) -> float:
    function()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def noise_share(rows: np.ndarray, repeats: int = 5) -> float:
    """Return the part of a fit that is spent drawing noise and selections."""
    spent = 0.0
    originals = {name: getattr(Sampler, name) for name in ("noise", "select")}

    def timed(name: str) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal spent
            started = time.perf_counter()
            try:
                return originals[name](*arguments)
            finally:
                spent += time.perf_counter() - started

        return call

    try:
        for name in originals:
            setattr(Sampler, name, timed(name))
        started = time.perf_counter()
        for _ in range(repeats):
            model().fit(rows)
        return spent / (time.perf_counter() - started)
    finally:
        for name, original in originals.items():
            setattr(Sampler, name, original)


def peak_memory(rows: np.ndarray, what: str) -> float:
    """Return the peak memory of a fit beyond the loaded rows, in bytes, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        command = [sys.executable, "-m", "dpmondrian_lab.benchmarks.speed", "--measure-memory", what, str(path)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def resident() -> int:
    """Return the memory that this process holds now, in bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measure_memory(what: str, path: str) -> None:
    """Print how far a fit raises the memory of this process, looked at every millisecond."""
    rows = np.load(path)

    def fit(part: np.ndarray) -> None:
        model().fit(part) if what == "DPM" else KMeans(n_clusters=64, n_init=1).fit(part)

    fit(rows[:2000])
    gc.collect()
    before = peak = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.001):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    fit(rows)
    done.set()
    watcher.join()
    print(max(peak, resident()) - before)


def main() -> None:
    lines = [
        "| rows x columns | DPM, ms | KMeans(64), ms | ratio | noise, share of fit | peak memory, DPM | KMeans | input |"
    ]
    lines.append("|---" * 8 + "|")
    for n_rows, n_columns in (
        (100_000, 10),
        (1_000_000, 10),
        (500_000, 10),
        (100_000, 20),
        (100_000, 40),
        (100_000, 100),
    ):
        rows, _ = synthetic.blobs(n_rows, n_columns)
        ours = median_time(lambda rows=rows: model().fit(rows))
        theirs = median_time(lambda rows=rows: KMeans(n_clusters=64, n_init=1).fit(rows))
        share = noise_share(rows)
        memory = [peak_memory(rows, what) / 2**20 for what in ("DPM", "KMeans")]
        lines.append(
            f"| {n_rows:,} x {n_columns} | {1e3 * ours:.1f} | {1e3 * theirs:.0f} | 1/{theirs / ours:.1f} | {share:.0%} "
            f"| {memory[0]:.0f} MiB | {memory[1]:.0f} MiB | {rows.nbytes / 2**20:.0f} MiB |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))
    OUTPUT.mkdir(exist_ok=True)
    write_file(OUTPUT / "speed.md", "\n".join(lines) + "\n", overwrite=True, make_folder=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure-memory", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    measure_memory(*arguments.measure_memory) if arguments.measure_memory else main()
