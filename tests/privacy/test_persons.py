"""At most so many rows of a person are kept: one person more changes the kept rows by no more than that."""

import itertools
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpmondrian import DPM, Budget, DataError, ParameterError
from dpmondrian.privacy.door import Door
from dpmondrian.tables import persons
from dpmondrian.tables.frames import read_table
from dpmondrian.tables.persons import PersonLimit, row_hashes, rows_to_keep, rows_to_keep_in_passes
from dpmondrian_lab.audit.plans import zcdp_plan

people = st.lists(st.integers(0, 6), max_size=40)
words = st.integers(0, 2**64 - 1)


def key_of(seed):
    return np.random.default_rng(seed).integers(0, 2**64, 2, dtype=np.uint64)


def table_of(ids, values):
    return read_table(pa.table({"who": ids, "value": pa.array(values, pa.float64())}), person_id="who")


def kept_values(ids, values, most, key, on_missing="drop"):
    """Return the values that are kept of a table with these persons, in order."""
    table = table_of(ids, values).limited(PersonLimit(most, key), on_missing)
    assert table.names == ("value",)
    rows = [float(row) for block in table.blocks() for row in block[:, 0]]
    assert table.n_rows == len(rows)
    return rows


def kept_rows(rows, most, key):
    """Return which of some pairs of a person and a value are kept, and how often."""
    ids, values = zip(*rows, strict=True) if rows else ((), ())
    person, words, _ = table_of(pa.array(ids, pa.int64()), values).hashes(key, "drop")
    mask = rows_to_keep(person, words, most)
    return Counter(itertools.compress(rows, mask))


# The choice, beside a plain one.


def split_mix(row, number):
    """Return the key of one of equal rows."""
    if number == 0:
        return row
    word = (row + number * 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def plainly_kept(person, rows, most):
    """Return which rows are kept, person by person."""
    result = np.zeros(len(rows), dtype=bool)
    for own in {tuple(words) for words in person.tolist()} - {(0, 0)}:
        seen, keys = Counter(), []
        for position, (words, row) in enumerate(zip(person.tolist(), rows.tolist(), strict=True)):
            if tuple(words) == own:
                keys.append((split_mix(row, seen[row]), row, position))
                seen[row] += 1
        result[[position for _, _, position in sorted(keys)[:most]]] = True
    return result


@st.composite
def hashes(draw):
    """Draw hashes with many equal ones, and different ones that begin alike: what hashes of real rows do once in a lifetime."""
    alike = st.sampled_from([0, 1, 2**32, 2**48, 2**48 + 1, 2**63, 2**64 - 1])
    n_rows = draw(st.integers(0, 40))
    column = st.lists(alike | words, min_size=n_rows, max_size=n_rows)
    few = draw(st.lists(st.tuples(alike, alike, alike | words), min_size=1, max_size=5))
    rows = draw(st.lists(st.sampled_from(few), min_size=n_rows, max_size=n_rows))
    if draw(st.booleans()):
        rows = list(zip(draw(column), draw(column), draw(column), strict=True))
    array = np.array(rows, dtype=np.uint64).reshape(n_rows, 3)
    return np.ascontiguousarray(array[:, :2]), np.ascontiguousarray(array[:, 2])


def blocks_of(person, rows, cuts):
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [(person[i:j], rows[i:j]) for i, j in itertools.pairwise(edges)]


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=150)
@given(hashes(), st.integers(1, 5), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 12))
def test_the_same_rows_are_kept_as_by_a_plain_choice(drawn, most, cuts, rows_at_once):
    """In memory, or in passes over any blocks that hold only some rows at a time."""
    expected = plainly_kept(*drawn, most).tolist()
    assert rows_to_keep(*drawn, most).tolist() == expected
    blocks = blocks_of(*drawn, cuts)
    assert rows_to_keep_in_passes(lambda: iter(blocks), len(drawn[1]), most, rows_at_once).tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("n_values", [1, 2, 100, 10**9])
