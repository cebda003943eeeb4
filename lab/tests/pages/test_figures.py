"""Figures from made-up rows: written, not empty, the same bytes every time."""

from __future__ import annotations

import re

import pytest

from dpmondrian.exceptions import PlotsMissingError
from dpmondrian.show.plots import drawing
from dpmondrian_lab.experiments.catalogue import EXPERIMENTS
from dpmondrian_lab.experiments.rows import Row, write_rows
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.figures.shares import best_and_worst
from dpmondrian_lab.pages.names import PAPER_METRICS, style
from dpmondrian_lab.pages.targets import GROUPS, TARGETS

FIGURES = [name for name in GROUPS["all"] if TARGETS[name].is_figure]


def thinned(rows: list[Row]) -> list[Row]:
    """Return the first two runs of everything, and only two panels of many."""
    return [
        row
        for row in rows
        if row.run.iteration < 2 and (row.run.experiment != "epsilon" or row.run.data_set in ("synth_10d", "uci_gas"))
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory, made_rows) -> Store:
    store = Store(tmp_path_factory.mktemp("figures"))
    for name in EXPERIMENTS:
        write_rows(thinned(made_rows(name)), store.rows_path(name))
    return store


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_written_twice_with_the_same_bytes(name, store):
    png, svg = TARGETS[name].write(store)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 10_000
    text = svg.read_text()
    assert "</svg>" in text
    assert not re.search(r"<dc:date>|Matplotlib v", text)
    if name in ("fig1", "fig5", "clusters"):
        first = png.read_bytes(), svg.read_bytes()
        TARGETS[name].write(store)
        assert (png.read_bytes(), svg.read_bytes()) == first


@pytest.mark.parametrize("metric", PAPER_METRICS)
def test_exactly_a_fifth_is_best_and_a_fifth_worst(made_rows, metric):
    rows = made_rows("budget")
    for algorithm, fifth in (("dpm_paper", 16), ("dpm", 16)):
        best, worst = best_and_worst([row for row in rows if row.run.algorithm == algorithm], metric)
        assert (len(best), len(worst)) == (fifth, fifth)
        assert not [shares for shares in best if shares in worst]


def test_the_best_are_the_best(made_rows):
    rows = [row for row in made_rows("budget") if row.run.algorithm == "dpm" and row.run.iteration == 0]
    by_inertia = sorted(rows, key=lambda row: row.metrics["inertia"])
    best, worst = best_and_worst(rows, "inertia")
    assert best == [row.run.options["budget_shares"] for row in by_inertia[:16]]
    assert worst == [row.run.options["budget_shares"] for row in by_inertia[-16:]]


@pytest.mark.slow
def test_figures_show_failed_runs_and_do_not_break_on_them(tmp_path, made_rows):
    rows = [
        Row(row.run, error="MemoryError: no") if row.run.algorithm == "em_mc" else row
        for row in thinned(made_rows("timing"))
    ]
    store = Store(tmp_path)
    write_rows(rows, store.rows_path("timing"))
    assert len(TARGETS["fig5"].write(store)) == 2


def test_without_rows_nothing_is_drawn(tmp_path):
    assert TARGETS["fig1"].write(Store(tmp_path)) == []


def test_every_algorithm_looks_different():
    from dpmondrian_lab.peers.registry import EVALUATED

    looks = {(style(key).colour, style(key).stripes) for key in EVALUATED}
    assert len(looks) == len(EVALUATED)


def test_without_matplotlib_there_is_a_way_out(without_matplotlib):
    with pytest.raises(PlotsMissingError, match=r"pip install 'dpmondrian\[plots\]'"), drawing():
        pass
