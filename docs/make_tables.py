"""Writes the table of README.md from results/tables, which `dpm reproduce all` makes: ``python docs/make_tables.py``."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from dpmondrian_lab.datasets import get
from dpmondrian_lab.pages.names import algorithm_name, data_set_name

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(?<=<!-- table: docs/make_tables.py -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
PEERS = ("dp_lloyd", "em_mc", "lsh_splits", "fast_lloyd", "pe_means")
"""Those that hold the epsilon they are given."""
HEADER = """\
| data (clusters) | KMeans, not private | best private peer | DPM, k given | DPM, no k (found) |
|---|---|---|---|---|
"""


def rows(metric: str) -> dict[str, dict[str, str]]:
    """Return the cells of one metric by data set."""
    found = {}
    for name in ("table2.csv", "table3.csv"):
        with open(ROOT / "results" / "tables" / name, encoding="utf-8", newline="") as file:
            found |= {row["data_set"]: row for row in csv.DictReader(file) if row["metric"] == metric}
    return found


def line(key: str, inertia: dict[str, str], centres: dict[str, str]) -> str:
    """Return the line of one data set."""

    def value(algorithm: str) -> str:
        mantissa, exponent = f"{float(inertia[f'{algorithm}_mean']):.2e}".split("e")
        return f"{mantissa}e{int(exponent)}"

    peer = min((peer for peer in PEERS if inertia[f"{peer}_mean"]), key=lambda peer: float(inertia[f"{peer}_mean"]))
    found = f"{float(centres['dpm_mean']):.1f}".removesuffix(".0")
    return (
        f"| {data_set_name(key)} ({get(key).n_clusters}) | {value('kmeans')} | {value(peer)} {algorithm_name(peer)} "
        f"| {value('dpm_k')} | {value('dpm')} ({found}) |\n"
    )


def table() -> str:
    """Return the whole table, and which version it is about."""
    inertia, centres = rows("inertia"), rows("n_centres")
    version = json.loads((ROOT / "results" / "rows" / "machine.json").read_text(encoding="utf-8"))["dpmondrian"]
    lines = "".join(line(key, inertia[key], centres[key]) for key in inertia)
    return f"{HEADER}{lines}\nMeasured with dpmondrian {version}.\n"


def with_table(text: str) -> str:
    """Return a text with the table at its place."""
    return MARKED.sub(lambda _: table(), text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")