def test_a_person_with_more_rows_than_are_held_at_once(monkeypatch, n_values):
    """They may be all alike, all different, or both; of the others in the table nobody has many."""
    generator = np.random.default_rng(n_values)
    n_rows, rows_at_once, block_size = 60_000, 2000, 500
    who = np.where(generator.random(n_rows) < 0.5, 0, generator.integers(1, 20_000, n_rows))
    person = generator.integers(1, 2**64, (20_000, 2), dtype=np.uint64)[who]
    rows = np.where(who == 0, generator.integers(0, n_values, n_rows), generator.integers(0, 3, n_rows)).astype(
        np.uint64
    )
    rows = (rows + 1) * np.uint64(0x9E3779B97F4A7C15)
    blocks = blocks_of(person, rows, range(0, n_rows, block_size))
    expected = rows_to_keep(person, rows, 3)
    assert expected[who == 0].sum() == 3
    held, ranked = [], persons._ranked
    monkeypatch.setattr(persons, "_ranked", lambda rows: held.append(len(rows)) or ranked(rows))
    assert np.array_equal(rows_to_keep_in_passes(lambda: iter(blocks), n_rows, 3, rows_at_once), expected)
    assert max(held) <= rows_at_once + block_size + 3
    assert np.array_equal(
        rows_to_keep_in_passes(lambda: iter(blocks), n_rows, 10**6, rows_at_once), np.ones(n_rows, dtype=bool)
    )


def test_rows_of_the_same_person_may_come_in_parts_of_any_table():
    """As after a shuffle by the hashes of persons: the choice is made in each part for itself."""
    generator = np.random.default_rng(3)
    table = table_of(generator.integers(0, 300, 2000), generator.integers(0, 4, 2000))
    person, rows, _ = table.hashes(key_of(3), "drop")
    expected = rows_to_keep(person, rows, 2)
    for n_parts in (1, 2, 7, 50):
        part = person[:, 0] % np.uint64(n_parts)
        found = np.zeros(len(rows), dtype=bool)
        for number in range(n_parts):
            found[part == number] = rows_to_keep(person[part == number], rows[part == number], 2)
        assert np.array_equal(found, expected)


# Neighbouring tables.


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(people, st.integers(1, 4), st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 12), st.integers(1, 50))
def test_one_person_more_adds_no_more_than_allowed_and_changes_nobody_else(ids, most, seed, place, n_added, n_values):
    generator = np.random.default_rng(seed)
    rows = list(zip(ids, generator.integers(0, n_values, len(ids)).tolist(), strict=True))
    theirs = [(99, value) for value in generator.integers(0, n_values, n_added).tolist()]
    before = kept_rows(rows, most, key_of(seed))
    after = kept_rows([*rows[:place], *theirs, *rows[place:]], most, key_of(seed))
    assert after - before == Counter({row: n for row, n in after.items() if row[0] == 99})
    assert (after - before).total() == min(n_added, most)
    assert not before - after


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 3])
def test_all_small_tables(most):
    """Every table of up to four rows of two persons and two values, every order of it, and a third person added anywhere."""
    key = key_of(most)
    every_row = list(itertools.product((1, 2), (0.0, 1.0)))
    theirs = [(3, 0.0), (3, 1.0), (3, 1.0), (3, 0.5)]
    alone = kept_rows(theirs, most, key)
    assert alone.total() == most
    for n_rows in range(5):
        for rows in itertools.combinations_with_replacement(every_row, n_rows):
            expected = kept_rows(list(rows), most, key)
            for order in set(itertools.permutations(rows)):
                place = hash(order) % (n_rows + 1)
                assert kept_rows([*order[:place], *theirs, *order[place:]], most, key) == expected + alone


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30), st.integers(1, 3), st.randoms())
def test_the_order_and_the_division_of_the_rows_do_not_matter(rows, most, random):
    """The kept rows are the same, in tables of whatever library, and whatever type of numbers ids have."""
    key = key_of(len(rows))
    expected = kept_rows(rows, most, key)
    random.shuffle(rows)
    cut = random.randint(0, len(rows))
    parts = []
    for frame, write, some in ((pd.DataFrame, float, rows[:cut]), (pl.DataFrame, int, rows[cut:])):
        table = frame({"who": [write(who) for who, _ in some], "value": [float(value) for _, value in some]})
        parts.append(read_table(table, person_id="who").hashes(key, "drop")[:2] if some else None)
    person, row = (np.concatenate(part) for part in zip(*filter(None, parts), strict=True)) if rows else (None, None)
    found = itertools.compress(rows, rows_to_keep(person, row, most)) if rows else ()
    assert Counter(found) == expected


