"""Tables of any size: several files, folders and patterns, limits of memory and threads, and labels that are written on the way."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dpmondrian import DPM
from dpmondrian.cli import cluster as command
from dpmondrian.cli.progress import FitBars
from dpmondrian.engines.store import Store
from dpmondrian.fitting import Fitter
from dpmondrian.release.release import Release
from dpmondrian.tables.files import Source, open_file
from dpmondrian.tables.formats import arrow_files

from .conftest import BOUNDS, people_lines

SEED = ["--seed", "1"]
FILES = ("release.json", "centres.csv", "profiles.csv", "report.html")
KINDS = {"age": "number", "bmi": "number", "plan": "text"}


@pytest.fixture
def parts(people, tmp_path, monkeypatch):
    """Return a folder with the people in three files, each in many pieces."""
    monkeypatch.setattr(arrow_files, "PIECE_BYTES", 0)
    folder = tmp_path / "visits"
    (folder / "more").mkdir(parents=True)
    table = pyarrow.csv.read_csv(people)
    for name, start, stop in (("1.parquet", 0, 900), ("2.parquet", 900, 1000), ("more/3.parquet", 1000, 3000)):
        pyarrow.parquet.write_table(table.slice(start, stop - start), folder / name, row_group_size=130)
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture
def reads(monkeypatch):
    """Return what the bar of reading is told."""
    told = []
    monkeypatch.setattr(FitBars, "read", lambda _, done, total: told.append((done, total)))
    return told


def assert_same(folder, other):
    for name in FILES:
        assert (folder / name).read_bytes() == (other / name).read_bytes()


def labels_in(path):
    table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    return table["cluster"].to_pylist()


WAYS = {
    "a folder": ["visits"],
    "a folder with a slash": ["visits/"],
    "all files": ["visits/1.parquet", "visits/2.parquet", "visits/more/3.parquet"],
    "files and a folder": ["visits/1.parquet", "visits/2.parquet", "visits/more"],
    "a pattern": ["visits/**/*.parquet"],
    "patterns": ["visits/?.parquet", "visits/*/*.parquet"],
    "one thread": ["visits", "--threads", "1"],
    "several threads": ["visits", "--threads", "3"],
    "little memory": ["visits", "--memory", "4kB"],
    "much memory": ["visits", "--memory", "1.5 TiB"],
}
OF_PERSONS = ("a pattern", "several threads", "little memory")
"""Ways in which rows of a person come from several files, threads and pieces."""


@pytest.mark.slow
@pytest.mark.parametrize("people_known", [[], ["--person-id", "person"]], ids=["rows", "persons"])
def test_every_division_gives_the_same_release_and_labels(dpm, people, parts, tmp_path, monkeypatch, people_known):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpmondrian.cli.options._LEAST_MEMORY", 0)
    spilled, open_file = [], Store._opened
    monkeypatch.setattr(Store, "_opened", lambda store: spilled.append(store) or open_file(store))
    options = [*BOUNDS, "--bounds", "plan=basic|premium", *people_known, *SEED, "--labels"]
    assert dpm("cluster", people, *options, "--out", "whole").code == 0
    whole = labels_in(tmp_path / "whole-sensitive" / "labels.parquet")
    assert len(whole) == 3000
    assert spilled == []
    for way, words in WAYS.items() if not people_known else [(way, WAYS[way]) for way in OF_PERSONS]:
        assert dpm("cluster", *words, *options, "--out", way).code == 0, way
        assert bool(spilled) == (way == "little memory"), way
        assert_same(tmp_path / "whole", tmp_path / way)
        assert labels_in(tmp_path / f"{way}-sensitive" / "labels.parquet") == whole, way
        spilled.clear()


def test_the_release_is_that_of_the_table_in_memory(dpm, people, tmp_path):
    options = [*BOUNDS, "--bounds", "plan=basic|premium", *SEED, "--labels"]
    assert dpm("cluster", people, *options, "--out", tmp_path / "out").code == 0
    table = open_file(Source(people)).read(KINDS)
    bounds = {"age": (0, 120), "bmi": (10, 60), "plan": ["basic", "premium"]}
    model = DPM(bounds=bounds, random_state=1).fit(table)
    assert Release.load(tmp_path / "out" / "release.json").digest() == model.release_.digest()
    assert labels_in(tmp_path / "out-sensitive" / "labels.parquet") == model.labels_.tolist()


def test_rows_that_are_left_out_may_lack_values(dpm, tmp_path):
    """Of each person one row is kept, and which one is nobody's business: so labels do not tell that another lacks a value."""
    lines = ["person,age,bmi,plan", *people_lines(500), *["P0,,22,basic"] * 3]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    options = [*BOUNDS, "--person-id", "person", "--labels"]
    for seed in range(20):
        done = dpm("cluster", tmp_path / "data.csv", *options, "--seed", seed, "--out", tmp_path / str(seed))
        if done.code == 0:
            labels = labels_in(tmp_path / f"{seed}-sensitive" / "labels.parquet")
            assert labels[-3:] == [-1] * 3
            assert min(labels[:-3]) == 0
            return
        assert "--on-missing" in done.err
    pytest.fail("a row without a gap is kept with some seed")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("options", [[], ["--threads", "1"], ["--threads", "3"]], ids=str)
