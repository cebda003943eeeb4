"""Time and peak memory of one fit, beside KMeans in the same process: ``python -m dpmondrian_lab.benchmarks.speed 100000x10``.

Only the fit is timed, warm, on one and on two threads, and medians of seven are reported; secure noise is included and its share
shown. What is read to answer questions, beside how fast memory is, tells how far a fit is from the limit of the machine. Peak memory is
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
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from dpmondrian import DPM, Resources
from dpmondrian.common.whole_files import write_file
from dpmondrian.engines import LocalEngine
from dpmondrian.privacy.mechanisms import Sampler
from dpmondrian_lab.datasets.blobs import blobs

BOUNDS = (-100.0, 100.0)
OUTPUT = Path(__file__).parent / "output"
REPEATS = 7
SIZES = ((100_000, 10), (1_000_000, 10), (100_000, 100))


def model() -> DPM:
    return DPM(epsilon=1.0, delta=1e-7, bounds=BOUNDS)


class Times(NamedTuple):
    """Seconds by the clock, and of all processors together."""

    wall: float
    processor: float


def timed(function: Callable[[], object]) -> Times:
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return Times(time.perf_counter() - wall, time.process_time() - processor)


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


def bytes_read(rows: np.ndarray) -> tuple[int, int]:
    """Return how many questions a fit asks of its rows, and how many bytes of codes and rests, or of the rows that these become, answering them reads."""
    total, asked = LocalEngine.total, [0, 0]

    def counted(engine: LocalEngine, question: Any) -> Any:
        asked[0] += 1
        for part in engine._parts:  # codes and rests become rows when both are asked for
            kept = [part.codes.get()] + ([part.rests.get()] if question.needs_rests else [])
            asked[1] += sum(array.nbytes for array in kept) if part.rows is None else part.rows.nbytes
        return total(engine, question)

    LocalEngine.total = counted  # type: ignore[method-assign]
    try:
        model().fit(rows)
    finally:
        LocalEngine.total = total  # type: ignore[method-assign]
    return asked[0], asked[1]


def bandwidth() -> float:
    """Return how many bytes a second one thread reads from memory: the fastest of a few sums over 256 MiB."""
    numbers = np.ones(2**25)
    return numbers.nbytes / min(timed(numbers.sum).wall for _ in range(5))


def compared(rows: np.ndarray, threads: int) -> str:
    """Return a line of the table of times: medians, ours and KMeans' in turn."""
    resources = Resources(threads=threads)
    with threadpool_limits(threads):
        model().fit(rows[:5000])
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(timed(lambda: model().fit(rows, resources=resources)))
            theirs.append(timed(lambda: KMeans(n_clusters=64, n_init=1).fit(rows)))
    (wall, processor), (wall_k, processor_k) = (np.median(times, axis=0) for times in (ours, theirs))
    n_rows, n_columns = rows.shape
    return (
        f"| {n_rows:,} x {n_columns} | {threads} | {1e3 * wall:.0f} | {1e3 * processor:.0f} | {1e3 * wall_k:.0f} | {1e3 * processor_k:.0f} "
        f"| {wall / wall_k:.2f} | {processor / processor_k:.2f} |"
    )


def main(sizes: list[tuple[int, int]]) -> None:
    times = [
        "| rows x columns | threads | DPM, ms | DPM, processor ms | KMeans(64), ms | KMeans, processor ms | ratio | ratio of processor time |",
        "|---" * 8 + "|",
    ]
    others = [
        "| rows x columns | noise, share of fit | peak memory, DPM | KMeans | input | questions | bytes read | at this memory's speed, ms |",
        "|---" * 8 + "|",
    ]
    speed = bandwidth()
    for n_rows, n_columns in sizes:
        rows, _ = blobs(n_rows, n_columns)
        for threads in (1, 2):
            times.append(compared(rows, threads))
            print(times[-1], file=sys.stderr, flush=True)
        memory = [peak_memory(rows, what) / 2**20 for what in ("DPM", "KMeans")]
        n_questions, n_bytes = bytes_read(rows)
        others.append(
            f"| {n_rows:,} x {n_columns} | {noise_share(rows):.0%} | {memory[0]:.0f} MiB | {memory[1]:.0f} MiB | {rows.nbytes / 2**20:.0f} MiB "
            f"| {n_questions} | {n_bytes / 2**20:.0f} MiB | {1e3 * n_bytes / speed:.1f} |"
        )
        print(others[-1], file=sys.stderr, flush=True)
    lines = [*times, "", f"One thread reads {speed / 1e9:.1f} GB/s from memory.", "", *others]
    print("\n".join(lines))
    write_file(OUTPUT / "speed.md", "\n".join(lines) + "\n", overwrite=True, make_folder=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sizes", nargs="*", metavar="ROWSxCOLUMNS", help="sizes of tables; default: the three of README"
    )
    parser.add_argument("--measure-memory", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.measure_memory:
        measure_memory(*arguments.measure_memory)
    else:
        given = [(int(rows), int(columns)) for rows, columns in (size.split("x") for size in arguments.sizes)]
        main(given or list(SIZES))
