"""The paper's numbers as data: mean (sample standard deviation) of 20 runs, with epsilon = 1 and delta = n^-1.5.

Liebenow, Schütt, Braun, Gehrke, Thaeter, Mohammadi: DPM: Clustering Sensitive Data through Separation, CCS 2024,
arXiv:2307.02969, the tables labelled ``tab:kopt_main`` (here table 2) and ``tab:kopt_ablation`` (table 3). Two stars mark
what the paper prints in bold, its best private algorithm. Running times are published as a chart only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["PUBLISHED", "REPEATS", "TABLE_DATA_SETS", "Published", "published"]

TABLE_DATA_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "table2": ("mnist_embs", "fashion_embs", "synth_10d", "synth_100d"),
        "table3": ("uci_letters", "uci_gas"),
    }
)

REPEATS: Mapping[str, str] = MappingProxyType(
    {
        "kmeans": "kmeans",
        "dp_lloyd_published": "dp_lloyd",
        "em_mc_published": "em_mc",
        "lsh_splits_published": "lsh_splits",
        "dpm_paper": "dpm",
    }
)
"""Which of our algorithms repeats which column of the paper; the others have no number there."""

_COLUMNS = ("kmeans", "dp_lloyd", "em_mc", "lsh_splits", "dpm")

_NUMBERS = """
mnist_embs   silhouette      | 0.61 (0.02)     | 0.14 (0.28)     | 0.42 (0.07)     | 0.59 (0.01)     | **0.60 (0.01)**
mnist_embs   accuracy        | 0.98 (0.02)     | 0.33 (0.12)     | 0.79 (0.07)     | 0.95 (0.01)     | **0.98 (0.01)**
mnist_embs   inertia         | 1.4e6 (1.3e5)   | 7.5e6 (1.2e6)   | 3.8e6 (7.1e5)   | 1.7e6 (1.3e5)   | **1.4e6 (6.3e4)**
mnist_embs   kmeans_distance | 0.00 (0.00)     | 0.30 (0.05)     | 0.07 (0.01)     | 0.03 (0.01)     | **0.02 (0.00)**
fashion_embs silhouette      | 0.40 (0.01)     | -0.10 (0.61)    | 0.27 (0.05)     | 0.39 (0.01)     | **0.40 (0.01)**
fashion_embs accuracy        | 0.77 (0.04)     | 0.22 (0.10)     | 0.58 (0.05)     | **0.75 (0.03)** | 0.71 (0.03)
fashion_embs inertia         | 1.2e6 (3.0e4)   | 5.7e6 (1.3e6)   | 3.2e6 (4.5e5)   | **1.5e6 (5.9e4)** | 1.6e6 (2.0e5)
fashion_embs kmeans_distance | 0.00 (0.03)     | 0.33 (0.04)     | 0.07 (0.02)     | 0.06 (0.01)     | **0.04 (0.00)**
synth_10d    silhouette      | 0.97 (0.00)     | 0.61 (0.05)     | 0.42 (0.05)     | 0.93 (0.02)     | **0.96 (0.02)**
synth_10d    accuracy        | 1.00 (0.00)     | 0.66 (0.05)     | 0.49 (0.07)     | 0.95 (0.02)     | **0.99 (0.01)**
synth_10d    inertia         | 1.0e6 (2.0e-10) | 6.0e8 (1.0e8)   | 1.5e9 (8.4e7)   | 1.2e8 (3.0e7)   | **1.8e7 (2.7e7)**
synth_10d    kmeans_distance | 0.00 (0.00)     | 0.12 (0.01)     | 14.19 (43.27)   | 0.04 (0.01)     | **0.01 (0.00)**
synth_100d   silhouette      | 0.98 (0.00)     | 0.58 (0.04)     | 0.09 (0.02)     | **0.98 (0.01)** | **0.98 (0.01)**
synth_100d   accuracy        | 1.00 (0.00)     | 0.63 (0.04)     | 0.11 (0.03)     | **1.00 (0.00)** | **1.00 (0.01)**
synth_100d   inertia         | 1.0e7 (2.6e-9)  | 1.5e10 (9.7e8)  | 3.5e10 (1.5e9)  | 8.0e8 (3.6e8)   | **5.4e8 (3.4e8)**
synth_100d   kmeans_distance | 0.00 (0.00)     | 0.21 (0.01)     | 19.32 (26.26)   | **0.03 (0.00)** | **0.03 (0.00)**
uci_letters  silhouette      | 0.15 (0.00)     | **0.09 (0.02)** | **0.09 (0.02)** | 0.07 (0.01)     | 0.05 (0.01)
uci_letters  accuracy        | 0.28 (0.01)     | 0.13 (0.02)     | 0.11 (0.02)     | **0.24 (0.02)** | 0.20 (0.02)
uci_letters  inertia         | 5.8e5 (2.8e3)   | 1.1e6 (6.4e4)   | 1.2e6 (6.7e4)   | **8.5e5 (2.6e4)** | 9.5e5 (3.3e4)
uci_letters  kmeans_distance | 0.00 (0.00)     | 0.20 (0.01)     | 23.81 (67.34)   | **0.07 (0.00)** | 0.10 (0.01)
uci_gas      silhouette      | 0.37 (0.00)     | -1.00 (0.00)    | -1.00 (0.00)    | -0.08 (0.56)    | **0.13 (0.27)**
uci_gas      inertia         | 2.5e7 (1.0e1)   | 5.1e7 (5.7e6)   | 4.0e7 (5.0e5)   | 1.0e8 (2.7e7)   | **3.7e7 (1.6e7)**
uci_gas      kmeans_distance | 0.00 (0.00)     | 0.25 (0.02)     | **0.00 (0.00)** | 0.02 (0.00)     | 0.01 (0.00)
"""


@dataclass(frozen=True)
class Published:
    """A cell of the paper's tables.

    Attributes
    ----------
    mean, deviation : float
    text : str
        As printed, without the bold.
    bold : bool
    rounding : float
        Half a unit in the last digit of the mean.
    """

    mean: float
    deviation: float
    text: str
    bold: bool
    rounding: float


def _cell(text: str) -> Published:
    plain = text.strip("* ")
    found = re.fullmatch(r"(-?\d\.?\d*|\d+\.\d+)(?:e(\d+))? \((.+)\)", plain)
    assert found is not None
    mantissa, exponent, deviation = found.groups()
    digits = len(mantissa.partition(".")[2])
    rounding = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    mean = float(mantissa + (f"e{exponent}" if exponent else ""))
    return Published(mean, float(deviation), plain, "**" in text, rounding)


def _cells() -> Iterator[tuple[tuple[str, str, str], Published]]:
    for line in _NUMBERS.strip().splitlines():
        head, *cells = line.split("|")
        data_set, metric = head.split()
        for column, cell in zip(_COLUMNS, cells, strict=True):
            yield (data_set, metric, column), _cell(cell)


PUBLISHED: Mapping[tuple[str, str, str], Published] = MappingProxyType(dict(_cells()))
"""From data set, metric and the paper's algorithm to the cell. UCI Gas has no classes, so no accuracy."""


def published(data_set: str, metric: str, algorithm: str) -> Published | None:
    """Return the paper's number that one of our algorithms repeats, if there is one."""
    return PUBLISHED.get((data_set, metric, REPEATS.get(algorithm, "")))