def test_predict_on_several_files(dpm, people, parts, tmp_path, ending, options):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    release = tmp_path / "out" / "release.json"
    target = tmp_path / f"labels.{ending}"
    done = dpm("predict", release, parts / "1.parquet", parts / "2.parquet", parts / "more", "--out", target, *options)
    assert done.code == 0
    table = open_file(Source(people)).read({"age": "number", "bmi": "number"})
    assert labels_in(target) == DPM.load(release).predict(table).tolist()


def test_predict_takes_columns_by_name(dpm, people, tmp_path):
    """Also with a release of an array, whose columns have numbers for names."""
    table = open_file(Source(people)).read({"age": "number", "bmi": "number"})
    rows = np.column_stack([table["age"], table["bmi"]])
    model = DPM(bounds=[(0, 120), (10, 60)]).fit(rows)
    model.save(tmp_path / "release.json")
    turned = pa.table({"x1": rows[:, 1], "other": rows[:, 0], "x0": rows[:, 0]})
    pyarrow.parquet.write_table(turned, tmp_path / "rows.parquet")
    done = dpm("predict", tmp_path / "release.json", tmp_path / "rows.parquet", "--out", tmp_path / "labels.csv")
    assert done.code == 0
    assert labels_in(tmp_path / "labels.csv") == model.labels_.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_without_rows(dpm, people, tmp_path, ending):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    (tmp_path / "none.csv").write_text("age,bmi\n")
    target = tmp_path / f"labels.{ending}"
    assert dpm("predict", tmp_path / "out" / "release.json", tmp_path / "none.csv", "--out", target).code == 0
    assert labels_in(target) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["visits"], "visits"),
        (["visits/"], "visits"),
        (["visits/*.parquet"], "visits"),
        (["visits/1.parquet", "visits/2.parquet"], "visits"),
        (["visits/2.parquet"], "2"),
        (["visits/more/.."], "visits"),
    ],
)
def test_the_folder_of_results_is_called_after_what_is_clustered(dpm, parts, tmp_path, monkeypatch, arguments, name):
    monkeypatch.chdir(tmp_path)
    assert dpm("cluster", *arguments, *BOUNDS, "--epsilon", "5").code == 0
    assert (tmp_path / f"{name}-clusters" / "release.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [("1MB", 10**6), ("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("1000 kB", 10**6), ("0.1GB", 10**8), ("3TB", 3 * 10**12)],
)  # fmt: skip
def test_sizes(dpm, people, tmp_path, monkeypatch, text, expected):
    seen = []
    fit = Fitter.fit

    def watched(*arguments, **options):
        seen.append((options["resources"].memory, options["resources"].threads))
        return fit(*arguments, **options)

    monkeypatch.setattr(Fitter, "fit", watched)
    options = ["--memory", text, "--threads", "2", "--out", tmp_path / "out"]
    assert dpm("cluster", people, *BOUNDS, *options).code == 0
    assert seen == [(expected, 2)]


