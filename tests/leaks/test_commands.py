"""Everything that the commands print, log and write is searched for marks of the rows."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dpmondrian.cli.main import main

BOUNDS = ["--bounds", "spend=0:20000", "--bounds", "visits=0:100", "--bounds", "plan=basic|premium"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    """Return a folder with the marked rows in files, one of them with holes and one with words among its numbers."""
    folder = tmp_path_factory.mktemp("commands")
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_parquet(folder / "rows.parquet")
    holes = rows.copy()
    holes.loc[:56, "visits"] = np.nan
    holes.to_csv(folder / "holes.csv", index=False)
    words = rows.astype({"visits": object})
    words.loc[20, "visits"] = "ZXCANARY"
    words.to_csv(folder / "words.csv", index=False)
    (folder / "cut.csv").write_text((folder / "rows.csv").read_text()[:-9] + ",ZXCANARY,ZXCANARY\n")
    return folder


@pytest.fixture
def run(folder, marks, told, monkeypatch):
    """Return a function that runs a command, and checks its exit code and everything that it tells and writes."""
    monkeypatch.chdir(folder)

    def run(*arguments, code=0, sensitive=(), command=main):
        before = {path for path in folder.rglob("*") if path.is_file()}
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        told()
        with pytest.raises(SystemExit) as leaving:
            command()
        text = told()
        assert (leaving.value.code or 0) == code, text
        assert marks.text(text) == set()
        written = {path for path in folder.rglob("*") if path.is_file()} - before
        for path in written:
            if path.name not in sensitive:
                content = path.read_bytes()
                found = marks.bytes(content) | marks.text(content.decode("utf-8", "replace"))
                assert found <= rounded_sizes(path.parent / "release.json"), path.name
        return text, {path.name for path in written}

    return run


def rounded_sizes(release):
    """Return what the noisy sizes of a release are rounded to where people read them: exact by chance, if at all."""
    sizes = json.loads(release.read_text())["tree"]["size"] if release.exists() else []
    return {str(round(size)) for size in sizes if size != round(size)}


VARIANTS = {
    "csv": ["rows.csv", *BOUNDS],
    "parquet": ["rows.parquet", *BOUNDS, "--json"],
    "k": ["rows.csv", *BOUNDS, "--k", "3"],
    "pure": ["rows.parquet", *BOUNDS, "--delta", "0"],
    "persons": ["rows.csv", *BOUNDS, "--person-id", "person", "--rows-per-person", "2"],
    "missing left out": ["holes.csv", *BOUNDS, "--on-missing", "drop"],
    "missing in the middle": ["holes.csv", *BOUNDS, "--on-missing", "middle"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_cluster_and_what_follows(run, name):
    out = f"out {name}"
    text, written = run("cluster", *VARIANTS[name], "--epsilon", "0.3", "--seed", "1", "--out", out)
    assert written == {"release.json", "centres.csv", "profiles.csv", "report.html"}
    assert text.strip()
    run("report", f"{out}/release.json", "--out", f"{out} again.html")
    if name == "persons":
        run("explain", f"{out}/release.json")


@pytest.mark.slow
def test_cluster_with_a_budget_and_labels(run):
    run("budget", "new", "budget.json", "--epsilon", "2", "--delta", "1e-5")
    _, written = run(
        "cluster", "rows.csv", *BOUNDS, "--budget", "budget.json", "--labels", "--seed", "1", "--out", "paid", sensitive=("labels.parquet",)
    )  # fmt: skip
    assert "labels.parquet" in written
    run("budget", "show", "budget.json")
    run("predict", "paid/release.json", "rows.csv", "--out", "labels.csv", sensitive=("labels.csv",))


def test_schemas(run):
    assert run("schema", "rows.csv")[0].strip()
    run("schema", "rows.parquet", "--out", "draft.toml")
    run(
        "schema", "rows.csv", "--suggest-bounds", "--epsilon", "0.5", "--columns", "spend,visits", "--out", "estimated.toml"
    )  # fmt: skip
    run("schema", "rows.csv", "--suggest-bounds", "--epsilon", "0.5", "--columns", "spend,visits", "--json")


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "holes.csv", *BOUNDS],
        ["cluster", "words.csv", *BOUNDS],
        ["cluster", "cut.csv", *BOUNDS],
        ["cluster", "rows.csv", "--bounds", "person=0:1"],
        ["cluster", "rows.parquet", "--bounds", "person=0:1"],
        ["cluster", "rows.parquet", "--bounds", "plan=0:1"],
        ["schema", "words.csv", "--suggest-bounds", "--epsilon", "1", "--columns", "visits"],
        ["schema", "rows.csv", "--suggest-bounds", "--epsilon", "1", "--columns", "person"],
        ["predict", "rows.csv", "rows.csv", "--out", "no.csv"],
        ["report", "rows.csv", "--out", "no.html"],
        ["budget", "show", "rows.csv"],
    ],
    ids=" ".join,
)
def test_failures(run, arguments):
    text, written = run(*arguments, code=1)
    assert "Error" in text
    assert written <= set()


def test_a_schema_that_is_the_table_is_not_quoted(run):
    """Whoever gives the table in place of the schema does not find a row in the message."""
    run("cluster", "rows.csv", "--schema", "rows.csv", code=2)


def tells_a_count():
    print("31,337 rows", file=sys.stderr)
    sys.exit(0)


def writes_a_value():
    Path("note.txt").write_text("12345.678901")
    sys.exit(0)


@pytest.mark.parametrize("command", [tells_a_count, writes_a_value])
def test_a_command_that_tells_something_is_caught(run, command):
    with pytest.raises(AssertionError, match=r"31337|12345"):
        run("cluster", "rows.csv", command=command)
