"""Counts that add up, rules that people can read, and refusal of what is not a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpmondrian.dpm.tree import GrownTree, Node, consistent_counts
from dpmondrian.release.tree import Condition, Tree
from dpmondrian.schema import YesNo
from dpmondrian.show.texts.rules import condition_text

VARIANCES = {0: 100.0, 1: 9.0, 2: 40.0, 3: 2.5}
CHILDREN = {0: (1, 2), 1: (3, 4), 4: (5, 6)}
LEVELS = [0, 1, 1, 2, 2, 3, 3]


def grown(seed: int, rejected: bool) -> GrownTree:
    """Return an uneven tree of seven nodes with noisy counts that do not add up."""
    rng = np.random.default_rng(seed)
    box = np.zeros(1, dtype=np.int64)
    parent = {child: node for node, pair in CHILDREN.items() for child in pair}
    nodes = [
        Node(number, parent.get(number, -1), level, box, box + 1, int(rng.integers(10, 500)))
        for number, level in enumerate(LEVELS)
    ]
    for number, pair in CHILDREN.items():
        nodes[number].children = pair
    if rejected:
        nodes[2].rejected = [(level, int(rng.integers(1000))) for level in (2, 3)]
        nodes[1].rejected = [(2, int(rng.integers(1000)))]
    return GrownTree(nodes)


def leaves_below(node: int) -> list[int]:
    return [leaf for child in CHILDREN[node] for leaf in leaves_below(child)] if node in CHILDREN else [node]


def least_squares(tree: GrownTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted least-squares fit of all nodes and its standard errors, by numpy."""
    leaves = leaves_below(0)
    member = np.array([[leaf in leaves_below(node) for leaf in leaves] for node in range(len(LEVELS))], dtype=float)
    design, observed = member, [float(node.noisy_count) for node in tree.nodes]
    variance = [VARIANCES[level] for level in LEVELS]
    for node in tree.nodes:
        for level, total in node.rejected:
            design = np.vstack([design, member[node.number]])
            observed.append(float(total))
            variance.append(2.0 * VARIANCES[level])
    weight = 1.0 / np.sqrt(variance)
    scaled = design * weight[:, None]
    fit, *_ = np.linalg.lstsq(scaled, observed * weight, rcond=None)
    covariance = np.linalg.inv(scaled.T @ scaled)
    return member @ fit, np.sqrt(np.diag(member @ covariance @ member.T))


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_consistent_counts_are_the_least_squares_fit(seed, rejected):
    tree = grown(seed, rejected)
    sizes, errors = consistent_counts(tree, VARIANCES.__getitem__)
    expected, least_errors = least_squares(tree)
    np.testing.assert_allclose(sizes, expected, rtol=1e-9)
    assert errors[0] == pytest.approx(least_errors[0])
    assert np.all(errors >= least_errors * (1 - 1e-9))


@pytest.mark.parametrize("seed", range(5))
def test_sizes_add_up_along_the_tree(seed):
    sizes, _ = consistent_counts(grown(seed, True), VARIANCES.__getitem__)
    for node, (left, right) in CHILDREN.items():
        assert sizes[left] + sizes[right] == pytest.approx(sizes[node], rel=1e-13)


def test_counts_that_add_up_already_stay():
    tree = grown(0, False)
    for node in reversed(tree.nodes):
        if node.children is not None:
            node.noisy_count = sum(tree.nodes[child].noisy_count for child in node.children)
    sizes, _ = consistent_counts(tree, VARIANCES.__getitem__)
    np.testing.assert_allclose(sizes, [node.noisy_count for node in tree.nodes], rtol=1e-13)


def test_a_single_node_keeps_its_count():
    box = np.zeros(1, dtype=np.int64)
    sizes, errors = consistent_counts(GrownTree([Node(0, -1, 0, box, box + 1, 77)]), VARIANCES.__getitem__)
    assert (sizes.tolist(), errors.tolist()) == ([77.0], [10.0])


def a_tree(**changes) -> dict:
    """Return a tree of five nodes, age at 41.5 and then bmi at 30, as plain values."""
    values = {
        "column": [0, 1, -1, -1, -1],
        "threshold": [41.5, 30.0, None, None, None],
        "left": [1, 3, -1, -1, -1],
        "right": [2, 4, -1, -1, -1],
        "size": [3000.4, 2000.0, 1000.4, 760.0, 1240.0],
        "size_error": [1.0, 2.0, 3.0, 4.0, 5.0],
        "cluster": [-1, -1, 1, 2, 0],
    }
    return values | changes


def test_rules_read_like_sentences():
    tree = replace(Tree.from_dict(("age", "bmi"), a_tree()), counted="people")
    assert tree.n_leaves == 3
    assert tree.rules() == [
        "age <= 41.5 and bmi > 30: about 1,240 people",
        "age > 41.5: about 1,000 people",
        "age <= 41.5 and bmi <= 30: about 760 people",
    ]
    assert str(tree).splitlines() == [
        "├─ age <= 41.5",
        "│  ├─ bmi <= 30: cluster 2, about 760 people",
        "│  └─ bmi > 30: cluster 0, about 1,240 people",
        "└─ age > 41.5: cluster 1, about 1,000 people",
    ]


