"""The whole forecast: what it holds, says and draws."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from dpmondrian.exceptions import ParameterError, PlotsMissingError
from dpmondrian.planning import centre_errors, clear_size, findable, forecast, make_design, size_error
from dpmondrian.schema.columns import Category, Column, Schema
from dpmondrian.show.words.numbers import rough_size, rounded

PEOPLE = Schema(
    (Column("age", 0, 120, unit="years"), Column("income", 100, 1e6, log=True), Category("plan", ("basic", "premium")))
)


def test_it_puts_the_parts_together():
    expected, design = forecast(20_000, PEOPLE, 0.5, 1e-8), make_design(20_000, PEOPLE, 0.5, 1e-8)
    assert expected.outlook.all_rows == size_error(design, "all")
    assert expected.outlook.cell == size_error(design, "cell")
    assert expected.outlook.cluster == size_error(design)
    assert expected.outlook.centres == centre_errors(design)
    assert (expected.outlook.smallest, expected.outlook.least_gap) == (findable(design).rows, findable(design).gap)


def test_with_k_nothing_has_to_be_found():
    expected, design = forecast(20_000, PEOPLE, n_clusters=8), make_design(20_000, PEOPLE, n_clusters=8)
    assert (expected.outlook.smallest, expected.outlook.least_gap) == (clear_size(design), None)


def test_twice_the_epsilon_and_twice_the_rows_stand_beside_it():
    expected = forecast(20_000, PEOPLE, 0.5)
    assert expected.twice_epsilon == forecast(20_000, PEOPLE, 1.0).outlook
    assert expected.twice_rows == forecast(40_000, PEOPLE, 0.5).outlook
    assert expected.twice_epsilon.cluster.half_width < 0.6 * expected.outlook.cluster.half_width
    assert expected.twice_rows.cluster_rows == 2 * expected.outlook.cluster_rows


@pytest.mark.parametrize("parameters", [{}, {"n_clusters": 8}, {"delta": 0.0}, {"max_depth": 0}])
def test_machines_can_read_it(parameters):
    expected = forecast(20_000, PEOPLE, **parameters)
    values = json.loads(json.dumps(expected.to_dict(), allow_nan=False))
    assert values["n_rows"] == 20_000
    assert values["outlook"]["cluster"]["half_width"] == expected.outlook.cluster.half_width
    assert [centre["name"] for centre in values["twice_rows"]["centres"]] == list(PEOPLE.centre_names)
    assert Schema.from_dict(values["columns"]) == PEOPLE


def test_three_sentences_lead():
    """What will be found, how exact it will be, and what to change."""
    expected = forecast(20_000, PEOPLE)
    found, exact, more = str(expected).splitlines()
    half_width = rounded(expected.outlook.centres[0].half_width)
    assert found.startswith(f"Clusters of about {rough_size(expected.outlook.smallest, 2)} rows")
    assert found.endswith("if they are clearly apart from the others.")
    size = rounded(expected.outlook.cluster.half_width)
    assert (
        f"its size to within ± {size}, its mean age to within ± {half_width} years, its geometric mean income to within ± "
        in exact
    )
    assert "the share of a category to within ± " in exact
    assert "percentage points" in exact
    assert more.startswith("With twice the epsilon, clusters of ")


def test_the_details_have_the_rest():
    details = forecast(20_000, PEOPLE).details
    for line in (
        "twice the epsilon",
        "standard deviations",
        "number of rows",
        "its share of plan=other",
        "cells, about",
        "95 % interval",
    ):
        assert line in details


def test_with_several_rows_per_person_it_speaks_of_rows():
    text = str(forecast(20_000, PEOPLE, rows_per_person=3))
    assert "rows" in text
    assert "people" not in text


def test_wide_tables_stay_readable():
    wide = Schema.from_bounds((0, 1), [f"x{j}" for j in range(100)], [False] * 100)
    expected = forecast(1_000_000, wide)
    assert len(expected.details.splitlines()) < 40
    assert "97 more columns" in str(expected)
    assert len(expected.to_dict()["outlook"]["centres"]) == 100


@pytest.mark.parametrize(
    ("n_rows", "parameters", "words"),
    [
        (500, {"epsilon": 0.3}, "not even a cluster of half of them would be found"),
        (20_000, {"expected_clusters": 200}, "too small to stand out reliably"),
        (1_000, {"epsilon": 0.1}, "the errors of the centres will exceed the width of the clusters (age, income"),
        (20_000, {"delta": 1e-3}, "delta = 0.001 is more than 1 / 20,000"),
        (20_000, {"max_depth": 0}, "not even a cluster of half of them would be found"),
    ],
)
def test_it_warns_where_it_will_not_work(n_rows, parameters, words):
    expected = forecast(n_rows, PEOPLE, **parameters)
    assert any(words in warning for warning in expected.warnings)
    assert f"Warning: {expected.warnings[0]}" in str(expected)


def test_the_delta_that_it_suggests_is_well_below_one_in_n():
    [warning] = forecast(30_000, PEOPLE, delta=1e-3).warnings
    assert "such as 1e-07" in warning


@pytest.mark.parametrize(
    ("arguments", "parameters", "name"),
    [
        ((0, PEOPLE), {}, "n_rows"),
        ((2.5, PEOPLE), {}, "n_rows"),
        ((100, {"age": (0, 120)}), {}, "schema"),
        ((100, PEOPLE, -1.0), {}, "epsilon"),
        ((100, PEOPLE, 1.0, 1.0), {}, "delta"),
        ((100, PEOPLE), {"expected_clusters": 101}, "expected_clusters"),
        ((100, PEOPLE), {"n_clusters": 101}, "n_clusters"),
        ((100, PEOPLE), {"n_clusters": 3, "expected_clusters": 4}, "expected_clusters"),
        ((100, PEOPLE), {"variant": "paper"}, "variant"),
        ((100, PEOPLE), {"rows_per_person": 0}, "rows_per_person"),
    ],
)
def test_wrong_parameters_are_refused(arguments, parameters, name):
    with pytest.raises(ParameterError, match=f"'{name}'"):
        forecast(*arguments, **parameters)


def test_a_misspelt_parameter_is_refused():
    with pytest.raises(TypeError, match="n_cluster"):
        forecast(100, PEOPLE, n_cluster=3)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 2, 10, 10**9])
@pytest.mark.parametrize(
    "parameters", [{}, {"delta": 0.0}, {"epsilon": 1e-6}, {"epsilon": 1e6}, {"rows_per_person": 10**6}]
)
def test_extremes_have_a_forecast(n_rows, parameters):
    expected = forecast(n_rows, PEOPLE, **parameters)
    json.dumps(expected.to_dict(), allow_nan=False)
    assert str(expected)
    assert all(np.isfinite(error.standard_error) for error in expected.outlook.centres)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.0123, "0.012"), (0.99, "0.99"), (51.2, "51"), (1234.5, "1,234")]
)
def test_numbers_are_rounded_to_what_counts(value, text):
    assert rounded(value) == text


def test_nothing_is_drawn(monkeypatch):
    for method in ("counts", "histograms", "select", "box_sums", "ball_sums", "_write"):
        monkeypatch.delattr(f"dpmondrian.privacy.door.Door.{method}")
    forecast(20_000, PEOPLE)


class TestPicture:
    @pytest.fixture(autouse=True)
    def plt(self):
        matplotlib = pytest.importorskip("matplotlib", reason="Plots need matplotlib, of the extra 'plots'.")
        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        yield plt
        plt.close("all")

    def test_lines_fall_and_the_choice_is_marked(self):
        expected = forecast(20_000, PEOPLE, 0.7)
        ax = expected.plot()
        lines = [line for line in ax.lines if len(line.get_xdata()) > 2]
        labels = [line.get_label() for line in lines if not line.get_label().startswith("_")]
        assert len(lines) == 2 * len(labels) == 2 * 3  # age and income, the shares of plans, sizes; for n and 2n
        assert all(np.all(np.diff(line.get_ydata()) < 0) for line in lines)
        marks = {float(line.get_ydata()[0]) for line in ax.lines if list(line.get_xdata()) == [0.7]}
        age, size = expected.outlook.centres[0].half_width / 1.2, expected.outlook.cluster.half_width / 20.0
        assert any(mark == pytest.approx(age) for mark in marks)
        assert any(mark == pytest.approx(size) for mark in marks)

    def test_columns_of_equal_errors_share_a_line(self):
        wide = Schema.from_bounds((0, 1), [f"x{j}" for j in range(30)], [False] * 30)
        [columns, _] = [text.get_text() for text in forecast(100_000, wide).plot().get_legend().get_texts()]
        assert columns == "centre: x0, x1, x2 and 27 more, percent of the range"

    def test_it_draws_where_it_is_told(self, plt):
        _, ax = plt.subplots()
        assert forecast(20_000, PEOPLE).plot(ax) is ax

    @pytest.mark.slow
    @pytest.mark.parametrize("parameters", [{"epsilon": 1e-6}, {"epsilon": 1e6}, {"delta": 0.0}, {"n_clusters": 3}])
    def test_every_plan_can_be_drawn(self, parameters):
        forecast(2_000, PEOPLE, **parameters).plot().figure.canvas.draw()

    def test_without_matplotlib_it_says_how_to_get_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(PlotsMissingError, match="plots"):
            forecast(20_000, PEOPLE).plot()
