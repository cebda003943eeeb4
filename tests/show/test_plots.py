"""The picture of the hierarchy: what stands in the axes, not how its pixels look."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpmondrian.dpm.joining.joins import FLAT_STRENGTH, Joins
from dpmondrian.exceptions import ParameterError, PlotsMissingError
from dpmondrian.release.tree import Tree
from dpmondrian.show.plots import plot_hierarchy

matplotlib = pytest.importorskip("matplotlib", reason="Plots need matplotlib, of the extra 'plots'.")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgba  # noqa: E402


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def a_tree(sizes: list[float], clusters: list[int], pairs: list[tuple[int, int]], strengths: list[float]) -> Tree:
    """Return a tree that cuts off one leaf after the other, with a hierarchy of its leaves."""
    n_leaves = len(sizes)
    n_inner = n_leaves - 1
    totals = np.cumsum(sizes[::-1])[::-1]
    # inner node i is 2i, its leaf 2i + 1, and the last leaf is the right child of the last inner node
    nodes = [part for i in range(n_inner) for part in ((totals[i], 0, -1), (sizes[i], -1, clusters[i]))]
    nodes.append((sizes[-1], -1, clusters[-1]))
    inner = np.array([column >= 0 for _, column, _ in nodes])
    number = np.arange(len(nodes))
    made = Joins(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T, np.array(strengths), np.full(n_inner, 0.05))
    return Tree(
        names=("age",),
        counted="people",
        column=np.array([column for _, column, _ in nodes], dtype=np.int64),
        threshold=np.where(inner, number.astype(float), np.nan),
        left=np.where(inner, number + 1, -1),
        right=np.where(inner, number + 2, -1),
        size=np.array([size for size, _, _ in nodes], dtype=float),
        size_error=np.ones(len(nodes)),
        cluster=np.array([cluster for _, _, cluster in nodes], dtype=np.int64),
        leaf_centres=np.zeros((n_leaves, 1)),
        joins=made if n_leaves > 1 else None,
    )


def three_leaves(strengths: tuple[float, float] = (0.3, 1.0)) -> Tree:
    """Leaves 0 and 1 are one cluster, leaf 2 is the other."""
    return a_tree([1000.0, 200.0, 500.0], [0, 0, 1], [(0, 1), (3, 2)], list(strengths))


def many_leaves(n_leaves: int, strength: float) -> Tree:
    """Every leaf is a cluster, and is joined to all before it."""
    pairs = [(0, 1)] + [(n_leaves + join - 1, join + 1) for join in range(1, n_leaves - 1)]
    return a_tree([1000.0] * n_leaves, list(range(n_leaves)), pairs, [strength] * (n_leaves - 1))


def brackets(ax) -> list[tuple[float, tuple[float, float, float, float]]]:
    """Return height and colour of the level lines between two groups."""
    return [
        (float(line.get_ydata()[0]), to_rgba(line.get_color()))
        for line in ax.lines
        if line.get_ydata()[0] == line.get_ydata()[-1] and np.ptp(line.get_xdata()) > 0 and line.get_linestyle() == "-"
    ]


def errors(ax) -> list[list[float]]:
    return [[round(float(y), 9) for y in line.get_ydata()] for line in ax.lines if line.get_gid() == "error"]


def labels(ax) -> list[str]:
    return [text.get_text() for text in ax.get_xticklabels()]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_joins_stand_at_their_strength_and_clusters_have_colours():
    tree = three_leaves()
    ax = tree.plot_hierarchy()
    (kept, kept_colour), (undone, undone_colour) = brackets(ax)
    assert (kept, undone) == (0.3, 1.0)
    assert kept_colour == to_rgba(matplotlib.colormaps["tab10"](0))
    assert undone_colour == to_rgba("#8A8A8A")
    assert errors(ax) == [[0.25, 0.35], [0.95, 1.0]]


def test_sizes_are_bars_and_clusters_have_labels():
    ax = plot_hierarchy(three_leaves())
    assert labels(ax) == ["0\n1,200", "1\n500"]
    lengths = np.array([bar.get_height() for bar in ax.patches[:3]])
    np.testing.assert_allclose(lengths / lengths.min(), [1.0, 0.2, 0.5])  # they hang down
    assert {"1,000", "200"} <= set(texts(ax))
    assert "500" not in texts(ax), "a leaf that is a cluster has its size below it"
    assert ax.get_xlabel() == "cluster and number of people"


def test_the_threshold_is_a_line_that_can_be_left_out():
    def dashed(ax):
        return [float(line.get_ydata()[0]) for line in ax.lines if line.get_linestyle() == "--"]

    assert dashed(plot_hierarchy(three_leaves())) == [FLAT_STRENGTH]
    assert dashed(plot_hierarchy(three_leaves(), threshold=0.5)) == [0.5]
    assert dashed(plot_hierarchy(three_leaves(), threshold=None)) == []


def test_a_join_is_drawn_no_higher_than_the_one_above_it():
    heights = [height for height, _ in brackets(plot_hierarchy(three_leaves((0.9, 0.4))))]
    assert heights == [0.4, 0.4]
    assert three_leaves((0.9, 0.4)).cut(strength=0.5).n_clusters == 1


def test_joins_of_full_strength_are_stacked_in_their_order():
    heights = [height for height, _ in brackets(plot_hierarchy(many_leaves(6, 1.0)))]
    assert heights == sorted(set(heights))
    assert heights[0] == 1.0


def test_the_cluster_of_a_cut_has_the_colours():
    ax = three_leaves().cut(1).tree.plot_hierarchy()
    assert {colour for _, colour in brackets(ax)} == {to_rgba(matplotlib.colormaps["tab10"](0))}
    assert labels(ax) == ["0\n1,700"]


def test_one_leaf():
    ax = plot_hierarchy(a_tree([1234.0], [0], [], []))
    assert labels(ax) == ["0\n1,234"]
    assert "one leaf: no cuts were made" in texts(ax)
    assert brackets(ax) == []


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_of_a_hundred_labels_as_many_as_fit(strength):
    ax = plot_hierarchy(many_leaves(100, strength))
    ax.figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.get_xticklabels()), key=lambda box: box.x0)
    assert 20 <= len(boxes) < 100
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))
    assert f"{len(boxes)} of 100 labelled" in ax.get_xlabel()
    low, high = ax.get_ylim()
    assert all(low < height < high for height, _ in brackets(ax))


def test_given_axes_are_drawn_in_and_returned():
    _, (left, right) = plt.subplots(1, 2)
    assert three_leaves().plot_hierarchy(ax=right) is right
    assert not left.lines
    assert len(plt.get_fignums()) == 1


def test_a_saved_tree_is_drawn_alike():
    tree = three_leaves()
    values = tree.to_dict() | {"leaf_centres": [[0.0]] * 3, "joins": tree.joins.to_dict()}
    values |= {
        name: [0.5 if column >= 0 else None for column in tree.column] for name in ("strength", "strength_error")
    }
    assert brackets(Tree.from_dict(("age",), values).plot_hierarchy()) == brackets(tree.plot_hierarchy())


def test_without_a_hierarchy_there_is_a_clear_error():
    values = three_leaves().to_dict()
    with pytest.raises(ParameterError, match=r"no hierarchy to draw.*Fit without n_clusters"):
        Tree.from_dict(("age",), values).plot_hierarchy()
    assert plt.get_fignums() == []


def test_without_matplotlib_there_is_a_way_out(without_matplotlib):
    with pytest.raises(PlotsMissingError, match=r"pip install 'dpmondrian\[plots\]'"):
        three_leaves().plot_hierarchy()
