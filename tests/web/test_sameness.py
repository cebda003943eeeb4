"""A clustering of the page as a command."""

import shlex

import pytest

from dpmondrian import Column, Schema, TableSchema

sameness = pytest.importorskip("dpmondrian.web.sameness", reason="Needs the extra 'web'.")


@pytest.mark.parametrize(("path", "argument"), [("--seed=1.csv", "./--seed=1.csv"), ("a b.csv", "a b.csv")])
def test_a_file_is_no_option_whatever_it_is_called(path, argument):
    """Somebody else may have named it: with a seed, noise protects nobody."""
    recipe = sameness.Recipe(
        source={"path": path},
        reading=[],
        declared=TableSchema(Schema((Column("x", 0, 1),))),
        schema="schema.toml",
        parameters={"epsilon": 1.0, "delta": 1e-7, "n_clusters": None, "on_missing": "error", "random_state": None},
        budget=None,
        out="out",
    )
    assert recipe.options[1] == argument
    assert shlex.split(recipe.command())[2] == argument
