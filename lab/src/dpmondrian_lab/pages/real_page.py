"""The page ``results/real/README.md``: what a practitioner would do instead, on tables that are used; from rows alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.experiments.catalogue import BEYOND, ENLARGED, NULLS, RIVALS, SLOW_RIVALS
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.beyond import (
    REFERENCE,
    Win,
    collected,
    fallen_sets,
    lost_cells,
    mean_of,
    ratios,
    suite_index,
    wins,
)
from dpmondrian_lab.pages.beyond_checks import check_beyond
from dpmondrian_lab.pages.names import algorithm_name
from dpmondrian_lab.pages.page import kept_parts, repetitions
from dpmondrian_lab.pages.summary import number, summarise
from dpmondrian_lab.pages.values import fill
from dpmondrian_lab.peers.registry import ALGORITHMS

__all__ = ["real_page_text", "write_real_page"]

_MOST_WINS = 12
"""Cells that are listed for each rival."""


def write_real_page(store: Store) -> Path:
    """Write the page of an output folder and return its path."""
    path = store.folder / "README.md"
    rows = {name: store.published(name) for name in BEYOND}
    write_file(path, real_page_text(rows), overwrite=True, make_folder=True)
    return path


def real_page_text(rows: Mapping[str, list[Row]]) -> str:
    """Return the page from the rows of all experiments by name."""
    fallen, n_sets = fallen_sets(rows["suite"])
    given = {
        "checks": "\n".join(str(check) for check in check_beyond(rows)),
        "left_out": _left_out(rows["real_k"]),
        "ratios": _ratio_table(rows["real_k"]),
        "lost": _lost(rows["real_k"]),
        "wins": _win_list(wins(ratios(rows["real_k"]))),
        "times": _time_table(rows["real_times"]),
        "found": _found_table(rows["real_found"]),
        "stability": _stability_table(rows["real_found"]),
        "suite": _suite_table(rows["suite"]),
        "fallen": f"{len(fallen)} of {n_sets}" + (f" ({', '.join(map(_short, fallen))})" if fallen else ""),
        "power": _power_table(rows["nulls"]),
        "failed": _failed(row for group in rows.values() for row in group if row.failed),
        **{f"runs_{name}": repetitions(group) for name, group in rows.items()},
        "seeds": _runs_per_shape(rows["nulls"]),
    }
    text = files("dpmondrian_lab.pages").joinpath("templates", "real.md").read_text(encoding="utf-8")
    return fill(kept_parts(text, {name for name, group in rows.items() if group}), given)


def _markdown(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def _short(data_set: str) -> str:
    """Return the name of a table or set without that of its folder."""
    return data_set.partition("-")[2].replace("-k", ", k = ").replace(f"-n{ENLARGED}", ", enlarged")


def _present(rows: Iterable[Row]) -> list[str]:
    found = {row.run.algorithm for row in rows}
    return [key for key in ALGORITHMS if key in found]


def _left_out(rows: list[Row]) -> str:
    """Return a sentence about the algorithms that have no run."""
    missing = [algorithm_name(key) for key in (*RIVALS, *SLOW_RIVALS, "dpm_release") if key not in _present(rows)]
    return f"Without runs: {', '.join(missing)}." if missing else ""


def _failed(rows: Iterable[Row]) -> str:
    groups = collected(rows, lambda row: (row.run.experiment, row.run.algorithm))
    lines = [
        f"- {name}, {algorithm_name(algorithm)}: {len(group)} failed. {group[0].run.data_set}: {group[0].error}"
        for (name, algorithm), group in groups.items()
    ]
    return "\n".join(lines) or "No run failed."


def _runs_per_shape(rows: list[Row]) -> str:
    """Return how many runs each shape has at each epsilon, such as "8 to 20, 2,000 in all"."""
    groups = collected(rows, lambda row: (row.run.data_set.rpartition("-s")[0], row.run.epsilon))
    numbers = sorted(len(group) for group in groups.values()) or [0]
    each = str(numbers[0]) if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
    return f"{each}, {len(rows):,} in all"


def _ratio_table(rows: list[Row]) -> str:
    """Return the median, the ninetieth percentile and the worst cell of every algorithm, by epsilon."""
    cells = ratios(rows)
    epsilons = sorted({epsilon for _, epsilon in cells})
    lines = []
    for algorithm in _present(rows):
        values = {e: [c[algorithm] for (_, x), c in cells.items() if x == e and algorithm in c] for e in epsilons}
        if any(values.values()):
            lines.append([algorithm_name(algorithm), *(_spread(values[epsilon]) for epsilon in epsilons)])
    return _markdown(["", *(f"epsilon {epsilon:g}" for epsilon in epsilons)], lines)


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    median, ninetieth, worst = np.quantile(values, [0.5, 0.9, 1.0])
    return f"{median:.3f}, {ninetieth:.2f}, {worst:.2f} ({len(values)})"


def _lost(rows: list[Row]) -> str:
    n_lost, n_cells = lost_cells(ratios(rows))
    return f"{n_lost} of {n_cells} ({100 * n_lost / max(1, n_cells):.1f} %)"


def _win_list(won: list[Win]) -> str:
    """Return where each rival wins: its cells, the clearest first, with both ratios."""
    lines = []
    by_rival = {rival: [win for win in won if win.rival == rival] for rival in {win.rival for win in won}}
    for rival, cells in sorted(by_rival.items(), key=lambda item: (-len(item[1]), item[0])):
        named = [
            f"{_short(win.data_set)}, epsilon {win.epsilon:g} ({win.theirs:.2f}, DPM {win.ours:.2f})"
            for win in cells[:_MOST_WINS]
        ]
        more = [f"and {len(cells) - _MOST_WINS} more"] if len(cells) > _MOST_WINS else []
        lines.append(f"- **{algorithm_name(rival)}** ({len(cells)}): {'; '.join(named + more)}.")
    return "\n".join(lines) or "No rival wins a cell."


def _time_table(rows: list[Row]) -> str:
    groups = collected(rows, lambda row: (row.run.data_set, row.run.algorithm))
    algorithms = _present(rows)
    tables = list(dict.fromkeys(data_set for data_set, _ in groups))
    lines = (
        [
            _short(table),
            *(number("seconds", summarise(groups.get((table, a), []), "seconds").median) for a in algorithms),
        ]
        for table in tables
    )
    return _markdown(["", *map(algorithm_name, algorithms)], lines)


def _found_table(rows: list[Row]) -> str:
    """Return, for every table at epsilon 1, how stable the clusters are, how many there are, and how true."""
    lines = []
    for table, group in collected(rows, lambda row: row.run.data_set).items():
        ours = [row for row in group if row.run.algorithm == "dpm" and row.run.epsilon == 1.0 and not row.failed]
        kmeans = [row for row in group if row.run.algorithm == REFERENCE]
        if ours:
            found = [row.metrics["n_centres"] for row in ours]
            lines.append(
                [
                    _short(table),
                    number("adjusted_rand", mean_of(ours, "between_runs")),
                    f"{statistics.median(found):g} ({min(found):g} to {max(found):g})",
                    f"{100 * statistics.fmean(k == 1.0 for k in found):.0f} %",
                    number("adjusted_rand", mean_of(ours, "adjusted_rand")),
                    number("adjusted_rand", mean_of(kmeans, "adjusted_rand")),
                ]
            )
    head = ["", "between runs", "clusters", "one cluster", "with the label", "KMeans with the label"]
    return _markdown(head, lines)


def _stability_table(rows: list[Row]) -> str:
    """Return the means over all tables, by epsilon."""
    lines = []
    ours = [row for row in rows if row.run.algorithm == "dpm" and not row.failed]
    for epsilon, group in sorted(collected(ours, lambda row: float(row.run.epsilon or 0.0)).items()):
        lines.append(
            [
                f"{epsilon:g}",
                number("adjusted_rand", mean_of(group, "between_runs")),
                number("adjusted_rand", mean_of(group, "adjusted_rand")),
                f"{100 * statistics.fmean(row.metrics['n_centres'] == 1.0 for row in group):.0f} %",
            ]
        )
    return _markdown(["epsilon", "between runs", "with the label", "one cluster"], lines)


def _suite_table(rows: list[Row]) -> str:
    """Return the adjusted Rand index of every set, with the true k and without k, and the means."""
    columns: list[tuple[str, float | None, bool]] = [
        (REFERENCE, None, False),
        ("dpm_k", 1.0, False),
        *(("dpm", epsilon, large) for large in (False, True) for epsilon in (1.0, 4.0, 100.0)),
    ]
    index = suite_index(rows)
    names = list(dict.fromkeys(row.run.data_set.removesuffix(f"-n{ENLARGED}") for row in rows))
    table = {_short(name): [index(name, *column) for column in columns] for name in names}
    table["**mean**"] = [
        float(np.nanmean(values)) if not np.isnan(values).all() else np.nan
        for values in zip(*table.values(), strict=True)
    ]
    head = [
        "",
        "KMeans, true k",
        "DPM, true k",
        *(f"DPM, epsilon {e:g}{large}" for large in ("", ", enlarged") for e in (1, 4, 100)),
    ]
    return _markdown(head, ([name, *(number("adjusted_rand", v) for v in values)] for name, values in table.items()))


def _power_table(rows: list[Row]) -> str:
    """Return how often clusters that are there are found: shapes with more than one."""
    more = [row for row in rows if not row.run.data_set.startswith(NULLS) and not row.failed]
    lines = []
    for shape, group in collected(more, lambda row: row.run.data_set.rpartition("-")[0]).items():
        found = [row.metrics["n_centres"] for row in group]
        exact = statistics.fmean(k == get(group[0].run.data_set).n_clusters for k in found)
        lines.append(
            [
                shape,
                f"{statistics.median(found):g} ({min(found):g} to {max(found):g})",
                number("adjusted_rand", mean_of(group, "adjusted_rand")),
                f"{100 * exact:.0f} %",
            ]
        )
    return _markdown(["", "clusters found", "adjusted Rand", "right number"], lines)
