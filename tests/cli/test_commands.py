"""The commands on files as people have them: what is written, what is printed, and that it is the same by every way in."""

import csv
import gzip
import io
import json
import sqlite3
import stat

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from dpmondrian import DPM, Budget
from dpmondrian.release.release import Release
from dpmondrian.schema.files import read_schema

from .conftest import BOUNDS, people_lines

SEED = ["--seed", "1"]


def stored(people, kind, folder):
    """Return the arguments that read the same people from a file of another kind."""
    table = pyarrow.csv.read_csv(people)
    path = folder / f"people.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind in ("arrow", "feather"):
        pyarrow.feather.write_feather(table, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(people.read_bytes()))
    elif kind == "tsv":
        path.write_text(people.read_text().replace(",", "\t"))
    elif kind == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute("create table people (person, age, bmi, plan)")
            connection.executemany(
                "insert into people values (?, ?, ?, ?)", [list(r.values()) for r in table.to_pylist()]
            )
        return [path, "--query", "select * from people"]
    elif kind == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB files need duckdb, of the extra 'database'.")
        with duckdb.connect(str(path)) as connection:
            connection.register("incoming", table)
            connection.execute("create table people as select * from incoming")
        return [path, "--query", "select * from people"]
    return [path]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather", "jsonl", "csv.gz", "tsv", "sqlite", "duckdb"])
