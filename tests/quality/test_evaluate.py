"""All measures of a clustering together."""

import pytest

from dpmondrian.quality import (
    accuracy,
    adjusted_rand,
    evaluate,
    inertia,
    kmeans_distance,
    matching_distance,
    nearest,
    silhouette,
)


def test_evaluate_gives_what_the_single_functions_give(clustered):
    rows, classes = clustered
    centres = rows[[0, 5, 9]]
    references = [rows[:4], rows[4:6]]
    label, _ = nearest(rows, centres)
    assert evaluate(rows, classes, centres, references, 30.0, seed=4) == {
        "n_centres": 3.0,
        "inertia": inertia(rows, centres),
        "silhouette": silhouette(rows, label, seed=4),
        "accuracy": accuracy(rows, classes, centres),
        "adjusted_rand": adjusted_rand(classes, label),
        "kmeans_distance": kmeans_distance(centres, references, 30.0),
        "matching_distance": matching_distance(centres, references, 30.0),
    }


@pytest.mark.slow
def test_evaluate_leaves_out_what_cannot_be_known(clustered):
    rows, _ = clustered
    assert set(evaluate(rows, None, rows[:2], [], 30.0)) == {"n_centres", "inertia", "silhouette"}
    assert evaluate(rows, None, rows[:1], [], 30.0)["silhouette"] == -1.0
