"""Adversarial neighbours are what they say: neighbours, of the schema's columns, with the rows that were promised."""

import builtins

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian import DPM, Category, Column, Schema
from dpmondrian.engines.grid import Grid
from dpmondrian_lab.audit import adversarial_pairs, alternating_gaps, search_worst_pair
from dpmondrian_lab.audit.neighbours import invented_rows
from dpmondrian_lab.audit.replay import rows_in_both

SCHEMAS = {
    "one column": Schema((Column("x", 0.0, 1.0),)),
    "two columns": Schema((Column("x", -5.0, 5.0), Column("y", 0.0, 1e6))),
    "all kinds": Schema(
        (
            Column("age", 0, 120, whole=True),
            Column("income", 100.0, 1e6, log=True),
            Category("plan", ("basic", "premium")),
            Column("score", -1.0, 1.0),
        )
    ),
    "categories": Schema((Category("plan", ("a", "b", "c"), cut=True),)),
}
OPTIONS = [{}, {"rows_per_person": 3}, {"rows_per_person": 2, "person_id": "who"}, {"missing": True}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_pairs_are_neighbours(name, options):
    """All common rows are in both, in order; the others belong to one new person."""
    schema = SCHEMAS[name]
    most = options.get("rows_per_person", 1)
    for pair in adversarial_pairs(schema, n_rows=30, **options):
        common, places = rows_in_both(pair.table, pair.neighbour)
        assert len(common) == pair.table.num_rows, pair.name
        added = np.delete(np.arange(pair.neighbour.num_rows), places)
        assert added.size >= 1
        assert pair.table.column_names[: len(schema.columns)] == list(schema.names)
        if "person_id" in options:
            new = set(pair.neighbour["who"].take(added).to_pylist())
            assert len(new) == 1
            assert not new & set(pair.table["who"].to_pylist())
        else:
            assert added.size <= most


def names_of(schema, **options):
    return {pair.name for pair in adversarial_pairs(schema, n_rows=30, **options)}


def test_every_kind_of_pair_is_there():
    names = names_of(SCHEMAS["all kinds"])
    assert {
        "alternating gaps", "empty leaf", "far above the bounds", "on the middle cut", "beside the last cut", "upper corner",
        "duplicate", "0 rows", "1 rows", "2 rows", "denormal", "largest float", "largest int64", "smallest int64",
        "plan is 'basic'", "plan is '?!'", "all rows alike",
    } <= names  # fmt: skip
    assert {"all values missing", "infinite values", "age missing"} <= names_of(SCHEMAS["all kinds"], missing=True)
    assert "several rows of one person in opposite corners" in names_of(SCHEMAS["one column"], rows_per_person=2)
    with_persons = names_of(SCHEMAS["two columns"], rows_per_person=2, person_id="who")
    assert {"more rows than are kept", "an id that looks like another"} <= with_persons
    assert "alternating gaps" not in names_of(SCHEMAS["one column"])


def added_row(schema, name, **options):
    [pair] = [pair for pair in adversarial_pairs(schema, n_rows=30, **options) if pair.name == name]
    _, places = rows_in_both(pair.table, pair.neighbour)
    [added] = np.delete(np.arange(pair.neighbour.num_rows), places)
    return [pair.neighbour[column][int(added)].as_py() for column in pair.neighbour.column_names]


@pytest.mark.parametrize("windows", [16, 128])
def test_rows_on_cuts_are_on_cuts(windows):
    """A row on a cut lies below it, the next larger value above it: another code."""
    schema = SCHEMAS["two columns"]
    grid = Grid.with_windows(schema, windows)
    for name, cut in (("first", 1), ("last", 2 * windows - 1)):
        on, beside = (added_row(schema, f"{side} the {name} cut", windows=windows) for side in ("on", "beside"))
        for column in (0, 1):
            assert on[column] == grid.cut_value(column, cut)
            codes = [
                np.ceil((value - grid.origin[column]) * grid.inverse_step[column]) - 1
                for value in (on[column], beside[column])
            ]
            assert [int(code) // grid.places_per_code[column] for code in codes] == [cut - 1, cut]


def test_integers_are_integers():
    schema = SCHEMAS["all kinds"]
    [pair] = [pair for pair in adversarial_pairs(schema) if pair.name == "largest int64"]
    assert pair.neighbour.schema.field("age").type == pa.int64()
    assert pa.compute.max(pair.neighbour["age"]).as_py() == 2**63 - 1


def test_alternating_gaps():
    rows, row = alternating_gaps(SCHEMAS["two columns"], 41)
    averages = np.diff(np.sort((np.array(rows) - [-5.0, 0.0]) / [10.0, 1e6], axis=0), axis=0).mean(axis=1)
    assert averages == pytest.approx([averages[0]] * 40)
    table = (np.array([*rows, row]) - [-5.0, 0.0]) / [10.0, 1e6]
    turned = np.diff(np.sort(table, axis=0), axis=0).mean(axis=1)
    assert (turned < averages[0] / 2).sum() == 20
    assert (turned > averages[0] * 1.5).sum() == 21
    assert table.min() >= 0
    assert table.max() <= 1


def test_invented_rows_have_clusters_and_rows_beyond_the_bounds():
    rows = np.array(invented_rows(SCHEMAS["two columns"], 60))
    assert (rows > [5.0, 1e6]).all(axis=1).sum() == 1
    assert (rows < [-5.0, 0.0]).all(axis=1).sum() == 1
    assert len(np.unique(rows, axis=0)) < 60
    assert invented_rows(SCHEMAS["all kinds"], 20, seed=1) == invented_rows(SCHEMAS["all kinds"], 20, seed=1)
    assert invented_rows(SCHEMAS["all kinds"], 20, seed=1) != invented_rows(SCHEMAS["all kinds"], 20, seed=2)


def test_the_search_says_what_it_needs(monkeypatch):
    real_import = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("hypothesis"):
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install hypothesis"):
        search_worst_pair("count", lambda: DPM(bounds=(0, 1)), SCHEMAS["one column"])


@pytest.mark.slow
def test_the_search_with_several_rows_of_a_person_and_categories():
    schema = Schema((Column("x", 0.0, 1.0), Category("plan", ("a", "b"))))

    def make():
        return DPM(epsilon=30.0, delta=1e-6, bounds=schema, rows_per_person=2, max_depth=1, windows=4)

    worst = search_worst_pair("count", make, schema, most_rows=4, rows_per_person=2, n_examples=12)
    assert worst.findings.ok, str(worst.findings)
    assert worst.used == pytest.approx(1.0)