def test_rules_of_a_column_cut_twice_give_an_interval():
    values = a_tree(column=[0, 0, -1, -1, -1], threshold=[41.5, 18.0, None, None, None])
    assert Tree.from_dict(("age",), values).rules() == [
        "18 < age <= 41.5: about 1,240 rows",
        "age > 41.5: about 1,000 rows",
        "age <= 18: about 760 rows",
    ]


def test_a_tree_without_cuts_is_about_everyone():
    leaf = a_tree(column=[-1], threshold=[None], left=[-1], right=[-1], size=[-12.0], size_error=[1.0], cluster=[0])
    assert Tree.from_dict(("age",), leaf).rules() == ["everyone: about 0 rows"]


@pytest.mark.parametrize(
    ("threshold", "text"), [(0.0, "0"), (41.5, "41.5"), (-24.21875, "-24.22"), (123456.7, "123457")]
)
def test_thresholds_are_printed_with_four_digits(threshold, text):
    tree = Tree.from_dict(("a", "b"), a_tree(threshold=[threshold, 30.0, None, None, None]))
    assert tree.rules()[1].startswith(f"a > {text}:")


@pytest.mark.parametrize("threshold", [1.2344e-4, 2.5e-10, -2.5e-10, 7e-300, 1.5e8, -3e25])
def test_a_printed_threshold_is_never_far_from_the_true_one(threshold):
    tree = Tree.from_dict(("a", "b"), a_tree(threshold=[threshold, 30.0, None, None, None]))
    printed = tree.rules()[1].removeprefix("a > ").split(": about")[0]
    assert float(printed.replace(",", "")) == pytest.approx(threshold, rel=1e-3)


def test_a_tree_survives_plain_values():
    tree = Tree.from_dict(("age", "bmi"), a_tree())
    assert tree.to_dict() == a_tree()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"left": [0, 3, -1, -1, -1]}, id="a cycle through the root"),
        pytest.param({"left": [1, 1, -1, -1, -1]}, id="a node that is its own child"),
        pytest.param(
            {"column": [0, 1, 0, -1, -1], "left": [1, 3, 1, -1, -1], "right": [2, 4, 4, -1, -1]}, id="a cycle"
        ),
        pytest.param({"right": [1, 4, -1, -1, -1]}, id="both children are the same node"),
        pytest.param({"right": [2, 2, -1, -1, -1]}, id="a node with two parents"),
        pytest.param({"right": [2, 9, -1, -1, -1]}, id="a child that is not there"),
        pytest.param({"right": [2, -1, -1, -1, -1]}, id="a cut without a child"),
        pytest.param({"column": [0, -1, -1, -1, -1]}, id="nodes that hang on nothing"),
        pytest.param({"column": [0, 2, -1, -1, -1]}, id="a column that is not there"),
        pytest.param({"threshold": [41.5, None, None, None, None]}, id="a cut without threshold"),
        pytest.param({"threshold": [41.5, float("inf"), None, None, None]}, id="an infinite threshold"),
        pytest.param({"size": [float("nan"), 1.0, 1.0, 1.0, 1.0]}, id="a size that is not a number"),
        pytest.param({"size_error": [1.0, 1.0, 1.0, 1.0, float("inf")]}, id="an infinite error"),
        pytest.param({"size": [1.0]}, id="too few sizes"),
        pytest.param({"left": [1]}, id="too few children"),
        pytest.param({"left": []}, id="no children"),
        pytest.param({"threshold": [41.5]}, id="too few thresholds"),
        pytest.param({"cluster": [-1, -1, 1, 2]}, id="too few clusters"),
        pytest.param({"cluster": [-1, -1, 1, 2, -1]}, id="a leaf without cluster"),
        pytest.param({"column": [[0, 1, -1, -1, -1]]}, id="a table of columns"),
        pytest.param({"column": [0.5, 1, -1, -1, -1]}, id="half a column"),
        pytest.param({name: [] for name in a_tree()}, id="no nodes"),
        pytest.param({"column": None}, id="columns that are no list"),
        pytest.param({"size": ["many", 1, 1, 1, 1]}, id="a size in words"),
    ],
)
def test_what_is_not_a_tree_is_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        Tree.from_dict(("age", "bmi"), a_tree(**changes))


@pytest.mark.parametrize("cut", [0.0, 0.5])
def test_rules_of_yes_and_no_say_which(cut):
    """Not "smokes <= no": a cut between the two leaves one of them on each side."""
    known = YesNo(yes=("ja",), no=("nein",))
    sides = [Condition("smokes", up_to=cut, notation=known), Condition("smokes", above=cut, notation=known)]
    assert [condition_text([side]) for side in sides] == ["smokes is nein", "smokes is ja"]
