"""``dpm init``: a complete schema from a few answers or none, from names and types alone; and ``dpm schema``, which completes one."""

import io
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian.schema import Bands, Category, Column, Numbers, Schema, TableSchema, YesNo, read_schema

HEADER = "encounter_id;patient_nbr;age;cost;plan;is_smoker;note"
ROW = "CANARY;CANARY;CANARY;CANARY;CANARY;CANARY;CANARY"


@pytest.fixture
def hospital(tmp_path):
    path = tmp_path / "hospital.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    return path


@pytest.fixture
def answers(monkeypatch):
    """Return a function that answers the questions of a command."""

    def give(*lines):
        typed = io.StringIO("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr("sys.stdin", typed)
        return typed

    return give


def test_wrong_answers_are_asked_again_and_lose_nothing(dpm, hospital, tmp_path, answers):
    out = tmp_path / "schema.toml"
    wrong = "patient", "patient_nbr", "many", "0", "2"
    left = answers("", *wrong, "-", "0-120", "0:120:int", "", "a/b", "", "", "")
    done = dpm("init", hospital, "--delimiter", ";", "--out", out)
    assert done.code == 0, done.err
    assert left.read() == ""
    assert "There is no column 'patient'. Did you mean 'patient_nbr'" in done.out
    assert done.out.count("Type a whole number, at least 1.") == 2
    assert "For a single category type 0-120|other." in done.out
    assert "For categories type a|b." in done.out
    assert "At most 2 rows of a person will count." in done.out
    written = read_schema(out)
    assert (written.person_id, written.rows_per_person) == ("patient_nbr", 2)
    assert written.schema.columns[0] == Column("age", 0, 120, whole=True, unit="years")


def test_without_questions_only_what_is_known_is_kept(dpm, hospital, tmp_path):
    out = tmp_path / "schema.toml"
    done = dpm(
        "init", hospital, "--delimiter", ";", "--yes", "--bounds", "cost=0:9000,plan=basic|premium", "--out", out
    )
    assert done.code == 0, done.err
    assert read_schema(out) == TableSchema(
        Schema(
            (
                Column("age", 0, 120, unit="years"),
                Column("cost", 0, 9000),
                Category("plan", ("basic", "premium")),
                Column("is_smoker", notation=YesNo()),
            )
        ),
        "patient_nbr",
        ignored=("encounter_id", "note"),
    )
    assert "Left out: encounter_id (an identifier), note (free text)." in done.out
    assert "Taken for numbers with decimals: age, cost. If one holds whole numbers only, add 'whole = true'" in done.out
    assert f"dpm cluster {hospital} --delimiter ';' --schema {out}" in done.out
    assert "CANARY" not in done.out + out.read_text()


def test_answers_become_a_schema(dpm, hospital, tmp_path, answers):
    out = tmp_path / "schema.toml"
    left = answers("?, -9", "patient_nbr", "3", "-", "[0-50)<[50-100)", "expensive", "0:9000:int", "-", "yes/no", "-")
    done = dpm("init", hospital, "--delimiter", ";", "--out", out)
    assert done.code == 0, done.err
    assert left.read() == ""
    marks = ("?", "-9")
    assert read_schema(out) == TableSchema(
        Schema(
            (
                Column("age", notation=Bands(bands=("[0-50)", "[50-100)"), missing=marks)),
                Column("cost", 0, 9000, whole=True, notation=Numbers(missing=marks)),
                Column("is_smoker", notation=YesNo(missing=marks)),
            )
        ),
        "patient_nbr",
        3,
        ("encounter_id", "plan", "note"),
    )
    assert "must be LOW:HIGH. Got 'expensive'" in done.out


@pytest.mark.parametrize("is_asked", [True, False])
def test_other_bounds_keep_the_unit_that_the_name_tells(dpm, hospital, tmp_path, answers, is_asked):
    out = tmp_path / "schema.toml"
    answers("", "-", "-", "-", "18:100", "-", "-", "-", "-")
    done = dpm(
        "init", hospital, "--delimiter", ";", "--out", out, *([] if is_asked else ["--yes", "--bounds", "age=18:100"])
    )
    assert done.code == 0, done.err
    assert read_schema(out).schema.columns[0] == Column("age", 18, 100, unit="years")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--bounds", "agee=0:1"], "must name columns of the table"),
        (["--person-id", "patient"], "There is no column 'patient'"),
        (["--header", "yes"], "Must be 'none'"),
    ],
)
def test_wrong_use_is_explained(dpm, hospital, tmp_path, options, words):
    done = dpm("init", hospital, "--delimiter", ";", "--yes", "--out", tmp_path / "new.toml", *options)
    assert (done.code, (tmp_path / "new.toml").exists()) == (2, False)
    assert words in " ".join(done.err.split())
    assert "CANARY" not in done.err


