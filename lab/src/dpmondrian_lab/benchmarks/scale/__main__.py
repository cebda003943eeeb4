"""Time, memory and quality over the number of rows: ``python -m dpmondrian_lab.benchmarks.scale [--rows 1e5 1e6 1e7] [--columns 10 100]``.

Float32 Gaussian clusters in Parquet files, which are made first, on all engines, beside KMeans and MiniBatchKMeans on the
same rows and beside simply reading the file. Every run is a process of its own; runs of different contenders take turns.
1e8 rows have to be asked for (--rows 1e8): minutes, and 5 GB of disk. Results go to lab/src/dpmondrian_lab/benchmarks/output/scale.md, and each run
to scale.jsonl there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.benchmarks.scale import data
from dpmondrian_lab.benchmarks.scale.contenders import CONTENDERS, SCANS
from dpmondrian_lab.benchmarks.scale.page import Case, Result, Run, page
from dpmondrian_lab.benchmarks.speed import OUTPUT
from dpmondrian_lab.common.growing_files import append_line

ENGINES = {name: [name] for name in CONTENDERS if name not in SCANS} | {"scan": list(SCANS)}
SMALL_ROWS = 50_000
MOST_VALUES = 10**9
MOST_VALUES_KMEANS = 10**8


def cases_of(n_rows: int, n_columns: int, contenders: list[str]) -> list[Case]:
    """Return the cases of a size, without those that are too large for the disk, or take KMeans too long."""
    most = {name: MOST_VALUES_KMEANS if name == "kmeans" else MOST_VALUES for name in contenders}
    cases = [Case(n_rows, n_columns, name) for name in contenders]
    for case in cases:
        if n_rows * n_columns > most[case.contender]:
            print(
                f"Left out: {case.size}, {case.contender}: more than {most[case.contender]:,} values.", file=sys.stderr
            )
    return [case for case in cases if n_rows * n_columns <= most[case.contender]]


def written(folder: Path, n_rows: int, n_columns: int) -> Path:
    """Return the file of a size, which is written unless it is there."""
    path = folder / f"blobs-{n_rows}x{n_columns}.parquet"
    if not path.exists():
        print(f"Writing {n_rows:,} x {n_columns} ...", file=sys.stderr, flush=True)
        data.write(path, n_rows, n_columns)
    return path


def run(case: Case, path: Path, small: Path, scratch: str) -> Run | None:
    """Return the measurement of one run in a process of its own, None if it failed; why is printed."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "dpmondrian_lab.benchmarks.scale.one_run", case.contender, str(path), str(small)]
    process = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, "TMPDIR": scratch}
    )
    seconds = time.perf_counter() - started
    if process.returncode != 0:
        reason = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        print(f"{case.size}, {case.contender}: failed: {reason}", file=sys.stderr, flush=True)
        return None
    measured: Run = json.loads(process.stdout.splitlines()[-1])
    print(
        f"{case.size}, {case.contender}: {measured['seconds']:.3f} s (process {seconds:.0f} s)",
        file=sys.stderr,
        flush=True,
    )
    return measured


def measure(cases: list[Case], n_runs: int, folder: Path | None) -> list[Result]:
    """Return the results of the cases of one size, whose runs take turns."""
    runs: dict[Case, list[Run]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = written(folder or Path(scratch), cases[0].n_rows, cases[0].n_columns)
        small = written(Path(scratch), SMALL_ROWS, cases[0].n_columns)
        for _ in range(n_runs):
            for case in cases:
                measured = run(case, path, small, scratch)
                if measured is not None:
                    runs[case].append(measured)
                    append_line(OUTPUT / "scale.jsonl", json.dumps(vars(case) | measured))
        return [Result(case, path.stat().st_size, of_case) for case, of_case in runs.items()]


def whole_number(text: str) -> int:
    return int(float(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=whole_number, default=[10**5, 10**6, 10**7], metavar="N")
    parser.add_argument("--columns", nargs="+", type=whole_number, default=[10, 100], metavar="N")
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME", help=", ".join(ENGINES)
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each contender (default 3)")
    parser.add_argument(
        "--folder", type=Path, help="where files are made, and kept for the next time; else temporary ones"
    )
    wanted = parser.parse_args()
    contenders = [name for engine in wanted.engines for name in ENGINES[engine]]
    if wanted.folder is not None:
        wanted.folder.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "scale.jsonl").unlink(missing_ok=True)
    results: list[Result] = []
    for n_columns in wanted.columns:
        for n_rows in wanted.rows:
            cases = cases_of(n_rows, n_columns, contenders)
            if not cases:
                continue
            results += measure(cases, wanted.runs, wanted.folder)
            write_file(
                OUTPUT / "scale.md", page(results, wanted.runs, os.cpu_count() or 1), overwrite=True, make_folder=True
            )
    if results:
        print(page(results, wanted.runs, os.cpu_count() or 1))


if __name__ == "__main__":
    main()
