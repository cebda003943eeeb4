"""Tables: means, deviations, bold, daggers and failures, on made-up rows."""

from __future__ import annotations

import csv
import io
import statistics

import pytest

from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.pages.summary import number
from dpmondrian_lab.pages.tables import csv_table, make_table, markdown_table, records, timing_markdown


def rows_of(algorithm: str, *inertias: float, data_set: str = "synth_10d", failed: int = 0) -> list[Row]:
    epsilon = None if algorithm == "kmeans" else 1.0
    rows = [Row(Run("kopt", data_set, algorithm, i, epsilon), {"inertia": value}) for i, value in enumerate(inertias)]
    return rows + [
        Row(Run("kopt", data_set, algorithm, 100 + i, epsilon), error="ValueError: no") for i in range(failed)
    ]


@pytest.fixture
def table():
    return make_table(
        rows_of("kmeans", 1e6, 1e6)
        + rows_of("dp_lloyd", 4e6, 1e6, 2e6)
        + rows_of("dp_lloyd_published", 1.5e6, 1.5e6)
        + rows_of("lsh_splits", 1.1e6, failed=2)
        + rows_of("em_mc", failed=3)
        + rows_of("dpm", 2.1e6, 2.2e6)
        + rows_of("dpm_k", 2.15e6, 2.15e6)
    )


def test_mean_and_sample_deviation_are_exact(table):
    summary = table["synth_10d", "inertia", "dp_lloyd"].summary
    assert summary.mean == 7e6 / 3
    assert summary.deviation == pytest.approx(statistics.stdev([4e6, 1e6, 2e6]), rel=1e-15)
    assert summary.deviation == pytest.approx((7e12 / 3) ** 0.5, rel=1e-12)


def test_only_sound_private_algorithms_without_failures_can_be_best_and_ties_share_it(table):
    assert {algorithm for (_, _, algorithm), cell in table.items() if cell.best} == {"dpm", "dpm_k"}


def test_more_is_better_where_it_is():
    rows = [
        Row(Run("kopt", "synth_10d", algorithm, 0), {"inertia": 1.0, "silhouette": value, "n_centres": 9.0})
        for algorithm, value in (("dpm", 0.5), ("fast_lloyd", 0.9))
    ]
    best = {(metric, algorithm) for (_, metric, algorithm), cell in make_table(rows).items() if cell.best}
    assert best == {("inertia", "dpm"), ("inertia", "fast_lloyd"), ("silhouette", "fast_lloyd")}


def test_markdown_shows_everything(table):
    header, rule, line = markdown_table(table).splitlines()
    assert header == (
        "| data | metric | KMeans | DP-Lloyd | DP-Lloyd, as published† | EM-MC | LSH-Splits | DPM | DPM, k given |"
    )
    assert rule == "|---" * 9 + "|"
    assert line == (
        "| Synth-10d | inertia | 1.00e6 (0.00e0)<br>paper 1.0e6 (2.0e-10) | 2.33e6 (1.53e6) "
        "| 1.50e6 (0.00e0)<br>paper 6.0e8 (1.0e8) | 3 failed | 1.10e6 2 failed "
        "| **2.15e6 (7.07e4)** | **2.15e6 (0.00e0)** |"
    )


def test_csv_has_all_digits(table):
    (line,) = csv.DictReader(io.StringIO(csv_table(table)))
    assert float(line["dp_lloyd_mean"]) == 7e6 / 3
    assert (line["dp_lloyd_runs"], line["lsh_splits_failed"], line["dpm_best"]) == ("3", "2", "True")
    assert (line["kmeans_paper_mean"], line["em_mc_mean"]) == ("1000000.0", "")


def test_records_are_plain(table):
    record = next(record for record in records(table) if record["algorithm"] == "em_mc")
    assert (record["mean"], record["failed"], record["paper_mean"]) == (None, 3, None)


def test_the_time_table_shows_medians_and_failures():
    rows = [
        Row(Run("timing", "uci_gas", "dpm", i, base_seed=None), {"seconds": s}) for i, s in enumerate((0.1, 0.2, 0.9))
    ]
    rows.append(Row(Run("timing", "uci_gas", "em_mc", 0, base_seed=None), error="MemoryError: "))
    assert timing_markdown(rows).splitlines()[2] == "| UCI Gas | 1 failed | 0.2 |"


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("inertia", 1.234e6, "1.23e6"),
        ("inertia", 0.0, "0.00e0"),
        ("silhouette", -0.1234, "-0.123"),
        ("kmeans_distance", 14.19, "14.1900"),
        ("kmeans_distance", 0.00016, "1.6e-4"),
        ("kmeans_distance", 3e-17, "0"),
        ("n_centres", 63.8, "63.8"),
        ("seconds", 0.02134, "0.0213"),
        ("seconds", 1234.0, "1234"),
        ("accuracy", float("nan"), "-"),
    ],
)
def test_numbers_are_printed_as_they_should(metric, value, text):
    assert number(metric, value) == text