def test_estimated_bounds_complete_a_schema_and_keep_the_rest(dpm, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"age": rng.integers(0, 100, 20_000), "cost": rng.normal(500, 50, 20_000), "visits": rng.poisson(3, 20_000)}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    given = '# mine\nrows_per_person = 1\n\n[columns.age]\nlower = 0  # known\nupper = 120\n\n[columns.cost]\nunit = "EUR"\n\n[columns.visits]\nwhole = true  # really\nmissing = [-9]\n'
    (tmp_path / "old.toml").write_text(given)
    estimate = (
        "schema",
        tmp_path / "x.parquet",
        "--suggest-bounds",
        "--epsilon",
        "5",
        "--schema",
        tmp_path / "old.toml",
    )
    done = dpm(*estimate, "--out", tmp_path / "new.toml")
    assert done.code == 0, done.err
    text = (tmp_path / "new.toml").read_text()
    assert "# mine" in text
    assert "lower = 0  # known" in text
    values = tomllib.loads(text)
    assert values["bounds_epsilon"] == 5
    assert values["columns"]["age"] == {"lower": 0, "upper": 120}
    assert values["columns"]["cost"]["unit"] == "EUR"
    assert values["columns"]["visits"]["whole"] is True
    assert 0 <= values["columns"]["visits"]["lower"] < values["columns"]["visits"]["upper"] < 100
    again = dpm(*estimate[:-1], tmp_path / "new.toml", "--out", tmp_path / "third.toml")
    assert (again.code, "already contains bounds" in again.err) == (2, True)


def test_a_file_of_any_ending_without_a_header_from_the_first_question_to_the_release(dpm, tmp_path):
    rng = np.random.default_rng(0)
    centres = rng.choice([20, 80], 3000)
    lines = [
        f"{i}|{age:.1f}|{'?' if i % 50 == 0 else 'x'}".replace(".", ",") for i, age in enumerate(rng.normal(centres, 3))
    ]
    (tmp_path / "export.dat").write_text("\n".join(lines))
    reading = [tmp_path / "export.dat", "--format", "csv", "--header", "none", "--delimiter", "|"]
    facts = ["--bounds", "column_2=0:100,column_3=x|y", "--missing", "?", "--decimal", ","]
    assert dpm("init", *reading, *facts, "--yes", "--out", tmp_path / "s.toml").code == 0
    out = ["--seed", "0", "--on-missing", "drop", "--json", "--out"]
    by_file = dpm("cluster", *reading, "--schema", tmp_path / "s.toml", *out, tmp_path / "one")
    by_options = dpm("cluster", *reading, *facts, *out, tmp_path / "two")
    assert (by_file.code, by_options.code) == (0, 0), by_file.err + by_options.err
    assert (tmp_path / "one/centres.csv").read_text() == (tmp_path / "two/centres.csv").read_text()
    labels = dpm("predict", tmp_path / "one/release.json", *reading, "--out", tmp_path / "labels.csv")
    assert labels.code == 0, labels.err


@pytest.mark.parametrize(
    ("known", "options"),
    [("rows_per_person = 5\n", ["--rows-per-person", "1"]), ('person_id = "visit"\n', ["--person-id", "person"])],
)
def test_bounds_are_not_estimated_for_other_people_than_the_schema_says(dpm, people, tmp_path, known, options):
    """What they cost is stated in the file, for the people that it says."""
    schema = tmp_path / "known.toml"
    schema.write_text(known + "[columns.age]\nlower = 0\nupper = 120\n")
    suggest = ["schema", people, "--suggest-bounds", "--epsilon", "0.5", "--columns", "bmi", "--schema", schema]
    refused = dpm(*suggest, *options)
    assert refused.code == 2
    assert options[0] in refused.err
    assert "bounds_epsilon" not in refused.out


def test_whose_rows_they_are_is_written_beside_the_cost_of_bounds(dpm, people, tmp_path):
    schema = tmp_path / "known.toml"
    schema.write_text("[columns.age]\nlower = 0\nupper = 120\n")
    suggest = ["schema", people, "--suggest-bounds", "--epsilon", "0.5", "--columns", "bmi", "--schema", schema]
    done = dpm(*suggest, "--person-id", "person", "--rows-per-person", "2", "--out", tmp_path / "new.toml")
    assert done.code == 0, done.err
    values = tomllib.loads((tmp_path / "new.toml").read_text(encoding="utf-8"))
    assert (values["person_id"], values["rows_per_person"], values["bounds_epsilon"]) == ("person", 2, 0.5)