def test_every_kind_of_file_gives_the_same_release(dpm, people, tmp_path, kind):
    options = [*BOUNDS, "--bounds", "plan=basic|premium", "--person-id", "person", *SEED]
    assert dpm("cluster", people, *options, "--out", tmp_path / "csv").code == 0
    assert dpm("cluster", *stored(people, kind, tmp_path), *options, "--out", tmp_path / "other").code == 0
    for name in ("release.json", "centres.csv", "report.html"):
        assert (tmp_path / "csv" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_what_cluster_writes_and_prints(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    assert done.code == 0
    assert done.err.startswith("Note: every row is assumed to be a different person.")
    assert done.err.count("\n") == 1
    assert "These files may be published." in done.out
    release = Release.load(tmp_path / "out" / "release.json")
    assert (
        f"{len(release.centres)} clusters, epsilon = 1, delta = 1e-7" in done.out
    )  # noise makes a third in 1 of 200 runs
    assert release.privacy.releasable
    with (tmp_path / "out" / "centres.csv").open() as file:
        lines = list(csv.DictReader(file))
    ages, errors = np.array([[float(line["age"]), float(line["bmi error"])] for line in lines]).T
    assert np.all(np.abs(ages - release.centres[:, 0]) < 0.5 * release.centre_errors[:, 0]), (
        "as many digits as noise leaves"
    )
    np.testing.assert_allclose(errors, release.centre_errors[:, 1], rtol=0.05)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "centres.csv",
        "profiles.csv",
        "release.json",
        "report.html",
    ]


def test_json_and_quiet(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--json")
    document = json.loads(done.out)
    release = Release.load(tmp_path / "out" / "release.json")
    assert document["n_clusters"] == len(release.centres) == len(document["clusters"])
    assert document["clusters"][0]["centre"]["age"] == release.centres[0, 0]
    assert document["releasable"] is True
    assert (document["epsilon"], document["bounds_epsilon"]) == (1.0, 0.0)
    quiet = dpm("cluster", people, *BOUNDS, "--rows-per-person", "2", "--out", tmp_path / "quiet", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


@pytest.mark.slow
def test_seeded_runs_say_so(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", *SEED)
    assert "NOT RELEASABLE" in done.out
    quiet = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "quiet", *SEED, "--quiet")
    assert quiet.out == ""
    assert quiet.err.startswith("Warning: NOT RELEASABLE")
    with (tmp_path / "out" / "centres.csv").open() as file:
        assert {line["releasable"] for line in csv.DictReader(file)} == {"no"}
    assert "NOT RELEASABLE" in (tmp_path / "out" / "report.html").read_text()


def test_labels_are_kept_apart(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--labels")
    assert "SENSITIVE: do not publish it" in done.out
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [
        "centres.csv",
        "profiles.csv",
        "release.json",
        "report.html",
    ]
    sensitive = tmp_path / "out-sensitive"
    assert str(sensitive / "labels.parquet") in done.out
    assert "Do not publish" in (sensitive / "README.txt").read_text()
    assert stat.S_IMODE(sensitive.stat().st_mode) == 0o700
    assert stat.S_IMODE((sensitive / "labels.parquet").stat().st_mode) == 0o600
    labels = pyarrow.parquet.read_table(sensitive / "labels.parquet")["cluster"].to_numpy()
    model = DPM.load(tmp_path / "out" / "release.json")
    np.testing.assert_array_equal(labels, model.predict(pyarrow.csv.read_csv(people).select(["age", "bmi"])))
    assert "labels" not in (tmp_path / "out" / "release.json").read_text().replace("labels of rows", "")


@pytest.mark.parametrize("there", ["a file", "a folder with something in it"])
def test_labels_that_would_have_no_place_are_refused_before_anything_is_spent(refused, people, tmp_path, there):
    Budget.create(tmp_path / "budget.json", 3.0, 1e-6)
    sensitive = tmp_path / "out-sensitive"
    if there == "a file":
        sensitive.write_text("mine")
    else:
        sensitive.mkdir()
        (sensitive / "labels.parquet").write_text("mine")
    options = [*BOUNDS, "--budget", "budget.json", "--out", "out", "--labels"]
    words = "already exists" if there == "a file" else "exists and is not empty"
    refused(1, f"out-sensitive' {words}", "cluster", people, *options)
    assert Budget(tmp_path / "budget.json").read().entries == ()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["out/labels.csv", "out/more/labels.parquet", "link/labels.csv"])
def test_labels_are_not_predicted_into_a_folder_that_may_be_published(dpm, refused, people, tmp_path, place):
    assert dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out").code == 0
    (tmp_path / "out" / "more").mkdir()
    (tmp_path / "link").symlink_to("out")
    refused(2, "which may be published", "predict", "out/release.json", people, "--out", place)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict(dpm, people, tmp_path, ending):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    target = tmp_path / f"labels.{ending}"
    done = dpm("predict", tmp_path / "out" / "release.json", people, "--out", target)
    assert done.code == 0
    assert "SENSITIVE" in done.out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    table = pyarrow.csv.read_csv(target) if ending == "csv" else pyarrow.parquet.read_table(target)
    model = DPM.load(tmp_path / "out" / "release.json")
    expected = model.predict(pyarrow.csv.read_csv(people).select(["age", "bmi"]))
    np.testing.assert_array_equal(table["cluster"].to_numpy(), expected)


@pytest.mark.slow
def test_predict_takes_rows_with_missing_values(dpm, people, tmp_path):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    release = tmp_path / "out" / "release.json"
    (tmp_path / "new.csv").write_text("age,bmi\n30,22\n,40\n")
    refused = dpm("predict", release, tmp_path / "new.csv", "--out", tmp_path / "labels.csv")
    assert refused.code == 1
    assert "--on-missing drop" in refused.err
    assert "on_missing" not in refused.err
    options = ["--out", tmp_path / "labels.csv", "--on-missing", "drop"]
    assert dpm("predict", release, tmp_path / "new.csv", *options).code == 0
    assert pyarrow.csv.read_csv(tmp_path / "labels.csv")["cluster"].to_pylist()[1] == -1
    assert dpm("predict", release, people, "--out", tmp_path / "x.csv", "--on-missing", "ignore").code == 2


@pytest.mark.slow
@pytest.mark.parametrize(("option", "value"), [("--epsilon", "1000"), ("--delta", "0.9")])
def test_a_promise_that_is_none_is_not_praised(dpm, people, tmp_path, option, value):
    done = dpm("cluster", people, *BOUNDS, option, value, "--out", tmp_path / "out")
    assert done.code == 0
    assert f"Warning: {option[2:]} = {value}" in done.err
    assert "These files may be published." not in done.out


@pytest.mark.slow
def test_sizes_are_of_rows_unless_people_were_named(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "rows")
    assert "people" not in done.out
    assert " people</title>" not in (tmp_path / "rows" / "report.html").read_text()
    told = dpm("cluster", people, *BOUNDS, "--person-id", "person", "--out", tmp_path / "people")
    assert told.err == ""
    assert "people" in told.out
    assert " people</title>" in (tmp_path / "people" / "report.html").read_text()
    said = dpm("cluster", people, *BOUNDS, "--rows-per-person", "1", "--out", tmp_path / "said")
    assert "people" not in said.out, "nobody checked that, and the report of the same release says rows"
    assert " rows</title>" in (tmp_path / "said" / "report.html").read_text()


def test_named_columns_are_all_that_must_be_known(dpm, people, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text("[columns.age]\nlower = 0\nupper = 120\n[columns.bmi]\n[columns.plan]\n")
    assert dpm("cluster", people, "--schema", schema, "--out", tmp_path / "out").code == 2
    assert dpm("cluster", people, "--schema", schema, "--columns", "age", "--out", tmp_path / "out").code == 0
    assert Release.load(tmp_path / "out" / "release.json").schema.names == ("age",)
    wrong = dpm("cluster", people, "--schema", schema, "--columns", "agee", "--out", tmp_path / "other")
    assert wrong.code == 2
    assert "Did you mean 'age'" in wrong.err


@pytest.mark.slow
def test_columns_with_commas_in_their_names(dpm, people, tmp_path):
    text = people.read_text().replace("age,bmi", '"age, years",bmi', 1)
    people.write_text(text)
    bounds = ["--bounds", "age, years=0:120", "--bounds", "bmi=10:60"]
    for name, options in {
        "one": ["--columns", '"age, years",bmi'],
        "two": ["--columns", "bmi", "--columns", '"age, years"'],
    }.items():
        assert dpm("cluster", people, *bounds, *options, "--out", tmp_path / name).code == 0
        assert set(Release.load(tmp_path / name / "release.json").schema.names) == {"age, years", "bmi"}
    assert dpm("cluster", people, *bounds, "--columns", '"bmi', "--out", tmp_path / "x").code == 2


def test_narrow_terminals_show_fewer_columns(dpm, people, tmp_path, monkeypatch):
    from rich.console import Console

    from dpmondrian.cli import show

    dpm("cluster", people, *BOUNDS, "--bounds", "plan=basic|premium|gold", "--out", tmp_path / "out")
    release = Release.load(tmp_path / "out" / "release.json")
    shown = io.StringIO()
    monkeypatch.setattr(show, "console", lambda: Console(file=shown, width=60, markup=False, highlight=False))
    show.print_clusters(release)
    assert "cluster" in shown.getvalue()
    assert max(map(len, shown.getvalue().splitlines())) <= 60
    assert "±" in shown.getvalue().splitlines()[4], "a line per cluster: no cell is broken"
    assert len(shown.getvalue().splitlines()) == 5 + len(release.centres)


def test_one_cluster_is_not_called_clusters(dpm, people, tmp_path):
    assert "1 cluster, epsilon" in dpm("cluster", people, *BOUNDS, "--k", "1", "--out", tmp_path / "out").out


@pytest.mark.slow
def test_compare(dpm, people, tmp_path):
    dpm("cluster", people, *BOUNDS, "--bounds", "plan=basic|premium", *SEED, "--out", tmp_path / "out")
    release = tmp_path / "out" / "release.json"
    told = json.loads(dpm("compare", release, people, "--json").out)
    assert told["sensitive"] is True
    ours, kmeans = told["release"], told["kmeans"]
    assert ours["n_centres"] == kmeans["n_centres"] == 2
    assert 1.0 <= ours["inertia"] / kmeans["inertia"] < 1.1
    assert ours["silhouette"] == pytest.approx(kmeans["silhouette"], abs=0.02)
    assert kmeans["kmeans_distance"] == 0.0
    assert 0.0 < ours["kmeans_distance"] < 0.05
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "numbers")
    shown = dpm("compare", tmp_path / "numbers" / "release.json", people, "--classes", "plan")
    assert shown.out.startswith("SENSITIVE")
    assert "adjusted rand" in shown.out
    assert dpm("compare", tmp_path / "numbers" / "release.json", people, "--classes", "age").code == 2


def test_report_is_drawn_from_the_release_alone(dpm, people, tmp_path):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    done = dpm("report", tmp_path / "out" / "release.json", "--out", tmp_path / "again.html")
    assert done.code == 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "out" / "report.html").read_bytes()


def test_budget(dpm, people, tmp_path):
    path = tmp_path / "budget.json"
    assert dpm("budget", "new", path, "--epsilon", "2", "--delta", "1e-6", "--data-set", "people").code == 0
    assert dpm("cluster", people, *BOUNDS, "--epsilon", "0.5", "--out", tmp_path / "out", "--budget", path).code == 0
    state = Budget(path).read()
    assert (state.spent_epsilon, state.spent_delta) == (0.5, 1e-7)
    [entry] = state.entries
    assert entry.state == "released"
    assert entry.release == Release.load(tmp_path / "out" / "release.json").digest()
    shown = dpm("budget", "show", path)
    assert f"Unit of privacy: {entry.unit}." in shown.out
    assert "Left:  epsilon = 1.5" in shown.out
    assert json.loads(dpm("budget", "show", path, "--json").out)["left"]["epsilon"] == 1.5


def test_a_schema_from_the_first_draft_to_the_release(dpm, people, tmp_path):
    """As a new user would: a draft, its gaps filled in, a release."""
    schema = tmp_path / "schema.toml"
    assert dpm("schema", people, "--out", schema).code == 0
    refused = dpm("cluster", people, "--schema", schema, "--out", tmp_path / "out")
    assert refused.code == 2
    assert "plan" in refused.err
    text = schema.read_text()
    assert "[columns.person]" not in text
    schema.write_text(
        'person_id = "person"\n[columns.age]\nlower = 0\nupper = 120\n[columns.plan]\ncategories = ["basic", "premium"]\n'
        "weight = 0.2\n"
    )
    assert dpm("cluster", people, "--schema", schema, "--out", tmp_path / "out").code == 0
    release = Release.load(tmp_path / "out" / "release.json")
    assert release.schema.names == ("age", "plan")
    assert release.schema.categories["plan"].weight == 0.2
    assert release.parameters["person_id"] == "person"
    assert release.sizes.sum() == pytest.approx(1500, abs=450)


@pytest.mark.slow
def test_bounds_from_the_data_are_paid_for(dpm, people, tmp_path):
    path, schema = tmp_path / "budget.json", tmp_path / "schema.toml"
    dpm("budget", "new", path, "--epsilon", "2")
    options = ["--suggest-bounds", "--epsilon", "0.5", "--columns", "age,bmi", "--budget", path, "--out", schema]
    assert dpm("schema", people, *options).code == 0
    assert Budget(path).read().spent_epsilon == 0.5
    text = schema.read_text()
    schema.write_text(text.replace("[columns.plan]", '[columns.plan]\ncategories = ["basic"]'))
    known = read_schema(schema).schema
    assert known.bounds_epsilon() == 0.5
    done = dpm("cluster", people, "--schema", schema, "--budget", path, "--out", tmp_path / "out")
    assert done.code == 0
    assert "epsilon = 1.5 (0.5 of it for the bounds)" in done.out
    document = json.loads(dpm("cluster", people, "--schema", schema, "--out", tmp_path / "again", "--json").out)
    assert (document["epsilon"], document["bounds_epsilon"]) == (1.5, 0.5)
    assert Budget(path).read().spent_epsilon == 1.5
    release = Release.load(tmp_path / "out" / "release.json")
    assert release.privacy.bounds_epsilon == 0.5
    assert "Total: epsilon = 1.5" in str(release.privacy)


@pytest.mark.slow
@pytest.mark.parametrize("example", ["locations", "patients", "customers"])
def test_demo(dpm, tmp_path, example):
    folder = tmp_path / "demo"
    done = dpm("demo", example, "--out", folder)
    assert done.code == 0
    assert "Differential privacy with epsilon = 1" in done.out
    assert sorted(path.name for path in folder.iterdir()) == sorted([f"{example}.csv", "schema.toml", "published"])
    release = Release.load(folder / "published" / "release.json")
    # With secure noise one is missed in 1 of 60 runs of the customers, so three are in fewer than 1 of 100,000.
    assert abs(len(release.centres) - {"locations": 9, "patients": 5, "customers": 4}[example]) <= 2
    assert dpm("demo", example, "--out", folder).code == 1


def test_plan(dpm):
    done = dpm("plan", "--rows", "20000", *BOUNDS, "--json")
    assert done.code == 0
    assert json.loads(done.out)
    assert dpm("plan", "--rows", "20000", *BOUNDS).code == 0


def test_rows_per_person_without_a_person_is_believed_and_said(dpm, people, tmp_path):
    done = dpm("cluster", people, *BOUNDS, "--rows-per-person", "2", "--out", tmp_path / "out")
    assert done.code == 0
    assert "assumed, not enforced" in done.err


def test_rows_are_limited_per_person(dpm, tmp_path):
    """One person with very many rows counts like everyone else."""
    lines = ["person,age,bmi,plan", *people_lines(2000), *["hermit,5,55,basic"] * 3000]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    dpm("cluster", tmp_path / "data.csv", *BOUNDS, "--person-id", "person", "--out", tmp_path / "out")
    release = Release.load(tmp_path / "out" / "release.json")
    assert release.sizes.sum() == pytest.approx(1001, abs=450)
    assert not np.any(release.centres[:, 0] < 15)


def test_whole_numbers_of_typed_files(dpm, tmp_path):
    table = pa.table({"children": np.random.default_rng(0).integers(0, 4, 2000)})
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    assert dpm("cluster", tmp_path / "data.parquet", "--bounds", "children=0:12", "--out", tmp_path / "out").code == 0
    assert Release.load(tmp_path / "out" / "release.json").schema.columns[0].whole


def test_tables_begin_with_numbers_and_say_what_their_errors_are(dpm, people, tmp_path):
    """Shares of categories come last: a few of them would fill the terminal, and nothing else would be seen."""
    out = tmp_path / "out"
    done = dpm("cluster", people, "--bounds", "plan=basic|premium", *BOUNDS, *SEED, "--k", "2", "--out", out)
    assert "The number after ± is the standard error of the noise." in done.out
    for table in (done.out, dpm("clusters", out / "release.json", "--k", "2").out):
        assert 0 < table.index("age") < table.index("bmi")
        assert "plan=basic" not in table or table.index("bmi") < table.index("plan=basic")


def test_the_number_of_segments_whose_silhouette_is_surely_highest_is_proposed(dpm, people, tmp_path):
    assert dpm("cluster", people, *BOUNDS, *SEED, "--out", tmp_path / "out").code == 0
    release = tmp_path / "out" / "release.json"
    qualities = Release.load(release).qualities()
    measured = [(one.low, k) for k, one in zip(qualities.k, qualities.silhouette, strict=True) if one is not None]
    assert f"{release} --k {max(measured)[1]}" in dpm("clusters", release).out.replace("\n", " ")
