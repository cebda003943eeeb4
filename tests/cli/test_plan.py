"""``dpm plan``: its words, its files, its exit codes."""

from __future__ import annotations

import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from dpmondrian.cli.main import main
from dpmondrian.cli.plan import plan
from dpmondrian.planning import forecast
from dpmondrian.schema.columns import Column, Schema

app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command()(plan)

BOUNDS = ("--bounds", "age=0:120", "--bounds", "income=100:1e6:log")
SCHEMA = Schema((Column("age", 0, 120), Column("income", 100, 1e6, log=True)))


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_help_has_examples():
    done = run("--help")
    assert done.exit_code == 0
    assert "Examples" in done.stdout
    assert "  dpm plan --rows" in done.stdout


def test_words_from_bounds():
    done = run("--rows", "20000", *BOUNDS)
    assert done.exit_code == 0
    found, exact, more = [line for line in done.stdout.splitlines() if line]
    assert found.startswith("Clusters of about ")
    assert exact.startswith("For a cluster of 2,000 rows you will know, in 19 of 20 cases, its size to within ± ")
    assert more.startswith("With twice the epsilon, clusters of ")


def test_details_are_a_table():
    done = run("--rows", "20000", *BOUNDS, "--details")
    assert done.exit_code == 0
    assert "twice the epsilon" in done.stdout
    assert "size of a cell" in done.stdout


def test_names_of_columns_are_no_markup():
    done = run("--rows", "20000", "--bounds", "a[/b]=0:1", "--bounds", "[red]c=0:1", "--details")
    assert done.exit_code == 0
    assert done.stdout.count("a[/b]") >= 2, "in words and in the table"
    assert done.stdout.count("[red]c") >= 2


def test_large_parameters_are_warned_of():
    done = run("--rows", "20", *BOUNDS, "--epsilon", "1000", "--delta", "0.04")
    assert "Warning: epsilon = 1000 gives almost no protection" in done.stdout
    assert "Warning: delta = 0.04 is large" in done.stdout


def test_json_is_the_forecast():
    options = ("--epsilon", "0.5", "--delta", "0", "--k", "8", "--rows-per-person", "2", "--spread", "0.1")
    done = run("--rows", "20000", *BOUNDS, *options, "--json")
    expected = forecast(20_000, SCHEMA, 0.5, 0.0, n_clusters=8, rows_per_person=2, spread=0.1)
    assert json.loads(done.stdout) == expected.to_dict()


def test_the_guessed_number_of_clusters():
    done = run("--rows", "20000", *BOUNDS, "--clusters", "4", "--json")
    assert json.loads(done.stdout)["outlook"]["cluster_rows"] == 5_000


def test_columns_and_rows_per_person_from_a_schema_file(tmp_path):
    file = tmp_path / "schema.toml"
    file.write_text('rows_per_person = 3\n[columns.age]\nlower = 0\nupper = 120\nunit = "years"\n', encoding="utf-8")
    values = json.loads(run("--rows", "20000", "--schema", str(file), "--json").stdout)
    assert values["rows_per_person"] == 3
    assert values["columns"] == [Column("age", 0, 120, unit="years").to_dict()]
    assert (
        json.loads(run("--rows", "9", "--schema", str(file), "--rows-per-person", "1", "--json").stdout)[
            "rows_per_person"
        ]
        == 1
    )


def test_warnings_come_first():
    done = run("--rows", "300", *BOUNDS, "--epsilon", "0.1", "--delta", "0.01")
    assert done.exit_code == 0
    assert done.stdout.startswith("Warning: This will not work")
    assert "delta = 0.01" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "PDF"])
def test_a_picture_is_written(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    file = tmp_path / f"plan.{suffix}"
    done = run("--rows", "20000", *BOUNDS, "--picture", str(file))
    assert done.exit_code == 0
    assert f"Written: {file}" in done.stdout
    assert len(file.read_bytes()) > 1_000
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rows", "0", *BOUNDS), "--rows"),
        (("--rows", "100"), "--bounds"),
        (("--rows", "100", *BOUNDS, "--schema", "schema.toml"), "exactly one of"),
        (("--rows", "100", "--bounds", "age"), "--bounds"),
        (("--rows", "100", "--bounds", "age=3:1"), "age"),
        (("--rows", "100", "--schema", "not there.toml"), "does not exist"),
        (("--rows", "100", *BOUNDS, "--epsilon", "-1"), "The '--epsilon' option must be"),
        (("--rows", "100", *BOUNDS, "--spread", "2"), "The '--spread' option must be"),
        (("--rows", "100", *BOUNDS, "--picture", "plan.doc"), "plan.doc"),
    ],
)
def test_wrong_use_is_told_in_the_words_of_the_command(arguments, words, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dpm", "plan", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert words in told
    assert "Traceback" not in told