def test_a_part_of_a_table_is_hashed_like_the_table():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(2, 40_000)).astype(np.float32)
    frame = pa.table({"who": generator.integers(0, 99, 40_000), "x": values[0], "y": values[1]})
    table = read_table(frame, person_id="who")
    person, rows, _ = table.hashes(key_of(0), "drop")
    assert np.array_equal(rows, row_hashes(np.concatenate(list(table.blocks())), person, key_of(0)))
    for start, stop in ((0, 1), (5, 20_000), (16_384, 40_000)):
        part = table.between(start, stop).hashes(key_of(0), "drop")
        assert np.array_equal(part[0], person[start:stop])
        assert np.array_equal(part[1], rows[start:stop])


# Random choice.


@pytest.mark.slow
def test_every_row_of_a_person_is_kept_equally_often():
    """The rows that are kept are a random choice, and that one of the persons has a row three times counts three times."""
    table = table_of([1, 1, 1, 2, 1, 1, 2, 2], [5.0, 7.0, 5.0, 1.0, 5.0, 6.0, 2.0, 3.0])
    chosen = Counter()
    for seed in range(1000):
        person, rows, _ = table.hashes(key_of(seed), "drop")
        mask = rows_to_keep(person, rows, 2)
        values = np.concatenate(list(table.only(mask).blocks()))[:, 0]
        chosen[tuple(np.sort(values[values > 3]))] += 1
        chosen[tuple(np.sort(values[values <= 3]))] += 1
    expected = {(5, 5): 3, (5, 7): 3, (5, 6): 3, (6, 7): 1}  # of the ten pairs of five rows
    assert chisquare([chosen[pair] for pair in expected], np.array(list(expected.values())) * 100).pvalue > 1e-9
    assert chisquare([chosen[pair] for pair in ((1, 2), (1, 3), (2, 3))]).pvalue > 1e-9
    assert len(chosen) == 7


def test_the_key_of_persons_is_random():
    """Every bit of it, different in every run unless there is a seed."""
    plan = zcdp_plan(1.0, 1e-7, 2)
    keys = np.array([Door(plan).person_key() for _ in range(2000)])
    assert keys.shape == (2000, 2)
    assert keys.dtype == np.uint64
    assert len(np.unique(keys)) == keys.size
    bits = np.unpackbits(keys.view(np.uint8), axis=1).sum(axis=0, dtype=np.int64)
    assert np.abs(bits - 1000).max() < 8 * np.sqrt(500)  # beyond eight deviations in none of 128 bits: below 1e-12
    seeded = [Door(plan, seed=seed).person_key().tolist() for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1]
    assert not set(seeded[0]) & set(seeded[2])


