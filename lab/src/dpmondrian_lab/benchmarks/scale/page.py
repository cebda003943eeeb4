"""The tables of the benchmark, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmondrian_lab.benchmarks.found import line
from dpmondrian_lab.benchmarks.scale.contenders import READ_A_FILE, SCANS

Run = dict[str, Any]
_HEAD_LINES = 2


@dataclass(frozen=True)
class Case:
    """One line: a contender on a file."""

    n_rows: int
    n_columns: int
    contender: str

    @property
    def size(self) -> str:
        return f"{self.n_rows:,} x {self.n_columns}"


@dataclass(frozen=True)
class Result:
    """All runs of a case; there are none if all failed. What is not a time or a peak is told of the one with the median time."""

    case: Case
    file_bytes: int
    runs: Sequence[Run]

    @property
    def median(self) -> Run:
        return sorted(self.runs, key=lambda run: run["seconds"])[(len(self.runs) - 1) // 2]

    def most(self, name: str) -> int:
        return max(run[name] for run in self.runs)

    @property
    def of_the_fit(self) -> int:
        """Bytes by which the memory rose, at most."""
        return max(run["peak"] - run["before"] for run in self.runs)


def page(results: Sequence[Result], n_runs: int, n_cores: int) -> str:
    done = [result for result in results if result.runs]
    fits = [result for result in done if result.median["asked"]]
    sections = [
        ("Fits", "", _main_table(results)),
        ("Time per operation", "Seconds, and in brackets the number of passes.", _operations_table(fits)),
        (
            "A level, and a pass that only reads the codes",
            "A level moves rows and counts them; its time is also given as a multiple of that of reading.",
            _level_table([result for result in fits if result.median["reading"]]),
        ),
        ("Growth with the number of rows", "Exponents: 1 is linear, 0 is constant.", _growth_table(done)),
    ]
    parts = [
        "# Time, memory and quality over the number of rows",
        f"Written by `python -m dpmondrian_lab.benchmarks.scale` on {n_cores} cores. Runs of each line: {n_runs}; the one with the median time is "
        "shown. `lab/src/dpmondrian_lab/benchmarks/README.md` says what is measured.",
    ]
    for title, text, table in sections:
        if len(table) > _HEAD_LINES:
            parts += [f"## {title}", *([text] if text else []), "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [line(list(titles)), "|---" * len(titles) + "|", *(line(list(row)) for row in rows)]


def _mebibytes(n_bytes: int | None) -> str:
    return f"{n_bytes / 2**20:,.0f}" if n_bytes else "-"


def _seconds_of(results: Sequence[Result], like: Case, contenders: Sequence[str]) -> float:
    """Return the time of the fastest of some contenders on the same file, not a number if none ran."""
    seconds = [
        result.median["seconds"]
        for result in results
        if result.runs and result.case.size == like.size and result.case.contender in contenders
    ]
    return min(seconds, default=float("nan"))


def _multiple(seconds: float, base: float) -> str:
    return "-" if np.isnan(base) else f"{seconds / base:.2f}"


def _main_table(results: Sequence[Result]) -> list[str]:
    def cells(result: Result) -> list[str]:
        case, begin = result.case, [f"{result.case.size} ({result.file_bytes / 1e6:,.0f} MB)", result.case.contender]
        if not result.runs:
            return [*begin, "failed", *["-"] * 9]
        run = result.median
        scan = _seconds_of(results, case, SCANS) if case.contender in READ_A_FILE else float("nan")
        memory = _seconds_of(results, case, ["memory"])
        times = [other["seconds"] for other in result.runs]
        return [
            *begin, f"{run['seconds']:.3f}", f"{min(times):.3f} to {max(times):.3f}", _multiple(run["seconds"], scan),
            _multiple(run["seconds"], memory), _mebibytes(result.most("peak")), _mebibytes(result.of_the_fit),
            _mebibytes(result.most("workers")), _mebibytes(run["spilled_bytes"]), str(run.get("n_clusters", "-")),
            f"{run['inertia_ratio']:.4f}" if "inertia_ratio" in run else "-",
        ]  # fmt: skip

    titles = (
        "rows x columns (file)", "contender", "time, s", "least to most", "/ fastest scan", "/ memory", "peak memory, MiB",
        "of it by the fit", "workers, MiB", "spilled, MiB", "clusters", "inertia / true centres",
    )  # fmt: skip
    return _table(titles, map(cells, results))


def _operations_table(fits: Sequence[Result]) -> list[str]:
    kinds = list(dict.fromkeys(kind for result in fits for kind, _, _ in result.median["asked"]))

    def cells(result: Result) -> list[str]:
        run = result.median
        seconds = {kind: [s for other, _, s in run["asked"] if other == kind] for kind in kinds}
        passes = [s for _, _, s in run["asked"][1:]]
        shown = [f"{sum(of_kind):.3f} ({len(of_kind)})" if of_kind else "-" for of_kind in seconds.values()]
        elsewhere = run["seconds"] - sum(map(sum, seconds.values()))
        per_pass = f"{statistics.fmean(passes):.4f}" if passes else "-"
        return [result.case.size, result.case.contender, *shown, f"{elsewhere:.3f}", per_pass]

    titles = ["rows x columns", "contender", *kinds, "elsewhere", "per pass after encode"]
    return _table(titles, map(cells, fits))


def _level_table(fits: Sequence[Result]) -> list[str]:
    def cells(result: Result) -> list[str]:
        run = result.median
        levels: dict[int, float] = {}
        for kind, n_moves, seconds in run["asked"]:
            if kind == "Histograms":
                levels[n_moves] = levels.get(n_moves, 0.0) + seconds
        times = [statistics.median(levels.values()), max(levels.values())]
        return [
            result.case.size, result.case.contender, f"{1e3 * run['reading']:.2f}",
            f"{run['code_bytes'] / run['reading'] / 1e9:.1f}", str(len(levels)),
            *(f"{1e3 * seconds:.2f} ({seconds / run['reading']:.2f})" for seconds in times),
        ]  # fmt: skip

    titles = (
        "rows x columns", "contender", "reading, ms", "GB/s", "levels", "a level, ms (readings)", "the slowest, ms (readings)",
    )  # fmt: skip
    return _table(titles, map(cells, fits))


def _growth_table(done: Sequence[Result]) -> list[str]:
    """Return how time and memory grow: the exponents of powers of the rows, fitted to all sizes and to the last two."""
    lines: dict[tuple[int, str], list[Result]] = {}
    for result in sorted(done, key=lambda result: result.case.n_rows):
        lines.setdefault((result.case.n_columns, result.case.contender), []).append(result)

    def cells(n_columns: int, contender: str, sizes: Sequence[Result]) -> list[str]:
        n_rows = [result.case.n_rows for result in sizes]
        times = [result.median["seconds"] for result in sizes]
        memory = [result.of_the_fit for result in sizes]
        return [
            str(n_columns), contender, f"{n_rows[0]:,} to {n_rows[-1]:,}",
            *(_exponent(n_rows[-n:], values[-n:]) for values in (times, memory) for n in (len(sizes), 2)),
        ]  # fmt: skip

    titles = ("columns", "contender", "rows", "time", "time, last step", "memory of the fit", "memory, last step")
    return _table(titles, [cells(*key, sizes) for key, sizes in lines.items() if len(sizes) > 1])


def _exponent(n_rows: Sequence[int], values: Sequence[float]) -> str:
    if min(values) <= 0:  # a fit so small that it needed no more memory than the one before it
        return "-"
    return f"{np.polyfit(np.log(n_rows), np.log(values), 1)[0]:.2f}"
