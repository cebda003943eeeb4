"""The picture of clusters in matplotlib: what stands in the axes, not how its pixels look."""

import numpy as np
import pytest

from dpmondrian.exceptions import ParameterError, PlotsMissingError
from dpmondrian.schema.columns import Column
from dpmondrian.show.plots import plot_clusters

matplotlib = pytest.importorskip("matplotlib", reason="Plots need matplotlib, of the extra 'plots'.")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def marks(axes):
    """Return the centres that were drawn, by cluster."""
    return {c.get_gid(): c.get_offsets()[0].tolist() for c in axes.collections if str(c.get_gid()).startswith("centre")}


def boxes(axes):
    return [patch for patch in axes.patches if str(patch.get_gid()).startswith("box")]


def test_centres_and_boxes_lie_where_they_were_released(towns):
    axes = plot_clusters(towns)
    drawn = marks(axes)
    assert len(drawn) == len(towns.sizes)
    for cluster, centre in enumerate(towns.centres.tolist()):
        assert drawn[f"centre {cluster}"] == pytest.approx(centre)
    assert len(boxes(axes)) == towns.tree.pruned.n_leaves
    assert sum(box.get_width() * box.get_height() for box in boxes(axes)) == pytest.approx(100.0 * 100.0)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east_km", "north_km")
    assert axes.get_xlim() == (0.0, 100.0)
    assert "NOT RELEASABLE" in axes.get_title()


def test_areas_show_sizes_and_bars_show_errors(towns):
    axes = plot_clusters(towns)
    areas = [c.get_sizes()[0] for c in axes.collections if str(c.get_gid()).startswith("centre")]
    assert areas == sorted(areas, reverse=True)
    assert areas[0] / areas[1] == pytest.approx(towns.sizes[0] / towns.sizes[1])
    assert len(axes.containers) == len(towns.sizes)
    [segment] = axes.containers[0].lines[2][0].get_segments()
    assert segment[1][0] - segment[0][0] == pytest.approx(2 * towns.centre_errors[0, 0])


def test_columns_may_be_chosen_and_log_scales_are_kept(patients):
    axes = plot_clusters(patients, "cost", "age")
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "linear"
    assert axes.get_xlabel() == "cost (log scale)"
    assert marks(axes)["centre 0"] == pytest.approx([patients.centres[0, 5], patients.centres[0, 0]])


@pytest.mark.parametrize("given", [{"x": "age"}, {"y": "age"}, {"x": "plan=basic", "y": "plan=premium"}])
def test_the_other_column_is_another_one(mixed, given):
    axes = plot_clusters(mixed, **given)
    assert axes.get_xlabel() != axes.get_ylabel()


def test_shares_are_in_per_cent(mixed):
    axes = plot_clusters(mixed, "age", "plan=basic")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 %", "25 %", "50 %", "75 %", "100 %"]
    assert axes.get_xlabel() == "age (years)"


def test_sizes_are_of_rows_if_nothing_was_said_about_people(hand_made):
    release = hand_made([Column("age", 0, 120)], 3, counted="rows")
    assert plot_clusters(release).get_ylabel() == "number of rows"


def test_a_single_column_stands_against_sizes(hand_made):
    release = hand_made([Column("age", 0, 120)], 3)
    axes = plot_clusters(release)
    assert axes.get_ylabel() == "number of people"
    assert marks(axes)["centre 0"] == pytest.approx([release.centres[0, 0], release.sizes[0]])
    assert all(box.get_height() == np.diff(axes.get_ylim())[0] for box in boxes(axes))


def test_it_draws_in_given_axes(towns):
    _, given = plt.subplots()
    assert plot_clusters(towns, ax=given) is given


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [1, 13, 151])
def test_many_clusters_are_drawn_without_a_warning(hand_made, n_clusters):
    axes = plot_clusters(hand_made([Column("a", 0, 1), Column("b", 1, 1e6, log=True)], n_clusters))
    axes.figure.canvas.draw()
    assert len(marks(axes)) == n_clusters
    assert len(axes.texts) == {1: 2, 13: 13, 151: 0}[n_clusters]


def test_hostile_names_are_drawn_as_they_are(hand_made):
    axes = plot_clusters(hand_made([Column("$\\frac{", 0, 1), Column("</svg>$", 0, 1)]))
    axes.figure.canvas.draw()
    assert axes.get_ylabel() == r"</svg>\$"


def test_an_unknown_column_is_named_with_its_neighbours(patients):
    with pytest.raises(ParameterError, match=r"'y' parameter.*'systolik'.*Did you mean 'systolic'"):
        plot_clusters(patients, "age", "systolik")


@pytest.mark.usefixtures("without_matplotlib")
def test_without_matplotlib_the_way_out_is_named(towns):
    with pytest.raises(PlotsMissingError, match=r"pip install 'dpmondrian\[plots\]'"):
        plot_clusters(towns)
