"""Pictures of the hierarchy of cells and of the quality of every k: what stands in the axes, not how pixels look."""

from __future__ import annotations

import numpy as np
import pytest

from dpmondrian.exceptions import PlotsMissingError
from dpmondrian.release.every_k import Hierarchy, Qualities, ward

matplotlib = pytest.importorskip("matplotlib", reason="Plots need matplotlib, of the extra 'plots'.")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def four_cells() -> Hierarchy:
    """Return two pairs of cells, each a cluster."""
    places = np.array([[0.0], [1.0], [100.0], [103.0]])
    return ward(places, np.array([400.0, 100.0, 300.0, 200.0]), np.array([0, 0, 1, 1]))


def many_cells(n_cells: int) -> Hierarchy:
    places = np.random.default_rng(0).normal(size=(n_cells, 2))
    return ward(places, np.full(n_cells, 10.0), np.zeros(n_cells, dtype=np.int64))


def brackets(ax) -> list[tuple[float, str]]:
    """Return heights and colours of the joins that are drawn."""
    level = [line for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[1] > 0]
    return [(float(line.get_ydata()[0]), to_hex(line.get_color())) for line in level]


def test_joins_stand_at_their_height_and_clusters_have_colours():
    hierarchy = four_cells()
    ax = hierarchy.plot()
    heights, colours = zip(*brackets(ax), strict=True)
    assert list(heights) == pytest.approx(hierarchy.height.tolist())
    assert len(set(colours)) == 3
    assert colours[-1] == "#8a8a8a"  # between clusters
    assert [text.get_text() for text in ax.get_xticklabels()] == ["400", "100", "300", "200"]
    assert ax.get_xlabel() == "number of rows in 4 groups of cells"


def test_only_the_last_joins_are_drawn():
    ax = many_cells(80).plot(most=12)
    assert len(brackets(ax)) == 11
    assert len(ax.get_xticks()) == 12
    assert sum(int(text.get_text()) for text in ax.get_xticklabels()) == 800


def test_of_many_groups_no_sizes_are_written():
    ax = many_cells(80).plot()
    assert len(brackets(ax)) == 59
    assert len(ax.get_xticks()) == 0


def test_a_single_cell_is_a_picture_too():
    ax = ward(np.zeros((1, 2)), np.array([1234.0]), np.zeros(1, dtype=np.int64)).plot()
    assert brackets(ax) == []
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1,234"]


def test_qualities_are_drawn_with_their_errors():
    ax = Qualities(np.array([1, 2, 3]), np.array([0.0, 0.5, 0.75]), np.array([0.0, 0.02, 0.01]), (None,) * 3).plot()
    [line, *_] = ax.lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata().tolist() == [0.0, 50.0, 75.0]
    assert ax.get_ylim() == (0.0, 100.0)


def test_axes_may_be_given():
    _, (left, right) = plt.subplots(1, 2)
    assert four_cells().plot(ax=left) is left
    assert Qualities(np.array([1]), np.zeros(1), np.zeros(1), (None,)).plot(ax=right) is right


def test_without_matplotlib_there_is_a_way_out(without_matplotlib):
    with pytest.raises(PlotsMissingError, match=r"pip install 'dpmondrian\[plots\]'"):
        four_cells().plot()