@pytest.mark.parametrize(
    "text",
    ["2", "2G", "GB", "2gb", "2Gb", "-2GB", "1e3MB", "1,5GB", "nanGB", "2GB ", "2  GB", "\u0662GB", "999kB", "0GB", "2GB3", ".5GB", ""],
)  # fmt: skip
def test_sizes_that_are_none(refused, people, text):
    done = refused(2, "at least 1MB", "cluster", people, *BOUNDS, "--memory", text)
    assert "--memory" in done.err
    assert "Example: 2GB." in done.err


def test_threads_that_are_none(refused, people):
    refused(2, "--threads", "cluster", people, *BOUNDS, "--threads", "0")
    refused(2, "--threads", "predict", "release.json", people, "--out", "labels.csv", "--threads", "0")


@pytest.mark.slow
@pytest.mark.parametrize(("options", "n_passes"), [([], 1), (["--person-id", "person"], 2)], ids=["rows", "persons"])
def test_the_bar_is_told_what_is_read(dpm, parts, tmp_path, reads, options, n_passes):
    assert dpm("cluster", parts, *BOUNDS, *options, "--out", tmp_path / "out").code == 0
    [total] = {total for _, total in reads}
    assert [done for done, _ in reads].count(total) == n_passes
    assert [done for done, _ in reads].count(0) == n_passes
    assert len(reads) > 20, "piece by piece"


def test_the_bar_is_told_what_is_labelled(dpm, people, parts, tmp_path, reads):
    dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out")
    reads.clear()
    dpm("predict", tmp_path / "out" / "release.json", parts, "--out", tmp_path / "labels.csv")
    assert reads[0][0] == 0
    assert reads[-1][0] == reads[-1][1] > 0
    assert len(reads) > 20, "piece by piece"


def test_databases_are_named_alone(refused, people, tmp_path):
    refused(2, "applies to a single database", "cluster", people, people, *BOUNDS, "--query", "select 1")
    (tmp_path / "shop.duckdb").write_bytes(b"x")
    refused(1, "Pass only the database, with --query.", "cluster", people, "shop.duckdb", *BOUNDS)


def test_addresses(refused):
    refused(1, "Copy the files to this machine.", "cluster", "s3://bucket/people.parquet", *BOUNDS)


def test_files_that_are_there_twice(refused, people):
    refused(1, "is included twice", "cluster", people, people, *BOUNDS)


def test_files_without_rows(refused, tmp_path):
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text("age,bmi\n")
    refused(1, "The files have no rows", "cluster", "1.csv", "2.csv", *BOUNDS)


def test_rows_in_a_later_file_are_enough(dpm, people, tmp_path):
    (tmp_path / "none.csv").write_text("age,bmi\n")
    assert dpm("cluster", tmp_path / "none.csv", people, *BOUNDS, "--out", tmp_path / "out").code == 0


def test_the_order_of_the_keys_of_a_row_changes_nothing(dpm, tmp_path):
    """The first object of JSON lines is somebody's row."""
    rows = [dict(zip(("person", "age", "bmi"), line.split(","), strict=False)) for line in people_lines(500)]
    rows = [{"age": float(row["age"]), "bmi": float(row["bmi"])} for row in rows]
    turned = [dict(reversed(rows[0].items())), *rows[1:]]
    for name, objects in (("one", rows), ("other", turned)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
        assert dpm("cluster", tmp_path / f"{name}.jsonl", *BOUNDS, *SEED, "--out", tmp_path / name).code == 0
    assert_same(tmp_path / "one", tmp_path / "other")


def test_labels_that_fail_do_not_cost_the_release(dpm, people, tmp_path, monkeypatch):
    """They are found in another pass over the file, which may be gone by then."""
    write = command.write_labels

    def too_late(*arguments, **options):
        people.unlink()
        write(*arguments, **options)

    monkeypatch.setattr(command, "write_labels", too_late)
    done = dpm("cluster", people, *BOUNDS, "--out", tmp_path / "out", "--labels")
    assert done.code == 1
    assert done.out == ""
    note, error = done.err.splitlines()
    assert note.startswith(f"Note: the release in '{tmp_path / 'out'}' is complete; only the labels are missing.")
    assert error == f"Error: The file '{people}' no longer exists. Restore it, or start again without it."
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert not (tmp_path / "out-sensitive").exists()
