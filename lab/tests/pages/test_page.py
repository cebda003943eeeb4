"""The page: checks decided from rows, numbers filled in, parts left out."""

from __future__ import annotations

import re

import pytest

from dpmondrian_lab.experiments.catalogue import EXPERIMENTS
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.pages.checks import check_all
from dpmondrian_lab.pages.page import page_text
from dpmondrian_lab.pages.published import published
from dpmondrian_lab.pages.values import Values, fill


def kopt(data_set: str, algorithm: str, **metrics: float) -> list[Row]:
    return [Row(Run("kopt", data_set, algorithm, i), metrics) for i in range(2)]


def timed(data_set: str, **seconds: float) -> list[Row]:
    return [Row(Run("timing", data_set, key, 0, base_seed=None), {"seconds": s}) for key, s in seconds.items()]


def answer(part: str, rows: list[Row], times: list[Row] = ()):
    return next(check for check in check_all(rows, times) if part in check.statement)


def test_what_was_not_measured_is_neither_yes_nor_no():
    assert {check.holds for check in check_all([], [])} == {None}
    assert "not measured" in str(check_all([], [])[0])


@pytest.mark.parametrize(("silhouette", "holds"), [(0.97, True), (0.9704, True), (0.98, False)])
def test_one_lost_metric_is_too_much_on_separated_data(silhouette, holds):
    rows = kopt("synth_10d", "dpm", inertia=1.0, silhouette=0.97) + kopt(
        "synth_10d", "dpm_k", inertia=2.0, silhouette=0.5
    )
    rows += kopt("synth_10d", "lsh_splits", inertia=3.0, silhouette=silhouette)
    found = answer("Synth-10d: DPM, with or without k", rows)
    assert found.holds is holds
    if not holds:
        assert found.reason == "Lost: silhouette (LSH-Splits 0.980, DPM 0.970, DPM, k given 0.500)"


def test_one_lost_metric_is_allowed_on_overlapping_data():
    ours = kopt("uci_letters", "dpm_k", inertia=2.0, silhouette=0.5, accuracy=0.3, kmeans_distance=0.1)
    one = kopt("uci_letters", "fast_lloyd", inertia=1.0, silhouette=0.1, accuracy=0.1, kmeans_distance=0.2)
    two = kopt("uci_letters", "pe_means", inertia=3.0, silhouette=0.6, accuracy=0.1, kmeans_distance=0.2)
    assert answer("UCI Letters: DPM, with", ours + one).holds
    assert not answer("UCI Letters: DPM, with", ours + one + two).holds


@pytest.mark.parametrize(("factor", "holds"), [(1.9, True), (-1.9, True), (3.1, False)])
def test_two_standard_deviations_of_the_paper(factor, holds):
    paper = published("synth_10d", "inertia", "dp_lloyd_published")
    rows = kopt("synth_10d", "dp_lloyd_published", inertia=paper.mean + factor * paper.deviation)
    assert answer("Synth-10d: DP-Lloyd", rows).holds is holds


def test_speed_is_compared_with_kmeans_and_peers_but_not_with_ourselves():
    assert answer("UCI Gas: DPM is faster", [], timed("uci_gas", dpm=0.1, dpm_k=0.05, kmeans=0.2)).holds
    slower = answer("UCI Gas: DPM is faster", [], timed("uci_gas", dpm=0.1, fast_lloyd=0.09, kmeans=0.2))
    assert slower.holds is False
    assert "FastLloyd 0.09 s" in slower.reason


def test_the_page_of_everything_has_no_gaps(made_rows):
    text = page_text({name: made_rows(name) for name in EXPERIMENTS}, {"cores": "2"})
    assert "${" not in text
    assert "not measured" not in text
    assert "<!--" not in text
    assert "| cores | 2 |" in text
    assert "kopt 1,330 of 1,330" in text
    assert "84 for DPM, paper's variant, 84 for DPM" in text
    assert "10 (PE-means: 1)" in text
    for figure in re.findall(r"\(figures/(\w+)\.png\)", text):
        assert figure in ("fig1", "fig4", "fig5", "fig6", "epsilon", "rows", "clusters")


def test_parts_without_rows_are_left_out(made_rows):
    rows = {name: [] for name in EXPERIMENTS} | {"clusters": made_rows("clusters")}
    text = page_text(rows, {})
    assert "## Clusters found" in text
    assert "Table 2" not in text
    assert "## Figure 4" not in text


def test_failed_runs_are_listed(made_rows):
    failed = Row(Run("kopt", "synth_10d", "em_mc", 0), error="MemoryError: too much")
    rows = {name: [] for name in EXPERIMENTS} | {"kopt": [failed]}
    assert "- EM-MC on Synth-10d: 1 failed. MemoryError: too much" in page_text(rows, {})


def test_placeholders():
    values = Values({"name": "x"}, kopt("synth_10d", "dpm", inertia=2.0), timed("synth_10d", dpm=0.5, kmeans=2.0))
    text = (
        "${name} ${cell.synth_10d.dpm.inertia} ${mean.synth_10d.dpm.inertia} ${paper_mean.synth_10d.dpm_paper.inertia}"
    )
    assert fill(text, values) == "x 2.00e0 (0.00e0) 2.00e0 1.8e7"
    assert fill("${seconds.synth_10d.kmeans} ${speed.synth_10d.kmeans}", values) == "2 4"
    assert fill("${mean.synth_10d.kmeans.inertia} ${speed.uci_gas.kmeans}", values) == "(not measured) (not measured)"
    for wrong in ("${nothing}", "${mean.synth_10d}", "${paper.synth_10d.dpm.inertia}"):
        with pytest.raises(KeyError):
            fill(wrong, values)