@pytest.mark.slow
def test_the_key_stays_inside(monkeypatch):
    """Two fits have different keys, and neither what they release nor a pickle of the model holds one."""
    drawn = []
    true_key = Door.person_key
    monkeypatch.setattr(Door, "person_key", lambda door: drawn.append(true_key(door)) or drawn[-1])
    table = customers()
    for _ in range(2):
        model = DPM(epsilon=5.0, bounds={"x": (0, 100), "y": (0, 100)}, person_id="who").fit(table)
        written = [
            pickle.dumps(model),
            model.release_.to_json().encode(),
            repr(model).encode(),
            str(model.privacy_).encode(),
        ]
        for word in drawn[-1].tolist():
            for form in (word.to_bytes(8, "little"), word.to_bytes(8, "big"), str(word).encode(), f"{word:x}".encode()):
                assert not any(form in text for text in written)
    assert len(drawn) == 2
    assert not set(drawn[0].tolist()) & set(drawn[1].tolist())
    assert str(drawn[0][0]) not in repr(PersonLimit(3, drawn[0]))


# Whole fits.


def customers(frame=pa.table):
    generator = np.random.default_rng(1)
    who = np.repeat(np.arange(4000), generator.integers(1, 9, 4000))
    home = np.where(who % 2, 20.0, 70.0) + generator.normal(0, 3, len(who))
    return frame({"who": who, "x": home, "y": home})


@pytest.mark.slow
@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_fit_keeps_so_many_rows_per_person(frame):
    table = customers(frame)
    bounds = {"x": (0, 100), "y": (0, 100)}
    one = DPM(epsilon=5.0, bounds=bounds, person_id="who", random_state=0).fit(table)
    assert one.n_clusters_ == 2
    assert one.cluster_sizes_.sum() == pytest.approx(4000, abs=100)
    two = DPM(epsilon=5.0, bounds=bounds, person_id="who", rows_per_person=2, random_state=0).fit(table)
    assert two.cluster_sizes_.sum() == pytest.approx(4000 * (1 + 7 / 8), abs=250)
    assert len(two.labels_) == len(table)
    assert "identified by column 'who'" in str(two.privacy_)
    assert "at most 2 were kept" in str(two.privacy_)
    assert two.release_.parameters["person_id"] == "who"


def test_predict_takes_tables_with_and_without_the_persons(tmp_path):
    table = customers(pd.DataFrame)
    model = DPM(epsilon=5.0, bounds={"x": (0, 100), "y": (0, 100)}, person_id="who", random_state=0).fit(table)
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(model.predict(table.drop(columns="who")), model.labels_)
    model.save(tmp_path / "release.json")
    np.testing.assert_array_equal(DPM.load(tmp_path / "release.json").predict(table), model.labels_)


def test_wrong_uses():
    table = customers(pd.DataFrame)
    bounds = {"x": (0, 100), "y": (0, 100)}
    with pytest.raises(DataError, match="Did you mean 'who'"):
        DPM(bounds=bounds, person_id="whom").fit(table)
    with pytest.raises(DataError, match="column names"):
        DPM(bounds=(0, 1), person_id="who").fit(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="name of a column"):
        DPM(bounds=bounds, person_id=3).fit(table)
    mixed = pd.DataFrame({"who": [1, "a", (2, 3)], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="neither strings, numbers nor dates"):
        DPM(bounds={"x": (0, 100)}, person_id="who").fit(mixed)


def test_a_missing_value_in_a_row_that_was_not_kept_does_not_matter(tmp_path):
    """Otherwise the budget would be spent and the result lost, depending on which rows were kept."""
    budget = Budget.create(tmp_path / "budget.json", 100, 1e-3)
    frame = pd.DataFrame({"who": np.repeat(np.arange(500), 2), "x": 20.0})
    frame.loc[7, "x"] = np.nan
    outcomes = set()
    for seed in range(12):
        model = DPM(bounds={"x": (0, 100)}, person_id="who", random_state=seed)
        try:
            model.fit(frame, budget=budget)
            outcomes.add(int(model.labels_[7]))
        except DataError:
            outcomes.add("refused")
    assert outcomes == {-1, "refused"}
    assert all(entry.state == "released" for entry in budget.read().entries)
